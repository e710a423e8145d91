package pairs

import (
	"errors"
	"fmt"
	"slices"

	"doubletake/ingest/table"
	"doubletake/train/triplets"
)

// Triplets reads a set from a table of triplets: the given inputs, and both values of the given outcomes.
func Triplets(tab *table.Table, inputs, outcomes []string) (triplets.Set, error) {
	x, inputsErr := Matrix(tab, inputs, "")
	y1, firstErr := Matrix(tab, outcomes, "_1")
	y2, secondErr := Matrix(tab, outcomes, "_2")
	if err := errors.Join(inputsErr, firstErr, secondErr); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(tab, inputs, ""), quantities(tab, outcomes, "_1"), x, y1, y2)
	s.SetRuns(tab.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{tab}.HasSetPoints) {
		setPoints, err := Matrix(AtSetPoints{tab}, inputs, "")
		if err != nil {
			return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}

		s.SetPoints = setPoints
	}

	s.Recording = tab.Column("recording").Strings
	if weight := tab.Column("weight"); weight != nil {
		s.Weight = weight.Floats
	}

	return s, nil
}

// quantities returns the names, units and descriptions of the columns NAME+suffix.
func quantities(tab *table.Table, names []string, suffix string) []triplets.Quantity {
	var list []triplets.Quantity
	for _, name := range names {
		c := tab.Column(name + suffix)
		list = append(list, triplets.Quantity{Name: name, Unit: c.Unit, Description: c.Description})
	}

	return list
}

// floats is a table with columns of numbers.
type floats interface {
	Floats(name string) ([]float64, error)
}

// Matrix returns the columns NAME+suffix of a table as a row-major matrix.
func Matrix(t floats, names []string, suffix string) ([]float64, error) {
	var rows []float64
	for k, name := range names {
		column, err := t.Floats(name + suffix)
		if err != nil {
			return nil, err
		}

		if rows == nil {
			rows = make([]float64, len(column)*len(names))
		}

		for i, x := range column {
			rows[i*len(names)+k] = x
		}
	}

	return rows, nil
}
