package pairs

import (
	"maps"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/table"
)

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

// AddSetPoints adds to a table a column with the set points of each condition that has a tolerance. The set points in
// known win over set points that are found in the rows of the table.
func AddSetPoints(tab *table.Table, tolerances []setting.NamedString, known condition.Points) error {
	found, err := SetPointsOf(tolerances, tab)
	if err != nil {
		return err
	}

	maps.Copy(found, known)
	for _, tolerance := range tolerances {
		i := slices.IndexFunc(tab.Columns, func(column table.Column) bool { return column.Name == tolerance.Name })
		values := tab.Columns[i].Floats
		points := found[tolerance.Name]

		set := tab.Columns[i]
		set.Name += SetPointSuffix
		set.Description = "set point of " + tolerance.Name + ", within " + tolerance.Value
		set.Floats = nil
		for _, value := range values {
			set.Floats = append(set.Floats, points.At(value))
		}

		tab.Columns = slices.Insert(tab.Columns, i+1, set)
	}

	return nil
}

// SetPointsOf finds the set points of conditions with tolerances in the rows of a table. It returns an error if the
// table lacks one of the conditions.
func SetPointsOf(tolerances []setting.NamedString, tab *table.Table) (condition.Points, error) {
	points := condition.Points{}
	for name, tolerance := range setting.Tolerances(tolerances) {
		values, err := tab.Floats(name)
		if err != nil {
			return nil, err
		}

		points[name] = condition.SetPointsOf(values, tolerance)
	}

	return points, nil
}
