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
	check := &boundCheck{path: info.Path}
	if err := check.conditions(run.Run.Recordings); err != nil {
		return nil, err
	}

	if flow != nil {
		if err := check.air(info, run, flow); err != nil {
			return nil, err
		}
	}

	return check.warnings, nil
}

// boundCheck compares values of a file with the bounds of their quantities, and collects the warnings.
type boundCheck struct {
	path     string
	warnings []ingest.Warning
}

// value adds a warning if a value of the named quantity is unlikely. It returns an error if the value cannot be.
func (c *boundCheck) value(place, quantity string, value float64) error {
	bound, known := units.BoundOf(quantity)
	if !known {
		return nil
	}

	doubt, isImpossible := bound.Check(value)
	if isImpossible {
		return fault.At(c.path, place, "a possible value", doubt, "correct the value or the unit that is stated")
	}

	if doubt != "" {
		c.warnings = append(c.warnings, ingest.Warn(c.path, Implausible, "%s: %s", place, doubt))
	}

	return nil
}

// conditions checks the conditions of recordings, each value once.
func (c *boundCheck) conditions(recordings []ingest.Recording) error {
	type statement struct {
		name  string
		value float64
	}

	checked := map[statement]bool{}
	for _, recording := range recordings {
		for _, name := range slices.Sorted(maps.Keys(recording.Conditions)) {
			stated := statement{name, recording.Conditions[name]}
			if checked[stated] {
				continue
			}

			checked[stated] = true
			if err := c.value("condition "+name, name, stated.value); err != nil {
				return err
			}
		}
	}

	return nil
}

// air checks the means of the columns with the pressure and the temperature of the air.
func (c *boundCheck) air(info ingest.Info, run Run, flow *setting.Flow) error {
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
			return err
		}

		if err := c.value(fmt.Sprintf("column %s (%s)", name, quantity), quantity, mean[0]); err != nil {
			return err
		}
	}

	return nil
}
