package honest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

func readJSON(t testing.TB, name string, v any) {
	t.Helper()

	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}

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

	if len(cases) < 5 {
		t.Fatalf("only %d cases", len(cases))
	}

	for _, c := range cases {
		a := interval.NewAxis(c.Values, c.Range)

		lo, hi := slices.Min(c.Values), slices.Max(c.Values)
		for i, z := range c.At {
			d, outside := a.Distance(z)
			if !scalar.EqualWithinAbs(d-interval.MinDistance, c.Kriging[i], 1e-9) {
				t.Errorf("values %v at %g: %g, kriging %g", c.Values, z, d-interval.MinDistance, c.Kriging[i])
			}

			if !scalar.EqualWithinAbs(d-interval.MinDistance, c.Prototype[i], 2e-9) {
				t.Errorf("values %v at %g: %g, prototype %g", c.Values, z, d-interval.MinDistance, c.Prototype[i])
			}

			if outside != (z < lo || z > hi) {
				t.Errorf("values %v at %g: outside %v", c.Values, z, outside)
			}
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
	if !slices.Equal(g.Names, []string{"4.7", "9", "14.1"}) || !slices.Equal(g.Of, []int{2, 0, 0, 1, 0, 1}) {
		t.Errorf("values: %v %v", g.Names, g.Of)
	}

	// Witness: data.blocks of the prototypes, by hand: cuts at the sorted rows 2
	// and 5 (of 8), where the value 3 is tied.
	g = ByBlock("a", []float64{7, 1, 3, 3, 3, 9, 2, 8}, 3)
	if !slices.Equal(g.Of, []int{2, 0, 1, 1, 1, 2, 0, 2}) ||
		!slices.Equal(g.Names, []string{"1 to 2", "3 to 3", "7 to 9"}) {
		t.Errorf("blocks: %v %v", g.Of, g.Names)
	}

	if g = ByBlock("a", []float64{5, 5, 5}, 4); len(g.Names) != 1 || !slices.Equal(g.Of, []int{0, 0, 0}) {
		t.Errorf("one block: %+v", g)
	}

	g = ByLabel("day", []string{"tue", "mon", "tue"})
	if !slices.Equal(g.Names, []string{"mon", "tue"}) || !slices.Equal(g.Of, []int{1, 0, 1}) || g.Axis([]int{0}) != nil {
		t.Errorf("labels: %+v", g)
	}

	if g = ByValue("u", nil, 0); len(g.Names) != 0 {
		t.Errorf("no rows: %+v", g)
	}
}

// Witness: the count G + G(G−1)/2, and that no training has a row it must not have.
func TestPlanSharesTrainings(t *testing.T) {
	const groups = 5

	var z []float64
	for i := range 23 {
		z = append(z, float64(i%groups))
	}

	g := ByValue("z", z, 0)
	p := NewPlan(g, g.Each())
	if want := groups + groups*(groups-1)/2; len(p.Trainings) != want {
		t.Errorf("%d trainings, want %d", len(p.Trainings), want)
	}

	for s, sp := range p.Splits {
		if len(sp.LeftOut) != groups-1 {
			t.Errorf("split %s: %d left-out groups", sp.Name, len(sp.LeftOut))
		}

		for _, i := range p.Trainings[sp.Full].Rows {
			if g.Of[i] == s {
				t.Errorf("split %s: training on test row %d", sp.Name, i)
			}
		}

		for _, h := range sp.LeftOut {
			tr := p.Trainings[h.Training]
			for _, i := range tr.Rows {
				if g.Of[i] == s || g.Of[i] == h.Group {
					t.Errorf("split %s without %d: training on row %d", sp.Name, h.Group, i)
				}
			}

			if len(tr.Rows)+len(h.Rows) != len(p.Trainings[sp.Full].Rows) || len(tr.Held) != 2 {
				t.Errorf("split %s without %d: %d rows, held %v", sp.Name, h.Group, len(tr.Rows), tr.Held)
			}
		}
	}

	// A test set that crosses groups, and a split with one training group, whose
	// left-out training would have no rows.
	some, most := make([]bool, len(z)), make([]bool, len(z))
	for i := range z {
		some[i], most[i] = i < 4, g.Of[i] != 2
	}

	p = NewPlan(g, []Split{{"some", some}, {"most", most}})
	if len(p.Splits[0].LeftOut) != groups || len(p.Splits[1].LeftOut) != 0 || len(p.Trainings) != 1+groups+1 {
		t.Errorf("%d, %d left-out groups, %d trainings", len(p.Splits[0].LeftOut), len(p.Splits[1].LeftOut), len(p.Trainings))
	}
}

type fitCase struct {
	Outcomes int
	Groups   []struct {
		N                                  int
		Mu, Claim, Noise, Y1, Y2, Distance []float64
		Outside                            []bool
	}
	Fits []struct {
		Variant       interval.Variant
		Claimed       bool
		Parameters, C []float64
		Value         float64
	}
	At struct {
		Claim, Distance []float64
		Outside         []bool
	}
}

func (f fitCase) left() []LeftOut {
	var left []LeftOut
	for _, g := range f.Groups {
		left = append(left, LeftOut{
			N: g.N, Mu: g.Mu, Claim: g.Claim, Noise: g.Noise, Y1: g.Y1, Y2: g.Y2,
			Distance: g.Distance, Outside: g.Outside, Run: make([]int, g.N),
		})
	}

	return left
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}

	return v
}

// Witness: the prototype's fit by scipy's L-BFGS-B (testdata/make.py).
func TestFitAgainstPrototype(t *testing.T) {
	var f fitCase
	readJSON(t, "fit.json", &f)

	for _, want := range f.Fits {
		form, err := formOf(want.Variant)
		if err != nil {
			t.Fatal(err)
		}

		p := newLikelihood(f.left(), ones(f.Outcomes), form, 3, want.Claimed)
		if v := p.value(want.Parameters, nil, nil); math.Abs(v-want.Value) > 1e-9*math.Abs(want.Value) {
			t.Errorf("%s claimed %v: value %v at the prototype's minimum, want %v", want.Variant, want.Claimed, v, want.Value)
		}

		theta, err := p.minimise()
		if err != nil {
			t.Fatal(err)
		}

		if v := p.value(theta, nil, nil); v > want.Value+1e-10 {
			t.Errorf("%s claimed %v: minimum %v, prototype %v", want.Variant, want.Claimed, v, want.Value)
		}

		c, err := FitCovariance(f.left(), ones(f.Outcomes), want.Variant, 0, want.Claimed)
		if err != nil {
			t.Fatal(err)
		}

		for i := range f.At.Distance {
			got := c.At(nil, f.At.Claim[i*f.Outcomes:(i+1)*f.Outcomes], f.At.Distance[i], f.At.Outside[i])
			for j, v := range got {
				if w := want.C[i*f.Outcomes+j]; math.Abs(v/w-1) > 1e-5 {
					t.Errorf("%s claimed %v: C[%d][%d] = %v, prototype %v", want.Variant, want.Claimed, i, j, v, w)
				}
			}
		}
	}
}

// Witness: finite differences.
func TestGradientOfFit(t *testing.T) {
	var f fitCase
	readJSON(t, "fit.json", &f)

	rng := rand.New(rand.NewPCG(1, 1))
	for _, v := range []interval.Variant{interval.VariantE, interval.VariantB, interval.VariantO, interval.VariantOE} {
		form, _ := formOf(v)
		p := newLikelihood(f.left(), []float64{1, 2, 0.5}, form, 3, v == interval.VariantB)

		n := 4 + f.Outcomes
		for range 5 {
			theta := make([]float64, n)
			for i := range theta {
				theta[i] = 0.7 * rng.NormFloat64()
			}

			grad, hess := make([]float64, n), mat.NewSymDense(n, nil)
			p.value(theta, grad, hess)
			central := &fd.Settings{Formula: fd.Central}
			want := fd.Gradient(nil, func(x []float64) float64 { return p.value(x, nil, nil) }, theta, central)
			for i := range grad {
				if math.Abs(grad[i]-want[i]) > 1e-6*(1+math.Abs(want[i])) {
					t.Errorf("%s: gradient[%d] = %v, finite difference %v", v, i, grad[i], want[i])
				}

				row := fd.Gradient(nil, func(x []float64) float64 {
					g := make([]float64, n)
					p.value(x, g, nil)
					return g[i]
				}, theta, central)

				for k := range row {
					if math.Abs(hess.At(i, k)-row[k]) > 1e-6*(1+math.Abs(row[k])) {
						t.Errorf("%s: Hessian[%d][%d] = %v, finite difference %v", v, i, k, hess.At(i, k), row[k])
					}
				}
			}
		}
	}
}

// oneGroup is a left-out group of n pairs with squared error about v.
func oneGroup(rng *rand.Rand, n int, v, noise, distance float64) LeftOut {
	l := LeftOut{Name: "a", N: n, Mu: make([]float64, n), Claim: ones(n), Noise: ones(n)}
	l.Outside, l.Run = make([]bool, n), make([]int, n)
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

// Witness: in one cell the likelihood is largest at C = mean e, for the noise
// A = mean ½(y1−y2)², whatever the scale and the distance.
func TestOneCell(t *testing.T) {
	l := oneGroup(rand.New(rand.NewPCG(2, 1)), 50, 0.6, 0.2, 0.37)

	e := 0.0
	for i, mu := range l.Mu {
		e += (l.Y1[i] - mu) * (l.Y2[i] - mu) / 50
	}

	for _, scale := range []float64{1, 2.5} {
		c, err := FitCovariance([]LeftOut{l}, []float64{scale}, interval.VariantE, 0, false)
		if err != nil {
			t.Fatal(err)
		}

		if got := c.At(nil, []float64{1}, 0.37, false)[0]; math.Abs(got-e) > 1e-10 {
			t.Errorf("scale %g: C = %v, mean e %v", scale, got, e)
		}

		// On top of v̂ = 0.1 the sum is the same.
		for i := range l.Claim {
			l.Claim[i] = 0.1
		}

		if c, err = FitCovariance([]LeftOut{l}, []float64{scale}, interval.VariantOE, 0, false); err != nil {
			t.Fatal(err)
		}

		if got := c.At(nil, []float64{0.1}, 0.37, false)[0] + 0.1; math.Abs(got-e) > 1e-10 {
			t.Errorf("scale %g: v̂ + C = %v, mean e %v", scale, got, e)
		}
	}
}

// Witness: a condition measured twice, given as one value, has the likelihood of
// the mean of its pairs by hand.
func TestConditionsAreOneValue(t *testing.T) {
	l := LeftOut{
		N: 3, Mu: []float64{1, 1, 2}, Claim: []float64{.2, .2, .3}, Noise: []float64{.1, .1, .4},
		Y1: []float64{1.5, 1.25, 2}, Y2: []float64{1.75, 1, 2.5},
		Distance: []float64{.5, .5, .7}, Outside: []bool{true, true, false}, Run: []int{0, 1, 2}, Condition: []int{4, 4, 1},
	}

	p := newLikelihood([]LeftOut{l}, []float64{2}, form{offset: true}, 3, true)
	if len(p.cells) != 2 {
		t.Fatalf("%d cells", len(p.cells))
	}

	for i, want := range []cell{
		{weight: 1.5, square: 2 * .375 * .375 / 4, base: .1/2/4 + 2*.2/4},
		{weight: 1.5, square: 2 * .25 * .25 / 4, base: .4/4 + 2*.3/4},
	} {
		c := p.cells[i]
		for _, d := range []float64{c.weight - want.weight, c.square - want.square, c.base - want.base} {
			if math.Abs(d) > 1e-15 {
				t.Errorf("cell %d: %+v, want %+v", i, c, want)
			}
		}
	}

	// Three pairs of three repeats, of weight ½, count one and a half.
	l.Condition, l.Weight = []int{4, 4, 4}, []float64{.5, .5, .5}
	p = newLikelihood([]LeftOut{l}, []float64{2}, form{}, 3, true)
	if want := (.1 + .1 + .4) / 3 / 1.5 / 4; len(p.cells) != 1 || math.Abs(p.cells[0].base-want) > 1e-15 {
		t.Errorf("with weights %+v, want the noise %v", p.cells, want)
	}
}

func TestFitRefuses(t *testing.T) {
	l := oneGroup(rand.New(rand.NewPCG(2, 1)), 5, 1, 1, 1)
	bad := l
	bad.Mu = []float64{1, 2, math.NaN(), 4, 5}
	for _, c := range []struct {
		left    []LeftOut
		scale   float64
		variant interval.Variant
		words   string
	}{
		{[]LeftOut{l}, 1, "Z", "expected E, B, o or oE, found \"Z\""},
		{nil, 1, interval.VariantE, "no left-out groups"},
		{[]LeftOut{l}, 0, interval.VariantE, "expected a positive deviation"},
		{[]LeftOut{bad}, 1, interval.VariantE, "not finite"},
	} {
		_, err := FitCovariance(c.left, []float64{c.scale}, c.variant, 0, false)
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}

// campaign simulates K+1 groups at z = 1, 2, … whose squared error is β·d with
// four independent smooth components a group and outcome, as recovery.py does,
// and returns the left-out groups, the held-out one and its true covariance.
func campaign(rng *rand.Rand, k int) (left []LeftOut, test LeftOut, truth float64) {
	const beta, n, out, noise, components = 0.3, 120, 5, 0.05, 4
	held := rng.IntN(k + 1)
	group := func(i int, axis *interval.Axis) LeftOut {
		d, outside := axis.Distance(float64(i + 1))
		l := LeftOut{N: n, Run: make([]int, n), Noise: ones(n * out)}

		c := make([]float64, components*out)
		for a := range c {
			c[a] = rng.NormFloat64()
		}

		for r := range n {
			l.Distance, l.Outside = append(l.Distance, d), append(l.Outside, outside)

			phase := float64(r) / (n - 1)
			for j := range out {
				e := c[j]
				for q := 1; q < components; q++ {
					e += math.Sqrt2 * math.Cos(math.Pi*float64(q)*phase) * c[q*out+j]
				}

				e *= math.Sqrt(beta * d / components)
				l.Mu, l.Claim = append(l.Mu, 0), append(l.Claim, 1e-6)
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

	test = group(held, axisWithout(held, held))

	return left, test, beta * test.Distance[0]
}

// Witness: the β that the data were made with; recovery.py found median C/true
// .96 and .97 at K = 3 and 8, coverage of the normal interval .94.
func TestRecovery(t *testing.T) {
	for _, k := range []int{3, 8} {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		const repeats = 150
		var ratios []float64

		var normal, student float64
		for range repeats {
			left, test, truth := campaign(rng, k)
			c, err := FitCovariance(left, ones(5), interval.VariantE, 3, false)
			if err != nil {
				t.Fatal(err)
			}

			v := c.At(nil, ones(5), test.Distance[0], test.Outside[0])
			slices.Sort(v)
			ratios = append(ratios, v[2]/truth)
			c.At(v, ones(5), test.Distance[0], test.Outside[0])

			for i, y := range test.Y1 {
				sd := math.Sqrt(v[i%5] + 0.05)
				if math.Abs(y) < 1.96*sd {
					normal += 1 / float64(repeats*len(test.Y1))
				}

				if math.Abs(y) < interval.StudentQuantile(0.95, k)*sd {
					student += 1 / float64(repeats*len(test.Y1))
				}
			}
		}

		slices.Sort(ratios)
		median := ratios[repeats/2]
		t.Logf("K = %d: median C/true %.3f (10 to 90 %%: %.2f to %.2f), coverage N %.3f, t %.3f",
			k, median, ratios[15], ratios[135], normal, student)

		if median < 0.85 || median > 1.15 {
			t.Errorf("K = %d: median C/true %.3f", k, median)
		}

		if k == 8 && (normal < 0.92 || normal > 0.97) {
			t.Errorf("K = %d: coverage %.3f", k, normal)
		}

		if student < normal {
			t.Errorf("K = %d: coverage t %.3f below N %.3f", k, student, normal)
		}
	}
}

// The largest left-out deviation covers a new group's value with a probability of about
// K/(K+1), for a normal law and one with heavy tails, where the base saw none of the
// groups. Witness: draws from the law. K/(K+1) is no bound: the errors of models that were
// trained without one group are correlated. The base here is the mean of the groups.
func TestLargestDeviationCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 19))
	const repeats = 5000

	heavy := func() float64 { return rng.NormFloat64() / math.Abs(rng.NormFloat64()) }
	for _, law := range []struct {
		name string
		draw func() float64
	}{{"normal", rng.NormFloat64}, {"heavy tails", heavy}} {
		name, draw := law.name, law.draw
		for _, k := range []int{3, 7, 19} {
			covered := 0.0
			for range repeats {
				y, sum := make([]float64, k+1), 0.0
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

				if c.Guarantee != float64(k)/float64(k+1) {
					t.Fatalf("K = %d: guarantee %g", k, c.Guarantee)
				}
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

func (l line) Predict(_ context.Context, x []float64) (mu, claim, noise []float64, err error) {
	for _, z := range x {
		mu, claim, noise = append(mu, l.a+l.b*z), append(claim, l.v), append(noise, 0.04)
	}
	return mu, claim, noise, nil
}

func lineFit(d triplets.Set) FitFunc {
	return func(_ context.Context, rows []int) (Predictor, error) {
		var sx, sy, sxx, sxy, n float64
		for _, i := range rows {
			y := (d.Y1[i] + d.Y2[i]) / 2
			sx, sy, sxx, sxy, n = sx+d.X[i], sy+y, sxx+d.X[i]*d.X[i], sxy+d.X[i]*y, n+1
		}

		b := (n*sxy - sx*sy) / (n*sxx - sx*sx)

		return line{a: (sy - b*sx) / n, b: b, v: 0.1 / n}, nil
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

func calibrate(t testing.TB, d triplets.Set, g Grouping, o Options, workers int) (
	[]*interval.Calibration, []*interval.Prediction,
) {
	t.Helper()
	ctx := context.Background()
	p := NewPlan(g, g.Each())
	fitted, err := FitPlan(ctx, p, lineFit(d), workers)
	if err != nil {
		t.Fatal(err)
	}

	var cs []*interval.Calibration

	var ps []*interval.Prediction
	for s, sp := range p.Splits {
		left, err := LeaveOut(ctx, d, g, p, s, fitted)
		if err != nil {
			t.Fatal(err)
		}

		c, err := Calibrate(d, g, p.Trainings[sp.Full].Rows, left, o)
		if err != nil {
			t.Fatal(err)
		}

		x := pick(d.X, 1, sp.Test)
		mu, claim, noise, err := fitted[sp.Full].Predict(ctx, x)
		if err != nil {
			t.Fatal(err)
		}

		cs, ps = append(cs, c), append(ps, c.Predict(x, x, mu, claim, noise))
	}

	return cs, ps
}

// Nothing leaks: a test group's outcomes enter neither β nor μ nor v. They are
// set to 1e6, and everything stays the same bit for bit.
func TestTestGroupEntersNowhere(t *testing.T) {
	d, g := curve()
	for _, v := range []interval.Variant{interval.VariantE, interval.VariantB, interval.VariantO, interval.VariantOE} {
		cs, ps := calibrate(t, d, g, Options{Variant: v}, 2)
		for s := range g.Names {
			bad := d
			bad.Y1, bad.Y2 = slices.Clone(d.Y1), slices.Clone(d.Y2)
			for i, h := range g.Of {
				if h == s {
					bad.Y1[i], bad.Y2[i] = 1e6, 1e6
				}
			}

			cs2, ps2 := calibrate(t, bad, g, Options{Variant: v}, 1)
			if !reflect.DeepEqual(cs[s], cs2[s]) {
				t.Errorf("%s, group %s: the calibration changed", v, g.Names[s])
			}

			a, b := ps[s], ps2[s]
			if !slices.Equal(a.Mu, b.Mu) || !slices.Equal(a.Epistemic, b.Epistemic) || !slices.Equal(a.Half, b.Half) {
				t.Errorf("%s, group %s: the prediction changed", v, g.Names[s])
			}
		}
	}
}

// The line is wrong between and beyond the groups; with C the intervals hold.
// Widths, scores and ratios are recomputed here from their definitions.
func TestJudge(t *testing.T) {
	d, g := curve()
	cs, ps := calibrate(t, d, g, Options{}, 2)

	mean := 0.0
	for s, c := range cs {
		var y1, y2 []float64

		var run []int
		for i, h := range g.Of {
			if h == s {
				y1, y2, run = append(y1, d.Y1[i]), append(y2, d.Y2[i]), append(run, d.Run[i])
			}
		}

		r := c.Judge(ps[s], y1, y2, run)
		mean += r.After.Student.Coverage / float64(len(cs))
		var e, v, width, score, covered, n float64

		scale := c.Covariance.Scale[0]
		for i, mu := range ps[s].Mu {
			e += (y1[i] - mu) * (y2[i] - mu)
			v += ps[s].Claim[i] + ps[s].Added[i]

			half := 2.570581835636 * math.Sqrt(ps[s].Claim[i]+ps[s].Added[i]+0.04) // t of 5 degrees of freedom, tables
			for _, y := range []float64{y1[i], y2[i]} {
				width, score, n = width+2*half/scale, score+2*half/scale, n+1
				if miss := math.Abs(y - mu); miss > half {
					score += 40 * (miss - half) / scale
				} else {
					covered++
				}
			}
		}

		got := r.After
		for name, p := range map[string][2]float64{
			"ratio": {got.Ratio, e / v}, "width": {got.Student.Width, width / n},
			"score": {got.Student.Score, score / n}, "coverage": {got.Student.Coverage, covered / n},
			"model-free width": {r.ModelFree.Width, 3.919927969080108},
			"over spread":      {r.WidthOverSpread, width / n / 3.919927969080108},
			"e":                {r.E, e / 10 / scale / scale},
		} {
			if math.Abs(p[0]-p[1]) > 1e-9*(1+math.Abs(p[1])) {
				t.Errorf("group %s: %s = %v, want %v", g.Names[s], name, p[0], p[1])
			}
		}

		if r.After.Ratio >= r.Before.Ratio && r.Before.Ratio > 0 || math.IsNaN(r.After.RatioSE) {
			t.Errorf("group %s: S %v before, %v ± %v after", g.Names[s], r.Before.Ratio, r.After.Ratio, r.After.RatioSE)
		}

		if c.K != 5 || c.Conformal.Guarantee != 5.0/6 || math.Abs(c.NoiseRatio-1) > 0.5 {
			t.Errorf("group %s: K %d, guarantee %g, noise ratio %g", g.Names[s], c.K, c.Conformal.Guarantee, c.NoiseRatio)
		}

		sum := 0.0
		for _, l := range c.Groups {
			sum += l.Share
			if l.Share > c.Groups[c.Largest].Share || l.ESE == nil || l.Runs != 5 {
				t.Errorf("group %s: %+v", g.Names[s], l)
			}
		}

		if math.Abs(sum-1) > 1e-12 || !(c.Scatter > 1) {
			t.Errorf("group %s: shares sum to %g, scatter %g", g.Names[s], sum, c.Scatter)
		}
	}

	if mean < 0.9 {
		t.Errorf("mean coverage %.3f", mean)
	}
}

// The same bytes for any number of workers, and after storing and reading.
func TestStored(t *testing.T) {
	d, g := curve()

	other := Options{
		Variant: interval.VariantB, Base: "line", InputNames: []string{"z"}, FromGroup: []bool{true}, Level: 0.8,
	}
	for _, o := range []Options{{}, other} {
		cs, ps := calibrate(t, d, g, o, 1)

		cs2, _ := calibrate(t, d, g, o, 5)
		for s, c := range cs {
			a, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}

			b, err := json.Marshal(cs2[s])
			if err != nil {
				t.Fatal(err)
			}

			if !bytes.Equal(a, b) {
				t.Errorf("group %s: another number of workers gives other bytes", g.Names[s])
			}

			var back interval.Calibration
			if err := json.Unmarshal(a, &back); err != nil {
				t.Fatal(err)
			}

			p := ps[s]
			x := make([]float64, p.N)
			for i := range x {
				x[i] = float64(s)
			}

			if !slices.Equal(back.Predict(x, x, p.Mu, p.Claim, make([]float64, p.N)).Added, p.Added) {
				t.Errorf("group %s: the stored calibration predicts something else", g.Names[s])
			}
		}
	}
}

func TestDamagedCalibrationIsRefused(t *testing.T) {
	d, g := curve()
	cs, _ := calibrate(t, d, g, Options{}, 1)
	good, err := json.Marshal(cs[0])
	if err != nil {
		t.Fatal(err)
	}

	for old, with := range map[string]string{
		`"version":1`: `"version":2`, `"k":5`: `"k":2`, `"variant":"E"`: `"variant":"F"`, `"level":0.95`: `"level":1`,
		`"kind":"values"`: `"kind":"labels"`, `"mean":[`: `"mean":[1,`, `"values":[1,2,`: `"values":[2,1,`,
		`"format"`: `format`, `"scale":[`: `"scale":[-`,
	} {
		bad := strings.Replace(string(good), old, with, 1)
		if bad == string(good) {
			t.Errorf("%s is not in %s", old, good)
		}

		if err := json.Unmarshal([]byte(bad), new(interval.Calibration)); err == nil {
			t.Errorf("with %s: no error", with)
		}
	}
}

func TestTooFewGroups(t *testing.T) {
	d, g := curve()
	test := make([]bool, d.N)
	for i := range test {
		test[i] = g.Of[i] > 1
	}

	p := NewPlan(g, []Split{{"far", test}})
	ctx := context.Background()
	fitted, err := FitPlan(ctx, p, func(context.Context, []int) (Predictor, error) { return line{v: 1}, nil }, 1)
	if err != nil {
		t.Fatal(err)
	}

	left, err := LeaveOut(ctx, d, g, p, 0, fitted)
	if err != nil {
		t.Fatal(err)
	}

	_, err = Calibrate(d, g, p.Trainings[0].Rows, left, Options{})

	var few *TooFewGroupsError
	if !errors.As(err, &few) || few.K != 2 || len(few.Groups) != 2 || few.Groups[0].ESE == nil {
		t.Fatalf("%v", err)
	}

	if !strings.Contains(err.Error(), "not checked on a new group") {
		t.Errorf("%v", err)
	}
}

func TestNotCalibratedInThisDirection(t *testing.T) {
	d, g := curve()
	wide := triplets.Set{N: d.N, In: 2, Out: 1, Y1: d.Y1, Y2: d.Y2, Run: d.Run}
	for i, z := range d.X {
		wide.X = append(wide.X, z, float64(i%3))
	}

	p := NewPlan(g, g.Each()[:1])
	ctx := context.Background()
	fitted, err := FitPlan(ctx, p, func(context.Context, []int) (Predictor, error) { return wideLine{}, nil }, 2)
	if err != nil {
		t.Fatal(err)
	}

	left, err := LeaveOut(ctx, wide, g, p, 0, fitted)
	if err != nil {
		t.Fatal(err)
	}

	o := Options{InputNames: []string{"z", "pitch"}, FromGroup: []bool{true, false}}
	c, err := Calibrate(wide, g, p.Trainings[0].Rows, left, o)
	if err != nil {
		t.Fatal(err)
	}

	q := c.Predict([]float64{0, 1, 2.5, 2, 3, 7}, []float64{0, 2.5, 3}, ones(3), ones(3), ones(3))
	for i, want := range []string{
		"z outside the measured 1 to 5", "", "not calibrated in this direction: pitch outside 0 to 2",
	} {
		if got := c.Words(q.Where[i]); got != want {
			t.Errorf("query %d: %q, want %q", i, got, want)
		}
	}

	if w := q.Where[1]; w.Below != 2 || w.Above != 3 || w.Outside {
		t.Errorf("%+v", w)
	}
}

type wideLine struct{}

func (wideLine) Predict(_ context.Context, x []float64) (mu, claim, noise []float64, err error) {
	for i := 0; i < len(x); i += 2 {
		mu, claim, noise = append(mu, x[i]/2-0.5), append(claim, 0.01), append(noise, 0.04)
	}
	return mu, claim, noise, nil
}

func TestNotes(t *testing.T) {
	c := interval.Calibration{K: 3, Vanishes: true, Scatter: 3, NoiseRatio: 50, Largest: 1, Groups: []interval.GroupResult{
		{Name: "2", E: 0.1, Claim: 0.1, Share: 0.2}, {Name: "3", E: 0.4, Claim: 0.1, Share: 0.8},
	}}
	got := strings.Join(c.Notes(), "\n")
	for _, want := range []string{
		"learnt from 3 groups", "over it is 4 (3)", "(3) supplies 80 %", "factor of 3", "50 times the noise",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}

	good := interval.Calibration{K: 9, Scatter: 1.2, NoiseRatio: 1, Groups: []interval.GroupResult{{Share: 0.3}}}
	if n := good.Notes(); len(n) != 0 {
		t.Errorf("%q", n)
	}
}

func TestFitPlanReportsTheFirstError(t *testing.T) {
	_, g := curve()
	p := NewPlan(g, g.Each())
	_, err := FitPlan(context.Background(), p, func(_ context.Context, rows []int) (Predictor, error) {
		return nil, errors.New("boom")
	}, 4)
	if err == nil || !strings.Contains(err.Error(), "train model 1 of 21") {
		t.Errorf("%v", err)
	}
}

func TestVaryingInputs(t *testing.T) {
	x := []float64{1, 5, 2, 1, 5, 3, 2, 5, 2}
	if got := VaryingInputs(x, 3, []int{0, 1, 2}); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("%v", got)
	}

	if got := VaryingInputs(x, 3, []int{0, 1}); !slices.Equal(got, []int{2}) {
		t.Errorf("%v", got)
	}
}

// Labels have no coordinate: C is one number an outcome. Witness: with equal
// distances and v̂ the fit of one outcome is the mean of T over groups, each
// counting alike, where the groups' noise is the same.
func TestLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	d := triplets.Set{N: 40, In: 1, Out: 1}

	var day []string
	for i := range d.N {
		h := i / 10
		day = append(day, string(rune('a'+h)))
		d.X = append(d.X, float64(i%10))
		y := float64(i%10)/3 + 0.6*float64(h%2)
		d.Y1, d.Y2 = append(d.Y1, y+0.1*rng.NormFloat64()), append(d.Y2, y+0.1*rng.NormFloat64())
	}

	g := ByLabel("day", day)
	ctx := context.Background()
	p := NewPlan(g, []Split{{"all", make([]bool, d.N)}})
	fitted, err := FitPlan(ctx, p, lineFit(d), 2)
	if err != nil {
		t.Fatal(err)
	}

	left, err := LeaveOut(ctx, d, g, p, 0, fitted)
	if err != nil {
		t.Fatal(err)
	}

	c, err := Calibrate(d, g, p.Trainings[0].Rows, left, Options{SawGroups: true})
	if err != nil {
		t.Fatal(err)
	}

	_, std := spread(d, p.Trainings[0].Rows, nil)
	num, den, largest := 0.0, 0.0, 0.0

	want := c.Covariance.At(nil, []float64{1}, 1, false)[0]
	for _, l := range left {
		noise := 0.0
		for i := range l.Y1 {
			noise += (l.Y1[i] - l.Y2[i]) * (l.Y1[i] - l.Y2[i]) / 2 / float64(l.N)
		}

		for i, mu := range l.Mu {
			s := l.Y1[i] + l.Y2[i] - 2*mu
			tot := noise + 2*want
			num, den = num+s*s/2/(tot*tot), den+1/tot
			largest = max(largest, math.Abs(l.Y1[i]-mu), math.Abs(l.Y2[i]-mu))
		}
	}

	if math.Abs(num/den-1) > 1e-9 { // the likelihood's derivative with respect to ln C is zero
		t.Errorf("C = %v is no maximum: Σ s²/T² over Σ 1/T is %v", want, num/den)
	}

	if c.Axis != nil || c.Groups[0].Distance != 1 || c.Covariance.Scale[0] != std[0] ||
		c.Conformal.Half[0] != largest || c.Conformal.Guarantee != 0 {
		t.Errorf("%+v", c)
	}

	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}

	var back interval.Calibration
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}

	q := back.Predict([]float64{3, 30}, nil, ones(2), ones(2), ones(2))
	if q.Added[0] != want || q.Added[1] != want || back.Words(q.Where[0]) != "" ||
		back.Words(q.Where[1]) != "not calibrated in this direction: 0 outside 0 to 9" {
		t.Errorf("%+v", q)
	}
}

// A base that predicts all training rows at once gives the same left-out groups.
func TestLeaveOutRows(t *testing.T) {
	d, g := curve()
	ctx := context.Background()
	p := NewPlan(g, g.Each())
	fitted, err := FitPlan(ctx, p, lineFit(d), 2)
	if err != nil {
		t.Fatal(err)
	}

	const split = 2
	left, err := LeaveOut(ctx, d, g, p, split, fitted)
	if err != nil {
		t.Fatal(err)
	}

	rows := p.Trainings[p.Splits[split].Full].Rows
	mu, claim, noise := make([]float64, len(rows)), make([]float64, len(rows)), make([]float64, len(rows))

	condition := make([]int, len(rows))
	for h, l := range p.Splits[split].LeftOut {
		for k, i := range l.Rows {
			at, _ := slices.BinarySearch(rows, i)
			mu[at], claim[at], noise[at], condition[at] = left[h].Mu[k], left[h].Claim[k], left[h].Noise[k], i
		}
	}

	if got := LeaveOutRows(d, g, p.Train(split), p.Held(split), mu, claim, noise, nil); !reflect.DeepEqual(got, left) {
		t.Errorf("%+v, want %+v", got, left)
	}

	for h, l := range LeaveOutRows(d, g, p.Train(split), p.Held(split), mu, claim, noise, condition) {
		if !slices.Equal(l.Condition, p.Splits[split].LeftOut[h].Rows) {
			t.Errorf("group %d: conditions %v", h, l.Condition)
		}
	}
}
