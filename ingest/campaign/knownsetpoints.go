package campaign

import (
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
)

// SetPoints finds the set points of each condition with a tolerance: in the values of the known rows, and in values in
// the names of files that equal one of these. A condition that a known row does not state has no set points. v may be
// nil: no file has a name then.
func (v *Inventory) SetPoints(known condition.Rows, tolerances []setting.NamedString) condition.Points {
	points := condition.Points{}
	for name, tolerance := range setting.Tolerances(tolerances) {
		values, _ := known.Floats(name) // otherwise only the recordings state the condition
		if len(values) == 0 {
			continue
		}

		slices.Sort(values)
		values = slices.Compact(values)
		points[name] = condition.SetPointsOf(append(values, v.namedNear(name, values, tolerance)...), tolerance)
	}

	return points
}

// namedNear lists the values of a condition in the names of files that equal one of the given values.
func (v *Inventory) namedNear(name string, values []float64, tolerance condition.Tolerance) []float64 {
	if v == nil {
		return nil
	}

	var near []float64
	for _, file := range v.Files {
		nominal, isNamed := file.Nominal[name]
		if isNamed && slices.ContainsFunc(values, func(value float64) bool { return tolerance.Equal(value, nominal) }) {
			near = append(near, nominal)
		}
	}

	return near
}
