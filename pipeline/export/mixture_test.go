package export

import (
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/honest/scale"
)

// The polynomial is that of math.Erfc.
func TestScaledErfc(t *testing.T) {
	for x := 0.0; x < 25; x += 0.01 {
		u, p := (x-3)/(x+3), 0.0
		for k, c := range scaledErfc {
			p += c * math.Pow(u, float64(k))
		}

		want := (1 + 2*x) * math.Exp(x*x) * math.Erfc(x)
		must.Not(t, !(math.Abs(p/want-1) < 1e-11), "at %g: %.15g, expected %.15g", x, p, want)
	}
}

// learned is the scale after groups whose errors and whose noise differ.
func learned(t *testing.T, groups int) *scale.Scale {
	t.Helper()

	prior := must.Get(scale.Named("wide"))(t)

	var left []scale.Group
	var ratio []float64
	var values []int
	rng := rand.New(rand.NewPCG(1, 2))
	for range groups {
		const n = 20
		g, lambda := scale.Group{Conditions: n}, math.Exp(0.5+rng.NormFloat64())
		for range n {
			claim, noise := 0.05*math.Exp(rng.NormFloat64()), 0.01*math.Exp(rng.NormFloat64())
			g.Claim, g.Noise = append(g.Claim, claim), append(g.Noise, noise)
			g.Distance = append(g.Distance, 0.1+rng.Float64())
			g.Residual = append(g.Residual, rng.NormFloat64()*math.Sqrt(lambda*claim+noise/2))
		}

		left, values = append(left, g), append(values, n)
		ratio = append(ratio, math.Exp(0.8*rng.NormFloat64()))
	}

	s, _ := scale.Learn(left, 1, prior, scale.PairNoise(ratio, values))

	return s
}

// The reduced laws have the tails of all laws, at any level, claim and noise.
func TestReduced(t *testing.T) {
	for _, groups := range []int{0, 2, 6} {
		s := learned(t, groups)
		all := s.Predictor().Components()
		few := reduced(all)

		sum := 0.0
		for _, k := range few {
			sum += k.Weight
		}

		must.Not(t, len(few) > 3*lambdas*kappas || math.Abs(sum-1) > 1e-12,
			"%d groups: %d laws of the weight %g from %d", groups, len(few), sum, len(all))

		rng, predictor := rand.New(rand.NewPCG(3, 4)), s.Predictor()

		var m scale.Mixture
		for range 50 {
			claim, distance := 0.05*math.Exp(2*rng.NormFloat64()), rng.Float64()
			noise := 0.01 * math.Exp(3*rng.NormFloat64())
			q := [3]float64{claim, math.Sqrt(claim * s.Ratio * distance), s.Ratio * distance}
			predictor.At(&m, claim, distance, noise)

			for _, level := range []float64{0.5, 0.95, 0.9999} {
				h := m.Half(level)
				outside := func(list []scale.Component) (p float64) {
					for _, k := range list {
						p += k.Weight * math.Erfc(h/math.Sqrt(2*(k.Lambda*q[k.Shape]+k.Kappa*noise)))
					}
					return p
				}

				got, want := outside(few), outside(all)
				if !(math.Abs(got/want-1) < 2e-5) {
					t.Errorf("%d groups, claim %g, distance %g, noise %g, level %g: %.9g outside, expected %.9g", groups, claim,
						distance, noise, level, got, want)
				}
			}
		}
	}
}
