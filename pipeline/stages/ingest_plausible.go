package stages

import (
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/recording"
	"doubletake/ingest/units"
	"doubletake/pipeline/stages/plan"
)

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
			warnings = append(warnings, ingest.Warn(exp.File.Path, recording.Implausible, "%s: %s", key, doubt))
		}
	}

	return warnings, nil
}
