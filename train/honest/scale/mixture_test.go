package scale

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// simpson integrates f by Simpson's rule.
func simpson(f func(float64) float64, start, end float64) float64 {
	const n = 600
	h := (end - start) / n
	sum := 0.0
	for i := range n + 1 {
		w := 4.0
		switch {
		case i == 0, i == n:
			w = 1
		case i%2 == 0:
			w = 2
		}

		sum += w * f(start+float64(i)*h) * h / 3
	}

	return sum
}

// integralInParts integrates f over parts of an interval that are divided at some points.
func integralInParts(f func(float64) float64, start, end float64, points ...float64) float64 {
	sum := 0.0
	for _, p := range points {
		if p > start && p < end {
			sum += simpson(f, start, p)
			start = p
		}
	}

	return sum + simpson(f, start, end)
}

// Compared with: numerical integration of the definitions, ∫ (F(x) − 1{x ≥ r})² dx and ½E|X − X′| = ∫ F(x)·(1 − F(x))
// dx.
func TestCRPS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	left := []Group{draw(r, 5, 1, 0.1), draw(r, 5, 4, 0.1), draw(r, 5, 0.5, 0.1)}
	learned, _ := Learn(left, 1, named(t, "wide"), Noise{Scale: 1.1, Freedom: 7})

	var wide Mixture
	learned.Predictor().SetLaw(&wide, 0.3, 0.7, 0.05)

	for name, c := range map[string]struct {
		law       Mixture
		tolerance float64 // laws of nearly equal variances are merged
	}{
		"one":     {Mixture{variance: []float64{4}, weight: []float64{1}}, 1e-7},
		"three":   {Mixture{variance: []float64{0.04, 1, 30}, weight: []float64{0.3, 0.6, 0.1}}, 1e-7},
		"learned": {wide, 1e-4},
	} {
		// Dispersion merges the variances of the law, so they are copied before.
		variance := slices.Clone(c.law.variance)
		weight := slices.Clone(c.law.weight)
		cdf := func(x float64) float64 {
			sum := 0.0
			for k, v := range variance {
				sum += weight[k] * math.Erfc(-x/math.Sqrt(2*v)) / 2
			}

			return sum
		}

		// Most of a law lies near 0, where its narrowest part needs short steps.
		far := 9 * math.Sqrt(slices.Max(variance))
		integral := func(f func(x float64) float64, start, end float64) float64 {
			return integralInParts(f, start, end, -far/20, 0, far/20)
		}

		dispersion := c.law.Dispersion()
		want := integral(func(x float64) float64 { return cdf(x) * (1 - cdf(x)) }, -far, far)
		assert.InEpsilon(t, want, dispersion, c.tolerance, "%s: dispersion", name)

		for _, residual := range []float64{0.01, 0.3, 2, 7} {
			below := integral(func(x float64) float64 { return cdf(x) * cdf(x) }, -far, residual)
			above := integral(func(x float64) float64 { return (1 - cdf(x)) * (1 - cdf(x)) }, residual, far)
			assert.InEpsilon(t, below+above, c.law.CRPS(residual, dispersion), c.tolerance, "%s: CRPS at %g", name, residual)
		}
	}
}

// Compared with: the closed form for one normal law (Gneiting & Raftery 2007, equation 21).
func TestCRPSOfOneLaw(t *testing.T) {
	one := Mixture{variance: []float64{4}, weight: []float64{1}}
	normal := distuv.UnitNormal
	for _, r := range []float64{0, 0.5, 3} {
		z := r / 2
		want := 2 * (z*(2*normal.CDF(z)-1) + 2*normal.Prob(z) - 1/math.Sqrt(math.Pi))
		assert.InDelta(t, want, one.CRPS(r, one.Dispersion()), 1e-12, "CRPS at %g", r)
	}
}

// uneven returns left-out groups with errors between their claims and their distances, so that all shapes have a share
// of the evidence.
func uneven(r *rand.Rand) (left []Group) {
	for h := range 4 {
		g := Group{Conditions: 6}
		for i := range g.Conditions {
			claim := math.Exp(r.NormFloat64())
			distance := 0.2 * float64(h+i+1)
			g.Claim = append(g.Claim, claim)
			g.Distance = append(g.Distance, distance)
			g.Noise = append(g.Noise, 0.1)
			g.Residual = append(g.Residual, math.Sqrt(math.Sqrt(claim*distance)+0.05)*r.NormFloat64())
		}

		left = append(left, g)
	}

	return left
}

// halfByComponents returns the half width of the central interval of a level by bisection. q has the quantity of each
// shape, total is the sum of the weights of the components.
func halfByComponents(list []Component, q [shapes]float64, noise, level, total float64) float64 {
	low := 0.0
	high := 1000.0
	for range 60 {
		h := (low + high) / 2
		above := 0.0
		for _, part := range list {
			v := part.Lambda*q[part.Shape] + part.Kappa*noise
			above += part.Weight * math.Erfc(h/math.Sqrt(2*v)) / 2
		}

		if above > (1-level)/2*total {
			low = h
		} else {
			high = h
		}
	}

	return low
}

// The components describe the law completely. Compared with: sums over the components, with the quantities of the
// shapes by their definitions. The variance of the mean is Σ w·λ·q, and a share of (1 − level)/2 of Σ w·N(0, λq + κσ²)
// lies above the half width.
func TestComponents(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))

	floor := named(t, "networks")
	floor.ClaimFloor = 0.5
	floor.ClaimRatio = 0.2 // both count at the claims below
	for _, c := range []struct {
		prior     Prior
		noise     Noise
		tolerance float64 // laws of nearly equal variances are merged where κ has a law
	}{
		{named(t, "wide"), Exact, 1e-8},
		{floor, Exact, 1e-8},
		{named(t, "library"), Noise{Scale: 1.4, Freedom: 6}, 1e-4},
	} {
		s, _ := Learn(uneven(r), 1, c.prior, c.noise)
		p := s.Predictor()
		list := p.Components()
		total := 0.0
		byShape := map[Shape]float64{}
		for _, part := range list {
			total += part.Weight
			byShape[part.Shape] += part.Weight
		}

		require.InDelta(t, 1, total, 1e-7, "%s: sum of the weights", c.prior.Name)
		require.Len(t, byShape, int(shapes), "%s: shapes", c.prior.Name)
		if c.prior.ClaimFloor > 0 {
			require.Greater(t, s.Factor, 1., "factor of claims, which this test needs")
			require.Greater(t, s.Floor, 0.1, "floor of claims, which this test needs")
		}

		var m Mixture
		for _, x := range []struct{ claim, distance, noise float64 }{{0.3, 0.7, 0.1}, {0.001, 0.05, 0.4}, {2, 1, 0}} {
			claim := s.Factor * max(x.claim, s.Floor)
			q := [shapes]float64{claim, math.Sqrt(claim * s.Ratio * x.distance), s.Ratio * x.distance}
			p.SetLaw(&m, x.claim, x.distance, x.noise)

			epistemic := 0.0
			for _, part := range list {
				epistemic += part.Weight * part.Lambda * q[part.Shape]
			}

			assert.InEpsilon(t, epistemic, m.Epistemic(), 1e-12, "%s, %+v: variance of the mean", c.prior.Name, x)
			for _, level := range []float64{0.68, 0.95, 0.98} {
				want := halfByComponents(list, q, x.noise, level, total)
				assert.InEpsilon(t, want, m.Half(level), c.tolerance, "%s, %+v: half width at %g", c.prior.Name, x, level)
			}
		}
	}
}

// Compared with: Mixture.Half, which solves each law. Expected: the same half widths up to 5·10⁻⁵, which interpolation
// and merged variances leave, and NaN for a noise that is not a number.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	left := []Group{draw(r, 20, 1, 0.1), draw(r, 20, 4, 0.1), draw(r, 20, 0.5, 0.1)}
	for _, freedom := range []float64{0, 7, 200} {
		for _, groups := range [][]Group{left, nil} { // nil: the prior alone, by which only the claims count
			s, _ := Learn(groups, 1, named(t, "wide"), Noise{Scale: 1.1, Freedom: freedom})
			var m Mixture
			p := s.Predictor()
			table := s.Table(0.95)
			for k := range 300 {
				claim := math.Exp(r.NormFloat64() - 3)
				distance := math.Exp(r.NormFloat64() - 1)
				noise := math.Exp(r.NormFloat64() - 4)
				if k == 0 {
					noise = 0
				}

				p.SetLaw(&m, claim, distance, noise)
				want := m.Half(0.95)
				assert.InDelta(t, want, table.Half(claim, distance, noise), 5e-5*want,
					"claim %g, distance %g, noise %g", claim, distance, noise)
			}

			assert.True(t, math.IsNaN(table.Half(0.1, 0.1, math.NaN())), "half width with a noise of NaN")
		}
	}
}

// Expected: the level from the half width of a level, and the error function for one normal law.
func TestInside(t *testing.T) {
	m := Mixture{variance: []float64{0.04, 1, 30}, weight: []float64{0.3, 0.6, 0.1}}
	for _, level := range []float64{0.05, 0.5, 0.68, 0.95, 0.99} {
		assert.InDelta(t, level, m.Inside(m.Half(level)), 1e-8, "level %g", level)
	}

	// The weights of negligible laws are left out, so that the sum of the weights may be below 1.
	m = Mixture{variance: []float64{4}, weight: []float64{0.5}}
	assert.InDelta(t, math.Erf(3/(2*math.Sqrt2)), m.Inside(3), 1e-12)
}
