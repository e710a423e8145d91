package pairs

import "doubletake/ingest/table"

// SetPointSuffix ends the name of the column with a condition's set points.
const SetPointSuffix = "_set"

// AtSetPoints is a table of triplets whose conditions are read at their set points.
type AtSetPoints struct{ *table.Table }

// HasSetPoints reports whether the condition has set points.
func (t AtSetPoints) HasSetPoints(condition string) bool {
	return t.Column(condition+SetPointSuffix) != nil
}

// Floats returns the set points of a condition, or its values if it has none.
func (t AtSetPoints) Floats(condition string) ([]float64, error) {
	if t.HasSetPoints(condition) {
		condition += SetPointSuffix
	}

	return t.Table.Floats(condition)
}
