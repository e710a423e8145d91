package baseline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train"
	"doubletake/train/triplets"
)

var ctx = context.Background()

// toy draws pairs of y = (sin 2x, x/2) with a gap: |x| in [1, 3].
func toy(n int, seed uint64) triplets.Set {
	rng := rand.New(rand.NewPCG(seed, 7))

	d := triplets.Set{N: n, In: 1, Out: 2}
	for i := range n {
		x := 1 + 2*rng.Float64()
		if i%2 == 0 {
			x = -x
		}

		d.X = append(d.X, x)
		d.Group = append(d.Group, i%3)
		for _, y := range []*[]float64{&d.Y1, &d.Y2} {
			*y = append(*y, 100+10*math.Sin(2*x)+3*rng.NormFloat64(), x/2+0.3*rng.NormFloat64())
		}
	}

	return d
}

func settings() Settings {
	c := train.DefaultConfig()
	c.Epochs = 500
	c.Batch = 16
	c.Hidden = []int{32, 32}
	return Settings{Config: c, Members: 3, Samples: 100, Estimate: train.EstimateOptions{Samples: 2}}
}

// fitted is a method fitted in a moment.
func fitted(t *testing.T, name string, data triplets.Set, seed uint64) Predictor {
	t.Helper()

	s := settings()
	s.Config.Epochs = 6
	s.Config.Hidden = []int{8}
	s.Samples = 4

	m, err := New(name, s)
	require.NoError(t, err)

	p, err := m.Fit(ctx, data, seed)
	require.NoError(t, err)

	return p
}

func predicted(t *testing.T, p Predictor, x []float64) *Prediction {
	t.Helper()

	r, err := p.Predict(ctx, x)
	require.NoError(t, err)

	return r
}

// Every method learns the function in its own units; those that promise it are less certain outside of the data than
// within.
func TestMethods(t *testing.T) {
	data := toy(300, 1)
	known := []float64{-2.5, -2, -1.5, 1.3, 1.7, 2.2, 2.7}
	outside := []float64{-9, -7, 7, 9}
	types := map[string]string{
		"pair": "baseline.Pair", "ensemble": "baseline.Ensemble", "zigzag": "baseline.ZigZag", "gp": "baseline.GP",
	}

	for name, want := range types {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m, err := New(name, settings())
			require.NoError(t, err)
			assert.Equal(t, want, fmt.Sprintf("%T", m), "method %s is a", name)

			p, err := m.Fit(ctx, data, 4)
			require.NoError(t, err)

			r := predicted(t, p, append(slices.Clone(known), outside...))
			mean := func(from, to, j int) (s float64) {
				for i := from; i < to; i++ {
					s += math.Abs(r.Epistemic[2*i+j]) / float64(to-from)
				}
				return s
			}

			for j := range 2 {
				// What the covariance of two answers does far from the data is a
				// finding, not a promise: it is left out.
				if in, out := mean(0, len(known), j), mean(len(known), r.N, j); out < 2*in && name != "pair" {
					t.Errorf("outcome %d: v̂ = %v within, %v outside of the data", j, in, out)
				}
			}

			for i, x := range known {
				if d := r.Mu[2*i] - 100 - 10*math.Sin(2*x); math.Abs(d) > 3 {
					t.Errorf("x = %v: mean %v off", x, d)
				}

				// Noise variances 9 and 0.09; the epistemic part is a fraction of them here.
				for j, want := range []float64{9, 0.09} {
					if tot := r.Total[2*i+j]; tot < want/2 || tot > 2.5*want {
						t.Errorf("x = %v: total variance %v of outcome %d, the noise alone has %v", x, tot, j, want)
					}
				}
			}
		})
	}
}

// C is what the two outcomes of a pair share: with couples all of the total, with triplets of the same law little.
func TestPairOfCouples(t *testing.T) {
	share := func(data triplets.Set) (sum float64) {
		s := settings()
		s.Config.Epochs = 300

		p, err := Pair{s.Config, s.Estimate}.Fit(ctx, data, 4)
		require.NoError(t, err)

		r := predicted(t, p, []float64{-2.5, -2, -1.5, 1.3, 1.7, 2.2, 2.7})
		for k, v := range r.Total {
			sum += r.Epistemic[k] / v / float64(len(r.Total))
		}

		return sum
	}

	couples := toy(300, 1)
	couples.Couples = true
	couples.Y2 = couples.Y1
	c := share(couples)
	t3 := share(toy(300, 1))
	require.GreaterOrEqual(t, c, 0.7, "v̂ is %.2f of the total on couples, %.2f on triplets", c, t3)
	assert.LessOrEqual(t, t3, 0.3, "v̂ is %.2f of the total on couples, %.2f on triplets", c, t3)
}

// The pair model's numbers are those of Estimate, in the outcomes' units.
func TestPairIsEstimate(t *testing.T) {
	data := toy(100, 3)
	s := settings()
	s.Config.Epochs = 20
	p, err := Pair{s.Config, s.Estimate}.Fit(ctx, data, 5)
	require.NoError(t, err)

	m := p.(PairPredictor).Model
	x := []float64{-2, 0.5, 8}
	r, err := p.Predict(ctx, x)
	require.NoError(t, err)

	mu, v := m.Predict(x)
	s.Estimate.Seed = derive(5, 0) // the draws for raw move the last digits of C
	e, err := m.Estimate(ctx, x, s.Estimate)
	require.NoError(t, err)

	std := m.OutcomeScale().Std
	for k := range mu {
		if c := e.Cov[k] * std[k%2] * std[k%2]; math.Abs(r.Mu[k]-mu[k]) > 1e-9*math.Abs(mu[k]) ||
			math.Abs(r.Total[k]-v[k]) > 1e-9*v[k] || math.Abs(r.Epistemic[k]-c) > 1e-12*math.Abs(c) {
			t.Errorf("value %d: %v ± %v (C %v), want %v ± %v (C %v)", k, r.Mu[k], r.Total[k], r.Epistemic[k], mu[k], v[k], c)
		}
	}
}

// The ensemble's moments are those of the equal mixture of its members'
// normals: mean μ̄, variance E[σ² + μ²] − μ̄², computed here member by member.
func TestEnsembleIsMixture(t *testing.T) {
	data := toy(60, 2)
	s := settings()
	s.Config.Epochs = 5
	p, err := Ensemble{s.Config, 4}.Fit(ctx, data, 9)
	require.NoError(t, err)

	x := []float64{-2, 0, 5}
	r, err := p.Predict(ctx, x)
	require.NoError(t, err)

	mean := make([]float64, 6)
	square := make([]float64, 6)
	noise := make([]float64, 6)
	for k := range 4 {
		c := s.Config
		c.Seed = derive(9, k)
		m, _, err := train.FitSingle(ctx, data, c, nil)
		require.NoError(t, err)

		mu, v := m.Predict(x)
		for i := range mu {
			mean[i] += mu[i] / 4
			square[i] += (v[i] + mu[i]*mu[i]) / 4
			noise[i] += v[i] / 4
		}
	}

	for i := range mean {
		want := square[i] - mean[i]*mean[i]
		if math.Abs(r.Mu[i]-mean[i]) > 1e-9 || math.Abs(r.Total[i]-want) > 1e-6*want ||
			math.Abs(r.Total[i]-r.Epistemic[i]-noise[i]) > 1e-9*want {
			t.Errorf("value %d: %v ± %v (v̂ %v), mixture %v ± %v", i, r.Mu[i], r.Total[i], r.Epistemic[i], mean[i], want)
		}
	}
}

// Replicates are collapsed: a condition measured 2r times counts with noise/2r,
// so that r equal rows give the result of one row with that noise.
func TestCollapse(t *testing.T) {
	d := triplets.Set{N: 3, In: 1, Out: 1, X: []float64{1, 2, 1}, Y1: []float64{1, 5, 2}, Y2: []float64{3, 5.5, 6}}
	c := collapse(d)
	if c.n != 2 || !slices.Equal(c.x, []float64{1, 2}) || !slices.Equal(c.y, []float64{3, 5.25}) ||
		!slices.Equal(c.count, []float64{4, 2}) {
		t.Errorf("%+v", c)
	}

	// Weights by hand: (½·4 + 1·8)/3.
	d.Weight = []float64{0.5, 1, 1}
	if c = collapse(d); !slices.Equal(c.count, []float64{3, 2}) || math.Abs(c.y[0]-10.0/3) > 1e-12 {
		t.Errorf("with weights: %+v", c)
	}
}

func TestMethodErrors(t *testing.T) {
	_, err := New("forest", Settings{})
	assert.ErrorContains(t, err, "ensemble")

	constant := toy(50, 1)
	for i := range constant.N {
		constant.Y1[2*i+1] = 4
		constant.Y2[2*i+1] = 4
	}

	one := triplets.Set{N: 2, In: 1, Out: 1, X: []float64{1, 1}, Y1: []float64{1, 2}, Y2: []float64{1, 2}}
	for _, c := range []struct {
		m    Method
		d    triplets.Set
		want string
	}{
		{Ensemble{settings().Config, 1}, toy(50, 1), "expected 2 to 1000 members"},
		{GP{}, one, "no input varies"},
		{GP{}, constant, "outcome column 1 is constant"},
		{ZigZag{settings().Config}, constant, "outcome column 1 is constant"},
	} {
		_, err := c.m.Fit(ctx, c.d, 1)
		assert.ErrorContains(t, err, c.want)
	}
}

// A method of a program of one's own is known by its name, and once.
func TestRegister(t *testing.T) {
	defer func(all []Info) { methods = all }(slices.Clone(methods))

	far := Info{Name: "far", Claim: "1", New: func(Settings) Method { return Constant{} }}
	require.NoError(t, Register(far))

	if m, ok := Describe("far"); !ok || m.Claim != "1" || !slices.Contains(Compared(), "far") {
		t.Errorf("%+v", m)
	}

	for _, m := range []Info{far, {Name: "gp", New: far.New}, {Name: "all", New: far.New}, {Name: "near"}} {
		assert.ErrorContains(t, Register(m), `register method "`+m.Name)
	}
}
