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

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

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

	for _, out := range []int{1, 3, 5} {
		m := fitWaves(t, out, coupled)
		e := estimated(t, m, []float64{0.7}, EstimateOptions{Samples: 200_000})
		want := monteCarlo(m, e, 0.7, draws)

		for j, expected := range want {
			what := fmt.Sprintf("outcome %d of %d", j, out)
			variance := e.Var[j]
			sigma := math.Sqrt(variance)

			tolerance := 4 * expected.covSE
			if out > 1 {
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
