package score

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/optimize"
)

// BetaMap recalibrates a distribution: where the normal law, its variance times
// lawFactor, gives y the level τ, the recalibrated one gives it
//
//	c(τ) = 1/(1 + e^−η),  η = A·ln τ − B·ln(1−τ) + C,
//
// with A and B positive (Kull et al. 2017; of distributions: Song et al. 2019).
// A = B = 1, C = 0 changes nothing. Without that factor the family holds no law
// twice as wide: its 95 % interval would be 1.88 times as wide. Levels are taken as τ = Φ(z), so that the map
// goes on as far out as numbers do.
type BetaMap struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
	C float64 `json:"c"`
}

func (m BetaMap) ok() bool {
	return m.A > 0 && m.B > 0 && !math.IsInf(m.A+m.B, 1) && !math.IsNaN(m.C) && !math.IsInf(m.C, 0)
}

// logit is η at τ = Φ(z).
func (m BetaMap) logit(z float64) float64 { return m.eta(logNormCDF(z), logNormCDF(-z)) }

func (m BetaMap) eta(below, above float64) float64 { return m.A*below - m.B*above + m.C }

// logDensity is ln dc/dτ.
func (m BetaMap) logDensity(below, above float64) float64 {
	e := m.eta(below, above)
	return -logAddExp(0, e) - logAddExp(0, -e) + logAddExp(math.Log(m.A)-below, math.Log(m.B)-above)
}

// sigmas solves c(Φ(t)) = Φ(z) for t.
func (m BetaMap) sigmas(z float64) float64 {
	want := logNormCDF(z) - logNormCDF(-z)

	lo, hi := -1.0, 1.0
	for m.logit(lo) > want {
		lo *= 2
	}

	for m.logit(hi) < want {
		hi *= 2
	}

	for {
		mid := lo + (hi-lo)/2
		if hi-lo < 1e-12*(1+math.Abs(mid)) || mid <= lo || mid >= hi {
			return mid
		}

		if m.logit(mid) < want {
			lo = mid
		} else {
			hi = mid
		}
	}
}

// grid holds the values of z over which recalibrated laws are integrated, with
// ln Φ(z) and ln Φ(−z).
var grid = sync.OnceValue(func() (g struct{ z, below, above []float64 }) {
	for i := -gridHalf; i <= gridHalf; i++ {
		z := gridStep * float64(i)
		g.z, g.below, g.above = append(g.z, z), append(g.below, logNormCDF(z)), append(g.above, logNormCDF(-z))
	}

	return g
})

const (
	gridStep = 0.05
	gridHalf = 600 // z up to 30: a law four times as wide as claimed ends at 8
)

// secondMoment is the mean square of (y − μ)/σ under the recalibrated law.
func (m BetaMap) secondMoment() float64 {
	grid, sum := grid(), 0.0
	for i, z := range grid.z {
		log := m.logDensity(grid.below[i], grid.above[i]) - z*z/2 - logSqrt2Pi
		sum += z * z * math.Exp(log) * gridStep
	}

	return sum
}

// crps returns the CRPS of the recalibrated law at two values of z, in units of
// σ: the integral of F² below the value and of (1 − F)² above it (Gneiting &
// Raftery 2007, eq. 20) by trapezoids.
func (m BetaMap) crps(z1, z2 float64) (float64, float64) {
	grid := grid()
	n := len(grid.z)
	below, above := make([]float64, n), make([]float64, n) // ∫ F² and ∫ (1−F)² up to each point

	f, g := 0.0, 1.0
	for i := range n {
		c := 1 / (1 + math.Exp(-m.eta(grid.below[i], grid.above[i])))
		p, q := c*c, (1-c)*(1-c)
		if i > 0 {
			below[i] = below[i-1] + gridStep*(f+p)/2
			above[i] = above[i-1] + gridStep*(g+q)/2
		}

		f, g = p, q
	}

	at := func(z float64) float64 {
		if out := math.Abs(z) - grid.z[n-1]; out > 0 { // beyond, F is 0 or 1
			z = math.Copysign(grid.z[n-1], z)
			if z > 0 {
				return out + below[n-1]
			}

			return out + above[n-1]
		}

		i := min(int((z-grid.z[0])/gridStep), n-2)
		t := (z - grid.z[i]) / gridStep

		return below[i] + t*(below[i+1]-below[i]) + above[n-1] - above[i] - t*(above[i+1]-above[i])
	}

	return at(z1), at(z2)
}

var logSqrt2Pi = 0.5 * math.Log(2*math.Pi)

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

func logAddExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// levels are the levels of residuals, as logarithms from below and from above.
type levels struct{ below, above []float64 }

func levelsOf(z []float64) levels {
	l := levels{make([]float64, len(z)), make([]float64, len(z))}
	for i, v := range z {
		l.below[i], l.above[i] = logNormCDF(v), logNormCDF(-v)
	}

	return l
}

// gradient returns −ln of the density dc/dτ at level i, and its derivatives by
// ln A, ln B and C.
func (l levels) gradient(i int, m BetaMap) (loss float64, by [3]float64) {
	u, v := l.below[i], l.above[i]
	e := m.eta(u, v)
	p, q := math.Log(m.A)-u, math.Log(m.B)-v
	sum := logAddExp(p, q)
	tilt := 1 - 2/(1+math.Exp(-e)) // derivative of ln c + ln(1 − c) by η
	by = [3]float64{
		-tilt*m.A*u - math.Exp(p-sum),
		tilt*m.B*v - math.Exp(q-sum),
		-tilt,
	}

	return logAddExp(0, e) + logAddExp(0, -e) - sum, by
}

// betaPrior is the standard deviation of ln A, ln B and C beforehand: wide enough
// for any claim, and it keeps a map of few values finite.
const betaPrior = 3.0

// fitBeta maximises the likelihood of residuals z; each counts a half, because
// the two of a pair share their error.
func fitBeta(z []float64) (BetaMap, error) {
	l := levelsOf(z)
	of := func(t []float64) BetaMap { return BetaMap{math.Exp(t[0]), math.Exp(t[1]), t[2]} }
	t, _, err := minimise(3, func(t, grad []float64) float64 {
		m, loss := of(t), 0.0
		for k := range grad {
			grad[k] = t[k] / (betaPrior * betaPrior)
			loss += t[k] * t[k] / (2 * betaPrior * betaPrior)
		}

		for i := range z {
			f, by := l.gradient(i, m)
			loss += f / 2

			for k := range grad {
				grad[k] += by[k] / 2
			}
		}

		return loss
	})

	m := of(t)
	if err == nil && !m.ok() {
		err = fmt.Errorf("the map is %v", m)
	}

	return m, err
}

// minimise finds the least value of f, which writes its gradient, from zero.
func minimise(n int, f func(t, grad []float64) float64) (t []float64, value float64, err error) {
	var at []float64
	last, slope := 0.0, make([]float64, n)
	eval := func(t []float64) { // value and gradient are asked for one after the other
		if at == nil || !slices.Equal(at, t) {
			at = append(at[:0], t...)
			last = f(t, slope)
		}
	}

	problem := optimize.Problem{
		Func: func(t []float64) float64 { eval(t); return last },
		Grad: func(grad, t []float64) { eval(t); copy(grad, slope) },
	}

	r, err := optimize.Minimize(problem, make([]float64, n), &optimize.Settings{
		MajorIterations: 200, GradientThreshold: 1e-6,
	}, &optimize.LBFGS{})
	if r == nil { // a line search that cannot improve any more is an end, not a failure
		return make([]float64, n), 0, fmt.Errorf("maximise likelihood: %w", err)
	}

	return r.X, r.F, nil
}

// judgeBeta sets the numbers of a law that has a density; total are the variances
// that were claimed.
func (r *Recalibration) judgeBeta(kind string, s Set, total []float64, out *Scores) {
	z := residuals(s, total)
	n := float64(len(z))
	limit := func(level float64) float64 { return math.Log(level / (1 - level)) }
	half68, half95 := limit(math.Exp(logNormCDF(z68))), limit(math.Exp(logNormCDF(z95)))
	var nll, crps, width float64

	in68, in95, below := 0, 0, make([]int, len(quantileLevels))
	for k, v := range total {
		o := r.Outcomes[k%s.Out]
		m, widen := o.betaMap(kind, s.Mu[k], v), math.Sqrt(o.lawFactor())
		sd := widen * math.Sqrt(v)
		width += (m.sigmas(z95) - m.sigmas(-z95)) * sd / float64(len(total))
		c1, c2 := m.crps(z[2*k]/widen, z[2*k+1]/widen)
		crps += (c1 + c2) * sd / n

		for _, z := range z[2*k : 2*k+2] {
			z /= widen
			under, over := logNormCDF(z), logNormCDF(-z)
			nll += (0.5*z*z + math.Log(sd) + logSqrt2Pi - m.logDensity(under, over)) / n

			at := m.eta(under, over)
			if math.Abs(at) <= half68 {
				in68++
			}

			if math.Abs(at) <= half95 {
				in95++
			}

			for i, l := range quantileLevels {
				if at < limit(l) {
					below[i]++
				}
			}
		}
	}

	out.set("nll", nll)
	out.set("crps", crps)
	out.set("width95", width)
	out.set("coverage68", float64(in68)/n)
	out.set("coverage95", float64(in95)/n)

	for i := range out.Quantiles {
		out.Quantiles[i].Observed = float64(below[i]) / n
	}
}
