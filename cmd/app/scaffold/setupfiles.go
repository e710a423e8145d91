package scaffold

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/role"
	"doubletake/ingest/spelling"
	"doubletake/ingest/vocabulary"
	"doubletake/pipeline/config"
)

// findSetupFiles finds the files about the set-up: the table of microphones, the recordings of a calibrator that it
// names, and the matrix of a balance. It keeps all other files as measured.
func (p *plan) findSetupFiles(files []string) {
	var mics *campaign.Cells
	for _, file := range files {
		cells := p.readSetup(file)
		switch {
		case isMicrophones(cells):
			p.takeMicrophones(file, cells)
			mics = cells
		case isMatrix(cells):
			p.Matrix = file
			p.components = cells.Column(nil, 0)
		default:
			p.measured = append(p.measured, file)
		}
	}

	if mics == nil {
		return
	}

	for k, name := range mics.Columns {
		if _, isNumber := mics.Units[name]; !isNumber {
			p.takeCalibrators(mics, k)
		}
	}
}

// isMicrophones reports whether a table has a row for each microphone.
func isMicrophones(cells *campaign.Cells) bool {
	return cells != nil && slices.Contains(microphoneColumns(cells), "channel")
}

// microphoneColumns returns the names of the columns of a table of microphones, as stage ingest reads them.
func microphoneColumns(cells *campaign.Cells) []string {
	names := slices.Clone(cells.Columns)
	for name, head := range campaign.MicrophoneColumns(cells.Heads, nil) {
		names[slices.Index(cells.Heads, head)] = name
	}

	for i, name := range names {
		if strings.EqualFold(name, "channel") {
			names[i] = "channel"
		}
	}

	return names
}

// takeMicrophones takes a file for the table of the microphones.
func (p *plan) takeMicrophones(file string, cells *campaign.Cells) {
	names := microphoneColumns(cells)
	p.Microphones = &config.Microphones{File: file}
	p.MicsCalibrated = slices.Contains(names, "sensitivity_v_per_pa")
	p.micConditions = nil
	for i, name := range names {
		if strings.HasSuffix(name, "_deg") {
			p.micConditions = append(p.micConditions, name)
		}

		if name == "theta_deg" && campaign.IsFromAxis(cells.Heads[i]) {
			p.ThetaFrom = "axis"
		}
	}
}

// isMatrix reports whether a table is of a matrix: the first column has names, the others have numbers.
func isMatrix(cells *campaign.Cells) bool {
	return cells != nil && len(cells.Columns) > 1 && len(cells.Columns) == len(cells.Units)+1
}

// readSetup reads a table that has the name of a matrix or of a table of microphones. It returns nil for other files,
// and for files that are not tables.
func (p *plan) readSetup(file string) *campaign.Cells {
	if !vocabulary.SetUp.MatchString(strings.TrimSuffix(path.Base(file), path.Ext(file))) {
		return nil
	}

	cells, err := campaign.ReadCells(filepath.Join(p.dir, file), role.MostRows)
	if err != nil || cells.Rows == 0 {
		return nil
	}

	return cells
}

// takeCalibrators takes the files that column k of a table of microphones names for recordings of a calibrator. It
// takes none if a cell names no file, or several.
func (p *plan) takeCalibrators(mics *campaign.Cells, k int) {
	files := p.recordingsOf(mics.Column(nil, k))
	if files == nil {
		return
	}

	p.Calibrators = nil
	channel := slices.Index(microphoneColumns(mics), "channel")
	for i, file := range files {
		p.Calibrators = append(p.Calibrators, config.NamedString{Name: spelling.YAML(mics.Text(i, channel)), Value: file})
	}

	p.measured = except(p.measured, files...)
}

// recordingsOf returns the file that each cell names, or nil if a cell does not name exactly one.
func (p *plan) recordingsOf(cells []string) []string {
	matches := campaign.FilesOf(cells, p.measured)
	if slices.ContainsFunc(matches, func(files []int) bool { return len(files) != 1 }) {
		return nil
	}

	files := []string{}
	for _, match := range matches {
		files = append(files, p.measured[match[0]])
	}

	return files
}

// proposeLoads proposes the loads of a balance as outcomes, and reports whether it proposes any. There must be a matrix
// and the angle of attack, and all channels must be voltages.
func (p *plan) proposeLoads() bool {
	areVolts := !slices.ContainsFunc(p.units, func(unit string) bool { return !isVoltage(unit) && unit != "" })
	if p.Matrix == "" || !areVolts || !p.Alpha() {
		return false
	}

	for _, component := range p.components {
		load := vocabulary.Loads[strings.ToLower(component)]
		isTaken := func(column config.NamedString) bool { return column.Name == load }
		if load != "" && !slices.ContainsFunc(p.Columns, isTaken) {
			p.Columns = append(p.Columns, config.NamedString{Name: load, Value: component})
			p.Voltages = p.Channels
		}
	}

	return len(p.Columns) > 0
}

// takeTares takes the files that a column of the log names for recordings without wind, and reports whether it does.
// These files have no row in the log.
func (p *plan) takeTares(column *role.Column) bool {
	isOfLog := p.sheet.Pieces == nil && !column.FromName
	if len(p.Columns) == 0 || !isOfLog || column.Values != nil {
		return false
	}

	files := p.recordingsOf(column.DistinctCells())
	if files == nil {
		return false
	}

	p.tareFiles = append(p.tareFiles, files...)
	p.Tares = append(p.Tares, column.Head)

	return true
}
