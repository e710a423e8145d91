package train

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"doubletake/internal/longtest"
	"doubletake/internal/parallel"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// toyData is the synthetic experiment of docs/method.md#synthetic-data-and-couples:
// x ~ U[−6, 6], y = x·sin x + ε, ε ~ N(0, σ²), σ = γ·exp(−x²/2). In couples, the second outcomes are the first.
func toyData(n int, gamma float64, seed uint64, coupled bool) triplets.Set {
	p := newStream(seed, 1000)

	d := triplets.Set{N: n, In: 1, Out: 1}
	for range n {
		x := -6 + 12*uniform(p)
		sigma := gamma * math.Exp(-x*x/2)
		y := x * math.Sin(x)
		y1 := y + sigma*normQuantile(uniform(p))
		y2 := y + sigma*normQuantile(uniform(p))
		if coupled {
			y2 = y1
		}

		d.X = append(d.X, x)
		d.Y1 = append(d.Y1, y1)
		d.Y2 = append(d.Y2, y2)
	}

	return d
}

// toyConfig returns the settings of the toy experiment.
func toyConfig() Config {
	cfg := DefaultConfig()
	cfg.Standardise = false
	return cfg
}

// median returns the median of v.
func median(v []float64) float64 {
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	if n%2 == 0 {
		return 0.5 * (sorted[n/2-1] + sorted[n/2])
	}

	return sorted[n/2]
}

// mean returns the mean of v.
func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}

	return sum / float64(len(v))
}

// toyAnswers are the answers of a model at conditions of the toy experiment.
type toyAnswers struct {
	x, mu, variance []float64
	c               []float64 // the paper's cov_θ in the limit of infinitely many samples, C + μδ
}

// newToyAnswers returns the answers at the conditions x.
func newToyAnswers(m *Model, x []float64) (toyAnswers, error) {
	e, err := m.Estimate(context.Background(), x, EstimateOptions{Samples: 2})
	if err != nil {
		return toyAnswers{}, err
	}

	a := toyAnswers{x: x, mu: e.Mu, variance: e.Var}
	for i := range x {
		a.c = append(a.c, e.Cov[i]+e.Mu[i]*e.Delta[i])
	}

	return a, nil
}

// within returns the answers at |x| ≤ limit.
func (a toyAnswers) within(limit float64) toyAnswers {
	var part toyAnswers
	for i, x := range a.x {
		if math.Abs(x) <= limit {
			part.x = append(part.x, x)
			part.mu = append(part.mu, a.mu[i])
			part.variance = append(part.variance, a.variance[i])
			part.c = append(part.c, a.c[i])
		}
	}

	return part
}

// absC returns |C| at each condition.
func (a toyAnswers) absC() []float64 {
	sizes := make([]float64, len(a.c))
	for i, c := range a.c {
		sizes[i] = math.Abs(c)
	}

	return sizes
}

// noise returns the true variance of the noise at each condition.
func (a toyAnswers) noise(gamma float64) []float64 {
	variances := make([]float64, len(a.x))
	for i, x := range a.x {
		variances[i] = gamma * gamma * math.Exp(-x*x)
	}

	return variances
}

// rmse returns the root mean square error of the mean.
func (a toyAnswers) rmse() float64 {
	sum := 0.0
	for i, x := range a.x {
		d := a.mu[i] - x*math.Sin(x)
		sum += d * d
	}

	return math.Sqrt(sum / float64(len(a.x)))
}

// cPerVariance returns C/σ² at each condition.
func (a toyAnswers) cPerVariance() []float64 {
	ratios := make([]float64, len(a.c))
	for i, c := range a.c {
		ratios[i] = c / a.variance[i]
	}

	return ratios
}

// toyFigures returns the figures that the reference's run_toy.py computes, by the names in bars.json. The names end
// with the region: "in" is |x| ≤ 6 (481 points), "c" is |x| ≤ 1, "3" is |x| ≤ 3, and "out" is 8 ≤ |x| ≤ 10.
func toyFigures(m *Model, gamma float64) (map[string]float64, error) {
	var insideX, outsideX []float64
	for i := range 481 {
		insideX = append(insideX, -6+12*float64(i)/480)
	}

	for i := range 41 {
		outsideX = append(outsideX, -10+2*float64(i)/40, 8+2*float64(i)/40)
	}

	inside, err := newToyAnswers(m, insideX)
	if err != nil {
		return nil, err
	}

	outside, err := newToyAnswers(m, outsideX)
	if err != nil {
		return nil, err
	}

	centre := inside.within(1)
	three := inside.within(3)

	return map[string]float64{
		"rmse_in":     inside.rmse(),
		"var0/g2":     mean(inside.within(0.24).variance) / (gamma * gamma), // |x| < 0.25
		"argmax_var":  math.Abs(inside.x[floats.MaxIdx(inside.variance)]),
		"C_c/s2":      median(centre.absC()) / mean(centre.noise(gamma)),
		"medout/in":   median(outside.absC()) / median(inside.absC()),
		"out/in":      mean(outside.absC()) / mean(inside.absC()),
		"C/var_c":     median(centre.cPerVariance()),
		"corr3(C,s2)": stat.Correlation(three.c, three.noise(gamma), nil),
		"argmaxC3":    math.Abs(three.x[floats.MaxIdx(three.c)]),
		"mean|C|in":   mean(inside.absC()),
	}, nil
}

// bar is the range of a figure in bars.json: of every seed, of the median, or how many seeds lie above a value.
type bar struct {
	Each       []float64 `json:"each"`        // least and greatest value
	Median     []float64 `json:"median"`      // least and greatest value
	CountAbove []float64 `json:"count_above"` // value, and least number of seeds
}

// check checks the values of a figure, one per seed.
func (b bar) check(t *testing.T, name string, values []float64) {
	t.Helper()
	t.Logf("%-26s median %8.3g [%.3g, %.3g]", name, median(values), slices.Min(values), slices.Max(values))

	hasRange := b.Each != nil || b.Median != nil || b.CountAbove != nil
	require.True(t, hasRange, "%s: there is no range", name)

	if b.Each != nil {
		assert.GreaterOrEqual(t, slices.Min(values), b.Each[0], "%s: least value", name)
		assert.LessOrEqual(t, slices.Max(values), b.Each[1], "%s: greatest value", name)
	}

	if b.Median != nil {
		assert.GreaterOrEqual(t, median(values), b.Median[0], "%s: median", name)
		assert.LessOrEqual(t, median(values), b.Median[1], "%s: median", name)
	}

	if b.CountAbove != nil {
		count := 0
		for _, v := range values {
			if v > b.CountAbove[0] {
				count++
			}
		}

		assert.GreaterOrEqual(t, float64(count), b.CountAbove[1], "%s: seeds above %g", name, b.CountAbove[0])
	}
}

// checkAll checks all figures that have a range.
func checkAll(t *testing.T, what string, figures map[string][]float64, bars map[string]bar) {
	t.Helper()

	for _, name := range slices.Sorted(maps.Keys(bars)) {
		require.NotEmpty(t, figures[name], "%s %s: values", what, name)
		bars[name].check(t, what+" "+name, figures[name])
	}
}

const toySeeds = 10

// trainToys trains the toy with ten seeds, of the data and of the weights. It returns the values of each figure, one
// per seed.
func trainToys(t *testing.T, gamma, dropout float64, coupled bool) map[string][]float64 {
	t.Helper()

	results := make([]map[string]float64, toySeeds)
	err := parallel.Try(2, toySeeds, func(seed int) error {
		cfg := toyConfig()
		cfg.Seed = uint64(seed)
		cfg.Dropout = dropout
		m, _, err := Fit(context.Background(), toyData(1000, gamma, uint64(seed), coupled), cfg, nil)
		if err != nil {
			return err
		}

		results[seed], err = toyFigures(m, gamma)
		return err
	})
	require.NoError(t, err)

	figures := map[string][]float64{}
	for _, result := range results {
		for name, v := range result {
			figures[name] = append(figures[name], v)
		}
	}

	return figures
}

// The toy experiment gives the figures of the reference. Expected ranges: bars.json, from ten seeds of the reference in
// Python. With DOUBLETAKE_LONG=all the test also checks trainings without dropout and with other noise.
func TestToyBars(t *testing.T) {
	longtest.Skip(t, "twenty trainings")

	const gamma, dropout = 1.5, 0.05 // as in the reference

	var bars struct {
		Triplets map[string]bar       `json:"triplets"`
		Couples  map[string]bar       `json:"couples"`
		Over     bar                  `json:"couples_over_triplets_C_c"`
		P0       map[string]bar       `json:"triplets_p0"`
		Gamma    map[string][]float64 `json:"gamma3_over_gamma1_mean_mean|C|in"`
	}

	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/bars.json"), &bars))

	triplets := trainToys(t, gamma, dropout, independent)
	couples := trainToys(t, gamma, dropout, coupled)
	checkAll(t, "triplets", triplets, bars.Triplets)
	checkAll(t, "couples", couples, bars.Couples)

	var over []float64
	for seed := range toySeeds {
		over = append(over, couples["C_c/s2"][seed]/triplets["C_c/s2"][seed])
	}

	bars.Over.check(t, "couples/triplets C_c", over)

	if !longtest.IsStudy() {
		return // fifty trainings more
	}

	checkAll(t, "triplets, no dropout", trainToys(t, gamma, 0, independent), bars.P0)

	for _, c := range []struct {
		name    string
		coupled bool
	}{{"triplets", independent}, {"couples", coupled}} {
		loud := mean(trainToys(t, 3, dropout, c.coupled)["mean|C|in"])
		quiet := mean(trainToys(t, 1, dropout, c.coupled)["mean|C|in"])
		bar{Each: bars.Gamma[c.name]}.check(t, "γ 3/γ 1, "+c.name, []float64{loud / quiet})
	}
}
