package score

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/lists"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// golden reads the set computed by testdata/make.py.
func golden(t testing.TB) (s Set, want struct {
	Conditions, Runs int
	All              map[string]float64
	Outcomes         []map[string]float64
	R2Factor         map[string]float64 `json:"r2_factor"`
},
) {
	raw := testfile.Read(t, "testdata/score.json")

	var in struct {
		N, Out         int
		Y1, Y2, Mu     []float64
		Var            []float64
		CovRaw         []float64 `json:"cov_raw"`
		Cov, Delta     []float64
		Kappa          []float64
		ZigZag         []float64
		Condition, Run []int
	}

	require.NoError(t, json.Unmarshal(raw, &in))
	require.NoError(t, json.Unmarshal(raw, &want))

	return Set{
		triplets.Set{N: in.N, Out: in.Out, Y1: in.Y1, Y2: in.Y2, Condition: in.Condition, Run: in.Run},
		triplets.Answers{
			Mu: in.Mu, Var: in.Var, CovRaw: in.CovRaw, Cov: in.Cov, Delta: in.Delta, Kappa: in.Kappa, ZigZag: in.ZigZag,
		},
	}, want
}

// keys returns the keys of the metrics that are computed from u.
func keys(u Uses) (out []string) {
	for _, m := range MetricsOf(u) {
		out = append(out, m.Key)
	}
	return out
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*math.Max(1, math.Abs(b)) }

// Expected values: numpy and scipy, testdata/make.py; differences are rounding.
func TestSummariseAgainstNumpy(t *testing.T) {
	s, want := golden(t)
	got := Summarise(s)
	require.Equal(t, want.Conditions, got.Conditions,
		"%d conditions, %d runs, %d rows", got.Conditions, got.Runs, got.Rows)
	require.Equal(t, want.Runs, got.Runs, "%d conditions, %d runs, %d rows", got.Conditions, got.Runs, got.Rows)
	assert.Equal(t, s.N, got.Rows, "%d conditions, %d runs, %d rows", got.Conditions, got.Runs, got.Rows)

	check := func(what string, m Numbers, want map[string]float64) {
		require.GreaterOrEqual(t, len(want), 15, "%s: only %d numbers to compare", what, len(want))

		for _, name := range keys(Parts) {
			w, ok := want[name]
			if !ok {
				assert.Equal(t, "calibrated_fraction", name, "%s: numpy has no %s", what, name)
				continue
			}

			if g := m.Get(name); !near(g, w, 1e-12) {
				t.Errorf("%s: %s = %v, want %v", what, name, g, w)
			}
		}

		assert.Empty(t, m.Undefined(), "%s: undefined %v", what, m.Undefined())
	}

	check("all", got.Numbers, want.All)

	for j, o := range got.Outcomes {
		check(fmt.Sprint("outcome ", j), o, want.Outcomes[j])
	}
}

// Expected values: scipy's polygamma, testdata/make.py.
func TestR2FactorAgainstScipy(t *testing.T) {
	_, want := golden(t)
	for n := 2; n <= 12; n++ {
		if w := want.R2Factor[fmt.Sprint(n)]; !near(R2Factor(n), w, 1e-12) {
			t.Errorf("R2Factor(%d) = %v, want %v", n, R2Factor(n), w)
		}
	}

	// The threshold is the one in the comment of FewConditions.
	if R2Factor(FewConditions) >= 4 || R2Factor(FewConditions-1) <= 4 {
		t.Errorf("factor %v at %d conditions, %v below", R2Factor(FewConditions), FewConditions, R2Factor(FewConditions-1))
	}
}

// The variance of ln(1−R²) over many sets of seven conditions must be the one
// R2Factor states, when errors and outcomes are independent normals.
func TestR2FactorMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, reps = 7, 20000
	logs := make([]float64, reps)

	y := make([]float64, n)
	mu := make([]float64, n)
	for r := range logs {
		for i := range y {
			y[i] = rng.NormFloat64()
			mu[i] = y[i] + 0.3*rng.NormFloat64()
		}

		logs[r] = math.Log(1 - R2(y, y, mu))
	}

	_, sd := MeanStd(logs)

	// Its standard error is about 1/√(2·20000) = 0.5 %, a little more with these tails; 4 of them.
	if want := math.Log(R2Factor(n)) / 1.959964; math.Abs(sd/want-1) > 0.03 {
		t.Errorf("deviation %v, want %v", sd, want)
	}
}

func TestR2ClosedForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	n := 50
	x := make([]float64, n)
	y1 := make([]float64, n)
	y2 := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
		y1[i], y2[i] = x[i]+rng.NormFloat64(), x[i]+rng.NormFloat64()
	}

	// Exact answer, and the answer that is the set's own mean.
	assert.Equal(t, 1.0, R2(x, x, x), "exact")

	m := (average(y1, nil) + average(y2, nil)) / 2

	constant := slices.Repeat([]float64{m}, n)

	if got := R2(y1, y2, constant); math.Abs(got) > 1e-14 {
		t.Errorf("mean: %v", got)
	}

	// A least-squares line has R² = the squared correlation.
	mx := average(x, nil)

	var sxy, sxx, syy float64
	for i := range x {
		for _, y := range []float64{y1[i], y2[i]} {
			sxy += (x[i] - mx) * (y - m)
			sxx += (x[i] - mx) * (x[i] - mx)
			syy += (y - m) * (y - m)
		}
	}

	line := make([]float64, n)
	for i := range line {
		line[i] = m + sxy/sxx*(x[i]-mx)
	}

	if got, want := R2(y1, y2, line), sxy*sxy/sxx/syy; !near(got, want, 1e-13) {
		t.Errorf("line: %v, want %v", got, want)
	}

	// By hand: y1 = (0, 2), y2 = (1, 3): half squared differences ½, variance 5/4.
	if got := NoiseCeiling([]float64{0, 2}, []float64{1, 3}, nil); !near(got, 0.6, 1e-15) {
		t.Errorf("ceiling %v, want 0.6", got)
	}

	// The best μ on the pairs themselves, their mean ½(y1+y2), has residuals
	// ±½(y1−y2): half the noise, so R² = ½(1 + ceiling).
	half := make([]float64, n)
	for i := range half {
		half[i] = (y1[i] + y2[i]) / 2
	}

	if got, want := R2(y1, y2, half), (1+NoiseCeiling(y1, y2, nil))/2; !near(got, want, 1e-13) {
		t.Errorf("pair means %v, want %v", got, want)
	}

	if got := R2([]float64{0.1, 0.1, 0.1}, []float64{0.1, 0.1, 0.1}, []float64{1, 2, 3}); !math.IsNaN(got) {
		t.Errorf("constant outcome: %v", got)
	}
}

func TestMeanStd(t *testing.T) {
	// By hand: 2, 4, 4, 4, 5, 5, 7, 9 has mean 5 and sum of squares 32.
	if m, s := MeanStd([]float64{2, 4, 4, 4, 5, 5, 7, 9}); m != 5 || !near(s, math.Sqrt(32.0/7), 1e-15) {
		t.Errorf("%v ± %v", m, s)
	}

	if m, s := MeanStd([]float64{3}); m != 3 || !math.IsNaN(s) {
		t.Errorf("one: %v ± %v", m, s)
	}

	if m, s := MeanStd(nil); !math.IsNaN(m) || !math.IsNaN(s) {
		t.Errorf("none: %v ± %v", m, s)
	}

	if m, s := MeanStd([]float64{0.1, 0.1, 0.1}); m != 0.1 || s != 0 {
		t.Errorf("equal: %v ± %v", m, s)
	}
}

func TestClusteredMeanClosedForms(t *testing.T) {
	v := []float64{1, 4, 2, 8, 5, 7}
	mean, sd := MeanStd(v)

	// Clusters of one: s/√n.
	if m, se := ClusteredMean(v, []int{5, 4, 3, 2, 1, 0}); !near(m, mean, 1e-15) || !near(se, sd/math.Sqrt(6), 1e-14) {
		t.Errorf("singletons %v ± %v", m, se)
	}

	// Equal clusters: the standard error of the three cluster means 2.5, 5, 6.
	_, sd = MeanStd([]float64{2.5, 5, 6})
	if _, se := ClusteredMean(v, []int{9, 9, -1, -1, 4, 4}); !near(se, sd/math.Sqrt(3), 1e-14) {
		t.Errorf("clusters %v", se)
	}

	if m, se := ClusteredMean(v, make([]int, 6)); !near(m, mean, 1e-15) || !math.IsNaN(se) {
		t.Errorf("one cluster %v ± %v", m, se)
	}

	if m, se := ClusteredMean(nil, nil); !math.IsNaN(m) || !math.IsNaN(se) {
		t.Errorf("nothing %v ± %v", m, se)
	}
}

// Values with a random effect per cluster, τ² = 1, noise σ² = 1, 13 values in
// each of 40 clusters: the mean's variance is (τ² + σ²/13)/40. The naive
// standard error is 2.7 times too small there.
func TestClusteredMeanMonteCarlo(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const g, size, reps = 40, 13, 2000
	v := make([]float64, g*size)
	id := make([]int, g*size)

	se2 := 0.0
	covered := 0
	for range reps {
		for c := range g {
			a := rng.NormFloat64()
			for k := range size {
				v[c*size+k] = a + rng.NormFloat64()
				id[c*size+k] = c
			}
		}

		m, se := ClusteredMean(v, id)
		se2 += se * se / float64(reps)

		if math.Abs(m) < 2.0227*se { // Student's t, 39 degrees of freedom, 95 %
			covered++
		}
	}

	want := (1 + 1.0/size) / g
	assert.InDelta(t, want, se2, 4*math.Sqrt(2.0/(g-1)/reps)*want, "mean squared standard error")

	if f := float64(covered) / reps; math.Abs(f-0.95) > 4*math.Sqrt(0.95*0.05/reps) {
		t.Errorf("covers %v of the time", f)
	}
}

// calibrated draws a set whose model is off by b with b ~ N(0, C·scale), so
// that E[e] = C·scale (docs/method.md#what-is-reported): a covariance that is calibrated for scale 1.
func calibrated(rng *rand.Rand, runs, channels int, scale float64) Set {
	n := runs * channels
	s := Set{Set: triplets.Set{N: n, Out: 1}}
	for r := range runs {
		c := math.Exp(rng.NormFloat64())
		b := math.Sqrt(c*scale) * rng.NormFloat64()
		for range channels {
			m := rng.NormFloat64()
			s.Mu = append(s.Mu, m+b)
			s.Y1 = append(s.Y1, m+0.5*rng.NormFloat64())
			s.Y2 = append(s.Y2, m+0.5*rng.NormFloat64())
			s.Cov = append(s.Cov, c)
			s.Run = append(s.Run, r)
		}
	}

	return s
}

// Closed form: E[e] = scale·C whatever the noise, so the mean of Σe/ΣC is the
// scale and its spread over repetitions the standard error.
func TestSumERatioMonteCarlo(t *testing.T) {
	for _, scale := range []float64{1, 4} {
		rng := rand.New(rand.NewPCG(7, uint64(scale)))

		reps := 400
		if os.Getenv("DOUBLETAKE_LONG") != "all" {
			reps = 100
		}

		ratio := make([]float64, reps)
		se2 := 0.0
		agree := 0.0
		for r := range ratio {
			m := Summarise(calibrated(rng, 400, 5, scale))
			ratio[r] = m.Get("sum_e_ratio")
			se2 += m.Get("sum_e_ratio_se") * m.Get("sum_e_ratio_se") / float64(reps)
			agree += m.Get("calibrated_fraction") / float64(reps)
		}

		mean, sd := MeanStd(ratio)
		assert.InDelta(t, scale, mean, 4*sd/math.Sqrt(float64(reps)),
			"scale %v: ratio %v ± %v", scale, mean, sd/math.Sqrt(float64(reps)))

		// Squared normals with log-normal sizes have heavy tails: 20 %.
		if q := math.Sqrt(se2) / sd; q < 0.8 || q > 1.2 {
			t.Errorf("scale %v: standard error %v, spread %v", scale, math.Sqrt(se2), sd)
		}

		// 95 % by construction when calibrated, somewhat less because e is
		// skewed; when e is four times C hardly a bin may agree.
		require.False(t, scale == 1 && (agree < 0.85 || agree > 0.99), "scale %v: %v of the bins agree", scale, agree)
		assert.False(t, scale == 4 && agree > 0.3, "scale %v: %v of the bins agree", scale, agree)
	}
}

func TestCalibrateCov(t *testing.T) {
	// By hand. Values of C in threes; no bin may tear them apart.
	cov := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, -1, -1, -1}
	e := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, 0, 0, 0}
	id := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	c := CalibrateCov(cov, e, id, 6)
	require.Len(t, c.Bins, 4, "bins: %+v", c.Bins)

	for i, want := range []float64{-1, 1, 2, 3} {
		b := c.Bins[i]
		require.Equal(t, 3, b.N, "bin %d: %+v", i, b)
		require.Equal(t, want, b.MeanCov, "bin %d: %+v", i, b)
		assert.Equal(t, 3, b.Runs, "bin %d: %+v", i, b)
		require.Equal(t, max(0, want), b.MeanE, "bin %d: %+v", i, b)
		assert.Equal(t, i > 0, b.Agrees, "bin %d: %+v", i, b)
	}

	require.True(t, near(c.NonPositive, 0.25, 1e-15), "%+v", c)
	require.True(t, near(c.Ratio, 18.0/15, 1e-15), "%+v", c)
	assert.Equal(t, 0.75, c.Agreeing, "%+v", c)

	// Distinct values: equal counts, as they come.
	cov = nil
	e = nil
	id = nil
	for i := range 103 {
		cov = append(cov, float64((i*37)%103))
		e = append(e, 1)
		id = append(id, i)
	}

	c = CalibrateCov(cov, e, id, 0)

	total := 0
	for _, b := range c.Bins {
		total += b.N
		require.GreaterOrEqual(t, b.N, 10, "a bin of %d", b.N)
		assert.LessOrEqual(t, b.N, 11, "a bin of %d", b.N)
	}

	require.Len(t, c.Bins, 10, "%d bins of %d values", len(c.Bins), total)
	assert.Equal(t, 103, total, "%d bins of %d values", len(c.Bins), total)

	if c := CalibrateCov([]float64{-1, -2}, []float64{1, 1}, []int{0, 1}, 0); !math.IsNaN(c.Ratio) || c.Undefined == "" {
		t.Errorf("negative sum: %+v", c)
	}

	if c := CalibrateCov(nil, nil, nil, 0); c.Undefined != "no rows" {
		t.Errorf("nothing: %+v", c)
	}

	if c := CalibrateCov([]float64{1, math.NaN()}, []float64{1, 1}, []int{0, 1}, 0); c.Undefined == "" || c.Bins != nil {
		t.Errorf("NaN: %+v", c)
	}
}

// draw makes a set of any shape.
func draw(t *rapid.T) Set {
	s := Set{Set: triplets.Set{N: rapid.IntRange(4, 40).Draw(t, "n"), Out: rapid.IntRange(1, 3).Draw(t, "out")}}
	k := s.N * s.Out
	for _, v := range []*[]float64{&s.Y1, &s.Y2, &s.Mu, &s.Var, &s.CovRaw, &s.Cov, &s.Delta, &s.Kappa, &s.ZigZag} {
		*v = rapid.SliceOfN(rapid.Float64Range(-3, 3), k, k).Draw(t, "values")
	}

	for i, v := range s.Var {
		s.Var[i] = 0.01 + math.Abs(v)
	}

	s.Condition = rapid.SliceOfN(rapid.IntRange(0, 5), s.N, s.N).Draw(t, "condition")
	s.Run = rapid.SliceOfN(rapid.IntRange(0, 7), s.N, s.N).Draw(t, "run")

	return s
}

// same reports whether a and b agree although they sum in another order. Ratios of sums may cancel, hence the
// tolerance.
func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-6*(1+math.Abs(a)+math.Abs(b))
}

// The order of the rows means nothing.
func TestPermutationInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		p := s

		perm := rapid.Permutation(seq(s.N)).Draw(t, "order")
		for _, v := range []*[]float64{&p.Y1, &p.Y2, &p.Mu, &p.Var, &p.CovRaw, &p.Cov, &p.Delta, &p.Kappa, &p.ZigZag} {
			w := make([]float64, len(*v))
			for i, k := range perm {
				copy(w[i*s.Out:(i+1)*s.Out], (*v)[k*s.Out:(k+1)*s.Out])
			}

			*v = w
		}

		p.Condition, p.Run = pick(s.Condition, perm), pick(s.Run, perm)
		a := Summarise(s)
		b := Summarise(p)
		for _, n := range keys(Parts) {
			if n == "calibrated_fraction" || strings.HasPrefix(n, "sum_e_ratio") {
				continue // may sit on an edge (Σ = 0, |d| = t·se) that rounding decides
			}

			require.True(t, same(a.Get(n), b.Get(n)), "%s: %v, permuted %v", n, a.Get(n), b.Get(n))
		}
	})
}

func seq(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}

	return v
}

func pick(v, at []int) []int {
	w := make([]int, len(at))
	for i, k := range at {
		w[i] = v[k]
	}

	return w
}

// R² and the noise ceiling do not change when an outcome and its prediction
// are shifted and scaled; e and the pair error go with the square of the scale.
func TestAffineInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		s.Out = 1
		k := s.N
		s.Y1 = s.Y1[:k]
		s.Y2 = s.Y2[:k]
		s.Mu = s.Mu[:k]
		s.Cov = s.Cov[:k]
		s.Var = nil
		s.CovRaw = nil
		s.Delta = nil
		s.Kappa = nil
		s.ZigZag = nil
		a := rapid.Float64Range(-50, 50).Draw(t, "shift")
		b := rapid.SampledFrom([]float64{-20, -0.1, 0.01, 3, 700}).Draw(t, "scale")

		p := s
		for _, v := range []*[]float64{&p.Y1, &p.Y2, &p.Mu} {
			w := make([]float64, k)
			for i, x := range *v {
				w[i] = a + b*x
			}

			*v = w
		}

		if pooledVar(s.Y1, s.Y2, nil) < 1e-6 {
			t.Skip("almost no variation")
		}

		m := Summarise(s)
		q := Summarise(p)
		if !same(m.Get("r2"), q.Get("r2")) || !same(m.Get("noise_ceiling"), q.Get("noise_ceiling")) {
			t.Fatalf("R² %v → %v, ceiling %v → %v", m.Get("r2"), q.Get("r2"), m.Get("noise_ceiling"), q.Get("noise_ceiling"))
		}

		if !same(m.Get("e"), q.Get("e")/b/b) || !same(m.Get("pair_mse"), q.Get("pair_mse")/b/b) {
			t.Fatalf("e %v → %v, pair error %v → %v", m.Get("e"), q.Get("e"), m.Get("pair_mse"), q.Get("pair_mse"))
		}
	})
}

// ½[(y1−μ)² + (y2−μ)²] = e + ½(y1−y2)² (docs/method.md#what-is-reported), so the
// means too; and with one outcome 1−R² = pair error/variance.
func TestPairErrorIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		m := Summarise(s)

		noise := 0.0
		for k := range s.Y1 {
			d := s.Y1[k] - s.Y2[k]
			noise += d * d / 2 / float64(len(s.Y1))
		}

		if math.Abs(m.Get("pair_mse")-m.Get("e")-noise) > 1e-10 {
			t.Fatalf("%v ≠ %v + %v", m.Get("pair_mse"), m.Get("e"), noise)
		}

		for j, o := range m.Outcomes {
			v := pooledVar(lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), nil)
			if !math.IsNaN(o.Get("r2")) && !same((1-o.Get("r2"))*v, o.Get("pair_mse")) {
				t.Fatalf("outcome %d: R² %v, variance %v, pair error %v", j, o.Get("r2"), v, o.Get("pair_mse"))
			}
		}

		e := MeasuredError(s)
		require.True(t, same(average(e, nil), m.Get("e")), "mean of e %v, E %v", average(e, nil), m.Get("e"))
	})
}

// Means over inputs weigh a condition once: rows repeated for one condition
// only change the means over rows.
func TestConditionsWeighOnce(t *testing.T) {
	s, want := golden(t)
	first := s.Condition[0]

	n := s.N
	for i := range n {
		if s.Condition[i] != first {
			continue
		}

		for _, v := range []*[]float64{&s.Y1, &s.Y2, &s.Mu, &s.Var, &s.CovRaw, &s.Cov, &s.Delta, &s.Kappa, &s.ZigZag} {
			*v = append(*v, (*v)[i*s.Out:(i+1)*s.Out]...)
		}

		s.Condition = append(s.Condition, first)
		s.Run = append(s.Run, s.Run[i])
		s.N++
	}

	m := Summarise(s)
	for _, name := range []string{
		"abs_cov", "abs_cov_centred", "cov_centred", "delta", "mu_delta", "kappa", "zigzag",
		"negative_cov", "cov_above_var",
	} {
		assert.True(t, near(m.Get(name), want.All[name], 1e-12),
			"%s changed from %v to %v", name, want.All[name], m.Get(name))
	}

	assert.False(t, near(m.Get("e"), want.All["e"], 1e-6), "the mean of e runs over rows and should have changed")
}

func TestUndefined(t *testing.T) {
	base, _ := golden(t)
	nan := func(s *Set, v *[]float64) {
		w := append([]float64(nil), *v...)
		w[4] = math.NaN()
		*v = w
	}

	for _, c := range []struct {
		name   string
		change func(*Set)
		reason map[string]string // of every number that must be undefined
	}{
		{
			"training", func(s *Set) { s.Part = make([]triplets.Part, s.N) },
			all("biased on pairs the model was trained on", "e", "e_se", "sum_e_ratio", "sum_e_ratio_se",
				"calibrated_fraction"),
		},
		{"couples", func(s *Set) {
			s.Couples = true
			s.Y2 = s.Y1
		}, join(
			all("couples: y2 is y1, so their difference does not measure the noise", "noise_ceiling"),
			all("couples: y2 is y1, so the product of the residuals holds the noise too", "e", "e_se", "sum_e_ratio",
				"sum_e_ratio_se", "calibrated_fraction"),
		)},
		{"one condition", func(s *Set) { s.Condition = make([]int, s.N) }, all("one condition only", "r2", "noise_ceiling")},
		{
			"one run", func(s *Set) { s.Run = make([]int, s.N) },
			join(all("one run only", "e_se", "sum_e_ratio_se"), all("no bin holds two runs", "calibrated_fraction")),
		},
		{
			"constant outcome", func(s *Set) { s.Y1 = fill(s.N*s.Out, 0.1); s.Y2 = s.Y1 },
			all("all measured values of an outcome are equal", "r2", "noise_ceiling"),
		},
		{"nothing computed", func(s *Set) {
			s.Var = nil
			s.CovRaw = nil
			s.Cov = nil
			s.Delta = nil
			s.Kappa = nil
			s.ZigZag = nil
		}, all("not computed",
			"abs_cov", "abs_cov_centred", "cov_centred", "delta", "mu_delta", "kappa", "zigzag", "negative_cov",
			"cov_above_var", "sum_e_ratio", "sum_e_ratio_se", "calibrated_fraction")},
		{"negative covariances", func(s *Set) { s.Cov = fill(s.N*s.Out, -1) }, all("the covariances do not sum to a "+
			"positive value", "sum_e_ratio", "sum_e_ratio_se")},
		{"NaN covariance", func(s *Set) { nan(s, &s.Cov) }, join(
			all("a value it is computed from is not finite", "abs_cov_centred", "cov_centred", "negative_cov", "cov_above_var",
				"sum_e_ratio", "sum_e_ratio_se"),
			all("no bin holds two runs", "calibrated_fraction"))},
		{"diverged mean", func(s *Set) { nan(s, &s.Mu) }, join(
			all("a value it is computed from is not finite", "r2", "pair_mse", "mu_delta", "e", "e_se", "sum_e_ratio",
				"sum_e_ratio_se"),
			all("no bin holds two runs", "calibrated_fraction"))},
		{"empty", func(s *Set) { *s = Set{Set: triplets.Set{Out: 1}} }, all("no rows", keys(Parts)...)},
	} {
		s := base
		c.change(&s)

		m := Summarise(s)
		for _, n := range keys(Parts) {
			want, undefined := c.reason[n]
			if got := m.Reason(n); got != want || undefined != math.IsNaN(m.Get(n)) {
				t.Errorf("%s: %s = %v, reason %q, want %q", c.name, n, m.Get(n), got, want)
			}
		}
	}
}

func all(reason string, names ...string) map[string]string {
	m := map[string]string{}
	for _, n := range names {
		m[n] = reason
	}

	return m
}

func join(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

func fill(n int, v float64) []float64 {
	return slices.Repeat([]float64{v}, n)
}

func TestWarnings(t *testing.T) {
	s, _ := golden(t)
	if w := Summarise(s).Warnings; len(w) != 0 {
		t.Errorf("12 conditions in 20 runs: %q", w)
	}

	// The factor for seven conditions is scipy's, testdata/score.json: 5.31.
	for i := range s.Condition {
		s.Condition[i] %= 7
	}

	want := "seven distinct conditions are too few for R²: sampling alone moves 1 − R² by a factor of 5.3 either way " +
		"(95 %)"
	if w := Summarise(s).Warnings; len(w) != 1 || w[0] != want {
		t.Errorf("%q, want %q", w, want)
	}

	for i := range s.Run {
		s.Run[i] = i % 3
	}

	s.Y2 = s.Y1
	w := Summarise(s).Warnings
	if len(w) != 3 || !strings.HasPrefix(w[1], "3 runs are few") || !strings.HasSuffix(w[1], "about 50 %") ||
		!strings.HasPrefix(w[2], "y1 and y2 are equal in every pair") {
		t.Errorf("%q", w)
	}

	require.NotEmpty(t, R2Warning(1), "R2Warning at its edges")
	require.Empty(t, R2Warning(10), "R2Warning at its edges")
	assert.Empty(t, R2Warning(0), "R2Warning at its edges")
}

func TestOverSeeds(t *testing.T) {
	a := newNumbers(Parts)
	b := newNumbers(Parts)
	a.set("r2", 0.5)
	b.set("r2", 0.7)

	// By hand: mean 0.6, deviation 0.2/√2.
	v := OverSeeds([]Numbers{a, b})
	if s := v.Get("r2"); !near(s.Mean, 0.6, 1e-15) || !near(s.Std, 0.2/math.Sqrt2, 1e-15) || s.N != 2 || !s.Defined() {
		t.Errorf("%+v", s)
	}

	require.Len(t, v, len(keys(Parts)), "%+v", v)
	require.Equal(t, "r2", v[0].Key, "%+v", v)
	assert.True(t, v.Get("nll").Absent(), "%+v", v)

	b.undefine("one condition only", "r2")

	if s := OverSeeds([]Numbers{a, b}).Get("r2"); !math.IsNaN(s.Mean) || s.Reason() != "one condition only" ||
		s.Defined() {
		t.Errorf("%+v", s)
	}

	if v := OverSeeds(nil); v != nil {
		t.Errorf("%+v", v)
	}
}

func TestValueReason(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{Value{}, "not computed"},
		{Value{Mean: 0, N: 1}, ""},
		{Value{Mean: math.NaN(), N: 1}, "not a finite number"},
		{Value{Mean: math.NaN(), N: 1, Undefined: "no rows"}, "no rows"},
		{Mean([]float64{1, 3}), ""},
	} {
		if r := c.v.Reason(); r != c.want || c.v.Defined() != (r == "") {
			t.Errorf("%+v: reason %q, expected %q", c.v, r, c.want)
		}
	}
}

// Every metric is described, keys are unique, and tables show it as it is or in
// hundredths.
func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		if seen[m.Key] || m.Symbol == "" || m.What == "" || m.Uses == 0 ||
			m.Factor != 1 && m.Factor != 100 {
			t.Errorf("%+v", m)
		}

		assert.Contains(t, []string{"1", "nat", "sd", "sd²", "sd⁴"}, m.Unit, "%s has another unit", m.Key)

		seen[m.Key] = true
		assert.Equal(t, m.What, MetricOf(m.Key).What, "%s is not found by its key", m.Key)
	}

	if p, m := len(keys(Parts)), len(keys(Methods)); p != 17 || m != 18 {
		t.Errorf("%d metrics of parts, %d of methods", p, m)
	}
}

func TestPanics(t *testing.T) {
	ok, _ := golden(t)
	for name, f := range map[string]func(){
		"short Y1":   func() { s := ok; s.Y1 = s.Y1[1:]; Summarise(s) },
		"nil Mu":     func() { s := ok; s.Mu = nil; Summarise(s) },
		"short Run":  func() { s := ok; s.Run = s.Run[1:]; Summarise(s) },
		"no outcome": func() { Summarise(Set{}) },
		"R2":         func() { R2([]float64{1}, nil, nil) },
		"metric":     func() { MetricOf("R2") },
		"name":       func() { newNumbers(Parts).Get("R2") },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "score: ") {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()

			f()
		}()
	}
}

func ExampleSummarise() {
	s := Set{
		triplets.Set{
			N: 4, Out: 1, Y1: []float64{0, 1, 2, 3}, Y2: []float64{0.2, 0.8, 2.2, 2.8},
			Condition: []int{0, 0, 1, 1}, Run: []int{0, 1, 2, 3},
		},
		triplets.Answers{Mu: []float64{0.5, 1.5, 2.5, 3.5}, Cov: []float64{0.3, 0.3, 0.3, 0.3}},
	}

	m := Summarise(s)
	fmt.Printf("R² %.3f, e %.3f ± %.3f, Σe/ΣC %.2f\n", m.Get("r2"), m.Get("e"), m.Get("e_se"), m.Get("sum_e_ratio"))
	fmt.Println("E|cov|:", m.Reason("abs_cov"))
	fmt.Println(m.Warnings[0])
	// By hand: 1 − 2.16/9.36, e = 0.15, 0.35, 0.15, 0.35, 1/1.2, and
	// exp(1.96·√(ψ′(1) + ψ′(1/2))) = exp(1.96·√(π²/6 + π²/2)).

	// Output:
	// R² 0.769, e 0.250 ± 0.058, Σe/ΣC 0.83
	// E|cov|: not computed
	// two distinct conditions are too few for R²: sampling alone moves 1 − R² by a factor of 153 either way (95 %)
}
