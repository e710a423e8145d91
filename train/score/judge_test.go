package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// The expected values come from scipy.stats, from numerical integration and from simulations with numpy
// (testdata/make_judge.py).
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

		require.True(t, ok, "scipy computed %s", name)
		assertNear(t, want, got.Get(name), tol, "%s", name)
	}

	for i, q := range got.Quantiles {
		assert.Equal(t, in.Levels[i], q.Level)
		assertNear(t, in.Observed[i], q.Observed, 1e-12, "share below the quantile %g", q.Level)
	}

	for _, c := range in.CRPS {
		assertNear(t, c[1], CRPSNormal(c[0]), 1e-8, "CRPS of %g", c[0])
	}

	assert.Empty(t, got.Undefined())
}

// honest simulates n rows of one outcome for which the total variances are true. The epistemic variances v are the true
// ones times a factor.
func honest(seed uint64, n int, factor float64) (s Set, total, v []float64) {
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
		v = append(v, c*factor)
	}

	return s, total, v
}

// On calibrated data every number has a known expectation: Σe/Σv̂ is 1, coverage is the probability of the interval,
// and E[v² − 2ve] is −E[v²]. The limits are four standard errors and, for ENCE, 1.5 times its reference. y1 and y2
// share the error of the mean, so that they are worth at least n independent values.
func TestJudgeOnCalibratedData(t *testing.T) {
	const n = 10000
	s, total, v := honest(1, n, 1)
	r := Judge(s, total, v)
	assert.InDelta(t, 1, r.Get("sum_e_ratio"), 4*r.Get("sum_e_ratio_se"))
	assert.LessOrEqual(t, r.Get("sum_e_ratio_se"), 0.05)

	for key, want := range map[string]float64{"coverage68": math.Erf(1 / math.Sqrt2), "coverage95": 0.95} {
		assert.InDelta(t, want, r.Get(key), 4*math.Sqrt(want*(1-want)/n), "%s", key)
	}

	assert.LessOrEqual(t, r.Get("ence"), 1.5*r.Get("ence_ref95"))

	want := 0.0
	for _, x := range v {
		want -= x * x / n
	}

	assert.InDelta(t, want, r.Get("square"), 4*r.Get("square_se"))
}

// The true epistemic variance has the best QLIKE and the best square score. Half the total variance has a worse NLL and
// CRPS, and an ENCE far above its reference.
func TestJudgeOnWrongVariances(t *testing.T) {
	const n = 10000
	s, total, v := honest(1, n, 1)
	r := Judge(s, total, v)
	for _, sharp := range []float64{0.4, 2.5} {
		_, _, wrong := honest(1, n, sharp)
		worse := Judge(s, total, wrong)
		assert.Greater(t, worse.Get("qlike"), r.Get("qlike"), "variances times %g", sharp)
		assert.Greater(t, worse.Get("square"), r.Get("square"), "variances times %g", sharp)
		assert.InDelta(t, r.Get("sum_e_ratio"), worse.Get("sum_e_ratio")*sharp, 1e-9, "variances times %g", sharp)
	}

	half := make([]float64, n)
	for i, x := range total {
		half[i] = x / 2
	}

	worse := Judge(s, half, v)
	assert.GreaterOrEqual(t, worse.Get("ence"), 5*worse.Get("ence_ref95"))
	assert.Greater(t, worse.Get("nll"), r.Get("nll"))
	assert.Greater(t, worse.Get("crps"), r.Get("crps"))
}

// The reference of ENCE is E|RMSE−RMV|/RMV ≈ √(2/π)/√(2m) for bins of m normal residuals (χ² with m degrees of freedom,
// for large m). A method without an epistemic variance has a measured error, and no ratio.
func TestENCEReferenceClosedForm(t *testing.T) {
	const n = 5000
	s, total, _ := honest(3, n, 1)
	r := Judge(s, total, nil)

	want := math.Sqrt(2/math.Pi) / math.Sqrt(2*2*n/10)
	assert.InDelta(t, want, r.Get("ence_ref"), 0.05*want, "reference")
	assert.Equal(t, "the method claims no epistemic variance", r.Reason("sum_e_ratio"))
	assert.True(t, math.IsNaN(r.Get("sum_e_ratio")))
	assert.False(t, math.IsNaN(r.Get("e")))
}

// Each change leaves a number without a meaning, for the reason that is given.
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
		{"couples", func(s *Set, _ []float64) { s.Couples = true }, "ence_ref", "couples"},
		{"couples", func(s *Set, _ []float64) { s.Couples = true }, "ence_ref95", "couples"},
		{"total", func(_ *Set, total []float64) { total[3] = 0 }, "nll", "not positive"},
		{"one run", func(s *Set, _ []float64) { s.Run = make([]int, s.N) }, "square_se", "one run"},
		{"flat", func(s *Set, _ []float64) { clear(s.Y1); clear(s.Y2) }, "qlike", "equal"},
	} {
		changed := s
		changed.Y1 = slices.Clone(s.Y1)
		changed.Y2 = slices.Clone(s.Y2)
		variances := slices.Clone(total)
		c.change(&changed, variances)

		r := Judge(changed, variances, v)
		assert.True(t, math.IsNaN(r.Get(c.what)), "%s: %s", c.name, c.what)
		assert.Contains(t, r.Reason(c.what), c.why, "%s: reason of %s", c.name, c.what)
	}

	r := Judge(Set{Set: triplets.Set{Out: 2}}, nil, nil)
	assert.Len(t, r.Undefined(), len(keys(Methods)), "all numbers are undefined without rows")
}

// The half width is √(c/α), √(0.2/0.05) = 2. The error of ±√(c/α) with the probability α, otherwise 0, has the
// variance c: a narrower interval would not contain it. There is no interval for a covariance that is not positive and
// finite.
func TestChebyshev(t *testing.T) {
	half, ok := Chebyshev(0.2, 0.05)
	require.True(t, ok)
	assertNear(t, 2, half, 1e-15)

	for _, c := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, ok := Chebyshev(c, 0.05)
		assert.False(t, ok, "an interval for C = %v", c)
	}
}

// A consistent model has no flags. The other violates all four identities. By hand, its rms δ is 1 and its mean |C| is
// 0.875; its mean |κ| is 0.4 and its σ² is 1.
func TestDiagnose(t *testing.T) {
	fine := triplets.Answers{
		Var: []float64{1, 1, 1}, Cov: []float64{0.2, 0.3, 0.4}, Delta: []float64{0.1, -0.1, 0},
		Kappa: []float64{0.02, -0.05, 0},
	}

	assert.Empty(t, Diagnose(fine), "flags of a consistent model")
	assert.Empty(t, Diagnose(triplets.Answers{}), "flags of nothing")

	bad := triplets.Answers{
		Var: []float64{1, 1}, Cov: []float64{-0.25, 1.5}, Delta: []float64{1, -1},
		Kappa: []float64{0.5, -0.3},
	}

	flags := Diagnose(bad)
	var codes []string
	for _, f := range flags {
		codes = append(codes, f.Code)
		assert.Greater(t, f.Value, f.Limit, "size of %s", f.Code)
		assert.NotEmpty(t, f.Do, "advice about %s", f.Code)
	}

	require.Equal(t, []string{"delta", "kappa", "negative-cov", "cov-above-var"}, codes)
	assertNear(t, 1/math.Sqrt(0.875), flags[0].Value, 1e-12)
	assert.Contains(t, flags[0].How, "1.1 of √C")
	assertNear(t, 0.4, flags[1].Value, 1e-12)
}

// A ratio that chance may have moved anywhere is not called calibrated. Student's 97.5 % quantile with four degrees of
// freedom is 2.776: 630 ± 1527 and 1.2 ± 1.1 contain 1 and a value that differs by more than a factor of two. 1.2 ±
// 0.56 does not contain such a value, and 40 ± 11 does not contain 1.
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

// A covariance that equals the expected error is flagged in a twentieth of all draws (binomial, of 60 draws 57 ± 1.7
// are not flagged; the standard error of a ratio is a little too small). A quarter of it is overconfident, and four
// times as much underconfident.
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
			flags := flagged(seed, factor)
			require.Len(t, flags, 1, "seed %d, C times %g", seed, factor)
			require.Equal(t, "calibration", flags[0].Code, "seed %d, C times %g", seed, factor)
			require.Contains(t, flags[0].Violated(), word, "seed %d, C times %g", seed, factor)
			require.Greater(t, flags[0].Value, flags[0].Limit, "seed %d, C times %g", seed, factor)
			require.NotEmpty(t, flags[0].Do, "seed %d, C times %g", seed, factor)
		}
	}

	assert.GreaterOrEqual(t, right, 48, "calibrated models of 60 that are not flagged")

	none := newNumbers(Parts)
	none.undefineAll("not computed")
	assert.Empty(t, DiagnoseCalibration(OverSeeds([]Numbers{none}), 5), "flags of nothing")
}

// ratioValues returns the values of seeds with these ratios Σe/ΣC and their standard errors.
func ratioValues(ratios, se []float64) Values {
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

// The flag states the means over the seeds, as the tables do. The ratios 40 and 62 with the standard errors 4 and 6
// have the means 51 and 5. Student's 97.5 % quantile with the 4 degrees of freedom of 5 runs is 2.776 (tables), so
// that the range is 1 ± 13.88.
func TestCalibrationOverSeeds(t *testing.T) {
	flags := DiagnoseCalibration(ratioValues([]float64{40, 62}, []float64{4, 6}), 5)
	require.Len(t, flags, 1)
	assertNear(t, 13.882, flags[0].Limit, 1e-3)
	assert.Equal(t, 50.0, flags[0].Value)
	assert.Contains(t, flags[0].Violated(), "is 51 times C (standard error 5), so the model is over")

	for _, c := range []struct {
		ratio, se float64
		sign      int
	}{{14.8, 5, 0}, {14.9, 5, 1}, {-12.8, 5, 0}, {-12.9, 5, -1}} {
		sign, _, ok := CompareCalibration(ratioValues([]float64{c.ratio}, []float64{c.se}), 5)
		assert.True(t, ok, "%g ± %g", c.ratio, c.se)
		assert.Equal(t, c.sign, sign, "%g ± %g", c.ratio, c.se)
	}

	// The table has no ratio if a seed has none.
	assert.Empty(t, DiagnoseCalibration(ratioValues([]float64{13, math.NaN()}, []float64{1, math.NaN()}), 5))

	_, _, ok := CompareCalibration(ratioValues([]float64{40}, []float64{4}), 1)
	assert.False(t, ok, "one run has no range")
}

// The coverage shows whether σ is right. The simulated pairs share a deviation, and σ is the true one, half of it or
// twice as large. The true one is flagged in a twentieth of all draws (binomial, of 60 draws 3 ± 1.7).
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
			flags := flagged(seed, factor)
			require.Len(t, flags, 1, "seed %d, σ times %g", seed, factor)
			require.Equal(t, "coverage", flags[0].Code, "seed %d, σ times %g", seed, factor)
			require.NotEmpty(t, flags[0].Do, "seed %d, σ times %g", seed, factor)
			require.Contains(t, flags[0].Violated(), "coverage = 0.95 is violated: ", "seed %d, σ times %g", seed, factor)
			require.Contains(t, flags[0].Violated(), word, "seed %d, σ times %g", seed, factor)
		}
	}

	assert.LessOrEqual(t, wrong, 10, "models of 60 with the true σ that are flagged")
}

// By hand, with Student's quantile of 2.145 for 15 runs: a standard error of 0.02 gives a range of ± 0.043. Without
// scatter the standard error is √(0.95·0.05/15) = 0.0563, and the range ± 0.121. A flag states this standard error.
func TestCompareCoverage(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		coverage, se float64
		runs, sign   int
		used         float64 // standard error
	}{
		{0.19, 0.02, 15, -1, 0.02},
		{0.906, 0.02, 15, -1, 0.02},
		{0.908, 0.02, 15, 0, 0.02},
		{0.994, 0.02, 15, 1, 0.02},
		{1, 0, 15, 0, 0.0563},
		{0.82, 0, 15, -1, 0.0563},
		{1, 0, 400, 1, 0.0109},
		{0.5, 0.1, 1, 0, nan},
		{nan, 0.1, 15, 0, nan},
	} {
		sign, se := CompareCoverage(Trust{Level: 0.95, Inside: c.coverage, InsideSE: c.se, Runs: c.runs})
		assert.Equal(t, c.sign, sign, "%+v", c)
		assertNear(t, c.used, se, 5e-5, "%+v", c)
	}

	flags := DiagnoseCoverage(Trust{Level: 0.95, Inside: 1, Runs: 400})
	require.Len(t, flags, 1)
	assert.Contains(t, flags[0].How, "100 % of the held-out values lie inside μ ± 1.96σ (standard error 1 %)")

	flags = DiagnoseCoverage(Trust{Level: 0.95, Inside: 0.2, InsideSE: 0.12, Runs: 15})
	require.Len(t, flags, 1)
	assert.Contains(t, flags[0].How, "20 % of the held-out values lie inside μ ± 1.96σ (standard error 12 %)")
}

// The numbers were rounded by hand to the second digit of their deviation.
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

// Scores do not depend on the order of the rows. If all data are multiplied by a factor, scores with a unit are
// multiplied by a power of it, logarithms grow by its logarithm, and the other scores stay the same.
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
			want := a.Get(c.name)*c.scale + c.add
			tolerance := max(1e-9, 1e-8*math.Abs(want))
			assert.InDelta(t, want, b.Get(c.name), tolerance, "%s, reversed and times %g", c.name, f)
		}
	})
}

// The residuals are 0, 1, 2 and 3 deviations. The central 50 % reach to 0.67 deviations and contain one of four, the
// central 70 % and 95 % reach to 1.04 and 1.96 and contain two, and the central 99 % reach to 2.58 and contain three.
func TestCoverageByHand(t *testing.T) {
	s := Set{
		triplets.Set{N: 2, Out: 1, Y1: []float64{5, 7}, Y2: []float64{9, 11}},
		triplets.Answers{Mu: []float64{5, 5}, Var: []float64{4, 4}},
	}

	assert.Equal(t, []float64{0.25, 0.5, 0.5, 0.75}, Coverage(s, []float64{0.5, 0.7, 0.95, 0.99}))
	assert.Nil(t, Coverage(Set{Set: triplets.Set{Out: 1}}, []float64{0.5}), "without rows")

	r := Judge(s, s.Var, nil)
	assert.Equal(t, 0.5, r.Get("coverage68"))
	assert.Equal(t, 0.5, r.Get("coverage95"))
}

// A residual at the limit is inside, and not below.
func TestLimitsAreInside(t *testing.T) {
	z := []float64{-1, 0, 1, 3}
	assert.Equal(t, 3, within(z, 1))
	assert.Equal(t, 2, below(z, 1))
}
