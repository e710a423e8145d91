package methods

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"doubletake/train/baseline"
	"doubletake/train/baseline/baselinetest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// linear is the posterior of the weights of a linear model with known noise, normal in
// closed form. Its metric is none: all the work is the sampler's.
type linear struct {
	x [][]float64
	y []float64
	v []float64
}

func newLinear() linear {
	r := rand.New(rand.NewPCG(1, 1))

	var l linear
	for range 40 {
		x, v := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, math.Exp(r.NormFloat64()/2)
		l.x, l.v = append(l.x, x), append(l.v, v)
		l.y = append(l.y, x[0]-x[1]/2+x[2]/5+math.Sqrt(v)*r.NormFloat64())
	}

	return l
}

func (l linear) value(z, grad []float64) float64 {
	u := 0.0
	for j, q := range z {
		grad[j] = q
		u += q * q / 2
	}

	for i, x := range l.x {
		r := l.y[i] - x[0]*z[0] - x[1]*z[1] - x[2]*z[2]
		u += r * r / l.v[i] / 2

		for j := range grad {
			grad[j] -= r * x[j] / l.v[i]
		}
	}

	return u
}

func (l linear) start(_ context.Context, r *rand.Rand) ([]float64, error) {
	return []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, nil
}

func (l linear) metric([]float64) (blas64.Triangular, error) {
	one := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	return blas64.Triangular{N: 3, Stride: 3, Data: one, Uplo: blas.Upper, Diag: blas.NonUnit}, nil
}

// The draws have mean and variance of the closed form: (XᵀV⁻¹X + I)⁻¹, and the chains
// converge.
func TestHMCLinear(t *testing.T) {
	// The errors of the draws' moments fall with the root of their number.
	draws, rough := 300, 2.0
	if long() {
		draws, rough = 1000, 1
	}

	l := newLinear()
	s := sampling{target: l, seed: 3, chains: 4, draws: draws}
	chains, err := s.run(t.Context())
	require.NoError(t, err)

	h, b := mat.NewSymDense(3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}), mat.NewVecDense(3, nil)
	for i, x := range l.x {
		v := mat.NewVecDense(3, x)
		h.SymRankOne(h, 1/l.v[i], v)
		b.AddScaledVec(b, l.y[i]/l.v[i], v)
	}

	var c mat.Cholesky
	var inverse mat.SymDense

	var mean mat.VecDense
	if !c.Factorize(h) || c.InverseTo(&inverse) != nil || c.SolveVecTo(&mean, b) != nil {
		t.Fatal("the closed form cannot be computed")
	}

	p := hmcPredictor{chain: chains, net: &tanhNet{weights: 3}}
	d := p.summary()
	for j := range 3 {
		var series [][]float64
		for _, c := range chains {
			v := make([]float64, 0, 1000)
			for k := j; k < len(c.Draws); k += 3 {
				v = append(v, c.Draws[k])
			}

			series = append(series, v)
		}

		m, v := d.add(series)
		sd := math.Sqrt(inverse.At(j, j))
		t.Logf("mean off by %.4f sd, variance %.3f of the true one", (m-mean.AtVec(j))/sd, v/sd/sd)

		if math.Abs(m-mean.AtVec(j)) > 0.05*rough*sd || math.Abs(v/sd/sd-1) > 0.1*rough {
			t.Errorf("weight %d: %g ± %g, expected %g ± %g", j, m, math.Sqrt(v), mean.AtVec(j), sd)
		}
	}

	if doubts := d.doubts(); len(doubts) > 0 || math.Abs(d.acceptance-acceptance) > 0.15 {
		t.Errorf("%+v: %q", d, doubts)
	}
}

// R̂ by hand: halves {1,2}, {3,4}, {3,4}, {5,6} have W = ½ and variance 8/3 of the means:
// √((½·½ + 8/3)/½). The effective number of an autoregressive series of correlation φ
// is n(1−φ)/(1+φ).
func TestDiagnose(t *testing.T) {
	rhat, _ := diagnose([][]float64{{1, 2, 3, 4}, {3, 4, 5, 6}})
	assert.InDelta(t, math.Sqrt((0.25+8.0/3)/0.5), rhat, 1e-12, "R̂")

	if rhat, ess := diagnose([][]float64{{1, 1, 1, 1}, {2, 2, 2, 2}}); rhat != maxRHat || ess != 0 {
		t.Errorf("chains that do not move: R̂ %v, %v draws", rhat, ess)
	}

	r := rand.New(rand.NewPCG(5, 6))
	for _, phi := range []float64{-0.3, 0, 0.5, 0.9} {
		var series [][]float64
		for range 4 {
			x, v := r.NormFloat64(), []float64{}
			for range 5000 {
				x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
				v = append(v, x)
			}

			series = append(series, v)
		}

		rhat, ess := diagnose(series)
		if want := 20000 * (1 - phi) / (1 + phi); math.Abs(ess/want-1) > 0.25 || rhat > 1.01 {
			t.Errorf("φ = %g: %.0f draws, expected %.0f; R̂ %g", phi, ess, want, rhat)
		}
	}

	good := sampled{rhat: 1.05, ess: 100, acceptance: 0.6, divergent: 0.01}
	if d := good.doubts(); d != nil {
		t.Errorf("%q", d)
	}

	bad := sampled{rhat: 1.2, ess: 30, acceptance: 0.5, divergent: 0.2}
	if d := strings.Join(bad.doubts(), "; "); d != "the chains disagree: R̂ is 1.2, above 1.05; 30 independent draws are "+
		"fewer than 100; 20 % of the transitions diverged; 50 % of the transitions were accepted, fewer than 60 %" {
		t.Errorf("%q", d)
	}
}

// Gradient and metric of the network's posterior, by finite differences of the value and
// of the means; tanh by package math.
func TestHMCNetwork(t *testing.T) {
	for x := -12.0; x < 12; x += 0.0137 {
		if math.Abs(tanh(x)-math.Tanh(x)) > 5e-7 {
			t.Fatalf("tanh %g is %v, expected %v", x, tanh(x), math.Tanh(x))
		}
	}

	for _, hidden := range [][]int{{7}, {5, 40}} {
		data := baselinetest.Toy(30, 2)
		data.In, data.X = 2, append(slices.Clone(data.X), baselinetest.Toy(30, 5).X...)
		p := &hmcPredictor{
			in: triplets.ScaleOf(2, data.X), out: data.OutcomeScale(), net: newTanhNet(2, 2, hidden),
			noise: []func([]float64) float64{
				func(x []float64) float64 { return 0.3 + 0.1*x[0]*x[0] }, func([]float64) float64 { return 0.2 },
			},
		}

		c := collapse(data)
		u := p.target(c)
		n := u.net.weights
		r := rand.New(rand.NewPCG(3, 3))

		z, g, other := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range z {
			z[i] = r.NormFloat64()
		}

		u.value(z, g)

		f, err := u.metric(z)
		require.NoError(t, err)

		const h = 1e-5

		slopes := make([][]float64, n) // of the means
		for k, v := range z {
			z[k] = v + h
			up := u.value(z, other)
			means := slices.Clone(u.room.top())
			z[k] = v - h
			down := u.value(z, other)

			for i, m := range u.room.top() {
				slopes[k] = append(slopes[k], (m-means[i])/(2*h)*math.Sqrt(u.precision[i]))
			}

			z[k] = v
			if want := (up - down) / (2 * h); math.Abs(g[k]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%v: derivative %d is %v, differences give %v", hidden, k, g[k], want)
			}
		}

		for a := range n {
			for b := range n {
				want, got := 0.0, 0.0
				for i, s := range slopes[a] {
					want += s * slopes[b][i]
				}

				if a == b {
					want++
				}

				for k := range min(a, b) + 1 {
					got += f.Data[k*f.Stride+a] * f.Data[k*f.Stride+b]
				}

				if math.Abs(got-want) > 1e-3*(1+math.Abs(want)) {
					t.Fatalf("%v: metric %d, %d is %v, differences give %v", hidden, a, b, got, want)
				}
			}
		}
	}
}

// Above the limit Fit refuses; of 4,001 rows at 4,000 conditions it does not say so.
func TestHMCLimit(t *testing.T) {
	d := triplets.Set{In: 1, Out: 1}
	for i := range 4001 {
		x := float64(i)
		d.N, d.X, d.Y1, d.Y2 = d.N+1, append(d.X, x), append(d.Y1, x), append(d.Y2, x+1)
	}

	_, err := HMC{Config: settings().Config}.Fit(t.Context(), d, 1)
	assert.ErrorContains(t, err, "fit hmc: 4001 distinct conditions are more than 4000")
}

// A small net on few pairs: inside the data, the error is of the size of v̂, and most
// values are in their 95 % intervals.
func TestHMCSmall(t *testing.T) {
	s := settings()
	s.Config.Hidden = []int{6}
	p, err := HMC{Config: s.Config, Draws: 8, Chains: 2}.Fit(t.Context(), sine(60, -3, 3, 1), 1)
	require.NoError(t, err)

	fresh := sine(400, -3, 3, 50)
	r, sampled, err := p.(*hmcPredictor).predict(t.Context(), fresh.X)
	require.NoError(t, err)

	e, v, in := againstSine(fresh, r)
	t.Logf("error²/v̂ %.2f, %.3f in 95 %%, %+v", e/v, in, *sampled)

	if e/v < 0.1 || e/v > 10 || in < 0.88 || sampled.acceptance < 0.4 {
		t.Errorf("error²/v̂ %.2f, %.3f in 95 %%, %+v", e/v, in, *sampled)
	}
}

// sine draws the toy of docs/method.md#synthetic-data-and-couples between two x:
// y = x·sin x + ε, σ = 1.5·exp(−x²/2).
func sine(n int, from, to float64, seed uint64) triplets.Set {
	r := rand.New(rand.NewPCG(seed, 77))

	d := triplets.Set{N: n, In: 1, Out: 1}
	for range n {
		x := from + (to-from)*r.Float64()
		s := 1.5 * math.Exp(-x*x/2)
		d.X = append(d.X, x)
		d.Y1, d.Y2 = append(d.Y1, x*math.Sin(x)+s*r.NormFloat64()), append(d.Y2, x*math.Sin(x)+s*r.NormFloat64())
	}

	return d
}

// againstSine compares predictions with the mean of the toy and with values that were not trained on: Σ error², Σ v̂,
// and the share of the values in 95 % intervals.
func againstSine(fresh triplets.Set, r *baseline.Prediction) (e, v, in float64) {
	for i, x := range fresh.X {
		d := r.Mu[i] - x*math.Sin(x)
		e, v = e+d*d, v+r.Epistemic[i]

		for _, y := range []float64{fresh.Y1[i], fresh.Y2[i]} {
			if math.Abs(y-r.Mu[i]) < 1.959964*math.Sqrt(r.Total[i]) {
				in += 0.5 / float64(fresh.N)
			}
		}
	}

	return e, v, in
}

// The toy below x = 5, 300 pairs, two layers of 16, judged by the known mean, with a third
// of the draws on three sets of data: inside, the error is within a factor of two of v̂ and
// 95 % intervals hold. The sampling states whether it converged.
func TestHMCToy(t *testing.T) {
	if !long() {
		t.Skip("half a minute of processor time; DOUBLETAKE_LONG=1 runs it")
	}

	s := settings()
	s.Config.Hidden = []int{16, 16}

	e, v, in := 0.0, 0.0, 0.0
	for seed := range uint64(3) {
		p, err := HMC{Config: s.Config, Draws: 20}.Fit(t.Context(), sine(300, -6, 5, seed+1), 1)
		require.NoError(t, err)

		fresh := sine(1000, -6, 5, 50+seed)
		r, d, err := p.(*hmcPredictor).predict(t.Context(), fresh.X)
		require.NoError(t, err)

		e1, v1, in1 := againstSine(fresh, r)
		e, v, in = e+e1, v+v1, in+in1/3
		t.Logf("after %d sets: error²/v̂ %.2f, %.3f in 95 %%, %+v", seed+1, e/v, in*3/float64(seed+1), *d)

		if doubts := strings.Join(d.doubts(), ""); (d.rhat > mostRHat) != strings.Contains(doubts, "R̂") {
			t.Errorf("R̂ is %g, the doubts are %q", d.rhat, doubts)
		}
	}

	if e/v < 0.5 || e/v > 2 || in < 0.93 || in > 0.99 {
		t.Errorf("error²/v̂ %.2f, %.3f in 95 %%", e/v, in)
	}
}
