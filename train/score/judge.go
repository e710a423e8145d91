package score

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"doubletake/internal/lists"
)

// Scores contains the metrics by which methods are compared on one set (docs/method.md#scores). A method predicts a
// normal distribution about μ with the variance total, and an epistemic variance v̂, which is judged against the
// measured error e of its mean. The metrics count y1 and y2 of all rows and outcomes.
type Scores struct {
	Numbers
	Quantiles []QuantilePoint // quantile calibration; nil if a total variance is not positive
}

// QuantilePoint is one level of quantile calibration.
type QuantilePoint struct {
	Level    float64 // probability of the predicted quantile
	Observed float64 // share of y below the predicted quantile
}

const (
	// z68 is the half width of the interval of about 68 % in deviations; ±1 contains 68.27 %.
	z68 = 1.0
	// z95 is the half width of the 95 % interval in deviations.
	z95 = 1.959963984540054
	// enceBins is the largest number of bins of ENCE.
	enceBins = 10
	// FloorShare is the share of Var(y) to which smaller v̂ are raised in QLIKE (docs/method.md#scores), because ln v̂ and
	// e/v̂ have no meaning at 0.
	FloorShare = 1e-4
	// enceRuns is the number of simulations that give the reference of ENCE, whose mean is then known to a few per cent.
	enceRuns = 200
)

// Judge scores a method's predictions for a set: s.Mu, the total predictive variance of one y, and the epistemic
// variance v̂. Both variances are N×Out, in the squared units of s. epistemic is nil if the method predicts none. Judge
// does not use s.Var. The metrics of e are undefined for training pairs and couples. Judge panics if a slice does not
// have the length that Set requires.
func Judge(s Set, total, epistemic []float64) Scores {
	s = s.check(total, epistemic)
	r := Scores{Numbers: newNumbers(Methods)}
	if s.N == 0 {
		r.undefineAll("no rows")
		return r
	}

	r.judgeTotal(s, total, epistemic)
	r.judgeEpistemic(s, epistemic)
	r.undefineRest()

	return r
}

// judgeTotal sets the metrics of the predicted distribution of y.
func (r *Scores) judgeTotal(s Set, total, epistemic []float64) {
	r2 := 0.0
	for j := range s.Out {
		y1, y2, mu := s.outcome(j)
		r2 += weightedR2(y1, y2, mu, s.Weight) / float64(s.Out)
	}

	r.set("r2", r2)

	if _, conditions := dense(s.Condition); conditions < 2 {
		r.undefine("one condition only", "r2")
	}

	if !allPositive(total) {
		r.undefine("a total variance is not positive", keysThatNeed("total")...)
		return
	}

	z := residuals(s, total)
	n := float64(len(z))

	var nll, crps, width float64
	for k, v := range total {
		sd := math.Sqrt(v)
		width += 2 * z95 * sd / float64(len(total))

		for _, z := range z[2*k : 2*k+2] {
			nll += (0.5*z*z + math.Log(sd) + 0.5*math.Log(2*math.Pi)) / n
			crps += CRPSNormal(z) * sd / n
		}
	}

	r.set("nll", nll)
	r.set("crps", crps)
	r.set("width95", width)
	r.set("coverage68", share(within(z, z68), n))
	r.set("coverage95", share(within(z, z95), n))

	for _, l := range quantileLevels {
		r.Quantiles = append(r.Quantiles, QuantilePoint{l, float64(below(z, math.Sqrt2*math.Erfinv(2*l-1))) / n})
	}

	bins := equalCount(total, enceBins)

	square := make([]float64, len(total)) // sum of the two squared residuals
	for k, mu := range s.Mu {
		a := s.Y1[k] - mu
		b := s.Y2[k] - mu
		square[k] = a*a + b*b
	}

	reference, q95 := enceReference(s, bins, total, epistemic)
	r.set("ence", ence(bins, total, square))
	r.set("ence_ref", reference)
	r.set("ence_ref95", q95)
}

// allPositive reports whether all numbers are positive; NaN is not.
func allPositive(list []float64) bool {
	for _, v := range list {
		if !(v > 0) {
			return false
		}
	}

	return true
}

// quantileLevels lists the probabilities of quantile calibration.
var quantileLevels = []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}

// ence returns the expected normalised calibration error over B bins, (1/B) Σ |RMSE_b − RMV_b|/RMV_b (Levi et al.
// 2022). square contains the sum of the two squared residuals for each total variance.
func ence(bins [][]int, total, square []float64) float64 {
	sum := 0.0
	for _, rows := range bins {
		var v, q float64
		for _, k := range rows {
			v += total[k]
			q += square[k]
		}

		n := float64(len(rows))
		rmv := math.Sqrt(v / n)
		rmse := math.Sqrt(q / (2 * n))
		sum += math.Abs(rmse-rmv) / rmv
	}

	return sum / float64(len(bins))
}

// enceReference returns the mean and the 95 % quantile of ENCE for simulated data that have the predicted variances: an
// error of the mean with the variance v̂, limited to the range from 0 to the total and shared by all rows of a
// condition, and noise with the rest of the total. The errors of different conditions are independent here. In practice
// neighbours are correlated, so that the reference is a lower bound.
func enceReference(s Set, bins [][]int, total, epistemic []float64) (mean, q95 float64) {
	cond, conditions := dense(s.Condition)
	rng := rand.New(rand.NewPCG(0x656e6365, 1))
	shared := make([]float64, conditions*s.Out)

	sdErr := make([]float64, len(total))
	sdNoise := make([]float64, len(total))
	for k, v := range total {
		e := 0.0
		if epistemic != nil && epistemic[k] > 0 {
			e = min(epistemic[k], v)
		}

		sdErr[k] = math.Sqrt(e)
		sdNoise[k] = math.Sqrt(v - e)
	}

	square := make([]float64, len(total))

	all := make([]float64, enceRuns)
	for t := range all {
		for i := range shared {
			shared[i] = rng.NormFloat64()
		}

		for k := range total {
			m := sdErr[k] * shared[cond[k/s.Out]*s.Out+k%s.Out]
			a := m + sdNoise[k]*rng.NormFloat64()
			b := m + sdNoise[k]*rng.NormFloat64()
			square[k] = a*a + b*b
		}

		all[t] = ence(bins, total, square)
		mean += all[t] / enceRuns
	}

	sort.Float64s(all)

	return mean, all[enceRuns*95/100]
}

// judgeEpistemic sets the metrics of the epistemic variance v̂ and of the measured error e.
func (r *Scores) judgeEpistemic(s Set, v []float64) {
	rest := keysThatNeed("epistemic")
	if why := s.errorUndefined(); why != "" {
		r.undefine(why, append(keysThatNeed("error"), rest...)...)
		return
	}

	s, v = s.paired(v)
	run, runs := dense(s.Run)
	e := MeasuredError(s)
	cluster := make([]int, len(s.Mu))
	w := make([]float64, len(e))
	for k := range cluster {
		cluster[k] = run[k/s.Out]
		w[k] = s.weight(k / s.Out)
	}

	meanE, _ := ClusteredRatio(product(w, e), w, cluster)
	r.set("e", meanE)

	if v == nil {
		r.undefine("the method claims no epistemic variance", rest...)
		return
	}

	c := CalibrateCov(product(w, v), product(w, e), cluster, 0)
	r.ratio(c, runs)
	r.set("nonpositive", c.NonPositive)

	var sq []float64
	for k := range len(v) {
		sq = append(sq, v[k]*v[k]-2*v[k]*e[k])
	}

	square, se := ClusteredRatio(product(w, sq), w, cluster)
	r.set("square", square)
	r.set("square_se", se)

	if runs < 2 {
		r.undefine("one run only", "square_se")
	}

	r.qlike(s, v, e)
}

// product returns the products of the elements of a and b.
func product(a, b []float64) []float64 {
	var list []float64
	for k := range len(a) {
		list = append(list, a[k]*b[k])
	}

	return list
}

// qlike sets QLIKE, the share of values that were raised to its floor, and the mean Chebyshev interval.
func (r *Scores) qlike(s Set, v, e []float64) {
	var floor []float64
	for j := range s.Out {
		y1, y2, _ := s.outcome(j)
		floor = append(floor, FloorShare*pooledVar(y1, y2, s.Weight))
	}

	n := totalWeight(s.Weight, s.N) * float64(s.Out)

	var qlike, floored, half, positive float64
	for k, x := range v {
		w := s.weight(k / s.Out)
		if f := floor[k%s.Out]; x < f {
			x = f
			floored += w / n
		}

		qlike += w * (math.Log(x) + e[k]/x) / n

		if h, ok := Chebyshev(v[k], 0.05); ok {
			half += h
			positive++
		}
	}

	r.set("qlike", qlike)
	r.set("floored", floored)
	r.set("chebyshev95", half/positive)

	if slices.Contains(floor, 0) {
		r.undefine("all measured values of an outcome are equal", "qlike")
	}

	if positive == 0 {
		r.undefine("no v̂ is positive", "chebyshev95")
	}
}

// CRPSNormal returns the continuous ranked probability score of a standard normal prediction for the observation z:
// z(2Φ(z)−1) + 2φ(z) − 1/√π (Gneiting & Raftery 2007, eq. 21). The score of N(μ, σ²) for y is σ·CRPSNormal((y−μ)/σ).
func CRPSNormal(z float64) float64 {
	return z*math.Erf(z/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) - 1/math.Sqrt(math.Pi)
}

// CRPSRows returns the mean CRPS of each row over its outcomes and both values, for normal distributions about s.Mu
// with the variances total (N×Out). It panics if a slice does not have the length that Set requires.
func CRPSRows(s Set, total []float64) []float64 {
	s = s.check(total)
	scores := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		scores[k/s.Out] += (CRPSNormal(z[2*k]) + CRPSNormal(z[2*k+1])) * math.Sqrt(v) / float64(2*s.Out)
	}

	return scores
}

// Chebyshev returns the half width √(c/α) of the interval that contains the true mean with confidence 1 − α for any
// distribution of the error (docs/method.md#diagnostics). ok is false if there is no such interval, because the
// covariance c is not positive and finite.
func Chebyshev(c, alpha float64) (half float64, ok bool) {
	if !(c > 0) || !(alpha > 0) || math.IsInf(c, 0) {
		return math.NaN(), false
	}
	return math.Sqrt(c / alpha), true
}

// equalCount sorts the indices of v by value and divides them into bins of equal count. Equal values are in one bin, so
// that the counts are equal as far as ties allow, and the bins do not depend on the order of the values.
func equalCount(v []float64, bins int) [][]int {
	n := len(v)
	order := lists.Numbers(n)
	sort.SliceStable(order, func(a, b int) bool { return v[order[a]] < v[order[b]] })

	var groups [][]int
	start := 0
	for b := 1; start < n; b++ {
		end := n
		if b < bins {
			end = max(start+1, n*b/bins)
		}

		for end < n && v[order[end]] == v[order[end-1]] {
			end++
		}

		// Equal values may have filled the following bins, too.
		for b < bins && n*(b+1)/bins <= end {
			b++
		}

		groups = append(groups, order[start:end])
		start = end
	}

	return groups
}
