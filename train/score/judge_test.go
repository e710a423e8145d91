package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// Expected values: scipy.stats, numerical integration and simulation with
// numpy, testdata/make_judge.py.
func TestJudgeAgainstScipy(t *testing.T) {
	s, _ := golden(t)

	raw := testfile.Read(t, "testdata/judge.json")

	var in struct {
		V, Total []float64
		Want     map[string]float64
		Levels   []float64
		Observed []float64
		CRPS     [][2]float64
	}

	require.NoError(t, json.Unmarshal(raw, &in))

	got := Judge(s, in.Total, in.V)
	for _, name := range keys(Methods) {
		want, ok := in.Want[name]

		tol := 1e-9
		switch name {
		case "r2":
			want = Summarise(s).Get("r2")
			ok = true
		case "ence_ref": // two simulations: 200 runs here, 4000 there
			tol = 4 * in.Want["ence_ref_sd"] * math.Sqrt(1.0/enceRuns+1.0/4000)
		case "ence_ref95": // the quantile's error is about twice the mean's
			tol = 10 * in.Want["ence_ref_sd"] / math.Sqrt(enceRuns)
		}

		if !ok {
			t.Errorf("scipy has no %s", name)
		} else if g := got.Get(name); !near(g, want, tol) {
			t.Errorf("%s = %v, want %v", name, g, want)
		}
	}

	for i, q := range got.Quantiles {
		require.Equal(t, in.Levels[i], q.Level, "quantile %v, want %v observed %v", q, in.Levels[i], in.Observed[i])
		assert.True(t, near(q.Observed, in.Observed[i], 1e-12),
			"quantile %v, want %v observed %v", q, in.Levels[i], in.Observed[i])
	}

	for _, c := range in.CRPS {
		if g := CRPSNormal(c[0]); !near(g, c[1], 1e-8) {
			t.Errorf("CRPS(%v) = %v, want %v", c[0], g, c[1])
		}
	}

	assert.Empty(t, got.Undefined(), "undefined: %v", got.Undefined())
}

// honest returns simulated data for which the method's claims hold exactly; sharp
// multiplies the claimed epistemic variance.
func honest(seed uint64, n int, sharp float64) (s Set, total, v []float64) {
	rng := rand.New(rand.NewPCG(seed, 9))

	s = Set{Set: triplets.Set{N: n, Out: 1}}
	for range n {
		c := 0.05 + rng.Float64()
		a := 0.1 + rng.Float64()
		mu := 3 * rng.NormFloat64()
		truth := mu + math.Sqrt(c)*rng.NormFloat64()
		s.Mu = append(s.Mu, mu)
		s.Y1 = append(s.Y1, truth+math.Sqrt(a)*rng.NormFloat64())
		s.Y2 = append(s.Y2, truth+math.Sqrt(a)*rng.NormFloat64())
		total = append(total, c+a)
		v = append(v, c*sharp)
	}

	return s, total, v
}

// On calibrated data every number has a known expectation; the limits are four
// standard errors or the reference itself.
func TestJudgeOnCalibratedData(t *testing.T) {
	const n = 10000
	s, total, v := honest(1, n, 1)
	r := Judge(s, total, v)
	if d := math.Abs(r.Get("sum_e_ratio") - 1); d > 4*r.Get("sum_e_ratio_se") || r.Get("sum_e_ratio_se") > 0.05 {
		t.Errorf("Σe/Σv̂ = %v ± %v, want 1", r.Get("sum_e_ratio"), r.Get("sum_e_ratio_se"))
	}

	// y1 and y2 share the error of the mean: at worst n independent values.
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"coverage68", r.Get("coverage68"), math.Erf(1 / math.Sqrt2)}, {"coverage95", r.Get("coverage95"), 0.95}} {
		assert.InDelta(t, c.want, c.got, 4*math.Sqrt(c.want*(1-c.want)/n), "%s", c.name)
	}

	if r.Get("ence") > 1.5*r.Get("ence_ref95") {
		t.Errorf("ENCE %v of calibrated data, reference %v, 95 %% %v", r.Get("ence"), r.Get("ence_ref"), r.Get("ence_ref95"))
	}

	// E[v² − 2ve] = −E[v²].
	want := 0.0
	for _, x := range v {
		want -= x * x / n
	}

	if math.Abs(r.Get("square")-want) > 4*r.Get("square_se") {
		t.Errorf("mean(v²−2ve) = %v ± %v, want %v", r.Get("square"), r.Get("square_se"), want)
	}

	// The true variance is the best claim by both scores, and an ENCE of a
	// total variance halved is far above its reference.
	for _, sharp := range []float64{0.4, 2.5} {
		_, _, off := honest(1, n, sharp)
		if o := Judge(s, total, off); o.Get("qlike") <= r.Get("qlike") || o.Get("square") <= r.Get("square") ||
			math.Abs(o.Get("sum_e_ratio")*sharp-r.Get("sum_e_ratio")) > 1e-9 {
			t.Errorf("claims %v times too large are not worse: QLIKE %v (%v), square %v (%v)", sharp, o.Get("qlike"),
				r.Get("qlike"), o.Get("square"), r.Get("square"))
		}
	}

	half := make([]float64, n)
	for i, x := range total {
		half[i] = x / 2
	}

	if o := Judge(s, half, v); o.Get("ence") < 5*o.Get("ence_ref95") || o.Get("nll") <= r.Get("nll") ||
		o.Get("crps") <= r.Get("crps") {
		t.Errorf("half the variance is not found out: ENCE %v, reference %v", o.Get("ence"), o.Get("ence_ref95"))
	}
}

// The reference of ENCE grows like √B/√n: ten bins of so many normal residuals
// have E|RMSE−RMV|/RMV ≈ √(2/π)/√(2m), m values a bin (χ² of m, large m).
func TestENCEReferenceClosedForm(t *testing.T) {
	const n = 5000
	s, total, _ := honest(3, n, 1)
	r := Judge(s, total, nil)

	want := math.Sqrt(2/math.Pi) / math.Sqrt(2*2*n/10)
	assert.InDelta(t, want, r.Get("ence_ref"), 0.05*want, "reference")
	require.NotEmpty(t, r.Reason("sum_e_ratio"), "a method without v̂ has a ratio, or no e")
	require.True(t, math.IsNaN(r.Get("sum_e_ratio")), "a method without v̂ has a ratio, or no e")
	assert.False(t, math.IsNaN(r.Get("e")), "a method without v̂ has a ratio, or no e")
}

func TestJudgeUndefined(t *testing.T) {
	s, total, v := honest(4, 50, 1)
	for _, c := range []struct {
		name   string
		change func(s *Set, total []float64)
		what   string
		why    string
	}{
		{"training", func(s *Set, _ []float64) { s.Part = make([]triplets.Part, s.N) }, "e", "trained on"},
		{"couples", func(s *Set, _ []float64) { s.Couples = true }, "qlike", "couples"},
		{"total", func(_ *Set, total []float64) { total[3] = 0 }, "nll", "not positive"},
		{"one run", func(s *Set, _ []float64) { s.Run = make([]int, s.N) }, "square_se", "one run"},
		{"flat", func(s *Set, _ []float64) { clear(s.Y1); clear(s.Y2) }, "qlike", "equal"},
	} {
		u := s
		tot := append([]float64(nil), total...)
		u.Y1, u.Y2 = append([]float64(nil), s.Y1...), append([]float64(nil), s.Y2...)
		c.change(&u, tot)

		r := Judge(u, tot, v)
		if !math.IsNaN(r.Get(c.what)) || !strings.Contains(r.Reason(c.what), c.why) {
			t.Errorf("%s: %s = %v because %q", c.name, c.what, r.Get(c.what), r.Reason(c.what))
		}
	}

	if r := Judge(Set{Set: triplets.Set{Out: 2}}, nil, nil); len(r.Undefined()) != len(keys(Methods)) {
		t.Errorf("no rows: %v", r.Undefined())
	}
}

func TestChebyshev(t *testing.T) {
	if h, ok := Chebyshev(0.2, 0.05); !ok || !near(h, 2, 1e-15) {
		t.Errorf("√(0.2/0.05) = %v", h)
	}

	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, ok := Chebyshev(c, 0.05); ok {
			t.Errorf("an interval for C = %v", c)
		}
	}

	// The promise: at least 1 − α for any error; here the extreme one, ±√(c/α)
	// with probability α, else 0, whose variance is c.
	h, _ := Chebyshev(0.2, 0.05)
	if miss := 0.05; h < math.Sqrt(0.2/miss)-1e-12 {
		t.Errorf("the two-point error is not held: %v", h)
	}
}

func TestDiagnose(t *testing.T) {
	fine := triplets.Answers{
		Var: []float64{1, 1, 1}, Cov: []float64{0.2, 0.3, 0.4}, Delta: []float64{0.1, -0.1, 0},
		Kappa: []float64{0.02, -0.05, 0},
	}

	if f := Diagnose(fine); len(f) > 0 {
		t.Errorf("flags of a consistent model: %v", f)
	}

	bad := triplets.Answers{
		Var: []float64{1, 1}, Cov: []float64{-0.25, 1.5}, Delta: []float64{1, -1},
		Kappa: []float64{0.5, -0.3},
	}

	var codes []string
	for _, f := range Diagnose(bad) {
		codes = append(codes, f.Code)
		require.Greater(t, f.Value, f.Limit, "flag %+v", f)
		assert.NotEmpty(t, f.Do, "flag %+v", f)
	}

	assert.Equal(t, "delta kappa negative-cov cov-above-var", strings.Join(codes, " "), "flags")

	// By hand: rms δ = 1, mean |C| = 0.875.
	if f := Diagnose(bad)[0]; !near(f.Value, 1/math.Sqrt(0.875), 1e-12) || !strings.Contains(f.How, "1.1 of √C") {
		t.Errorf("delta: %v", f)
	}

	if f := Diagnose(bad)[1]; !near(f.Value, 0.4, 1e-12) {
		t.Errorf("kappa: %v", f)
	}

	if f := Diagnose(triplets.Answers{}); f != nil {
		t.Errorf("flags of nothing: %v", f)
	}
}

// A covariance that is the expected e is not flagged, but in a twentieth of all
// draws; half and twice of it are, on the right side.
// A ratio that chance may have moved anywhere is not called calibrated. Student's 97.5 % of four
// degrees of freedom is 2.776: 630 ± 1527 and 1.2 ± 1.1 contain 1 and more than a factor of
// two; 1.2 ± 0.56 does not contain more; 40 ± 11 does not contain 1.
func TestUncertainCalibration(t *testing.T) {
	for _, c := range []struct {
		ratio, se float64
		want      string
	}{
		{630, 550, "the measured squared error is 630 times C (standard error 550): too uncertain to tell whether C is " +
			"calibrated"},
		{1.2, 0.4, "the measured squared error is 1.2 times C (standard error 0.4): too uncertain to tell whether C is " +
			"calibrated"},
		{1.2, 0.2, ""},
		{40, 4, ""},
		{math.NaN(), 1, ""},
	} {
		v := Values{
			{Key: "sum_e_ratio", Value: Mean([]float64{c.ratio})}, {Key: "sum_e_ratio_se", Value: Mean([]float64{c.se})},
		}
		assert.Equal(t, c.want, UncertainCalibration(v, 5), "%g ± %g", c.ratio, c.se)
	}
}

func TestDiagnoseCalibration(t *testing.T) {
	flagged := func(seed uint64, factor float64) []Flag {
		s, _, v := honest(seed, 400, 1)
		s.Cov = make([]float64, len(v))
		for k := range v {
			s.Cov[k] = factor * v[k]
		}

		return DiagnoseCalibration(OverSeeds([]Numbers{Summarise(s).Numbers}), 400)
	}

	right := 0
	for seed := range uint64(60) {
		if len(flagged(seed, 1)) == 0 {
			right++
		}

		for factor, word := range map[float64]string{0.25: "overconfident", 4: "underconfident"} {
			if f := flagged(seed, factor); len(f) != 1 || f[0].Code != "calibration" ||
				!strings.Contains(f[0].Violated(), word) || !(f[0].Value > f[0].Limit) || f[0].Do == "" {
				t.Fatalf("seed %d, C %v times the squared error: %v", seed, factor, f)
			}
		}
	}

	// Binomial, 60 draws of 0.95: 57 ± 1.7; a ratio's own standard error is a little small.
	assert.GreaterOrEqual(t, right, 48, "%d of 60 calibrated models are not flagged, expected about 57", right)

	none := newNumbers(Parts)
	none.undefineAll("not computed")

	if f := DiagnoseCalibration(OverSeeds([]Numbers{none}), 5); f != nil {
		t.Errorf("flags of nothing: %v", f)
	}
}

// The flag states the means over the seeds, as the tables do. By hand: ratios 40 and
// 62 with standard errors 4 and 6 have the mean 51 with 5; of 5 runs Student's 97.5 %
// quantile with 4 degrees of freedom is 2.776 (tables), so that 1 ± 13.88 is the range.
func TestCalibrationOverSeeds(t *testing.T) {
	seeds := func(ratios, se []float64) Values {
		var list []Numbers
		for i := range ratios {
			n := newNumbers(Parts)
			n.set("sum_e_ratio", ratios[i])
			n.set("sum_e_ratio_se", se[i])
			n.undefineRest()
			list = append(list, n)
		}

		return OverSeeds(list)
	}

	f := DiagnoseCalibration(seeds([]float64{40, 62}, []float64{4, 6}), 5)
	if len(f) != 1 || !near(f[0].Limit, 13.882, 1e-3) || f[0].Value != 50 ||
		!strings.Contains(f[0].Violated(), "is 51 times C (standard error 5), so the model is over") {
		t.Errorf("%+v", f)
	}

	for _, c := range []struct {
		ratio, se float64
		sign      int
	}{{14.8, 5, 0}, {14.9, 5, 1}, {-12.8, 5, 0}, {-12.9, 5, -1}} {
		if sign, _, ok := CompareCalibration(seeds([]float64{c.ratio}, []float64{c.se}), 5); sign != c.sign || !ok {
			t.Errorf("%g ± %g: %d, %v", c.ratio, c.se, sign, ok)
		}
	}

	// One seed without a ratio: the table has none, and there is no flag.
	if f := DiagnoseCalibration(seeds([]float64{13, math.NaN()}, []float64{1, math.NaN()}), 5); f != nil {
		t.Errorf("%v", f)
	}

	if _, _, ok := CompareCalibration(seeds([]float64{40}, []float64{4}), 1); ok {
		t.Error("a range with one run")
	}
}

// σ is checked by the coverage. Simulated with known truth: pairs that share a
// deviation, σ right, half and twice. Right ones are flagged in a twentieth of
// all draws (binomial, 60 draws: 3 ± 1.7).
func TestDiagnoseCoverage(t *testing.T) {
	flagged := func(seed uint64, factor float64) []Flag {
		s, total, _ := honest(seed, 400, 1)
		for k := range total {
			total[k] *= factor * factor
		}

		return DiagnoseCoverage(TrustOf(s, total, nil, nil, []int{0}, nil))
	}

	wrong := 0
	for seed := range uint64(60) {
		wrong += len(flagged(seed, 1))

		for factor, word := range map[float64]string{0.5: "too small", 2: "too large"} {
			if f := flagged(seed, factor); len(f) != 1 || f[0].Code != "coverage" || f[0].Do == "" ||
				!strings.HasPrefix(f[0].Violated(), "coverage = 0.95 is violated: ") || !strings.HasSuffix(f[0].Violated(), word) {
				t.Fatalf("seed %d, σ %g times the deviation: %v", seed, factor, f)
			}
		}
	}

	assert.LessOrEqual(t, wrong, 10, "%d of 60 models with the right σ are flagged, expected about 3", wrong)

	// By hand, 15 runs, Student's quantile 2.145: ± 0.02 is a range of ± 0.043; without scatter the deviation
	// is √(0.95·0.05/15) = 0.0563, a range of ± 0.121.
	for _, c := range []struct {
		coverage, se float64
		runs, sign   int
		ok           bool
	}{
		{0.19, 0.02, 15, -1, true},
		{0.906, 0.02, 15, -1, true},
		{0.908, 0.02, 15, 0, true},
		{0.994, 0.02, 15, 1, true},
		{1, 0, 15, 0, true},
		{0.82, 0, 15, -1, true},
		{1, 0, 400, 1, true},
		{0.5, 0.1, 1, 0, false},
		{math.NaN(), 0.1, 15, 0, false},
	} {
		sign, ok := CompareCoverage(Trust{Level: 0.95, Inside: c.coverage, InsideSE: c.se, Runs: c.runs})
		require.Equal(t, c.sign, sign, "%+v: %d, %v", c, sign, ok)
		assert.Equal(t, c.ok, ok, "%+v: %d, %v", c, sign, ok)
	}
}

// A number to the second digit of its deviation, by hand.
func TestUpTo(t *testing.T) {
	for _, c := range []struct {
		v, deviation float64
		want         string
	}{
		{1711, 830, "1710"},
		{51.4, 14, "51"},
		{51.44, 9.96, "51"},
		{51.44, 0.5, "51.44"},
		{51.44, math.NaN(), "51.4"},
		{1711, math.NaN(), "1710"},
		{0.5, math.NaN(), "0.500"},
		{0.98934, 0, "0.9893"},
		{1e-3, 2e-5, "0.001000"},
	} {
		assert.Equal(t, c.want, upTo(c.v, c.deviation), "%g ± %g", c.v, c.deviation)
	}
}

// Scores do not depend on the order of the rows, and scaling all data scales
// those with a unit and leaves the others.
func TestJudgeInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 60).Draw(t, "n")
		s, total, v := honest(rapid.Uint64().Draw(t, "seed"), n, 1)
		f := rapid.Float64Range(0.01, 100).Draw(t, "factor")
		a := Judge(s, total, v)
		o := Set{Set: triplets.Set{N: n, Out: 1}}

		var ot, ov []float64
		for i := n - 1; i >= 0; i-- {
			o.Y1 = append(o.Y1, s.Y1[i]*f)
			o.Y2 = append(o.Y2, s.Y2[i]*f)
			o.Mu = append(o.Mu, s.Mu[i]*f)
			ot = append(ot, total[i]*f*f)
			ov = append(ov, v[i]*f*f)
		}

		b := Judge(o, ot, ov)
		for _, c := range []struct {
			name       string
			scale, add float64
		}{
			{"r2", 1, 0},
			{"nll", 1, math.Log(f)},
			{"crps", f, 0},
			{"coverage68", 1, 0},
			{"width95", f, 0},
			{"ence", 1, 0},
			{"e", f * f, 0},
			{"sum_e_ratio", 1, 0},
			{"square", f * f * f * f, 0},
			{"qlike", 1, 2 * math.Log(f)},
			{"floored", 1, 0},
			{"chebyshev95", f, 0},
		} {
			if x, y := a.Get(c.name)*c.scale+c.add, b.Get(c.name); math.Abs(x-y) > 1e-8*math.Max(1e-6, math.Abs(x)) &&
				math.Abs(x-y) > 1e-9 {
				t.Errorf("%s: %v, reversed and scaled by %v: %v", c.name, x, f, y)
			}
		}
	})
}

// Residuals of 0, 1, 2 and 3 deviations. The central 95 % reach to 1.96, so two of
// four are inside; the central 99 % to 2.58, so three; the central 50 % to 0.67,
// so one.
func TestCoverageByHand(t *testing.T) {
	s := Set{
		triplets.Set{N: 2, Out: 1, Y1: []float64{5, 7}, Y2: []float64{9, 11}},
		triplets.Answers{Mu: []float64{5, 5}, Var: []float64{4, 4}},
	}

	assert.Equal(t, []float64{0.25, 0.5, 0.5, 0.75}, Coverage(s, []float64{0.5, 0.7, 0.95, 0.99}), "got")

	if got := Coverage(Set{Set: triplets.Set{Out: 1}}, []float64{0.5}); got != nil {
		t.Errorf("without rows: %v", got)
	}

	// Judge counts the same way, with the rounding of a sum.
	r := Judge(s, s.Var, nil)
	if r.Get("coverage68") != 0.5 || r.Get("coverage95") != 0.5 {
		t.Errorf("68 %%: %v, 95 %%: %v", r.Get("coverage68"), r.Get("coverage95"))
	}

	// Limits are inside, and not below.
	z := []float64{-1, 0, 1, 3}
	if n, m := within(z, 1), below(z, 1); n != 3 || m != 2 {
		t.Errorf("%d inside, %d below", n, m)
	}
}
