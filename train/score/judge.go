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
	// chebyshevRisk is the probability that the true mean is outside of the Chebyshev interval chebyshev95.
	chebyshevRisk = 0.05
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
	scores := Scores{Numbers: newNumbers(Methods)}
	if s.N == 0 {
		scores.undefineAll("no rows")
		return scores
	}

	scores.judgeTotal(s, total, epistemic)
	scores.judgeEpistemic(s, epistemic)
	scores.undefineRest()

	return scores
}

// judgeTotal sets the metrics of the predicted distribution of y. All of them except R² are undefined if a total
// variance is not positive.
func (r *Scores) judgeTotal(s Set, total, epistemic []float64) {
	r2 := 0.0
	for j := range s.Out {
		y1, y2, mu := s.outcome(j)
		r2 += weightedR2(y1, y2, mu, s.Weight) / float64(s.Out)
	}

	r.set("r2", r2)

	if numbered(s.Condition).count < 2 {
		r.undefine("one condition only", "r2")
	}

	if !allPositive(total) {
		r.undefine("a total variance is not positive", keysThatNeed("total")...)
		return
	}

	standardised := residuals(s, total)
	r.judgeDensity(total, standardised)
	r.judgeShares(standardised)
	r.judgeSize(s, total, epistemic)
}

// judgeDensity sets the scores of the predicted density and the width of its intervals. standardised contains the two
// residuals of each total variance, in predicted deviations.
func (r *Scores) judgeDensity(total, standardised []float64) {
	n := float64(len(standardised))

	var nll, crps, width float64
	for k, variance := range total {
		sd := math.Sqrt(variance)
		width += 2 * z95 * sd / float64(len(total))

		for _, z := range standardised[2*k : 2*k+2] {
			nll += (0.5*z*z + math.Log(sd) + 0.5*math.Log(2*math.Pi)) / n
			crps += CRPSNormal(z) * sd / n
		}
	}

	r.set("nll", nll)
	r.set("crps", crps)
	r.set("width95", width)
}

// judgeShares sets the shares of y inside intervals and below quantiles. standardised contains the residuals in
// predicted deviations.
func (r *Scores) judgeShares(standardised []float64) {
	n := float64(len(standardised))
	r.set("coverage68", share(within(standardised, z68), n))
	r.set("coverage95", share(within(standardised, z95), n))

	for _, level := range quantileLevels {
		quantile := math.Sqrt2 * math.Erfinv(2*level-1) // of the standard normal distribution
		observed := float64(below(standardised, quantile)) / n
		r.Quantiles = append(r.Quantiles, QuantilePoint{Level: level, Observed: observed})
	}
}

// judgeSize sets ENCE, which compares the sizes of the residuals with the total variances, and its reference.
func (r *Scores) judgeSize(s Set, total, epistemic []float64) {
	bins := equalCount(total, enceBins)

	square := make([]float64, len(total)) // sum of the two squared residuals
	for k, mu := range s.Mu {
		first := s.Y1[k] - mu
		second := s.Y2[k] - mu
		square[k] = first*first + second*second
	}

	r.set("ence", ence(bins, total, square))
	if s.Couples {
		r.undefine("couples: y2 is y1, but the reference draws the noise of each outcome by itself", "ence_ref", "ence_ref95")
		return
	}

	reference, q95 := enceReference(s, bins, total, epistemic)
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
		var variances, squares float64
		for _, k := range rows {
			variances += total[k]
			squares += square[k]
		}

		n := float64(len(rows))
		rmv := math.Sqrt(variances / n)
		rmse := math.Sqrt(squares / (2 * n))
		sum += math.Abs(rmse-rmv) / rmv
	}

	return sum / float64(len(bins))
}

// enceReference returns the mean and the 95 % quantile of ENCE for simulated data that have the predicted variances: an
// error of the mean with the variance v̂, limited to the range from 0 to the total and shared by all rows of a
// condition, and noise with the rest of the total. The errors of different conditions are independent here. In practice
// neighbours are correlated, so that the reference is a lower bound.
func enceReference(s Set, bins [][]int, total, epistemic []float64) (mean, q95 float64) {
	conditions := numbered(s.Condition)
	rng := rand.New(rand.NewPCG(0x656e6365, 1))       // "ence"
	shared := make([]float64, conditions.count*s.Out) // error of the mean at each condition, in its deviations

	sdError := make([]float64, len(total))
	sdNoise := make([]float64, len(total))
	for k, variance := range total {
		ofMean := 0.0
		if epistemic != nil && epistemic[k] > 0 {
			ofMean = min(epistemic[k], variance)
		}

		sdError[k] = math.Sqrt(ofMean)
		sdNoise[k] = math.Sqrt(variance - ofMean)
	}

	square := make([]float64, len(total)) // sum of the two squared residuals

	all := make([]float64, enceRuns)
	for run := range all {
		for i := range shared {
			shared[i] = rng.NormFloat64()
		}

		for k := range total {
			err := sdError[k] * shared[conditions.index[k/s.Out]*s.Out+k%s.Out]
			first := err + sdNoise[k]*rng.NormFloat64()
			second := err + sdNoise[k]*rng.NormFloat64()
			square[k] = first*first + second*second
		}

		all[run] = ence(bins, total, square)
		mean += all[run] / enceRuns
	}

	sort.Float64s(all)

	return mean, all[enceRuns*95/100]
}

// judgeEpistemic sets the metrics of the epistemic variance v̂ and of the measured error e. The metrics of v̂ are
// undefined if epistemic is nil, and all of them if the set has no measured error.
func (r *Scores) judgeEpistemic(s Set, epistemic []float64) {
	ofEpistemic := keysThatNeed("epistemic")
	if why := s.errorUndefined(); why != "" {
		r.undefine(why, append(keysThatNeed("error"), ofEpistemic...)...)
		return
	}

	s, epistemic = s.paired(epistemic)
	runs := numbered(s.Run)
	measured := MeasuredError(s)
	cluster := make([]int, len(s.Mu)) // the run of each value
	weight := make([]float64, len(measured))
	for k := range cluster {
		cluster[k] = runs.index[k/s.Out]
		weight[k] = s.weight(k / s.Out)
	}

	mean, _ := ClusteredRatio(product(weight, measured), weight, cluster)
	r.set("e", mean)

	if epistemic == nil {
		r.undefine("the method claims no epistemic variance", ofEpistemic...)
		return
	}

	calibration := CalibrateCov(product(weight, epistemic), product(weight, measured), cluster, automaticBins)
	r.ratio(calibration, runs.count)
	r.set("nonpositive", calibration.NonPositive)

	var squares []float64 // v̂² − 2v̂e of each value
	for k, v := range epistemic {
		squares = append(squares, v*v-2*v*measured[k])
	}

	square, se := ClusteredRatio(product(weight, squares), weight, cluster)
	r.set("square", square)
	r.set("square_se", se)

	if runs.count < 2 {
		r.undefine("one run only", "square_se")
	}

	r.qlike(s, epistemic, measured)
}

// product returns the products of the elements of a and b.
func product(a, b []float64) []float64 {
	var list []float64
	for k := range len(a) {
		list = append(list, a[k]*b[k])
	}

	return list
}

// qlike sets QLIKE, the share of values that were raised to its floor, and the mean Chebyshev interval. measured
// contains the measured error of each epistemic variance.
func (r *Scores) qlike(s Set, epistemic, measured []float64) {
	var floor []float64 // by outcome
	for j := range s.Out {
		y1, y2, _ := s.outcome(j)
		floor = append(floor, FloorShare*pooledVar(y1, y2, s.Weight))
	}

	n := totalWeight(s.Weight, s.N) * float64(s.Out)

	var qlike, floored, halfWidths, positive float64
	for k, v := range epistemic {
		weight := s.weight(k / s.Out)
		raised := max(v, floor[k%s.Out])
		if v < raised {
			floored += weight / n
		}

		qlike += weight * (math.Log(raised) + measured[k]/raised) / n

		if half, ok := Chebyshev(v, chebyshevRisk); ok {
			halfWidths += half
			positive++
		}
	}

	r.set("qlike", qlike)
	r.set("floored", floored)
	r.set("chebyshev95", halfWidths/positive)

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
// with the variances total (N×Out). It returns NaN for each row if total is nil, and panics if a slice does not have
// the length that Set requires.
func CRPSRows(s Set, total []float64) []float64 {
	s = s.check(total)
	if total == nil {
		return undefinedRows(s.N)
	}

	scores := make([]float64, s.N)

	z := residuals(s, total)
	for k, v := range total {
		scores[k/s.Out] += (CRPSNormal(z[2*k]) + CRPSNormal(z[2*k+1])) * math.Sqrt(v) / float64(2*s.Out)
	}

	return scores
}

// Chebyshev returns the half width √(c/α) of the interval that contains the true mean with confidence 1 − α for any
// distribution of the error (docs/method.md#diagnostics), where c is the variance or covariance. ok is false, and half
// is NaN, if no such interval exists, because c is not positive and finite, or α is not positive.
func Chebyshev(c, alpha float64) (half float64, ok bool) {
	isFinitePositive := c > 0 && !math.IsInf(c, 1) // false for NaN
	if !isFinitePositive || !(alpha > 0) {
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
