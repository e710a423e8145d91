package ingeststage

import (
	"fmt"
	"maps"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/pipeline/stages/plan"
)

// This file compares settings, conditions and channels with the bounds of physical quantities (units.BoundOf).

// codeImplausible is the code of warnings about values that are unlikely in their unit.
const codeImplausible = "implausible"

// physicalSetting is a setting of the experiment with a physical quantity. A value of 0 means that it is not given.
type physicalSetting struct {
	section string // its key without the last part
	name    string // the last part of its key, which names the quantity and its unit
	value   float64
}

// physicalSettings lists the settings with a physical quantity that are given.
func physicalSettings(exp plan.Experiment) []physicalSetting {
	settings := []physicalSetting{
		{"dsp", "chord_m", exp.DSP.ChordM},
		{"dsp", "span_m", exp.DSP.SpanM},
		{"dsp", "density_kg_m3", exp.DSP.DensityKgM3},
		{"dsp", "pressure_pa", exp.DSP.PressurePa},
		{"dsp", "temperature_c", exp.DSP.TemperatureC},
	}

	if distance := exp.DSP.Distance; distance != nil {
		settings = append(settings, physicalSetting{"dsp.distance", "from_m", distance.FromM},
			physicalSetting{"dsp.distance", "to_m", distance.ToM})
	}

	if chain := exp.Ingest.Calibration; chain != nil {
		const section = "ingest.calibration"
		settings = append(settings, physicalSetting{section, "full_scale_v", chain.FullScaleV},
			physicalSetting{section, "sensitivity_v_per_pa", chain.SensitivityVPerPa},
			physicalSetting{section, "gain_db", chain.GainDB})
		if calibrator := chain.Calibrator; calibrator != nil {
			settings = append(settings, physicalSetting{section + ".calibrator", "level_db", calibrator.LevelDB},
				physicalSetting{section + ".calibrator", "gain_db", calibrator.GainDB})
		}
	}

	return slices.DeleteFunc(settings, func(s physicalSetting) bool { return s.value == 0 })
}

// checkSettings returns warnings about settings of the experiment that are unlikely, and an error about one that cannot
// be.
func checkSettings(exp plan.Experiment) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for _, setting := range physicalSettings(exp) {
		bound, _ := units.BoundOf(setting.name)
		key := setting.section + "." + setting.name
		doubt, isImpossible := bound.Check(setting.value)
		switch {
		case doubt == "":
		case isImpossible:
			return nil, exp.Errorf(key, "%s", doubt)
		default:
			warnings = append(warnings, ingest.Warn(exp.File.Path, codeImplausible, "%s: %s", key, doubt))
		}
	}

	return warnings, nil
}

// checkPlausible returns warnings about the conditions of a run and the means of its channels of air that are unlikely,
// and an error about one that cannot be.
func checkPlausible(src *plan.Source, info ingest.Info, run RunResult) ([]ingest.Warning, error) {
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
			warnings = append(warnings, ingest.Warn(info.Path, codeImplausible, "%s: %s", place, doubt))
		}

		return nil
	}

	if len(run.Run.Recordings) > 0 {
		conditions := run.Run.Recordings[0].Conditions
		for _, name := range slices.Sorted(maps.Keys(conditions)) {
			if err := check("condition "+name, name, conditions[name]); err != nil {
				return nil, err
			}
		}
	}

	if src.Ingest.Balance == nil || src.Ingest.Balance.Flow == nil {
		return warnings, nil
	}

	flow := src.Ingest.Balance.Flow
	for i, channel := range run.channels() {
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

// checkChains returns a warning about the first gain or sensitivity of a microphone that is unlikely or impossible in
// its unit.
func (r *Recordings) checkChains(path string) []ingest.Warning {
	for _, name := range slices.Sorted(maps.Keys(r.Chains)) {
		bound, known := units.BoundOf(name)
		if !known {
			continue
		}

		for _, entry := range r.Chains[name] {
			if doubt, _ := bound.Check(entry.Value); doubt != "" {
				return []ingest.Warning{ingest.Warn(path, codeImplausible, "%s of channel %s: %s", name, entry.Name, doubt)}
			}
		}
	}

	return nil
}
