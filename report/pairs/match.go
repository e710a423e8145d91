package pairs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// Match says which rows of a table of predictions belong to which pairs.
type Match struct {
	Outcomes   []string // outcomes that both tables have
	Conditions []string // conditions that are numbers and that both tables have
	Rows       []int    // for each pair the index of its row; noRow if it has none
	Notes      []string // for people
}

// noRow stands for the row of a pair that has none.
const noRow = -1

// Mean returns the name of the column with the mean of an outcome, or "" if there is none.
func (c *Cells) Mean(outcome string) string {
	for _, name := range []string{outcome, outcome + "_mu"} {
		if c.Has(name) {
			return name
		}
	}

	return ""
}

// Match finds the row of each pair by the columns that both tables have. A row matches a pair at the pair's conditions,
// or at their set points. inputs are the conditions that predictions should state, nil for all: Match adds a note for
// an input that is not a column, and for rows that match no pair.
func (c *Cells) Match(pairs *Pairs, inputs []string) (*Match, error) {
	known := Outcomes(pairs.Table)
	hasNoMean := func(name string) bool { return c.Mean(name) == "" }
	match := &Match{Outcomes: slices.DeleteFunc(slices.Clone(known), hasNoMean)}
	if len(match.Outcomes) == 0 {
		return nil, fault.At(c.Path, "", "a column named as an outcome of the pairs: "+strings.Join(known, ", "),
			strings.Join(c.Columns, ", "), "give the column of the mean the name of its outcome")
	}

	numbers, texts := Conditions(pairs.Table)
	numbers = slices.DeleteFunc(numbers, func(name string) bool { return slices.Contains(match.Outcomes, name) })
	texts = append([]string{"run", "recording"}, texts...)
	match.Conditions = c.present(numbers)
	sharedTexts := c.present(texts)
	if len(match.Conditions)+len(sharedTexts) == 0 {
		return nil, fault.At(c.Path, "",
			"columns of the pairs' conditions: "+strings.Join(slices.Concat(numbers, texts), ", "),
			strings.Join(c.Columns, ", "), "")
	}

	if inputs == nil {
		inputs = numbers
	}

	namesRuns := c.Has("run") || c.Has("recording")
	for _, name := range inputs {
		isKnown := namesRuns || c.Has(name) || pairs.Computes(name, c)
		if !isKnown {
			match.Notes = append(match.Notes, name+" is no column of "+c.Path+": a prediction counts for all its values")
		}
	}

	absent := slices.DeleteFunc(numbers, c.Has)
	advice := "add a column of the pairs that tells them apart, such as " + cmp.Or(strings.Join(absent, ", "), "run")
	if err := match.find(c, pairs, sharedTexts, advice); err != nil {
		return nil, err
	}

	return match, nil
}

// present returns those names that are names of columns.
func (c *Cells) present(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !c.Has(name) })
}

// find sets the row of each pair. texts are the columns of texts that both tables have. advice says what the user can
// do if several rows have the same key.
func (m *Match) find(cells *Cells, pairs *Pairs, texts []string, advice string) error {
	texts = m.namesOf(cells, pairs, texts)
	sides, err := m.sides(cells, pairs)
	if err != nil {
		return err
	}

	matched := strings.Join(slices.Concat(m.Conditions, texts), ", ")
	order, err := cells.order(sides.rows, texts, m.valueColumns(cells, pairs), matched, advice)
	if err != nil {
		return err
	}

	m.Rows = make([]int, pairs.Rows())
	isUsed := make([]bool, cells.Rows)
	for i := range m.Rows {
		m.Rows[i] = noRow
		for _, pair := range []side{sides.pairs, sides.setPoints} {
			start, found := sides.rows.find(order, texts, pair, i)
			if !found {
				continue
			}

			m.Rows[i] = int(order[start])
			sides.rows.markEqual(isUsed, order[start:], texts)

			break
		}
	}

	return m.noteUnmatched(cells, pairs, isUsed, matched)
}

// sides has the compared tables.
type sides struct {
	rows      side // the table of predictions
	pairs     side // the pairs at their conditions
	setPoints side // the pairs at the set points of their conditions
}

// sides returns the tables with the conditions that both have, in the units of the pairs.
func (m *Match) sides(cells *Cells, pairs *Pairs) (sides, error) {
	pairText := func(i int, name string) string { return strings.TrimSpace(pairs.Column(name).Strings[i]) }
	compared := sides{rows: side{text: cells.Text}, pairs: side{text: pairText}, setPoints: side{text: pairText}}
	for _, name := range m.Conditions {
		values, err := cells.Numbers(name, pairs.Column(name).Unit, Values)
		if err != nil {
			return sides{}, err
		}

		points, err := AtSetPoints{Table: pairs.Table}.Floats(name)
		if err != nil {
			return sides{}, fmt.Errorf("read conditions: %w", err)
		}

		conversion, err := conversionOf(cells.Units[name], pairs.Column(name).Unit, Values)
		if err != nil {
			return sides{}, fmt.Errorf("read conditions: %w", err)
		}

		theirs := cells.writtenCells(name, nineDigits(values), conversion.Scale)
		measured := writtenShortest(nineDigits(pairs.Column(name).Floats))
		set := writtenShortest(nineDigits(points))
		compared.rows.numbers = append(compared.rows.numbers, theirs.values)
		compared.pairs.numbers = append(compared.pairs.numbers, measured.toDigitsOf(theirs))
		compared.setPoints.numbers = append(compared.setPoints.numbers, set.toDigitsOf(theirs))
	}

	return compared, nil
}

// valueColumns returns the columns of predictions in which rows with the same key must agree: all columns except the
// conditions, and except the outcomes y1 and y2 of the pairs, which an exported table has too.
func (m *Match) valueColumns(cells *Cells, pairs *Pairs) []string {
	var columns []string
	for _, name := range cells.Columns {
		hasSuffix := strings.HasSuffix(name, "_1") || strings.HasSuffix(name, "_2")
		isExported := hasSuffix && pairs.Column(name) != nil
		if !isExported && !slices.Contains(m.Conditions, name) {
			columns = append(columns, name)
		}
	}

	return columns
}

// noteUnmatched adds a note about rows that match no pair. It returns an error if no row matches a pair.
func (m *Match) noteUnmatched(cells *Cells, pairs *Pairs, isUsed []bool, matched string) error {
	count := 0         // of rows that match no pair
	var first []string // the numbers of the first such rows, from 1
	for row, isMatched := range isUsed {
		if isMatched {
			continue
		}

		if count <= maxNamed {
			first = append(first, strconv.Itoa(row+1))
		}
		count++
	}

	if count == cells.Rows {
		return fault.At(cells.Path, "columns "+matched, "conditions of pairs of "+pairs.Name, "no row at one of them", "")
	}

	if count > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%s of %s match no pair: %s", fault.Plural(int64(count), "row"), cells.Path,
			Some(first, count)))
	}

	return nil
}

// namesOf returns the columns of texts by which rows are matched. If there are conditions, it leaves out a column of
// runs or recordings that names none of the pairs, and adds a note.
func (m *Match) namesOf(cells *Cells, pairs *Pairs, texts []string) []string {
	var kept []string
	for _, name := range texts {
		isOptional := (name == "run" || name == "recording") && len(m.Conditions) > 0
		if !isOptional || cells.namesAny(name, pairs.Column(name).Strings) {
			kept = append(kept, name)
			continue
		}

		m.Notes = append(m.Notes, "column "+name+" of "+cells.Path+" names none of "+pairs.Name+": matched by "+
			strings.Join(m.Conditions, ", "))
	}

	return kept
}

// namesAny reports whether a cell of a column is one of the names.
func (c *Cells) namesAny(column string, names []string) bool {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}

	for i := range c.Rows {
		if known[c.Text(i, column)] {
			return true
		}
	}

	return false
}

// order returns the indices of the rows, sorted by their keys: the conditions and the texts. It returns an error, with
// the names of the matched columns and with advice, if rows with the same key differ in one of the columns.
func (c *Cells) order(rows side, texts, columns []string, matched, advice string) ([]int32, error) {
	order := make([]int32, c.Rows)
	for i := range order {
		order[i] = int32(i)
	}

	slices.SortStableFunc(order, func(i, j int32) int { return rows.compare(texts, int(i), rows, int(j)) })

	differs := c.Rows // the first row of the table that differs from an earlier row with the same key
	original := 0     // that row
	start := 0        // index in order of the first row with the present key
	for k := 1; k < len(order); k++ {
		first := int(order[start])
		row := int(order[k])
		if rows.compare(texts, first, rows, row) != 0 {
			start = k
			continue
		}

		isOther := func(name string) bool { return c.Text(first, name) != c.Text(row, name) }
		if row < differs && slices.ContainsFunc(columns, isOther) {
			differs = row
			original = first
		}
	}

	if differs < c.Rows {
		return nil, fault.At(c.Path, "", "one prediction of "+matched,
			fmt.Sprintf("different ones in rows %d and %d", original+1, differs+1), advice)
	}

	return order, nil
}

// side has the values of a table by which its rows are compared.
type side struct {
	numbers [][]float64                         // columns of numbers
	text    func(row int, column string) string // returns a cell of a column of texts
}

// find returns the index in order of the first row with the key of row i of another table. order are the rows of this
// table, sorted by key. found is false if no such row exists.
func (s side) find(order []int32, texts []string, other side, i int) (index int, found bool) {
	return slices.BinarySearchFunc(order, i, func(row int32, i int) int {
		return s.compare(texts, int(row), other, i)
	})
}

// markEqual marks the first of the rows, which are sorted by key, and all rows with the same key. If the first row is
// marked, the others are too, and nothing is compared again: many pairs may have the key.
func (s side) markEqual(isMarked []bool, rows []int32, texts []string) {
	first := int(rows[0])
	if isMarked[first] {
		return
	}

	for _, row := range rows {
		if s.compare(texts, first, s, int(row)) != 0 {
			return
		}

		isMarked[row] = true
	}
}

// compare compares row i with row j of another table: by the columns of numbers, and then by the columns texts.
func (s side) compare(texts []string, i int, other side, j int) int {
	for k := range s.numbers {
		if order := cmp.Compare(s.numbers[k][i], other.numbers[k][j]); order != 0 {
			return order
		}
	}

	for _, name := range texts {
		if order := cmp.Compare(s.text(i, name), other.text(j, name)); order != 0 {
			return order
		}
	}

	return 0
}

// nineDigits returns numbers rounded to nine digits, so that a number that a person wrote equals a number in a file.
func nineDigits(list []float64) []float64 {
	rounded := make([]float64, len(list))
	for i, v := range list {
		rounded[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64) // it reads what it wrote
	}

	return rounded
}

// maxNamed is the number of names that Some writes.
const maxNamed = 8

// Some returns a text with the first of count names. list has all names, or more than the first maxNamed.
func Some(list []string, count int) string {
	if count > maxNamed+1 { // one name is as short as "and 1 more"
		return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf(" and %d more", count-maxNamed)
	}

	return strings.Join(list, "; ")
}
