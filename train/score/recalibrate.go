package score

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"doubletake/train/triplets"
)

// Kinds of recalibration.
const (
	Scaled   = "scaled"   // variances times one factor per outcome
	Isotonic = "isotonic" // variances through a non-decreasing curve per outcome
	Quantile = "quantile" // quantiles of y through a non-decreasing curve per outcome; see JudgeQuantiles
)

// Kinds returns all kinds of recalibration.
func Kinds() []string { return []string{Scaled, Isotonic, Quantile} }

// Recalibration maps the variances a model claims to those a calibration set
// found, per outcome, in standardised units². It changes no mean. The
// calibration set must not have been trained on. It repairs errors that are the
// same everywhere; it cannot know what the model does outside of the
// calibration set's conditions.
type Recalibration struct {
	Rows     int                    `json:"rows"`
	Runs     int                    `json:"runs"`
	Outcomes []OutcomeRecalibration `json:"outcomes"`
}

// OutcomeRecalibration is the recalibration of one outcome.
type OutcomeRecalibration struct {
	TotalFactor float64 `json:"total_factor"` // mean of squared residual over σ²: σ-scaling by maximum likelihood
	TotalCurve  Curve   `json:"total_curve"`  // isotonic regression of the squared residual on σ²

	// QuantileMap takes a quantile of the standard normal to that of the
	// calibration set's residuals in units of σ, at levels from 1/40 to 39/40
	// where there are values enough (Kuleshov et al. 2018, in units of σ instead
	// of probabilities, so that it goes on beyond the levels it was learned at).
	QuantileMap Curve `json:"quantile_map"`

	CovFactor *float64 `json:"cov_factor"` // Σe/ΣC; nil where undefined or not positive
	CovWhyNot string   `json:"cov_why_not,omitempty"`
	CovCurve  Curve    `json:"cov_curve"` // isotonic regression of e on C, not below 0
}

// Has reports whether a kind was learned of every outcome.
func (r *Recalibration) Has(kind string) bool {
	return slices.Contains(Kinds(), kind) && !(kind == Quantile && slices.ContainsFunc(r.Outcomes,
		func(o OutcomeRecalibration) bool { return len(o.QuantileMap.X) == 0 }))
}

// Below is the level that the law of outcome j, its quantiles recalibrated, gives to y where the
// model predicted N(mu, v). It panics where no map was learned.
func (r *Recalibration) Below(j int, mu, v, y float64) float64 {
	return math.Exp(logNormCDF(r.Outcomes[j].normal((y - mu) / math.Sqrt(v))))
}

// logNormCDF is ln Φ(z).
func logNormCDF(z float64) float64 {
	switch {
	case z > 5:
		return math.Log1p(-0.5 * math.Erfc(z/math.Sqrt2))
	case z > -30:
		return math.Log(0.5 * math.Erfc(-z/math.Sqrt2))
	}

	q := 1 / (z * z)

	return -z*z/2 - math.Log(-z) - logSqrt2Pi + math.Log1p(-q*(1-q*(3-q*(15-q*105))))
}

var logSqrt2Pi = 0.5 * math.Log(2*math.Pi)

// Curve is a non-decreasing function through knots, linear between them,
// constant below the first. Above the last it goes on in proportion to x, so
// that claims larger than any in the calibration set are not cut down.
type Curve struct {
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
}

// At evaluates the curve; NaN without knots.
func (c Curve) At(x float64) float64 {
	n := len(c.X)
	switch {
	case n == 0 || math.IsNaN(x):
		return math.NaN()
	case x <= c.X[0]:
		return c.Y[0]
	case x >= c.X[n-1]:
		if c.X[n-1] <= 0 {
			return c.Y[n-1]
		}
		return c.Y[n-1] * x / c.X[n-1]
	}

	i := 1
	for c.X[i] < x {
		i++
	}

	f := (x - c.X[i-1]) / (c.X[i] - c.X[i-1])

	return c.Y[i-1] + f*(c.Y[i]-c.Y[i-1])
}

// curveBins bounds the knots of a curve; each rests on ten values or more.
const curveBins = 20

// isotonic fits a curve: equal-count bins of x, then pool adjacent violators on
// the bins' means (Barlow et al. 1972). y below lowest is raised to it.
func isotonic(x, y []float64, lowest float64) Curve {
	type block struct{ n, x, y float64 }

	var stack []block
	for _, rows := range equalCount(x, min(max(len(x)/10, 1), curveBins)) {
		b := block{n: float64(len(rows))}
		for _, i := range rows {
			b.x += x[i]
			b.y += y[i]
		}

		b.x, b.y = b.x/b.n, b.y/b.n
		for len(stack) > 0 && stack[len(stack)-1].y >= b.y {
			a := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			n := a.n + b.n
			b = block{n, (a.n*a.x + b.n*b.x) / n, (a.n*a.y + b.n*b.y) / n}
		}

		stack = append(stack, b)
	}

	var c Curve
	for _, b := range stack {
		c.X, c.Y = append(c.X, b.x), append(c.Y, max(b.y, lowest))
	}

	return c
}

// quantileMap matches the quantiles of outcome j's residuals in units of σ with
// those of the standard normal, every tenth value or at 39 levels.
func quantileMap(s Set, j int, total []float64) Curve {
	var z []float64
	for i, v := range total {
		k, sd := i*s.Out+j, math.Sqrt(v)
		z = append(z, (s.Y1[k]-s.Mu[k])/sd, (s.Y2[k]-s.Mu[k])/sd)
	}

	sort.Float64s(z)
	levels := min(2*curveBins-1, len(z)/10)

	var c Curve
	for l := 1; l <= levels; l++ {
		p := float64(l) / float64(levels+1)

		// Of n+1 gaps between n values the next one falls into each as often.
		at := p*float64(len(z)+1) - 1
		i := min(int(at), len(z)-2)
		c.X = append(c.X, math.Sqrt2*math.Erfinv(2*p-1))
		c.Y = append(c.Y, z[i]+(at-float64(i))*(z[i+1]-z[i]))
	}

	return c
}

// Sigmas returns how many σ from μ the quantile lies that a normal distribution
// has z of them from it. Beyond the levels it was learned at it goes on with the
// slope of σ-scaling. NaN where no map was learned.
func (o OutcomeRecalibration) Sigmas(z float64) float64 {
	c := o.QuantileMap
	n := len(c.X)
	switch {
	case n == 0 || math.IsNaN(z):
		return math.NaN()
	case z <= c.X[0]:
		return c.Y[0] + math.Sqrt(o.TotalFactor)*(z-c.X[0])
	case z >= c.X[n-1]:
		return c.Y[n-1] + math.Sqrt(o.TotalFactor)*(z-c.X[n-1])
	}

	return c.At(z)
}

// normal is the inverse of Sigmas; where that is flat, the middle.
func (o OutcomeRecalibration) normal(sigmas float64) float64 {
	c := o.QuantileMap
	n := len(c.X)
	switch {
	case sigmas < c.Y[0]:
		return c.X[0] + (sigmas-c.Y[0])/math.Sqrt(o.TotalFactor)
	case sigmas > c.Y[n-1]:
		return c.X[n-1] + (sigmas-c.Y[n-1])/math.Sqrt(o.TotalFactor)
	}

	first := sort.SearchFloat64s(c.Y, sigmas)
	last := first
	for last+1 < n && c.Y[last+1] == sigmas {
		last++
	}

	if c.Y[first] == sigmas {
		return (c.X[first] + c.X[last]) / 2
	}

	f := (sigmas - c.Y[first-1]) / (c.Y[first] - c.Y[first-1])

	return c.X[first-1] + f*(c.X[first]-c.X[first-1])
}

// minCalibration is the number of rows below which nothing is recalibrated.
const minCalibration = 10

// Recalibrate learns from a calibration set: s.Mu, the claimed total variances
// and covariances C (N×Out; cov may be nil). Errors: fewer than ten rows,
// training pairs, a total variance that is not positive. For couples the
// covariance is left alone. It panics on slices of other lengths.
func Recalibrate(s Set, total, cov []float64) (*Recalibration, error) {
	s = s.check()
	if len(total) != s.N*s.Out || cov != nil && len(cov) != s.N*s.Out {
		panic(fmt.Sprintf("score: %d and %d variances for %d rows × %d outcomes", len(total), len(cov), s.N, s.Out))
	}

	if s.N < minCalibration {
		return nil, fmt.Errorf("recalibrate: expected at least %d calibration rows, found %d; set more runs aside",
			minCalibration, s.N)
	}

	if slices.Contains(s.Part, triplets.Train) {
		return nil, errors.New("recalibrate: the model was trained on these pairs")
	}

	r := &Recalibration{Rows: s.N}
	_, r.Runs = dense(s.Run)

	e := MeasuredError(s)
	for j := range s.Out {
		var o OutcomeRecalibration

		t, q := column(total, s.Out, j), make([]float64, s.N)
		for i := range q {
			k := i*s.Out + j
			a, b := s.Y1[k]-s.Mu[k], s.Y2[k]-s.Mu[k]
			q[i] = (a*a + b*b) / 2
			if !(t[i] > 0) || math.IsInf(t[i], 0) {
				return nil, fmt.Errorf("recalibrate: row %d, outcome column %d: expected a positive variance, found %g", i, j, t[i])
			}

			o.TotalFactor += q[i] / t[i] / float64(s.N)
		}

		lowest := FloorShare * average(q, nil)
		o.TotalCurve = isotonic(t, q, lowest)
		o.QuantileMap = quantileMap(s, j, t)

		switch {
		case cov == nil:
			o.CovWhyNot = "no covariance was computed"
		case s.Couples:
			o.CovWhyNot = "couples: y2 is y1, so e holds the noise too"
		default:
			c, ej := column(cov, s.Out, j), column(e, s.Out, j)

			sc, se := 0.0, 0.0
			for i := range c {
				sc += c[i]
				se += ej[i]
			}

			if sc > 0 && se > 0 {
				f := se / sc
				o.CovFactor = &f
			} else {
				o.CovWhyNot = "the sums of e and C are not both positive on the calibration set"
			}

			o.CovCurve = isotonic(c, ej, 0)
		}

		r.Outcomes = append(r.Outcomes, o)
	}

	return r, nil
}

// Apply returns the recalibrated total variances and covariances (N×Out, of as
// many outcomes as were calibrated). The total of
// Quantile is the mean square deviation from the mean under its law, and its covariances are those
// claimed. cov may be nil, and what could not be calibrated stays as it is.
// It panics where the kind was not learned.
func (r *Recalibration) Apply(kind string, total, cov []float64) (newTotal, newCov []float64) {
	d := len(r.Outcomes)
	if len(total)%d != 0 || !r.Has(kind) {
		panic(fmt.Sprintf("score: %q recalibration of %d variances of %d outcomes", kind, len(total), d))
	}

	newTotal = make([]float64, len(total))

	if cov != nil {
		newCov = make([]float64, len(cov))
	}

	var moment []float64
	if kind == Quantile {
		for _, o := range r.Outcomes {
			moment = append(moment, o.secondMoment())
		}
	}

	for k, t := range total {
		o := r.Outcomes[k%d]
		switch kind {
		case Scaled:
			newTotal[k] = t * o.TotalFactor
		case Isotonic:
			newTotal[k] = o.TotalCurve.At(t)
		default:
			newTotal[k] = t * moment[k%d]
		}
	}

	for k, c := range cov {
		o := r.Outcomes[k%d]
		switch {
		case kind == Scaled && o.CovFactor != nil:
			newCov[k] = c * *o.CovFactor
		case kind == Isotonic && len(o.CovCurve.X) > 0:
			newCov[k] = o.CovCurve.At(c)
		default:
			newCov[k] = c
		}
	}

	return newTotal, newCov
}

// secondMoment is the mean square of (y − μ)/σ under the map of quantiles.
func (o OutcomeRecalibration) secondMoment() float64 {
	const step, half = 0.05, 600 // z up to 30

	sum := 0.0
	for i := -half; i <= half; i++ {
		z := step * float64(i)
		s := o.Sigmas(z)
		sum += s * s * math.Exp(-z*z/2-logSqrt2Pi) * step
	}

	return sum
}

// crpsLevels is the number of quantiles whose pinball losses make a CRPS.
const crpsLevels = 200

// JudgeQuantiles is Judge with the quantiles of y recalibrated: coverage, width, quantile calibration and CRPS, twice
// the mean pinball loss (Gneiting & Ranjan 2011), are those of the law. Numbers that want a density or a variance
// are undefined; what rests on v̂ and e stays. Undefined where no map was
// learned. It panics where r was learned of another number of outcomes.
func (r *Recalibration) JudgeQuantiles(s Set, total, epistemic []float64) Scores {
	if len(r.Outcomes) != s.Out {
		panic(fmt.Sprintf("score: quantiles of %d outcomes for a set of %d", len(r.Outcomes), s.Out))
	}

	out := Judge(s, total, epistemic)
	if s.N == 0 || math.IsNaN(out.Get("width95")) {
		return out
	}

	out.undefine("recalibrated quantiles are no density and no variance", "ence", "ence_ref", "ence_ref95", "nll")

	if !r.Has(Quantile) {
		out.undefine("no quantile map was learned", "crps", "coverage68", "coverage95", "width95")
		out.Quantiles = nil
		return out
	}

	z := residuals(s, total)
	n := float64(len(z))
	out.set("crps", r.pinball(s, total, z))
	l68, l95 := r.limits(z68), r.limits(z95)

	width := 0.0
	for k, v := range total {
		width += (l95.hi[k%s.Out] - l95.lo[k%s.Out]) * math.Sqrt(v) / float64(len(total))
	}

	out.set("width95", width)
	out.set("coverage68", share(l68.within(z), n))
	out.set("coverage95", share(l95.within(z), n))

	for i, q := range out.Quantiles {
		out.Quantiles[i].Observed = share(r.limits(math.Sqrt2*math.Erfinv(2*q.Level-1)).below(z), n)
	}

	return out
}

// limits is the interval that the recalibrated quantiles give instead of
// μ ± half·σ.
func (r *Recalibration) limits(half float64) limits {
	var l limits
	for _, o := range r.Outcomes {
		l.lo, l.hi = append(l.lo, o.Sigmas(-half)), append(l.hi, o.Sigmas(half))
	}

	return l
}

// pinball is the CRPS as twice the mean pinball loss of the recalibrated
// quantiles.
func (r *Recalibration) pinball(s Set, total, z []float64) float64 {
	at := make([][crpsLevels]float64, s.Out)

	var levels [crpsLevels]float64
	for i := range levels {
		levels[i] = (float64(i) + 0.5) / crpsLevels
		for j, o := range r.Outcomes {
			at[j][i] = o.Sigmas(math.Sqrt2 * math.Erfinv(2*levels[i]-1))
		}
	}

	sum, n := 0.0, float64(len(z))
	for k, v := range total {
		sd := math.Sqrt(v)
		for _, z := range z[2*k : 2*k+2] {
			for i, l := range levels {
				d := z - at[k%s.Out][i]
				sum += 2 * max(l*d, (l-1)*d) * sd / (n * crpsLevels)
			}
		}
	}

	return sum
}
