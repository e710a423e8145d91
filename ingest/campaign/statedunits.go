package campaign

import (
	"slices"

	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// Conversions checks the units that the settings state. conditions are the conditions of the campaign. Conversions
// returns the conversions of the conditions that files' names, attributes, sidecars and constants state, and describes
// them in v.Converted. The conditions of tables are converted when the tables are read.
func (v *Inventory) Conversions(conditions []string) (map[string]units.Named, error) {
	known := slices.Clone(conditions)
	for _, column := range v.Settings.Columns {
		known = append(known, column.Name)
	}

	for _, unit := range v.Settings.Units {
		err := setting.CheckOneOf(known, unit.Name, "units."+unit.Name,
			"is neither a column nor a condition of this experiment, which has")
		if err != nil {
			return nil, err
		}
	}

	inTable := func(name string) bool {
		_, isInFile := setting.Find(v.Settings.InFile, name)
		return isInFile || v.Table != nil && slices.Contains(v.Table.Names, name)
	}

	return v.conversionsOf("units.", v.Settings.Units, slices.DeleteFunc(slices.Clone(conditions), inTable))
}

// conversionsOf checks the units in list, whose keys begin with key. It returns the conversions of the given conditions
// to the units that their names state.
func (v *Inventory) conversionsOf(key string, list []setting.NamedString, conditions []string,
) (map[string]units.Named, error) {
	conversions := map[string]units.Named{}
	for _, unit := range list {
		conversion, err := units.ToName(unit.Name, unit.Value)
		if err != nil {
			return nil, setting.Errorf(key+unit.Name, "%v", err)
		}

		if conversion.Original != "" && slices.Contains(conditions, unit.Name) {
			conversions[unit.Name] = conversion
			v.Converted[unit.Name] = conversion.String()
		}
	}

	return conversions, nil
}
