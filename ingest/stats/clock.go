package stats

import (
	"math"

	"doubletake/ingest"
)

// maxJitter is how far a step of a clock may differ from the mean step, relative to it.
const maxJitter = 0.05

// clockWarnings returns at most one warning about the channel of time: its steps are not positive, or
// uneven.
func (s *scan) clockWarnings() []ingest.Warning {
	steps := &s.steps
	if s.clock < 0 || steps.n < 2 {
		return nil
	}

	mean := (steps.last - steps.first) / float64(steps.n-1)
	name := s.info.Channels[s.clock].Name
	unit := s.info.Channels[s.clock].Unit
	switch {
	case steps.min <= 0:
		return []ingest.Warning{s.warn("clock-backwards", "column %s stops or goes back by %g %s: samples may be missing or "+
			"out of order", name, 0-steps.min, unit)}

	case steps.max-mean > maxJitter*mean || mean-steps.min > maxJitter*mean:
		return []ingest.Warning{s.warn("jittered-clock", "steps of column %s vary from %.4g to %.4g %s about a mean of "+
			"%.4g: spectra assume even steps", name, steps.min, steps.max, unit, mean)}
	}

	return nil
}

// stepRange follows the steps of a clock. All times are in the unit of the clock's channel.
type stepRange struct {
	n           int64   // times so far
	first, last float64 // the first and the latest time
	min, max    float64 // the smallest and the largest step
}

// add adds the next times of the clock.
func (s *stepRange) add(times []float64) {
	for _, t := range times {
		if s.n == 0 {
			s.first = t
			s.min = math.Inf(1)
			s.max = math.Inf(-1)
		} else {
			s.min = min(s.min, t-s.last)
			s.max = max(s.max, t-s.last)
		}

		s.last = t
		s.n++
	}
}
