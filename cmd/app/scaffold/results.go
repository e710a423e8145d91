package scaffold

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
)

// A table of results has one row for each run, with columns of settings, at which rows are repeated, and columns of
// measured values. A table of pairs has two columns for each outcome: CT_1 and CT_2. Every other table is of samples in
// time: it has a clock or many rows, or no setting tells its rows apart.
//
// fromResults reads all files into one sheet (readSheet), and then tries pairs (findPairs) and repeats (takeRepeats).
const (
	mostRows    = 2000  // of a file of results
	mostResults = 20000 // rows of all files
	mostSamples = 100   // rows of a file of results with a clock, or with settings that scatter
	mostRepeats = 50    // rows of equal settings, in the median
	fewGroups   = 3     // of equal settings: results have at least as many
)

// fromResults reads the files as a table of results, or of pairs, and reports whether they are one. names has the
// conditions that names or a log state.
func (p *plan) fromResults(names *sheet) bool {
	s := readSheet(p.dir, names.files)
	if s == nil || len(s.fields) == 0 {
		return false
	}

	s.addNameFields(names, s.fileOf)
	table := s.findPairs()
	if table == nil {
		table = p.findRepeats(s, len(names.files))
	}

	if table == nil {
		return false
	}

	p.leaveLacking(names)
	p.settleNames(s, names)
	if len(names.files) == 1 {
		p.Files = names.files
	}

	table.Inputs = namesOf(s.withRole(input))
	p.Table = table
	p.sheet = s

	return true
}

// findRepeats gives the columns of a table their roles and returns the table if its rows are repeats at settings. It
// returns nil if the rows are samples in time, and notes what a table of results would need if the rows look measured.
func (p *plan) findRepeats(s *sheet, files int) *config.Table {
	s.decideResults()
	hasPlaces := s.takePlaces()

	inputs := s.withRole(input)
	var hiding []*field
	for _, column := range s.fields {
		if column.mayHideDifferences() {
			hiding = append(hiding, column)
		}
	}

	settings := slices.Concat(inputs, s.withRole(thing))
	groups := s.groupRows(settings...)
	isTable := len(hiding) == 0 && s.isTable(groups, files)
	hasRepeats := 4*countRepeated(groups) >= s.rows
	if isTable && hasRepeats {
		p.note("%s: %d rows that are a table of results, one a run; rows at equal %s are repeats; correct inputs and "+
			"repeats where they are wrong", s.source, s.rows, strings.Join(namesOf(inputs), ", "))

		return s.resultsTable(s.runColumn(s.groupRows(inputs...)))
	}

	sweeps := s.sweptInputs()
	if hasPlaces || isTable && len(sweeps) > 0 {
		what := "places, which are the same in every file"
		if !hasPlaces {
			what = "settings of " + strings.Join(namesOf(sweeps), ", ")
		}

		p.note("%s: the rows are %s: no mean over them is taken", s.source, what)
		p.noteRepeats(s, true, append(settings, hiding...))

		return s.resultsTable("")
	}

	couldRepeat := s.clock == "" && (files == 1 || len(hiding) > 0) && len(settings)+len(hiding) > 0
	if couldRepeat && (isTable || s.hasMeasured()) {
		p.noteRepeats(s, isTable, append(settings, hiding...))
		if isTable {
			return s.resultsTable("")
		}
	}

	return nil
}

// resultsTable returns the table of a sheet whose rows are repeats. run is the column that names the run; "" if there
// is none.
func (s *sheet) resultsTable(run string) *config.Table {
	table := &config.Table{Run: run, Repeats: namesOf(s.withRole(outcome))}
	var outcomes []string
	for _, name := range table.Repeats {
		outcomes = append(outcomes, s.outcomeName(name))
	}

	if !slices.Equal(outcomes, table.Repeats) {
		table.Outcomes = outcomes
	}

	return table
}

// isTable reports whether groups of rows of equal settings are repeats, not samples in time. There must be inputs and
// outcomes, and several groups of few rows. Settings must have been set: there are things or days, or values without
// scatter, or values that scatter in short files.
func (s *sheet) isTable(groups [][]int, files int) bool {
	inputs := s.withRole(input)
	if len(inputs) == 0 || len(s.withRole(outcome)) == 0 || len(groups) < fewGroups {
		return false
	}

	isExact := len(s.withRole(thing, day)) > 0
	scatters := false
	for _, column := range inputs {
		isExact = isExact || !column.fromName && column.points == nil
		scatters = scatters || column.points != nil
	}

	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g)
	}

	slices.Sort(sizes)
	areShort := s.rows/files < mostSamples
	isSet := isExact || scatters && areShort

	return isSet && sizes[len(sizes)/2] <= mostRepeats
}

// takePlaces makes inputs of all columns of places if one is an input, and reports whether there is one. Otherwise taps
// at one x on the two sides of a wing would be repeats.
func (s *sheet) takePlaces() bool {
	if s.clock != "" || !slices.ContainsFunc(s.withRole(input), s.isPlace) {
		return false
	}

	for _, column := range s.withRole(remark) {
		if s.isPlace(column) && column.countDistinct() > 1 {
			column.setRole(input, "")
		}
	}

	return true
}

// leastSwept is the number of set points in a file from which the file is a sweep over them.
const leastSwept = 3

// sweptInputs returns the inputs that each of several short files sweeps, such as the angle of a polar: most rows of a
// file have a value of their own. The rows of such a file are results, and no samples of one setting.
func (s *sheet) sweptInputs() []*field {
	files, indices := lists.Index(s.fileOf)
	if s.clock != "" || len(indices) < 2 || s.rows >= mostSamples*len(indices) {
		return nil
	}

	var swept []*field
	for _, column := range s.withRole(input) {
		if column.fromName || column.values == nil || !column.hasWord(vocabulary.Inputs) {
			continue
		}

		isSwept := true
		for _, rows := range lists.Alike(files) {
			points := map[float64]bool{}
			for _, row := range rows {
				points[column.pointOrValue(row)] = true
			}

			isSwept = isSwept && len(points) >= leastSwept && 2*len(points) > len(rows)
		}

		if isSwept {
			swept = append(swept, column)
		}
	}

	return swept
}

// isPlace reports whether a column has the same values, row by row, in each of several files: the rows of a file are
// places, such as taps, and no samples in time. Even steps under an unknown header may be a clock.
func (s *sheet) isPlace(column *field) bool {
	first, _ := slices.BinarySearch(s.fileOf, 1) // the number of rows of the first file
	isOfFiles := 0 < first && first < s.rows
	if !isOfFiles || column.fromName || column.values == nil {
		return false
	}

	for row, value := range column.values {
		if value != column.values[row%first] || s.fileOf[row] != row/first {
			return false
		}
	}

	return column.hasWord(vocabulary.Place) || !isEven(column.values[:first])
}

// isEven reports whether values rise in equal steps, to a thousandth of a step.
func isEven(values []float64) bool {
	if len(values) < 2 {
		return true
	}

	step := values[1] - values[0]
	for i := 1; i < len(values); i++ {
		if math.Abs(values[i]-values[i-1]-step) > 1e-3*math.Abs(step) {
			return false
		}
	}

	return step > 0
}

// hasMeasured reports whether a column is of things, or called as an outcome.
func (s *sheet) hasMeasured() bool {
	return slices.ContainsFunc(s.fields, func(f *field) bool { return f.role == thing || f.hasWord(vocabulary.Outcomes) })
}

// noteRepeats notes that too few rows repeat the columns, and why.
func (p *plan) noteRepeats(s *sheet, isTable bool, columns []*field) {
	meanwhile := "until then its rows are read as samples in time"
	if isTable {
		meanwhile = "a row without a second one is not used"
	}

	p.note("%s: as a table of results it has too few rows that repeat %s: add rows of a second run or day, or take "+
		"out what repeats may differ in; %s", s.source, strings.Join(namesOf(columns), ", "), meanwhile)
	for _, column := range s.fields {
		if column.mayHideDifferences() || !isTable && column.role == leftOut {
			p.note("%s: %s: %s", s.source, column.head, cmp.Or(column.why, "some rows state none"+ofMerged))
		}
	}
}

// addNameFields adds a column for each part of the names of files. fileOf is the index of the file of each row. It
// adds no part that a column states already, in the same writing or another: MF8045 beside MF 8045. A part that
// contradicts the column of its name is left out.
func (s *sheet) addNameFields(names *sheet, fileOf []int) {
	for _, part := range names.fields {
		column := &field{
			name: part.name, head: part.head, fromName: true, reading: part.reading,
			values: lists.Pick(part.values, fileOf), texts: lists.Pick(part.texts, fileOf),
		}
		if slices.ContainsFunc(s.fields, column.isSame) {
			continue
		}

		isOfLog := s.fileOf == nil
		switch {
		case s.hasName(column.name):
			s.leaveOutIfDifferent(column, func(row int) string { return names.files[fileOf[row]] })
		case part.values == nil:
		case isOfLog && column.hasNoWord():
			column.setRole(runs, "a number without a word, besides a log")
		case part.role != input && !part.hasWord(vocabulary.Days): // on texts and days the sheet decides
			column.setRole(part.role, part.why)
		}

		s.fields = append(s.fields, column)
	}
}

// isSame reports whether another column states the same in each row, in the same writing or another.
func (f *field) isSame(other *field) bool {
	isSameNumbers := f.values != nil && slices.Equal(other.values, f.values)
	if isSameNumbers || slices.Equal(other.texts, f.texts) {
		return true
	}

	return f.values == nil && other.values == nil && slices.EqualFunc(other.texts, f.texts, isAlike)
}

// isAlike reports whether texts are equal, or differ only in their writing.
func isAlike(a, b string) bool { return a == b || len(condition.Alike([]string{a, b})) > 0 }

// leaveOutIfDifferent leaves out a field if the column of its name states something else in a row, and reports whether
// it does. source returns what states the field in a row.
func (s *sheet) leaveOutIfDifferent(f *field, source func(row int) string) bool {
	column := s.byName(f.name)
	for row := range s.rows {
		if column.cell(row) != f.cell(row) {
			f.setRole(leftOut, fmt.Sprintf("a column has its name; %s states %s, the column %s",
				source(row), f.cell(row), column.cell(row)))

			return true
		}
	}

	return false
}

// settleNames gives the parts of names the roles that their columns have in a sheet, and takes the names as a source of
// conditions. Parts without a column are remarks.
func (p *plan) settleNames(s, names *sheet) {
	for _, part := range names.fields {
		part.role = remark
		i := slices.IndexFunc(s.fields, func(column *field) bool { return column.fromName && column.head == part.head })
		if i < 0 {
			continue
		}

		column := s.fields[i]
		part.role = column.role
		if part.role == day && names.pieces != nil && !s.hasName("day") {
			part.name = "day"
			column.name = "day"
		}
	}

	if names.pieces != nil && len(names.withRole(input, thing, day)) > 0 {
		p.takeNames(names)
	}
}

// runColumn returns the column that names the run: one that differs within every group of rows, otherwise the file if
// it differs, or "" if there is none.
func (s *sheet) runColumn(groups [][]int) string {
	for _, column := range append(s.withRole(runs), s.withRole(remark)...) {
		isRun := column.role == runs || column.values == nil
		if isRun && !column.fromName && column.differsWithin(groups) {
			return column.name
		}
	}

	file := &field{name: "file"}
	for _, k := range s.fileOf {
		file.texts = append(file.texts, strconv.Itoa(k))
	}

	if file.differsWithin(groups) {
		return file.name
	}

	return ""
}

// differsWithin reports whether all texts of a field differ within every group of rows.
func (f *field) differsWithin(groups [][]int) bool {
	for _, g := range groups {
		if len(lists.Alike(lists.Pick(f.texts, g))) < len(g) {
			return false
		}
	}

	return true
}

// readSheet reads all files into one sheet. A column has the rows of all files, even if they write its header in
// different ways. readSheet returns nil if the files cannot be results.
func readSheet(dir string, files []string) *sheet {
	s := &sheet{source: strings.Join(globs(files), ", ")}
	if len(files) == 1 {
		s.source = files[0]
	}

	var tables []*campaign.Cells
	for i, file := range files {
		cells, err := campaign.ReadCells(filepath.Join(dir, file), mostRows)
		if err != nil || cells.Rows == 0 || s.rows+cells.Rows > mostResults {
			return nil
		}

		if cells.Rows >= mostSamples && (cells.Clock != "" || areNumbered(cells.Columns)) {
			return nil
		}

		for k, name := range cells.Columns {
			if i == 0 || campaign.ColumnOf(namesOf(s.fields), name) < 0 {
				s.fields = append(s.fields, &field{name: name, head: cells.Heads[k], unit: cells.Units[name]})
			}
		}

		s.rows += cells.Rows
		s.fileOf = append(s.fileOf, slices.Repeat([]int{i}, cells.Rows)...)
		tables = append(tables, cells)
		s.clock = tables[0].Clock
	}

	for _, column := range s.fields {
		column.readCells(tables)
	}

	s.readNumbers()

	return s
}

// areNumbered reports whether the columns have only numbers as names. Loggers write such columns, and nothing shows
// which one is the clock.
func areNumbered(columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return !isWholeNumber(name) })
}

// isWholeNumber reports whether a text is a whole number.
func isWholeNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// readCells sets the texts of a column from the tables. A table without the column adds an empty text for each row, and
// the column is left out.
func (f *field) readCells(tables []*campaign.Cells) {
	for _, cells := range tables {
		if k := campaign.ColumnOf(cells.Columns, f.name); k >= 0 {
			f.texts = cells.Column(f.texts, k)
			continue
		}

		f.texts = append(f.texts, make([]string, cells.Rows)...)
		f.setRole(leftOut, "not all files have it")
	}
}

// readNumbers sets the values and units of the columns that are numbers, and leaves out columns in which only some
// cells are numbers.
func (s *sheet) readNumbers() {
	var options []condition.ColumnOptions
	for _, column := range s.fields {
		_, unit := text.SplitUnit(column.head)
		usual, _ := units.OfName(cmp.Or(vocabulary.TermOf(column.name, unit), column.name))
		options = append(options, condition.ColumnOptions{Usual: usual.Text})
	}

	columns, errs := condition.ReadColumns(func(k int) []string { return s.fields[k].texts }, options)
	for k, column := range s.fields {
		column.values = columns[k].Values
		column.unit = cmp.Or(columns[k].Unit, column.unit)
		if errs[k] != nil && !column.isCalledText() {
			column.setRole(leftOut, errs[k].Error())
		}
	}
}

// isCalledText reports whether a column is called as things, days, times, remarks or numbers of runs, which may be
// texts.
func (f *field) isCalledText() bool {
	return f.isNumbered() ||
		f.hasWord(vocabulary.Things, vocabulary.Days, vocabulary.Clocks, vocabulary.Remarks)
}

// pairMember is one of the columns of a pair: CT_1 is number "1" of outcome "CT". The zero is not a member.
type pairMember struct{ outcome, number string }

// findPairs finds outcomes NAME_1 and NAME_2, and gives all columns their roles. It returns nil if there are no such
// outcomes, or no inputs beside them, or the rows have a clock.
func (s *sheet) findPairs() *config.Table {
	if s.clock != "" {
		return nil
	}

	members := make([]pairMember, len(s.fields)) // of each column
	columns := map[pairMember]*field{}
	for i, column := range s.fields {
		m := vocabulary.PairMember.FindStringSubmatch(column.name)
		if m != nil && column.values != nil && column.role == open {
			members[i] = pairMember{m[1], m[2]}
			columns[members[i]] = column
		}
	}

	table := &config.Table{}
	isRepeated := s.repeatsCalledSettings()
	for i, column := range s.fields {
		name := members[i].outcome
		first := columns[pairMember{name, "1"}]
		second := columns[pairMember{name, "2"}]
		hasPair := first != nil && second != nil
		isMicrophones := isRepeated && columns[pairMember{name, "4"}] != nil // not repeats: rows have these
		isMean := column.hasWord(vocabulary.Measured) && columns[pairMember{vocabulary.BareHead(column.name), "1"}] != nil
		switch {
		case column.role == open && isMean: // mean CT beside CT_1
			column.setRole(leftOut, "a value of an outcome, by its name")
		case !hasPair || isMicrophones:
		case column == first:
			table.Y1 = append(table.Y1, first.name)
			table.Y2 = append(table.Y2, second.name)
			table.Outcomes = append(table.Outcomes, name)
			column.role = outcome
			second.role = outcome
		case column != second:
			column.setRole(leftOut, "a pair is of the first two values of "+name+": a row for each value uses all")
		}
	}

	if len(table.Y1) == 0 {
		return nil
	}

	if slices.EqualFunc(table.Y1, table.Outcomes, func(y1, name string) bool { return y1 == name+"_1" }) {
		table.Outcomes = nil // these names are the default
	}

	s.decideLog()
	isRun := func(column *field) bool {
		return column.values == nil && (column.role == runs || column.hasWord(vocabulary.RunNames))
	}
	if i := slices.IndexFunc(s.fields, isRun); i >= 0 {
		s.fields[i].setRole(runs, "")
		table.Run = s.fields[i].name
	}

	if len(s.withRole(input)) == 0 {
		return nil
	}

	return table
}

// repeatsCalledSettings reports whether half of the rows have a repeat: a row of equal numbers in all columns that are
// called as settings.
func (s *sheet) repeatsCalledSettings() bool {
	var called []*field
	for _, column := range s.fields {
		if column.values != nil && column.hasWord(vocabulary.Inputs) {
			called = append(called, column)
		}
	}

	return len(called) > 0 && 2*countRepeated(s.groupRows(called...)) >= s.rows
}
