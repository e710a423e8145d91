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
func simpson(f func(float64) float64, from, to float64) (sum float64) {
	const n = 600

	h := (to - from) / n
	for i := range n + 1 {
		w := 4.0
		switch {
		case i == 0, i == n:
			w = 1
		case i%2 == 0:
			w = 2
		}

		sum += w * f(from+float64(i)*h) * h / 3
	}

	return sum
}

// Witness: numerical integration of the definitions, ∫ (F(x) − 1{x ≥ r})² dx and
// ½E|X − X′| = ∫ F(x)·(1 − F(x)) dx. For one normal law Gneiting & Raftery (2007, eq. 21)
// have the closed form.
func TestCRPS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	left := []Group{draw(r, 5, 1, 0.1), draw(r, 5, 4, 0.1), draw(r, 5, 0.5, 0.1)}
	learned, _ := Learn(left, 1, named(t, "wide"), Noise{Scale: 1.1, Freedom: 7})

	var wide Mixture
	learned.Predictor().At(&wide, 0.3, 0.7, 0.05)

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
		cdf := func(x float64) (f float64) {
			for k, v := range variance {
				f += weight[k] * math.Erfc(-x/math.Sqrt(2*v)) / 2
			}
			return f
		}

		// Most of a law is near 0, where the narrowest of its parts has its scale.
		far := 9 * math.Sqrt(slices.Max(variance))
		integral := func(f func(x float64) float64, from, to float64) (sum float64) {
			cuts := []float64{from}
			for _, x := range []float64{-far / 20, 0, far / 20} {
				if x > from && x < to {
					cuts = append(cuts, x)
				}
			}

			cuts = append(cuts, to)
			for i := range len(cuts) - 1 {
				sum += simpson(f, cuts[i], cuts[i+1])
			}

			return sum
		}

		dispersion := c.law.Dispersion()

		want := integral(func(x float64) float64 { return cdf(x) * (1 - cdf(x)) }, -far, far)
		assert.InDelta(t, 1, dispersion/want, c.tolerance, "%s: dispersion %.9g, by integration %.9g", name, dispersion, want)

		for _, at := range []float64{0.01, 0.3, 2, 7} {
			want := integral(func(x float64) float64 { return cdf(x) * cdf(x) }, -far, at) +
				integral(func(x float64) float64 { return (1 - cdf(x)) * (1 - cdf(x)) }, at, far)
			if got := c.law.CRPS(at, dispersion); math.Abs(got-want) > c.tolerance*want {
				t.Errorf("%s: CRPS %.9g at %g, by integration %.9g", name, got, at, want)
			}
		}
	}

	one := Mixture{variance: []float64{4}, weight: []float64{1}}
	for _, at := range []float64{0, 0.5, 3} {
		z := at / 2
		n := distuv.UnitNormal

		want := 2 * (z*(2*n.CDF(z)-1) + 2*n.Prob(z) - 1/math.Sqrt(math.Pi))
		if got := one.CRPS(at, one.Dispersion()); math.Abs(got-want) > 1e-12 {
			t.Errorf("one normal law: CRPS %.12g at %g, closed form %.12g", got, at, want)
		}
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

// The components are the law: Σ w·λ·q is its epistemic variance, and the half width leaves
// (1 − level)/2 of Σ w·N(0, λq + κσ²) above it. Witness: these sums here, with the shapes by
// their definitions, and bisection.
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
		used := map[Shape]float64{}
		for _, part := range list {
			total += part.Weight
			used[part.Shape] += part.Weight
		}

		require.InDelta(t, 1, total, 1e-7, "%s: weights sum to %.9g, of %d shapes", c.prior.Name, total, len(used))
		assert.Len(t, used, int(shapes), "%s: weights sum to %.9g, of %d shapes", c.prior.Name, total, len(used))

		if c.prior.ClaimFloor > 0 && !(s.Factor > 1 && s.Floor > 0.1) {
			t.Errorf("factor %g, floor %g: this test wants both to count", s.Factor, s.Floor)
		}

		var m Mixture
		for _, at := range [][3]float64{{0.3, 0.7, 0.1}, {0.001, 0.05, 0.4}, {2, 1, 0}} {
			claim := s.Factor * max(at[0], s.Floor)
			distance := at[1]
			noise := at[2]
			q := [shapes]float64{claim, math.Sqrt(claim * s.Ratio * distance), s.Ratio * distance}
			p.At(&m, at[0], at[1], at[2])

			epistemic := 0.0
			for _, part := range list {
				epistemic += part.Weight * part.Lambda * q[part.Shape]
			}

			if math.Abs(m.Epistemic()/epistemic-1) > 1e-12 {
				t.Errorf("%s: epistemic variance %.12g, of the components %.12g", c.prior.Name, m.Epistemic(), epistemic)
			}

			for _, level := range []float64{0.68, 0.95, 0.98} {
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

				if got := m.Half(level); math.Abs(got/low-1) > c.tolerance {
					t.Errorf("%s, level %g: half width %.9g, of the components %.9g", c.prior.Name, level, got, low)
				}
			}
		}
	}
}

// The half widths of a Table agree with Mixture.Half, which solves each law, to as many digits as merging of variances
// leaves. If only the claims count, they do not depend on the distance.
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

				p.At(&m, claim, distance, noise)
				want := m.Half(0.95)
				assert.InDelta(t, want, table.Half(claim, distance, noise), 5e-5*want,
					"claim %g, distance %g, noise %g", claim, distance, noise)
			}

			if nan := table.Half(0.1, 0.1, math.NaN()); !math.IsNaN(nan) {
				t.Errorf("of noise that is no number: %g", nan)
			}
		}
	}
}

// Inside undoes Half: an interval of a level has that probability. For one normal law it is the error function.
func TestInside(t *testing.T) {
	m := Mixture{variance: []float64{0.04, 1, 30}, weight: []float64{0.3, 0.6, 0.1}}
	for _, level := range []float64{0.05, 0.5, 0.68, 0.95, 0.99} {
		assert.InDelta(t, level, m.Inside(m.Half(level)), 1e-8, "level %g", level)
	}

	// The weights of negligible laws are left out, so that the sum of the weights may be below 1.
	m = Mixture{variance: []float64{4}, weight: []float64{0.5}}
	assert.InDelta(t, math.Erf(3/(2*math.Sqrt2)), m.Inside(3), 1e-12)
}
