package train

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/train/triplets"
)

// waves draws triplets of out outcomes over one input with noise 0.3; couples
// use each first outcome twice.
func waves(n, out int, couples bool) triplets.Set {
	d := triplets.Set{N: n, In: 1, Out: out}

	p := newStream(8, 42)
	for range n {
		x := 4 * (uniform(p) - 0.5)
		d.X = append(d.X, x)
		for j := range out {
			f := math.Sin(x + float64(j))
			y := f + 0.3*normQuantile(uniform(p))
			d.Y1 = append(d.Y1, y)

			if !couples {
				y = f + 0.3*normQuantile(uniform(p))
			}

			d.Y2 = append(d.Y2, y)
		}
	}

	return d
}

func fitWaves(t *testing.T, out int, couples bool) *Model {
	t.Helper()
	c := DefaultConfig()
	c.Hidden = []int{32, 32}
	c.Epochs = 80
	c.Dropout = 0 // dropout shrinks the second answer
	m, _, err := Fit(context.Background(), waves(1500, out, couples), c, nil)
	require.NoError(t, err)

	return m
}

// Expected values: 10⁶ independent draws of Y1, fed back through PredictGiven
// (10⁵ with -short), their products' mean and its standard error. With one
// outcome C is exact, with three and five its cubature is allowed 1 % of σ²
// (docs/method.md#how-c-is-integrated). The paper's raw estimate tends to C + μδ.
func TestCovarianceAgainstMonteCarlo(t *testing.T) {
	draws := longtest.Count(100_000, 200_000)
	if study() {
		draws = 1_000_000
	}

	for _, out := range []int{1, 3, 5} {
		m := fitWaves(t, out, true)
		x := []float64{0.7}
		e := estimated(t, m, x, EstimateOptions{Samples: 200_000})

		scale := m.OutcomeScale()
		mean := scale.Mean
		std := scale.Std
		p := newStream(77, 1)
		const block = 10_000
		xs := make([]float64, block)
		ys := make([]float64, block*out)
		for i := range xs {
			xs[i] = x[0]
		}

		// Sums of (Y1−μ)·(m(Y1)−μ), its square, and m(Y1)−μ.
		s1 := make([]float64, out)
		s2 := make([]float64, out)
		sm := make([]float64, out)
		for range draws / block {
			for k := range ys {
				j := k % out
				ys[k] = mean[j] + std[j]*(e.Mu[j]+math.Sqrt(e.Var[j])*normQuantile(uniform(p)))
			}

			mu, _ := m.PredictGiven(xs, ys)
			for k := range mu {
				j := k % out
				d := (mu[k]-mean[j])/std[j] - e.Mu[j]
				c := ((ys[k]-mean[j])/std[j] - e.Mu[j]) * d
				s1[j] += c
				s2[j] += c * c
				sm[j] += d
			}
		}

		n := float64(draws)
		for j := range out {
			got := e.Cov[j]
			want := s1[j] / n
			se := math.Sqrt((s2[j]/n - want*want) / n)
			tol := 4 * se
			if out > 1 {
				tol += 0.01 * e.Var[j]
			}

			if math.Abs(got-want) > tol {
				t.Errorf("%d outcomes, outcome %d: C = %v, Monte Carlo %v ± %v (σ² = %v)", out, j, got, want, se, e.Var[j])
			}
			if math.Abs(e.Delta[j]-sm[j]/n) > 4*math.Sqrt(e.Var[j]/n)+0.01*math.Sqrt(e.Var[j]) {
				t.Errorf("%d outcomes, outcome %d: δ = %v, Monte Carlo %v", out, j, e.Delta[j], sm[j]/n)
			}

			limit := e.Cov[j] + e.Mu[j]*e.Delta[j]
			if math.Abs(e.CovRaw[j]-limit) > 0.02*e.Var[j] {
				t.Errorf("%d outcomes, outcome %d: raw %v, its limit C + μδ %v", out, j, e.CovRaw[j], limit)
			}
		}
	}
}

// The paper's theorem on single draws: on couples the covariance estimates the
// total variance, on triplets only the uncertainty of the mean, which is almost
// zero with 1500 triplets over one input.
func TestCouplesGiveTotalVariance(t *testing.T) {
	x := []float64{-1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.6}
	share := func(couples bool) float64 {
		e, err := fitWaves(t, 1, couples).Estimate(context.Background(), x, EstimateOptions{Samples: 2})
		require.NoError(t, err)

		c := 0.0
		v := 0.0
		for i := range x {
			c += e.Cov[i]
			v += e.Var[i]
		}

		return c / v
	}

	if s := share(true); s < 0.8 || s > 1.1 {
		t.Errorf("couples: ΣC/Σσ² = %v, want about 1", s)
	}

	if s := share(false); math.Abs(s) > 0.15 {
		t.Errorf("triplets: ΣC/Σσ² = %v, want about 0", s)
	}
}
