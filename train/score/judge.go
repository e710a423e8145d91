package score

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"doubletake/internal/lists"
)

// Scores are the metrics by which methods are compared on one set
// (docs/method.md#scores). Method means are normal with variance "total" around
// μ; v̂ is the epistemic variance a method claims, scored against the measured
// error e of its own mean. Values are pooled over rows and outcomes; y1 and y2
// both count.
type Scores struct {
	Numbers
	Quantiles []QuantilePoint // quantile calibration; nil where the total variance is not positive
}

// QuantilePoint is one level of quantile calibration.
type QuantilePoint struct {
	Level    float64 // of the predicted distribution
	Observed float64 // fraction of y below the predicted quantile of that level
}

const (
	z68      = 1.0               // ±1 deviation: 68.27 %
	z95      = 1.959963984540054 // 95 %
	enceBins = 10
	// FloorShare is the share of Var(y) below which v̂ is floored in QLIKE
	// (docs/method.md#scores): a score with ln v̂ and e/v̂ has no meaning at 0.
	FloorShare = 1e-4
	// enceRuns simulations give the mean of ENCE's reference to a few per cent.
	enceRuns = 200
)

// Judge scores a method's predictions for a set: s.Mu, its total predictive
// variance of one y, and its epistemic variance v̂ (both N×Out, in the units of
// s, squared). epistemic may be nil for a method that claims none; s.Var is not
// used. e and all that follows from it are undefined for training pairs and couples.
// Judge is deterministic. It panics when a slice does not have the length Set
// states.
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

// judgeTotal sets what concerns the distribution of y.
func (r *Scores) judgeTotal(s Set, total, epistemic []float64) {
	r2 := 0.0
	for j := range s.Out {
		r2 += weightedR2(lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), lists.Column(s.Mu, s.Out, j), s.Weight) /
			float64(s.Out)
	}

	r.set("r2", r2)

	if _, conditions := dense(s.Condition); conditions < 2 {
		r.undefine("one condition only", "r2")
	}

	if slices.ContainsFunc(total, func(v float64) bool { return !(v > 0) }) {
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
		a, b := s.Y1[k]-mu, s.Y2[k]-mu
		square[k] = a*a + b*b
	}

	reference, q95 := enceReference(s, bins, total, epistemic)
	r.set("ence", ence(bins, total, square))
	r.set("ence_ref", reference)
	r.set("ence_ref95", q95)
}

// quantileLevels are the levels of quantile calibration.
var quantileLevels = []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}

// ence is (1/B) Σ |RMSE_b − RMV_b|/RMV_b; square holds the sum of two squared
// residuals for each total variance.
func ence(bins [][]int, total, square []float64) float64 {
	sum := 0.0
	for _, rows := range bins {
		var v, q float64
		for _, k := range rows {
			v += total[k]
			q += square[k]
		}

		n := float64(len(rows))
		rmv, rmse := math.Sqrt(v/n), math.Sqrt(q/(2*n))
		sum += math.Abs(rmse-rmv) / rmv
	}

	return sum / float64(len(bins))
}

// enceReference simulates data for which the method's claims hold: an error of the
// mean with variance v̂ (kept within 0 and the total), shared by all rows of a
// condition, and noise with the rest of the total. Errors of neighbouring
// conditions, correlated in practice, are independent here, so that the
// reference is a lower bound.
func enceReference(s Set, bins [][]int, total, epistemic []float64) (mean, q95 float64) {
	cond, conditions := dense(s.Condition)
	rng := rand.New(rand.NewPCG(0x656e6365, 1))
	shared := make([]float64, conditions*s.Out)

	sdErr, sdNoise := make([]float64, len(total)), make([]float64, len(total))
	for k, v := range total {
		e := 0.0
		if epistemic != nil && epistemic[k] > 0 {
			e = min(epistemic[k], v)
		}

		sdErr[k], sdNoise[k] = math.Sqrt(e), math.Sqrt(v-e)
	}

	square := make([]float64, len(total))

	all := make([]float64, enceRuns)
	for t := range all {
		for i := range shared {
			shared[i] = rng.NormFloat64()
		}

		for k := range total {
			m := sdErr[k] * shared[cond[k/s.Out]*s.Out+k%s.Out]
			a, b := m+sdNoise[k]*rng.NormFloat64(), m+sdNoise[k]*rng.NormFloat64()
			square[k] = a*a + b*b
		}

		all[t] = ence(bins, total, square)
		mean += all[t] / enceRuns
	}

	sort.Float64s(all)

	return mean, all[enceRuns*95/100]
}

// judgeEpistemic sets what rests on v̂ and e.
func (r *Scores) judgeEpistemic(s Set, v []float64) {
	rest := keysThatNeed("epistemic")
	if why := s.errorUndefined(); why != "" {
		r.undefine(why, append(keysThatNeed("error"), rest...)...)
		return
	}

	s, v = s.paired(v)
	run, runs := dense(s.Run)
	e, cluster := MeasuredError(s), make([]int, len(s.Mu))
	w := make([]float64, len(e))
	for k := range cluster {
		cluster[k], w[k] = run[k/s.Out], s.weight(k/s.Out)
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

	sq := lists.Make(len(v), func(k int) float64 { return v[k]*v[k] - 2*v[k]*e[k] })
	square, se := ClusteredRatio(product(w, sq), w, cluster)
	r.set("square", square)
	r.set("square_se", se)

	if runs < 2 {
		r.undefine("one run only", "square_se")
	}

	r.qlike(s, v, e)
}

// product returns a·b, element by element.
func product(a, b []float64) []float64 {
	return lists.Make(len(a), func(k int) float64 { return a[k] * b[k] })
}

// qlike sets QLIKE with the share of floored values, and the mean Chebyshev
// interval.
func (r *Scores) qlike(s Set, v, e []float64) {
	floor := lists.Make(s.Out, func(j int) float64 {
		return FloorShare * pooledVar(lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), s.Weight)
	})

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

// CRPSNormal is the continuous ranked probability score of a standard normal
// prediction for the observation z: z(2Φ(z)−1) + 2φ(z) − 1/√π (Gneiting &
// Raftery 2007, eq. 21). That of N(μ, σ²) is σ times it at (y−μ)/σ.
func CRPSNormal(z float64) float64 {
	return z*math.Erf(z/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) - 1/math.Sqrt(math.Pi)
}

// CRPSRows returns the mean CRPS of each row over its outcomes and both values, for
// normal laws about s.Mu with the variances total (N×Out). It panics when a slice
// does not have the length Set states.
func CRPSRows(s Set, total []float64) []float64 {
	s = s.check(total)
	out := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		out[k/s.Out] += (CRPSNormal(z[2*k]) + CRPSNormal(z[2*k+1])) * math.Sqrt(v) / float64(2*s.Out)
	}

	return out
}

// Chebyshev returns the half-width √(c/α) of the interval that holds the true
// mean with confidence 1 − α whatever the error's distribution (docs/method.md#diagnostics).
// There is none, and ok is false, where the covariance c is not positive.
func Chebyshev(c, alpha float64) (half float64, ok bool) {
	if !(c > 0) || !(alpha > 0) || math.IsInf(c, 0) {
		return math.NaN(), false
	}
	return math.Sqrt(c / alpha), true
}

// equalCount sorts the indices of v by value and cuts them into so many bins of
// equal count, as far as ties allow, which are never torn apart: the result
// does not depend on the order of the values.
func equalCount(v []float64, bins int) [][]int {
	n := len(v)
	order := lists.Numbers(n)
	sort.SliceStable(order, func(a, b int) bool { return v[order[a]] < v[order[b]] })

	var out [][]int
	for start, b := 0, 1; start < n; b++ {
		end := n
		if b < bins {
			end = max(start+1, n*b/bins)
		}

		for end < n && v[order[end]] == v[order[end-1]] {
			end++
		}

		// A tie may have swallowed the bins that end before here.
		for b < bins && n*(b+1)/bins <= end {
			b++
		}

		out = append(out, order[start:end])
		start = end
	}

	return out
}
