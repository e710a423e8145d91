package scaffold

import (
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/format"
	"doubletake/ingest/recording"
	"doubletake/pipeline/config"
)

// maxOpened bounds how many headers are read.
const maxOpened = 2000

// readHeaders opens the recordings and reads their headers. It takes the channels from the first, conditions from the
// attributes of all and from files next to them, and the length of the shortest run. If the first recording cannot be
// read, it only notes this; a later one that cannot be read states nothing.
func (p *plan) readHeaders(files []string) {
	p.Spectra = p.Format != "text"
	p.runCount = max(len(files), p.sheet.Rows)

	var infos []ingest.Info
	for i, file := range files[:min(len(files), maxOpened)] {
		info, err := readHeader(filepath.Join(p.dir, file))
		switch {
		case err != nil && i == 0:
			p.note("the first recording cannot be read: %v", err)
			return
		case err != nil:
			p.note("%v", err)
		}

		infos = append(infos, info)
		if !p.intervals {
			p.shortest = min(p.shortest, shortestChannel(info))
		}
	}

	p.chooseChannels(files, infos[0])
	p.noteNumberedColumns(files, infos)
	p.findKinds(files, infos)

	var warnings []ingest.Warning
	for _, info := range infos {
		warnings = append(warnings, info.Warnings...)
	}

	p.noteWarnings(warnings)

	hasAttributes := func(f ingest.Format) bool { return f.Name == p.Format && f.Attributes }
	if slices.ContainsFunc(format.All(), hasAttributes) {
		p.takeAttributes(files, infos)
	}

	p.takeSidecars(files)
}

// noteWarnings notes what check says about headers: the first warning of each code.
func (p *plan) noteWarnings(warnings []ingest.Warning) {
	for _, warning := range recording.FirstOfCodes(warnings) {
		p.note("%s: %s", filepath.Base(warning.Path), warning.Text)
	}
}

// findKinds keeps the files of each header if some files lack an outcome of the first: they are tables of several
// kinds, of which an experiment reads one.
func (p *plan) findKinds(files []string, infos []ingest.Info) {
	lacks := func(info ingest.Info) bool {
		names := info.Names()
		return names != nil && slices.ContainsFunc(p.Columns, func(column config.NamedString) bool {
			return campaign.ColumnOf(names, column.Value) < 0
		})
	}

	if p.Spectra || lacks(infos[0]) || !slices.ContainsFunc(infos, lacks) {
		return
	}

	heads := map[string]string{} // by file
	for i, info := range infos {
		heads[files[i]] = strings.Join(info.Names(), "\x00")
	}

	for _, alike := range grouped(files, func(file string) string { return heads[file] }) {
		p.Kinds = append(p.Kinds, someFiles(alike))
	}

	p.note("the files have %d kinds of columns, of which an experiment reads one: keep one kind under files: %s",
		len(p.Kinds), strings.Join(p.Kinds, "; "))
}

// noteNumberedColumns notes text files whose columns have no names, and whose number of columns differs from the first
// file: column 3 of one file may be column 2 of the other.
func (p *plan) noteNumberedColumns(files []string, infos []ingest.Info) {
	if !infos[0].HasNumberedColumns() {
		return
	}

	var others []string
	for i, info := range infos {
		if len(info.Channels) > 0 && len(info.Channels) != len(infos[0].Channels) {
			others = append(others, files[i])
		}
	}

	if len(others) == 0 {
		return
	}

	p.note("%s: the columns have no names, and their number is not %d as in %s: the same number may mean another "+
		"quantity; keep one kind under files", someFiles(others), len(infos[0].Channels), files[0])
}

// readHeader reads the header of a recording.
func readHeader(path string) (ingest.Info, error) {
	rd, err := format.Open(path, ingest.Options{})
	if err != nil {
		return ingest.Info{}, err
	}
	defer rd.Close()

	return rd.Info(), nil
}
