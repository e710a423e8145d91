package config

// Tachometer is a channel that counts the shaft's revolutions.
type Tachometer struct {
	Channel      string   `key:"channel" doc:"the channel, by name or number from 1"`
	PulsesPerRev int      `key:"pulses_per_rev" doc:"pulses in one revolution of the shaft"`
	Edge         string   `key:"edge" doc:"the edge of a pulse that counts" enum:"rising|falling"`
	Threshold    *float64 `key:"threshold" doc:"level of an edge in the file's unit, more than a fifth of the channel's range from both its extremes; not given: midway between them"`
}

func (t *Tachometer) setDefaults() { t.PulsesPerRev, t.Edge = 1, "rising" }

func (t *Tachometer) validate(key string, fail func(key, format string, args ...any)) {
	if t.Channel == "" {
		fail(key, "expected channel: which one counts the revolutions")
	}
	if t.PulsesPerRev < 1 || t.PulsesPerRev > 100000 {
		fail(key+".pulses_per_rev", "expected 1 or more, found %d", t.PulsesPerRev)
	}
}
