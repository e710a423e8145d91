package campaign

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/internal/lists"
)

// tareFinder finds the recordings without wind of a campaign's runs.
type tareFinder struct {
	campaign   *setting.Campaign
	project    setting.Project
	spellings  condition.Spellings
	recordings map[string][]tareRecording // by the pattern that finds them; takePatterns fills it
}

// settings returns the settings of the recordings without wind, or nil if there are none.
func (t *tareFinder) settings() *setting.Tare {
	if t.campaign.Balance == nil {
		return nil
	}

	return t.campaign.Balance.Tare
}

// isTare reports whether the settings name a file as a recording without wind, by its path or by a pattern.
func (t *tareFinder) isTare(file string) bool {
	tare := t.settings()
	if tare == nil {
		return false
	}

	for _, name := range []string{tare.File, tare.Closing} {
		isFound := func(own tareRecording) bool { return own.name == file }
		if filepath.Clean(name) == filepath.Clean(file) || slices.ContainsFunc(t.recordings[name], isFound) {
			return true
		}
	}

	return false
}

// ownTare returns the recording without wind that a column of the table of conditions names for the file with the given
// name. conds are the file's rows of the table. ownTare returns an error if there are none, if the table does not have
// the column, if a cell is empty, or if two rows name different recordings.
func ownTare(column string, conds *Conditions, name string) (string, error) {
	if conds == nil {
		return "", fault.At(name, "", "a table of conditions with the column "+column, "none", "")
	}

	if !slices.Contains(conds.Labels, column) {
		return "", fault.At(conds.Path, "", "a column "+column+" with the names of recordings without wind",
			"columns of text: "+strings.Join(conds.Labels, ", "), "")
	}

	own := ""
	for i, r := range conds.Rows {
		cell, _ := r.Name(column)
		cell = strings.TrimSpace(cell)
		place := fmt.Sprintf("line %d, column %s", r.Line, column)
		if cell == "" {
			return "", fault.At(conds.Path, place, "the recording without wind of "+name, "an empty cell", "")
		}

		if i > 0 && cell != own {
			return "", fault.At(conds.Path, place, fmt.Sprintf("%q, as for the other intervals of %s", own, name),
				strconv.Quote(cell), "")
		}

		own = cell
	}

	return own, nil
}

// columns returns the columns of the table of conditions that name the recordings without wind, or nil if there are
// none.
func (t *tareFinder) columns() []string {
	tare := t.settings()
	if tare == nil || tare.Column == "" {
		return nil
	}

	return lists.Names([]string{tare.Column, tare.Closing})
}

// tareCell is a cell of the table of conditions that names a recording without wind.
type tareCell struct {
	name   string
	folder string // of the row's recording
}

// takeNamed replaces the names of recordings without wind in the table of conditions by their paths. recordings are all
// files that were found, and files are the recordings that are measurements. takeNamed returns files without the
// recordings that the table names as recordings without wind, and the paths of these. A file that has a row of its own
// in the table, which is not a glob, remains a measurement.
//
// A name in the table is a path from the folder of the project or of the recording, or a file name without folder and
// ending. If table is nil, or the settings name no column with such names, takeNamed returns files unchanged. It
// returns a *fault.Error if no file has a name of the table, or if several have it.
func (t *tareFinder) takeNamed(table *Conditions, recordings, files []string) (rest []string, tares map[string]bool,
	err error,
) {
	columns := t.columns()
	if columns == nil || table == nil {
		return files, nil, nil
	}

	near := filesNear(t.project.Dir, recordings)
	located := map[tareCell]string{}
	tares = map[string]bool{}
	measured := map[string]bool{} // files that have a row of their own
	for i, meant := range table.FilesOf(recordings) {
		if len(meant) == 0 {
			continue
		}

		row := table.Rows[i]
		folder := path.Dir(filepath.ToSlash(recordings[meant[0]]))
		if !isGlob(row.File) {
			for _, k := range meant {
				measured[filepath.ToSlash(recordings[k])] = true
			}
		}

		for k := range row.States {
			cond := &row.States[k]
			if !cond.IsName || !slices.Contains(columns, cond.Column) {
				continue
			}

			cell := tareCell{name: cond.Name, folder: folder}
			if located[cell] == "" {
				place := fmt.Sprintf("line %d, column %s", row.Line, cond.Column)
				located[cell], err = t.tarePath(cell, place, near)
				if err != nil {
					return nil, nil, err
				}
			}

			cond.Name = located[cell]
			tares[cond.Name] = true
		}
	}

	isTare := func(p string) bool {
		s := filepath.ToSlash(p)
		return tares[s] && !measured[s]
	}

	return slices.DeleteFunc(slices.Clone(files), isTare), tares, nil
}

// filesNear lists the recordings, and the files in a folder and up to two levels below it.
func filesNear(dir string, recordings []string) []string {
	var near []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		names, _, _, err := Find([]string{pattern}, nil, dir)
		if err != nil {
			continue // no file matches
		}

		near = append(near, names...)
	}

	return lists.Names(slices.Concat(near, recordings))
}

// tarePath returns the path of a recording without wind that a cell of the table names, and an error if there is no
// such file. place describes the cell for messages, and files are the paths that may be meant.
func (t *tareFinder) tarePath(cell tareCell, place string, files []string) (string, error) {
	tare, err := t.locate(cell, place, files)
	if err != nil {
		return "", err
	}

	if _, err := os.Stat(t.project.Resolve(tare)); err != nil {
		return "", fault.At(t.campaign.Conditions, place, "a recording without wind", fmt.Sprintf("no file %q", cell.name),
			"write its path")
	}

	return tare, nil
}

// locate returns the path of the file among files that a cell of the table names. If several files have the name, files
// in the folder of the run take precedence; if several are left, locate returns an error. If no file has the name,
// locate returns the name itself.
func (t *tareFinder) locate(cell tareCell, place string, files []string) (string, error) {
	var found []string
	for _, i := range FilesOf([]string{strings.TrimSpace(cell.name)}, files)[0] {
		found = append(found, files[i])
	}

	isElsewhere := func(f string) bool { return path.Dir(f) != cell.folder }
	beside := slices.DeleteFunc(slices.Clone(found), isElsewhere)
	if len(beside) > 0 {
		found = beside
	}

	switch len(found) {
	case 0:
		return cell.name, nil
	case 1:
		return found[0], nil
	}

	err := fmt.Errorf("expected one recording without wind, found %q and %q", found[0], found[1])

	return "", &fault.Error{Path: t.campaign.Conditions, Place: place, Err: err, Hint: "write more of the path"}
}

// namesFor returns the names of the recordings without wind for the runs of a file: none, one, or two. The first of two
// was made before the runs, and the second after them. rows are the file's rows of the table of conditions, and known
// contains the conditions of its runs.
func (t *tareFinder) namesFor(file string, rows *Conditions, known condition.Rows) ([]string, error) {
	tare := t.settings()
	if tare == nil {
		return nil, nil
	}

	var names []string
	for _, name := range lists.Names([]string{tare.File, tare.Column, tare.Closing}) {
		own, err := t.tareName(file, rows, known, name)
		if err != nil {
			return nil, err
		}

		names = append(names, own)
	}

	return names, nil
}

// shares returns the place in time of each file's runs between its two recordings without wind: near 0 shortly after
// the first recording, near 1 shortly before the second. All places are 0 if no drift is taken out, and 0.5 if the mean
// of both recordings is subtracted. files are the rows of each file.
//
// shares assumes that the rows that name the same two recordings are equally spaced in time: the first recording was
// made one step before their first row, and the second one step after their last row. If a file has several rows, its
// first row counts.
func (t *tareFinder) shares(table *Conditions, files []*Conditions) []float64 {
	shares := make([]float64, len(files))
	tare := t.settings()
	if tare == nil || tare.Drift == "" {
		return shares
	}

	columns := t.columns()
	lines := map[string][]int{} // line numbers of the rows, by the recordings without wind that they name
	if tare.Drift == "linear" {
		for _, row := range table.Rows {
			names := namesIn(row, columns)
			lines[names] = append(lines[names], row.Line)
		}
	}

	for i, rows := range files {
		if tare.Drift == "mean" {
			shares[i] = 0.5
			continue
		}

		own := rows.Rows[0]
		same := lines[namesIn(own, columns)]
		shares[i] = float64(own.Line-same[0]+1) / float64(same[len(same)-1]-same[0]+2)
	}

	return shares
}

// namesIn returns the names that a row states in columns as one text, which can be compared.
func namesIn(row ConditionRow, columns []string) string {
	names := ""
	for _, c := range columns {
		name, _ := row.Name(c)
		names += strconv.Quote(name)
	}

	return names
}

// findTares stores the recordings without wind of each file and, if a drift is taken out, the place of its runs between
// them.
func (v *Inventory) findTares() error {
	if v.tares == nil || v.Settings.Balance == nil {
		return nil
	}

	if tare := v.tares.settings(); tare != nil && tare.Drift == "linear" && v.Table == nil {
		return setting.Errorf("balance.tare.drift", "linear needs a table of conditions, whose rows are in the order of the "+
			"runs")
	}

	var rows []*Conditions
	for i := range v.Files {
		file := &v.Files[i]
		names, err := v.tares.namesFor(file.Name, file.Rows, file.Known)
		if err != nil {
			return err
		}

		for _, name := range names {
			path := v.Project.Resolve(name)
			if _, err := fault.Regular(path); err != nil {
				return ingest.PathError(path, err)
			}

			file.Tares = append(file.Tares, filepath.ToSlash(name))
		}

		rows = append(rows, file.Rows)
	}

	for i, share := range v.tares.shares(v.Table, rows) {
		v.Files[i].Share = share
	}

	return nil
}
