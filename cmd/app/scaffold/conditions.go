package scaffold

import (
	"maps"
	"slices"

	"doubletake/ingest/filename"
	"doubletake/ingest/role"
)

// noConditions is the note about names without conditions.
const noConditions = "the file names contain no conditions: conditions.csv lists the files; add a column per condition"

// findConditions takes the conditions from a log, from the names or from a table of results, and reads the headers of
// recordings. It returns the files that are used.
func (p *plan) findConditions(files []string) []string {
	p.Files = globs(files)
	names := role.ReadNames(files)
	if p.Conditions != "" {
		files = p.fromLog(files)
		names = p.sheet
	} else {
		p.addStatements(names)
	}

	mayBeTable := p.Format == "text" || p.Format == "parquet"
	switch {
	case mayBeTable && p.fromResults(names):
		return names.Files
	case p.Conditions != "":
		p.readHeaders(files)
		p.Repeated = p.Repeated && p.sheet.RepeatsRows()
	default:
		files = p.fromNames(names, files)
		p.readHeaders(files)
	}

	return files
}

// fromNames takes the conditions from the names of the files. It returns the files that are used.
func (p *plan) fromNames(s *role.Sheet, files []string) []string {
	p.sheet = s
	if len(s.WithRole(role.Input, role.Thing)) == 0 {
		for _, column := range s.WithRole(role.Day) {
			column.SetRole(role.Remark, "the names state no condition besides")
		}

		p.writeConditions(&role.Sheet{Files: files})
		p.note(noConditions)

		return files
	}

	p.leaveLacking(s)
	p.takeNames(s)
	isOfHeaders := slices.ContainsFunc(s.Columns, func(column *role.Column) bool { return column.Why == role.OfHeaders })
	if p.Pattern == "" && !isOfHeaders {
		p.note("the names are built in several ways: conditions.csv holds what they state")
	}

	if s.HasCondition("speed") {
		p.note("speed in the names counts settings; it is no speed in m/s (u_inf_m_s): rename it, or correct its values")
	}

	if s.HasCondition(filename.Unnamed) {
		p.note("a number in the names has no word with it and is called condition: rename it")
	}

	return s.Files
}

// leaveLacking excludes the files whose names lack something that most names state.
func (p *plan) leaveLacking(s *role.Sheet) {
	byLack := map[string][]string{}
	for _, file := range slices.Sorted(maps.Keys(s.Lacking)) {
		p.Exclude = append(p.Exclude, file)
		byLack[s.Lacking[file]] = append(byLack[s.Lacking[file]], file)
	}

	for _, lack := range slices.Sorted(maps.Keys(byLack)) {
		files := byLack[lack]
		if len(files) == 1 {
			p.note("%s: left out, its name states no %s", files[0], lack)
			continue
		}

		p.note("%s: left out, their names state no %s", someFiles(files), lack)
	}
}

// takeNames takes the conditions that names state: by a pattern if all names are built alike, otherwise by a table
// that is written next to the configuration, where people can correct it.
func (p *plan) takeNames(s *role.Sheet) {
	p.Pattern = s.Pattern()
	if p.Pattern == "" {
		p.writeConditions(s)
	}
}

// writeConditions keeps the conditions of a sheet as the text of conditions.csv, from which the configuration takes
// them.
func (p *plan) writeConditions(s *role.Sheet) {
	p.Conditions = "conditions.csv"
	p.result.Conditions = s.ConditionsTable()
}
