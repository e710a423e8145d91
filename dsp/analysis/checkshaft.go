package analysis

import (
	"slices"

	"doubletake/ingest/setting"
)

// CheckShaft returns a *setting.Error if the construction needs the speed of a shaft and the number of its blades, and
// one of them is not known.
func (s *Source) CheckShaft() error {
	if !s.Construction.Describe().Shaft {
		return nil
	}

	perMinute := slices.Contains(s.Conditions, "rpm")
	perSecond := slices.Contains(s.Conditions, "rps")
	if perMinute && perSecond {
		return setting.Errorf("", "both rpm (1/min) and rps (rev/s) are given as conditions; keep one")
	}

	isMeasured := s.DSP.Track != nil || s.Settings.Tachometer != nil
	if !isMeasured && !perMinute && !perSecond {
		return setting.Errorf("", "the shaft speed is not known: expected a condition rpm (in 1/min) or rps (in "+
			"rev/s), a tachometer, or track: {range_hz: [from, to]} to find it in the sound; the conditions are %v",
			s.Conditions).OfSection("dsp")
	}

	if !slices.Contains(s.Conditions, "blades") {
		return setting.Errorf("", "the number of blades is not known: expected a condition blades, e.g. "+
			"constants: {blades: 2}; the conditions are %v", s.Conditions)
	}

	return nil
}
