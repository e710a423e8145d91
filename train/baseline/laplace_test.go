package baseline

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"doubletake/internal/testfile"
	"doubletake/train"
	"doubletake/train/triplets"
)

// laplaceCase is a training set, with the answers of torch.
type laplaceCase struct {
	X          []float64   // training inputs
	Count      []float64   // number of measurements of each condition
	Q          []float64   // inputs of the queries
	Mu         [][]float64 // by query and outcome: mean
	Last       [][]float64 // by query and outcome: variance by the posterior of the last layer
	LastLogDet []float64   `json:"last_logdet"` // by outcome: ln|H|
}

// The variances are right with fewer rows than weights, and with more. Expected values: torch's autograd and linear
// algebra (testdata/make_laplace.py). docs/research tests its posteriors by the same file.
func TestLaplaceAgainstTorch(t *testing.T) {
	var g struct {
		Model     *train.Model
		Few, Many laplaceCase
	}

	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/laplace.json"), &g))
	require.Len(t, g.Few.Last, 4)
	require.Len(t, g.Many.Last, 4)

	const lambda = 0.3
	assertNear := func(want, got, tolerance float64, name, value string) {
		t.Helper()
		assert.InDelta(t, want, got, tolerance*(1+math.Abs(want)), "%s: %s", name, value)
	}

	f := g.Model.File()
	for name, c := range map[string]laplaceCase{"few": g.Few, "many": g.Many} {
		head, err := lastLayer(ctx, f, collapsed{n: len(c.Count), x: c.X, count: c.Count})
		require.NoError(t, err)

		for j, h := range head {
			h.lambda = lambda
			assertNear(c.LastLogDet[j], h.logDet(lambda), 1e-10, name, "ln|H|")

			for i := range 4 {
				phi, out := features(f, c.Q[i*f.Inputs:(i+1)*f.Inputs])
				assertNear(c.Mu[i][j], out[j], 1e-12, name, "mean")
				assertNear(c.Last[i][j], h.variance(phi), 1e-9, name, "variance")
			}

			// A large λ allows no weights, so that no variance is left.
			phi, _ := features(f, c.Q[:f.Inputs])
			h.lambda = 1e12
			assert.LessOrEqual(t, h.variance(phi), 1e-6, name)
		}
	}
}

// The posterior of the last layer is the posterior of Bayesian linear regression on the activations Φ. Expected values:
// its covariance (Φᵀdiag(N/σ²)Φ + λI)⁻¹ by inversion.
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
			v := train.Variance(out[2+j])
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
			want := mat.Inner(v, &inverse, v)
			assert.InDelta(t, want, got, 1e-10*(1+want), "outcome %d at %g", j, x)
		}
	}
}

// λ maximises −½(λ·square + Σ ln(s+λ) − p·ln λ), where square is the sum of the p squared weights, and s are the
// eigenvalues of the likelihood. For a sharp likelihood, whose s are large, λ is the candidate next to p/square.
// Candidates are a quarter of a decade apart. If the weights are zero, λ is the largest candidate.
func TestBestLambda(t *testing.T) {
	for p := 1; p <= 3; p++ {
		sharp := headPosterior{values: slices.Repeat([]float64{1e9}, p)}
		for _, square := range []float64{1e-3, 0.1, 1, 40} {
			lambda := BestLambda(square, p, sharp.logDet)
			ratio := lambda * square / float64(p)
			assert.InDelta(t, 0, math.Log10(ratio), 0.125+1e-3, "λ = %g for %d weights, sum of squares %g", lambda, p, square)
		}

		assert.Equal(t, 1e4, BestLambda(0, p, sharp.logDet), "%d weights of zero", p)
	}
}

// Three repeats of each condition give three pairs. Their weight is one half, because each run is in two of them, so
// that the posterior counts three measurements. Expected: the posterior of one pair per condition with the weight 3/2,
// for the same network.
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
		assert.InEpsilon(t, v, r[1].Epistemic[k], 1e-9, "value %d", k)
	}
}

// At conditions with data, 93 to 98.5 % of new values lie inside the 95 % intervals, which include the uncertainty of
// the mean. This uncertainty is 0.2 to 50 % of the total variance. Outside of the data the intervals promise nothing,
// and are not tested.
func TestLaplaceCoversInside(t *testing.T) {
	data := toy(300, 1)
	fresh := toy(1000, 2)
	c := settings().Config
	c.Dropout = 0

	p, err := Laplace{c}.Fit(ctx, data, 3)
	require.NoError(t, err)

	r := predicted(t, p, fresh.X)
	within := 0.0
	share := 0.0
	for k, mu := range r.Mu {
		for _, y := range []float64{fresh.Y1[k], fresh.Y2[k]} {
			if math.Abs(y-mu) < 1.959964*math.Sqrt(r.Total[k]) {
				within += 1 / float64(2*len(r.Mu))
			}
		}

		share += r.Epistemic[k] / r.Total[k] / float64(len(r.Mu))
	}

	assert.GreaterOrEqual(t, within, 0.93)
	assert.LessOrEqual(t, within, 0.985)
	assert.GreaterOrEqual(t, share, 0.002)
	assert.LessOrEqual(t, share, 0.5)
}
