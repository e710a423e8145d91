package score

import "math"

// Criterion is a score by which variants of a network are compared. Less is better.
type Criterion struct {
	Key  string // in the configuration
	Name string // for people
	rows func(s Set) []float64
}

// Criteria lists the scores by which variants are compared.
func Criteria() []Criterion {
	return []Criterion{
		{"nll", "NLL", func(s Set) []float64 { return NLLRows(s, s.Var) }},
		{"crps", "CRPS", func(s Set) []float64 { return CRPSRows(s, s.Var) }},
		{"rmse", "measured error e", func(s Set) []float64 {
			e, _ := errorRows(s)
			return e
		}},
		{"ratio", "|ln Σe/Σv̂|", ratioRows},
	}
}

// Rows returns the score of each row of s, NaN where it is not defined. The mean over
// the rows is the score of the set.
func (c Criterion) Rows(s Set) []float64 { return c.rows(s.check()) }

// NLLRows is the negative log-likelihood of each row, mean over outcomes and both values, of
// normal laws about s.Mu with the variances total.
func NLLRows(s Set, total []float64) []float64 {
	out := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		out[k/s.Out] += ((z[2*k]*z[2*k]+z[2*k+1]*z[2*k+1])/2 + math.Log(2*math.Pi*v)) / float64(2*s.Out)
	}

	return out
}

// errorRows is the measured error and the covariance C of each row, mean over outcomes,
// times the row's weight over the mean weight.
func errorRows(s Set) (e, v []float64) {
	e, v = make([]float64, s.N), make([]float64, s.N)
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

// ratioRows distributes |ln Σe/Σv̂| over the rows: the mean of the rows is that number,
// and their scatter is that of its linear approximation. All are NaN where a sum is not
// positive.
func ratioRows(s Set) []float64 {
	e, v := errorRows(s)
	me, mv := average(e, nil), average(v, nil)
	l := math.Log(me / mv)

	out := make([]float64, s.N)
	for i := range out {
		if out[i] = math.NaN(); me > 0 && mv > 0 {
			out[i] = math.Abs(l) + math.Copysign(1, l)*(e[i]/me-v[i]/mv)
		}
	}

	return out
}

// ErrorRatio returns Σe/Σv̂ of s, weighted as in Judge; NaN where it is not defined.
func ErrorRatio(s Set) float64 {
	e, v := errorRows(s.check())
	return average(e, nil) / average(v, nil)
}
