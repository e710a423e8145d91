package dsp

import (
	"fmt"
	"math"

	"doubletake/ingest/fault"
)

// Limits of contradiction, relative to the speed.
const (
	contradictionReach = 0.4  // how far from the stated speed another speed is sought
	contradictionStep  = 0.02 // how far the speeds of the halves may differ, as real speeds drift by percents

	contradictionLines = 2 // how many more harmonics must have lines than at the stated speed
)

// contradiction looks for another shaft speed if fewer than half of the lines at the stated speed emerge. It returns a
// flag and true if it finds another speed within ±contradictionReach that passes all of these tests: in both halves,
// more than half of the harmonics have lines, at least contradictionLines more than at the stated speed; the halves'
// speeds agree within contradictionStep; and the speed differs from the stated one by more than Settings.Tolerance.
//
// contradiction returns false without a search if no speed is stated, if a tachometer measures the speed, or if there
// are too few harmonics.
func (a *Analyser) contradiction(run *rotorRun, s *rotor) (Flag, bool) {
	if s.shaftHz == 0 || s.Pulses != nil || s.harmonics < 2 {
		return Flag{}, false
	}

	stated := countLines(run.Channels, s.harmonics)
	mostEmerge := 2*stated.emergent >= stated.all
	if mostEmerge || stated.harmonics+contradictionLines > s.harmonics {
		return Flag{}, false
	}

	wide := *s                                          // the run with a tracked speed
	top := s.RateHz / 2 / float64(s.blades*s.harmonics) // at the Nyquist frequency
	wide.shaftHz = 0
	wide.trackLoHz = (1 - contradictionReach) * s.shaftHz
	wide.trackHiHz = min((1+contradictionReach)*s.shaftHz, top)

	var found [2]float64
	for h := range found {
		finder := a.speedFinder(run.finder, h, &wide)
		speed, count := finder.track(wide.trackLoHz, wide.trackHiHz)
		if count < stated.harmonics+contradictionLines || 2*count <= s.harmonics {
			return Flag{}, false
		}

		found[h] = speed
	}

	hz := (found[0] + found[1]) / 2
	if math.Abs(found[1]-found[0]) > contradictionStep*hz || math.Abs(hz/s.shaftHz-1) <= s.Settings.Tolerance {
		return Flag{}, false
	}

	return Flag{
		Code: "speed-contradicted", Channel: -1, Statistic: hz/s.shaftHz - 1, StatedHz: s.shaftHz, FoundHz: hz,
		Text: fmt.Sprintf("at the stated %s rev/min %d of %d lines are above the floor, the sound has its lines at "+
			"%s rev/min (%+.1f %%): correct the speed, or the number of blades, of this file in the conditions",
			fault.Digits(60*s.shaftHz, 6), stated.emergent, stated.all, fault.Digits(60*hz, 4), 100*(hz/s.shaftHz-1)),
	}, true
}

// lineCounts counts the lines of the harmonics at the stated speed.
type lineCounts struct {
	all       int // lines of all channels
	emergent  int // lines that emerge
	harmonics int // harmonics whose line emerges in a channel or more
}

// countLines counts the lines of some channels, each of which has a line for each of the harmonics.
func countLines(channels []rotorChannel, harmonics int) lineCounts {
	var counts lineCounts
	for m := range harmonics {
		isShown := false
		for _, c := range channels {
			counts.all++
			if c.Emergent[m] {
				counts.emergent++
				isShown = true
			}
		}

		if isShown {
			counts.harmonics++
		}
	}

	return counts
}
