package scaffold

import (
	"cmp"
	"slices"
	"strings"

	"doubletake/ingest/role"
	"doubletake/pipeline/config"
)

// fromResults reads the files as a table of results, or of pairs, and reports whether they are one. names has the
// conditions that names or a log state.
func (p *plan) fromResults(names *role.Sheet) bool {
	source := strings.Join(globs(names.Files), ", ")
	if len(names.Files) == 1 {
		source = names.Files[0]
	}

	s := role.ReadTables(p.dir, names.Files, source)
	if s == nil || len(s.Columns) == 0 {
		return false
	}

	s.AddNames(names, s.FileOf)
	table := s.FindPairs()
	if table == nil {
		table = p.findRepeats(s, len(names.Files))
	}

	if table == nil {
		return false
	}

	p.noteWarnings(s.Warnings)
	p.leaveLacking(names)
	p.settleNames(s, names)
	if len(names.Files) == 1 {
		p.Files = names.Files
	}

	table.Inputs = role.NamesOf(s.WithRole(role.Input))
	p.Table = table
	p.sheet = s

	return true
}

// findRepeats gives the columns of a table their roles and returns the table if its rows are repeats at settings. It
// returns nil if the rows are samples in time, and notes what a table of results would need if the rows look measured.
func (p *plan) findRepeats(s *role.Sheet, files int) *config.Table {
	s.DecideResults()
	hasPlaces := s.TakePlaces()

	inputs := s.WithRole(role.Input)
	hiding := s.Hiding()
	settings := slices.Concat(inputs, s.WithRole(role.Thing))
	groups := s.GroupRows(settings...)
	run := s.TakeRunColumn(groups)
	areResults := s.IsTable(groups, files)
	isTable := len(hiding) == 0 && areResults
	hasRepeats := 4*role.CountRepeated(groups) >= s.Rows
	if isTable && hasRepeats {
		p.note("%s: %d rows that are a table of results, one a run; rows at equal %s are repeats; correct inputs and "+
			"repeats where they are wrong", s.Source, s.Rows, strings.Join(role.NamesOf(inputs), ", "))

		return s.ResultsTable(run)
	}

	sweeps := s.SweptInputs()
	isSwept := areResults && len(sweeps) > 0
	if (hasPlaces || isSwept) && s.TakeThings(hiding) {
		what := "places, which are the same in every file"
		if !hasPlaces {
			what = "settings of " + strings.Join(role.NamesOf(sweeps), ", ")
		}

		p.note("%s: the rows are %s: no mean over them is taken", s.Source, what)
		p.noteRepeats(s, readAsResults, append(settings, hiding...))

		return s.ResultsTable(run)
	}

	couldRepeat := s.Clock == "" && (files == 1 || len(hiding) > 0) && len(settings)+len(hiding) > 0
	if couldRepeat && (isTable || s.HasMeasured()) {
		if isTable {
			p.noteRepeats(s, readAsResults, append(settings, hiding...))
			return s.ResultsTable(run)
		}

		p.noteRepeats(s, readAsSamples, append(settings, hiding...))
	}

	return nil
}

// What happens to the rows of a table with too few repeats until people correct it.
const (
	readAsResults = "a row without a second one is not used"
	readAsSamples = "until then its rows are read as samples in time"
)

// noteRepeats notes that too few rows repeat the columns, and why. meanwhile is readAsResults or readAsSamples.
func (p *plan) noteRepeats(s *role.Sheet, meanwhile string, columns []*role.Column) {
	p.note("%s: as a table of results it has too few rows that repeat %s: add rows of a second run or day, or take "+
		"out what repeats may differ in; %s", s.Source, strings.Join(role.NamesOf(columns), ", "), meanwhile)

	var doubtful []*role.Column
	for _, column := range s.Columns {
		isUnusable := meanwhile == readAsSamples && column.Role == role.LeftOut
		if column.MayHideDifferences() || isUnusable {
			doubtful = append(doubtful, column)
		}
	}

	reason := func(column *role.Column) string { return cmp.Or(column.Why, "some rows state none"+role.OfMerged) }
	for _, alike := range grouped(doubtful, reason) {
		var heads []string
		for _, column := range alike {
			heads = append(heads, column.Head)
		}

		p.note("%s: %s: %s", s.Source, listed(heads), reason(alike[0]))
	}
}

// settleNames gives the parts of names the roles that their columns have in a sheet, and takes the names as a source of
// conditions. Parts without a column are remarks.
func (p *plan) settleNames(s, names *role.Sheet) {
	for _, part := range names.Columns {
		part.Role = role.Remark
		isOfPart := func(column *role.Column) bool { return column.FromName && column.Head == part.Head }
		i := slices.IndexFunc(s.Columns, isOfPart)
		if i < 0 {
			continue
		}

		column := s.Columns[i]
		part.Role = column.Role
		if part.Role == role.Day && names.Pieces != nil && !s.HasName("day") {
			part.Name = "day"
			column.Name = "day"
		}
	}

	if names.Pieces != nil && len(names.WithRole(role.Input, role.Thing, role.Day)) > 0 {
		p.takeNames(names)
	}
}
