package stages

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
