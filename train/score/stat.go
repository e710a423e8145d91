package score

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mathext"

	"doubletake/train/triplets"
)

// MeanStd returns the mean and the sample standard deviation (with n−1) of v. The deviation of a single value is NaN.
// Both are NaN if v is empty.
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

// R2 returns the coefficient of determination of mu over all y1 and y2 of one outcome: 1 − SS_res/SS_tot, with SS_tot
// about the mean of the values (docs/method.md#what-is-reported). It is NaN if the measured values are all equal,
// because there is nothing to explain. R2 panics if the slices have different lengths.
func R2(y1, y2, mu []float64) float64 { return weightedR2(y1, y2, mu, nil) }

// weightedR2 returns R2 of rows with weights. If weight is nil, each row has weight 1.
func weightedR2(y1, y2, mu, weight []float64) float64 {
	sameLength("R2", len(y1), len(y2), len(mu))

	res := 0.0
	for i, m := range mu {
		a := y1[i] - m
		b := y2[i] - m
		res += triplets.WeightAt(weight, i) * (a*a + b*b)
	}

	tot := 2 * totalWeight(weight, len(y1)) * pooledVar(y1, y2, weight)
	if tot == 0 {
		return math.NaN()
	}

	return 1 - res/tot
}

// isFinite reports whether v is neither NaN nor infinite.
func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// totalWeight returns the sum of the weights of n rows.
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

// NoiseCeiling returns the R² that the true mean would reach on these pairs: 1 − mean(½(y1−y2)²)/Var(y)
// (docs/method.md#what-is-reported). Var is the population variance of y1 and y2 together. The ceiling is NaN if the
// values are all equal. weight contains the weights of the rows, or is nil if all are 1. NoiseCeiling panics if y1 and
// y2 have different lengths.
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

// pooledVar returns the population variance of a and b together, with weighted rows.
func pooledVar(a, b, weight []float64) float64 {
	mean := (average(a, weight) + average(b, weight)) / 2

	ss := 0.0
	for i := range a {
		ss += triplets.WeightAt(weight, i) * ((a[i]-mean)*(a[i]-mean) + (b[i]-mean)*(b[i]-mean))
	}

	return ss / (2 * totalWeight(weight, len(a)))
}

// average returns the weighted mean of v. If all values are equal, the mean is exactly this value: a rounding error
// would make a constant outcome look as if it varied. It returns NaN if v is empty.
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

// FewConditions is the number of distinct conditions below which an R² cannot be trusted. For independent normal errors
// and outcomes, 1−R² scatters like F(n, n−1) about its true value. Below ten conditions its 95 % range exceeds a factor
// of four either way (R2Factor).
const FewConditions = 10

// FewRuns is the number of runs G below which a clustered standard error is itself uncertain by more than a quarter:
// 1/√(2(G−1)).
const FewRuns = 9

// R2Factor returns the factor by which 1−R² of n distinct conditions may be wrong either way (95 %) by sampling alone.
// For independent normal errors and outcomes, ln(1−R²) has the variance ψ′(n/2) + ψ′((n−1)/2) of the logarithm of an
// F(n, n−1) variable. The factor is a lower bound, because errors of neighbouring conditions are correlated in
// practice. It is +Inf below two conditions.
func R2Factor(n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}

	return math.Exp(normal975 * math.Sqrt(trigamma(float64(n)/2)+trigamma(float64(n-1)/2)))
}

// normal975 is the 97.5 % quantile of the standard normal distribution, to seven digits.
const normal975 = 1.959964

// trigamma returns ψ′(x), which is the Hurwitz zeta function ζ(2, x).
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// numerals contains the numbers below FewConditions in words; 0 is missing.
var numerals = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// Numeral returns a number in words if it is positive and less than FewConditions, and in digits otherwise.
func Numeral(n int) string {
	if n < 1 || n >= len(numerals) {
		return strconv.Itoa(n)
	}

	return numerals[n]
}

// R2Warning returns a warning if n distinct conditions are too few to trust an R², and "" otherwise.
func R2Warning(n int) string {
	switch {
	case n >= FewConditions || n < 1:
		return ""
	case n == 1:
		return "one distinct condition: R² is undefined"
	}

	factor := R2Factor(n)
	digits := 1
	if factor >= 10 {
		digits = 0
	}

	return fmt.Sprintf("%s distinct conditions are too few for R²: sampling alone moves 1 − R² by a factor of %.*f "+
		"either way (95 %%)",
		numerals[n], digits, factor)
}

// ClusteredMean returns the mean of v and its standard error. Values of one cluster may be correlated in any way: with
// G clusters of sums S_g and sizes n_g, se² = G/(G−1)·Σ(S_g − n_g·mean)²/N². If every value is a cluster of its own,
// this is s/√N. cluster contains an integer for each value. se is NaN with fewer than two clusters; both results are
// NaN without values. ClusteredMean panics if the slices have different lengths.
func ClusteredMean(v []float64, cluster []int) (mean, se float64) {
	return ClusteredRatio(v, slices.Repeat([]float64{1}, len(v)), cluster)
}

// ClusteredRatio returns Σnum/Σden and its standard error. The standard error is the one of ClusteredMean for the
// linearised residuals num − ratio·den. Both results are NaN if Σden is 0. se is NaN with fewer than two clusters.
// ClusteredRatio panics if the slices have different lengths.
func ClusteredRatio(num, den []float64, cluster []int) (ratio, se float64) {
	sameLength("ClusteredRatio", len(num), len(den), len(cluster))

	var sumNum, sumDen float64
	for i := range num {
		sumNum += num[i]
		sumDen += den[i]
	}

	if sumDen == 0 {
		return math.NaN(), math.NaN()
	}

	ratio = sumNum / sumDen

	clusters := numbered(cluster)
	if clusters.count < 2 {
		return ratio, math.NaN()
	}

	residuals := make([]float64, clusters.count) // sum over each cluster
	for i := range num {
		residuals[clusters.index[i]] += num[i] - ratio*den[i]
	}

	squares := 0.0
	for _, r := range residuals {
		squares += r * r
	}

	count := float64(clusters.count)

	return ratio, math.Sqrt(squares*count/(count-1)) / math.Abs(sumDen)
}

// CalibrationBin contains the values of one of several bins of the covariance C with equal counts.
type CalibrationBin struct {
	N       int // number of values
	Runs    int // number of distinct clusters
	MeanCov float64
	MeanE   float64
	SE      float64 // standard error of MeanE, clustered; NaN with one cluster
	Agrees  bool    // mean(e − C) is zero within the 95 % range of its clustered error by Student's t; needs two clusters
}

// Calibration compares a covariance with the measured error (docs/method.md#diagnostics).
type Calibration struct {
	Ratio       float64 // Σe/ΣC
	SE          float64 // clustered standard error of Ratio
	Undefined   string  // reason why Ratio is NaN
	Bins        []CalibrationBin
	Agreeing    float64 // share of the bins with at least two clusters that agree; NaN if no such bins exist
	NonPositive float64 // share of values with C ≤ 0, for which there is no interval
}

// Numbers of bins of CalibrateCov.
const (
	automaticBins = 0  // value of bins: the number of values decides
	mostBins      = 10 // largest number then
	leastInBin    = 5  // smallest number of values in a bin then
)

// CalibrateCov compares the covariances C with the measured errors e: the ratio of their sums, and their means in bins
// of C with equal counts. Equal values of C are in one bin, so that the counts are equal as far as ties allow, and the
// result does not depend on the order of the rows. If bins is automaticBins, there are ten bins, or fewer with at least
// five values each. CalibrateCov panics if the slices have different lengths.
func CalibrateCov(cov, e []float64, cluster []int, bins int) Calibration {
	sameLength("CalibrateCov", len(cov), len(e), len(cluster))
	n := len(cov)

	c := Calibration{Ratio: math.NaN(), SE: math.NaN(), Agreeing: math.NaN(), NonPositive: math.NaN()}
	if n == 0 {
		c.Undefined = "no rows"
		return c
	}

	isUndefined := func(v float64) bool { return !isFinite(v) }
	if slices.ContainsFunc(cov, isUndefined) || slices.ContainsFunc(e, isUndefined) {
		c.Undefined = "a value it is computed from is not finite"
		return c
	}

	sum := 0.0
	c.NonPositive = 0
	for _, v := range cov {
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

	if bins <= automaticBins {
		bins = min(max(n/leastInBin, 1), mostBins)
	}

	for _, rows := range equalCount(cov, bins) {
		c.Bins = append(c.Bins, calibrationBin(rows, cov, e, cluster))
	}

	c.Agreeing = shareAgreeing(c.Bins)

	return c
}

// shareAgreeing returns the share of the bins with at least two clusters that agree, or NaN if no such bins exist.
func shareAgreeing(bins []CalibrationBin) float64 {
	agree := 0
	judged := 0
	for _, bin := range bins {
		if bin.Runs < 2 {
			continue
		}

		judged++
		if bin.Agrees {
			agree++
		}
	}

	if judged == 0 {
		return math.NaN()
	}

	return float64(agree) / float64(judged)
}

// calibrationBin compares C with e in the given rows.
func calibrationBin(rows []int, cov, e []float64, cluster []int) CalibrationBin {
	cs := make([]float64, len(rows))
	es := make([]float64, len(rows))
	ds := make([]float64, len(rows))
	id := make([]int, len(rows))
	for k, i := range rows {
		cs[k] = cov[i]
		es[k] = e[i]
		ds[k] = e[i] - cov[i]
		id[k] = cluster[i]
	}

	runs := numbered(id).count
	b := CalibrationBin{N: len(rows), Runs: runs, MeanCov: average(cs, nil)}
	b.MeanE, b.SE = ClusteredMean(es, id)
	if runs > 1 {
		d, se := ClusteredMean(ds, id)
		b.Agrees = math.Abs(d) <= student975(runs)*se
	}

	return b
}

// sameLength panics if three lengths differ. what names the function in the message.
func sameLength(what string, a, b, c int) {
	if a != b || a != c {
		panic(fmt.Sprintf("score: %s of slices of %d, %d and %d values", what, a, b, c))
	}
}
