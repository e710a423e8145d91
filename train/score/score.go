// Package score computes the numbers a model is judged by
// (docs/method.md#what-is-reported, docs/method.md#diagnostics): the fit of its
// mean, the covariance of its two answers, and its error measured on the pairs.
//
// Everything is float64, in standardised units unless a name states another unit,
// and takes plain row-major slices. A number that has no meaning for a set is
// NaN, with a reason in words. The package knows no model, file or page:
// predictions come in, numbers go out.
package score

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Set is a part of a split as one seed's model predicts it: the triplets that are
// judged, outcomes in standardised units, and the model's answers at each row in
// the same units. Y1, Y2 and Mu are needed; other answers are nil where they were
// not computed.
//
// Means "over inputs" weigh each distinct condition once, however many rows it
// has; Condition may hold any integers, and nil makes every row a condition of
// its own. Standard errors are clustered by Run, because channels of a run share
// its set-up (docs/method.md#units-of-data); nil makes every row a run.
//
// Rows of the training part (Part) make e, and what follows from it, undefined:
// it is biased there. So do Couples: nothing that rests on the independence of
// the two outcomes is then defined.
type Set struct {
	triplets.Set
	triplets.Answers
}

// Summary holds the metrics of one part: uniform means over outcomes, and the
// same per outcome.
type Summary struct {
	Numbers
	Conditions, Rows, Runs int
	Outcomes               []Numbers
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

	for j := range s.Out {
		out.Outcomes = append(out.Outcomes, s.metrics([]int{j}, cond, conditions, run, runs))
	}

	out.Numbers = s.metrics(lists.Numbers(s.Out), cond, conditions, run, runs)
	if !math.IsNaN(out.Get("r2")) {
		if w := R2Warning(conditions); w != "" {
			out.Warnings = append(out.Warnings, w)
		}
	}

	if !math.IsNaN(out.Get("e_se")) && runs < FewRuns {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%d runs are few for a standard error clustered by run: it is itself uncertain by about %.0f %%", runs,
			100/math.Sqrt(2*float64(runs-1))))
	}

	if s.N > 0 && !s.Couples && slices.Equal(s.Y1, s.Y2) {
		out.Warnings = append(out.Warnings,
			"y1 and y2 are equal in every pair: either the data have no noise, or one draw was used twice and then neither e "+
				"nor the noise ceiling holds")
	}

	return out
}

// check verifies shapes, of variances too, which may be nil, and fills in Condition and Run.
func (s Set) check(variances ...[]float64) Set {
	if s.N < 0 || s.Out < 1 {
		panic(fmt.Sprintf("score: a set of %d rows and %d outcomes", s.N, s.Out))
	}

	names := strings.Fields("Y1 Y2 Mu Var CovRaw Cov Delta Kappa ZigZag") // the first three are needed
	for i, v := range [][]float64{s.Y1, s.Y2, s.Mu, s.Var, s.CovRaw, s.Cov, s.Delta, s.Kappa, s.ZigZag} {
		if len(v) != s.N*s.Out && (i < 3 || v != nil) {
			panic(fmt.Sprintf("score: %s holds %d values, not %d rows × %d outcomes", names[i], len(v), s.N, s.Out))
		}
	}

	for _, v := range variances {
		if v != nil && len(v) != s.N*s.Out {
			panic(fmt.Sprintf("score: %d variances for %d rows × %d outcomes", len(v), s.N, s.Out))
		}
	}

	for _, v := range []*[]int{&s.Condition, &s.Run} {
		if *v == nil {
			*v = lists.Numbers(s.N)
		}

		if len(*v) != s.N {
			panic(fmt.Sprintf("score: an index of %d values for %d rows", len(*v), s.N))
		}
	}

	return s
}

// metrics computes the numbers over the outcomes cols; cond and run are dense.
func (s Set) metrics(cols, cond []int, conditions int, run []int, runs int) Numbers {
	m := newNumbers(Parts)
	if s.N == 0 {
		m.undefineAll("no rows")
		return m
	}

	s.fit(m, cols, conditions)
	s.covariances(m, cols, cond, conditions)
	pairs, _ := s.paired(nil)
	if s.Alone != nil {
		run, runs = dense(pairs.Run)
	}

	pairs.errors(m, cols, run, runs)
	m.undefineRest()

	return m
}

// fit sets R², the noise ceiling and the pair error.
func (s Set) fit(m Numbers, cols []int, conditions int) {
	flat := ""

	var r2, ceiling, pair float64
	for _, j := range cols {
		y1, y2, mu := lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), lists.Column(s.Mu, s.Out, j)
		if pooledVar(y1, y2, s.Weight) == 0 {
			flat = "all measured values of an outcome are equal"
		}

		r2 += weightedR2(y1, y2, mu, s.Weight) / float64(len(cols))
		ceiling += s.ceiling(j) / float64(len(cols))

		for i := range s.N {
			k := i*s.Out + j
			a, b := s.Y1[k]-s.Mu[k], s.Y2[k]-s.Mu[k]
			pair += s.weight(i) * ((a*a + b*b) / 2)
		}
	}

	m.set("r2", r2)
	m.set("noise_ceiling", ceiling)
	m.set("pair_mse", pair/(totalWeight(s.Weight, s.N)*float64(len(cols))))

	switch {
	case conditions < 2:
		m.undefine("one condition only", "r2", "noise_ceiling")
	case flat != "":
		m.undefine(flat, "r2", "noise_ceiling")
	}

	if s.Couples {
		m.undefine("couples: y2 is y1, so their difference does not measure the noise", "noise_ceiling")
	}
}

// covariances sets the means over distinct inputs of the model's answers.
func (s Set) covariances(m Numbers, cols, cond []int, conditions int) {
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
			m.undefine("not computed", name)
			return
		}

		m.set(name, over(f))
	}

	set("abs_cov", s.CovRaw, func(k int) float64 { return math.Abs(s.CovRaw[k]) })
	set("abs_cov_centred", s.Cov, func(k int) float64 { return math.Abs(s.Cov[k]) })
	set("cov_centred", s.Cov, func(k int) float64 { return s.Cov[k] })
	set("delta", s.Delta, func(k int) float64 { return math.Abs(s.Delta[k]) })
	set("mu_delta", s.Delta, func(k int) float64 { return math.Abs(s.Mu[k] * s.Delta[k]) })

	if s.Kappa == nil || s.Var == nil {
		m.undefine("not computed", "kappa")
	} else {
		kappa := over(func(k int) float64 { return math.Abs(s.Kappa[k]) })
		m.set("kappa", kappa/over(func(k int) float64 { return s.Var[k] }))
	}

	set("zigzag", s.ZigZag, func(k int) float64 { return s.ZigZag[k] })

	// A NaN satisfies neither inequality; it must not pass for a good point.
	set("negative_cov", s.Cov, func(k int) float64 { return indicator(s.Cov[k] <= 0, s.Cov[k]) })

	if s.Cov == nil || s.Var == nil {
		m.undefine("not computed", "cov_above_var")
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

// errorUndefined returns why a set has no measured error; "" if it has one.
func (s Set) errorUndefined() string {
	switch {
	case slices.Contains(s.Part, triplets.Train):
		return "biased on pairs the model was trained on"
	case s.Couples:
		return "couples: y2 is y1, so the product of the residuals holds the noise too"
	}

	return ""
}

// errors sets what rests on e.
func (s Set) errors(m Numbers, cols, run []int, runs int) {
	rest := []string{"sum_e_ratio", "sum_e_ratio_se", "calibrated_fraction"}
	if why := s.errorUndefined(); why != "" {
		m.undefine(why, append(rest, "e", "e_se")...)
		return
	}

	n := s.N * len(cols)
	e, cov, cluster := make([]float64, 0, n), make([]float64, 0, n), make([]int, 0, n)

	w := make([]float64, 0, n)
	for i := range s.N {
		for _, j := range cols {
			k := i*s.Out + j
			e = append(e, s.weight(i)*(s.Y1[k]-s.Mu[k])*(s.Y2[k]-s.Mu[k]))
			w = append(w, s.weight(i))
			cluster = append(cluster, run[i])

			if s.Cov != nil {
				cov = append(cov, s.weight(i)*s.Cov[k])
			}
		}
	}

	mean, se := ClusteredRatio(e, w, cluster)
	m.set("e", mean)
	m.set("e_se", se)

	if runs < 2 {
		m.undefine("one run only", "e_se")
	}

	if s.Cov == nil {
		m.undefine("not computed", rest...)
		return
	}

	c := CalibrateCov(cov, e, cluster, 0)
	m.ratio(c, runs)
	m.set("calibrated_fraction", c.Agreeing)

	if math.IsNaN(c.Agreeing) {
		m.undefine("no bin holds two runs", "calibrated_fraction")
	}
}

// paired returns the rows that are not alone, and their variances v.
func (s Set) paired(v []float64) (Set, []float64) {
	if s.Alone == nil {
		return s, v
	}

	rows := s.Pairs()
	answers := s.Answers.Rows(rows, s.Out)
	if v != nil {
		v = triplets.Answers{Var: v}.Rows(rows, s.Out).Var
	}

	return Set{s.Select(rows), answers}, v
}

// ceiling is the noise ceiling of an outcome, by the rows that are not alone.
func (s Set) ceiling(outcome int) float64 {
	p, _ := s.paired(nil)
	return NoiseCeiling(lists.Column(p.Y1, p.Out, outcome), lists.Column(p.Y2, p.Out, outcome), p.Weight)
}

// weight is the weight of a row.
func (s Set) weight(i int) float64 { return triplets.WeightAt(s.Weight, i) }

// ratio sets the ratio Σe/ΣC and its standard error.
func (n Numbers) ratio(c Calibration, runs int) {
	n.set("sum_e_ratio", c.Ratio)
	n.set("sum_e_ratio_se", c.SE)

	if c.Undefined != "" {
		n.undefine(c.Undefined, "sum_e_ratio", "sum_e_ratio_se")
	}

	if runs < 2 {
		n.undefine("one run only", "sum_e_ratio_se")
	}
}

// MeasuredError returns e = (y1−μ)(y2−μ) of every row and outcome, N×Out. Its
// mean is the squared error of μ only on pairs the model was not trained on.
func MeasuredError(s Set) []float64 {
	s = s.check()
	return lists.Make(len(s.Mu), func(k int) float64 { return (s.Y1[k] - s.Mu[k]) * (s.Y2[k] - s.Mu[k]) })
}

// dense renumbers ids 0, 1, … in order of first appearance.
func dense(ids []int) (index []int, n int) {
	index, distinct := lists.Index(ids)
	return index, len(distinct)
}

// conditionWeights returns the weight of each row in a mean that weighs each
// condition once; the weights sum to 1.
func conditionWeights(cond []int, conditions int) []float64 {
	rows := make([]float64, conditions)
	for _, c := range cond {
		rows[c]++
	}

	return lists.Each(cond, func(c int) float64 { return 1 / (rows[c] * float64(conditions)) })
}
