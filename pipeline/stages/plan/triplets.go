package plan

import (
	"errors"
	"fmt"
	"slices"

	"doubletake/internal/lists"
	"doubletake/pipeline/table"
	"doubletake/train/triplets"
)

// Triplets reads the set of a triplet table: the conditions named inputs, and
// both values of the outcomes.
func Triplets(t *table.Table, inputs, outcomes []string) (triplets.Set, error) {
	x, err1 := Matrix(t, inputs, "")
	y1, err2 := Matrix(t, outcomes, "_1")
	y2, err3 := Matrix(t, outcomes, "_2")

	at, err4 := Matrix(AtSetPoints{t}, inputs, "")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(t, inputs, ""), quantities(t, outcomes, "_1"), x, y1, y2)
	s.SetRuns(t.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{t}.Scatters) {
		s.SetPoints = at
	}

	s.Recording = t.Column("recording").Strings
	if w := t.Column("weight"); w != nil {
		s.Weight = w.Floats
	}

	return s, nil
}

func quantities(t *table.Table, names []string, suffix string) []triplets.Quantity {
	return lists.Each(names, func(n string) triplets.Quantity {
		c := t.Column(n + suffix)
		return triplets.Quantity{Name: n, Unit: c.Unit, Description: c.Description}
	})
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
	c.Floats = lists.Column(rows, width, k)
	t.Columns = append(t.Columns, c)
}
