package baseline

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"doubletake/train"
	"doubletake/train/triplets"
)

type laplaceCase struct {
	X, Count, Q     []float64
	Mu              [][]float64
	Full, Last      [][]float64
	Kronecker       [][]float64
	FullLogDet      float64   `json:"full_logdet"`
	LastLogDet      []float64 `json:"last_logdet"`
	KroneckerLogDet float64   `json:"kronecker_logdet"`
}

// Expected values: torch's autograd and linear algebra, testdata/make_laplace.py:
// fewer rows than weights, and more.
func TestLaplaceAgainstTorch(t *testing.T) {
	var g struct {
		Model     *train.Model
		Square    float64
		Few, Many laplaceCase
	}
	raw, err := os.ReadFile("testdata/laplace.json")
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}
	if err != nil || len(g.Few.Full) != 4 || len(g.Many.Full) != 4 {
		t.Fatal(err)
	}
	const lambda = 0.3
	near := func(what string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
			t.Errorf("%s: %.12g, torch %.12g", what, got, want)
		}
	}
	m := g.Model
	for name, c := range map[string]laplaceCase{"few": g.Few, "many": g.Many} {
		col := collapsed{n: len(c.Count), x: c.X, count: c.Count}
		d := m.Derivatives()
		size, square := 0, 0.0
		for k := range d.Layers() {
			size += (len(d.Input(k)) + 1) * len(d.Gradient(0)[k])
			square += d.Square(k)
		}
		near(name+": θ²", square, g.Square, 1e-12)
		q := newTangent(d, 4, m.Out)
		for i := range 4 {
			mu, _ := d.At(c.Q[i*m.In : (i+1)*m.In])
			q.set(i, d)
			for j := range mu {
				near(name+": mean", mu[j], c.Mu[i][j], 1e-12)
			}
		}
		check := func(what string, p posterior, want [][]float64) {
			v := make([]float64, 4*m.Out)
			p.variance(q, v)
			for k := range v {
				near(name+": "+what, v[k], want[k/m.Out][k%m.Out], 1e-9)
			}
		}
		p, err := lastLayer(ctx, m, col)
		if err != nil {
			t.Fatal(err)
		}
		last := p.(headPosterior)
		for j := range last.lambda {
			last.lambda[j] = lambda
			near(name+": ln|H| of the last layer", last.head[j].logDet(lambda), c.LastLogDet[j], 1e-10)
		}
		check("last layer", last, c.Last)
		if p, err = kronecker(ctx, m, col); err != nil {
			t.Fatal(err)
		}
		kron := p.(blocks)
		kron.lambda = lambda
		near(name+": ln|H| of Kronecker blocks", kron.logDet(lambda), c.KroneckerLogDet, 1e-10)
		check("Kronecker", kron, c.Kronecker)

		all, noise := newTangent(d, col.n, m.Out), []float64{}
		for i := range col.n {
			_, v := d.At(c.X[i*m.In : (i+1)*m.In])
			all.set(i, d)
			for j := range v {
				noise = append(noise, v[j]/c.Count[i])
			}
		}
		w, err := newWhole(all, noise, lambda, size)
		if err != nil {
			t.Fatal(err)
		}
		if (w.data != nil) != (name == "few") {
			t.Errorf("%s: %d rows, %d weights", name, len(noise), size)
		}
		near(name+": ln|H|", w.logDet, c.FullLogDet, 1e-9)
		check("full", w, c.Full)
		// Both spaces give the same.
		if name == "many" {
			dual, err := newWhole(all, noise, lambda, math.MaxInt)
			if err != nil {
				t.Fatal(err)
			}
			check("full in the space of the data", dual, c.Full)
		}
		// A prior that allows nothing leaves nothing.
		w, err = newWhole(all, noise, 1e12, size)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, 4*m.Out)
		w.variance(q, v)
		for _, x := range v {
			if x > 1e-6 {
				t.Errorf("%s: λ = 1e12 leaves a variance of %v", name, x)
			}
		}
	}
}

// The posterior of the last layer is Bayesian linear regression on the
// activations: covariance (Φᵀdiag(N/σ²)Φ + λI)⁻¹, here by inversion.
func TestLastLayerIsBayesianRegression(t *testing.T) {
	data := toy(80, 6)
	c := settings().Config
	c.Epochs, c.Seed = 30, 2
	m, _, err := train.FitSingle(ctx, data, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	col := collapse(data)
	p, err := lastLayer(ctx, m, col)
	if err != nil {
		t.Fatal(err)
	}
	post, d := p.(headPosterior), m.Derivatives()
	top := d.Layers() - 1
	n := len(d.Input(top)) + 1
	phi := func() []float64 { return append(append([]float64{}, d.Input(top)...), 1) }
	for j := range 2 {
		h := mat.NewDense(n, n, nil)
		for i := range col.n {
			_, v := d.At(col.x[i : i+1])
			f := phi()
			for a := range n {
				for b := range n {
					h.Set(a, b, h.At(a, b)+col.count[i]*f[a]*f[b]/v[j])
				}
			}
		}
		for a := range n {
			h.Set(a, a, h.At(a, a)+post.lambda[j])
		}
		var inverse mat.Dense
		if err := inverse.Inverse(h); err != nil {
			t.Fatal(err)
		}
		for _, x := range []float64{-2, 0.3, 6} {
			d.At([]float64{x})
			one := newTangent(d, 1, 2)
			one.set(0, d)
			v := make([]float64, 2)
			post.variance(one, v)
			f := mat.NewVecDense(n, phi())
			if want := mat.Inner(f, &inverse, f); math.Abs(v[j]-want) > 1e-10*(1+want) {
				t.Errorf("outcome %d at %v: %v, regression %v", j, x, v[j], want)
			}
		}
	}
}

// Three repeats of each condition make three pairs, each run in two of them, of
// weight one half: the posterior counts three measurements. Expected: that of as many
// pairs of weight 3/2, one a condition, with the same network.
func TestLaplaceCountsRepeats(t *testing.T) {
	once := toy(40, 3)
	c := settings().Config
	c.Epochs, c.Hidden = 20, []int{8}
	m, _, err := train.FitSingle(ctx, once, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	thrice := once
	for range 2 {
		thrice.X = slices.Concat(thrice.X, once.X)
		thrice.Y1, thrice.Y2 = slices.Concat(thrice.Y1, once.Y1), slices.Concat(thrice.Y2, once.Y2)
		thrice.N += once.N
	}
	for range once.N {
		once.Weight = append(once.Weight, 1.5)
	}
	for range thrice.N {
		thrice.Weight = append(thrice.Weight, 0.5)
	}
	x := []float64{-2, 0.4, 5}
	for _, weights := range []string{LastLayer, Kronecker, Full} {
		var r [2]*Prediction
		for i, data := range []triplets.Set{once, thrice} {
			p, err := linearise(ctx, m, data, weights)
			if err != nil {
				t.Fatal(err)
			}
			r[i] = predicted(t, laplacePredictor{m, p}, x)
		}
		for k, v := range r[0].Epistemic {
			if math.Abs(r[1].Epistemic[k]-v) > 1e-9*v || v == 0 {
				t.Errorf("%s, value %d: %v of three pairs, %v of one that counts three", weights, k, r[1].Epistemic[k], v)
			}
		}
	}
}

// Inside of the data the intervals of every form hold; what they say outside is
// no promise.
func TestLaplaceCoversInside(t *testing.T) {
	data, fresh := toy(300, 1), toy(1000, 2)
	for _, weights := range []string{LastLayer, Kronecker, Full} {
		s := settings()
		s.Config.Dropout = 0
		p, err := Laplace{s.Config, weights}.Fit(ctx, data, 3)
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Predict(ctx, fresh.X)
		if err != nil {
			t.Fatal(err)
		}
		in, share := 0.0, 0.0
		for k, mu := range r.Mu {
			for _, y := range []float64{fresh.Y1[k], fresh.Y2[k]} {
				if math.Abs(y-mu) < 1.959964*math.Sqrt(r.Total[k]) {
					in += 1 / float64(2*len(r.Mu))
				}
			}
			share += r.Epistemic[k] / r.Total[k] / float64(len(r.Mu))
		}
		t.Logf("%s: %.3f inside of 95 %%, v̂ %.3f of the total", weights, in, share)
		if in < 0.92 || in > 0.985 || share < 0.002 || share > 0.5 {
			t.Errorf("%s: %.3f of the values lie inside of 95 %%, v̂ is %.3f of the total", weights, in, share)
		}
	}
}

// BenchmarkLaplace is the cost after a training of the drone's size: 585 conditions,
// three inputs, five outcomes, and the prediction at 780.
func BenchmarkLaplace(b *testing.B) {
	data := triplets.Set{N: 585, In: 3, Out: 5}
	z := 0.5
	next := func() float64 { z = math.Mod(z*97.3+0.37, 1); return 2*z - 1 }
	for range data.N {
		x := []float64{next(), next(), next()}
		data.X = append(data.X, x...)
		for j := range 5 {
			y := math.Sin(3*x[0]+float64(j)) + x[1]*x[2]
			data.Y1, data.Y2 = append(data.Y1, y+0.1*next()), append(data.Y2, y+0.1*next())
		}
	}
	c := train.DefaultConfig()
	c.Epochs = 50
	m, _, err := train.FitSingle(ctx, data, c, nil)
	if err != nil {
		b.Fatal(err)
	}
	x := append(append([]float64{}, data.X...), data.X[:3*195]...)
	for _, weights := range []string{LastLayer, Kronecker, Full} {
		b.Run(weights, func(b *testing.B) {
			for b.Loop() {
				p, err := linearise(ctx, m, data, weights)
				if err == nil {
					_, err = laplacePredictor{m, p}.Predict(ctx, x)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
