package config

// Tachometer is a channel that counts the shaft's revolutions.
type Tachometer struct {
	Channel      string   `key:"channel"`
	PulsesPerRev int      `key:"pulses_per_rev"`
	Edge         string   `key:"edge" enum:"rising|falling"`
	Threshold    *float64 `key:"threshold"`
}

// maxPulses bounds the pulses of a revolution.
const maxPulses = 100_000

func (t *Tachometer) setDefaults() { t.PulsesPerRev, t.Edge = 1, "rising" }

func (t *Tachometer) validate(key string, fail failFunc) {
	if t.Channel == "" {
		fail(key, "expected channel: which one counts the revolutions")
	}
	if t.PulsesPerRev < 1 || t.PulsesPerRev > maxPulses {
		fail(key+".pulses_per_rev", "expected 1 to %d pulses, found %d", maxPulses, t.PulsesPerRev)
	}
	if t.Threshold != nil {
		fail.within(key+".threshold", "a level", *t.Threshold, -most, most)
	}
}
