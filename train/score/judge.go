package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// Scores are the numbers by which methods are compared on one set (METHOD §4,
// §5). Method means are normal with variance "total" around μ; v̂ is the
// epistemic variance a method claims, scored against the measured error e of
// its own mean. Values are pooled over rows and outcomes; y1 and y2 both count.
// NaN is undefined, with the reason in Undefined; the keys are the
// names Get and Reason know, "of" is what a number cannot be had without: the
// total variance, the measured error, or that and the epistemic variance.
type Scores struct {
	R2         float64 `key:"r2"`                    // coefficient of determination of μ, mean over outcomes
	NLL        float64 `key:"nll" of:"total"`        // mean negative log density of y, nats
	CRPS       float64 `key:"crps" of:"total"`       // mean continuous ranked probability score of y
	Coverage68 float64 `key:"coverage68" of:"total"` // fraction of y within the central 68.27 % interval (μ ± 1 deviation)
	Coverage95 float64 `key:"coverage95" of:"total"` // fraction of y within the central 95 % interval
	Width95    float64 `key:"width95" of:"total"`    // mean full width of that interval
	ENCE       float64 `key:"ence" of:"total"`       // expected normalised calibration error of the total variance
	ENCERef    float64 `key:"ence_ref" of:"total"`   // its mean for simulated data that are calibrated, with the same bins
	ENCERef95  float64 `key:"ence_ref95" of:"total"` // the 95 % quantile of that: an ENCE above it is no accident

	E           float64 `key:"e" of:"error"`                  // mean of e: the measured squared error of μ
	SumERatio   float64 `key:"sum_e_ratio" of:"epistemic"`    // Σe/Σv̂: 1 when v̂ is calibrated as a whole, above: overconfident
	SumERatioSE float64 `key:"sum_e_ratio_se" of:"epistemic"` // its standard error, clustered by run
	Square      float64 `key:"square" of:"epistemic"`         // mean(v̂² − 2v̂e): mean squared error of v̂ against the true squared error, up to a constant; lower is better
	SquareSE    float64 `key:"square_se" of:"epistemic"`      // its standard error, clustered by run
	QLIKE       float64 `key:"qlike" of:"epistemic"`          // mean(ln v̂ + e/v̂), v̂ floored at 1e-4·Var(y); lower is better
	Floored     float64 `key:"floored" of:"epistemic"`        // fraction of values where v̂ was below that floor
	NonPositive float64 `key:"nonpositive" of:"epistemic"`    // fraction of values with v̂ ≤ 0: no interval for the mean there
	Chebyshev95 float64 `key:"chebyshev95" of:"epistemic"`    // mean half-width √(v̂/0.05) of the 95 % Chebyshev interval for the true mean, where v̂ > 0

	Quantiles []QuantilePoint // quantile calibration
	Undefined []Reason
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
	// (METHOD §5): a score with ln v̂ and e/v̂ has no meaning at 0.
	FloorShare = 1e-4
	// enceRuns simulations give the mean of ENCE's reference to a few per cent.
	enceRuns = 200
)

// Judge scores what a method says of a set: s.Mu, its total predictive
// variance of one y, and its epistemic variance v̂ (both N×Out, in the units of
// s, squared). epistemic may be nil for a method that claims none; s.Var is not
// used. e and what rests on it are undefined for training pairs and couples.
// Judge is deterministic. It panics when a slice does not have the length Set
// states.
func Judge(s Set, total, epistemic []float64) Scores {
	s = s.check()
	if len(total) != s.N*s.Out || epistemic != nil && len(epistemic) != s.N*s.Out {
		panic(fmt.Sprintf("score: %d and %d variances for %d rows × %d outcomes", len(total), len(epistemic), s.N, s.Out))
	}
	var r Scores
	if s.N == 0 {
		for _, n := range Names[Scores]() {
			r.undefine(n, "no rows")
		}
		return r
	}
	r.judgeTotal(s, total, epistemic)
	r.judgeEpistemic(s, epistemic)
	undefineRest(&r, &r.Undefined)
	return r
}

// judgeTotal sets what concerns the distribution of y.
func (r *Scores) judgeTotal(s Set, total, epistemic []float64) {
	for j := range s.Out {
		r.R2 += R2(column(s.Y1, s.Out, j), column(s.Y2, s.Out, j), column(s.Mu, s.Out, j)) / float64(s.Out)
	}
	if _, conditions := dense(s.Condition); conditions < 2 {
		r.undefine("r2", "one condition only")
	}
	for _, v := range total {
		if !(v > 0) {
			for _, n := range scoresOf("total") {
				r.undefine(n, "a total variance is not positive")
			}
			return
		}
	}
	n := 2 * float64(len(total))
	levels := []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}
	below := make([]int, len(levels))
	quantile := make([]float64, len(levels))
	for i, l := range levels {
		quantile[i] = math.Sqrt2 * math.Erfinv(2*l-1)
	}
	for k, v := range total {
		sd := math.Sqrt(v)
		r.Width95 += 2 * z95 * sd / float64(len(total))
		for _, y := range [2]float64{s.Y1[k], s.Y2[k]} {
			z := (y - s.Mu[k]) / sd
			r.NLL += (0.5*z*z + math.Log(sd) + 0.5*math.Log(2*math.Pi)) / n
			r.CRPS += CRPSNormal(z) * sd / n
			if math.Abs(z) <= z68 {
				r.Coverage68 += 1 / n
			}
			if math.Abs(z) <= z95 {
				r.Coverage95 += 1 / n
			}
			for i, q := range quantile {
				if z < q {
					below[i]++
				}
			}
		}
	}
	for i, l := range levels {
		r.Quantiles = append(r.Quantiles, QuantilePoint{l, float64(below[i]) / n})
	}
	bins := equalCount(total, enceBins)
	square := make([]float64, len(total)) // sum of the two squared residuals
	for k, mu := range s.Mu {
		a, b := s.Y1[k]-mu, s.Y2[k]-mu
		square[k] = a*a + b*b
	}
	r.ENCE = ence(bins, total, square)
	r.ENCERef, r.ENCERef95 = enceReference(s, bins, total, epistemic)
}

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

// enceReference simulates data that are as the method says: an error of the
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
	if why := s.errorUndefined(); why != "" {
		for _, n := range append(scoresOf("error"), scoresOf("epistemic")...) {
			r.undefine(n, why)
		}
		return
	}
	run, runs := dense(s.Run)
	e, cluster := MeasuredError(s), make([]int, len(s.Mu))
	for k := range cluster {
		cluster[k] = run[k/s.Out]
	}
	r.E, _ = ClusteredMean(e, cluster)
	if v == nil {
		for _, n := range scoresOf("epistemic") {
			r.undefine(n, "the method claims no epistemic variance")
		}
		return
	}
	c := CalibrateCov(v, e, cluster, 0)
	r.SumERatio, r.SumERatioSE, r.NonPositive = c.Ratio, c.SE, c.NonPositive
	if c.Undefined != "" {
		r.undefine("sum_e_ratio", c.Undefined)
		r.undefine("sum_e_ratio_se", c.Undefined)
	}
	sq := make([]float64, len(v))
	for k := range v {
		sq[k] = v[k]*v[k] - 2*v[k]*e[k]
	}
	r.Square, r.SquareSE = ClusteredMean(sq, cluster)
	if runs < 2 {
		r.undefine("sum_e_ratio_se", "one run only")
		r.undefine("square_se", "one run only")
	}
	floor := make([]float64, s.Out)
	for j := range floor {
		floor[j] = FloorShare * pooledVar(column(s.Y1, s.Out, j), column(s.Y2, s.Out, j))
	}
	n := float64(len(v))
	positive := 0.0
	for k, x := range v {
		if f := floor[k%s.Out]; x < f {
			x = f
			r.Floored += 1 / n
		}
		r.QLIKE += (math.Log(x) + e[k]/x) / n
		if h, ok := Chebyshev(v[k], 0.05); ok {
			r.Chebyshev95 += h
			positive++
		}
	}
	for _, f := range floor {
		if f == 0 {
			r.undefine("qlike", "all measured values of an outcome are equal")
		}
	}
	if positive == 0 {
		r.undefine("chebyshev95", "no v̂ is positive")
	} else {
		r.Chebyshev95 /= positive
	}
}

// CRPSNormal is the continuous ranked probability score of a standard normal
// prediction for the observation z: z(2Φ(z)−1) + 2φ(z) − 1/√π (Gneiting &
// Raftery 2007, eq. 21). That of N(μ, σ²) is σ times it at (y−μ)/σ.
func CRPSNormal(z float64) float64 {
	return z*math.Erf(z/math.Sqrt2) + math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) - 1/math.Sqrt(math.Pi)
}

// Chebyshev returns the half-width √(c/α) of the interval that holds the true
// mean with confidence 1 − α whatever the error's distribution (METHOD §4).
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
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
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
