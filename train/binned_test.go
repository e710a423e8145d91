package train

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Expected values: torch's autograd on whole tables, testdata/make_binned.py.
func TestGoldenBinned(t *testing.T) {
	g := loadGolden(t, "binned")
	eachSet(t,
		func(t *testing.T, k *kernel.Set[float64]) { goldenBinned(t, g, k, 1e-9) },
		func(t *testing.T, k *kernel.Set[float32]) { goldenBinned(t, g, k, 1e-5) })
	back := goldenAnswers(t, binnedConfig(g.int("K")), g)

	x, d := g.flat(t, "x"), g.int("d")
	for j := range d {
		edge := back.bins[j].Edges[1]
		p, va, err := back.Event(ctx, x, j, func(y float64) bool { return y > edge })
		if err != nil {
			t.Fatal(err)
		}

		var wantP, wantV []float64
		for i := j; i < len(x); i += d {
			wantP, wantV = append(wantP, g.flat(t, "event")[i]), append(wantV, g.flat(t, "event_v")[i])
		}

		near(t, "event", p, wantP, 1e-5)
		near(t, "variance of event", va, wantV, 1e-5)
	}
}

var ctx = context.Background()

func binnedConfig(bins int) Config {
	cfg := DefaultConfig()
	cfg.Head, cfg.Bins, cfg.Dropout = Binned, bins, 0
	return cfg
}

func goldenBinned[T kernel.Float](t *testing.T, g golden, k *kernel.Set[T], tol float64) {
	tr, rows := goldenJointTrainer(t, g, k, binnedConfig(g.int("K")))
	tr.learnBins(rows)

	var edges, centre, within []float64
	for _, b := range tr.binned.bins {
		edges, centre, within = append(edges, b.Edges...), append(centre, b.Centre...), append(within, b.Within...)
	}

	near(t, "edges", edges, g.flat(t, "edges"), 1e-12)
	near(t, "means of bins", centre, g.flat(t, "centre"), 1e-12)
	near(t, "variances in bins", within, g.flat(t, "within"), 1e-12)

	idx := upTo(g.int("B"))

	loss := tr.gradient(rows, idx, nil)
	near(t, "loss", []float64{loss}, g.flat(t, "loss"), tol)
	compareParams(t, "gradient", g, tr.layout, "grad_", tr.g, tol)

	// Swapping y1 and y2 changes nothing.
	tr.g = aligned[T](len(tr.g))

	swapped := make([]bool, len(idx))
	for i := range swapped {
		swapped[i] = i%2 == 0
	}

	near(t, "swapped", []float64{tr.gradient(rows, idx, swapped)}, []float64{loss}, tol)
	compareParams(t, "swapped gradient", g, tr.layout, "grad_", tr.g, tol)

	// A triplet with all the weight counts alone.
	tr.g = aligned[T](len(tr.g))
	want := tr.gradient(rows, idx[2:3], nil)
	tr.weight = make([]T, len(idx))
	tr.weight[2] = T(len(idx))
	near(t, "weighted", []float64{tr.gradient(rows, idx, nil)}, []float64{want}, tol)
}

// With two bins in one cell the most likely law is the table of counts: at a mixture
// that is this table the gradient is zero and the loss Σ −(count/n)·ln(count/n), by hand
// from the counts.
func TestBinnedIsTableOfCounts(t *testing.T) {
	const n = 20
	data := triplets.Set{N: n, In: 1, Out: 1, X: make([]float64, n)}

	// Both low 8, both high 8, one of each 4: of 40 values 20 in each bin.
	for i := range n {
		y1, y2 := -1.0, -1.0
		switch {
		case i < 8:
			y1, y2 = 1, 1
		case i < 12:
			y1 = 1
		}

		data.Y1, data.Y2 = append(data.Y1, y1), append(data.Y2, y2)
	}

	table := []float64{0.4, 0.1, 0.1, 0.4} // the four mixed pairs have no order
	cfg := binnedConfig(2)
	cfg.Hidden = []int{4}
	tr := newTrainer(layoutOf(1, 1, cfg), kernel.Portable[float64](), cfg)
	rows := packRows[float64](data, triplets.Identity(1), triplets.Identity(1))
	tr.learnBins(rows)

	// Two components of weight ½ that are low with probability ½ ± s: P[0, 0] = ¼ + s².
	s := math.Sqrt(table[0] - 0.25)
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	b := tr.layout.b[1]
	copy(tr.p[b:], []float64{0, 0, logit(0.5 + s), 0, logit(0.5 - s), 0})

	idx := upTo(n)

	loss := tr.gradient(rows, idx, nil)

	want := -(0.8*math.Log(0.4) + 0.2*math.Log(0.1))
	if math.Abs(loss-want) > 1e-12 {
		t.Errorf("loss %.15g, want %.15g", loss, want)
	}

	for j := range 6 {
		if g := tr.g[b+j]; math.Abs(g) > 1e-12 {
			t.Errorf("gradient %d at the table of counts is %v", j, g)
		}
	}

	law := tr.binned
	readLogits(law, 0, tr.p[b:b+6])

	for k, got := range tableOf(law, 0) {
		if math.Abs(got-table[k]) > 1e-12 {
			t.Errorf("P[%d] = %v, counted %v", k, got, table[k])
		}
	}

	// Any other mixture is less likely.
	for j := range 6 {
		for _, step := range []float64{-0.1, 0.1} {
			tr.p[b+j] += step
			if l := tr.loss(rows, nil); !(l >= loss) {
				t.Errorf("loss %v < %v with number %d moved by %v", l, loss, j, step)
			}

			tr.p[b+j] -= step
		}
	}
}

// tableOf is P of an outcome, row by row.
func tableOf(b *binned, j int) []float64 {
	l, k := b.law[j], b.k
	out := make([]float64, k*k)
	for m, w := range l.pi {
		for a := range k {
			for c := range k {
				out[a*k+c] += w * l.q[m*k+a] * l.q[m*k+c]
			}
		}
	}

	return out
}

// fitBinned trains on the toy below x = 5.
func fitBinned(t *testing.T, couples bool, seed uint64, epochs int) *Model {
	t.Helper()
	cfg := binnedConfig(0)
	cfg.Epochs, cfg.Batch, cfg.Schedule, cfg.Seed = epochs, 64, Cosine, seed
	m, _, err := Fit(ctx, below5(toyData(1000, 1.5, seed, couples)), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func below5(d triplets.Set) triplets.Set {
	var rows []int
	for i, x := range d.X {
		if x < 5 {
			rows = append(rows, i)
		}
	}

	return d.Select(rows)
}

// Σ = P − ppᵀ of a trained head: its rows sum to zero, its event of everything is
// certain, of nothing and of everything V is zero; V of an event and of its
// complement are equal. The estimates are sums over the table: δ = 0, κ = 0 and C by
// the law of total expectation and variance, CovRaw by its draws.
func TestBinnedIdentities(t *testing.T) {
	m := fitBinned(t, false, 3, 20)
	x := []float64{-5, -1, 0, 0.3, 4, 9}
	const draws = 64
	est := estimated(t, m, x, EstimateOptions{Samples: draws, Seed: 5})

	if est.Method != Binned {
		t.Errorf("method %q", est.Method)
	}

	eps := normals(EstimateOptions{Samples: draws, Sampler: Antithetic, Seed: 5}, 1)
	e := newEvaluator(m)
	b := e.l.(*binned)
	err := e.laws(ctx, e.scaleX(x), func(i int) {
		k, p, table := b.k, b.shares(0), tableOf(b, 0)
		c, w := b.bins[0].Centre, b.bins[0].Within

		mu, v, cov, back, kappa := 0.0, 0.0, 0.0, 0.0, 0.0
		for a := range k {
			mu += p[a] * c[a]
		}

		for a := range k {
			v += p[a] * ((c[a]-mu)*(c[a]-mu) + w[a])

			sum := 0.0
			for q := range k {
				s := table[a*k+q] - p[a]*p[q]
				sum += s
				cov += s * c[a] * c[q]
			}

			if math.Abs(sum) > 1e-12 {
				t.Errorf("row %d of Σ sums to %v", a, sum)
			}

			mean, variance := b.answer(0, a)
			back += p[a] * mean
			kappa += p[a] * (variance + (mean-mu)*(mean-mu))
		}

		raw := 0.0
		for _, z := range eps {
			level, a, below := normCDF(float64(z)), 0, p[0]
			for a < k-1 && below <= level {
				a++
				below += p[a]
			}

			mean, _ := b.answer(0, a)
			raw += c[a] * mean / draws
		}

		for what, d := range map[string]float64{
			"mean": est.Mu[i] - mu, "variance": est.Var[i] - v, "C": est.Cov[i] - cov, "δ": back - mu, "κ": kappa - v,
			"raw": est.CovRaw[i] - (raw - mu*mu),
		} {
			if math.Abs(d) > 1e-12*(1+v+mu*mu) {
				t.Errorf("at %g: %s is off by %v", x[i], what, d)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	event := func(inside func(float64) bool) (p, v []float64) {
		p, v, err := m.Event(ctx, x, 0, inside)
		if err != nil {
			t.Fatal(err)
		}

		return p, v
	}

	p, v := event(func(float64) bool { return true })
	none, vNone := event(func(float64) bool { return false })
	high, vHigh := event(func(y float64) bool { return y > 0.4 })

	low, vLow := event(func(y float64) bool { return !(y > 0.4) })
	for i := range x {
		if math.Abs(p[i]-1) > 1e-12 || v[i] > 1e-12 || none[i] != 0 || vNone[i] != 0 ||
			math.Abs(high[i]+low[i]-1) > 1e-12 || math.Abs(vHigh[i]-vLow[i]) > 1e-12 || !(vHigh[i] > 0) {
			t.Errorf("at %g: everything %v, V %v; nothing %v, %v; above %v, %v; not above %v, %v", x[i], p[i], v[i], none[i],
				vNone[i], high[i], vHigh[i], low[i], vLow[i])
		}
	}
}

// The toy below x = 5, judged on fresh pairs. Known truth: the probability of y > 0 at
// x is Φ(x·sin x/σ(x)), so that the error of p̂ is known, and can be compared with V.
func TestBinnedToy(t *testing.T) {
	if !long() {
		t.Skip("trains networks; DOUBLETAKE_LONG=1 runs it")
	}

	const gamma, beta, epochs = 1.5, 0.1, 150
	const seeds = 2
	var a, noise, e, c, shared, off float64

	var p, happened, judged, missed, claimed, beyond float64
	for seed := range uint64(seeds) {
		m := fitBinned(t, false, seed, epochs)
		fresh := below5(toyData(4000, gamma, 100+seed, false))
		est := estimated(t, m, fresh.X, EstimateOptions{Samples: 2})

		prob, v, err := m.Event(ctx, fresh.X, 0, func(y float64) bool { return y > 0 })
		if err != nil {
			t.Fatal(err)
		}

		one := func(y float64) float64 {
			if y > 0 {
				return 1
			}
			return 0
		}

		for i, x := range fresh.X {
			s := gamma * math.Exp(-x*x/2)
			scale := m.out.Std[0] * m.out.Std[0]
			a += (est.Var[i] - est.Cov[i]) * scale
			noise += s * s
			mu := est.Mu[i]*m.out.Std[0] + m.out.Mean[0]
			e += (fresh.Y1[i] - mu) * (fresh.Y2[i] - mu)
			c += est.Cov[i] * scale
			truth := 0.5 * math.Erfc(-x*math.Sin(x)/s/math.Sqrt2)
			h1, h2 := one(fresh.Y1[i]), one(fresh.Y2[i])
			p, happened = p+prob[i], happened+(h1+h2)/2
			judged += (h1 - prob[i]) * (h2 - prob[i])
			missed += (truth - prob[i]) * (truth - prob[i])
			claimed += v[i]

			if math.Abs(truth-prob[i]) >= math.Sqrt(v[i]/beta) {
				beyond++
			}
		}

		// Of couples the second value is the first: no probability is off the diagonal.
		couples := fitBinned(t, true, seed, epochs)
		ev := newEvaluator(couples)
		b := ev.l.(*binned)
		const at = 60

		var x []float64
		for i := range at {
			x = append(x, -5.5+10*float64(i)/at)
		}

		err = ev.laws(ctx, ev.scaleX(x), func(int) {
			table := tableOf(b, 0)

			off += 1.0 / (at * seeds)
			for k := range b.k {
				off -= table[k*b.k+k] / (at * seeds)
			}
		})
		if err != nil {
			t.Fatal(err)
		}

		centre := estimated(t, m, []float64{-0.4, -0.2, 0, 0.2, 0.4}, EstimateOptions{Samples: 2})

		for k := range centre.Cov {
			shared += centre.Cov[k] / centre.Var[k] / 5 / seeds
		}
	}

	n := float64(len(below5(toyData(4000, gamma, 100, false)).X) * seeds)
	t.Logf("A/noise %.2f, S %.2f, C/(A+C) in the centre %.3f, off the diagonal with couples %.4f; y > 0: claimed %.4f, "+
		"happened %.4f, mean square error %.5f, measured by pairs %.5f, V %.5f, beyond the bound %.3f", a/noise, e/c, shared,
		off, p/n, happened/n, missed/n, judged/n, claimed/n, beyond/n)

	if math.Abs(a/noise-1) > 0.1 || shared > 0.15 || off > 0.01 {
		t.Error("outside of the expected ranges: A/noise within 10 %, C/(A+C) below 0.15, off the diagonal below 0.01")
	}

	// C is too large: it contains the uncertainty of where the mean crosses a bin's edge.
	if s := e / c; s < 0.1 || s > 1 {
		t.Errorf("S is %v, expected 0.1 to 1", s)
	}

	if math.Abs(p-happened) > 0.02*n || math.Abs(judged-missed) > 0.003*n || missed > 2*claimed || missed < 0.2*claimed ||
		beyond > beta*n {
		t.Error("the event: expected the claimed share within 0.02, the measured error within 0.003 of the true one, " +
			"that over V from 0.2 to 2, and the bound to hold")
	}
}

// A document that no training can have written is refused, with the place of the fault.
func TestBinnedModelErrors(t *testing.T) {
	m := fitBinned(t, false, 1, 1)
	good, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ old, with, want string }{
		{`"bins":[{`, `"bins":[],"x":[{`, `head "binned" of 1 outcomes has the bins of 0`},
		{`"edges":[`, `"edges":[1e3,`, "bins of outcome 1: expected 16 bins, found 16 edges"},
		{`"variance":[`, `"variance":[-1,`, "bins of outcome 1: expected 16 bins"},
	} {
		bad := strings.Replace(string(good), c.old, c.with, 1)
		if err := json.Unmarshal([]byte(bad), &Model{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.with, err, c.want)
		}
	}

	edges := m.bins[0].Edges
	edges[0], edges[1] = edges[1], edges[0]

	bad, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(bad, &Model{})
	}

	if err == nil || !strings.Contains(err.Error(), "bins of outcome 1: expected finite edges that ascend, found [") {
		t.Error(err)
	}
}

// Equal values stay in one bin, whatever falls on an edge; empty bins hold their edge.
func TestNewBins(t *testing.T) {
	b := newBins([]float64{3, 1, 1, 1, 1, 1, 2, 1}, 4)

	// Sorted: 1 1 1 1 1 1 2 3; edges after 2, 4 and 6 values.
	for y, want := range map[float64]int{0: 0, 1: 2, 1.4: 2, 1.5: 3, 9: 3} {
		if got := b.bin(y); got != want {
			t.Errorf("%g in bin %d, want %d of edges %v", y, got, want, b.Edges)
		}
	}

	if b.Centre[0] != 1 || b.Centre[2] != 1 || b.Centre[3] != 2.5 || b.Within[3] != 0.25 || b.Within[0] != 0 {
		t.Errorf("means %v, variances %v", b.Centre, b.Within)
	}

	if err := b.check(4); err != nil {
		t.Error(err)
	}
}

// Integers, tenths and levels come back from float32 network units as they were, and so
// do values whose first digit is 9, that differ little for their size, or are large.
func TestDecimal(t *testing.T) {
	for _, c := range [][2]float64{{4.5, 2.8722813232690143}, {0, 1}, {88.123, 7.1}, {-3e-4, 2e-5}, {1e5, 3e4}} {
		for i := range 1000 {
			want := math.Round(c[0]+c[1]*(float64(i)/250-2)) + float64(i%10)
			if c[1] < 1 {
				want = math.Round((c[0]+c[1]*(float64(i)/250-2))*1e8) / 1e8
			}

			y := float64(float32((want - c[0]) / c[1]))
			if got := decimal(y, c[0], c[1]); got != want {
				t.Fatalf("%g by %v: %.17g", want, c, got)
			}
		}
	}

	for _, c := range []struct{ mean, std, from, unit float64 }{
		{0, 9.8, 9, 1e-3},
		{-1e-3, 0.97, 0.9, 1e-4},
		{101325.12, 0.05, 101325, 0.01},
		{1e9, 0.4, 1e9 - 1, 1e-3},
		{0, 9e7, 1e8, 1e3},
		{2e12, 9e11, 1e12, 1e9},
	} {
		for i := range 100 {
			want := c.from + float64(i)*c.unit
			if c.unit < 1 { // the number that a person writes
				want = math.Round(want/c.unit) / math.Round(1/c.unit)
			}

			y := float64(float32((want - c.mean) / c.std))
			if got := decimal(y, c.mean, c.std); got != want {
				t.Errorf("%.17g by %v: %.17g", want, c, got)
			}
		}
	}
}
