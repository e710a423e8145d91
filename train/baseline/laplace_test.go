package baseline

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"doubletake/train"
	"doubletake/train/triplets"
)

type laplaceCase struct {
	X, Count, Q []float64
	Mu          [][]float64
	Last        [][]float64
	LastLogDet  []float64 `json:"last_logdet"`
}

// Expected values: torch's autograd and linear algebra, testdata/make_laplace.py:
// fewer rows than weights, and more. The research tests its posteriors by the same file.
func TestLaplaceAgainstTorch(t *testing.T) {
	var g struct {
		Model     *train.Model
		Few, Many laplaceCase
	}

	raw, err := os.ReadFile("testdata/laplace.json")
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}

	require.NoError(t, err)
	require.Len(t, g.Few.Last, 4, "%v", err)
	require.Len(t, g.Many.Last, 4, "%v", err)

	const lambda = 0.3
	near := func(what string, got, want, tol float64) {
		t.Helper()
		assert.InDelta(t, want, got, tol*(1+math.Abs(want)), "%s", what)
	}

	f := g.Model.File()
	for name, c := range map[string]laplaceCase{"few": g.Few, "many": g.Many} {
		head, err := lastLayer(ctx, f, collapsed{n: len(c.Count), x: c.X, count: c.Count})
		require.NoError(t, err)

		for j, h := range head {
			h.lambda = lambda
			near(name+": ln|H|", h.logDet(lambda), c.LastLogDet[j], 1e-10)

			for i := range 4 {
				phi, out := features(f, c.Q[i*f.Inputs:(i+1)*f.Inputs])
				near(name+": mean", out[j], c.Mu[i][j], 1e-12)
				near(name+": variance", h.variance(phi), c.Last[i][j], 1e-9)
			}

			// A prior that allows nothing leaves nothing.
			phi, _ := features(f, c.Q[:f.Inputs])
			if h.lambda = 1e12; h.variance(phi) > 1e-6 {
				t.Errorf("%s: λ = 1e12 leaves a variance", name)
			}
		}
	}
}

// The posterior of the last layer is Bayesian linear regression on the
// activations: covariance (Φᵀdiag(N/σ²)Φ + λI)⁻¹, here by inversion.
func TestLastLayerIsBayesianRegression(t *testing.T) {
	data := toy(80, 6)
	c := settings().Config
	c.Epochs = 30
	c.Seed = 2
	m, _, err := train.FitSingle(ctx, data, c, nil)
	require.NoError(t, err)

	col := collapse(data)
	f := m.File()
	post, err := lastLayer(ctx, f, col)
	require.NoError(t, err)

	phi, _ := features(f, data.X[:1])
	n := len(phi)
	for j := range 2 {
		h := mat.NewDense(n, n, nil)
		for i := range col.n {
			phi, out := features(f, col.x[i:i+1])
			v := train.Softplus(out[2+j]) + 1e-6
			for p := range n {
				for q := range n {
					h.Set(p, q, h.At(p, q)+col.count[i]*phi[p]*phi[q]/v)
				}
			}
		}

		for p := range n {
			h.Set(p, p, h.At(p, p)+post[j].lambda)
		}

		var inverse mat.Dense
		require.NoError(t, inverse.Inverse(h))

		for _, x := range []float64{-2, 0.3, 6} {
			phi, _ := features(f, []float64{x})
			got := post[j].variance(phi)
			v := mat.NewVecDense(n, phi)
			if want := mat.Inner(v, &inverse, v); math.Abs(got-want) > 1e-10*(1+want) {
				t.Errorf("outcome %d at %v: %v, regression %v", j, x, got, want)
			}
		}
	}
}

// λ maximises −½(λθ² + ln(s+λ) − ln λ): for a sharp likelihood at 1/θ². It stays among
// the candidates where the weights are zero.
func TestBestLambda(t *testing.T) {
	sharp := headPosterior{values: []float64{1e9}}
	for _, square := range []float64{1e-3, 0.1, 1, 40} {
		l := BestLambda(square, 1, sharp.logDet)
		if off := math.Abs(math.Log10(l * square)); off > 0.125+1e-9 {
			t.Errorf("θ² = %g: λ = %g", square, l)
		}
	}

	assert.Equal(t, 1e4, BestLambda(0, 1, sharp.logDet), "no weights: λ")
}

// Three repeats of each condition make three pairs, each run in two of them, of
// weight one half: the posterior counts three measurements. Expected: that of as many
// pairs of weight 3/2, one a condition, with the same network.
func TestLaplaceCountsRepeats(t *testing.T) {
	once := toy(40, 3)
	c := settings().Config
	c.Epochs = 20
	c.Hidden = []int{8}
	m, _, err := train.FitSingle(ctx, once, c, nil)
	require.NoError(t, err)

	thrice := once
	for range 2 {
		thrice.X = slices.Concat(thrice.X, once.X)
		thrice.Y1 = slices.Concat(thrice.Y1, once.Y1)
		thrice.Y2 = slices.Concat(thrice.Y2, once.Y2)
		thrice.N += once.N
	}

	for range once.N {
		once.Weight = append(once.Weight, 1.5)
	}

	for range thrice.N {
		thrice.Weight = append(thrice.Weight, 0.5)
	}

	var r [2]*Prediction
	for i, data := range []triplets.Set{once, thrice} {
		head, err := lastLayer(ctx, m.File(), collapse(data))
		require.NoError(t, err)

		r[i] = predicted(t, laplacePredictor{m, m.File(), head}, []float64{-2, 0.4, 5})
	}

	for k, v := range r[0].Epistemic {
		require.InDelta(t, v, r[1].Epistemic[k], 1e-9*v,
			"value %d: %v of three pairs, %v of one that counts three", k, r[1].Epistemic[k], v)
		assert.NotZero(t, v, "value %d: %v of three pairs, %v of one that counts three", k, r[1].Epistemic[k], v)
	}
}

// Inside of the data the intervals hold; what they say outside is no promise.
func TestLaplaceCoversInside(t *testing.T) {
	data := toy(300, 1)
	fresh := toy(1000, 2)
	c := settings().Config
	c.Dropout = 0

	p, err := Laplace{c}.Fit(ctx, data, 3)
	require.NoError(t, err)

	r := predicted(t, p, fresh.X)
	in := 0.0
	share := 0.0
	for k, mu := range r.Mu {
		for _, y := range []float64{fresh.Y1[k], fresh.Y2[k]} {
			if math.Abs(y-mu) < 1.959964*math.Sqrt(r.Total[k]) {
				in += 1 / float64(2*len(r.Mu))
			}
		}

		share += r.Epistemic[k] / r.Total[k] / float64(len(r.Mu))
	}

	if in < 0.93 || in > 0.985 || share < 0.002 || share > 0.5 {
		t.Errorf("%.3f of the values lie inside of 95 %%, v̂ is %.3f of the total", in, share)
	}
}
