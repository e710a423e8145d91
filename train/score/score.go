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

// Set is a part of a split with the answers of one seed's model: the triplets that are judged, with outcomes in
// standardised units, and the model's answers at each row in the same units. Y1, Y2 and Mu are needed. Other answers
// are nil if they were not computed.
//
// Means "over inputs" weigh each distinct condition once, however many rows it has. Condition may contain any integers;
// if it is nil, every row is a condition of its own. Standard errors are clustered by Run, because channels of a run
// share its set-up (docs/method.md#units-of-data). If Run is nil, every row is a run.
//
// If rows are of the training part (Part), the measured error e and all that follows from it are undefined, because e
// is biased there. With Couples, all numbers that rest on the independence of the two outcomes are undefined.
type Set struct {
	triplets.Set
	triplets.Answers
}

// Judged returns a part of the set with a model's answers at its rows, both in standardised units. answers has one row
// for each triplet of the set, in the units of the outcomes.
func Judged(set triplets.Set, answers triplets.Answers, part triplets.Part) Set {
	return Set{
		Set:     set.Only(part).Standardised(),
		Answers: answers.Rows(set.RowsOf(part), set.Out).Standardised(set.Scale),
	}
}

// Summary contains the metrics of one part: their means over outcomes, and the metrics of each outcome.
type Summary struct {
	Numbers
	Conditions int // number of distinct conditions
	Rows       int
	Runs       int // number of distinct runs
	Outcomes   []Numbers
	Warnings   []string // words for the reasons why a defined number can be trusted little
}

// Summarise computes all numbers of a set. Means over inputs are means over the rows of a condition, and then over
// conditions; e, the pair MSE and Σe/ΣC are means or sums over rows. Summarise panics if a slice does not have the
// length that Set requires.
func Summarise(s Set) Summary {
	s = s.check()
	conditions := numbered(s.Condition)
	runs := numbered(s.Run)
	summary := Summary{Conditions: conditions.count, Rows: s.N, Runs: runs.count}

	var outcomes []int
	for j := range s.Out {
		outcomes = append(outcomes, j)
		summary.Outcomes = append(summary.Outcomes, s.metrics([]int{j}, conditions, runs))
	}

	summary.Numbers = s.metrics(outcomes, conditions, runs)
	if !math.IsNaN(summary.Get("r2")) {
		if w := R2Warning(conditions.count); w != "" {
			summary.Warnings = append(summary.Warnings, w)
		}
	}

	pairs, _ := s.paired(nil)
	pairedRuns := numbered(pairs.Run).count
	if !math.IsNaN(summary.Get("e_se")) && pairedRuns < FewRuns {
		summary.Warnings = append(summary.Warnings, fmt.Sprintf(
			"%d runs are few for a standard error clustered by run: it is itself uncertain by about %.0f %%", pairedRuns,
			100/math.Sqrt(2*float64(pairedRuns-1))))
	}

	if s.N > 0 && !s.Couples && slices.Equal(s.Y1, s.Y2) {
		summary.Warnings = append(summary.Warnings,
			"y1 and y2 are equal in every pair: either the data have no noise, or one draw was used twice and then neither e "+
				"nor the noise ceiling holds")
	}

	return summary
}

// check returns the set with Condition and Run filled in if they are nil. It panics if a list of the set, or a list of
// variances that is not nil, has the wrong length.
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

// metrics computes the numbers of the outcomes cols, as means over these outcomes. conditions and runs are those of the
// rows.
func (s Set) metrics(cols []int, conditions, runs numbering) Numbers {
	m := newNumbers(Parts)
	if s.N == 0 {
		m.undefineAll("no rows")
		return m
	}

	s.fit(m, cols, conditions.count)
	s.covariances(m, cols, conditions)
	pairs, _ := s.paired(nil)
	if s.Alone != nil {
		runs = numbered(pairs.Run)
	}

	pairs.errors(m, cols, runs)
	m.undefineRest()

	return m
}

// fit sets R², the noise ceiling and the pair MSE. conditions is the number of distinct conditions.
func (s Set) fit(m Numbers, cols []int, conditions int) {
	flat := ""

	var r2, ceiling, pair float64
	for _, j := range cols {
		y1, y2, mu := s.outcome(j)
		if pooledVar(y1, y2, s.Weight) == 0 {
			flat = "all measured values of an outcome are equal"
		}

		r2 += weightedR2(y1, y2, mu, s.Weight) / float64(len(cols))
		ceiling += s.ceiling(j) / float64(len(cols))

		for i := range s.N {
			k := i*s.Out + j
			a := s.Y1[k] - s.Mu[k]
			b := s.Y2[k] - s.Mu[k]
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

// covariances sets the numbers that are means of the model's answers over distinct inputs.
func (s Set) covariances(m Numbers, cols []int, conditions numbering) {
	means := inputMeans{weight: conditionWeights(conditions), columns: cols, outcomes: s.Out}
	means.set(m, "abs_cov", absolute(s.CovRaw))
	means.set(m, "abs_cov_centred", absolute(s.Cov))
	means.set(m, "cov_centred", s.Cov)
	means.set(m, "delta", absolute(s.Delta))
	means.set(m, "mu_delta", absolute(product(s.Delta, s.Mu)))

	if s.Kappa == nil || s.Var == nil {
		m.undefine("not computed", "kappa")
	} else {
		m.set("kappa", means.mean(absolute(s.Kappa))/means.mean(s.Var))
	}

	means.set(m, "zigzag", s.ZigZag)

	// A NaN satisfies no inequality. indicator keeps it, so that it does not count as a good point.
	var negative []float64
	for _, c := range s.Cov {
		negative = append(negative, indicator(c <= 0, c))
	}

	means.set(m, "negative_cov", negative)

	if s.Cov == nil || s.Var == nil {
		m.undefine("not computed", "cov_above_var")
		return
	}

	var above []float64
	for k, c := range s.Cov {
		above = append(above, indicator(c > s.Var[k], c+s.Var[k]))
	}

	means.set(m, "cov_above_var", above)
}

// inputMeans computes means over distinct inputs and over some of the outcomes.
type inputMeans struct {
	weight   []float64 // weight of each row
	columns  []int     // the outcomes that are averaged
	outcomes int       // number of outcomes of each row
}

// set sets a number to the mean of values, which has one value for each row and outcome. If values is nil, the number
// is undefined.
func (m inputMeans) set(numbers Numbers, key string, values []float64) {
	if values == nil {
		numbers.undefine("not computed", key)
		return
	}

	numbers.set(key, m.mean(values))
}

// mean returns the mean of values, which has one value for each row and outcome.
func (m inputMeans) mean(values []float64) float64 {
	sum := 0.0
	for i, w := range m.weight {
		row := 0.0
		for _, j := range m.columns {
			row += values[i*m.outcomes+j]
		}

		sum += w * row
	}

	return sum / float64(len(m.columns))
}

// indicator returns 1 if the condition is true and 0 otherwise, but NaN if v is NaN, which is what the condition
// compares.
func indicator(condition bool, v float64) float64 {
	switch {
	case math.IsNaN(v):
		return math.NaN()
	case condition:
		return 1
	}

	return 0
}

// errorUndefined returns the reason why a set has no measured error, and "" if it has one.
func (s Set) errorUndefined() string {
	switch {
	case slices.Contains(s.Part, triplets.Train):
		return "biased on pairs the model was trained on"
	case s.Couples:
		return "couples: y2 is y1, so the product of the residuals holds the noise too"
	}

	return ""
}

// errors sets the measured error e and the numbers that follow from it. runs are the runs of the rows.
func (s Set) errors(m Numbers, cols []int, runs numbering) {
	rest := []string{"sum_e_ratio", "sum_e_ratio_se", "calibrated_fraction"}
	if why := s.errorUndefined(); why != "" {
		m.undefine(why, append(rest, "e", "e_se")...)
		return
	}

	n := s.N * len(cols)
	e := make([]float64, 0, n)
	cov := make([]float64, 0, n)
	cluster := make([]int, 0, n)

	w := make([]float64, 0, n)
	for i := range s.N {
		for _, j := range cols {
			k := i*s.Out + j
			e = append(e, s.weight(i)*(s.Y1[k]-s.Mu[k])*(s.Y2[k]-s.Mu[k]))
			w = append(w, s.weight(i))
			cluster = append(cluster, runs.index[i])

			if s.Cov != nil {
				cov = append(cov, s.weight(i)*s.Cov[k])
			}
		}
	}

	mean, se := ClusteredRatio(e, w, cluster)
	m.set("e", mean)
	m.set("e_se", se)

	if runs.count < 2 {
		m.undefine("one run only", "e_se")
	}

	if s.Cov == nil {
		m.undefine("not computed", rest...)
		return
	}

	c := CalibrateCov(cov, e, cluster, automaticBins)
	m.ratio(c, runs.count)
	m.set("calibrated_fraction", c.Agreeing)

	if math.IsNaN(c.Agreeing) {
		m.undefine("no bin holds two runs", "calibrated_fraction")
	}
}

// paired returns the rows that are not alone, and the variances v of these rows. A row that is alone has no second
// value.
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

// ceiling returns the noise ceiling of an outcome. It leaves out rows that are alone.
func (s Set) ceiling(outcome int) float64 {
	p, _ := s.paired(nil)
	y1, y2, _ := p.outcome(outcome)

	return NoiseCeiling(y1, y2, p.Weight)
}

// outcome returns the values of the outcome with number j: the two measured values and the predicted mean of each row.
func (s Set) outcome(j int) (y1, y2, mu []float64) {
	return lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), lists.Column(s.Mu, s.Out, j)
}

// weight returns the weight of a row.
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

// MeasuredError returns e = (y1−μ)(y2−μ) of every row and outcome, N×Out. The mean of e estimates the squared error of
// μ only if the model was not trained on the pairs. MeasuredError panics if a slice does not have the length that Set
// requires.
func MeasuredError(s Set) []float64 {
	s = s.check()
	var list []float64
	for k := range len(s.Mu) {
		list = append(list, (s.Y1[k]-s.Mu[k])*(s.Y2[k]-s.Mu[k]))
	}

	return list
}

// numbering numbers the distinct conditions or runs of rows from 0, without gaps.
type numbering struct {
	index []int // by row: the number of its condition or run
	count int   // number of distinct conditions or runs
}

// numbered numbers the distinct ids in the order of their first appearance.
func numbered(ids []int) numbering {
	index, distinct := lists.Index(ids)
	return numbering{index: index, count: len(distinct)}
}

// conditionWeights returns the weight of each row in a mean that weighs each condition once. The weights sum to 1.
func conditionWeights(conditions numbering) []float64 {
	rows := make([]float64, conditions.count)
	for _, c := range conditions.index {
		rows[c]++
	}

	var list []float64
	for _, c := range conditions.index {
		list = append(list, 1/(rows[c]*float64(conditions.count)))
	}

	return list
}
