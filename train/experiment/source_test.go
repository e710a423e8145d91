package experiment

import (
	"doubletake/ingest/condition"
	"doubletake/train/holdout"
)

// KnownRows is a Source of rows whose conditions are all known, each with one pair.
type KnownRows condition.Rows

// Rows returns the rows.
func (k KnownRows) Rows() (condition.Rows, error) { return condition.Rows(k), nil }

// Values lists the distinct values of a condition, ascending, or nil if some row does not have it.
func (k KnownRows) Values(name string) ([]float64, error) {
	values, unknown := condition.Rows(k).Floats(name)
	if unknown != nil {
		return nil, nil
	}

	return holdout.Distinct(values), nil
}

// Names lists the distinct names of a label, sorted, or nil if some row does not have it.
func (k KnownRows) Names(label string) ([]string, error) {
	names, unknown := condition.Rows(k).Strings(label)
	if unknown != nil {
		return nil, nil
	}

	return holdout.Distinct(names), nil
}

// Size returns the number of rows, and the same number of pairs.
func (k KnownRows) Size() (conditions, pairs float64) { return float64(len(k)), float64(len(k)) }
