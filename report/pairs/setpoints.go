package pairs

import "doubletake/ingest/table"

// SetColumn is the ending of the name of the column with a condition's set points.
const SetColumn = "_set"

// AtSetPoints is a table of triplets whose conditions are read at their set points.
type AtSetPoints struct{ *table.Table }

// Scatters reports whether the condition has set points.
func (t AtSetPoints) Scatters(condition string) bool { return t.Column(condition+SetColumn) != nil }

// Floats returns the set points of a condition, or its values if it has none.
func (t AtSetPoints) Floats(condition string) ([]float64, error) {
	if t.Scatters(condition) {
		condition += SetColumn
	}

	return t.Table.Floats(condition)
}
