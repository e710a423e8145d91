package dsp

import (
	"fmt"
	"math"

	"doubletake/internal/lists"
)

// Limits of contradiction: how far from the stated speed another is sought, and by how much
// those of the halves may differ, as real speeds drift by percents.
const (
	contradictionReach = 0.4
	contradictionStep  = 0.02
)

// contradiction looks for another shaft speed where most lines at the stated one are at the
// floor: one within ± 40 % at which more than half of the harmonics have lines, at least two
// more than at the stated speed and the same in both halves.
func (a *Analyser) contradiction(run *rotorRun, s *rotor) (Flag, bool) {
	if s.shaftHz == 0 || s.Pulses != nil || s.harmonics < 2 {
		return Flag{}, false
	}

	emergent, all := 0, 0
	shown := make([]bool, s.harmonics) // in any channel
	for _, c := range run.Channels {
		for m, e := range c.Emergent {
			all++
			if e {
				emergent++
				shown[m] = true
			}
		}
	}

	stated := len(lists.Keep(shown, func(e bool) bool { return e }))
	if 2*emergent >= all || stated+2 > s.harmonics {
		return Flag{}, false
	}

	wide := *s
	top := s.RateHz / 2 / float64(s.blades*s.harmonics)
	wide.shaftHz, wide.trackLoHz = 0, (1-contradictionReach)*s.shaftHz
	wide.trackHiHz = min((1+contradictionReach)*s.shaftHz, top)

	var found [2]float64
	for h := range found {
		sf := &a.speed
		sf.lines, sf.power, sf.blades, sf.harm = run.finder, a.mean[h], s.blades, s.harmonics
		sf.last = wide.lastBin()
		var count int
		if found[h], count = sf.track(wide.trackLoHz, wide.trackHiHz); count < stated+2 || 2*count <= s.harmonics {
			return Flag{}, false
		}
	}

	hz := (found[0] + found[1]) / 2
	if math.Abs(found[1]-found[0]) > contradictionStep*hz || math.Abs(hz/s.shaftHz-1) <= s.Settings.Tolerance {
		return Flag{}, false
	}

	return Flag{
		Code: "speed-contradicted", Channel: -1, Statistic: hz/s.shaftHz - 1, StatedHz: s.shaftHz, FoundHz: hz,
		Text: fmt.Sprintf("at the stated %.6g rev/min %d of %d lines are above the floor, the sound has its lines at "+
			"%.4g rev/min (%+.1f %%): correct the speed, or the number of blades, of this file in the conditions",
			60*s.shaftHz, emergent, all, 60*hz, 100*(hz/s.shaftHz-1)),
	}, true
}
