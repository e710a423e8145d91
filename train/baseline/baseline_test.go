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

// ctx is a context that does not end.
var ctx = context.Background()

// toy draws n pairs of the outcomes 100 + 10·sin 2x and x/2, with noise of the standard deviations 3 and 0.3. x is from
// −3 to −1 or from 1 to 3. Every third row belongs to the same group.
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

// settings returns settings with which every method learns toy in a second.
func settings() Settings {
	c := train.DefaultConfig()
	c.Epochs = 500
	c.Batch = 16
	c.Hidden = []int{32, 32}
	return Settings{Config: c, Members: 3, Samples: 100, Estimate: train.EstimateOptions{Samples: 2}}
}

// fitted returns a method that was fitted with small settings, which takes a moment.
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

// predicted returns the predictions at the inputs x, and requires that the error is nil.
func predicted(t *testing.T, p Predictor, x []float64) *Prediction {
	t.Helper()

	r, err := p.Predict(ctx, x)
	require.NoError(t, err)

	return r
}

// Each method predicts the function of toy in the units of the data. All methods except the pair model promise to be
// less certain outside of the data: there v̂ is at least twice the v̂ within the data.
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
			assert.Equal(t, want, fmt.Sprintf("%T", m))

			p, err := m.Fit(ctx, data, 4)
			require.NoError(t, err)

			r := predicted(t, p, append(slices.Clone(known), outside...))
			mean := func(start, end, outcome int) float64 {
				sum := 0.0
				for i := start; i < end; i++ {
					sum += math.Abs(r.Epistemic[2*i+outcome])
				}

				return sum / float64(end-start)
			}

			// The pair model makes no promise about the covariance of its two answers far from the data.
			if name != "pair" {
				for j := range 2 {
					within := mean(0, len(known), j)
					assert.GreaterOrEqual(t, mean(len(known), r.N, j), 2*within, "v̂ of outcome %d outside of the data", j)
				}
			}

			for i, x := range known {
				assert.InDelta(t, 100+10*math.Sin(2*x), r.Mu[2*i], 3, "mean at x = %g", x)

				// The noise alone has the variances 9 and 0.09. The epistemic variances are smaller here.
				for j, noise := range []float64{9, 0.09} {
					total := r.Total[2*i+j]
					assert.GreaterOrEqual(t, total, noise/2, "total variance of outcome %d at x = %g", j, x)
					assert.LessOrEqual(t, total, 2.5*noise, "total variance of outcome %d at x = %g", j, x)
				}
			}
		})
	}
}

// The covariance C is the variance that the two outcomes of a pair share. Trained on couples, whose outcomes are equal,
// C is most of the total variance. Trained on triplets of the same law, it is little.
func TestPairOfCouples(t *testing.T) {
	share := func(data triplets.Set) float64 {
		s := settings()
		s.Config.Epochs = 300

		p, err := Pair{s.Config, s.Estimate}.Fit(ctx, data, 4)
		require.NoError(t, err)

		r := predicted(t, p, []float64{-2.5, -2, -1.5, 1.3, 1.7, 2.2, 2.7})
		sum := 0.0
		for k, v := range r.Total {
			sum += r.Epistemic[k] / v
		}

		return sum / float64(len(r.Total))
	}

	couples := toy(300, 1)
	couples.Couples = true
	couples.Y2 = couples.Y1
	assert.GreaterOrEqual(t, share(couples), 0.7, "C/σ² of couples")
	assert.LessOrEqual(t, share(toy(300, 1)), 0.3, "C/σ² of triplets")
}

// The pair model predicts what Predict and Estimate of its network return, in the units of the outcomes.
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
	s.Estimate.Seed = derive(5, 0) // Estimate draws samples; another seed changes the last digits of C
	e, err := m.Estimate(ctx, x, s.Estimate)
	require.NoError(t, err)

	std := m.OutcomeScale().Std
	for k := range mu {
		assert.InEpsilon(t, mu[k], r.Mu[k], 1e-9, "mean %d", k)
		assert.InEpsilon(t, v[k], r.Total[k], 1e-9, "total variance %d", k)
		assert.InEpsilon(t, e.Cov[k]*std[k%2]*std[k%2], r.Epistemic[k], 1e-12, "covariance %d", k)
	}
}

// An ensemble has the mean and the variance of the equal mixture of its members' normal distributions. Expected values:
// μ̄ and E[σ² + μ²] − μ̄², computed here member by member.
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
		assert.InDelta(t, mean[i], r.Mu[i], 1e-9, "mean %d", i)
		assert.InEpsilon(t, want, r.Total[i], 1e-6, "total variance %d", i)
		assert.InDelta(t, noise[i], r.Total[i]-r.Epistemic[i], 1e-9*want, "variance of the noise %d", i)
	}
}

// The rows of a condition are collapsed to their mean, which counts as many measurements as they have: two a row, or
// twice a row's weight.
func TestCollapse(t *testing.T) {
	d := triplets.Set{N: 3, In: 1, Out: 1, X: []float64{1, 2, 1}, Y1: []float64{1, 5, 2}, Y2: []float64{3, 5.5, 6}}
	c := collapse(d)
	assert.Equal(t, 2, c.n)
	assert.Equal(t, []float64{1, 2}, c.x)
	assert.Equal(t, []float64{3, 5.25}, c.y)
	assert.Equal(t, []float64{4, 2}, c.count)

	// By hand the mean of the first condition is (½·4 + 1·8)/3.
	d.Weight = []float64{0.5, 1, 1}
	c = collapse(d)
	assert.Equal(t, []float64{3, 2}, c.count, "with weights")
	assert.InDelta(t, 10.0/3, c.y[0], 1e-12, "with weights")
}

// Unknown methods, settings out of range and data that a method cannot learn from are refused with the reason.
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

// Another program can register a method. A known or reserved name, and a method without New, are errors.
func TestRegister(t *testing.T) {
	defer func(all []Info) { methods = all }(slices.Clone(methods))

	far := Info{Name: "far", Claim: "1", New: func(Settings) Method { return Constant{} }}
	require.NoError(t, Register(far))

	m, ok := Describe("far")
	require.True(t, ok)
	assert.Equal(t, "1", m.Claim)
	assert.Contains(t, Compared(), "far")

	for _, m := range []Info{far, {Name: "gp", New: far.New}, {Name: "all", New: far.New}, {Name: "near"}} {
		assert.ErrorContains(t, Register(m), `register method "`+m.Name)
	}
}
