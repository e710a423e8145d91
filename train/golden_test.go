package train

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// golden has figures of testdata by their names: numbers, and arrays of any depth. They come from torch (autograd,
// Adam, AdamW) and numpy in float64; see testdata/README.md.
type golden map[string]any

// loadGolden reads the figures of testdata/name.json.
func loadGolden(t testing.TB, name string) golden {
	t.Helper()

	b := testfile.Read(t, "testdata/"+name+".json")

	g := golden{}
	require.NoError(t, json.Unmarshal(b, &g))

	return g
}

// int returns the whole number with that name.
func (g golden) int(k string) int { return int(g[k].(float64)) }

// flat returns an array of any depth as one row-major slice.
func (g golden) flat(t testing.TB, k string) []float64 {
	t.Helper()

	v, ok := g[k]
	require.True(t, ok, "there are no golden figures %q", k)

	return flatten(v)
}

// flatten returns the numbers of an array of any depth.
func flatten(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		var numbers []float64
		for _, element := range v {
			numbers = append(numbers, flatten(element)...)
		}

		return numbers
	}

	return nil
}

// setParams calls set for the place and the value of every golden weight and bias, prefix+"W1" …
func (g golden) setParams(t testing.TB, l *layout, prefix string, set func(i int, v float64)) {
	for i := range l.depth() + 1 {
		w := g.flat(t, fmt.Sprintf("%sW%d", prefix, i+1))
		b := g.flat(t, fmt.Sprintf("%sb%d", prefix, i+1))

		in := l.fanIn(i)
		out := l.fanOut(i)
		require.Len(t, w, in*out, "golden weights of layer %d", i)
		require.Len(t, b, out, "golden biases of layer %d", i)

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
			f32(t, resolved(t, name))
		})
	}
}

// near compares arrays. The tolerance is relative to the largest number of want, because single elements may be sums
// that cancel. A NaN is not near anything.
func near[T kernel.Float](t testing.TB, what string, got []T, want []float64, tol float64) {
	t.Helper()

	require.Len(t, got, len(want), "%s: numbers", what)

	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}

	for i, w := range want {
		require.InDelta(t, w, float64(got[i]), tol*largest, "%s[%d]; the largest is %.3g", what, i, largest)
	}
}

// Answers, losses, gradients and steps of Adam are right. Expected values: torch.
func TestGoldenNetwork(t *testing.T) {
	for _, name := range []string{"mlp_small", "mlp_full"} {
		g := loadGolden(t, name)
		eachSet(t,
			func(t *testing.T, k *kernel.Set[float64]) { goldenNetwork(t, name, g, k, 1e-9) },
			func(t *testing.T, k *kernel.Set[float32]) { goldenNetwork(t, name, g, k, 1e-5) })
	}
}

// goldenTrainer returns a trainer with the golden weights and without dropout, the golden triplets as its rows, and the
// numbers of all rows.
func goldenTrainer[T kernel.Float](t testing.TB, g golden, k *kernel.Set[T], cfg Config) (*trainer[T], []T, []int32) {
	in := g.int("din")
	d := g.int("d")
	h := g.int("H")
	n := g.int("B")
	cfg.Hidden = []int{h, h}
	cfg.Dropout = 0
	tr := newTrainer(newLayout(in, d, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
	if cfg.Feedback != Flag {
		g.setParams(t, tr.layout, "", func(i int, v float64) { tr.p[i] = T(v) })
	}

	set := triplets.Set{N: n, In: in, Out: d, X: g.flat(t, "x"), Y1: g.flat(t, "y1"), Y2: g.flat(t, "y2")}

	return tr, packRows[T](set, triplets.Identity(in), triplets.Identity(d)), upTo(n)
}

// resolved returns kernels by their name.
func resolved(t testing.TB, name string) *kernel.Set[float32] {
	t.Helper()

	k, err := kernel.Resolve(name)
	require.NoError(t, err)

	return k
}

// estimated returns the estimates of a model at the conditions x.
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

// goldenNetwork compares the network name with its golden figures g, with the kernels k.
func goldenNetwork[T kernel.Float](t *testing.T, name string, g golden, k *kernel.Set[T], tol float64) {
	goldenLosses(t, name, g, k, tol)
	goldenSteps(t, name, g, k, tol)
}

// goldenLosses compares the answers, the losses and the gradients, with two feedbacks and two ways to take pairs.
func goldenLosses[T kernel.Float](t *testing.T, name string, g golden, k *kernel.Set[T], tol float64) {
	t.Helper()

	count := g.int("B") * g.int("d") // answers of one pass
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
			near(t, name+" "+tag+"mu", tr.mu[:count], g.flat(t, tag+"mu"), tol)
			near(t, name+" "+tag+"mu_given_y1", tr.mu[count:2*count], g.flat(t, tag+"mu_given_y1"), tol)

			v := slices.Clone(tr.raw[:kernel.PadLane(2*count)])
			k.Variance(v)
			near(t, name+" "+tag+"var", v[:count], g.flat(t, tag+"var"), tol)
			near(t, name+" "+tag+"var_given_y1", v[count:2*count], g.flat(t, tag+"var_given_y1"), tol)
			compareParams(t, name+" "+tag+"grad_", g, tr.layout, tag+"grad_", tr.g, tol)
		}
	}
}

// goldenSteps compares three steps of Adam, with and without weight decay.
func goldenSteps[T kernel.Float](t *testing.T, name string, g golden, k *kernel.Set[T], tol float64) {
	t.Helper()

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

	rest := slices.Clone(flat) // 0 where a parameter was compared: what is left is padding
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
		require.Zero(t, v, "%s: padding at %d", what, i)
	}
}

// The β-NLL and its derivatives are right at extreme raw values, too. Expected values: betanll_table.csv.
func TestGoldenBetaNLL(t *testing.T) {
	f, err := os.Open("testdata/betanll_table.csv")
	require.NoError(t, err)
	defer f.Close()

	recs, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	var table []lossRow
	for _, record := range recs[1:] {
		numbers := make([]float64, len(record))
		for i, text := range record {
			numbers[i], err = strconv.ParseFloat(text, 64)
			require.NoError(t, err)
		}

		table = append(table, lossRow{
			raw: numbers[0], variance: numbers[1], residual: numbers[2], beta: numbers[3],
			loss: numbers[4], byMu: numbers[5], byRaw: numbers[6],
		})
	}

	eachSet(t,
		func(t *testing.T, k *kernel.Set[float64]) { goldenBetaNLL(t, table, k, 1e-9, 0) },
		// Below the least normal float32, 1.2e-38, nothing holds five digits.
		func(t *testing.T, k *kernel.Set[float32]) { goldenBetaNLL(t, table, k, 1e-5, 1.2e-38) })
}

// lossRow is a row of betanll_table.csv: the arguments of the loss of one element, and what they give.
type lossRow struct {
	raw, residual, beta float64 // residual = y − μ

	variance, loss, byMu, byRaw float64 // byMu and byRaw are the derivatives of the loss
}

// goldenBetaNLL compares one element at a time, so that the returned sum is its loss. The element is in another place
// of the kernel's vectors each time. absolute is added to the tolerance.
func goldenBetaNLL[T kernel.Float](t *testing.T, table []lossRow, k *kernel.Set[T], relative, absolute float64) {
	for i, row := range table {
		var mu, raw, y, weight, gmu, graw [kernel.Lane]T
		place := i % kernel.Lane
		raw[place] = T(row.raw)
		y[place] = T(row.residual)
		weight[place] = 1
		loss := k.LossGrad(gmu[:], graw[:], mu[:], raw[:], y[:], y[:], weight[:], T(row.beta))
		k.Variance(raw[:])

		for _, q := range []struct {
			name string
			got  T
			want float64
		}{
			{"variance", raw[place], row.variance},
			{"loss", loss, row.loss},
			{"∂loss/∂μ", gmu[place], row.byMu},
			{"∂loss/∂raw", graw[place], row.byRaw},
		} {
			assert.InDelta(t, q.want, float64(q.got), relative*math.Abs(q.want)+absolute, "%s of %+v", q.name, row)
		}
	}
}

// goldenModel returns a model with two hidden layers of h units and the golden weights.
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

// The integration over pieces is exact for one outcome. Expected values: cov_1d.json, a trapezoid rule with 200 001
// nodes on ±9σ in float64, and for κ kappaTrapezoid.
func TestGoldenCov1D(t *testing.T) {
	g := loadGolden(t, "cov_1d")
	l := newLayout(1, 1, 0, []int{64, 64})
	params := make([]float64, l.size)
	g.setParams(t, l, "", func(i int, v float64) { params[i] = v })
	pw := newPiecewise(l, params)

	mu := g.flat(t, "mu")
	variance := g.flat(t, "var")
	cov := g.flat(t, "cov")
	shift := g.flat(t, "shift")
	centred := g.flat(t, "cov_centred")
	for i, x := range g.flat(t, "x") {
		condition := []float32{float32(x)}
		m, v := pw.firstAnswer(condition, 0)
		assert.InDelta(t, mu[i], m, 1e-9, "μ at %g", x)
		assert.InDelta(t, variance[i], v, 1e-9, "σ² at %g", x)

		got := pw.integrate(condition, 0)
		assert.InDelta(t, centred[i], got.cov, 1e-6*math.Abs(centred[i]), "C at %g", x)
		assert.InDelta(t, cov[i], got.cov+m*got.delta, 1e-6*math.Abs(cov[i]), "C + μδ at %g", x)

		// A shift is a difference of means: its error is relative to the mean.
		tolerance := 1e-6 * max(math.Abs(shift[i]), 1e-3*math.Abs(mu[i]))
		assert.InDelta(t, shift[i], got.delta, tolerance, "δ at %g", x)
		assert.InDelta(t, kappaTrapezoid(pw, condition), got.kappa, 1e-6*v, "κ at %g", x)
	}
}

// E[v] of a network without kinks, whose raw variance is a + bε. Expected: the errors that the comment of the panels
// states. Witness: a trapezoid rule with 100 001 nodes on ±9σ, which is exact to rounding for a function this smooth.
func TestVarianceBySlope(t *testing.T) {
	const intervals = 100000
	for slope, most := range map[float64]float64{0: 1e-9, 1: 1e-9, 4: 1e-9, 10: 2e-6} {
		for a := -12.0; a <= 12; a += 0.5 {
			want := 0.0
			for i := range intervals + 1 {
				e := reach * (2*float64(i)/intervals - 1)
				want += 2.0 * reach / intervals * normPDF(e) * Variance(a+slope*e)
			}

			var p piecewise
			p.addVariance(linear{a, slope}, -reach, reach)
			assert.InDelta(t, want, p.sums.variance, most, "raw variance %g + %g·ε", a, slope)
		}
	}
}

// The same figures come through Estimate, with weights rounded to float32. 20 000 antithetic samples are within a few
// 1e-3 of the limit of the raw covariance.
func TestGoldenEstimate1D(t *testing.T) {
	g := loadGolden(t, "cov_1d")
	for _, name := range kernel.Names() {
		e := estimated(t, goldenModel(t, g, 1, 1, 64, name), g.flat(t, "x"), EstimateOptions{Samples: 20000, Seed: 3})

		assert.Equal(t, "exact-1d", e.Method)
		near(t, name+" Mu", e.Mu, g.flat(t, "mu"), 1e-5)
		near(t, name+" Var", e.Var, g.flat(t, "var"), 1e-5)
		near(t, name+" Cov", e.Cov, g.flat(t, "cov_centred"), 1e-5)
		near(t, name+" CovRaw", e.CovRaw, g.flat(t, "cov"), 2e-2)
	}
}

// kappaTrapezoid returns κ = E[v] + Var[m] − σ² by a trapezoid rule with 10 001 nodes on ±9σ. It evaluates the network
// node by node.
func kappaTrapezoid(p *piecewise, condition []float32) float64 {
	const intervals = 10000
	mu, variance := p.firstAnswer(condition, 0)

	var meanV, meanM, meanSquare float64 // expectations of v, m − μ and (m − μ)²
	for i := range intervals + 1 {
		e := -9 + 18*float64(i)/intervals
		weight := 18.0 / intervals * math.Exp(-e*e/2) / math.Sqrt(2*math.Pi)
		p.startForms(condition, mu+math.Sqrt(variance)*e, 1)

		for j := range p.depth() {
			p.nextForms(j, 0)
		}

		output := p.forms[p.depth()]
		difference := output[0].a - mu
		meanV += weight * (math.Log1p(math.Exp(output[1].a)) + 1e-6)
		meanM += weight * difference
		meanSquare += weight * difference * difference
	}

	return meanV + meanSquare - meanM*meanM - variance
}

// The cubature for five outcomes and the samples are right. Expected values: cov_5d.json, 500 000 antithetic pairs with
// standard errors, and the sum over 32 given ε.
func TestGoldenCov5D(t *testing.T) {
	g := loadGolden(t, "cov_5d")
	for _, name := range kernel.Names() {
		t.Run(name, func(t *testing.T) {
			if name == "portable" {
				longtest.Skip(t, "many samples by the slowest kernels")
			}

			m := goldenModel(t, g, 3, 5, 64, name)
			goldenSamples(t, g, m)
			goldenGivenEps(t, g, m)
		})
	}
}

// goldenSamples compares estimates with 20 000 antithetic pairs.
func goldenSamples(t *testing.T, g golden, m *Model) {
	t.Helper()

	est := estimated(t, m, g.flat(t, "x"), EstimateOptions{Samples: 40000, Seed: 1})
	mu := g.flat(t, "mu")
	variance := g.flat(t, "var")
	shift := g.flat(t, "shift")
	se := g.flat(t, "cov_se")

	assert.Equal(t, "halton-1024", est.Method)
	near(t, "Mu", est.Mu, mu, 1e-5)
	near(t, "Var", est.Var, variance, 1e-5)

	// The golden standard error is of 500 000 pairs, and ours of 20 000. Four standard errors are allowed. The cubature
	// is within 1 % of σ² (docs/method.md#how-c-is-integrated).
	ratio := math.Sqrt(1 + 500000.0/20000)
	for i, cov := range g.flat(t, "cov") {
		assert.InDelta(t, cov, est.CovRaw[i], 4*ratio*se[i], "CovRaw[%d]", i)
		assert.InDelta(t, cov-mu[i]*shift[i], est.Cov[i], 0.01*variance[i]+4*se[i], "Cov[%d]", i)
		assert.InDelta(t, shift[i], est.Delta[i], 0.01*math.Sqrt(variance[i]), "Delta[%d]", i)
	}
}

// goldenGivenEps compares the raw covariance of the 32 given ε, and of these with their negatives.
func goldenGivenEps(t *testing.T, g golden, m *Model) {
	t.Helper()

	var given, negative []float32
	for _, v := range g.flat(t, "eps") {
		given = append(given, float32(v))
		negative = append(negative, -float32(v))
	}

	x := g.flat(t, "x")
	est := estimated(t, m, x, EstimateOptions{})
	e := newEstimator(m)
	for _, c := range []struct {
		key string
		eps []float32
	}{
		{"cov_given_eps", given},
		{"cov_given_pm_eps", slices.Concat(given, negative)},
	} {
		result := *est
		result.CovRaw = make([]float64, len(est.CovRaw))
		result.Samples = len(c.eps) / m.Out
		require.NoError(t, e.estimateSeveral(t.Context(), e.scaleX(x), c.eps, &result))

		near(t, c.key, result.CovRaw, g.flat(t, c.key), 1e-5)
	}
}
