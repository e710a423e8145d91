package plan

import (
	"fmt"
	"maps"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/report/pairs"
)

// Points contains the set points of conditions. Its methods need the configuration.
type Points condition.Points

// Settings returns the tolerances and the known set points as a part of a task's key.
func (p Points) Settings(tolerances []config.NamedString) []kv.Pair {
	var settings []kv.Pair
	for _, t := range tolerances {
		settings = append(settings, kv.Pair{Key: "ingest.within." + t.Name, Value: t.Value})
		if known, ok := p[t.Name]; ok {
			settings = append(settings, kv.Pair{Key: "set points of " + t.Name, Value: fmt.Sprint(known.List)})
		}
	}

	return settings
}

// AddSetPoints adds to a table a column with the set points of each condition that has a tolerance. The set points in p
// win over set points that are found in the rows of the table.
func (p Points) AddSetPoints(tolerances []config.NamedString, tab *table.Table) error {
	found, err := SetPointsOf(tolerances, tab)
	if err != nil {
		return err
	}

	maps.Copy(found, p)
	for _, tolerance := range tolerances {
		i := slices.IndexFunc(tab.Columns, func(column table.Column) bool { return column.Name == tolerance.Name })
		values := tab.Columns[i].Floats
		points := found[tolerance.Name]

		set := tab.Columns[i]
		set.Name += pairs.SetPointSuffix
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
func SetPointsOf(tolerances []config.NamedString, tab *table.Table) (Points, error) {
	points := Points{}
	for name, tolerance := range Tolerances(tolerances) {
		values, err := tab.Floats(name)
		if err != nil {
			return nil, err
		}

		points[name] = condition.SetPointsOf(values, tolerance)
	}

	return points, nil
}
