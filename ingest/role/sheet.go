package role

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// Sheet holds the rows and columns of a source of conditions. The source is one of three: the names of files, a log
// with a row for each recording, or a table of results with a row for each run.
type Sheet struct {
	Rows    int
	Source  string // "the names", or a file or several, for people
	Columns []*Column

	// Of the names of files.
	Pieces  [][]filename.Piece // of the name of each row; nil: the source is not the names
	Files   []string           // of each row; nil: rows are not files
	Lacking map[string]string  // what the names of files without a row lack, by file

	// Of tables of results.
	FileOf   []int            // index of the file of each row; nil: the source is not a table of results
	Clock    string           // name of the column of the time; "": none
	Warnings []ingest.Warning // about the headers

	unpaired    []bool // of each row, whether it makes no pair; nil: all rows do, or it is not known
	allowNarrow bool   // numeric columns of values close together may be inputs, because no others are
}

// isOfNames reports whether the source is the names of files.
func (s *Sheet) isOfNames() bool { return s.Pieces != nil }

// isOfResults reports whether the source is a table of results.
func (s *Sheet) isOfResults() bool { return s.FileOf != nil }

// byHead returns the column of a header, or nil.
func (s *Sheet) byHead(head string) *Column {
	for _, column := range s.Columns {
		if column.Head == head {
			return column
		}
	}

	return nil
}

// ByHeadOrNew returns the column of a header. If there is none, it adds a column of numbers in which no row states one.
func (s *Sheet) ByHeadOrNew(head string) *Column {
	if column := s.byHead(head); column != nil {
		return column
	}

	column := &Column{
		Name: head, Head: head, Texts: make([]string, s.Rows), Values: slices.Repeat([]float64{math.NaN()}, s.Rows),
	}
	s.Columns = append(s.Columns, column)

	return column
}

// ByName returns the column of a name, or nil.
func (s *Sheet) ByName(name string) *Column {
	for _, column := range s.Columns {
		if column.Name == name {
			return column
		}
	}

	return nil
}

// HasName reports whether a column of the sheet has the given name.
func (s *Sheet) HasName(name string) bool { return s.ByName(name) != nil }

// HasCondition reports whether a column of the sheet has the given name and is a condition.
func (s *Sheet) HasCondition(name string) bool {
	return slices.ContainsFunc(s.Columns, func(column *Column) bool {
		isCondition := column.Role == Input || column.Role == Thing || column.IsCondition
		return column.Name == name && isCondition
	})
}

// WithRole returns the columns of some roles, in the order of the sheet.
func (s *Sheet) WithRole(roles ...Role) []*Column {
	var columns []*Column
	for _, column := range s.Columns {
		if slices.Contains(roles, column.Role) {
			columns = append(columns, column)
		}
	}

	return columns
}

// GroupRows returns the groups of rows with equal cells in all columns. All rows are one group if there are no columns.
func (s *Sheet) GroupRows(columns ...*Column) [][]int {
	keys := make([]string, s.Rows)
	for i := range keys {
		texts := make([]string, len(columns))
		for k, c := range columns {
			texts[k] = c.Cell(i)
		}

		keys[i] = strings.Join(texts, "\x00")
	}

	return lists.Alike(keys)
}

// CountRepeated returns the number of rows in groups of two or more.
func CountRepeated(groups [][]int) int {
	n := 0
	for _, g := range groups {
		if len(g) > 1 {
			n += len(g)
		}
	}

	return n
}

// InputsVary reports whether every input that varies has two different values among those of some rows that make pairs.
func (s *Sheet) InputsVary(rows []int) bool {
	rows = s.paired(rows)
	for _, column := range s.VaryingInputs() {
		if column.countPoints(rows) < 2 {
			return false
		}
	}

	return true
}

// leastNumbered is the number of rows from which consecutive values number them: fewer may be in steps of one by
// chance.
const leastNumbered = 4

// numbersRows reports whether a column numbers the rows of each file: 0, 1, 2, … or 1, 2, …
func (s *Sheet) numbersRows(column *Column) bool {
	if s.Rows < leastNumbered || column.Values == nil {
		return false
	}

	for i, v := range column.Values {
		isFirstOfFile := i == 0 || s.isOfResults() && s.FileOf[i] != s.FileOf[i-1]
		if isFirstOfFile {
			if v != 0 && v != 1 {
				return false
			}
		} else if v != column.Values[i-1]+1 {
			return false
		}
	}

	return true
}

// mostCounted is the greatest number without a word that counts repeats: a5_1, a5_2. Greater numbers may be settings.
const mostCounted = 4

// isCounter reports whether a column of numbers in names counts recordings. Its values must be in steps of one, and one
// of these must be true:
//   - The column is called r, and its least value is at most 1.
//   - It has leading zeros, more than two values, and no value twice. If its word is not the word of a setting, other
//     days may repeat the values.
//   - It is the last number of the names, and counts few repeats from 1.
func (s *Sheet) isCounter(column *Column) bool {
	first, n, isConsecutive := column.consecutive()
	switch {
	case !isConsecutive:
		return false
	case column.Name == "r" && first <= 1:
		return true
	}

	hasZeros := slices.ContainsFunc(column.Texts, leadingZero.MatchString)
	if hasZeros && n > 2 && (n == s.Rows || s.differsWithinDays(column)) {
		return true
	}

	return s.isLastNumber(column) && first == 1 && n <= mostCounted && 2*n <= s.Rows
}

// leadingZero matches numbers such as 007. The zero of 0.5 and 0p5 is not a leading zero.
var leadingZero = regexp.MustCompile(`^0[0-9]`)

// differsWithinDays reports whether a column has another value in each row of a day, and its word is not the word of a
// setting.
func (s *Sheet) differsWithinDays(column *Column) bool {
	return !column.HasWord(vocabulary.Inputs) && CountRepeated(s.GroupRows(append(s.WithRole(Day), column)...)) == 0
}

// isLastNumber reports whether a column is the last of several columns of numbers, and has no word.
func (s *Sheet) isLastNumber(column *Column) bool {
	var numbers []*Column
	for _, other := range s.Columns {
		if isNumber(other) {
			numbers = append(numbers, other)
		}
	}

	return len(numbers) > 1 && numbers[len(numbers)-1] == column && column.hasNoWord()
}

// isIndex reports whether a number without a word in names counts the values of another column: 01_alpha0, 02_alpha5.
func (s *Sheet) isIndex(column *Column) bool {
	_, n, isConsecutive := column.consecutive()
	if !s.isOfNames() || !isConsecutive || !column.hasNoWord() {
		return false
	}

	return slices.ContainsFunc(s.Columns, func(other *Column) bool {
		if other.hasNoWord() || !isNumber(other) {
			return false
		}

		return other.CountDistinct() == n && len(s.GroupRows(column, other)) == n
	})
}

// crosses reports whether each value of a column was measured once with each combination of the other columns, as in a
// design of experiments.
func (s *Sheet) crosses(column *Column, others []*Column) bool {
	measured := len(s.GroupRows(slices.Concat(others, []*Column{column})...))
	possible := len(s.GroupRows(others...)) * column.CountDistinct()

	return measured == s.Rows && measured == possible
}

// isSpreadOfOther reports whether a column has the name of another with the sign of an uncertainty: u_CL, dCD, CL ±.
func (s *Sheet) isSpreadOfOther(column *Column) bool {
	m := vocabulary.Spread.FindStringSubmatch(column.Name)
	return m != nil && s.HasName(m[1]+m[2]+m[3])
}

// Numbers in names that cannot be what their word says.
const (
	mostBlades = 12 // more are not a number of blades
	leastSpeed = 10 // m/s: whole numbers below it, without a unit, number settings of the speed
)

// renameForTables changes the names of columns that tables of conditions cannot have. Blades must be a count up to
// mostBlades, and a speed such as 1, 2, 3 is the number of a setting.
func (s *Sheet) renameForTables() {
	for _, column := range s.Columns {
		isCount := column.Values != nil && column.areCounts() && !slices.Contains(column.Values, 0)
		switch {
		case column.Role == Day && column.countsMountings() && !s.HasName("mounting"):
			column.Name = "mounting"
		case column.Role == Day && !s.HasName("day"):
			column.Name = "day"
		case column.Name == "blades" && !(isCount && slices.Max(column.Values) <= mostBlades):
			column.Name = "b"
		case column.Name == "u_inf_m_s" && column.Unit == "" && isCount && slices.Max(column.Values) < leastSpeed:
			column.Name = "speed"
		case slices.Contains(condition.Reserved, column.Name):
			column.Name += "_number" // these words have other meanings in tables
		}
	}
}

// OutcomeName returns a name, with an ending if the program's tables reserve the name or a condition has it.
func (s *Sheet) OutcomeName(name string) string {
	isCondition := func(column *Column) bool { return column.Name == name && column.Role != Outcome }
	if slices.Contains(condition.Reserved, name) || slices.ContainsFunc(s.Columns, isCondition) {
		return name + "_measured"
	}

	return name
}
