package scaffold

import (
	"math"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/filename"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// sheet holds the rows of a source of conditions: a table, or the names of files.
type sheet struct {
	rows        int
	source      string // "the names", or a file
	fields      []*field
	allowNarrow bool // numeric columns of values close together may be inputs, because no others are

	fileOf []int  // index of the file of each row of a table of results; nil: the sheet is not such a table
	clock  string // name of the column of the time in a table of results; "": none

	pieces  [][]filename.Piece // of the name of each row; nil: the source is not the names
	files   []string           // of each row; nil: rows are not files
	lacking map[string]string  // what the names of files without a row lack, by file
}

// byHead returns the column of a header, or nil.
func (s *sheet) byHead(head string) *field {
	for _, column := range s.fields {
		if column.head == head {
			return column
		}
	}

	return nil
}

// byHeadOrNew returns the column of a header. If there is none, it adds a column of numbers in which no row states one.
func (s *sheet) byHeadOrNew(head string) *field {
	if column := s.byHead(head); column != nil {
		return column
	}

	column := &field{
		name: head, head: head, texts: make([]string, s.rows), values: slices.Repeat([]float64{math.NaN()}, s.rows),
	}
	s.fields = append(s.fields, column)

	return column
}

// byName returns the column of a name, or nil.
func (s *sheet) byName(name string) *field {
	for _, column := range s.fields {
		if column.name == name {
			return column
		}
	}

	return nil
}

// hasName reports whether a column of the sheet has the given name.
func (s *sheet) hasName(name string) bool { return s.byName(name) != nil }

// hasCondition reports whether a column of the sheet has the given name and is a condition.
func (s *sheet) hasCondition(name string) bool {
	return slices.ContainsFunc(s.fields, func(column *field) bool {
		isCondition := column.role == input || column.role == thing || column.isCondition
		return column.name == name && isCondition
	})
}

// withRole returns the fields of some roles, in the order of the sheet.
func (s *sheet) withRole(roles ...role) []*field {
	var fields []*field
	for _, column := range s.fields {
		if slices.Contains(roles, column.role) {
			fields = append(fields, column)
		}
	}

	return fields
}

// groupRows returns the groups of rows with equal cells in all columns. All rows are one group if there are no columns.
func (s *sheet) groupRows(columns ...*field) [][]int {
	keys := make([]string, s.rows)
	for i := range keys {
		texts := make([]string, len(columns))
		for k, c := range columns {
			texts[k] = c.cell(i)
		}

		keys[i] = strings.Join(texts, "\x00")
	}

	return lists.Alike(keys)
}

// countRepeated returns the number of rows in groups of two or more.
func countRepeated(groups [][]int) int {
	n := 0
	for _, g := range groups {
		if len(g) > 1 {
			n += len(g)
		}
	}

	return n
}

// inputsVary reports whether every input has two different values among some rows.
func (s *sheet) inputsVary(rows []int) bool {
	for _, column := range s.withRole(input) {
		values := make([]float64, len(rows))
		for k, row := range rows {
			values[k] = column.pointOrValue(row)
		}

		if _, different := lists.Index(values); len(different) < 2 {
			return false
		}
	}

	return true
}

// leastNumbered is the number of rows from which consecutive values number them: fewer may be in steps of one by
// chance.
const leastNumbered = 4

// numbersRows reports whether a column numbers the rows of each file: 0, 1, 2, … or 1, 2, …
func (s *sheet) numbersRows(column *field) bool {
	if s.rows < leastNumbered || column.values == nil {
		return false
	}

	for i, v := range column.values {
		isFirstOfFile := i == 0 || s.fileOf != nil && s.fileOf[i] != s.fileOf[i-1]
		if isFirstOfFile {
			if v != 0 && v != 1 {
				return false
			}
		} else if v != column.values[i-1]+1 {
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
//   - It has leading zeros, more than two values, and no value twice. If it is not called as a setting, values may come
//     again on other days.
//   - It is the last number of the names, and counts few repeats from 1.
func (s *sheet) isCounter(column *field) bool {
	first, n, isConsecutive := column.consecutive()
	switch {
	case !isConsecutive:
		return false
	case column.name == "r" && first <= 1:
		return true
	}

	hasZeros := slices.ContainsFunc(column.texts, func(text string) bool { return len(text) > 1 && text[0] == '0' })
	if hasZeros && n > 2 && (n == s.rows || s.differsWithinDays(column)) {
		return true
	}

	return s.isLastNumber(column) && first == 1 && n <= mostCounted && 2*n <= s.rows
}

// differsWithinDays reports whether a column that is not called as a setting has another value in each row of a day.
func (s *sheet) differsWithinDays(column *field) bool {
	return !column.hasWord(vocabulary.Inputs) && countRepeated(s.groupRows(append(s.withRole(day), column)...)) == 0
}

// isLastNumber reports whether a column is the last of several columns of numbers, and has no word.
func (s *sheet) isLastNumber(column *field) bool {
	var numbers []*field
	for _, other := range s.fields {
		if isNumber(other) {
			numbers = append(numbers, other)
		}
	}

	return len(numbers) > 1 && numbers[len(numbers)-1] == column && column.hasNoWord()
}

// isIndex reports whether a number without a word in names counts the values of another column: 01_alpha0, 02_alpha5.
func (s *sheet) isIndex(column *field) bool {
	_, n, isConsecutive := column.consecutive()
	if s.pieces == nil || !isConsecutive || !column.hasNoWord() {
		return false
	}

	return slices.ContainsFunc(s.fields, func(other *field) bool {
		if other.hasNoWord() || !isNumber(other) {
			return false
		}

		return other.countDistinct() == n && len(s.groupRows(column, other)) == n
	})
}

// crosses reports whether each value of a column was measured once with each combination of the other columns, as in a
// design of experiments.
func (s *sheet) crosses(column *field, others []*field) bool {
	measured := len(s.groupRows(slices.Concat(others, []*field{column})...))
	possible := len(s.groupRows(others...)) * column.countDistinct()

	return measured == s.rows && measured == possible
}

// isSpreadOfOther reports whether a column has the name of another with the sign of an uncertainty: u_CL, dCD, CL ±.
func (s *sheet) isSpreadOfOther(column *field) bool {
	m := vocabulary.Spread.FindStringSubmatch(column.name)
	return m != nil && s.hasName(m[1]+m[2]+m[3])
}

// Numbers in names that cannot be what their word says.
const (
	mostBlades = 12 // more are not a number of blades
	leastSpeed = 10 // m/s: whole numbers below it, without a unit, number settings of the speed
)

// renameForTables changes the names of columns that tables of conditions cannot have. Blades must be a count up to
// mostBlades, and a speed such as 1, 2, 3 is the number of a setting.
func (s *sheet) renameForTables() {
	for _, column := range s.fields {
		isCount := column.values != nil && column.areCounts() && !slices.Contains(column.values, 0)
		switch {
		case column.role == day && column.countsMountings() && !s.hasName("mounting"):
			column.name = "mounting"
		case column.role == day && !s.hasName("day"):
			column.name = "day"
		case column.name == "blades" && !(isCount && slices.Max(column.values) <= mostBlades):
			column.name = "b"
		case column.name == "u_inf_m_s" && column.unit == "" && isCount && slices.Max(column.values) < leastSpeed:
			column.name = "speed"
		case slices.Contains(condition.Reserved, column.name):
			column.name += "_number" // these words have other meanings in tables
		}
	}
}
