package config

import (
	"strings"

	"doubletake/ingest/setting"
)

// validateCalibration reports faults of the section, which is at key.
func validateCalibration(c *setting.Calibration, f *File, key string, fail failFunc) {
	for _, v := range []struct {
		name  string
		value float64
	}{{"full_scale_v", c.FullScaleV}, {"sensitivity_v_per_pa", c.SensitivityVPerPa}, {"pa_per_unit", c.PaPerUnit}} {
		if f.Has(key + "." + v.name) {
			fail.above(key+"."+v.name, "a number", v.value, most)
		}
	}

	fail.within(key+".gain_db", "a gain", c.GainDB, -maxDB, maxDB)
	for _, g := range c.ChannelGainDB {
		fail.within(key+".channel_gain_db."+g.Name, "a gain", g.Value, -maxDB, maxDB)
	}

	checkEntries(fail, key+".uncertainty", c.Uncertainty, ParseUncertainty)

	if c.Calibrator == nil {
		return
	}

	chain := []string{"unit", "full_scale_v", "reading", "sensitivity_v_per_pa", "pa_per_unit"}
	if len(c.ChannelGainDB) == 0 {
		chain = append(chain, "gain_db")
	}

	fail.refuse(f, key, "the calibrator's recording replaces the chain; keep one of them", chain...)

	cal := c.Calibrator
	key += ".calibrator"
	switch {
	case cal.File == "" && cal.Pattern == "" && len(cal.Recordings) == 0:
		fail(key, "expected file: RECORDING, pattern: NAME_{channel}.wav, or recordings: {CHANNEL: RECORDING, …}, found none")
	case cal.File != "" && len(cal.Recordings) > 0:
		fail(key+".recordings", "expected file or recordings, found both")
	case cal.Pattern != "" && (cal.File != "" || len(cal.Recordings) > 0):
		fail(key+".pattern", "expected pattern, file or recordings, found two of them")
	case cal.Pattern != "" && strings.Count(cal.Pattern, setting.ChannelField) != 1:
		fail(key+".pattern", "expected {channel} once, where the names of the files have the channel, found %q", cal.Pattern)
	case cal.Channel != "" && cal.File == "":
		fail(key+".channel", "belongs to file; behind a name in recordings write #CHANNEL")
	}

	if !f.Has(key + ".level_db") {
		fail(key, "expected level_db: the level the calibrator makes, e.g. 94 or 114")
		return
	}

	validateCalibrator(cal, key+".", fail)
}

// Limits of a calibrator's settings. Beyond them a number is taken for a mistake.
const (
	minCalibratorDB, maxCalibratorDB = 20, 200
	maxFrequencyHz                   = 1e9
	maxSeconds                       = 1e9
	maxDB                            = 1000
)

// validateCalibrator reports each number outside its limits. prefix is the section's key with a point behind it.
func validateCalibrator(c *setting.Calibrator, prefix string, fail failFunc) {
	fail.within(prefix+"level_db", "a level in dB re 20 µPa, e.g. 94 or 114,", c.LevelDB, minCalibratorDB, maxCalibratorDB)
	fail.within(prefix+"frequency_hz", "a frequency in Hz, or 0 for the strongest line,", c.FrequencyHz, 0, maxFrequencyHz)
	fail.within(prefix+"from_s", "a second", c.FromS, 0, maxSeconds)
	fail.within(prefix+"to_s", "a second, or 0 for the end,", c.ToS, 0, maxSeconds)
	fail.above(prefix+"spread_db", "a difference in dB", c.SpreadDB, maxDB)
	fail.within(prefix+"gain_db", "a gain in dB", c.GainDB, -maxDB, maxDB)

	if c.ToS > 0 && c.ToS <= c.FromS {
		fail(prefix+"to_s", "expected a second after from_s (%g), or 0 for the end, found %g", c.FromS, c.ToS)
	}
}
