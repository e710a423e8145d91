package config

// Calibrator is a recording of a sound calibrator on each microphone: its tone's
// rms gives the pascal per sample unit.
type Calibrator struct {
	LevelDB     float64       `key:"level_db" doc:"level of its tone in dB re 20 uPa: 94, 114, or what its certificate says"`
	FrequencyHz float64       `key:"frequency_hz" doc:"frequency of its tone in Hz; 0: the strongest line above 20 Hz" default:"0"`
	File        string        `key:"file" doc:"one recording for all channels: a file of one channel, or one whose channels have the names of the recordings'"`
	Channel     string        `key:"channel" doc:"file: its channel that heard the calibrator, by name or number from 1, for all channels of the recordings"`
	Recordings  []NamedString `key:"recordings" doc:"instead of file: a recording for each channel (by name or number from 1), e.g. {1: cal/mic1.wav, 2: cal/mic2.wav}; of its channels the one of that name, or #CHANNEL behind the file's name"`
	FromS       float64       `key:"from_s" doc:"first second of it to use" default:"0"`
	ToS         float64       `key:"to_s" doc:"last second of it to use; 0: to the end" default:"0"`
	SpreadDB    float64       `key:"spread_db" doc:"how steady its level must be: the largest difference in dB between tenths of it"`
	GainDB      float64       `key:"gain_db" doc:"gain of the recordings over that of the calibrator's recording, in dB" default:"0"`
}

// DefaultCalibrator is one of that level, all else as where nothing is said.
func DefaultCalibrator(levelDB float64) Calibrator {
	c := Calibrator{LevelDB: levelDB}
	c.setDefaults()
	return c
}

func (c *Calibrator) setDefaults() { c.SpreadDB = 0.2 }

func (c *Calibration) validate(f *File, key string, fail func(key, format string, args ...any)) {
	for _, k := range []string{"unit", "full_scale_v", "reading", "sensitivity_v_per_pa", "gain_db", "pa_per_unit"} {
		if f.Has(key + "." + k) {
			fail(key+"."+k, "the calibrator's recording says what the chain would; keep one of them")
		}
	}
	cal, key := c.Calibrator, key+".calibrator"
	switch {
	case cal.File == "" && len(cal.Recordings) == 0:
		fail(key, "expected file: RECORDING, or recordings: {CHANNEL: RECORDING, …}, found neither")
	case cal.File != "" && len(cal.Recordings) > 0:
		fail(key+".recordings", "expected file or recordings, found both")
	case cal.Channel != "" && cal.File == "":
		fail(key+".channel", "belongs to file; behind a name in recordings write #CHANNEL")
	}
	if !f.Has(key + ".level_db") {
		fail(key, "expected level_db: the level the calibrator makes, e.g. 94 or 114")
	} else if cal.LevelDB < 20 || cal.LevelDB > 200 {
		fail(key+".level_db", "expected a level in dB re 20 µPa, e.g. 94 or 114, found %g", cal.LevelDB)
	}
	if cal.FrequencyHz < 0 {
		fail(key+".frequency_hz", "expected a frequency above zero, or 0, found %g", cal.FrequencyHz)
	}
	if cal.FromS < 0 || cal.ToS < 0 || cal.ToS > 0 && cal.ToS <= cal.FromS {
		fail(key+".from_s", "expected seconds from 0 with from_s below to_s, found %g and %g", cal.FromS, cal.ToS)
	}
	if !(cal.SpreadDB > 0) {
		fail(key+".spread_db", "expected a difference above zero, found %g", cal.SpreadDB)
	}
}
