package honest_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train"
	"doubletake/train/gp"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// someRotors simulates six rotors with two outcomes. The last input differs from 0 on one rotor only, so that it is
// constant if this rotor is left out.
func someRotors() set {
	rng := rand.New(rand.NewPCG(6, 6))
	s := set{name: "rotors", data: triplets.Set{In: 3, Out: 2}, groupInputs: []int{0}}

	var blades []float64
	for n := 2.0; n < 8; n++ {
		for k := range 12 {
			x := float64(k) / 2
			odd := 0.0
			if n == 4 && k%2 == 0 {
				odd = 1
			}

			s.data.X = append(s.data.X, n, x, odd)
			blades = append(blades, n)
			for j := range 2 {
				y := math.Sin(x+float64(j)) + 0.3*n + 0.2*math.Cos(n*x/6) + 0.2*odd
				s.data.Y1 = append(s.data.Y1, y+0.1*rng.NormFloat64())
				s.data.Y2 = append(s.data.Y2, y+0.1*rng.NormFloat64())
			}

			s.data.N++
		}
	}

	s.groups = honest.ByValue("blades", blades, 0)

	return s
}

// prior returns a built-in prior of the scale of new groups.
func prior(t testing.TB, name string) scale.Prior {
	t.Helper()

	p, err := scale.Named(name)
	require.NoError(t, err)

	return p
}

// calibrated returns the calibration of a split, and the intervals of its held-out group.
func calibrated(t testing.TB, s set, b base, split int) (*interval.Calibration, *interval.Prediction) {
	t.Helper()
	sp := s.groups.Each()[split]
	left, raw := b(t, s, sp)
	c, err := honest.Calibrate(s.data, s.groups, sp.Train, left, honest.Options{Prior: prior(t, "wide")})
	require.NoError(t, err)

	return c, c.Predict(rowsOf(s.data.X, s.data.In, sp.Test), rowsOf(s.groups.Z, 1, sp.Test), nil, raw)
}

// The outcomes of the test group are set to 1e6. Expected: the calibration and the intervals stay the same to the
// bit, with each base. Half widths are below 20 deviations of the outcomes, although an input is constant without one
// group.
func TestBasesDoNotSeeTheTestGroup(t *testing.T) {
	cfg := train.DefaultConfig()
	cfg.Epochs = 2
	networks := func() base {
		return trained(func(s set) honest.FitFunc {
			return func(ctx context.Context, rows []int) (honest.Predictor, error) {
				e := honest.Ensemble{Train: network(cfg)}
				return e.Fit(ctx, someRows(s.data, rows))
			}
		})
	}

	bases := map[string]func() base{"closed form": func() base { return closedForm }, "ensemble": networks}
	if longtest.IsLong() {
		bases["refitted"] = refitted
	}

	for name, b := range bases {
		s := someRotors()
		const split = 3
		c, p := calibrated(t, s, b(), split)
		bad := s
		bad.data.Y1 = slices.Clone(s.data.Y1)
		bad.data.Y2 = slices.Clone(s.data.Y2)
		for i, h := range s.groups.Group {
			if h == split {
				for j := range 2 {
					bad.data.Y1[2*i+j] = 1e6
					bad.data.Y2[2*i+j] = 1e6
				}
			}
		}

		again, againPredicted := calibrated(t, bad, b(), split)
		assert.Equal(t, c, again, "calibration, %s", name)
		assert.Equal(t, p.Mu, againPredicted.Mu, "means, %s", name)
		assert.Equal(t, p.Half, againPredicted.Half, "half widths, %s", name)
		assert.Equal(t, p.Half68, againPredicted.Half68, "half widths at .68, %s", name)
		for k, h := range p.Half {
			assert.Less(t, h, 20*c.Deviation[k%2], "half width of outcome %d, %s", k%2, name)
		}
	}
}

// The toy of the paper is measured at x < 5. Expected: the intervals of the additive process at x ≥ 5 contain at least
// 90 % of the values there. Compared with: the law that the toy is drawn from.
func TestToyOutside(t *testing.T) {
	longtest.Skip(t, "minutes of processor time")

	gammas := []float64{1.5}
	if longtest.IsStudy() {
		gammas = []float64{1, 1.5, 3}
	}

	for _, gamma := range gammas {
		rng := rand.New(rand.NewPCG(7, uint64(10*gamma)))
		s := set{name: "toy", data: triplets.Set{N: 1000, In: 1, Out: 1}, groupInputs: []int{0}}
		block := make([]float64, s.data.N)

		test := make([]bool, s.data.N)
		for i := range s.data.N {
			x := 12*rng.Float64() - 6
			draw := func() float64 { return x*math.Sin(x) + gamma*math.Exp(-x*x/2)*rng.NormFloat64() }
			s.data.X = append(s.data.X, x)
			s.data.Y1 = append(s.data.Y1, draw())
			s.data.Y2 = append(s.data.Y2, draw())
			block[i] = math.Floor((x + 6) / 1.5)
			test[i] = x >= 5
		}

		s.groups = honest.ByValue("x", block, 0)
		s.groups.Kind = interval.Blocks
		s.groups.Z = s.data.X
		sp := honest.NewSplit(s.groups, "outside", test)
		left, raw := closedForm(t, s, sp)
		o := honest.Options{Prior: prior(t, "wide"), SawGroups: true, FromGroup: []bool{true}}
		c, err := honest.Calibrate(s.data, s.groups, sp.Train, left, o)
		require.NoError(t, err)

		x := rowsOf(s.data.X, 1, sp.Test)
		r := c.Judge(c.Predict(x, x, nil, raw), raw.Noise, rowsOf(s.data.Y1, 1, sp.Test), rowsOf(s.data.Y2, 1, sp.Test),
			sp.Test)
		t.Logf("γ = %g: K = %d, S %.2f → %.2f, coverage %.3f → %.3f, width over spread %.2f",
			gamma, c.K, r.RatioBefore, r.RatioAfter, r.Before.Coverage, r.After.Coverage, r.WidthOverSpread)

		assert.GreaterOrEqual(t, r.After.Coverage, 0.9, "coverage with γ = %g", gamma)
	}
}

var _ honest.Predictor = (*gp.Model)(nil)
