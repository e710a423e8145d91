package score

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"doubletake/train/triplets"
)

// MeanStd returns the mean and the sample standard deviation (n−1) of v, as
// over seeds. The deviation of a single value and both of none are NaN.
func MeanStd(v []float64) (mean, std float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN()
	}

	mean = average(v, nil)
	if len(v) == 1 {
		return mean, math.NaN()
	}

	ss := 0.0
	for _, x := range v {
		ss += (x - mean) * (x - mean)
	}

	return mean, math.Sqrt(ss / float64(len(v)-1))
}

// R2 returns the coefficient of determination of mu over all y1 and y2 of one
// outcome, 1 − SS_res/SS_tot with SS_tot about the set's own mean
// (docs/method.md#what-is-reported).
// It is NaN when the measured values are all equal: there is nothing to
// explain. All slices have one length, or it panics.
func R2(y1, y2, mu []float64) float64 { return weightedR2(y1, y2, mu, nil) }

// weightedR2 is R2 of rows with weights; nil: 1.
func weightedR2(y1, y2, mu, weight []float64) float64 {
	sameLength("R2", len(y1), len(y2), len(mu))

	res := 0.0
	for i, m := range mu {
		a, b := y1[i]-m, y2[i]-m
		res += triplets.WeightAt(weight, i) * (a*a + b*b)
	}

	tot := 2 * totalWeight(weight, len(y1)) * pooledVar(y1, y2, weight)
	if tot == 0 {
		return math.NaN()
	}

	return 1 - res/tot
}

// totalWeight is the sum of the weights of n rows.
func totalWeight(weight []float64, n int) float64 {
	if weight == nil {
		return float64(n)
	}

	sum := 0.0
	for _, w := range weight {
		sum += w
	}

	return sum
}

// NoiseCeiling returns 1 − mean(½(y1−y2)²)/Var(y), the R² the true mean would
// reach on these pairs (docs/method.md#what-is-reported); Var is the population variance of y1 and
// y2 together. NaN when the values are all equal. Both slices have one
// length, or it panics. weight holds the rows' weights; nil: 1.
func NoiseCeiling(y1, y2, weight []float64) float64 {
	sameLength("NoiseCeiling", len(y1), len(y2), len(y2))

	noise := 0.0
	for i := range y1 {
		d := y1[i] - y2[i]
		noise += triplets.WeightAt(weight, i) * (d * d / 2)
	}

	v := pooledVar(y1, y2, weight)
	if v == 0 {
		return math.NaN()
	}

	return 1 - noise/totalWeight(weight, len(y1))/v
}

// pooledVar is the population variance of a and b together, rows weighted.
func pooledVar(a, b, weight []float64) float64 {
	mean := (average(a, weight) + average(b, weight)) / 2

	ss := 0.0
	for i := range a {
		ss += triplets.WeightAt(weight, i) * ((a[i]-mean)*(a[i]-mean) + (b[i]-mean)*(b[i]-mean))
	}

	return ss / (2 * totalWeight(weight, len(a)))
}

// average returns the weighted mean, exactly the value when all are equal: a rounding
// error there would make a constant outcome look like one that varies.
func average(v, weight []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}

	sum := 0.0
	for i, x := range v {
		sum += triplets.WeightAt(weight, i) * (x - v[0])
	}

	return v[0] + sum/totalWeight(weight, len(v))
}

// FewConditions is the number of distinct conditions below which an R² is not
// to be trusted. For independent normal errors and outcomes, (1−R²) scatters
// like F(n, n−1) about its true value; below ten conditions its 95 % range
// exceeds a factor of four either way (R2Factor).
const FewConditions = 10

// FewRuns is the number of runs below which a clustered standard error is
// itself uncertain by more than a quarter (1/√(2(G−1))).
const FewRuns = 9

// R2Factor returns the factor by which 1−R² of n distinct conditions may be
// off either way (95 %) from sampling alone. With independent normal errors
// and outcomes ln(1−R²) has the variance ψ′(n/2) + ψ′((n−1)/2) of the
// logarithm of an F(n, n−1) variable. Errors of neighbouring conditions are
// correlated in practice, so it is a lower bound. +Inf below two conditions.
func R2Factor(n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}

	trigamma := func(x float64) float64 { return mathext.Zeta(2, x) }

	return math.Exp(1.959964 * math.Sqrt(trigamma(float64(n)/2)+trigamma(float64(n-1)/2)))
}

var numerals = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// R2Warning warns that n distinct conditions are too few to trust an R²; "" from
// FewConditions on.
func R2Warning(n int) string {
	switch {
	case n >= FewConditions || n < 1:
		return ""
	case n == 1:
		return "one distinct condition: R² is undefined"
	}

	factor, digits := R2Factor(n), 1
	if factor >= 10 {
		digits = 0
	}

	return fmt.Sprintf("%s distinct conditions are too few for R²: sampling alone moves 1 − R² by a factor of %.*f "+
		"either way (95 %%)",
		numerals[n], digits, factor)
}

// ClusteredMean returns the mean of v and its standard error when values of
// one cluster may be correlated in any way: with G clusters of sums S_g and
// sizes n_g, se² = G/(G−1)·Σ(S_g − n_g·mean)²/N². It is s/√N when every value
// is a cluster of its own. cluster holds any integers, one for each value (or
// it panics); se is NaN with fewer than two clusters, both are without values.
func ClusteredMean(v []float64, cluster []int) (mean, se float64) {
	return ClusteredRatio(v, slices.Repeat([]float64{1}, len(v)), cluster)
}

// ClusteredRatio returns Σnum/Σden and its standard error clustered as in
// ClusteredMean, from the linearised residuals num − ratio·den. The ratio is
// NaN when Σden is 0.
func ClusteredRatio(num, den []float64, cluster []int) (ratio, se float64) {
	sameLength("ClusteredRatio", len(num), len(den), len(cluster))

	var sn, sd float64
	for i := range num {
		sn += num[i]
		sd += den[i]
	}

	if sd == 0 {
		return math.NaN(), math.NaN()
	}

	ratio = sn / sd

	id, g := dense(cluster)
	if g < 2 {
		return ratio, math.NaN()
	}

	res := make([]float64, g)
	for i := range num {
		res[id[i]] += num[i] - ratio*den[i]
	}

	ss := 0.0
	for _, r := range res {
		ss += r * r
	}

	return ratio, math.Sqrt(ss*float64(g)/float64(g-1)) / math.Abs(sd)
}

// CalibrationBin is one equal-count bin of the covariance C.
type CalibrationBin struct {
	N, Runs        int // values, distinct clusters in it
	MeanCov, MeanE float64
	SE             float64 // of MeanE, clustered; NaN with one cluster
	Agrees         bool    // mean(e − C) is zero within Student's 95 % range of its clustered SE; false with one cluster
}

// Calibration compares a covariance with the measured error (docs/method.md#diagnostics).
type Calibration struct {
	Ratio, SE   float64 // the headline Σe/ΣC and its clustered standard error
	Undefined   string  // why Ratio is NaN
	Bins        []CalibrationBin
	Agreeing    float64 // fraction of the bins with two clusters or more that agree; NaN when there is none
	NonPositive float64 // fraction of values with C ≤ 0, for which there is no interval
}

// CalibrateCov compares C with e (both of one length, as cluster): the ratio
// of their sums, and their means in equal-count bins of C. Equal values of C
// are never torn apart, so bins are equal as far as ties allow, and the result
// does not depend on the order of the rows. bins 0 takes ten, fewer when a bin
// would hold less than five values.
func CalibrateCov(cov, e []float64, cluster []int, bins int) Calibration {
	sameLength("CalibrateCov", len(cov), len(e), len(cluster))
	n := len(cov)

	c := Calibration{Ratio: math.NaN(), SE: math.NaN(), Agreeing: math.NaN(), NonPositive: math.NaN()}
	if n == 0 {
		c.Undefined = "no rows"
		return c
	}

	var sum float64

	c.NonPositive = 0
	for i, v := range cov {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.IsNaN(e[i]) || math.IsInf(e[i], 0) {
			c.Undefined, c.NonPositive = "a value it is computed from is not finite", math.NaN()
			return c
		}

		sum += v

		if v <= 0 {
			c.NonPositive += 1 / float64(n)
		}
	}

	if sum > 0 {
		c.Ratio, c.SE = ClusteredRatio(e, cov, cluster)
	} else {
		c.Undefined = "the covariances do not sum to a positive value"
	}

	if bins <= 0 {
		bins = min(max(n/5, 1), 10)
	}

	agree, judged := 0, 0
	for _, rows := range equalCount(cov, bins) {
		bin := calibrationBin(rows, cov, e, cluster)
		if bin.Runs > 1 {
			judged++
			if bin.Agrees {
				agree++
			}
		}

		c.Bins = append(c.Bins, bin)
	}

	if judged > 0 {
		c.Agreeing = float64(agree) / float64(judged)
	}

	return c
}

func calibrationBin(rows []int, cov, e []float64, cluster []int) CalibrationBin {
	cs, es, ds, id := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows)),
		make([]int, len(rows))
	for k, i := range rows {
		cs[k], es[k], ds[k], id[k] = cov[i], e[i], e[i]-cov[i], cluster[i]
	}

	_, runs := dense(id)
	b := CalibrationBin{N: len(rows), Runs: runs, MeanCov: average(cs, nil)}
	b.MeanE, b.SE = ClusteredMean(es, id)
	if runs > 1 {
		d, se := ClusteredMean(ds, id)
		b.Agrees = math.Abs(d) <= student975(runs)*se
	}

	return b
}

func sameLength(what string, a, b, c int) {
	if a != b || a != c {
		panic(fmt.Sprintf("score: %s of slices of %d, %d and %d values", what, a, b, c))
	}
}
