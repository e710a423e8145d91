package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

// A condition's estimates depend neither on the others nor on their order.
func TestEstimateOrder(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		m := mustFit(t, shapeData(60, 2, d), smallConfig())
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "n")
			x := make([]float64, 2*n)
			for i := range x {
				x[i] = rapid.Float64Range(-3, 3).Draw(t, "x")
			}

			o := EstimateOptions{
				Samples: 10, Seed: uint64(d),
				Sampler: rapid.SampledFrom([]string{Antithetic, PlainSampling}).Draw(t, "sampler"),
			}

			all, err1 := m.Estimate(context.Background(), x, o)
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			one, err2 := m.Estimate(context.Background(), x[2*i:2*i+2], o)
			require.NoError(t, err1, "estimates of all conditions")
			require.NoError(t, err2, "estimates of one condition")

			assert.Equal(t, one.Mu, all.Mu[i*d:(i+1)*d], "μ of condition %d", i)
			assert.Equal(t, one.Var, all.Var[i*d:(i+1)*d], "σ² of condition %d", i)
			assert.Equal(t, one.CovRaw, all.CovRaw[i*d:(i+1)*d], "raw covariance of condition %d", i)
			assert.Equal(t, one.Cov, all.Cov[i*d:(i+1)*d], "C of condition %d", i)
			assert.Equal(t, one.Delta, all.Delta[i*d:(i+1)*d], "δ of condition %d", i)
			assert.Equal(t, one.Kappa, all.Kappa[i*d:(i+1)*d], "κ of condition %d", i)
			assert.Equal(t, one.ZigZag, all.ZigZag[i*d:(i+1)*d], "zigzag of condition %d", i)
		})
	}
}

// The rules agree with each other: C by the rule for the model's dimension, and
// C_raw − μδ by a million antithetic samples (in the short run a tenth). The standard
// error of the samples is σ²·√(2/500 000) at C = σ², 0.2 %. Four standard errors are allowed.
func TestEstimateRules(t *testing.T) {
	samples := 1_000_000
	if !longtest.IsStudy() {
		samples /= 10
	}

	sampling := 4 * math.Sqrt(4/float64(samples))
	for _, c := range []struct {
		d      int
		method string
		tol    float64 // of σ²
	}{
		{1, "exact-1d", 0},
		{2, "tensor-15", 0.01},
		{3, "tensor-7", 0.01},
		{4, "tensor-5", 0.01},
		{5, "halton-1024", 0.01},
		{7, "halton-2048", 0.01},
	} {
		cfg := DefaultConfig()
		cfg.Epochs = 60
		data := shapeData(300, 2, c.d)
		data.Y2 = data.Y1 // couples: a covariance worth measuring
		m := mustFit(t, data, cfg)
		e, err := m.Estimate(context.Background(), []float64{0.2, 0.1, -1, 2, 3, 3, 0, -2},
			EstimateOptions{Samples: samples, Seed: 5})
		require.NoError(t, err)
		assert.Equal(t, c.method, e.Method, "%d outcomes: method", c.d)

		for i := range e.Cov {
			sampled := e.CovRaw[i] - e.Mu[i]*e.Delta[i]
			assert.InDelta(t, sampled, e.Cov[i], (c.tol+sampling)*e.Var[i], "%d outcomes, C %d by %s", c.d, i, e.Method)
		}
	}
}

// C, δ and κ have the same bytes with any number of samples for the raw covariance, and any sampler and seed. Expected
// values: those with 2 samples.
func TestCovarianceIgnoresDraws(t *testing.T) {
	for _, d := range []int{1, 2, 5, 7, 23} {
		m := mustFit(t, shapeData(60, 2, d), smallConfig())
		x := []float64{0.2, 0.1, -1, 2, 1.5, -0.4}

		var want *Estimates
		for _, o := range []EstimateOptions{
			{Samples: 2},
			{Samples: 10, Sampler: PlainSampling},
			{Samples: 1000, Seed: 3},
			{Samples: 5000, Seed: 4},
		} {
			e := estimated(t, m, x, o)

			if want == nil {
				want = e
			}

			assert.Equal(t, want.Cov, e.Cov, "C of %d outcomes, %+v", d, o)
			assert.Equal(t, want.Delta, e.Delta, "δ of %d outcomes, %+v", d, o)
			assert.Equal(t, want.Kappa, e.Kappa, "κ of %d outcomes, %+v", d, o)
			assert.Equal(t, want.ZigZag, e.ZigZag, "zigzag of %d outcomes, %+v", d, o)
		}
	}
}

// Estimates have 1000 antithetic samples by default. Antithetic samples are an even number.
func TestEstimateOptions(t *testing.T) {
	m := mustFit(t, shapeData(30, 1, 1), smallConfig())
	e, err := m.Estimate(context.Background(), []float64{0, 1}, EstimateOptions{})
	require.NoError(t, err)
	assert.Equal(t, 1000, e.Samples)
	assert.Equal(t, Antithetic, e.Sampler)
	assert.Equal(t, 2, e.N)
	assert.Equal(t, 1, e.Out)

	e, err = m.Estimate(context.Background(), nil, EstimateOptions{Samples: 7})
	require.NoError(t, err)
	assert.Equal(t, 0, e.N, "without conditions")
	assert.Equal(t, 8, e.Samples, "seven samples are asked for")

	for _, o := range []EstimateOptions{{Samples: -1}, {Sampler: "sobol"}} {
		_, err := m.Estimate(context.Background(), []float64{0}, o)
		assert.Error(t, err, "%+v", o)
	}
}

// How the two outcomes of simulated data belong together: the parameter coupled.
const (
	independent = false // triplets: both outcomes have noise of their own
	coupled     = true  // couples: the second outcome is the first
)

// waves draws triplets with one input x from −2 to 2. Outcome j is sin(x + j) with noise of the deviation 0.3. In
// couples, the second outcomes are the first.
func waves(n, out int, coupled bool) triplets.Set {
	d := triplets.Set{N: n, In: 1, Out: out}

	p := newStream(8, 42)
	for range n {
		x := 4 * (uniform(p) - 0.5)
		d.X = append(d.X, x)
		for j := range out {
			expected := math.Sin(x + float64(j))
			y1 := expected + 0.3*normQuantile(uniform(p))
			y2 := y1
			if !coupled {
				y2 = expected + 0.3*normQuantile(uniform(p))
			}

			d.Y1 = append(d.Y1, y1)
			d.Y2 = append(d.Y2, y2)
		}
	}

	return d
}

// fitWaves returns a model trained with 1500 triplets or couples of waves.
func fitWaves(t *testing.T, out int, coupled bool) *Model {
	t.Helper()
	c := DefaultConfig()
	c.Hidden = []int{32, 32}
	c.Epochs = 80
	c.Dropout = 0 // dropout shrinks the second answer
	m, _, err := Fit(context.Background(), waves(1500, out, coupled), c, nil)
	require.NoError(t, err)

	return m
}

// C and δ are right. Expected values: monteCarlo, with four of its standard errors. With one outcome C is exact, and
// with three and five the cubature may be off by 1 % of σ² (docs/method.md#how-c-is-integrated). The paper's raw
// estimate tends to C + μδ.
func TestCovarianceAgainstMonteCarlo(t *testing.T) {
	draws := longtest.Count(100_000, 200_000)
	if longtest.IsStudy() {
		draws = 1_000_000
	}

	for _, outcomes := range []int{1, 3, 5} {
		m := fitWaves(t, outcomes, coupled)
		e := estimated(t, m, []float64{0.7}, EstimateOptions{Samples: 200_000})
		want := monteCarlo(m, e, 0.7, draws)

		for j, expected := range want {
			what := fmt.Sprintf("outcome %d of %d", j, outcomes)
			variance := e.Var[j]
			sigma := math.Sqrt(variance)

			tolerance := 4 * expected.covSE
			if outcomes > 1 {
				tolerance += 0.01 * variance
			}

			assert.InDelta(t, expected.cov, e.Cov[j], tolerance, "%s: C", what)
			assert.InDelta(t, expected.delta, e.Delta[j], 4*sigma/math.Sqrt(float64(draws))+0.01*sigma, "%s: δ", what)
			assert.InDelta(t, e.Cov[j]+e.Mu[j]*e.Delta[j], e.CovRaw[j], 0.02*variance, "%s: raw covariance", what)
		}
	}
}

// sampled is what draws say about an outcome, in the network's units.
type sampled struct {
	cov   float64 // mean of (Y1 − μ)·(m(Y1) − μ), which estimates C
	covSE float64 // its standard error
	delta float64 // mean of m(Y1) − μ, which estimates δ
}

// monteCarlo draws first answers Y1 of a model at the condition x, and feeds them back through PredictGiven. e are the
// estimates at x, of which it uses μ and σ². It returns one result per outcome.
func monteCarlo(m *Model, e *Estimates, x float64, draws int) []sampled {
	const block = 10_000
	scale := m.OutcomeScale()
	p := newStream(77, 1)

	conditions := slices.Repeat([]float64{x}, block)
	answers := make([]float64, block*m.Out)
	results := make([]sampled, m.Out)
	squares := make([]float64, m.Out)
	for range draws / block {
		for k := range answers {
			j := k % m.Out
			y1 := e.Mu[j] + math.Sqrt(e.Var[j])*normQuantile(uniform(p))
			answers[k] = scale.Mean[j] + scale.Std[j]*y1
		}

		means, _ := m.PredictGiven(conditions, answers)
		for k, mean := range means {
			j := k % m.Out
			y1 := (answers[k] - scale.Mean[j]) / scale.Std[j]
			difference := (mean-scale.Mean[j])/scale.Std[j] - e.Mu[j]
			product := (y1 - e.Mu[j]) * difference
			results[j].cov += product
			results[j].delta += difference
			squares[j] += product * product
		}
	}

	n := float64(draws)
	for j := range results {
		r := &results[j]
		r.cov /= n
		r.delta /= n
		r.covSE = math.Sqrt((squares[j]/n - r.cov*r.cov) / n)
	}

	return results
}

// Expected: the paper's theorem on single draws. Trained on couples, the covariance C estimates the total variance σ².
// Trained on triplets, it estimates the uncertainty of the mean alone, which is almost zero with 1500 triplets over one
// input. The tolerance of 0.15 is for one training of a small network.
func TestCouplesGiveTotalVariance(t *testing.T) {
	x := []float64{-1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.6}
	share := func(coupled bool) float64 { // C relative to σ²
		e := estimated(t, fitWaves(t, 1, coupled), x, EstimateOptions{Samples: 2})
		return floats.Sum(e.Cov) / floats.Sum(e.Var)
	}

	assert.InDelta(t, 0.95, share(coupled), 0.15, "ΣC/Σσ² of couples")
	assert.InDelta(t, 0, share(independent), 0.15, "ΣC/Σσ² of triplets")
}
