package honest

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats/scalar"
)

func readJSON(t testing.TB, name string, v any) {
	t.Helper()

	b := testfile.Read(t, filepath.Join("testdata", name))

	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Witness: kriging with the covariance −|h| and a constant mean, solved by numpy
// (testdata/make.py). The prototype's values contain its jitter of 1e-9.
func TestDistanceAgainstKriging(t *testing.T) {
	var cases []struct {
		Values, At, Kriging, Prototype []float64
		Range                          float64
	}

	readJSON(t, "krig.json", &cases)

	require.GreaterOrEqual(t, len(cases), 5, "only %d cases", len(cases))

	for _, c := range cases {
		a := interval.NewAxis(c.Values, c.Range)

		lo := slices.Min(c.Values)
		hi := slices.Max(c.Values)
		for i, z := range c.At {
			d, outside := a.Distance(z)
			if !scalar.EqualWithinAbs(d-interval.MinDistance, c.Kriging[i], 1e-9) {
				t.Errorf("values %v at %g: %g, kriging %g", c.Values, z, d-interval.MinDistance, c.Kriging[i])
			}
			if !scalar.EqualWithinAbs(d-interval.MinDistance, c.Prototype[i], 2e-9) {
				t.Errorf("values %v at %g: %g, prototype %g", c.Values, z, d-interval.MinDistance, c.Prototype[i])
			}
			assert.Equal(t, (z < lo || z > hi), outside, "values %v at %g: outside", c.Values, z)
		}
	}
}

// Witness: the closed form by hand.
func TestDistanceByHand(t *testing.T) {
	a := interval.NewAxis([]float64{5, 2, 3, 3}, 0)
	for _, c := range []struct {
		z, want      float64
		outside      bool
		below, above float64
	}{
		{2, 0, false, 2, 2},
		{3, 0, false, 3, 3},
		{4, 1.0 / 3, false, 3, 5},
		{2.5, 1.0 / 6, false, 2, 3},
		{6, 2.0 / 3, true, 5, math.NaN()},
		{0.5, 1, true, math.NaN(), 2},
	} {
		d, outside := a.Distance(c.z)

		below, above := a.Bracket(c.z)
		if math.Abs(d-interval.MinDistance-c.want) > 1e-15 || outside != c.outside ||
			!scalar.Same(below, c.below) || !scalar.Same(above, c.above) {
			t.Errorf("at %g: %g %v %g %g, want %+v", c.z, d-interval.MinDistance, outside, below, above, c)
		}
	}

	var labels *interval.Axis
	if d, outside := labels.Distance(7); d != 1 || outside {
		t.Errorf("labels: %g %v", d, outside)
	}
}

func TestGroups(t *testing.T) {
	g := ByValue("u", []float64{14.1, 4.68, 4.72, 9, 4.7, 9}, 0.1)
	require.Equal(t, []string{"4.7", "9", "14.1"}, g.Names, "values: %v %v", g.Names, g.Group)
	assert.Equal(t, []int{2, 0, 0, 1, 0, 1}, g.Group, "values: %v %v", g.Names, g.Group)

	// Witness: data.blocks of the prototypes, by hand: cuts at the sorted rows 2
	// and 5 (of 8), where the value 3 is tied.
	g = ByBlock("a", []float64{7, 1, 3, 3, 3, 9, 2, 8}, 3)
	if !slices.Equal(g.Group, []int{2, 0, 1, 1, 1, 2, 0, 2}) ||
		!slices.Equal(g.Names, []string{"1 to 2", "3 to 3", "7 to 9"}) {
		t.Errorf("blocks: %v %v", g.Group, g.Names)
	}

	if g = ByBlock("a", []float64{5, 5, 5}, 4); len(g.Names) != 1 || !slices.Equal(g.Group, []int{0, 0, 0}) {
		t.Errorf("one block: %+v", g)
	}

	g = ByLabel("day", []string{"tue", "mon", "tue"})
	if !slices.Equal(g.Names, []string{"mon", "tue"}) || !slices.Equal(g.Group, []int{1, 0, 1}) ||
		g.Axis([]int{0}) != nil {
		t.Errorf("labels: %+v", g)
	}

	if g = ByValue("u", nil, 0); len(g.Names) != 0 {
		t.Errorf("no rows: %+v", g)
	}
}

// No training has a row it must not have, and one that would have none is left out.
func TestLeaveOneOut(t *testing.T) {
	const groups = 5

	var z []float64
	for i := range 23 {
		z = append(z, float64(i%groups))
	}

	g := ByValue("z", z, 0)
	some := make([]bool, len(z))
	most := make([]bool, len(z)) // across groups; all but one
	for i := range z {
		some[i], most[i] = i < 4, g.Group[i] != 2
	}

	splits := append(g.Each(), NewSplit(g, "some", some), NewSplit(g, "most", most))
	for s, sp := range splits {
		assert.Len(t, sp.Held, []int{4, 4, 4, 4, 4, groups, 0}[s], "split %s: left-out groups", sp.Name)
		assert.Equal(t, len(z), len(sp.Train)+len(sp.Test), "split %s: rows", sp.Name)

		for _, h := range sp.Held {
			for _, i := range h.Rest {
				if g.Group[i] == h.Group || slices.Contains(sp.Test, i) {
					t.Errorf("split %s without %d: training on row %d", sp.Name, h.Group, i)
				}
			}

			assert.Equal(t, len(sp.Train), len(h.Rest)+len(h.Rows), "split %s without %d: rows", sp.Name, h.Group)
		}
	}
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}

	return v
}

func named(t testing.TB, name string) scale.Prior {
	t.Helper()

	p, err := scale.Named(name)
	require.NoError(t, err)

	return p
}

// Witness: a condition measured twice, given as one value, has the mean of its pairs by
// hand; the mean of n pairs varies by σ²/2n.
func TestConditionsAreOneValue(t *testing.T) {
	l := LeftOut{
		N: 3, Mu: []float64{1, 1, 2}, Claim: []float64{.2, .4, .3}, Noise: []float64{.1, .1, .4},
		Y1: []float64{1.5, 1.25, 2}, Y2: []float64{1.75, 1, 2.5},
		Distance: []float64{.5, .5, .7}, Outside: []bool{true, true, false}, Run: []int{0, 1, 2}, Condition: []int{4, 4, 1},
	}

	near := func(got, want []float64) bool {
		return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 })
	}

	// Deviations are of 2; so are all numbers below, and variances of 4.
	g := l.group([]float64{2})
	if g.Conditions != 2 || !near(g.Residual, []float64{.375 / 2, .25 / 2}) ||
		!near(g.Noise, []float64{.1 / 2 / 4, .4 / 4}) || !near(g.Claim, []float64{.3 / 4, .3 / 4}) ||
		!near(g.Distance, []float64{.5, .7}) {
		t.Errorf("%+v", g)
	}

	// Three pairs of three repeats, of weight ½, count one and a half.
	l.Condition = []int{4, 4, 4}
	l.Weight = []float64{.5, .5, .5}
	if g = l.group([]float64{2}); g.Conditions != 1 || !near(g.Noise, []float64{(.1 + .1 + .4) / 3 / 1.5 / 4}) {
		t.Errorf("with weights %+v", g)
	}

	// Without numbers of conditions every row is one.
	l.Condition = nil
	l.Weight = nil
	if g = l.group([]float64{2}); g.Conditions != 3 || !near(g.Noise, []float64{.1 / 4, .1 / 4, .4 / 4}) {
		t.Errorf("rows %+v", g)
	}
}

// The law of the noise is learned from the pairs: ½(y1 − y2)² over the σ² that the model
// states. Witness: that ratio, which the noise is drawn with.
func TestPairNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))

	var left []LeftOut
	for range 4 {
		l := oneGroup(rng, 500, 1, 1.69, 0.5)
		l.Noise[0] = 0 // states nothing
		left = append(left, l)
	}

	if n := pairNoise(left); math.Abs(n.Scale/1.69-1) > 0.1 || n.Freedom < 50 {
		t.Errorf("%+v", n)
	}

	assert.Equal(t, scale.Exact, pairNoise(nil), "without groups")
}

// Half of the simulated conditions were measured on three days, half on one alone: these are one value each, and show
// neither noise nor error. Witness: σ, which the noise is drawn with, and the mean that is judged, which is the truth.
func TestRowsAlone(t *testing.T) {
	const conditions, sigma = 1200, 0.3
	rng := rand.New(rand.NewPCG(51, 3))

	var x, y, mu []float64
	var repeats, day []string
	for c := range conditions {
		for d := range 1 + 2*(c%2) {
			at := float64(c) / conditions
			x = append(x, at)
			mu = append(mu, math.Sin(6*at))
			y = append(y, math.Sin(6*at)+sigma*rng.NormFloat64())
			repeats = append(repeats, strconv.Itoa(c))
			day = append(day, strconv.Itoa(d))
		}
	}

	s := triplets.New(make([]triplets.Quantity, 1), make([]triplets.Quantity, 1), x, y, slices.Clone(y))
	s.SetRuns(repeats)
	s.PairAcross(repeats, day)
	s.Weight = slices.Repeat([]float64{0.5}, s.N)
	near := func(what string, got, want, by float64) {
		assert.InDelta(t, want, got, by, "%s is %g, expected %g within %g", what, got, want, by)
	}

	l := Learner{Settings: DefaultSettings(), Condition: "x"}
	l.Blocks = 8
	l.Form = "conditions"
	g := l.Grouping(x)
	groups := leaveOneOut(s, g, make([]bool, s.N))
	m, base, err := l.newProcessRows(s, g, groups.train).fit(context.Background())
	require.NoError(t, err)

	left, _, err := leaveOut(context.Background(), groups, m, base)
	require.NoError(t, err)

	near("the noise", math.Sqrt(left[3].Noise[5]), sigma, sigma/10)
	near("by how much pairs differ from it", pairNoise(left).Scale, 1, 0.1)

	truth := score.Set{Set: s, Answers: triplets.Answers{Mu: mu}}
	sum := score.Summarise(truth)
	total := slices.Repeat([]float64{sigma * sigma}, s.N)
	near("e", sum.Get("e"), 0, sigma*sigma/10)
	near("the rest of the ceiling", (1-sum.Get("noise_ceiling"))*variance(y), sigma*sigma, sigma*sigma/10)
	near("the error", score.TrustOf(truth, total, nil, nil, []int{0}, nil).RMSE, 0, sigma/4)
	near("e of methods", score.Judge(truth, total, nil).Get("e"), 0, sigma*sigma/10)
}

// variance returns the variance of the values about their mean.
func variance(v []float64) float64 {
	_, std := spread(triplets.Set{N: len(v), Out: 1, Y1: v, Y2: v}, lists.Numbers(len(v)), nil)
	return std[0] * std[0]
}

// oneGroup is a left-out group of n pairs with squared error about v, stated noise 1 and
// claim 1.
func oneGroup(rng *rand.Rand, n int, v, noise, distance float64) LeftOut {
	l := LeftOut{Name: "a", N: n, Mu: make([]float64, n), Claim: ones(n), Noise: ones(n)}
	l.Outside = make([]bool, n)
	l.Run = make([]int, n)
	for i := range n {
		off := math.Sqrt(v) * rng.NormFloat64()
		l.Mu[i] = 3
		l.Y1 = append(l.Y1, 3+off+math.Sqrt(noise)*rng.NormFloat64())
		l.Y2 = append(l.Y2, 3+off+math.Sqrt(noise)*rng.NormFloat64())
		l.Distance = append(l.Distance, distance)
		l.Run[i] = i
	}

	return l
}

func TestCalibrateRefuses(t *testing.T) {
	d, g := curve()
	flat := d
	flat.Y1, flat.Y2 = ones(d.N), ones(d.N)
	good := oneGroup(rand.New(rand.NewPCG(2, 1)), 5, 1, 1, 1)
	bad := good
	wide := named(t, "wide")
	bad.Mu = []float64{1, 2, math.NaN(), 4, 5}
	for _, c := range []struct {
		d     triplets.Set
		left  LeftOut
		o     Options
		words string
	}{
		{d, good, Options{}, "expected a name, an origin and positive deviations"},
		{d, good, Options{Prior: wide, Level: 1}, "a level between 0 and 1, found 1"},
		{d, good, Options{Prior: wide, Level: math.NaN()}, "a level between 0 and 1, found NaN"},
		{flat, good, Options{Prior: wide}, "outcome column 0: expected a positive deviation"},
		{d, bad, Options{Prior: wide}, "a prediction for z a is not finite"},
	} {
		_, err := Calibrate(c.d, g, lists.Numbers(d.N), []LeftOut{c.left, c.left}, c.o)
		if c.words == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.words)
		}
	}
}

// campaign simulates K+1 groups at z = 1, 2, … whose squared error is β·d with
// four independent smooth components a group and outcome, and whose claims say nothing. It
// returns the left-out groups and the held-out one.
func campaign(rng *rand.Rand, k int) (left []LeftOut, test LeftOut) {
	const beta, n, out, noise, components = 0.3, 12, 3, 0.05, 4
	held := rng.IntN(k + 1)
	group := func(i int, axis *interval.Axis) LeftOut {
		d, outside := axis.Distance(float64(i + 1))
		l := LeftOut{N: n, Run: make([]int, n)}

		c := make([]float64, components*out)
		for a := range c {
			c[a] = rng.NormFloat64()
		}

		for r := range n {
			l.Distance = append(l.Distance, d)
			l.Outside = append(l.Outside, outside)

			phase := float64(r) / (n - 1)
			for j := range out {
				e := c[j]
				for q := 1; q < components; q++ {
					e += math.Sqrt2 * math.Cos(math.Pi*float64(q)*phase) * c[q*out+j]
				}

				e *= math.Sqrt(beta * d / components)
				l.Mu = append(l.Mu, 0)
				l.Noise = append(l.Noise, noise)
				l.Claim = append(l.Claim, 0.1*math.Exp(rng.NormFloat64()))
				l.Y1 = append(l.Y1, e+math.Sqrt(noise)*rng.NormFloat64())
				l.Y2 = append(l.Y2, e+math.Sqrt(noise)*rng.NormFloat64())
			}
		}

		return l
	}

	axisWithout := func(a, b int) *interval.Axis {
		var z []float64
		for i := range k + 1 {
			if i != a && i != b {
				z = append(z, float64(i+1))
			}
		}

		return interval.NewAxis(z, float64(k))
	}

	for h := range k + 1 {
		if h != held {
			left = append(left, group(h, axisWithout(held, h)))
		}
	}

	return left, group(held, axisWithout(held, held))
}

// If errors grow with the distance and claims tell nothing about them, the evidence prefers the distance, the intervals
// cover about the share that their level states, and the interval of 68 % is about as wide as β·d makes it. Witness:
// the simulation.
func TestRecovery(t *testing.T) {
	repeats := 12
	low := 0.9
	high := 1.0
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		repeats = 150
		low = 0.94
		high = 0.995
	}

	for _, k := range []int{3, 8} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))

		var distance, claim, covered, ratio float64
		for range repeats {
			left, test := campaign(rng, k)

			var groups []scale.Group
			for _, l := range left {
				groups = append(groups, l.group(ones(3)))
			}

			s, _ := scale.Learn(groups, 3, named(t, "wide"), scale.Exact)
			for i := range s.Evidence[0] {
				distance += s.Evidence[scale.Distance][i] / float64(repeats)
				claim += s.Evidence[scale.Claim][i] / float64(repeats)
			}

			var m scale.Mixture
			p := s.Predictor()
			for i, y := range test.Y1 {
				d := test.Distance[i/3]
				p.At(&m, test.Claim[i], d, test.Noise[i])
				ratio += m.Half(0.68) / math.Sqrt(0.3*d+test.Noise[i]) / float64(repeats*len(test.Y1))

				if math.Abs(y) < m.Half(0.95) {
					covered += 1 / float64(repeats*len(test.Y1))
				}
			}
		}

		t.Logf("K = %d: coverage %.3f, evidence for d %.2f, for v̂ %.2f, width at .68 over that of β·d %.2f",
			k, covered, distance, claim, ratio)

		require.GreaterOrEqual(t, covered, low, "K = %d: coverage %.3f", k, covered)
		assert.LessOrEqual(t, covered, high, "K = %d: coverage %.3f", k, covered)
		require.GreaterOrEqual(t, distance, claim,
			"K = %d: evidence for d %.2f, for v̂ %.2f, width over that of β·d %.2f", k, distance, claim, ratio)
		require.GreaterOrEqual(t, ratio, 0.8,
			"K = %d: evidence for d %.2f, for v̂ %.2f, width over that of β·d %.2f", k, distance, claim, ratio)
		assert.LessOrEqual(t, ratio, 1.4,
			"K = %d: evidence for d %.2f, for v̂ %.2f, width over that of β·d %.2f", k, distance, claim, ratio)
	}
}

// The largest left-out deviation covers a new group's value with a probability of about K/(K+1) if the base saw none of
// the groups, for a normal law and for a law with heavy tails. Witness: draws from the law. K/(K+1) is not a bound,
// because the errors of models that were trained without one group are correlated. The base here is the mean of the
// groups.
func TestLargestDeviationCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 19))
	const repeats = 5000

	heavy := func() float64 { return rng.NormFloat64() / math.Abs(rng.NormFloat64()) }
	for _, law := range []struct {
		name string
		draw func() float64
	}{{"normal", rng.NormFloat64}, {"heavy tails", heavy}} {
		name := law.name
		draw := law.draw
		for _, k := range []int{3, 7, 19} {
			covered := 0.0
			for range repeats {
				y := make([]float64, k+1)
				sum := 0.0
				for i := range y {
					y[i] = draw()
					sum += y[i]
				}

				sum -= y[k] // the new group enters nowhere

				var left []LeftOut
				for _, v := range y[:k] {
					left = append(left, LeftOut{N: 1, Mu: []float64{(sum - v) / float64(k-1)}, Y1: []float64{v}, Y2: []float64{v}})
				}

				c := conformal(left, 1)
				if math.Abs(y[k]-sum/float64(k)) <= c.Half[0] {
					covered += 1.0 / repeats
				}

				require.Equal(t, float64(k)/float64(k+1), c.Guarantee, "K = %d: guarantee", k)
			}

			want := float64(k) / float64(k+1)
			t.Logf("%s, K = %d: covers %.4f, expected about %.4f", name, k, covered, want)

			if math.Abs(covered-want) > 0.2*(1-want) {
				t.Errorf("%s, K = %d: covers %.4f, expected about %.4f", name, k, covered, want)
			}
		}
	}
}

// line is a base for tests: least squares of one input on standardised outcomes.
type line struct{ a, b, v float64 }

func (l line) Predict(_ context.Context, x []float64) (triplets.Prediction, error) {
	var p triplets.Prediction
	for _, z := range x {
		p.Mu = append(p.Mu, l.a+l.b*z)
		p.Claim = append(p.Claim, l.v)
		p.Noise = append(p.Noise, 0.04)
	}

	return p, nil
}

func lineFit(d triplets.Set) FitFunc {
	return func(_ context.Context, rows []int) (Predictor, error) {
		var sx, sy, sxx, sxy, n float64
		for _, i := range rows {
			y := (d.Y1[i] + d.Y2[i]) / 2
			sx += d.X[i]
			sy += y
			sxx += d.X[i] * d.X[i]
			sxy += d.X[i] * y
			n++
		}

		b := (n*sxy - sx*sy) / (n*sxx - sx*sx)

		return line{a: (sy - b*sx) / n, b: b, v: 5 / n}, nil
	}
}

// curve is a campaign on which a line is wrong: y = z² / 10, six groups.
func curve() (triplets.Set, Grouping) {
	rng := rand.New(rand.NewPCG(8, 1))

	d := triplets.Set{N: 60, In: 1, Out: 1}
	for i := range d.N {
		z := float64(i / 10)
		d.X = append(d.X, z)
		d.Y1 = append(d.Y1, z*z/10+0.2*rng.NormFloat64())
		d.Y2 = append(d.Y2, z*z/10+0.2*rng.NormFloat64())
		d.Run = append(d.Run, i/2)
	}

	return d, ByValue("z", d.X, 0)
}

func calibrate(t testing.TB, d triplets.Set, g Grouping, o Options) (
	cs []*interval.Calibration, ps []*interval.Prediction,
) {
	t.Helper()

	for _, sp := range g.Each() {
		full, left := sp.Fit(t, d, g, lineFit(d))
		c, err := Calibrate(d, g, sp.Train, left, o)
		require.NoError(t, err)

		x := lists.Rows(d.X, 1, sp.Test)
		p, err := full.Predict(t.Context(), x)
		require.NoError(t, err)

		cs = append(cs, c)
		ps = append(ps, c.Predict(x, x, nil, p))
	}

	return cs, ps
}

// Nothing leaks: a test group's outcomes enter neither the scale nor μ nor v̂. They are
// set to 1e6, and everything stays the same bit for bit.
func TestTestGroupEntersNowhere(t *testing.T) {
	d, g := curve()

	for _, prior := range []string{"wide", "library", "networks"}[:longtest.Count(1, 3)] {
		o := Options{Prior: named(t, prior)}
		cs, ps := calibrate(t, d, g, o)
		for _, s := range []int{0, 3} { // at an edge, and between others
			bad := d
			bad.Y1 = slices.Clone(d.Y1)
			bad.Y2 = slices.Clone(d.Y2)
			for i, h := range g.Group {
				if h == s {
					bad.Y1[i] = 1e6
					bad.Y2[i] = 1e6
				}
			}

			cs2, ps2 := calibrate(t, bad, g, o)
			if !reflect.DeepEqual(cs[s], cs2[s]) {
				t.Errorf("%s, group %s: the calibration changed", prior, g.Names[s])
			}

			a := ps[s]
			b := ps2[s]
			if !slices.Equal(a.Mu, b.Mu) || !slices.Equal(a.Epistemic, b.Epistemic) || !slices.Equal(a.Total, b.Total) ||
				!slices.Equal(a.Half, b.Half) || !slices.Equal(a.Half68, b.Half68) {
				t.Errorf("%s, group %s: the prediction changed", prior, g.Names[s])
			}

			if other := (s + 1) % len(g.Names); reflect.DeepEqual(cs[other], cs2[other]) {
				t.Errorf("%s, group %s: a training group does not enter", prior, g.Names[s])
			}
		}
	}
}

// quantile is the half width at a level by the components of a scale, without package
// scale's own search.
func quantile(s *scale.Scale, level, claim, distance, noise float64) float64 {
	q := [3]float64{claim, math.Sqrt(claim * s.Ratio * distance), s.Ratio * distance}
	parts := s.Predictor().Components()

	low := 0.0
	high := 100.0
	for range 50 {
		h := (low + high) / 2
		above := 0.0
		for _, part := range parts {
			above += part.Weight * math.Erfc(h/math.Sqrt(2*(part.Lambda*q[part.Shape]+part.Kappa*noise))) / 2
		}

		if above > (1-level)/2 {
			low = h
		} else {
			high = h
		}
	}

	return low
}

// The line is wrong between and beyond the groups; what they taught makes the intervals
// hold. Widths, scores and ratios are recomputed here from their definitions; laws of nearly
// equal variances are merged there, which moves a width by 1e-4 at most.
func TestJudge(t *testing.T) {
	d, g := curve()
	cs, ps := calibrate(t, d, g, Options{Prior: named(t, "wide")})

	mean := 0.0
	for s, c := range cs {
		var y1, y2, noise []float64

		var run []int
		for i, h := range g.Group {
			if h == s {
				y1 = append(y1, d.Y1[i])
				y2 = append(y2, d.Y2[i])
				run = append(run, d.Run[i])
				noise = append(noise, 0.04)
			}
		}

		r := c.Judge(ps[s], noise, y1, y2, run)
		mean += r.After.Coverage / float64(len(cs))
		var e, v, claims, width, before, score, covered float64
		var at [4]float64

		const n = 20

		// The rows of a group have one speed, claim and noise, hence one interval.
		var halves [4]float64

		std := c.Deviation[0]
		for l, level := range interval.Levels {
			halves[l] = std * quantile(c.Scale, level, ps[s].Claim[0]/(std*std), ps[s].Where[0].Distance, 0.04/(std*std))
		}

		half := halves[2]
		for i, mu := range ps[s].Mu {
			e += (y1[i] - mu) * (y2[i] - mu)
			v += ps[s].Epistemic[i]
			claims += ps[s].Claim[i]

			width += 2 * half / std / 10
			before += 2 * 1.959963984540054 * math.Sqrt(ps[s].Claim[i]+0.04) / std / 10

			for _, y := range []float64{y1[i], y2[i]} {
				miss := math.Abs(y - mu)
				score += 2 * half / std / n
				if miss > half {
					score += 40 * (miss - half) / std / n
				} else {
					covered += 1.0 / n
				}

				for l, half := range halves {
					if miss <= half {
						at[l] += 1.0 / n
					}
				}
			}
		}

		for name, p := range map[string][2]float64{
			"ratio before": {r.RatioBefore, e / claims}, "ratio after": {r.RatioAfter, e / v},
			"epistemic": {r.Epistemic, v / 10 / std / std}, "coverage": {r.After.Coverage, covered},
			"width": {r.After.Width, width}, "width before": {r.Before.Width, before}, "score": {r.After.Score, score},
			"model-free width": {r.ModelFree.Width, 3.919927969080108},
			"over spread":      {r.WidthOverSpread, width / 3.919927969080108},
			"e":                {r.E, e / 10 / std / std},
			"at .68":           {r.At[0], at[0]}, "at .90": {r.At[1], at[1]},
			"at .95": {r.At[2], at[2]}, "at .98": {r.At[3], at[3]},
		} {
			assert.InDelta(t, p[1], p[0], 1e-4*(1+math.Abs(p[1])), "group %s: %s", g.Names[s], name)
		}

		require.False(t, math.IsNaN(r.RatioSE), "group %s: S %v ± %v, CRPS %v", g.Names[s], r.RatioAfter, r.RatioSE, r.CRPS)
		require.Greater(t, r.CRPS, 0.0, "group %s: S %v ± %v, CRPS %v", g.Names[s], r.RatioAfter, r.RatioSE, r.CRPS)
		assert.LessOrEqual(t, r.CRPS, r.After.Width,
			"group %s: S %v ± %v, CRPS %v", g.Names[s], r.RatioAfter, r.RatioSE, r.CRPS)
		if c.K != 5 || c.Conformal.Guarantee != 5.0/6 || math.Abs(c.NoiseRatio-1) > 0.5 || c.Level != 0.95 {
			t.Errorf("group %s: K %d, guarantee %g, noise ratio %g, level %g", g.Names[s], c.K, c.Conformal.Guarantee,
				c.NoiseRatio, c.Level)
		}
	}

	assert.GreaterOrEqual(t, mean, 0.9, "mean coverage %.3f", mean)
}

// The results of a left-out group are recomputed from its pairs: its squared error, its claim, and the share of its
// values inside the intervals that the other groups give. The noise and the factor between v̂ and d are taken from all
// groups, because they do not measure the group's own error.
func TestGroupResults(t *testing.T) {
	d, g := curve()
	sp := g.Each()[2]
	_, left := sp.Fit(t, d, g, lineFit(d))
	c, err := Calibrate(d, g, sp.Train, left, Options{Prior: named(t, "wide")})
	require.NoError(t, err)

	std := c.Deviation[0]
	var groups []scale.Group
	for _, l := range left {
		groups = append(groups, l.group(c.Deviation))
	}

	_, without := scale.Learn(groups, 1, named(t, "wide"), c.Scale.Noise)
	for h, r := range c.Groups {
		l := left[h]

		var e, half, inside, variance, pairs float64
		for i, mu := range l.Mu {
			a := (l.Y1[i] - mu) / std
			b := (l.Y2[i] - mu) / std
			e += a * b / 10
			pairs += (a - b) * (a - b) / 2 / 10

			var m scale.Mixture
			without[h].Predictor().At(&m, l.Claim[i]/(std*std), l.Distance[i], 0.04/(std*std))
			half += m.Half(0.95) / 10
			variance += m.Epistemic() / 10

			for _, v := range []float64{a, b} {
				if math.Abs(v) <= m.Half(0.95) {
					inside += 0.05
				}
			}
		}

		for name, v := range map[string][2]float64{
			"e": {r.E, e}, "e by outcome": {r.EBy[0], e}, "half width": {r.Half, half}, "inside": {r.Inside, inside},
			"variance": {r.Variance, variance}, "pairs": {r.Pairs, pairs}, "noise": {r.Noise, 0.04 / std / std},
			"claim": {r.Claim, l.Claim[0] / std / std},
		} {
			assert.InDelta(t, v[1], v[0], 1e-9*(1+math.Abs(v[1])), "group %s: %s", r.Name, name)
		}

		assert.Equal(t, 10, r.Rows, "rows of group %s", r.Name)
		assert.Equal(t, 5, r.Runs, "runs of group %s", r.Name)
		assert.Equal(t, 10, r.Conditions, "conditions of group %s", r.Name)
		assert.Positive(t, r.StandardError(), "standard error of the squared error of group %s", r.Name)
		assert.Equal(t, 4, without[h].K, "groups without group %s", r.Name)
	}

	assert.GreaterOrEqual(t, c.LeftOutInside(), 3, "left-out groups of five that are inside")
}

// The same bytes a second time, and after storing and reading.
func TestStored(t *testing.T) {
	d, g := curve()

	other := Options{
		Prior: named(t, "library"), Base: "line", InputNames: []string{"z"}, FromGroup: []bool{true}, Level: 0.8,
	}
	for _, o := range []Options{{Prior: named(t, "wide")}, other} {
		cs, ps := calibrate(t, d, g, o)

		cs2, _ := calibrate(t, d, g, o)
		for s, c := range cs {
			a, err := json.Marshal(c)
			require.NoError(t, err)

			b, err := json.Marshal(cs2[s])
			require.NoError(t, err)
			if !bytes.Equal(a, b) {
				t.Errorf("group %s: a second time gives other bytes", g.Names[s])
			}

			var back interval.Calibration
			require.NoError(t, json.Unmarshal(a, &back))

			p := ps[s]

			x := make([]float64, p.N)
			noise := make([]float64, p.N)
			for i := range x {
				x[i] = float64(s)
				noise[i] = 0.04
			}

			q := back.Predict(x, x, nil, triplets.Prediction{Mu: p.Mu, Claim: p.Claim, Noise: noise})
			if !slices.Equal(q.Half, p.Half) || !slices.Equal(q.Half68, p.Half68) || !slices.Equal(q.Epistemic, p.Epistemic) {
				t.Errorf("group %s: the stored calibration predicts something else", g.Names[s])
			}
		}
	}
}

// The same data with fewer and fewer left-out groups: without any or with one, the intervals follow from the prior;
// with two they have the level 0.98, with three the level that is asked for.
func TestFewGroups(t *testing.T) {
	d, g := curve()
	_, left := NewSplit(g, "none", make([]bool, d.N)).Fit(t, d, g, lineFit(d))
	wide := named(t, "wide")
	for k, c := range []struct {
		level   float64
		learned string
	}{
		{0.95, "learned elsewhere, not checked here: no group could be left out"},
		{0.95, "learned elsewhere, not checked here: one group of z alone could be left out"},
		{0.98, "learned elsewhere, checked on two groups of z, and therefore taken at the level of 98 %"},
		{0.95, "checked on 3 groups of z left out"},
	} {
		got, err := Calibrate(d, g, lists.Numbers(d.N), left[:k], Options{Prior: wide})
		require.NoError(t, err)

		if got.K != k || len(got.Groups) != k || got.Level != c.level || got.Asked != 0.95 || got.Learned() != c.learned {
			t.Errorf("K = %d: %d groups, level %g, %q", k, got.K, got.Level, got.Learned())
		}

		// Where nothing is learned of the scale, the claim alone makes the interval: of the
		// distance nothing is known.
		x := []float64{2.5, 7}
		prior, _ := scale.Learn(nil, 1, wide, got.Scale.Noise)
		raw := triplets.Prediction{Mu: ones(2), Claim: []float64{0.3, 0.3}, Noise: []float64{0.04, 0.04}}
		half := got.Predict(x, x, nil, raw).Half
		std := got.Deviation[0]
		want := std * quantile(prior, c.level, 0.3/(std*std), 1, 0.04/(std*std))

		t.Logf("K = %d: ± %.3f and ± %.3f, prior alone ± %.3f", k, half[0], half[1], want)

		same := math.Abs(half[0]/want-1) < 1e-4 && half[1] == half[0]
		require.Equal(t, (k < scale.MinGroups), same,
			"K = %d: half widths %g and %g, of the prior alone %g", k, half[0], half[1], want)
		assert.Equal(t, same, reflect.DeepEqual(prior.Weights, got.Scale.Weights),
			"K = %d: half widths %g and %g, of the prior alone %g", k, half[0], half[1], want)

		// One of two groups is judged by the prior alone.
		for _, r := range got.Groups {
			if !(r.Half > 0) || r.Inside < 0.5 {
				t.Errorf("K = %d: %+v", k, r)
			}
		}
	}

	c, err := Calibrate(d, g, lists.Numbers(d.N), left[:2], Options{Prior: wide, Level: 0.99})
	require.NoError(t, err)
	assert.Equal(t, 0.99, c.Level, "level %g of two groups, 0.99 asked for, %v", c.Level, err)
}

func TestNotCalibratedInThisDirection(t *testing.T) {
	d, g := curve()
	wide := triplets.Set{N: d.N, In: 2, Out: 1, Y1: d.Y1, Y2: d.Y2, Run: d.Run}
	for i, z := range d.X {
		wide.X = append(wide.X, z, float64(i%3))
	}

	sp := g.Each()[0]
	_, left := sp.Fit(t, wide, g, func(context.Context, []int) (Predictor, error) { return wideLine{}, nil })
	o := Options{Prior: named(t, "wide"), InputNames: []string{"z", "pitch"}, FromGroup: []bool{true, false}}
	c, err := Calibrate(wide, g, sp.Train, left, o)
	require.NoError(t, err)

	// Of groups at 1, 2, … 5 the farthest from the others are 1 and 5: 0 is as far outside, −0.1 is farther.
	x := []float64{-0.1, 1, 2.5, 2, 3, 7, 0, 1}
	q := c.Predict(x, []float64{-0.1, 2.5, 3, 0}, nil, triplets.Prediction{Mu: ones(4), Claim: ones(4), Noise: ones(4)})
	for i, want := range []string{
		"z -0.1 is outside 1 to 5, farther than any left-out group", "",
		"not calibrated in this direction: pitch 7 is outside 0 to 2, and no left-out group tests that", "",
	} {
		assert.Equal(t, want, strings.Join(c.Uncovered(x[2*i:2*i+2], q.Where[i]), "; "), "query %d", i)
	}

	if w := q.Where[1]; w.Below != 2 || w.Above != 3 || w.Outside {
		t.Errorf("%+v", w)
	}
}

type wideLine struct{}

func (wideLine) Predict(_ context.Context, x []float64) (triplets.Prediction, error) {
	var p triplets.Prediction
	for i := 0; i < len(x); i += 2 {
		p.Mu = append(p.Mu, x[i]/2-0.5)
		p.Claim = append(p.Claim, 0.01)
		p.Noise = append(p.Noise, 0.04)
	}

	return p, nil
}

func TestVaryingInputs(t *testing.T) {
	x := []float64{1, 5, 2, 1, 5, 3, 2, 5, 2}
	assert.Equal(t, []int{0, 2}, VaryingInputs(x, 3, []int{0, 1, 2}))
	assert.Equal(t, []int{2}, VaryingInputs(x, 3, []int{0, 1}))
}

// Labels have no coordinate: the distance of a query, like the distance of every left-out group, is 1. If v̂ is the
// same everywhere, here 5/n, all shapes are then proportional to v̂. The largest left-out deviation is recomputed.
func TestLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	d := triplets.Set{N: 40, In: 1, Out: 1}

	var day []string
	for i := range d.N {
		h := i / 10
		day = append(day, string(rune('a'+h)))
		d.X = append(d.X, float64(i%10))
		y := float64(i%10)/3 + 0.6*float64(h%2)
		d.Y1 = append(d.Y1, y+0.1*rng.NormFloat64())
		d.Y2 = append(d.Y2, y+0.1*rng.NormFloat64())
	}

	g := ByLabel("day", day)
	_, left := NewSplit(g, "all", make([]bool, d.N)).Fit(t, d, g, lineFit(d))
	c, err := Calibrate(d, g, lists.Numbers(d.N), left, Options{Prior: named(t, "wide"), SawGroups: true})
	require.NoError(t, err)

	_, std := spread(d, lists.Numbers(d.N), nil)

	largest := 0.0
	for _, l := range left {
		for i, mu := range l.Mu {
			largest = max(largest, math.Abs(l.Y1[i]-mu), math.Abs(l.Y2[i]-mu))
		}
	}

	if c.Axis != nil || c.Groups[0].Distance != 1 || c.Deviation[0] != std[0] ||
		c.Conformal.Half[0] != largest || c.Conformal.Guarantee != 0 {
		t.Errorf("%+v", c)
	}

	claim := left[0].Claim[0] / (std[0] * std[0])
	assert.InDelta(t, 1, c.Scale.Ratio/claim, 1e-12, "f = %g, v̂ is %g everywhere", c.Scale.Ratio, claim)

	b, err := json.Marshal(c)
	require.NoError(t, err)

	var back interval.Calibration
	require.NoError(t, json.Unmarshal(b, &back))

	same := []float64{left[0].Claim[0], left[0].Claim[0]}
	q := back.Predict([]float64{3, 30}, nil, nil, triplets.Prediction{Mu: ones(2), Claim: same, Noise: ones(2)})
	if q.Half[0] != q.Half[1] || q.Where[0].Distance != 1 || back.Uncovered([]float64{3}, q.Where[0]) != nil ||
		!slices.Equal(q.Where[1].Uncalibrated, []int{0}) {
		t.Errorf("%+v", q)
	}

	epistemic := 0.0
	for _, part := range back.Scale.Predictor().Components() {
		epistemic += part.Weight * part.Lambda * left[0].Claim[0]
	}

	assert.InDelta(t, 1, q.Epistemic[0]/epistemic, 1e-9,
		"variance of the mean %g, mean λ times v̂ %g", q.Epistemic[0], epistemic)
}

// A base that predicts all training rows at once gives the same left-out groups.
func TestLeaveOutRows(t *testing.T) {
	d, g := curve()
	sp := g.Each()[2]
	_, left := sp.Fit(t, d, g, lineFit(d))
	rows := sp.Train
	p := triplets.NewPrediction(len(rows))
	for h, l := range sp.Held {
		for k, i := range l.Rows {
			place, _ := slices.BinarySearch(rows, i)
			p.Mu[place] = left[h].Mu[k]
			p.Claim[place] = left[h].Claim[k]
			p.Noise[place] = left[h].Noise[k]
		}
	}

	assert.Equal(t, left, LeaveOutRows(d, g, rows, sp.Held, p))

	// Conditions and weights are taken from the set.
	d.Condition, d.Weight = lists.Numbers(d.N), ones(d.N)
	d.Weight[20] = 0.5

	for h, l := range LeaveOutRows(d, g, rows, sp.Held, p) {
		if rows := sp.Held[h].Rows; !slices.Equal(l.Condition, rows) ||
			!slices.Equal(l.Weight, lists.Rows(d.Weight, 1, rows)) {
			t.Errorf("group %d: conditions %v, weights %v", h, l.Condition, l.Weight)
		}
	}
}
