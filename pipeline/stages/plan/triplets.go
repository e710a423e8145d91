package plan

import (
	"errors"
	"fmt"
	"slices"

	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// Triplets reads the set of a triplet table: the conditions named inputs, and
// both values of the outcomes.
func Triplets(t *table.Table, inputs, outcomes []string) (triplets.Set, error) {
	x, err1 := Matrix(t, inputs, "")
	y1, err2 := Matrix(t, outcomes, "_1")

	y2, err3 := Matrix(t, outcomes, "_2")
	if err := errors.Join(err1, err2, err3); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(t, inputs, ""), quantities(t, outcomes, "_1"), x, y1, y2)
	s.SetRuns(t.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{t}.Scatters) {
		if s.SetPoints, err1 = Matrix(AtSetPoints{t}, inputs, ""); err1 != nil {
			return s, fmt.Errorf("read triplets: %w", err1)
		}
	}

	s.Recording = t.Column("recording").Strings
	if w := t.Column("weight"); w != nil {
		s.Weight = w.Floats
	}

	return s, nil
}

func quantities(t *table.Table, names []string, suffix string) []triplets.Quantity {
	var out []triplets.Quantity
	for _, n := range names {
		c := t.Column(n + suffix)
		out = append(out, triplets.Quantity{Name: n, Unit: c.Unit, Description: c.Description})
	}

	return out
}

// floats are columns of numbers.
type floats interface {
	Floats(name string) ([]float64, error)
}

// Matrix reads the columns NAME+suffix of a table into rows of numbers.
func Matrix(t floats, names []string, suffix string) ([]float64, error) {
	var out []float64
	for k, name := range names {
		v, err := t.Floats(name + suffix)
		if err != nil {
			return nil, err
		}

		if out == nil {
			out = make([]float64, len(v)*len(names))
		}

		for i, x := range v {
			out[i*len(names)+k] = x
		}
	}

	return out, nil
}

// AddColumn adds column k of rows of width numbers to a table.
func AddColumn(t *table.Table, c table.Column, rows []float64, width, k int) {
	c.Floats = make([]float64, len(rows)/width)
	for i := range c.Floats {
		c.Floats[i] = rows[i*width+k]
	}

	t.Columns = append(t.Columns, c)
}
