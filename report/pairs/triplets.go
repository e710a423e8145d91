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
	x, inputsErr := table.Matrix(tab, inputs, "")
	y1, firstErr := table.Matrix(tab, outcomes, "_1")
	y2, secondErr := table.Matrix(tab, outcomes, "_2")
	if err := errors.Join(inputsErr, firstErr, secondErr); err != nil {
		return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
	}

	s := triplets.New(quantities(tab, inputs, ""), quantities(tab, outcomes, "_1"), x, y1, y2)
	s.SetRuns(tab.Column("run").Strings)
	if slices.ContainsFunc(inputs, AtSetPoints{tab}.HasSetPoints) {
		setPoints, err := table.Matrix(AtSetPoints{tab}, inputs, "")
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
