package score

import "math"

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

// Rows returns the score of each row of s, which is NaN if it is not defined. The mean over the rows is the score of
// the set.
func (c Criterion) Rows(s Set) []float64 { return c.rows(s.check()) }

// NLLRows returns the negative log-likelihood of each row by normal distributions about s.Mu with the variances total,
// as the mean over outcomes and both values.
func NLLRows(s Set, total []float64) []float64 {
	scores := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		scores[k/s.Out] += ((z[2*k]*z[2*k]+z[2*k+1]*z[2*k+1])/2 + math.Log(2*math.Pi*v)) / float64(2*s.Out)
	}

	return scores
}

// errorRows returns the measured error e and the covariance C of each row, v, as means over outcomes. Both are
// multiplied by the row's weight over the mean weight.
func errorRows(s Set) (e, v []float64) {
	e = make([]float64, s.N)
	v = make([]float64, s.N)
	mean := totalWeight(s.Weight, s.N) / float64(s.N)

	undefined := s.errorUndefined() != ""
	for k, x := range MeasuredError(s) {
		w := s.weight(k/s.Out) / mean / float64(s.Out)
		e[k/s.Out] += w * x
		v[k/s.Out] += w * s.Cov[k]
		if undefined {
			e[k/s.Out] = math.NaN()
		}
	}

	return e, v
}

// ratioRows distributes |ln Σe/Σv̂| over the rows: the mean of the rows is this number, and their scatter is the
// scatter of its linear approximation (the delta method). All are NaN if a sum is not positive.
func ratioRows(s Set) []float64 {
	e, v := errorRows(s)
	me := average(e, nil)
	mv := average(v, nil)
	l := math.Log(me / mv)

	scores := make([]float64, s.N)
	for i := range scores {
		scores[i] = math.NaN()
		if me > 0 && mv > 0 {
			scores[i] = math.Abs(l) + math.Copysign(1, l)*(e[i]/me-v[i]/mv)
		}
	}

	return scores
}

// ErrorRatio returns Σe/Σv̂ of s with the weights of the rows, and NaN if it is not defined.
func ErrorRatio(s Set) float64 {
	e, v := errorRows(s.check())
	return average(e, nil) / average(v, nil)
}
