package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// toyData is the synthetic experiment of docs/method.md#synthetic-data-and-couples:
// x ~ U[−6, 6], y = x·sin x + ε, ε ~ N(0, σ²), σ = γ·exp(−x²/2).
func toyData(n int, gamma float64, seed uint64, couples bool) triplets.Set {
	p := newStream(seed, 1000)

	d := triplets.Set{N: n, In: 1, Out: 1}
	for range n {
		x := -6 + 12*uniform(p)
		s := gamma * math.Exp(-x*x/2)
		y := x * math.Sin(x)
		y1 := y + s*normQuantile(uniform(p))
		y2 := y + s*normQuantile(uniform(p))
		if couples {
			y2 = y1
		}

		d.X = append(d.X, x)
		d.Y1 = append(d.Y1, y1)
		d.Y2 = append(d.Y2, y2)
	}

	return d
}

func toyConfig() Config {
	cfg := DefaultConfig()
	cfg.Standardise = false
	return cfg
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return 0.5 * (s[n/2-1] + s[n/2])
	}

	return s[len(s)/2]
}

func mean(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}

	return s / float64(len(v))
}

// toyFigures returns the same numbers as the reference's run_toy.py, for the regions "in" |x| ≤ 6 (481
// points), "centre" |x| ≤ 1, "3" |x| ≤ 3 and "out" 8 ≤ |x| ≤ 10. C is the paper's cov_θ in the
// limit of infinitely many samples.
func toyFigures(t *testing.T, m *Model, gamma float64) map[string]float64 {
	var in, out []float64
	for i := range 481 {
		in = append(in, -6+12*float64(i)/480)
	}

	for i := range 41 {
		out = append(out, -10+2*float64(i)/40, 8+2*float64(i)/40)
	}

	get := func(x []float64) (c, absC, mu, v []float64) {
		e, err := m.Estimate(context.Background(), x, EstimateOptions{Samples: 2})
		if err != nil {
			t.Error(err)
			return
		}

		for i := range x {
			ci := e.Cov[i] + e.Mu[i]*e.Delta[i]
			c = append(c, ci)
			absC = append(absC, math.Abs(ci))
		}

		return c, absC, e.Mu, e.Var
	}

	c, absC, mu, v := get(in)
	_, absOut, _, _ := get(out)
	var sq, top, topC float64
	var inner, centreC, ratio, s2c, c3, s23 []float64
	argmax := 0.0
	argmaxC := 0.0

	topC = math.Inf(-1)
	for i, x := range in {
		d := mu[i] - x*math.Sin(x)
		sq += d * d
		s2 := gamma * gamma * math.Exp(-x*x)

		if math.Abs(x) < 0.25 {
			inner = append(inner, v[i])
		}

		if v[i] > top {
			top = v[i]
			argmax = math.Abs(x)
		}

		if math.Abs(x) <= 1 {
			centreC = append(centreC, absC[i])
			ratio = append(ratio, c[i]/v[i])
			s2c = append(s2c, s2)
		}

		if math.Abs(x) <= 3 {
			c3 = append(c3, c[i])
			s23 = append(s23, s2)
			if c[i] > topC {
				topC = c[i]
				argmaxC = math.Abs(x)
			}
		}
	}

	return map[string]float64{
		"rmse_in": math.Sqrt(sq / float64(len(in))), "var0/g2": mean(inner) / (gamma * gamma), "argmax_var": argmax,
		"C_c/s2": median(centreC) / mean(s2c), "medout/in": median(absOut) / median(absC),
		"out/in":  mean(absOut) / mean(absC),
		"C/var_c": median(ratio), "corr3(C,s2)": correlation(c3, s23), "argmaxC3": argmaxC, "mean|C|in": mean(absC),
	}
}

func correlation(a, b []float64) float64 {
	ma := mean(a)
	mb := mean(b)

	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}

	return ab / math.Sqrt(aa*bb)
}

// bar is the range of a figure in bars.json: of each seed, of the median, or how many
// seeds lie above a value.
type bar struct {
	Each       []float64 `json:"each"`
	Median     []float64 `json:"median"`
	CountAbove []float64 `json:"count_above"`
}

func (b bar) check(t *testing.T, name string, v []float64) {
	t.Helper()
	t.Logf("%-26s median %8.3g [%.3g, %.3g]", name, median(v), slices.Min(v), slices.Max(v))

	require.NotEmpty(t, v, "%s: no figures or no range", name)
	require.False(t, b.Each == nil && b.Median == nil && b.CountAbove == nil, "%s: no figures or no range", name)

	if b.Each != nil && (slices.Min(v) < b.Each[0] || slices.Max(v) > b.Each[1]) {
		t.Errorf("%s: a seed is outside %v: %.3g", name, b.Each, v)
	}

	if b.Median != nil && (median(v) < b.Median[0] || median(v) > b.Median[1]) {
		t.Errorf("%s: median outside %v: %.3g", name, b.Median, v)
	}

	if b.CountAbove != nil {
		n := 0
		for _, x := range v {
			if x > b.CountAbove[0] {
				n++
			}
		}

		assert.GreaterOrEqual(t, float64(n), b.CountAbove[1],
			"%s: %d seeds above %g, expected %g: %.3g", name, n, b.CountAbove[0], b.CountAbove[1], v)
	}
}

// TestToyBars trains the toy with ten seeds (data and weights) by the settings of
// bars.json and checks the ranges given there for the toy, with DOUBLETAKE_LONG=all
// those without dropout and of other noise too.
func TestToyBars(t *testing.T) {
	if !longtest.IsLong() {
		t.Skip("long test: set DOUBLETAKE_LONG=1")
	}

	raw := testfile.Read(t, "testdata/bars.json")

	var bars struct {
		Triplets map[string]bar       `json:"triplets"`
		Couples  map[string]bar       `json:"couples"`
		Over     bar                  `json:"couples_over_triplets_C_c"`
		P0       map[string]bar       `json:"triplets_p0"`
		Gamma    map[string][]float64 `json:"gamma3_over_gamma1_mean_mean|C|in"`
	}

	require.NoError(t, json.Unmarshal(raw, &bars))

	const seeds = 10
	run := func(gamma, dropout float64, couples bool) map[string][]float64 {
		all := make([]map[string]float64, seeds)
		var wg sync.WaitGroup

		room := make(chan struct{}, 2)
		for s := range seeds {
			wg.Go(func() {
				room <- struct{}{}
				defer func() { <-room }()
				cfg := toyConfig()
				cfg.Seed = uint64(s)
				cfg.Dropout = dropout
				m, _, err := Fit(context.Background(), toyData(1000, gamma, uint64(s), couples), cfg, nil)
				if err != nil {
					t.Error(err)
					return
				}

				all[s] = toyFigures(t, m, gamma)
			})
		}

		wg.Wait()

		if t.Failed() {
			t.FailNow()
		}

		figures := map[string][]float64{}
		for _, f := range all {
			for k, v := range f {
				figures[k] = append(figures[k], v)
			}
		}

		return figures
	}

	checkAll := func(what string, f map[string][]float64, b map[string]bar) {
		names := make([]string, 0, len(b))
		for k := range b {
			names = append(names, k)
		}

		slices.Sort(names)

		for _, k := range names {
			b[k].check(t, what+" "+k, f[k])
		}
	}

	triplets := run(1.5, 0.05, false)
	couples := run(1.5, 0.05, true)
	checkAll("triplets", triplets, bars.Triplets)
	checkAll("couples", couples, bars.Couples)

	var over []float64
	for i := range seeds {
		over = append(over, couples["C_c/s2"][i]/triplets["C_c/s2"][i])
	}

	bars.Over.check(t, "couples/triplets C_c", over)

	if !longtest.IsStudy() {
		return // fifty trainings more
	}

	checkAll("triplets, no dropout", run(1.5, 0, false), bars.P0)

	for _, c := range []struct {
		name    string
		couples bool
	}{{"triplets", false}, {"couples", true}} {
		r := mean(run(3, 0.05, c.couples)["mean|C|in"]) / mean(run(1, 0.05, c.couples)["mean|C|in"])
		bar{Each: bars.Gamma[c.name]}.check(t, fmt.Sprintf("γ 3/γ 1, %s", c.name), []float64{r})
	}
}
