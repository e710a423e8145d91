package stats

import (
	"math"
)

// Scaled returns the statistics of the samples multiplied by a factor.
func (s Summary) Scaled(factor float64) Summary {
	first := s.Min * factor
	second := s.Max * factor
	s.Min = min(first, second) // a negative factor reverses the order
	s.Max = max(first, second)
	s.Mean *= factor
	s.RMS *= math.Abs(factor)
	s.Std *= math.Abs(factor)

	return s
}
