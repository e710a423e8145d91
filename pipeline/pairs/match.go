package pairs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/stages/plan"
)

// Match is which rows of a table of predictions are those of pairs.
type Match struct {
	Outcomes, Conditions []string // that both have; of the conditions those that are numbers
	Of                   []int    // the row of each pair; −1: none
	Notes                []string
}

// Mean is the column with the mean of an outcome; "" without one.
func (c *Cells) Mean(outcome string) string {
	for _, n := range []string{outcome, outcome + "_mu"} {
		if c.Has(n) {
			return n
		}
	}

	return ""
}

// Match finds the row of each pair by the columns that both tables have, at its conditions or at their set points.
// Notes are about inputs that are no columns (nil: all conditions) and about rows without a pair.
func (c *Cells) Match(p *Pairs, inputs []string) (*Match, error) {
	known := plan.Outcomes(p.Table)
	m := &Match{Outcomes: slices.DeleteFunc(slices.Clone(known), func(n string) bool { return c.Mean(n) == "" })}
	if len(m.Outcomes) == 0 {
		return nil, fault.At(c.Path, "", "a column named as an outcome of the pairs: "+strings.Join(known, ", "),
			strings.Join(c.Columns, ", "), "call the column of the mean so")
	}

	numbers, texts := plan.Conditions(p.Table)
	numbers = slices.DeleteFunc(numbers, func(n string) bool { return slices.Contains(m.Outcomes, n) })
	texts = append([]string{"run", "recording"}, texts...)
	shared := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return !c.Has(n) })
	}

	m.Conditions = shared(numbers)
	if len(m.Conditions)+len(shared(texts)) == 0 {
		return nil, fault.At(c.Path, "",
			"columns of the pairs' conditions: "+strings.Join(slices.Concat(numbers, texts), ", "),
			strings.Join(c.Columns, ", "), "")
	}

	if inputs == nil {
		inputs = numbers
	}

	for _, n := range inputs {
		if !c.Has(n) && !c.Has("run") && !c.Has("recording") {
			m.Notes = append(m.Notes, n+" is no column of "+c.Path+": a prediction counts for all its values")
		}
	}

	apart := slices.DeleteFunc(numbers, c.Has)
	return m, m.find(c, p, shared(texts), "add a column of the pairs that tells them apart, such as "+
		cmp.Or(strings.Join(apart, ", "), "run"))
}

// find sets the row of each pair. Names of runs and recordings that are all others' count for nothing where there are
// conditions. apart is what to do where rows are of one key.
func (m *Match) find(c *Cells, p *Pairs, texts []string, apart string) (err error) {
	defer fault.Catch(&err)
	texts = slices.DeleteFunc(texts, func(n string) bool {
		if n != "run" && n != "recording" || len(m.Conditions) == 0 {
			return false
		}

		known := map[string]bool{}
		for _, name := range p.Column(n).Strings {
			known[name] = true
		}

		if slices.ContainsFunc(lists.Numbers(c.Rows), func(i int) bool { return known[c.Text(i, n)] }) {
			return false
		}

		m.Notes = append(m.Notes, "column "+n+" of "+c.Path+" names none of "+p.Name+": matched by "+
			strings.Join(m.Conditions, ", "))

		return true
	})

	mine := side{text: func(i int, name string) string { return c.Text(i, name) }}
	other := side{text: func(i int, name string) string { return strings.TrimSpace(p.Column(name).Strings[i]) }}
	points := side{text: other.text}
	for _, n := range m.Conditions {
		v := fault.Get(c.Numbers(n, p.Column(n).Unit, Values))
		at, err := plan.AtSetPoints{Table: p.Table}.Floats(n)
		if err != nil {
			return fmt.Errorf("read conditions: %w", err)
		}

		mine.numbers, points.numbers = append(mine.numbers, nineDigits(v)), append(points.numbers, nineDigits(at))
		other.numbers = append(other.numbers, nineDigits(p.Column(n).Floats))
	}

	matched := strings.Join(slices.Concat(m.Conditions, texts), ", ")
	columns := slices.DeleteFunc(slices.Clone(c.Columns), func(n string) bool { // values of the pairs, as we export them
		pairs := p.Column(n) != nil && (strings.HasSuffix(n, "_1") || strings.HasSuffix(n, "_2"))
		return pairs || slices.Contains(m.Conditions, n)
	})

	order := c.order(mine, texts, columns, matched, apart)
	m.Of = make([]int, p.Rows())
	used := make([]bool, c.Rows)
	for i := range m.Of {
		m.Of[i] = -1
		for _, theirs := range []side{other, points} {
			k, ok := slices.BinarySearchFunc(order, i, func(row int32, i int) int {
				return mine.compare(texts, int(row), theirs, i)
			})
			if !ok {
				continue
			}

			m.Of[i] = int(order[k])
			for ; k < len(order) && !used[order[k]] && mine.compare(texts, int(order[k]), theirs, i) == 0; k++ {
				used[order[k]] = true
			}

			break
		}
	}

	left := lists.Where(c.Rows, func(row int) bool { return !used[row] })
	unmatched := len(left)
	switch unmatched {
	case 0:
		return nil
	case c.Rows:
		return fault.At(c.Path, "columns "+matched, "conditions of pairs of "+p.Name, "no row that has one", "")
	}

	m.Notes = append(m.Notes, fmt.Sprintf("%s of %s match no pair: %s", fault.Plural(int64(unmatched), "row"), c.Path,
		Some(lists.Each(left[:min(unmatched, most+1)], func(row int) string { return strconv.Itoa(row + 1) }), unmatched)))

	return nil
}

// order is the rows in the order of their keys. It refuses rows of one key that differ in these columns.
func (c *Cells) order(mine side, texts, columns []string, matched, apart string) []int32 {
	order := lists.Make(c.Rows, func(i int) int32 { return int32(i) })
	slices.SortStableFunc(order, func(i, j int32) int { return mine.compare(texts, int(i), mine, int(j)) })

	first, of, again := 0, 0, c.Rows // the first row that differs from one of the same key, and that one
	for k := 1; k < len(order); k++ {
		f, i := int(order[first]), int(order[k])
		if mine.compare(texts, f, mine, i) != 0 {
			first = k
		} else if i < again && slices.ContainsFunc(columns, func(n string) bool { return c.Text(f, n) != c.Text(i, n) }) {
			again, of = i, f
		}
	}

	if again < c.Rows {
		fault.Raise(fault.At(c.Path, "", "one prediction of "+matched,
			fmt.Sprintf("different ones in rows %d and %d", of+1, again+1), apart))
	}

	return order
}

// side is a table as rows are compared: its columns of numbers, and its texts.
type side struct {
	numbers [][]float64
	text    func(row int, column string) string
}

// compare compares row i with row j of another table, by numbers and by columns of texts.
func (s side) compare(texts []string, i int, other side, j int) int {
	for k := range s.numbers {
		if c := cmp.Compare(s.numbers[k][i], other.numbers[k][j]); c != 0 {
			return c
		}
	}

	for _, n := range texts {
		if c := cmp.Compare(s.text(i, n), other.text(j, n)); c != 0 {
			return c
		}
	}

	return 0
}

// nineDigits are numbers as they are compared.
func nineDigits(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	}

	return out
}

// most is how many rows are named.
const most = 8

// Some writes the first of n names.
func Some(list []string, n int) string {
	if n > most+1 {
		return strings.Join(list[:most], "; ") + fmt.Sprintf(" and %d more", n-most)
	}

	return strings.Join(list, "; ")
}
