package config

// Tachometer is a channel that counts the shaft's revolutions.
type Tachometer struct {
	// the channel, by name or number from 1
	Channel string `key:"channel"`

	// pulses in one revolution of the shaft
	PulsesPerRev int `key:"pulses_per_rev"`

	// the edge of a pulse that counts
	Edge string `key:"edge" enum:"rising|falling"`

	// level of an edge in the file's unit, more than a fifth of the channel's range from both its extremes;
	// not given: midway between them
	Threshold *float64 `key:"threshold"`
}

// maxPulses bounds the pulses of a revolution.
const maxPulses = 100_000

func (t *Tachometer) setDefaults() { t.PulsesPerRev, t.Edge = 1, "rising" }

func (t *Tachometer) validate(_ *File, _ *Experiment, key string, fail failFunc) {
	fail.when(t.Channel == "", key, "expected channel: which one counts the revolutions")

	fail.whole(key+".pulses_per_rev", "pulses", t.PulsesPerRev, 1, maxPulses)

	if t.Threshold != nil {
		fail.within(key+".threshold", "a level", *t.Threshold, -most, most)
	}
}
