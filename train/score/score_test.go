package score

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
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

// golden reads the set that testdata/make.py drew, and the numbers that it computed for the set.
func golden(t testing.TB) (s Set, want struct {
	Conditions, Runs int
	All              map[string]float64
	Outcomes         []map[string]float64
	R2Factor         map[string]float64 `json:"r2_factor"`
},
) {
	t.Helper()

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
func keys(u Uses) []string {
	var list []string
	for _, m := range MetricsOf(u) {
		list = append(list, m.Key)
	}

	return list
}

// assertNear asserts that a number differs from the expected one by at most tol, times the size of the expected number
// if that is above 1.
func assertNear(t assert.TestingT, want, got, tol float64, message ...any) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}

	assert.InDelta(t, want, got, tol*math.Max(1, math.Abs(want)), message...)
}

// near reports whether two numbers agree as assertNear asserts it.
func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*math.Max(1, math.Abs(b)) }

// The expected values come from numpy and scipy (testdata/make.py). The differences are rounding.
func TestSummariseAgainstNumpy(t *testing.T) {
	s, want := golden(t)
	got := Summarise(s)
	assert.Equal(t, want.Conditions, got.Conditions, "conditions")
	assert.Equal(t, want.Runs, got.Runs, "runs")
	assert.Equal(t, s.N, got.Rows, "rows")

	check := func(what string, m Numbers, want map[string]float64) {
		t.Helper()

		require.GreaterOrEqual(t, len(want), 15, "%s: numbers to compare", what)

		for _, name := range keys(Parts) {
			expected, ok := want[name]
			if !ok {
				assert.Equal(t, "calibrated_fraction", name, "%s: the one number that numpy does not compute", what)
				continue
			}

			assertNear(t, expected, m.Get(name), 1e-12, "%s: %s", what, name)
		}

		assert.Empty(t, m.Undefined(), "%s: undefined numbers", what)
	}

	check("all", got.Numbers, want.All)

	for j, o := range got.Outcomes {
		check(fmt.Sprint("outcome ", j), o, want.Outcomes[j])
	}
}

// draw draws a set of any shape.
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

// The order of the rows does not change the numbers.
func TestPermutationInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		p := s

		perm := rapid.Permutation(lists.Numbers(s.N)).Draw(t, "order")
		for _, v := range []*[]float64{&p.Y1, &p.Y2, &p.Mu, &p.Var, &p.CovRaw, &p.Cov, &p.Delta, &p.Kappa, &p.ZigZag} {
			w := make([]float64, len(*v))
			for i, k := range perm {
				copy(w[i*s.Out:(i+1)*s.Out], (*v)[k*s.Out:(k+1)*s.Out])
			}

			*v = w
		}

		p.Condition = lists.Pick(s.Condition, perm)
		p.Run = lists.Pick(s.Run, perm)
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

// R² and the noise ceiling do not change if an outcome and its prediction are shifted and scaled. e and the pair error
// are multiplied by the square of the scale.
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
		for _, key := range []string{"r2", "noise_ceiling"} {
			require.True(t, same(m.Get(key), q.Get(key)), "%s: %v → %v", key, m.Get(key), q.Get(key))
		}

		for _, key := range []string{"e", "pair_mse"} {
			require.True(t, same(m.Get(key), q.Get(key)/b/b), "%s: %v → %v", key, m.Get(key), q.Get(key))
		}
	})
}

// ½[(y1−μ)² + (y2−μ)²] = e + ½(y1−y2)² (docs/method.md#what-is-reported) is true for each pair, and so for the means.
// With one outcome, 1−R² is the pair error over the variance.
func TestPairErrorIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		m := Summarise(s)

		noise := 0.0
		for k := range s.Y1 {
			d := s.Y1[k] - s.Y2[k]
			noise += d * d / 2 / float64(len(s.Y1))
		}

		require.InDelta(t, m.Get("e")+noise, m.Get("pair_mse"), 1e-10)

		for j, o := range m.Outcomes {
			v := pooledVar(lists.Column(s.Y1, s.Out, j), lists.Column(s.Y2, s.Out, j), nil)
			if math.IsNaN(o.Get("r2")) {
				continue
			}

			fromR2 := (1 - o.Get("r2")) * v
			require.True(t, same(fromR2, o.Get("pair_mse")), "outcome %d: %v, pair error %v", j, fromR2, o.Get("pair_mse"))
		}

		mean := average(MeasuredError(s), nil)
		require.True(t, same(mean, m.Get("e")), "mean of the measured errors %v, e %v", mean, m.Get("e"))
	})
}

// Means over inputs weigh a condition once: they stay the same if the rows of one condition are repeated. The mean of
// e, which is over rows, changes.
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
		assertNear(t, want.All[name], m.Get(name), 1e-12, "%s", name)
	}

	assert.False(t, near(m.Get("e"), want.All["e"], 1e-6), "the mean of e changes")
}

// Each change of the set of the golden file leaves some numbers without a meaning. Exactly these are NaN and have the
// reason that is given; all other numbers are defined and have no reason. Which numbers need what was listed by hand
// from the definitions in docs/method.md: an error needs two runs, R² two conditions, and so on.
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
			want, isUndefined := c.reason[n]
			assert.Equal(t, want, m.Reason(n), "%s: reason of %s", c.name, n)
			assert.Equal(t, isUndefined, math.IsNaN(m.Get(n)), "%s: whether %s is NaN", c.name, n)
		}
	}
}

// all returns the reason by each of the names.
func all(reason string, names ...string) map[string]string {
	reasons := map[string]string{}
	for _, name := range names {
		reasons[name] = reason
	}

	return reasons
}

// join adds the entries of b to a, and returns a.
func join(a, b map[string]string) map[string]string {
	maps.Copy(a, b)
	return a
}

// fill returns n times the same value.
func fill(n int, v float64) []float64 {
	return slices.Repeat([]float64{v}, n)
}

// Few conditions, few runs and equal pairs are warned of. The factor for seven conditions is scipy's, 5.31
// (testdata/score.json).
func TestWarnings(t *testing.T) {
	s, _ := golden(t)
	assert.Empty(t, Summarise(s).Warnings, "12 conditions in 20 runs")

	for i := range s.Condition {
		s.Condition[i] %= 7
	}

	want := "seven distinct conditions are too few for R²: sampling alone moves 1 − R² by a factor of 5.3 either way " +
		"(95 %)"
	assert.Equal(t, []string{want}, Summarise(s).Warnings)

	for i := range s.Run {
		s.Run[i] = i % 3
	}

	s.Y2 = s.Y1
	warnings := Summarise(s).Warnings
	require.Len(t, warnings, 3)
	assert.Contains(t, warnings[1], "3 runs are few")
	assert.Contains(t, warnings[1], "about 50 %")
	assert.Contains(t, warnings[2], "y1 and y2 are equal in every pair")

	assert.Equal(t, "one distinct condition: R² is undefined", R2Warning(1))
	assert.Empty(t, R2Warning(FewConditions))
	assert.Empty(t, R2Warning(0))
}

// Misuse panics with the name of the package.
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
		assert.Regexp(t, "^score: ", panicOf(f), name)
	}
}

// panicOf calls f, and returns the value of its panic as text.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()

	f()

	return ""
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

// Of 12 rows with a run each, 6 have no partner. By hand, the standard error of e comes from 6 runs, which are few.
func TestFewRunsOfPairs(t *testing.T) {
	s, _, _ := honest(6, 12, 1)
	s.Var = slices.Repeat([]float64{1}, s.N)
	s.Run = nil
	for i := range s.N {
		s.Run = append(s.Run, i)
		s.Alone = append(s.Alone, i%2 == 0)
	}

	warnings := strings.Join(Summarise(s).Warnings, "\n")
	assert.Contains(t, warnings, "6 runs are few for a standard error clustered by run: it is itself uncertain by about "+
		"32 %")
}
