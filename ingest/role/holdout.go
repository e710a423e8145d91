package role

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/spelling"
)

// Names of a column are held out one after the other if their number is between these two. With fewer names, too few
// are left to train on; with more, the trainings take too long.
const (
	fewNames  = 3
	manyNames = 20
)

const (
	fewLevels  = 3  // different values of an input: fewer have none in the middle
	manyLevels = 12 // more were read, not set, such as angles: a range of them is held out
	pairLevels = 5  // values from which on two neighbours are held out if each inner value has one row
)

// CanHoldOut reports whether each name of a thing or an occasion can be held out: there are a few names, and without
// the rows of any name all inputs still vary. Names that differ only by case cannot be told apart.
func (s *Sheet) CanHoldOut(column *Column) bool {
	names := column.DistinctCells()
	n := len(names)
	if column.Why == OfFiles || n < fewNames || n > manyNames || 2*n > s.Rows {
		return false
	}

	lower := map[string]bool{}
	for _, name := range names {
		lower[strings.ToLower(name)] = true
		var others []int
		for row := range s.Rows {
			if column.Cell(row) != name {
				others = append(others, row)
			}
		}

		if !s.InputsVary(others) {
			return false
		}
	}

	return len(lower) == n
}

// HoldOut returns the condition and the held-out values, such as "blades: 3": of the first of the inputs with at least
// three values, from the middle, so that without them every input still varies. It returns "" if there are none.
func (s *Sheet) HoldOut() string {
	for _, column := range s.VaryingInputs() {
		for _, held := range s.HoldOutSpans(column) {
			if s.InputsVary(column.RowsOutside(held)) {
				return spelling.YAML(column.Name) + ": " + held.Text
			}
		}
	}

	return ""
}

// KeepPaired finds the rows that have a repeat: another row of equal cells in some columns that differs in the column
// apart, "" for any other row. Only their values are held out, because other rows make no pairs. It returns their
// number, and changes nothing if there are none.
func (s *Sheet) KeepPaired(columns []*Column, apart string) int {
	var paired []int
	differing := s.ByName(apart)
	if apart == "file" && differing == nil {
		differing = s.fileColumn()
	}

	for _, group := range s.GroupRows(columns...) {
		isPair := len(group) > 1
		if differing != nil {
			isPair = slices.ContainsFunc(group, func(row int) bool { return differing.Texts[row] != differing.Texts[group[0]] })
		}

		if isPair {
			paired = append(paired, group...)
		}
	}

	if len(paired) > 0 && len(paired) < s.Rows {
		s.unpaired = make([]bool, s.Rows)
		for row := range s.Rows {
			s.unpaired[row] = !slices.Contains(paired, row)
		}
	}

	return len(paired)
}

// VaryingInputs returns the inputs that have two different values among the rows that make pairs.
func (s *Sheet) VaryingInputs() []*Column {
	all := make([]int, s.Rows)
	for row := range all {
		all[row] = row
	}

	rows := s.paired(all)

	return slices.DeleteFunc(s.WithRole(Input), func(column *Column) bool { return column.countPoints(rows) < 2 })
}

// paired returns the rows among some that make pairs.
func (s *Sheet) paired(rows []int) []int {
	if s.unpaired == nil {
		return rows
	}

	return slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return s.unpaired[row] })
}

// span is a range of values that may be held out, with both ends.
type span struct {
	low, high float64
	Text      string // as the configuration states it
}

// contains reports whether a value is in the span. NaN is not.
func (s span) contains(x float64) bool { return x >= s.low && x <= s.high }

// RowsOutside returns the rows whose value is not in a span.
func (c *Column) RowsOutside(s span) []int {
	var rows []int
	for row := range c.Values {
		if !s.contains(c.pointOrValue(row)) {
			rows = append(rows, row)
		}
	}

	return rows
}

// HoldOutSpans returns the spans of an input that may be held out, the best first: a range of many values, otherwise
// single inner values. Among single values, the values with the most rows come first, then values near the middle, then
// great values. HoldOutSpans returns nil if the input has fewer than fewLevels values.
func (s *Sheet) HoldOutSpans(column *Column) []span {
	rows := map[float64]int{} // the number of rows of each value
	for row := range s.Rows {
		x := column.pointOrValue(row)
		isPaired := s.unpaired == nil || !s.unpaired[row]
		if isPaired && !math.IsNaN(x) {
			rows[x]++
		}
	}

	values := slices.Sorted(maps.Keys(rows))
	n := len(values)
	switch {
	case n < fewLevels:
		return nil
	case n > manyLevels: // the middle fifth
		low := values[n*2/5]
		high := values[n*3/5]
		return []span{{low, high, fmt.Sprintf("{min: %s, max: %s}", Decimal(low), Decimal(high))}}
	}

	fromMiddle := map[float64]int{} // places between a value and the middle one
	for i, x := range values {
		fromMiddle[x] = max(i-n/2, n/2-i)
	}

	inner := slices.Clone(values[1 : n-1])
	slices.SortStableFunc(inner, func(a, b float64) int {
		return cmp.Or(cmp.Compare(rows[b], rows[a]), cmp.Compare(fromMiddle[a], fromMiddle[b]), cmp.Compare(b, a))
	})

	var spans []span
	if n >= pairLevels && rows[inner[0]] < 2 { // R² needs two conditions
		low := values[n/2-1]
		high := values[n/2]
		spans = append(spans, span{low, high, fmt.Sprintf("[%s, %s]", Decimal(low), Decimal(high))})
	}

	for _, x := range inner {
		spans = append(spans, span{x, x, Decimal(x)})
	}

	return spans
}
