package triplets

import (
	"fmt"
	"math"
)

// Scale is the mean and the deviation by which columns are standardised:
// standardised = (own − Mean)/Std, and variances divide by Std².
type Scale struct{ Mean, Std []float64 }

// Identity returns the scale of n columns that leaves them as they are.
func Identity(n int) Scale {
	s := Scale{make([]float64, n), make([]float64, n)}
	for i := range s.Std {
		s.Std[i] = 1
	}

	return s
}

// ScaleOf returns mean and population standard deviation of n columns over the rows of all parts, each rows × n. The
// first part must have a row. The deviation of a constant column is 0.
func ScaleOf(n int, parts ...[]float64) Scale { return scaleOf(n, nil, parts...) }

// OutcomeScale returns the scale of both outcomes together, rows weighted by s.Weight.
func (s Set) OutcomeScale() Scale { return scaleOf(s.Out, s.Weight, s.Y1, s.Y2) }

// scaleOf returns the scale of n columns over all parts, with row i of each part weighted by weight[i], or by 1.
func scaleOf(n int, weight []float64, parts ...[]float64) Scale {
	s := Scale{make([]float64, n), make([]float64, n)}

	rows := 0.0
	for _, p := range parts {
		for i := 0; i < len(p); i += n {
			rows += WeightAt(weight, i/n)
		}
	}

	// The mean is computed about the first row, and the deviation about the mean, so that values far from zero lose no
	// digits. CONTRIBUTING.md says why products are converted.
	for j := range n {
		origin := parts[0][j]
		sum := 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				sum += float64(WeightAt(weight, i/n) * (p[i] - origin))
			}
		}

		m := origin + sum/rows

		ss := 0.0
		for _, p := range parts {
			for i := j; i < len(p); i += n {
				d := p[i] - m
				ss += float64(WeightAt(weight, i/n) * float64(d*d))
			}
		}

		s.Mean[j] = m
		s.Std[j] = math.Sqrt(ss / rows)
	}

	return s
}

// Check returns an error if a scale does not have n columns, or if a mean is not finite or a deviation not positive.
// what names the columns in messages, such as "outcome".
func (s Scale) Check(what string, n int) error {
	if len(s.Mean) != n || len(s.Std) != n {
		return fmt.Errorf("expected %d %s means and standard deviations, found %d and %d", n, what, len(s.Mean), len(s.Std))
	}

	for i := range n {
		divisible := s.Std[i] > 0 && !math.IsInf(s.Std[i], 0)
		finite := !math.IsNaN(s.Mean[i]) && !math.IsInf(s.Mean[i], 0)
		if !divisible || !finite {
			return fmt.Errorf("expected a finite mean and a positive standard deviation for %s %d, found %g and %g",
				what, i, s.Mean[i], s.Std[i])
		}
	}

	return nil
}

// Standardise returns rows of values in standardised units. It returns nil if v is nil.
func (s Scale) Standardise(v []float64) []float64 { return s.divide(v, outcome) }

// Own returns rows of standardised values in their own units. It returns nil if v is nil.
func (s Scale) Own(v []float64) []float64 { return s.multiply(v, outcome) }

// outcome describes a plain outcome for divide and multiply: it is shifted by its mean, and is not a variance.
var outcome = AnswerColumn{Shift: true}

// divide returns rows of values of a kind in standardised units. It returns nil if v is nil.
func (s Scale) divide(v []float64, kind AnswerColumn) []float64 {
	if v == nil {
		return nil
	}

	scaled := make([]float64, len(v))
	for i, x := range v {
		mean, unit := s.column(i%len(s.Std), kind)
		scaled[i] = (x - mean) / unit
	}

	return scaled
}

// multiply returns the inverse of divide, up to rounding. It returns nil if v is nil.
func (s Scale) multiply(v []float64, kind AnswerColumn) []float64 {
	if v == nil {
		return nil
	}

	scaled := make([]float64, len(v))
	for i, x := range v {
		mean, unit := s.column(i%len(s.Std), kind)
		scaled[i] = float64(x*unit) + mean
	}

	return scaled
}

// column returns the number that standardising subtracts from values of column j, and the unit by which it divides
// them: the deviation, or its square for variances.
func (s Scale) column(j int, kind AnswerColumn) (mean, unit float64) {
	if kind.Shift {
		mean = s.Mean[j]
	}

	unit = s.Std[j]
	if kind.Square {
		unit *= unit
	}

	return mean, unit
}
