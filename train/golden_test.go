package train

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/testfile"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// The figures in testdata come from torch (autograd, Adam, AdamW) and numpy in
// float64; see testdata/README.md.

type golden map[string]any

func loadGolden(t testing.TB, name string) golden {
	t.Helper()

	b := testfile.Read(t, "testdata/"+name+".json")

	g := golden{}
	require.NoError(t, json.Unmarshal(b, &g))

	return g
}

func (g golden) int(k string) int { return int(g[k].(float64)) }

// flat returns an array of any depth as one row-major slice.
func (g golden) flat(t testing.TB, k string) []float64 {
	t.Helper()

	v, ok := g[k]
	require.True(t, ok, "golden figures hold no %q", k)

	var out []float64
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case float64:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}

	walk(v)

	return out
}

// setParams writes the golden weights, prefix+"W1" …, into p.
func (g golden) setParams(t testing.TB, l *layout, prefix string, set func(i int, v float64)) {
	for i := range l.depth() + 1 {
		w := g.flat(t, fmt.Sprintf("%sW%d", prefix, i+1))
		b := g.flat(t, fmt.Sprintf("%sb%d", prefix, i+1))

		in := l.fanIn(i)
		out := l.fanOut(i)
		require.Len(t, w, in*out, "layer %d: golden figures have %d weights, layout %d×%d", i, len(w), in, out)
		require.Len(t, b, out, "layer %d: golden figures have %d weights, layout %d×%d", i, len(w), in, out)

		for a := range in {
			for o := range out {
				set(l.at(i, a, o), w[a*out+o])
			}
		}

		for o := range out {
			set(l.b[i]+o, b[o])
		}
	}
}

// eachSet runs a test with the generic code in float64 and with every set of
// float32 kernels this machine has.
func eachSet(t *testing.T, f64 func(*testing.T, *kernel.Set[float64]), f32 func(*testing.T, *kernel.Set[float32])) {
	t.Run("float64", func(t *testing.T) { f64(t, kernel.Portable[float64]()) })

	for _, name := range kernel.Names() {
		t.Run(name, func(t *testing.T) {
			k := resolved(t, name)

			f32(t, k)
		})
	}
}

// near compares with the golden tolerance, relative to the largest figure of
// the array: single elements may be sums that cancel.
func near[T kernel.Float](t testing.TB, what string, got []T, want []float64, tol float64) {
	t.Helper()

	require.Len(t, got, len(want), "%s: figures", what)

	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}

	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= tol*scale) {
			t.Errorf("%s[%d] = %.9g, expected %.9g (off by %.2g of the largest, allowed %.0e)", what, i, got[i], w, d/scale, tol)
			return
		}
	}
}

func TestGoldenNetwork(t *testing.T) {
	for _, name := range []string{"mlp_small", "mlp_full"} {
		g := loadGolden(t, name)
		eachSet(t,
			func(t *testing.T, k *kernel.Set[float64]) { goldenNetwork(t, name, g, k, 1e-9) },
			func(t *testing.T, k *kernel.Set[float32]) { goldenNetwork(t, name, g, k, 1e-5) })
	}
}

// goldenTrainer returns a trainer with the golden weights, without dropout, and
// the golden triplets as its data.
func goldenTrainer[T kernel.Float](t testing.TB, g golden, k *kernel.Set[T], cfg Config) (*trainer[T], []T, []int32) {
	in := g.int("din")
	d := g.int("d")
	h := g.int("H")
	B := g.int("B")
	cfg.Hidden = []int{h, h}
	cfg.Dropout = 0
	tr := newTrainer(newLayout(in, d, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
	if cfg.Feedback != Flag {
		g.setParams(t, tr.layout, "", func(i int, v float64) { tr.p[i] = T(v) })
	}

	trip := triplets.Set{N: B, In: in, Out: d, X: g.flat(t, "x"), Y1: g.flat(t, "y1"), Y2: g.flat(t, "y2")}

	idx := upTo(B)

	return tr, packRows[T](trip, triplets.Identity(in), triplets.Identity(d)), idx
}

// resolved returns kernels by their name.
func resolved(t testing.TB, name string) *kernel.Set[float32] {
	t.Helper()

	k, err := kernel.Resolve(name)
	require.NoError(t, err)

	return k
}

// estimated compares the two answers of a model.
func estimated(t testing.TB, m *Model, x []float64, o EstimateOptions) *Estimates {
	t.Helper()

	e, err := m.Estimate(t.Context(), x, o)
	require.NoError(t, err)

	return e
}

// upTo lists the rows 0 to n−1.
func upTo(n int) []int32 {
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = int32(i)
	}

	return idx
}

func goldenNetwork[T kernel.Float](t *testing.T, name string, g golden, k *kernel.Set[T], tol float64) {
	d := g.int("d")
	B := g.int("B")
	for _, fb := range []struct {
		tag string
		set func(*Config)
	}{
		{"drop", func(c *Config) {}},
		{"const", func(c *Config) {
			c.Feedback = Constant
			c.FeedbackValue = -3
		}},
	} {
		for _, pairs := range []string{Symmetrised, Plain} {
			cfg := DefaultConfig()
			fb.set(&cfg)
			cfg.Pairs = pairs

			tag := fb.tag + "_sym_"
			if pairs == Plain {
				tag = fb.tag + "_plain_"
			}

			tr, rows, idx := goldenTrainer(t, g, k, cfg)
			near(t, name+" "+tag+"loss", []float64{tr.loss(rows, nil, nil)}, g.flat(t, tag+"loss"), tol)
			loss := tr.gradient(rows, idx, nil)
			near(t, name+" "+tag+"loss", []float64{loss}, g.flat(t, tag+"loss"), tol)

			// Rows without feedback come first, then those fed y1.
			near(t, name+" "+tag+"mu", tr.mu[:B*d], g.flat(t, tag+"mu"), tol)
			near(t, name+" "+tag+"mu_given_y1", tr.mu[B*d:2*B*d], g.flat(t, tag+"mu_given_y1"), tol)
			v := append([]T(nil), tr.raw[:kernel.PadLane(2*B*d)]...)
			k.Variance(v)
			near(t, name+" "+tag+"var", v[:B*d], g.flat(t, tag+"var"), tol)
			near(t, name+" "+tag+"var_given_y1", v[B*d:2*B*d], g.flat(t, tag+"var_given_y1"), tol)
			compareParams(t, name+" "+tag+"grad_", g, tr.layout, tag+"grad_", tr.g, tol)
		}
	}

	for _, opt := range []struct {
		tag   string
		decay float64
	}{{"adam", 0}, {"adamw", 0.01}} {
		cfg := DefaultConfig()
		cfg.WeightDecay = opt.decay
		tr, rows, idx := goldenTrainer(t, g, k, cfg)

		var losses []float64
		for range 3 {
			losses = append(losses, tr.gradient(rows, idx, nil))
			tr.step(1e-3)
		}

		near(t, name+" "+opt.tag+"_losses", losses, g.flat(t, opt.tag+"_losses"), tol)
		compareParams(t, name+" "+opt.tag, g, tr.layout, opt.tag+"3_", tr.p, tol)
	}
}

// compareParams compares each golden array with the same part of flat, and
// checks that the padding is zero.
func compareParams[T kernel.Float](t *testing.T, what string, g golden, l *layout, prefix string, flat []T,
	tol float64,
) {
	t.Helper()

	rest := append([]T(nil), flat...)
	for i := range l.depth() + 1 {
		in := l.fanIn(i)
		out := l.fanOut(i)
		w := make([]T, 0, in*out)
		b := make([]T, 0, out)
		for a := range in {
			for o := range out {
				w = append(w, flat[l.at(i, a, o)])
				rest[l.at(i, a, o)] = 0
			}
		}

		for o := range out {
			b = append(b, flat[l.b[i]+o])
			rest[l.b[i]+o] = 0
		}

		near(t, fmt.Sprintf("%sW%d", what, i+1), w, g.flat(t, fmt.Sprintf("%sW%d", prefix, i+1)), tol)
		near(t, fmt.Sprintf("%sb%d", what, i+1), b, g.flat(t, fmt.Sprintf("%sb%d", prefix, i+1)), tol)
	}

	for i, v := range rest {
		if v != 0 {
			t.Errorf("%s: padding at %d is %g, expected 0", what, i, v)
			return
		}
	}
}

// β-NLL and its derivatives at extreme raw values: betanll_table.csv.
func TestGoldenBetaNLL(t *testing.T) {
	f, err := os.Open("testdata/betanll_table.csv")
	require.NoError(t, err)
	defer f.Close()

	recs, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	table := make([][]float64, 0, len(recs))
	for _, r := range recs[1:] {
		row := make([]float64, len(r))
		for i, s := range r {
			row[i], err = strconv.ParseFloat(s, 64)
			require.NoError(t, err)
		}

		table = append(table, row)
	}

	eachSet(t,
		func(t *testing.T, k *kernel.Set[float64]) { goldenBetaNLL(t, table, k, 1e-9, 0) },
		// Below the least normal float32, 1.2e-38, nothing holds five digits.
		func(t *testing.T, k *kernel.Set[float32]) { goldenBetaNLL(t, table, k, 1e-5, 1.2e-38) })
}

func goldenBetaNLL[T kernel.Float](t *testing.T, table [][]float64, k *kernel.Set[T], rel, abs float64) {
	for i, r := range table {
		// Columns: raw, var, y−μ, β, loss, ∂/∂μ, ∂/∂raw. One element at a time,
		// so that the returned sum is its loss.
		mu := make([]T, 16)
		raw := make([]T, 16)
		t1 := make([]T, 16)
		t2 := make([]T, 16)
		c := make([]T, 16)
		gmu := make([]T, 16)
		graw := make([]T, 16)
		at := i % 16
		raw[at], t1[at], t2[at], c[at] = T(r[0]), T(r[2]), T(r[2]), 1
		loss := k.LossGrad(gmu, graw, mu, raw, t1, t2, c, T(r[3]))
		v := append([]T(nil), raw...)
		k.Variance(v)

		for _, q := range []struct {
			what string
			got  T
			want float64
		}{{"variance", v[at], r[1]}, {"loss", loss, r[4]}, {"dmu", gmu[at], r[5]}, {"draw", graw[at], r[6]}} {
			// At raw = 1 with variance near 1 the loss is ½ log v of a v
			// rounded to 6e-8; relative to max(|loss|, v^β) is what float32 can do.
			scale := math.Abs(q.want)
			if d := math.Abs(float64(q.got) - q.want); !(d <= rel*scale+abs) {
				t.Errorf("row %d (raw %g, y−μ %g): %s = %.9g, expected %.9g", i, r[0], r[2], q.what, q.got, q.want)
			}
		}
	}
}

func goldenModel(t testing.TB, g golden, in, d, h int, kernels string) *Model {
	cfg := DefaultConfig()
	cfg.Standardise = false
	cfg.Hidden = []int{h, h}
	l := newLayout(in, d, 0, cfg.Hidden)
	m := &Model{
		In: in, Out: d, Config: cfg, Kernels: kernels, shape: l, params: aligned[float32](l.size),
		inputScale: triplets.Identity(in), outcomeScale: triplets.Identity(d),
	}

	g.setParams(t, l, "", func(i int, v float64) { m.params[i] = float32(v) })

	return m
}

// cov_1d.json: a trapezoid of 200 001 nodes on ±9σ, in float64 throughout.
func TestGoldenCov1D(t *testing.T) {
	g := loadGolden(t, "cov_1d")
	l := newLayout(1, 1, 0, []int{64, 64})
	p := make([]float64, l.size)
	g.setParams(t, l, "", func(i int, v float64) { p[i] = v })
	pw := newPiecewise(l, p)
	x := g.flat(t, "x")
	mu := g.flat(t, "mu")
	variance := g.flat(t, "var")

	cov := g.flat(t, "cov")
	shift := g.flat(t, "shift")
	centred := g.flat(t, "cov_centred")
	for i := range x {
		m, v := pw.first([]float32{float32(x[i])}, 0)

		c, delta, kappa := pw.integrate([]float32{float32(x[i])}, 0)
		for _, q := range []struct {
			what      string
			got, want float64
			tol       float64
		}{
			{"mu", m, mu[i], 1e-9},
			{"var", v, variance[i], 1e-9},
			{"C", c, centred[i], 1e-6 * math.Abs(centred[i])},
			{"C+μδ", c + m*delta, cov[i], 1e-6 * math.Abs(cov[i])},
			// A shift is a difference of means: relative to the mean.
			{"δ", delta, shift[i], 1e-6 * max(math.Abs(shift[i]), 1e-3*math.Abs(mu[i]))},
			{"κ", kappa, kappaTrapezoid(pw, float32(x[i])), 1e-6 * v},
		} {
			if !(math.Abs(q.got-q.want) <= q.tol) {
				t.Errorf("x = %g: %s = %.12g, expected %.12g ± %.1g", x[i], q.what, q.got, q.want, q.tol)
			}
		}
	}

	// Through the public interface, with weights rounded to float32.
	for _, name := range kernel.Names() {
		e, err := goldenModel(t, g, 1, 1, 64, name).Estimate(context.Background(), x,
			EstimateOptions{Samples: 20000, Seed: 3})
		require.NoError(t, err)

		near(t, name+" Mu", e.Mu, mu, 1e-5)
		near(t, name+" Var", e.Var, variance, 1e-5)
		near(t, name+" Cov", e.Cov, centred, 1e-5)

		// Antithetic sampling at M = 20000 is within a few 1e-3 of the limit.
		near(t, name+" CovRaw", e.CovRaw, cov, 2e-2)

		assert.Equal(t, "exact-1d", e.Method, "method")
	}
}

// kappaTrapezoid is E[v] + Var m − σ² by 20 001 nodes on ±9σ, evaluating the
// network node by node.
func kappaTrapezoid(p *piecewise, x float32) float64 {
	mu, s2 := p.first([]float32{x}, 0)
	const n = 10000

	var ev, em, eq float64
	for i := range n + 1 {
		e := -9 + 18*float64(i)/n
		w := 18.0 / n * math.Exp(-e*e/2) / math.Sqrt(2*math.Pi)
		p.start([]float32{x}, mu+math.Sqrt(s2)*e, 1)

		for j := range p.depth() {
			p.next(j, 0)
		}

		o := p.forms[p.depth()]
		ev += w * (math.Log1p(math.Exp(o[1].a)) + 1e-6)
		em += w * (o[0].a - mu)
		eq += w * (o[0].a - mu) * (o[0].a - mu)
	}

	return ev + eq - em*em - s2
}

// cov_5d.json: 500 000 antithetic pairs with standard errors, and the same sum
// over 32 given ε.
func TestGoldenCov5D(t *testing.T) {
	g := loadGolden(t, "cov_5d")
	x := g.flat(t, "x")
	eps := g.flat(t, "eps")
	variance := g.flat(t, "var")
	cov := g.flat(t, "cov")
	se := g.flat(t, "cov_se")
	shift := g.flat(t, "shift")
	mu := g.flat(t, "mu")

	both := make([]float32, 0, 2*len(eps))
	for _, v := range eps {
		both = append(both, float32(v))
	}

	for _, v := range eps {
		both = append(both, -float32(v))
	}

	for _, name := range kernel.Names() {
		t.Run(name, func(t *testing.T) {
			if name == "portable" && !long() {
				t.Skip("many samples by the slowest kernels; DOUBLETAKE_LONG=1 runs it")
			}

			m := goldenModel(t, g, 3, 5, 64, name)
			est := estimated(t, m, x, EstimateOptions{Samples: 40000, Seed: 1})

			assert.Equal(t, "halton-1024", est.Method, "method")

			near(t, "Mu", est.Mu, mu, 1e-5)
			near(t, "Var", est.Var, variance, 1e-5)

			// The golden standard error is of 500 000 pairs, ours of 20 000.
			ratio := math.Sqrt(1 + 500000.0/20000)
			for i := range cov {
				if d := math.Abs(est.CovRaw[i] - cov[i]); d > 4*ratio*se[i] {
					t.Errorf("CovRaw[%d] = %g, expected %g ± %g", i, est.CovRaw[i], cov[i], ratio*se[i])
				}

				// docs/method.md#how-c-is-integrated: within 1 % of σ².
				want := cov[i] - mu[i]*shift[i]
				if d := math.Abs(est.Cov[i] - want); d > 0.01*variance[i]+4*se[i] {
					t.Errorf("Cov[%d] = %g, expected %g within 1 %% of σ² = %g", i, est.Cov[i], want, variance[i])
				}

				if d := math.Abs(est.Delta[i] - shift[i]); d > 0.01*math.Sqrt(variance[i]) {
					t.Errorf("Delta[%d] = %g, expected %g within 1 %% of σ = %g", i, est.Delta[i], shift[i], math.Sqrt(variance[i]))
				}
			}

			e := newEstimator(m)
			for _, c := range []struct {
				key string
				eps []float32
			}{{"cov_given_eps", both[:len(eps)]}, {"cov_given_pm_eps", both}} {
				r := *est
				r.CovRaw = make([]float64, len(cov))
				r.Samples = len(c.eps) / 5
				require.NoError(t, e.space(context.Background(), e.scaleX(x), c.eps, &r))

				near(t, c.key, r.CovRaw, g.flat(t, c.key), 1e-5)
			}
		})
	}
}
