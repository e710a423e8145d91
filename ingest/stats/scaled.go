package stats

import (
	"math"
)

// Scaled returns the statistics of the samples multiplied by a factor.
func (s Summary) Scaled(factor float64) Summary {
	s.Min *= factor
	s.Max *= factor
	s.Mean *= factor
	s.RMS *= math.Abs(factor)
	s.Std *= math.Abs(factor)

	return s
}
