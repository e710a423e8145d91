package honest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/lists"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Compared with: kriging with the covariance −|h| and a constant mean, solved by numpy (testdata/make.py), and the
// prototype, whose values contain its jitter of 1e-9.
func TestDistanceAgainstKriging(t *testing.T) {
	var cases []struct {
		Values, At, Kriging, Prototype []float64
		Range                          float64
	}

	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/krig.json"), &cases))
	require.GreaterOrEqual(t, len(cases), 5, "cases")

	for _, c := range cases {
		a := interval.NewAxis(c.Values, c.Range)
		for i, z := range c.At {
			d, outside := a.Distance(z)
			assert.InDelta(t, c.Kriging[i], d-interval.MinDistance, 1e-9, "values %v at %g, by kriging", c.Values, z)
			assert.InDelta(t, c.Prototype[i], d-interval.MinDistance, 2e-9, "values %v at %g, by the prototype", c.Values, z)
			isBeyond := z < slices.Min(c.Values) || z > slices.Max(c.Values)
			assert.Equal(t, isBeyond, outside, "values %v at %g: outside", c.Values, z)
		}
	}
}

// Expected by hand: distances by the closed form, and the measured values next to z, if there are any.
func TestDistanceByHand(t *testing.T) {
	a := interval.NewAxis([]float64{5, 2, 3, 3}, 0)
	for _, c := range []struct {
		z, distance  float64
		outside      bool
		below, above float64 // NaN: there is none
	}{
		{2, 0, false, 2, 2},
		{3, 0, false, 3, 3},
		{4, 1.0 / 3, false, 3, 5},
		{2.5, 1.0 / 6, false, 2, 3},
		{6, 2.0 / 3, true, 5, math.NaN()},
		{0.5, 1, true, math.NaN(), 2},
	} {
		d, outside := a.Distance(c.z)
		assert.InDelta(t, c.distance, d-interval.MinDistance, 1e-15, "distance of %g", c.z)
		assert.Equal(t, c.outside, outside, "whether %g is outside", c.z)

		below, above := a.Bracket(c.z)
		assert.Equal(t, fmt.Sprint(c.below, c.above), fmt.Sprint(below, above), "values next to %g", c.z)
	}
}

// Expected: a label has the distance 1, and is not outside.
func TestDistanceOfLabels(t *testing.T) {
	var labels *interval.Axis
	d, outside := labels.Distance(7)
	assert.Equal(t, 1., d)
	assert.False(t, outside)
}

// Expected by hand: values within the tolerance are one group, which has the name of their middle.
func TestByValue(t *testing.T) {
	g := ByValue("u", []float64{14.1, 4.68, 4.72, 9, 4.7, 9}, 0.1)
	assert.Equal(t, []string{"4.7", "9", "14.1"}, g.Names)
	assert.Equal(t, []int{2, 0, 0, 1, 0, 1}, g.Group)
	assert.Empty(t, ByValue("u", nil, 0).Names, "groups without rows")
}

// Expected by hand: three blocks of eight values are cut at the sorted rows 2 and 5. Row 5 has the value 3, as rows 2
// to 4 have, so that the cut moves to the next value.
func TestByBlock(t *testing.T) {
	g := ByBlock("a", []float64{7, 1, 3, 3, 3, 9, 2, 8}, 3)
	assert.Equal(t, []int{2, 0, 1, 1, 1, 2, 0, 2}, g.Group)
	assert.Equal(t, []string{"1 to 2", "3 to 3", "7 to 9"}, g.Names)

	same := ByBlock("a", []float64{5, 5, 5}, 4)
	assert.Equal(t, []int{0, 0, 0}, same.Group, "one value")
	assert.Len(t, same.Names, 1, "one value")
}

// Expected: labels in alphabetical order, without coordinates.
func TestByLabel(t *testing.T) {
	g := ByLabel("day", []string{"tue", "mon", "tue"})
	assert.Equal(t, []string{"mon", "tue"}, g.Names)
	assert.Equal(t, []int{1, 0, 1}, g.Group)
	assert.Nil(t, g.Axis([]int{0}))
}

// Expected: a training without a group has neither rows of the group nor of the test part, and a group is not left
// out if no row would remain.
func TestLeaveOneOut(t *testing.T) {
	const groups = 5

	var z []float64
	for i := range 23 {
		z = append(z, float64(i%groups))
	}

	g := ByValue("z", z, 0)
	some := make([]bool, len(z)) // the test part has rows of several groups
	most := make([]bool, len(z)) // the test part has all groups but one
	for i := range z {
		some[i] = i < 4
		most[i] = g.Group[i] != 2
	}

	heldGroups := map[string]int{"some": groups, "most": 0} // by split; 4 in the others, which hold out a group
	for _, s := range append(g.Each(), NewSplit(g, "some", some), NewSplit(g, "most", most)) {
		want, known := heldGroups[s.Name]
		if !known {
			want = groups - 1
		}

		assert.Len(t, s.Held, want, "left-out groups of split %s", s.Name)
		assert.Equal(t, len(z), len(s.Train)+len(s.Test), "rows of split %s", s.Name)
		for _, h := range s.Held {
			for _, i := range h.Rest {
				assert.NotEqual(t, h.Group, g.Group[i], "group of row %d, which split %s trains on", i, s.Name)
				assert.NotContains(t, s.Test, i, "row %d, which split %s trains on", i, s.Name)
			}

			assert.Equal(t, len(s.Train), len(h.Rest)+len(h.Rows), "rows of split %s without group %d", s.Name, h.Group)
		}
	}
}

// ones returns n ones.
func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// named returns a built-in prior of the scale.
func named(t testing.TB, name string) scale.Prior {
	t.Helper()

	p, err := scale.Named(name)
	require.NoError(t, err)

	return p
}

// Expected by hand: a condition with two rows is one value, the mean of its pairs. The variance of the mean of n
// pairs is σ²/2n. Numbers are in units of the deviation 2, variances in units of 4.
func TestConditionsAreOneValue(t *testing.T) {
	l := LeftOut{
		N: 3, Mu: []float64{1, 1, 2}, Claim: []float64{.2, .4, .3}, Noise: []float64{.1, .1, .4},
		Y1: []float64{1.5, 1.25, 2}, Y2: []float64{1.75, 1, 2.5},
		Distance: []float64{.5, .5, .7}, Outside: []bool{true, true, false}, Run: []int{0, 1, 2}, Condition: []int{4, 4, 1},
	}

	const tolerance = 1e-15
	g := l.group([]float64{2})
	assert.Equal(t, 2, g.Conditions)
	assert.InDeltaSlice(t, []float64{.375 / 2, .25 / 2}, g.Residual, tolerance)
	assert.InDeltaSlice(t, []float64{.1 / 2 / 4, .4 / 4}, g.Noise, tolerance)
	assert.InDeltaSlice(t, []float64{.3 / 4, .3 / 4}, g.Claim, tolerance)
	assert.InDeltaSlice(t, []float64{.5, .7}, g.Distance, tolerance)

	// The three pairs of three repeats have the weight ½, and count as one and a half pairs.
	l.Condition = []int{4, 4, 4}
	l.Weight = []float64{.5, .5, .5}
	g = l.group([]float64{2})
	assert.Equal(t, 1, g.Conditions, "with weights")
	assert.InDeltaSlice(t, []float64{(.1 + .1 + .4) / 3 / 1.5 / 4}, g.Noise, tolerance, "with weights")

	// Without numbers of conditions, every row is a condition.
	l.Condition = nil
	l.Weight = nil
	g = l.group([]float64{2})
	assert.Equal(t, 3, g.Conditions, "without numbers of conditions")
	assert.InDeltaSlice(t, []float64{.1 / 4, .1 / 4, .4 / 4}, g.Noise, tolerance, "without numbers of conditions")
}

// The pairs are drawn with 1.69 times the noise that the model states. Expected: this factor, from ½(y1 − y2)² over
// the stated σ², and many degrees of freedom, because the groups do not differ.
func TestPairNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 8))

	var left []LeftOut
	for range 4 {
		l := oneGroup(rng, 500, 1, 1.69, 0.5)
		l.Noise[0] = 0 // a row without noise does not count
		left = append(left, l)
	}

	n := pairNoise(left)
	assert.InEpsilon(t, 1.69, n.Scale, 0.1)
	assert.GreaterOrEqual(t, n.Freedom, 50.)
	assert.Equal(t, scale.Exact, pairNoise(nil), "without groups")
}

// Half of the simulated conditions were measured on three days, and half on one day only: a condition of one day is
// one value, which shows neither noise nor error. Expected: the simulated σ from the pairs of the others, and no
// error, because the true means are judged.
func TestRowsAlone(t *testing.T) {
	const conditions, sigma = 1200, 0.3
	rng := rand.New(rand.NewPCG(51, 3))

	var x, y, mu []float64
	var repeats, day []string
	for c := range conditions {
		for d := range 1 + 2*(c%2) {
			position := float64(c) / conditions
			x = append(x, position)
			mu = append(mu, math.Sin(6*position))
			y = append(y, math.Sin(6*position)+sigma*rng.NormFloat64())
			repeats = append(repeats, strconv.Itoa(c))
			day = append(day, strconv.Itoa(d))
		}
	}

	s := triplets.New(make([]triplets.Quantity, 1), make([]triplets.Quantity, 1), x, y, slices.Clone(y))
	s.SetRuns(repeats)
	s.PairAcross(repeats, day)
	s.Weight = slices.Repeat([]float64{0.5}, s.N)
	l := Learner{Settings: DefaultSettings(), Condition: "x"}
	l.Blocks = 8
	l.Form = "conditions"
	g := l.Grouping(x)
	groups := leaveOneOut(s, g, make([]bool, s.N))
	m, base, err := l.newProcessRows(s, g, groups.train).fit(context.Background())
	require.NoError(t, err)

	left, _, err := leaveOut(context.Background(), groups, m, base)
	require.NoError(t, err)

	assert.InDelta(t, sigma, math.Sqrt(left[3].Noise[5]), sigma/10, "noise")
	assert.InDelta(t, 1, pairNoise(left).Scale, 0.1, "noise of the pairs over the noise of the model")

	truth := score.Set{Set: s, Answers: triplets.Answers{Mu: mu}}
	sum := score.Summarise(truth)
	total := slices.Repeat([]float64{sigma * sigma}, s.N)
	noise := (1 - sum.Get("noise_ceiling")) * variance(y)
	assert.InDelta(t, 0, sum.Get("e"), sigma*sigma/10, "e")
	assert.InDelta(t, sigma*sigma, noise, sigma*sigma/10, "noise by the ceiling of R²")
	assert.InDelta(t, 0, score.TrustOf(truth, total, nil, nil, []int{0}, nil).RMSE, sigma/4, "error")
	assert.InDelta(t, 0, score.Judge(truth, total, nil).Get("e"), sigma*sigma/10, "e of methods")
}

// variance returns the variance of the values about their mean.
func variance(v []float64) float64 {
	_, std := spread(triplets.Set{N: len(v), Out: 1, Y1: v, Y2: v}, lists.Numbers(len(v)), nil)
	return std[0] * std[0]
}

// oneGroup simulates a left-out group of n pairs with the mean squared error v and the given noise variance. The
// model states the claim 1 and the noise 1.
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

// Expected: an error that says what is wrong with the options or the data.
func TestCalibrateRefuses(t *testing.T) {
	d, g := curve()
	flat := d
	flat.Y1 = ones(d.N)
	flat.Y2 = ones(d.N)
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
		assert.ErrorContains(t, err, c.words)
	}
}

// campaign simulates K + 1 groups at z = 1, 2, …, of which one is held out. The squared errors of a group and an
// outcome are β·d, in four independent smooth components, and the claims tell nothing about them. It returns the
// left-out groups and the held-out one.
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

// Simulated errors grow with the distance, and claims tell nothing about them. Expected: the evidence prefers the
// distance, the intervals cover about as much as their level states, and the interval of 68 % is about as wide as by
// the true β·d.
func TestRecovery(t *testing.T) {
	repeats := 12
	low := 0.9
	high := 1.0
	if longtest.IsStudy() {
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
				p.SetLaw(&m, test.Claim[i], d, test.Noise[i])
				ratio += m.Half(0.68) / math.Sqrt(0.3*d+test.Noise[i]) / float64(repeats*len(test.Y1))

				if math.Abs(y) < m.Half(0.95) {
					covered += 1 / float64(repeats*len(test.Y1))
				}
			}
		}

		t.Logf("K = %d: coverage %.3f, evidence for d %.2f, for v̂ %.2f, width at .68 over that of β·d %.2f",
			k, covered, distance, claim, ratio)

		assert.GreaterOrEqual(t, covered, low, "coverage, K = %d", k)
		assert.LessOrEqual(t, covered, high, "coverage, K = %d", k)
		assert.GreaterOrEqual(t, distance, claim, "evidence for the distance and for the claim, K = %d", k)
		assert.GreaterOrEqual(t, ratio, 0.8, "width at .68 over the width by β·d, K = %d", k)
		assert.LessOrEqual(t, ratio, 1.4, "width at .68 over the width by β·d, K = %d", k)
	}
}

// The base is the mean of the groups. Expected, for a normal law and a law with heavy tails: the largest left-out
// deviation covers the value of a new group with a probability of about K/(K+1). This is not a bound, because the
// errors of models that were trained without one group are correlated. Compared with: draws from the laws.
func TestLargestDeviationCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 19))
	const repeats = 5000

	heavy := func() float64 { return rng.NormFloat64() / math.Abs(rng.NormFloat64()) }
	for _, law := range []struct {
		name string
		draw func() float64
	}{{"normal", rng.NormFloat64}, {"heavy tails", heavy}} {
		for _, k := range []int{3, 7, 19} {
			covered := 0.0
			for range repeats {
				y := make([]float64, k+1)
				sum := 0.0
				for i := range y {
					y[i] = law.draw()
					sum += y[i]
				}

				sum -= y[k] // the new group enters nowhere

				var left []LeftOut
				for _, v := range y[:k] {
					others := (sum - v) / float64(k-1) // mean of the other groups
					left = append(left, LeftOut{N: 1, Mu: []float64{others}, Y1: []float64{v}, Y2: []float64{v}})
				}

				c := conformal(left, 1)
				if math.Abs(y[k]-sum/float64(k)) <= c.Half[0] {
					covered += 1.0 / repeats
				}

				require.Equal(t, float64(k)/float64(k+1), c.Guarantee, "guarantee, K = %d", k)
			}

			want := float64(k) / float64(k+1)
			assert.InDelta(t, want, covered, 0.2*(1-want), "coverage, %s, K = %d", law.name, k)
		}
	}
}

// line is a base for tests: the line a + b·z, with the claim v.
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

// lineFit fits a line by least squares. Its claim is 5 over the number of rows.
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

// curve simulates six groups at z = 0 to 5 with y = z²/10, on which a line is wrong.
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

// calibrate holds out each group in turn, and returns the calibrations and the predictions of the held-out groups.
func calibrate(t testing.TB, d triplets.Set, g Grouping, o Options) (
	calibrations []*interval.Calibration, predictions []*interval.Prediction,
) {
	t.Helper()

	for _, sp := range g.Each() {
		full, left := sp.Fit(t, d, g, lineFit(d))
		c, err := Calibrate(d, g, sp.Train, left, o)
		require.NoError(t, err)

		x := lists.Pick(d.X, sp.Test)
		p, err := full.Predict(t.Context(), x)
		require.NoError(t, err)

		calibrations = append(calibrations, c)
		predictions = append(predictions, c.Predict(x, x, nil, p))
	}

	return calibrations, predictions
}

// The outcomes of a test group are set to 1e6. Expected: the scale, the means and the claims stay the same to the
// bit, if this group is held out, and change if another group is.
func TestTestGroupEntersNowhere(t *testing.T) {
	d, g := curve()

	for _, prior := range []string{"wide", "library", "networks"}[:longtest.Count(1, 3)] {
		o := Options{Prior: named(t, prior)}
		calibrations, predictions := calibrate(t, d, g, o)
		for _, s := range []int{0, 3} { // a group at an edge, and one between others
			bad := d
			bad.Y1 = slices.Clone(d.Y1)
			bad.Y2 = slices.Clone(d.Y2)
			for i, h := range g.Group {
				if h == s {
					bad.Y1[i] = 1e6
					bad.Y2[i] = 1e6
				}
			}

			again, againPredicted := calibrate(t, bad, g, o)
			assert.Equal(t, calibrations[s], again[s], "calibration, %s, group %s", prior, g.Names[s])

			want := predictions[s]
			got := againPredicted[s]
			assert.Equal(t, want.Mu, got.Mu, "means, %s, group %s", prior, g.Names[s])
			assert.Equal(t, want.Epistemic, got.Epistemic, "epistemic variances, %s, group %s", prior, g.Names[s])
			assert.Equal(t, want.Total, got.Total, "variances, %s, group %s", prior, g.Names[s])
			assert.Equal(t, want.Half, got.Half, "half widths, %s, group %s", prior, g.Names[s])
			assert.Equal(t, want.Half68, got.Half68, "half widths at .68, %s, group %s", prior, g.Names[s])

			other := (s + 1) % len(g.Names)
			assert.NotEqual(t, calibrations[other], again[other], "calibration without another group, %s", prior)
		}
	}
}

// quantile returns the half width at a level by bisection of the components of a scale, without the search of package
// scale.
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

// byDefinition has the numbers of a held-out group of curve, which has one claim, distance and noise, by their
// definitions.
type byDefinition struct {
	e, claim, epistemic  float64 // means, in units of the training variance
	width, before, score float64 // of the intervals, of the intervals by the claim alone, and the interval score
	coverage             float64
	at                   [4]float64 // coverage at each of interval.Levels
}

// define computes the numbers of group s of curve. c is its calibration, and p has its intervals.
func define(c *interval.Calibration, p *interval.Prediction, y1, y2 []float64) byDefinition {
	const noise = 0.04
	std := c.Deviation[0]
	variance := std * std
	n := float64(len(p.Mu))

	var halves [4]float64 // by level, in deviations
	for l, level := range interval.Levels {
		halves[l] = quantile(c.Scale, level, p.Claim[0]/variance, p.Where[0].Distance, noise/variance)
	}

	half := halves[2] // at 95 %
	d := byDefinition{width: 2 * half, before: 2 * 1.959963984540054 * math.Sqrt(p.Claim[0]+noise) / std}
	for i, mu := range p.Mu {
		d.e += (y1[i] - mu) * (y2[i] - mu) / variance / n
		d.claim += p.Claim[i] / variance / n
		d.epistemic += p.Epistemic[i] / variance / n
		for _, y := range []float64{y1[i], y2[i]} {
			miss := math.Abs(y-mu) / std
			d.score += 2 * half / (2 * n)
			if miss > half {
				d.score += 40 * (miss - half) / (2 * n) // 40 is 2/(1 − level)
			} else {
				d.coverage += 1 / (2 * n)
			}

			for l, h := range halves {
				if miss <= h {
					d.at[l] += 1 / (2 * n)
				}
			}
		}
	}

	return d
}

// A line is fitted to curve, and is wrong between and beyond the groups. Expected: intervals that contain at least 90
// % on average, and numbers by their definitions. Package scale merges laws of nearly equal variances, which moves a
// width by 1e-4 at most.
func TestJudge(t *testing.T) {
	d, g := curve()
	calibrations, predictions := calibrate(t, d, g, Options{Prior: named(t, "wide")})

	mean := 0.0
	for s, rows := range lists.Alike(g.Group) {
		c := calibrations[s]
		p := predictions[s]
		y1 := lists.Pick(d.Y1, rows)
		y2 := lists.Pick(d.Y2, rows)
		r := c.Judge(p, slices.Repeat([]float64{0.04}, len(rows)), y1, y2, lists.Pick(d.Run, rows))
		mean += r.After.Coverage / float64(len(calibrations))

		const spread = 3.919927969080108 // width of the model-free interval, twice the normal quantile
		want := define(c, p, y1, y2)
		for name, v := range map[string][2]float64{
			"ratio before": {r.RatioBefore, want.e / want.claim}, "ratio after": {r.RatioAfter, want.e / want.epistemic},
			"e": {r.E, want.e}, "epistemic": {r.Epistemic, want.epistemic},
			"width": {r.After.Width, want.width}, "width before": {r.Before.Width, want.before},
			"model-free width": {r.ModelFree.Width, spread}, "over spread": {r.WidthOverSpread, want.width / spread},
			"score": {r.After.Score, want.score}, "coverage": {r.After.Coverage, want.coverage},
			"at .68": {r.At[0], want.at[0]}, "at .90": {r.At[1], want.at[1]},
			"at .95": {r.At[2], want.at[2]}, "at .98": {r.At[3], want.at[3]},
		} {
			assert.InDelta(t, v[1], v[0], 1e-4*(1+math.Abs(v[1])), "group %s: %s", g.Names[s], name)
		}

		assert.False(t, math.IsNaN(r.RatioSE), "standard error of the ratio, group %s", g.Names[s])
		assert.Positive(t, r.CRPS, "CRPS, group %s", g.Names[s])
		assert.LessOrEqual(t, r.CRPS, r.After.Width, "CRPS, and width, group %s", g.Names[s])
		assert.Equal(t, 5, c.K, "left-out groups")
		assert.Equal(t, 5./6, c.Conformal.Guarantee, "guarantee")
		assert.InDelta(t, 1, c.NoiseRatio, 0.5, "noise of the model over noise of the pairs")
		assert.Equal(t, 0.95, c.Level, "level")
	}

	assert.GreaterOrEqual(t, mean, 0.9, "mean coverage")
}

// Expected: the results of a left-out group by their definitions, from its pairs and from the intervals that the
// other groups give. The noise and the factor between v̂ and d are learned from all groups, because they do not
// measure the group's own error.
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
			without[h].Predictor().SetLaw(&m, l.Claim[i]/(std*std), l.Distance[i], 0.04/(std*std))
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

// Expected: a second calibration has the same bytes, and a stored one makes the same predictions.
func TestStored(t *testing.T) {
	d, g := curve()

	other := Options{
		Prior: named(t, "library"), Base: "line", InputNames: []string{"z"}, FromGroup: []bool{true}, Level: 0.8,
	}
	for _, o := range []Options{{Prior: named(t, "wide")}, other} {
		calibrations, predictions := calibrate(t, d, g, o)
		again, _ := calibrate(t, d, g, o)
		for s, c := range calibrations {
			stored, err := json.Marshal(c)
			require.NoError(t, err)

			b, err := json.Marshal(again[s])
			require.NoError(t, err)
			assert.Equal(t, string(stored), string(b), "second calibration without group %s", g.Names[s])

			var back interval.Calibration
			require.NoError(t, json.Unmarshal(stored, &back))

			p := predictions[s]
			x := slices.Repeat([]float64{float64(s)}, p.N)
			noise := slices.Repeat([]float64{0.04}, p.N)
			q := back.Predict(x, x, nil, triplets.Prediction{Mu: p.Mu, Claim: p.Claim, Noise: noise})
			assert.Equal(t, p.Half, q.Half, "half widths of the stored calibration without group %s", g.Names[s])
			assert.Equal(t, p.Half68, q.Half68, "half widths at .68 without group %s", g.Names[s])
			assert.Equal(t, p.Epistemic, q.Epistemic, "epistemic variances without group %s", g.Names[s])
		}
	}
}

// The same data are calibrated with no, one, two and three left-out groups. Expected: without groups and with one, the
// intervals follow from the prior alone; with two they have the level 0.98, and with three the level that is asked for.
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

		assert.Equal(t, k, got.K, "groups")
		assert.Len(t, got.Groups, k, "results of groups")
		assert.Equal(t, c.level, got.Level, "level, K = %d", k)
		assert.Equal(t, 0.95, got.Asked, "level that was asked for, K = %d", k)
		assert.Equal(t, c.learned, got.Learned())

		// By the prior alone, intervals follow from the claim: nothing is known about the distance.
		x := []float64{2.5, 7}
		prior, _ := scale.Learn(nil, 1, wide, got.Scale.Noise)
		raw := triplets.Prediction{Mu: ones(2), Claim: []float64{0.3, 0.3}, Noise: []float64{0.04, 0.04}}
		half := got.Predict(x, x, nil, raw).Half
		std := got.Deviation[0]
		want := std * quantile(prior, c.level, 0.3/(std*std), 1, 0.04/(std*std))

		if k < scale.MinGroups {
			assert.InEpsilon(t, want, half[0], 1e-4, "half width by the prior, K = %d", k)
			assert.Equal(t, half[0], half[1], "half widths near and far, K = %d", k)
			assert.Equal(t, prior.Weights, got.Scale.Weights, "weights of λ, K = %d", k)
		} else {
			assert.NotEqual(t, half[0], half[1], "half widths near and far, K = %d", k)
			assert.NotEqual(t, prior.Weights, got.Scale.Weights, "weights of λ, K = %d", k)
		}

		for _, r := range got.Groups {
			assert.Positive(t, r.Half, "half width of group %s, K = %d", r.Name, k)
			assert.GreaterOrEqual(t, r.Inside, 0.5, "share inside of group %s, K = %d", r.Name, k)
		}
	}

	c, err := Calibrate(d, g, lists.Numbers(d.N), left[:2], Options{Prior: wide, Level: 0.99})
	require.NoError(t, err)
	assert.Equal(t, 0.99, c.Level, "level of two groups if 0.99 is asked for")
}

// The groups are at z = 1 to 5, and the pitch is 0, 1 or 2 in each. Expected: a reason for a z that is farther
// outside than the farthest left-out group, which is by 1, and for a pitch outside its range, which no left-out group
// tests.
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

	x := []float64{-0.1, 1, 2.5, 2, 3, 7, 0, 1}
	q := c.Predict(x, []float64{-0.1, 2.5, 3, 0}, nil, triplets.Prediction{Mu: ones(4), Claim: ones(4), Noise: ones(4)})
	for i, want := range []string{
		"z -0.1 is outside 1 to 5, farther than any left-out group", "",
		"not calibrated in this direction: pitch 7 is outside 0 to 2, and no left-out group tests that", "",
	} {
		assert.Equal(t, want, strings.Join(c.Uncovered(x[2*i:2*i+2], q.Where[i]), "; "), "query %d", i)
	}

	between := q.Where[1] // z = 2.5
	assert.Equal(t, 2., between.Below)
	assert.Equal(t, 3., between.Above)
	assert.False(t, between.Outside)
}

// wideLine is a base of two inputs that predicts a line over the first.
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

// Expected by hand: the columns with two values or more in the given rows.
func TestVaryingInputs(t *testing.T) {
	x := []float64{1, 5, 2, 1, 5, 3, 2, 5, 2}
	assert.Equal(t, []int{0, 2}, VaryingInputs(x, 3, []int{0, 1, 2}))
	assert.Equal(t, []int{2}, VaryingInputs(x, 3, []int{0, 1}))
}

// Labels have no coordinate. Expected: the distance of a query and of every left-out group is 1. If v̂ is the same
// everywhere, here 5/n, all shapes are proportional to v̂, and the variance of the mean is v̂ times the mean λ. The
// conformal half width is the largest left-out deviation.
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

	assert.Nil(t, c.Axis, "axis")
	assert.Equal(t, 1., c.Groups[0].Distance, "distance of a left-out group")
	assert.Equal(t, std[0], c.Deviation[0], "deviation")
	assert.Equal(t, largest, c.Conformal.Half[0], "conformal half width")
	assert.Zero(t, c.Conformal.Guarantee, "guarantee, since the base saw the groups")
	assert.InEpsilon(t, left[0].Claim[0]/(std[0]*std[0]), c.Scale.Ratio, 1e-12, "f, and v̂ in units of the variance")

	b, err := json.Marshal(c)
	require.NoError(t, err)

	var back interval.Calibration
	require.NoError(t, json.Unmarshal(b, &back))

	same := []float64{left[0].Claim[0], left[0].Claim[0]}
	q := back.Predict([]float64{3, 30}, nil, nil, triplets.Prediction{Mu: ones(2), Claim: same, Noise: ones(2)})
	assert.Equal(t, q.Half[0], q.Half[1], "half widths")
	assert.Equal(t, 1., q.Where[0].Distance, "distance of a query")
	assert.Empty(t, back.Uncovered([]float64{3}, q.Where[0]), "reasons against an input in its range")
	assert.Equal(t, []int{0}, q.Where[1].Uncalibrated, "inputs outside their range")

	epistemic := 0.0
	for _, part := range back.Scale.Predictor().Components() {
		epistemic += part.Weight * part.Lambda * left[0].Claim[0]
	}

	assert.InEpsilon(t, epistemic, q.Epistemic[0], 1e-9, "variance of the mean")
}

// Expected: a base that predicts all training rows at once gives the same left-out groups as one that predicts each
// group, and conditions and weights are taken from the set.
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

	d.Condition = lists.Numbers(d.N)
	d.Weight = ones(d.N)
	d.Weight[20] = 0.5
	for h, l := range LeaveOutRows(d, g, rows, sp.Held, p) {
		held := sp.Held[h].Rows
		assert.Equal(t, held, l.Condition, "conditions of group %d", h)
		assert.Equal(t, lists.Pick(d.Weight, held), l.Weight, "weights of group %d", h)
	}
}
