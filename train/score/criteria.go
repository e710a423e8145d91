package score

import (
	"math"
	"slices"
)

// Criterion is a score by which variants of a network are compared. Less is better.
type Criterion struct {
	Key  string                // key in the configuration
	Name string                // name in tables
	rows func(s Set) []float64 // score of each row
}

// Criteria lists the scores by which variants are compared.
func Criteria() []Criterion {
	return []Criterion{
		{"nll", "NLL", nllRows},
		{"crps", "CRPS", crpsRows},
		{"rmse", "measured error e", measuredRows}, // the mean square, whose root would order variants alike
		{"ratio", "|ln Σe/Σv̂|", ratioRows},
	}
}

// nllRows returns the negative log-likelihood of each row.
func nllRows(s Set) []float64 { return NLLRows(s, s.Var) }

// crpsRows returns the CRPS of each row.
func crpsRows(s Set) []float64 { return CRPSRows(s, s.Var) }

// measuredRows returns the measured error of each row.
func measuredRows(s Set) []float64 {
	e, _ := errorRows(s)
	return e
}

// Rows returns the score of each row of s. A score is NaN if it is not defined, or if s lacks the answers that it
// needs: Var for NLL and CRPS, and Cov for the ratio. The mean over the rows is the score of the set. Rows panics if a
// slice does not have the length that Set requires.
func (c Criterion) Rows(s Set) []float64 { return c.rows(s.check()) }

// NLLRows returns the negative log-likelihood of each row by normal distributions about s.Mu with the variances total
// (N×Out), as the mean over outcomes and both values. It returns NaN for each row if total is nil, and panics if a
// slice does not have the length that Set requires.
func NLLRows(s Set, total []float64) []float64 {
	s = s.check(total)
	if total == nil {
		return undefinedRows(s.N)
	}

	scores := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		scores[k/s.Out] += ((z[2*k]*z[2*k]+z[2*k+1]*z[2*k+1])/2 + math.Log(2*math.Pi*v)) / float64(2*s.Out)
	}

	return scores
}

// undefinedRows returns NaN for each of n rows.
func undefinedRows(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// errorRows returns the measured error e and the covariance C of each row, as means over outcomes. Both are multiplied
// by the row's weight, and by the number of rows over the weight of all pairs. Rows that are alone measure no error and
// count 0. So the mean over all rows is the weighted mean over the pairs. e is NaN if the set has no measured error or
// no pairs, and c is NaN if it has no covariances.
func errorRows(s Set) (e, c []float64) {
	e = make([]float64, s.N)
	c = make([]float64, s.N)
	pairs := s.Pairs()
	mean := 0.0 // weight of the pairs by the number of rows
	for _, i := range pairs {
		mean += s.weight(i)
	}

	mean /= float64(s.N)
	measured := MeasuredError(s)
	for _, i := range pairs {
		w := s.weight(i) / mean / float64(s.Out)
		for k := i * s.Out; k < (i+1)*s.Out; k++ {
			e[i] += w * measured[k]
			if s.Cov != nil {
				c[i] += w * s.Cov[k]
			}
		}
	}

	if s.errorUndefined() != "" || len(pairs) == 0 {
		e = undefinedRows(s.N)
	}

	if s.Cov == nil {
		c = undefinedRows(s.N)
	}

	return e, c
}

// ratioRows distributes |ln Σe/Σv̂| over the rows: the mean of the rows is this number, and their scatter is the
// scatter of its linear approximation (the delta method). All are NaN if a sum is not positive.
func ratioRows(s Set) []float64 {
	e, c := errorRows(s)
	meanError := average(e, nil)
	meanCov := average(c, nil)
	isDefined := meanError > 0 && meanCov > 0 // false for NaN
	if !isDefined {
		return undefinedRows(s.N)
	}

	logRatio := math.Log(meanError / meanCov)
	scores := make([]float64, s.N)
	for i := range scores {
		scores[i] = math.Abs(logRatio) + math.Copysign(1, logRatio)*(e[i]/meanError-c[i]/meanCov)
	}

	return scores
}

// ErrorRatio returns Σe/Σv̂ of s with the weights of the rows, where v̂ is C. It returns NaN if the set has no measured
// error or no covariances. ErrorRatio panics if a slice does not have the length that Set requires.
func ErrorRatio(s Set) float64 {
	e, c := errorRows(s.check())
	return average(e, nil) / average(c, nil)
}
