package stats

import (
	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// maxJitter is how far a step of a clock may differ from the mean step, relative to it.
const maxJitter = 0.05

// clockWarnings returns at most one warning about the channel of time: its steps are not positive, or
// uneven.
func (s *scan) clockWarnings() []ingest.Warning {
	steps := &s.steps
	if s.clock < 0 || steps.n == 0 {
		return nil
	}

	mean := steps.sum / float64(steps.n)
	name := s.info.Channels[s.clock].Name
	unit := s.info.Channels[s.clock].Unit
	switch {
	case steps.min <= 0:
		return []ingest.Warning{s.warn("clock-backwards", "column %s stops or goes back by %g %s: samples may be missing or "+
			"out of order", name, 0-steps.min, unit)}

	case steps.max-mean > maxJitter*mean || mean-steps.min > maxJitter*mean:
		return []ingest.Warning{s.warn("jittered-clock", "steps of column %s vary from %s to %s %s about a mean of "+
			"%s: spectra assume even steps", name, fault.Digits(steps.min, 4), fault.Digits(steps.max, 4), unit,
			fault.Digits(mean, 4))}
	}

	return nil
}

// stepRange follows the steps of a clock. All times are in the unit of the clock's channel. A cell that is not a finite
// number has no step to it or from it.
type stepRange struct {
	n        int64   // steps so far
	sum      float64 // of the steps
	min, max float64 // the smallest and the largest step

	hasPrevious bool    // whether the latest cell is a time
	previous    float64 // this time
}

// add adds the next times of the clock.
func (s *stepRange) add(times []float64) {
	for _, t := range times {
		if !isFinite(t) {
			s.hasPrevious = false
			continue
		}

		if s.hasPrevious {
			s.addStep(t - s.previous)
		}

		s.previous = t
		s.hasPrevious = true
	}
}

// addStep adds one step.
func (s *stepRange) addStep(step float64) {
	if s.n == 0 {
		s.min = step
		s.max = step
	}

	s.n++
	s.sum += step
	s.min = min(s.min, step)
	s.max = max(s.max, step)
}
