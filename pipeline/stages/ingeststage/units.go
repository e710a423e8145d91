package ingeststage

import (
	"slices"

	"doubletake/ingest/setting"
	"doubletake/ingest/units"
	"doubletake/pipeline/stages/plan"
)

// setUnits checks the units of the configuration. It stores in src the conversions of conditions that files' names,
// attributes, sidecars and constants state. The conditions of tables are converted when the tables are read.
func setUnits(exp plan.Experiment, src *Source) error {
	known := slices.Clone(src.Conditions)
	for _, column := range src.Ingest.Columns {
		known = append(known, column.Name)
	}

	for _, unit := range src.Ingest.Units {
		err := exp.OneOf(known, unit.Name, "ingest.units."+unit.Name,
			"is neither a column nor a condition of this experiment, which has")
		if err != nil {
			return err
		}
	}

	conditions := removeNames(src.Conditions, func(name string) bool {
		_, inFile := setting.Find(src.Ingest.InFile, name)
		return inFile || src.Table != nil && slices.Contains(src.Table.Names, name)
	})

	return setConversions(exp, src, "ingest.units.", src.Ingest.Units, conditions)
}

// setConversions checks the units in list, which belong to the section of the configuration that key begins with. It
// stores in src the conversions of the given conditions to the units that their names state.
func setConversions(exp plan.Experiment, src *Source, key string, list []setting.NamedString,
	conditions []string,
) error {
	src.Convert = map[string]units.Named{}
	for _, unit := range list {
		conversion, err := units.ToName(unit.Name, unit.Value)
		if err != nil {
			return exp.Errorf(key+unit.Name, "%v", err)
		}

		if conversion.Original != "" && slices.Contains(conditions, unit.Name) {
			src.Convert[unit.Name] = conversion
			src.Converted[unit.Name] = conversion.String()
		}
	}

	return nil
}

// convertConditions changes the conditions that the data state into the conditions of the tables. It converts them to
// the units of their names, counts a microphone's angle from the rotor plane if the data count it from the axis, and
// adds derived conditions.
func convertConditions(src *Source, conditions map[string]float64, labels map[string]string) error {
	for name, conversion := range src.Convert {
		if v, ok := conditions[name]; ok {
			conditions[name] = conversion.Apply(v)
		}
	}

	if v, ok := conditions["theta_deg"]; ok && src.Ingest.ThetaFrom == "axis" {
		conditions["theta_deg"] = 90 - v
	}

	return src.Derive.AddConditions(conditions, labels)
}
