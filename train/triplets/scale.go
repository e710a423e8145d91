package triplets

import (
	"fmt"
	"math"
)

// Scale is the mean and the deviation by which columns are standardised:
// standardised = (own − Mean)/Std, and variances divide by Std².
type Scale struct{ Mean, Std []float64 }

// Identity is the scale of n columns that leaves them as they are.
func Identity(n int) Scale {
	s := Scale{make([]float64, n), make([]float64, n)}
	for i := range s.Std {
		s.Std[i] = 1
	}

	return s
}

// ScaleOf returns mean and population standard deviation of n columns over the
// rows of all parts, each rows × n. The deviation of a constant column is 0.
func ScaleOf(n int, parts ...[]float64) Scale { return scaleOf(n, nil, parts...) }

// OutcomeScale is ScaleOf of both outcomes, rows weighted by s.Weight.
func (s Set) OutcomeScale() Scale { return scaleOf(s.Out, s.Weight, s.Y1, s.Y2) }

// scaleOf weighs row i of each part by weight[i]; nil: 1.
func scaleOf(n int, weight []float64, parts ...[]float64) Scale {
	s := Scale{make([]float64, n), make([]float64, n)}
	w := func(i int) float64 { return WeightAt(weight, i/n) }

	rows := 0.0
	for _, p := range parts {
		for i := 0; i < len(p); i += n {
			rows += w(i)
		}
	}

	// Two passes about the first row: levels far from zero lose nothing.
	for j := range n {
		origin, sum := parts[0][j], 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				sum += float64(w(i) * (p[i] - origin))
			}
		}

		m := origin + sum/rows

		ss := 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				d := p[i] - m
				ss += float64(w(i) * float64(d*d))
			}
		}

		s.Mean[j], s.Std[j] = m, math.Sqrt(ss/rows)
	}

	return s
}

// Check reports a scale that does not fit n columns or cannot be divided by.
// what names the columns: "outcome".
func (s Scale) Check(what string, n int) error {
	if len(s.Mean) != n || len(s.Std) != n {
		return fmt.Errorf("expected %d %s means and standard deviations, found %d and %d", n, what, len(s.Mean), len(s.Std))
	}

	for i := range n {
		if !(s.Std[i] > 0) || math.IsInf(s.Std[i], 0) || math.IsNaN(s.Mean[i]) || math.IsInf(s.Mean[i], 0) {
			return fmt.Errorf("expected a finite mean and a positive standard deviation for %s %d, found %g and %g",
				what, i, s.Mean[i], s.Std[i])
		}
	}

	return nil
}

// Standardise returns rows in own units in standardised ones.
func (s Scale) Standardise(v []float64) []float64 { return s.to(v, false, true) }

// Own returns standardised rows in own units.
func (s Scale) Own(v []float64) []float64 { return s.from(v, false, true) }

// to divides by the deviation, or its square, after taking out the mean where
// shift is set.
func (s Scale) to(v []float64, square, shift bool) []float64 {
	return s.each(v, square, shift, func(x, mean, unit float64) float64 { return (x - mean) / unit })
}

// from is the inverse of to, up to rounding.
func (s Scale) from(v []float64, square, shift bool) []float64 {
	return s.each(v, square, shift, func(x, mean, unit float64) float64 { return float64(x*unit) + mean })
}

// each returns f of every number with its column's mean, 0 without shift, and unit;
// nil of nil.
func (s Scale) each(v []float64, square, shift bool, f func(x, mean, unit float64) float64) []float64 {
	if v == nil {
		return nil
	}

	out := make([]float64, len(v))
	for i, x := range v {
		j := i % len(s.Std)
		mean, unit := 0.0, s.Std[j]
		if shift {
			mean = s.Mean[j]
		}

		if square {
			unit *= unit
		}

		out[i] = f(x, mean, unit)
	}

	return out
}
