package role

import (
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/setting"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// ResultsTable returns the table of a sheet whose rows are repeats. run is the column that names the run; "" if there
// is none.
func (s *Sheet) ResultsTable(run string) *setting.Table {
	table := &setting.Table{Run: run, Repeats: NamesOf(s.WithRole(Outcome))}
	var outcomes []string
	for _, name := range table.Repeats {
		outcomes = append(outcomes, s.OutcomeName(name))
	}

	if !slices.Equal(outcomes, table.Repeats) {
		table.Outcomes = outcomes
	}

	return table
}

// IsTable reports whether groups of rows of equal settings are repeats, not samples in time. There must be inputs and
// outcomes, and several groups of few rows. Settings must have been set: there are things or days, or values without
// scatter, or values that scatter in short files.
func (s *Sheet) IsTable(groups [][]int, files int) bool {
	inputs := s.WithRole(Input)
	if len(inputs) == 0 || len(s.WithRole(Outcome)) == 0 || len(groups) < fewGroups {
		return false
	}

	isExact := len(s.WithRole(Thing, Day)) > 0
	scatters := false
	for _, column := range inputs {
		isExact = isExact || !column.FromName && column.Points == nil
		scatters = scatters || column.Points != nil
	}

	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = len(g)
	}

	slices.Sort(sizes)
	areShort := s.Rows/files < mostSamples
	isSet := isExact || scatters && areShort

	return isSet && sizes[len(sizes)/2] <= mostRepeats
}

// repeatedPercent is the least share of the rows of a log that must have a repeat, so that repeats are the pairs.
const repeatedPercent = 80

// RepeatsRows reports whether most rows of a log repeat the inputs and things of another row, and no two of them are of
// one run. If two of them are, the column of the run gets this as its reason.
func (s *Sheet) RepeatsRows() bool {
	inputs := s.WithRole(Input)
	groups := s.GroupRows(append(inputs, s.WithRole(Thing)...)...)
	if len(inputs) == 0 || len(groups) < 2 || 100*CountRepeated(groups) < repeatedPercent*s.Rows {
		return false
	}

	for _, column := range s.WithRole(Run) {
		if column.numbersRuns() && !column.differsWithin(groups) {
			column.Why = ofOneRun
			return false
		}
	}

	return !slices.ContainsFunc(s.Columns, (*Column).MayHideDifferences)
}

// numbersRuns reports whether a column of a table or a log, not of names, numbers runs rather than points of a run.
func (c *Column) numbersRuns() bool {
	return c.Role == Run && !c.FromName && !c.HasWord(vocabulary.Points)
}

// TakePlaces makes inputs of all columns of places if one is an input, and reports whether there is one. Otherwise taps
// at one x on the two sides of a wing would be repeats.
func (s *Sheet) TakePlaces() bool {
	if s.Clock != "" || !slices.ContainsFunc(s.WithRole(Input), s.isPlace) {
		return false
	}

	for _, column := range s.WithRole(Remark) {
		if s.isPlace(column) && column.CountDistinct() > 1 {
			column.SetRole(Input, "")
		}
	}

	return true
}

// leastSwept is the number of set points in a file from which the file is a sweep over them.
const leastSwept = 3

// SweptInputs returns the inputs that each of several short files sweeps, such as the angle of a polar: most rows of a
// file have a value of their own. The rows of such a file are results, not samples of one setting. SweptInputs returns
// nil if the rows have a clock, if there is one file, or if the files are not short.
func (s *Sheet) SweptInputs() []*Column {
	rowsOfFiles := lists.Alike(s.FileOf)
	files := len(rowsOfFiles)
	if s.Clock != "" || files < 2 || s.Rows >= mostSamples*files {
		return nil
	}

	var swept []*Column
	for _, column := range s.WithRole(Input) {
		if column.FromName || column.Values == nil || !column.HasWord(vocabulary.Inputs) {
			continue
		}

		if !slices.ContainsFunc(rowsOfFiles, column.isNotSwept) {
			swept = append(swept, column)
		}
	}

	return swept
}

// isNotSwept reports whether the rows of a file have fewer than leastSwept values of the column, or most of them share
// their values.
func (c *Column) isNotSwept(rows []int) bool {
	points := c.countPoints(rows)
	return points < leastSwept || 2*points <= len(rows)
}

// countPoints returns the number of different set points, or of different values, in some rows. Missing values do not
// count.
func (c *Column) countPoints(rows []int) int {
	points := map[float64]bool{}
	for _, row := range rows {
		if x := c.pointOrValue(row); !math.IsNaN(x) {
			points[x] = true
		}
	}

	return len(points)
}

// isPlace reports whether a column has the same values, row by row, in each of several files: the rows of a file are
// places, such as taps, and no samples in time. Even steps under an unknown header may be a clock.
func (s *Sheet) isPlace(column *Column) bool {
	first, _ := slices.BinarySearch(s.FileOf, 1) // the number of rows of the first file
	isOfFiles := 0 < first && first < s.Rows
	if !isOfFiles || column.FromName || column.Values == nil {
		return false
	}

	for row, value := range column.Values {
		if value != column.Values[row%first] || s.FileOf[row] != row/first {
			return false
		}
	}

	return column.HasWord(vocabulary.Place) || !isEven(column.Values[:first])
}

// HasMeasured reports whether a column is of things, called as an outcome, or one of several channels.
func (s *Sheet) HasMeasured() bool {
	return slices.ContainsFunc(s.Columns, func(column *Column) bool {
		return column.Role == Thing || column.HasWord(vocabulary.Outcomes) || s.isChannel(column)
	})
}

// Hiding returns the columns in which rows of equal inputs may differ. If there is no input, these are columns that are
// called as settings too.
func (s *Sheet) Hiding() (hiding []*Column) {
	hasInputs := len(s.WithRole(Input)) > 0
	for _, column := range s.Columns {
		isCalled := !hasInputs && column.Why == noSetPoints
		if isCalled || column.MayHideDifferences() {
			hiding = append(hiding, column)
		}
	}

	return hiding
}

// TakeThings makes things of columns that hide differences, so that no pair has two of their texts. It changes nothing
// and returns false if one of them is not of texts in the names of files.
func (s *Sheet) TakeThings(hiding []*Column) bool {
	isOther := func(column *Column) bool { return !column.FromName || column.Values != nil || column.Role != Remark }
	if slices.ContainsFunc(hiding, isOther) {
		return false
	}

	for _, column := range hiding {
		column.Role = Thing
	}

	return true
}

// TakeRunColumn returns the column that names the run, or "" if there is none: one that differs within every group of
// rows, otherwise the file if it differs, otherwise the first column that numbers runs. Other columns that number rows
// become remarks, so that the roles say what the configuration does.
func (s *Sheet) TakeRunColumn(groups [][]int) string {
	run := s.runColumn(groups)
	for _, column := range s.WithRole(Run) {
		switch {
		case column.FromName || column.Name == run && column.differsWithin(groups):
			// the column names the run
		case column.Name == run:
			column.Why = ofOneRun
		default:
			column.SetRole(Remark, "it numbers rows, but does not tell the runs apart")
		}
	}

	return run
}

// runColumn returns the column that names the run, as TakeRunColumn does.
func (s *Sheet) runColumn(groups [][]int) string {
	var runs []*Column // columns of the table that number runs
	for _, column := range append(s.WithRole(Run), s.WithRole(Remark)...) {
		isRun := column.Role == Run || column.Values == nil
		if !isRun || column.FromName {
			continue
		}

		if column.differsWithin(groups) {
			return column.Name
		}

		if column.numbersRuns() {
			runs = append(runs, column)
		}
	}

	switch file := s.fileColumn(); {
	case file.differsWithin(groups):
		return file.Name
	case len(runs) > 0:
		return runs[0].Name
	}

	return ""
}

// fileColumn returns a column with the number of the file of each row.
func (s *Sheet) fileColumn() *Column {
	file := &Column{Name: "file"}
	for _, k := range s.FileOf {
		file.Texts = append(file.Texts, strconv.Itoa(k))
	}

	return file
}

// differsWithin reports whether all texts of a column differ within every group of rows.
func (c *Column) differsWithin(groups [][]int) bool {
	for _, group := range groups {
		seen := map[string]bool{}
		for _, row := range group {
			if seen[c.Texts[row]] {
				return false
			}

			seen[c.Texts[row]] = true
		}
	}

	return true
}
