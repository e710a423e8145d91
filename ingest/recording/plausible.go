package recording

import (
	"fmt"
	"maps"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// This file compares settings, conditions and channels with the bounds of physical quantities (units.BoundOf).

// Implausible is the code of warnings about values that are unlikely in their unit.
const Implausible = "implausible"

// Plausible returns warnings about the conditions of a run's recordings, and about the means of its columns of air,
// that are unlikely in their units. It returns an error about a value that cannot be. Recordings that share a value
// share its warning. flow names the columns of air, and may be nil.
func Plausible(info ingest.Info, run Run, flow *setting.Flow) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	check := func(place, name string, value float64) error {
		bound, known := units.BoundOf(name)
		if !known {
			return nil
		}

		doubt, isImpossible := bound.Check(value)
		if isImpossible {
			return fault.At(info.Path, place, "a possible value", doubt, "correct the value or the unit that is stated")
		}

		if doubt != "" {
			warnings = append(warnings, ingest.Warn(info.Path, Implausible, "%s: %s", place, doubt))
		}

		return nil
	}

	type statement struct {
		name  string
		value float64
	}
	checked := map[statement]bool{}
	for _, recording := range run.Run.Recordings {
		for _, name := range slices.Sorted(maps.Keys(recording.Conditions)) {
			stated := statement{name, recording.Conditions[name]}
			if checked[stated] {
				continue
			}

			checked[stated] = true
			if err := check("condition "+name, name, stated.value); err != nil {
				return nil, err
			}
		}
	}

	if flow == nil {
		return warnings, nil
	}

	for i, channel := range run.Channels() {
		name := info.Channels[channel].Name
		quantity := ""
		switch {
		case flow.Pressure != "" && name == flow.Pressure:
			quantity = "pressure_pa"
		case flow.Temperature != "" && name == flow.Temperature:
			quantity = "temperature_c"
		}

		if quantity == "" || run.Stats[i].Samples == 0 {
			continue
		}

		mean, _, err := ConvertSeries(info.Path, name, quantity, run.Units[i], []float64{run.Stats[i].Mean})
		if err != nil {
			return nil, err
		}

		if err := check(fmt.Sprintf("column %s (%s)", name, quantity), quantity, mean[0]); err != nil {
			return nil, err
		}
	}

	return warnings, nil
}
