package score

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
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

// The expected values come from scipy's polygamma (testdata/make.py). FewConditions is the smallest number of
// conditions with a factor below four.
func TestR2FactorAgainstScipy(t *testing.T) {
	_, want := golden(t)
	for n := 2; n <= 12; n++ {
		assertNear(t, want.R2Factor[fmt.Sprint(n)], R2Factor(n), 1e-12, "%d conditions", n)
	}

	assert.Less(t, R2Factor(FewConditions), 4.0)
	assert.Greater(t, R2Factor(FewConditions-1), 4.0)
}

// The deviation of ln(1−R²) over many sets of seven conditions is the one from which R2Factor follows, if errors and
// outcomes are independent normal numbers.
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

	// Its standard error is about 1/√(2·20000) = 0.5 %, a little more with these tails. Four of them are allowed.
	assert.InEpsilon(t, math.Log(R2Factor(n))/1.959964, sd, 0.03)
}

// noisyPairs draws 50 numbers x, and pairs y1 and y2 of x with noise.
func noisyPairs() (x, y1, y2 []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		truth := rng.NormFloat64()
		x = append(x, truth)
		y1 = append(y1, truth+rng.NormFloat64())
		y2 = append(y2, truth+rng.NormFloat64())
	}

	return x, y1, y2
}

// R² is 1 for the values themselves, and 0 for the mean of the set. It is undefined for an outcome that is constant.
func TestR2(t *testing.T) {
	x, y1, y2 := noisyPairs()
	mean := (average(y1, nil) + average(y2, nil)) / 2
	assert.Equal(t, 1.0, R2(x, x, x))
	assert.InDelta(t, 0, R2(y1, y2, slices.Repeat([]float64{mean}, len(x))), 1e-14)
	assert.True(t, math.IsNaN(R2([]float64{0.1, 0.1, 0.1}, []float64{0.1, 0.1, 0.1}, []float64{1, 2, 3})))
}

// R² of a line by least squares is the squared correlation.
func TestR2OfLine(t *testing.T) {
	x, y1, y2 := noisyPairs()
	m := (average(y1, nil) + average(y2, nil)) / 2
	mx := average(x, nil)

	var sxy, sxx, syy float64
	for i := range x {
		for _, y := range []float64{y1[i], y2[i]} {
			sxy += (x[i] - mx) * (y - m)
			sxx += (x[i] - mx) * (x[i] - mx)
			syy += (y - m) * (y - m)
		}
	}

	line := make([]float64, len(x))
	for i := range line {
		line[i] = m + sxy/sxx*(x[i]-mx)
	}

	assertNear(t, sxy*sxy/sxx/syy, R2(y1, y2, line), 1e-13)
}

// y1 = (0, 2) and y2 = (1, 3) have half squared differences of ½ and the variance 5/4, so that the ceiling is 1 − 0.4.
// The best μ for the pairs themselves, their mean ½(y1+y2), has residuals ±½(y1−y2), half the noise: R² = ½(1 +
// ceiling).
func TestNoiseCeiling(t *testing.T) {
	assertNear(t, 0.6, NoiseCeiling([]float64{0, 2}, []float64{1, 3}, nil), 1e-15)

	_, y1, y2 := noisyPairs()
	means := make([]float64, len(y1))
	for i := range means {
		means[i] = (y1[i] + y2[i]) / 2
	}

	assertNear(t, (1+NoiseCeiling(y1, y2, nil))/2, R2(y1, y2, means), 1e-13)
}

// 2, 4, 4, 4, 5, 5, 7, 9 has the mean 5 and the sum of squares 32. One value has no deviation, and no value no mean.
func TestMeanStd(t *testing.T) {
	mean, std := MeanStd([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	assert.Equal(t, 5.0, mean)
	assertNear(t, math.Sqrt(32.0/7), std, 1e-15)

	mean, std = MeanStd([]float64{3})
	assert.Equal(t, 3.0, mean)
	assert.True(t, math.IsNaN(std), "deviation of one value")

	mean, std = MeanStd(nil)
	assert.True(t, math.IsNaN(mean), "mean of nothing")
	assert.True(t, math.IsNaN(std), "deviation of nothing")

	mean, std = MeanStd([]float64{0.1, 0.1, 0.1})
	assert.Equal(t, 0.1, mean, "the mean of equal values is exact")
	assert.Equal(t, 0.0, std)
}

// The standard error is s/√n for clusters of one value, and the standard error of the means of clusters for equal
// clusters, whose means here are 2.5, 5 and 6. One cluster has none.
func TestClusteredMeanClosedForms(t *testing.T) {
	v := []float64{1, 4, 2, 8, 5, 7}
	wantMean, deviation := MeanStd(v)
	mean, se := ClusteredMean(v, []int{5, 4, 3, 2, 1, 0})
	assertNear(t, wantMean, mean, 1e-15)
	assertNear(t, deviation/math.Sqrt(6), se, 1e-14)

	_, deviation = MeanStd([]float64{2.5, 5, 6})
	_, se = ClusteredMean(v, []int{9, 9, -1, -1, 4, 4})
	assertNear(t, deviation/math.Sqrt(3), se, 1e-14)

	mean, se = ClusteredMean(v, make([]int, 6))
	assertNear(t, wantMean, mean, 1e-15)
	assert.True(t, math.IsNaN(se), "standard error of one cluster")

	mean, se = ClusteredMean(nil, nil)
	assert.True(t, math.IsNaN(mean), "mean of nothing")
	assert.True(t, math.IsNaN(se), "standard error of nothing")
}

// Values have a random effect per cluster, τ² = 1, and noise σ² = 1. With 13 values in each of 40 clusters the variance
// of the mean is (τ² + σ²/13)/40. A standard error without clusters would be 2.7 times too small.
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

	assert.InDelta(t, 0.95, float64(covered)/reps, 4*math.Sqrt(0.95*0.05/reps), "share of intervals with the truth")
}

// calibrated draws a set whose model is off by b ~ N(0, C·scale), so that E[e] = C·scale
// (docs/method.md#what-is-reported). The covariance is calibrated if scale is 1.
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

// E[e] is scale·C whatever the noise, so that the mean of Σe/ΣC is the scale, and its scatter over repetitions the
// standard error.
func TestSumERatioMonteCarlo(t *testing.T) {
	for _, scale := range []float64{1, 4} {
		rng := rand.New(rand.NewPCG(7, uint64(scale)))

		reps := 400
		if !longtest.IsStudy() {
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

		// Squared normal numbers of log-normal sizes have heavy tails, which allow 20 %.
		assert.InEpsilon(t, sd, math.Sqrt(se2), 0.2, "scale %v: standard error of the ratio", scale)

		if scale == 1 { // 95 % by construction, somewhat less because e is skewed
			assert.Greater(t, agree, 0.85, "share of bins that agree")
			assert.Less(t, agree, 0.99, "share of bins that agree")
		} else { // e is four times C, so that hardly a bin agrees
			assert.Less(t, agree, 0.3, "share of bins that agree")
		}
	}
}

// Equal values of C are in one bin. Here three values of C are equal each, so that each of the four is a bin; e equals
// C except for the negative one. The expected numbers were computed by hand.
func TestCalibrateCov(t *testing.T) {
	cov := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, -1, -1, -1}
	e := []float64{3, 1, 2, 1, 2, 3, 1, 2, 3, 0, 0, 0}
	id := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	c := CalibrateCov(cov, e, id, 6)
	require.Len(t, c.Bins, 4)

	for i, want := range []float64{-1, 1, 2, 3} {
		b := c.Bins[i]
		assert.Equal(t, 3, b.N, "values of bin %d", i)
		assert.Equal(t, 3, b.Runs, "runs of bin %d", i)
		assert.Equal(t, want, b.MeanCov, "mean C of bin %d", i)
		assert.Equal(t, max(0, want), b.MeanE, "mean e of bin %d", i)
		assert.Equal(t, i > 0, b.Agrees, "whether bin %d agrees", i)
	}

	assertNear(t, 0.25, c.NonPositive, 1e-15)
	assertNear(t, 18.0/15, c.Ratio, 1e-15)
	assert.Equal(t, 0.75, c.Agreeing)
}

// 103 distinct values are divided into ten bins of 10 or 11 values.
func TestCalibrateCovDistinct(t *testing.T) {
	var cov, e []float64
	var id []int
	for i := range 103 {
		cov = append(cov, float64((i*37)%103))
		e = append(e, 1)
		id = append(id, i)
	}

	c := CalibrateCov(cov, e, id, 0)
	require.Len(t, c.Bins, 10)

	total := 0
	for _, b := range c.Bins {
		total += b.N
		assert.Contains(t, []int{10, 11}, b.N, "values of a bin")
	}

	assert.Equal(t, 103, total, "values of all bins")
}

// The ratio is undefined if the covariances do not sum to a positive number, if there are none, or if one is NaN.
func TestCalibrateCovUndefined(t *testing.T) {
	c := CalibrateCov([]float64{-1, -2}, []float64{1, 1}, []int{0, 1}, 0)
	assert.True(t, math.IsNaN(c.Ratio))
	assert.Equal(t, "the covariances do not sum to a positive value", c.Undefined)

	assert.Equal(t, "no rows", CalibrateCov(nil, nil, nil, 0).Undefined)

	c = CalibrateCov([]float64{1, math.NaN()}, []float64{1, 1}, []int{0, 1}, 0)
	assert.Equal(t, "a value it is computed from is not finite", c.Undefined)
	assert.Nil(t, c.Bins)
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

		p.Condition = pick(s.Condition, perm)
		p.Run = pick(s.Run, perm)
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

// pick returns the values at the given places.
func pick(values, places []int) []int {
	picked := make([]int, len(places))
	for i, k := range places {
		picked[i] = values[k]
	}

	return picked
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

// Each change of a set leaves some numbers without a meaning. Exactly these are undefined, for the reason that is
// given.
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

// The values of two seeds, 0.5 and 0.7, have the mean 0.6 and the deviation 0.2/√2. If one of them is undefined, the
// value is undefined for its reason.
func TestOverSeeds(t *testing.T) {
	a := newNumbers(Parts)
	b := newNumbers(Parts)
	a.set("r2", 0.5)
	b.set("r2", 0.7)

	values := OverSeeds([]Numbers{a, b})
	require.Len(t, values, len(keys(Parts)))
	assert.Equal(t, "r2", values[0].Key)
	assert.True(t, values.Get("nll").Absent(), "a metric of methods")

	r2 := values.Get("r2")
	assertNear(t, 0.6, r2.Mean, 1e-15)
	assertNear(t, 0.2/math.Sqrt2, r2.Std, 1e-15)
	assert.Equal(t, 2, r2.N)
	assert.True(t, r2.Defined())

	b.undefine("one condition only", "r2")

	r2 = OverSeeds([]Numbers{a, b}).Get("r2")
	assert.True(t, math.IsNaN(r2.Mean))
	assert.Equal(t, "one condition only", r2.Reason())
	assert.False(t, r2.Defined())

	assert.Nil(t, OverSeeds(nil))
}

// A value without a finite mean is undefined, and has a reason.
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
		assert.Equal(t, c.want, c.v.Reason(), "%+v", c.v)
		assert.Equal(t, c.want == "", c.v.Defined(), "whether %+v is defined", c.v)
	}
}

// Every metric has a unique key, a symbol and a meaning. Tables show it as it is or in hundredths.
func TestMetrics(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics {
		assert.False(t, seen[m.Key], "the key %s occurs once", m.Key)
		assert.NotEmpty(t, m.Symbol, "symbol of %s", m.Key)
		assert.NotEmpty(t, m.What, "meaning of %s", m.Key)
		assert.NotZero(t, m.Uses, "inputs of %s", m.Key)
		assert.Contains(t, []float64{1, 100}, m.Factor, "factor of %s", m.Key)
		assert.Contains(t, []string{"1", "nat", "sd", "sd²", "sd⁴"}, m.Unit, "unit of %s", m.Key)

		seen[m.Key] = true
		assert.Equal(t, m.What, MetricOf(m.Key).What, "%s is found by its key", m.Key)
	}

	assert.Len(t, keys(Parts), 17)
	assert.Len(t, keys(Methods), 18)
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
