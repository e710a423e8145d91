// Package score computes the numbers a model is judged by (METHOD §3, §4): how
// well its mean fits, how large the covariance of its two answers is, and what
// the pairs themselves say about its error.
//
// Everything is float64, in standardised units unless a name says otherwise,
// and takes plain row-major slices. A number that has no meaning for a set is
// NaN, and the reason stands beside it in words. The package knows no model,
// file or page: predictions come in, numbers go out.
package score

import (
	"fmt"
	"math"
)

// Set is one split's train or test part as one seed's model sees it, in
// standardised units, row-major N×Out.
type Set struct {
	N, Out int       // rows (triplets), outcomes
	Y1, Y2 []float64 // the two measured outcomes, N×Out
	Mu     []float64 // μ(x), the first answer's mean, N×Out
	Var    []float64 // σ²(x), its variance; nil: not given
	CovRaw []float64 // the paper's estimate of the covariance; nil: not computed
	Cov    []float64 // C, the centred covariance (its diagonal); nil: not computed
	Delta  []float64 // δ, the mean shift of the second answer; nil: not computed
	Kappa  []float64 // κ = E[v(Y1)] + Var m(Y1) − σ²; nil: not computed
	ZigZag []float64 // u = |m(μ) − μ|; nil: not computed

	// Condition is the index of the distinct input x of each row. Means "over
	// inputs" weigh each distinct condition once, however many rows it has. Any
	// integers do; nil makes every row a condition of its own.
	Condition []int
	// Run is the run of each row: standard errors are clustered by it, because
	// channels of a run share its set-up (METHOD §0). Nil makes every row a run.
	Run []int

	// Training says that the model was trained on these pairs: e and what
	// follows from it are then biased and therefore undefined.
	Training bool
	// Couples says that y2 is y1 by construction, one draw used twice: nothing
	// that rests on the independence of the two is then defined.
	Couples bool
}

// Metrics are the numbers of one set, or of one outcome in it. NaN is
// undefined, with the reason in Undefined. The keys are the names Get and Reason
// know, and those of metrics.json.
type Metrics struct {
	R2           float64 `key:"r2"`            // coefficient of determination of μ over all y1 and y2
	NoiseCeiling float64 `key:"noise_ceiling"` // the R² of the true mean, from the pairs' differences
	PairMSE      float64 `key:"pair_mse"`      // mean ½[(y1−μ)² + (y2−μ)²] over rows

	AbsCov        float64 `key:"abs_cov"`         // E|cov|: mean |raw| over distinct inputs
	AbsCovCentred float64 `key:"abs_cov_centred"` // mean |C| over distinct inputs
	CovCentred    float64 `key:"cov_centred"`     // mean C over distinct inputs
	AbsDelta      float64 `key:"delta"`           // mean |δ| over distinct inputs
	AbsMuDelta    float64 `key:"mu_delta"`        // mean |μδ| over distinct inputs: the part of raw that is no covariance
	KappaShare    float64 `key:"kappa"`           // mean |κ| over mean σ², over distinct inputs: 0 where the two answers add up
	ZigZag        float64 `key:"zigzag"`          // mean u over distinct inputs
	NegativeCov   float64 `key:"negative_cov"`    // fraction of distinct inputs (and outcomes) with C ≤ 0
	CovAboveVar   float64 `key:"cov_above_var"`   // fraction with C > σ², which no covariance may exceed

	E                  float64 `key:"e"`                   // mean of e = (y1−μ)(y2−μ) over rows: the measured squared error of μ
	ESE                float64 `key:"e_se"`                // its standard error, clustered by run
	SumERatio          float64 `key:"sum_e_ratio"`         // Σe/ΣC over rows: 1 when the covariance is calibrated, above: overconfident
	SumERatioSE        float64 `key:"sum_e_ratio_se"`      // its standard error, clustered by run
	CalibratedFraction float64 `key:"calibrated_fraction"` // fraction of the equal-count bins of C whose mean e agrees with mean C at 95 %

	Undefined []Reason // why a number is NaN, in the order of the fields
}

// Summary holds the numbers of one set: uniform means over outcomes, and the
// same per outcome.
type Summary struct {
	Metrics
	Conditions, Rows, Runs int
	Outcomes               []Metrics
	Warnings               []string // what limits the trust in a defined number, in words
}

// Summarise computes all numbers of a set. It panics when a slice does not
// have the length Set states. Means over inputs are means over rows within a
// condition, then over conditions; e, PairMSE and Σe/ΣC run over rows.
func Summarise(s Set) Summary {
	s = s.check()
	cond, conditions := dense(s.Condition)
	run, runs := dense(s.Run)
	out := Summary{Conditions: conditions, Rows: s.N, Runs: runs}
	all := make([]int, s.Out)
	for j := range all {
		all[j] = j
		out.Outcomes = append(out.Outcomes, s.metrics([]int{j}, cond, conditions, run, runs))
	}
	out.Metrics = s.metrics(all, cond, conditions, run, runs)
	if !math.IsNaN(out.R2) {
		if w := R2Warning(conditions); w != "" {
			out.Warnings = append(out.Warnings, w)
		}
	}
	if !math.IsNaN(out.ESE) && runs < FewRuns {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%d runs are few for a standard error clustered by run: it is itself uncertain by about %.0f %%", runs, 100/math.Sqrt(2*float64(runs-1))))
	}
	if s.N > 0 && !s.Couples && equal(s.Y1, s.Y2) {
		out.Warnings = append(out.Warnings,
			"y1 and y2 are equal in every pair: either the data have no noise, or one draw was used twice and then neither e nor the noise ceiling holds")
	}
	return out
}

// check verifies shapes and fills in Condition and Run.
func (s Set) check() Set {
	if s.N < 0 || s.Out < 1 {
		panic(fmt.Sprintf("score: a set of %d rows and %d outcomes", s.N, s.Out))
	}
	for _, v := range []struct {
		name     string
		v        []float64
		optional bool
	}{
		{"Y1", s.Y1, false},
		{"Y2", s.Y2, false},
		{"Mu", s.Mu, false},
		{"Var", s.Var, true},
		{"CovRaw", s.CovRaw, true},
		{"Cov", s.Cov, true},
		{"Delta", s.Delta, true},
		{"Kappa", s.Kappa, true},
		{"ZigZag", s.ZigZag, true},
	} {
		if len(v.v) != s.N*s.Out && !(v.optional && v.v == nil) {
			panic(fmt.Sprintf("score: %s holds %d values, not %d rows × %d outcomes", v.name, len(v.v), s.N, s.Out))
		}
	}
	for _, v := range []*[]int{&s.Condition, &s.Run} {
		if *v == nil {
			*v = make([]int, s.N)
			for i := range *v {
				(*v)[i] = i
			}
		}
		if len(*v) != s.N {
			panic(fmt.Sprintf("score: an index of %d values for %d rows", len(*v), s.N))
		}
	}
	return s
}

// metrics computes the numbers over the outcomes cols; cond and run are dense.
func (s Set) metrics(cols, cond []int, conditions int, run []int, runs int) Metrics {
	var m Metrics
	if s.N == 0 {
		for _, n := range Names[Metrics]() {
			m.undefine(n, "no rows")
		}
		return m
	}
	s.fit(&m, cols, conditions)
	s.covariances(&m, cols, cond, conditions)
	s.errors(&m, cols, run, runs)
	undefineRest(&m, &m.Undefined)
	return m
}

// fit sets R2, NoiseCeiling and PairMSE.
func (s Set) fit(m *Metrics, cols []int, conditions int) {
	flat := ""
	for _, j := range cols {
		y1, y2, mu := column(s.Y1, s.Out, j), column(s.Y2, s.Out, j), column(s.Mu, s.Out, j)
		if pooledVar(y1, y2) == 0 {
			flat = "all measured values of an outcome are equal"
		}
		m.R2 += R2(y1, y2, mu) / float64(len(cols))
		m.NoiseCeiling += NoiseCeiling(y1, y2) / float64(len(cols))
		for i := range s.N {
			k := i*s.Out + j
			a, b := s.Y1[k]-s.Mu[k], s.Y2[k]-s.Mu[k]
			m.PairMSE += (a*a + b*b) / 2
		}
	}
	m.PairMSE /= float64(s.N * len(cols))
	switch {
	case conditions < 2:
		m.undefine("r2", "one condition only")
		m.undefine("noise_ceiling", "one condition only")
	case flat != "":
		m.undefine("r2", flat)
		m.undefine("noise_ceiling", flat)
	}
	if s.Couples {
		m.undefine("noise_ceiling", "couples: y2 is y1, their difference says nothing of the noise")
	}
}

// covariances sets what is a mean over distinct inputs of the model's answers.
func (s Set) covariances(m *Metrics, cols, cond []int, conditions int) {
	weight := conditionWeights(cond, conditions)
	over := func(f func(k int) float64) float64 {
		sum := 0.0
		for i, w := range weight {
			row := 0.0
			for _, j := range cols {
				row += f(i*s.Out + j)
			}
			sum += w * row
		}
		return sum / float64(len(cols))
	}
	set := func(name string, from []float64, f func(k int) float64) {
		if from == nil {
			m.undefine(name, "not computed")
			return
		}
		*field(m, name) = over(f)
	}
	set("abs_cov", s.CovRaw, func(k int) float64 { return math.Abs(s.CovRaw[k]) })
	set("abs_cov_centred", s.Cov, func(k int) float64 { return math.Abs(s.Cov[k]) })
	set("cov_centred", s.Cov, func(k int) float64 { return s.Cov[k] })
	set("delta", s.Delta, func(k int) float64 { return math.Abs(s.Delta[k]) })
	set("mu_delta", s.Delta, func(k int) float64 { return math.Abs(s.Mu[k] * s.Delta[k]) })
	if s.Kappa == nil || s.Var == nil {
		m.undefine("kappa", "not computed")
	} else {
		m.KappaShare = over(func(k int) float64 { return math.Abs(s.Kappa[k]) }) / over(func(k int) float64 { return s.Var[k] })
	}
	set("zigzag", s.ZigZag, func(k int) float64 { return s.ZigZag[k] })
	// A NaN satisfies neither inequality; it must not pass for a good point.
	set("negative_cov", s.Cov, func(k int) float64 { return indicator(s.Cov[k] <= 0, s.Cov[k]) })
	if s.Cov == nil || s.Var == nil {
		m.undefine("cov_above_var", "not computed")
		return
	}
	set("cov_above_var", s.Cov, func(k int) float64 { return indicator(s.Cov[k] > s.Var[k], s.Cov[k]+s.Var[k]) })
}

func indicator(is bool, v float64) float64 {
	switch {
	case math.IsNaN(v):
		return math.NaN()
	case is:
		return 1
	}
	return 0
}

// errorUndefined says why there is no measured error of a set; "" where there is.
func (s Set) errorUndefined() string {
	switch {
	case s.Training:
		return "biased on pairs the model was trained on"
	case s.Couples:
		return "couples: y2 is y1, so the product of the residuals holds the noise too"
	}
	return ""
}

// errors sets what rests on e.
func (s Set) errors(m *Metrics, cols, run []int, runs int) {
	names := []string{"e", "e_se", "sum_e_ratio", "sum_e_ratio_se", "calibrated_fraction"}
	if why := s.errorUndefined(); why != "" {
		for _, n := range names {
			m.undefine(n, why)
		}
		return
	}
	n := s.N * len(cols)
	e, cov, cluster := make([]float64, 0, n), make([]float64, 0, n), make([]int, 0, n)
	for i := range s.N {
		for _, j := range cols {
			k := i*s.Out + j
			e = append(e, (s.Y1[k]-s.Mu[k])*(s.Y2[k]-s.Mu[k]))
			cluster = append(cluster, run[i])
			if s.Cov != nil {
				cov = append(cov, s.Cov[k])
			}
		}
	}
	m.E, m.ESE = ClusteredMean(e, cluster)
	if runs < 2 {
		m.undefine("e_se", "one run only")
	}
	if s.Cov == nil {
		for _, n := range names[2:] {
			m.undefine(n, "not computed")
		}
		return
	}
	c := CalibrateCov(cov, e, cluster, 0)
	m.SumERatio, m.SumERatioSE, m.CalibratedFraction = c.Ratio, c.SE, c.Agreeing
	if c.Undefined != "" {
		m.undefine("sum_e_ratio", c.Undefined)
		m.undefine("sum_e_ratio_se", c.Undefined)
	}
	if runs < 2 {
		m.undefine("sum_e_ratio_se", "one run only")
	}
	if math.IsNaN(c.Agreeing) {
		m.undefine("calibrated_fraction", "no bin holds two runs")
	}
}

// MeasuredError returns e = (y1−μ)(y2−μ) of every row and outcome, N×Out. Its
// mean is the squared error of μ only on pairs the model was not trained on.
func MeasuredError(s Set) []float64 {
	s = s.check()
	e := make([]float64, len(s.Mu))
	for k, mu := range s.Mu {
		e[k] = (s.Y1[k] - mu) * (s.Y2[k] - mu)
	}
	return e
}

func column(v []float64, out, j int) []float64 {
	if out == 1 {
		return v
	}
	c := make([]float64, len(v)/out)
	for i := range c {
		c[i] = v[i*out+j]
	}
	return c
}

func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// dense renumbers ids 0, 1, … in order of first appearance.
func dense(ids []int) (index []int, n int) {
	seen := make(map[int]int)
	index = make([]int, len(ids))
	for i, id := range ids {
		k, ok := seen[id]
		if !ok {
			k = len(seen)
			seen[id] = k
		}
		index[i] = k
	}
	return index, len(seen)
}

// conditionWeights returns the weight of each row in a mean that weighs each
// condition once; the weights sum to 1.
func conditionWeights(cond []int, conditions int) []float64 {
	rows := make([]float64, conditions)
	for _, c := range cond {
		rows[c]++
	}
	w := make([]float64, len(cond))
	for i, c := range cond {
		w[i] = 1 / (rows[c] * float64(conditions))
	}
	return w
}
