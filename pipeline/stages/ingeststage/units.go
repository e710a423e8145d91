package ingeststage

import (
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
)

// byName makes a map of a list of the configuration.
func byName(list []config.NamedString) map[string]string {
	out := map[string]string{}
	for _, v := range list {
		out[v.Name] = v.Value
	}

	return out
}

// checkUnits checks the units of the configuration and keeps the conversions of
// conditions that no table holds: those of names, attributes, sidecars and
// constants. Tables are converted when they are read.
func checkUnits(exp plan.Experiment, src *plan.Source) {
	columns := lists.Each(src.In.Columns, func(c config.NamedString) string { return c.Name })
	known := slices.Concat(src.Conditions, columns)

	src.Convert = map[string]units.Named{}
	for _, u := range src.In.Units {
		key := "ingest.units." + u.Name
		exp.Refuse(!slices.Contains(known, u.Name), key,
			"%q is neither a column nor a condition of this experiment, which has %v%s", u.Name, known,
			spelling.DidYouMean(u.Name, known))

		n, err := units.ToName(u.Name, u.Value)
		exp.Refuse(err != nil, key, "%v", err)

		_, inFile := config.Find(src.In.InFile, u.Name)

		inTable := src.Table != nil && slices.Contains(src.Table.Names, u.Name)
		if n.From != "" && slices.Contains(src.Conditions, u.Name) && !inFile && !inTable {
			src.Convert[u.Name] = n
			src.Converted[u.Name] = n.String()
		}
	}
}

// settle turns conditions as the data state them into those of the tables: in the
// units of their names, the microphone's angle from the rotor plane where the data count it
// from the axis, with what is derived of them.
func settle(src *plan.Source, conditions map[string]float64, labels map[string]string) error {
	for name, n := range src.Convert {
		if v, ok := conditions[name]; ok {
			conditions[name] = n.Apply(v)
		}
	}

	if v, ok := conditions["theta_deg"]; ok && src.In.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}

	return src.Derive.AddConditions(conditions, labels)
}

// ConvertSeries turns the samples of a column into values in the unit that the
// outcome's name states, or raises an error. The samples given are not changed.
func ConvertSeries(path, column, name, stated string, v []float64) ([]float64, units.Named) {
	n, err := units.ToName(name, stated)
	if err != nil {
		hint := fmt.Sprintf("state the unit with units: {%s: …}", name)
		fault.Raise(&fault.Error{Path: path, Place: "column " + column, Err: err, Hint: hint})
	}

	if n.From != "" {
		v = slices.Clone(v)
		n.Convert(v)
	}

	return v, n
}

// soundUnit is the factor from a microphone's unit to Pa or V, where it is another
// unit of pressure or voltage: mPa, psi, mV.
func soundUnit(stated string) (factor float64, unit, how string) {
	for _, name := range []string{"p_pa", "p_v"} {
		if n, err := units.ToName(name, stated); err == nil && n.From != "" {
			return n.Scale, n.Unit, n.String()
		}
	}

	return 1, stated, ""
}
