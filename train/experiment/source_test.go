package experiment

import "doubletake/ingest/condition"

// KnownRows is a Source of rows whose conditions are all known, each with one pair.
type KnownRows condition.Rows

// Rows returns the rows.
func (k KnownRows) Rows() (condition.Rows, error) { return condition.Rows(k), nil }

// Size returns the number of rows, and the same number of pairs.
func (k KnownRows) Size() (conditions, pairs float64) { return float64(len(k)), float64(len(k)) }
