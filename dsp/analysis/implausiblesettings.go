package analysis

import (
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/recording"
	"doubletake/ingest/setting"
	"doubletake/ingest/units"
)

// physicalSetting is a setting with a physical quantity. A value of 0 means that it is not given.
type physicalSetting struct {
	section string // its section of the configuration: ingest or dsp
	place   string // its key in the section without the last part, with a point at the end; "" is the section itself
	name    string // the last part of its key, which names the quantity and its unit
	value   float64
}

// physicalSettings lists the settings with a physical quantity that are given.
func physicalSettings(campaign *setting.Campaign, analysis *dsp.Settings) []physicalSetting {
	settings := []physicalSetting{
		{"dsp", "", "chord_m", analysis.ChordM},
		{"dsp", "", "span_m", analysis.SpanM},
		{"dsp", "", "density_kg_m3", analysis.DensityKgM3},
		{"dsp", "", "pressure_pa", analysis.PressurePa},
		{"dsp", "", "temperature_c", analysis.TemperatureC},
	}

	if distance := analysis.Distance; distance != nil {
		settings = append(settings, physicalSetting{"dsp", "distance.", "from_m", distance.FromM},
			physicalSetting{"dsp", "distance.", "to_m", distance.ToM})
	}

	if chain := campaign.Calibration; chain != nil {
		const place = "calibration."
		settings = append(settings, physicalSetting{"ingest", place, "full_scale_v", chain.FullScaleV},
			physicalSetting{"ingest", place, "sensitivity_v_per_pa", chain.SensitivityVPerPa},
			physicalSetting{"ingest", place, "gain_db", chain.GainDB})
		if calibrator := chain.Calibrator; calibrator != nil {
			const place = "calibration.calibrator."
			settings = append(settings, physicalSetting{"ingest", place, "level_db", calibrator.LevelDB},
				physicalSetting{"ingest", place, "gain_db", calibrator.GainDB})
		}
	}

	return slices.DeleteFunc(settings, func(s physicalSetting) bool { return s.value == 0 })
}

// CheckSettings returns warnings about settings that are unlikely, and a *setting.Error about one that cannot be. path
// is the path of the settings for messages.
func CheckSettings(path string, campaign *setting.Campaign, analysis *dsp.Settings) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for _, physical := range physicalSettings(campaign, analysis) {
		bound, _ := units.BoundOf(physical.name)
		doubt, isImpossible := bound.Check(physical.value)
		key := physical.place + physical.name
		switch {
		case doubt == "":
		case isImpossible:
			return nil, setting.Errorf(key, "%s", doubt).OfSection(physical.section)
		default:
			whole := strings.Join([]string{physical.section, key}, ".")
			warnings = append(warnings, ingest.Warn(path, recording.Implausible, "%s: %s", whole, doubt))
		}
	}

	return warnings, nil
}
