package scale

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

func named(t testing.TB, name string) Prior {
	t.Helper()

	p, err := Named(name)
	require.NoError(t, err)

	return p
}

// witnessed is a campaign with the results of a witness, by priors.
type witnessed struct {
	Name                   string
	Outcomes               int
	Levels                 []float64
	Groups                 []Group
	Claim, Noise, Distance []float64
	Z                      []float64 // see LearnRising
	Gamma                  float64
	Want                   map[string]struct {
		Evidence  [][]float64
		Epistemic []float64
		Half      [][]float64
	}
}

// Witnesses: the prototype hs2.py by numpy and scipy (testdata/make.py), bisection of the mixture's tail included; with
// rises, the formulas in numpy (testdata/make_rising.py).
func TestAgainstPrototype(t *testing.T) {
	for _, file := range []string{"scale.json", "rising.json"} {
		var cases []witnessed
		b, err := os.ReadFile("testdata/" + file)
		if err == nil {
			err = json.Unmarshal(b, &cases)
		}

		require.NoError(t, err, "%v, %v", len(cases), err)
		require.GreaterOrEqual(t, len(cases), 3, "%v, %v", len(cases), err)

		for _, c := range cases {
			for prior := range c.Want {
				c.compare(t, prior)
			}
		}
	}
}

func (c witnessed) compare(t *testing.T, prior string) {
	t.Helper()

	want := c.Want[prior]
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		assert.InDelta(t, want, got, tolerance*math.Abs(want)+1e-15,
			"%s, %s: %s is %.10g, prototype %.10g", c.Name, prior, what, got, want)
	}

	s, _ := Learn(c.Groups, c.Outcomes, named(t, prior), Exact)
	if c.Z != nil {
		s, _ = LearnRising(c.Groups, c.Outcomes, named(t, prior), Exact, c.Z)
	}

	near("γ", s.Gamma, c.Gamma, 1e-8)

	for shape, list := range want.Evidence {
		for i, e := range list {
			near("evidence", s.Evidence[shape][i], e, 1e-8)
		}
	}

	p := s.Predictor()

	var m Mixture
	for k, noise := range c.Noise {
		p.At(&m, c.Claim[k], c.Distance[k/c.Outcomes], noise)
		near("epistemic variance", m.Epistemic(), want.Epistemic[k], 1e-8)

		for i, level := range c.Levels {
			half := want.Half[i][k]
			near(fmt.Sprintf("half width at %g", level), m.Half(level), half, 1e-6)
			near("coverage factor", m.Coverage(level), half/math.Sqrt(want.Epistemic[k]+noise), 1e-6)
		}
	}
}

// draw simulates a left-out group with the factor λ and the claim 1.
func draw(r *rand.Rand, conditions int, lambda, noise float64) Group {
	g := Group{Conditions: conditions}
	for range conditions {
		g.Residual = append(g.Residual, math.Sqrt(lambda+noise/2)*r.NormFloat64())
		g.Noise = append(g.Noise, noise)
		g.Claim = append(g.Claim, 1)
		g.Distance = append(g.Distance, 1)
	}

	return g
}

// Many groups whose factors hardly differ teach λ = mean e/v̂. Witness: that mean.
func TestManyGroups(t *testing.T) {
	groups := 100
	tolerance := 0.05
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		groups = 400
		tolerance = 0.02
	}

	r := rand.New(rand.NewPCG(1, 2))
	const lambda, noise = 2.3, 0.3
	var left []Group

	mean := 0.0
	n := 0.0
	for range groups {
		g := draw(r, 15, lambda, noise)
		for _, v := range g.Residual {
			mean = mean + v*v - noise/2
			n++
		}

		left = append(left, g)
	}

	mean /= n

	s, _ := Learn(left, 1, Prior{Name: "narrow", M: 0.5, MStd: 1, Tau: 0.1, TauStd: 0.05, Origin: "this test"}, Exact)
	var m Mixture
	s.Predictor().At(&m, 1, 1, 0)

	if got := m.Epistemic(); math.Abs(got/mean-1) > tolerance {
		t.Errorf("λ is %.4f, mean e/v̂ %.4f", got, mean)
	}
}

// With a single condition the likelihood is largest if the variance is the mean of e. Witness: the mean of e, which by
// definition is the mean of s²/2 less half of the noise.
func TestOneCell(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const noise = 0.2
	g := draw(r, 50, 0.6, noise)

	e := -noise / 2
	for _, v := range g.Residual {
		e += v * v / 50
	}

	sum := func(variance float64) (f float64) {
		for _, v := range g.Residual {
			f += logDensity(v, noise, variance)
		}
		return f
	}

	// The slope changes its sign there.
	const h = 1e-6

	low := e * (1 - 1e-6)
	high := e * (1 + 1e-6)
	require.Greater(t, sum(low+h), sum(low-h), "the likelihood is not largest at mean e, %g", e)
	assert.Less(t, sum(high+h), sum(high-h), "the likelihood is not largest at mean e, %g", e)
}

// Campaigns whose factors are drawn from the prior: the 95 % interval of a further group
// covers 94 to 99 % of its values; of few campaigns within their scatter.
func TestSimulatedCampaigns(t *testing.T) {
	campaigns := longtest.Count(12, 30)
	low := 0.90
	high := 1.0
	groups := []int{3, 12}
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		campaigns = 2000
		low = 0.94
		high = 0.99
		groups = []int{3, 5, 12}
	}

	const noise = 0.1

	prior := named(t, "wide")
	for _, k := range groups {
		r := rand.New(rand.NewPCG(uint64(k), 5))

		covered := 0.0
		for range campaigns {
			m := prior.M + prior.MStd*r.NormFloat64()
			tau := prior.Tau * math.Exp(prior.TauStd*r.NormFloat64())
			factor := func() float64 { return math.Exp(m + tau*r.NormFloat64()) }

			var left []Group
			for range k {
				left = append(left, draw(r, 12, factor(), noise))
			}

			var law Mixture
			s, _ := Learn(left, 1, prior, Exact)
			s.Predictor().At(&law, 1, 1, noise)
			half := law.Half(0.95)
			sd := math.Sqrt(factor() + noise)
			covered += 1 - 2*distuv.UnitNormal.CDF(-half/sd)
		}

		covered /= float64(campaigns)
		t.Logf("K = %d: coverage %.4f in %d campaigns", k, covered, campaigns)

		require.GreaterOrEqual(t, covered, low, "K = %d: coverage %.4f, expected %g to %g", k, covered, low, high)
		assert.LessOrEqual(t, covered, high, "K = %d: coverage %.4f, expected %g to %g", k, covered, low, high)
	}
}

// The half width is the mixture's quantile. Witness: drawn values; one normal law and
// Student's t in closed form.
func TestHalf(t *testing.T) {
	draws := 400_000
	tolerance := 2e-2
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		draws = 20_000_000
		tolerance = 1e-3
	}

	r := rand.New(rand.NewPCG(7, 8))
	m := Mixture{variance: []float64{0.01, 1, 30}, weight: []float64{0.3, 0.6, 0.1}}
	half := map[float64]float64{0.5: m.Half(0.5), 0.95: m.Half(0.95)}

	inside := map[float64]float64{}
	for range draws {
		variance := m.variance[0]
		switch u := r.Float64(); {
		case u > 0.9:
			variance = m.variance[2]
		case u > 0.3:
			variance = m.variance[1]
		}

		y := math.Abs(math.Sqrt(variance) * r.NormFloat64())
		for level, h := range half {
			if y < h {
				inside[level] += 1 / float64(draws)
			}
		}
	}

	for level, got := range inside {
		assert.InDelta(t, level, got, tolerance*(1-level), "level %g: %.5f of the values inside", level, got)
	}

	one := Mixture{variance: []float64{4}, weight: []float64{1}}
	for _, level := range []float64{0.1, 0.68, 0.95, 0.99999} {
		want := 2 * distuv.UnitNormal.Quantile((1+level)/2)
		assert.InDelta(t, want, one.Half(level), 1e-9*want, "level %g of one normal law", level)
	}
}

// No degrees of freedom, and infinitely many, are the plain formula, to the bit; with few,
// noise alone has the quantiles of Student's t.
func TestFreedomOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	left := []Group{draw(r, 8, 1, 0.1), draw(r, 5, 2, 0.1), draw(r, 5, 0.5, 0.1)}
	plain, _ := Learn(left, 1, named(t, "wide"), Exact)
	infinite, _ := Learn(left, 1, named(t, "wide"), Noise{Scale: 1, Freedom: math.Inf(1)})
	var a, b Mixture
	plain.Predictor().At(&a, 0.7, 0.4, 0.2)
	infinite.Predictor().At(&b, 0.7, 0.4, 0.2)

	require.Equal(t, b, a, "%v and %v", a.Half(0.95), b.Half(0.95))
	assert.Equal(t, b.Half(0.95), a.Half(0.95), "%v and %v", a.Half(0.95), b.Half(0.95))

	for _, freedom := range []float64{4, 10, 200} {
		s := &Scale{Ratio: 1, Noise: Noise{Scale: 1.7, Freedom: freedom}}
		s.Weights[Claim] = []float64{1}
		var m Mixture
		s.Predictor().At(&m, 1e-9, 1, 4)

		for _, level := range []float64{0.68, 0.95, 0.98} {
			law := distuv.StudentsT{Sigma: 2 * math.Sqrt(1.7), Nu: freedom}
			if want := law.Quantile((1 + level) / 2); math.Abs(m.Half(level)/want-1) > 5e-3 {
				t.Errorf("%g degrees of freedom, level %g: %g, Student's t %g", freedom, level, m.Half(level), want)
			}
		}
	}
}

// The law of the noise's factor is learned from ratios that were drawn with it. A group's
// few pairs count for no difference between groups.
func TestPairNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	chi := func(freedom float64) float64 {
		return distuv.ChiSquared{K: freedom, Src: r}.Rand() / freedom
	}
	for _, c := range []struct {
		freedom   float64 // of the factor between groups; 0: none
		values    int
		low, high float64
	}{
		{8, 400, 6, 11},
		{0, 400, 2000, math.Inf(1)},
		{0, 4, 100, math.Inf(1)},
	} {
		var ratio []float64

		var values []int
		for range 400 {
			v := 1.69 * chi(float64(c.values))
			if c.freedom > 0 {
				v /= chi(c.freedom)
			}

			ratio = append(ratio, v)
			values = append(values, c.values)
		}

		n := PairNoise(ratio, values)

		want := 1.69
		if c.freedom > 0 {
			want *= c.freedom / (c.freedom - 2)
		}

		require.GreaterOrEqual(t, n.Freedom, c.low, "%+v: %+v, expected the scale %.3g", c, n, want)
		require.LessOrEqual(t, n.Freedom, c.high, "%+v: %+v, expected the scale %.3g", c, n, want)
		assert.InDelta(t, 1, n.Scale/want, 0.1, "%+v: %+v, expected the scale %.3g", c, n, want)
	}

	for _, x := range []float64{0.5, 1, 3.7, 200} { // ψ′(½) = π²/2, ψ′(1) = π²/6
		if got := inverseTrigamma(trigamma(x)); math.Abs(got/x-1) > 1e-9 {
			t.Errorf("the inverse of ψ′(%g) is %g", x, got)
		}
	}

	if math.Abs(trigamma(0.5)-math.Pi*math.Pi/2) > 1e-9 || math.Abs(trigamma(1)-math.Pi*math.Pi/6) > 1e-9 {
		t.Errorf("ψ′: %g, %g", trigamma(0.5), trigamma(1))
	}

	assert.Equal(t, Exact, PairNoise([]float64{0, 0}, []int{3, 4}), "without noise")
}

// Without left-out groups, or with one, the prior is all that is known; one group changes
// nothing.
func TestPriorAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	none, _ := Learn(nil, 1, named(t, "wide"), Exact)

	one, _ := Learn([]Group{draw(r, 9, 40, 0.1)}, 1, named(t, "wide"), Exact)
	require.Equal(t, 1, one.K, "%+v", one)
	require.Equal(t, one.Weights, none.Weights, "%+v", one)
	assert.Equal(t, 1.0, one.Ratio, "%+v", one)

	var m Mixture
	one.Predictor().At(&m, 0.5, 100, 0.1)
	a := m.Half(0.95)
	one.Predictor().At(&m, 0.5, 1, 0.1)

	assert.Equal(t, a, m.Half(0.95), "the distance enters without groups that show what it does")

	// Of networks' claims little is known then, but that they are too small.
	if s, _ := Learn(nil, 1, named(t, "networks"), Exact); s.Factor != 10 || s.Floor != 0 {
		t.Errorf("networks: factor %g, floor %g", s.Factor, s.Floor)
	}
}

// What the others teach of a left-out group is what Learn makes of the others, where f is
// the same: with one claim and one distance it is. Of two groups, one remains: the prior.
func TestWithout(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))

	var left []Group
	for _, lambda := range []float64{0.5, 3, 1, 20} {
		left = append(left, draw(r, 7, lambda, 0.1))
	}

	noise := Noise{Scale: 1.1, Freedom: 12}
	all, without := Learn(left, 1, named(t, "wide"), noise)
	require.Equal(t, 4, all.K, "%d groups, %d without one", all.K, len(without))
	require.Len(t, without, 4, "%d groups, %d without one", all.K, len(without))

	for h, got := range without {
		others := append(slices.Clone(left[:h]), left[h+1:]...)
		want, _ := Learn(others, 1, named(t, "wide"), noise)
		assert.Equal(t, want, got, "without group %d: %+v, learned from the others %+v", h, got, want)
		assert.False(t, reflect.DeepEqual(got.Weights, all.Weights), "group %d has no part in what all teach", h)
	}

	none, _ := Learn(nil, 1, named(t, "wide"), noise)
	_, without = Learn(left[:2], 1, named(t, "wide"), noise)
	for h, got := range without {
		require.Equal(t, 1, got.K, "without group %d of two: %+v, expected the prior", h, got)
		assert.Equal(t, none.Weights, got.Weights, "without group %d of two: %+v, expected the prior", h, got)
	}

	// The residuals of a group do not enter the scale that is learned without it.
	changed := slices.Clone(left)
	changed[2].Residual = slices.Repeat([]float64{1e6}, 7)

	_, again := Learn(changed, 1, named(t, "wide"), noise)
	_, before := Learn(left, 1, named(t, "wide"), noise)
	require.Equal(t, before[2], again[2],
		"outcomes of a group enter what is learned without it, or those of another do not")
	assert.False(t, reflect.DeepEqual(again[1], before[1]),
		"outcomes of a group enter what is learned without it, or those of another do not")
}

// A model claims a hundredth of its squared error, and of some conditions less by a further
// factor. The prior with a floor of claims covers 95 % to within 2 % (of few campaigns within
// their scatter), the wide one, whose grid of λ ends there, far less. Witness: the law that
// the errors are drawn from.
func TestClaimFloor(t *testing.T) {
	campaigns := longtest.Count(18, 30)
	low := 0.90
	high := 0.99
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		campaigns = 500
		low = 0.93
		high = 0.97
	}

	const k, conditions, noise = 5, 8, 0.1
	factor := func(r *rand.Rand) float64 { return math.Exp(0.6 * r.NormFloat64()) }
	group := func(r *rand.Rand, lambda float64) (g Group, variance []float64) {
		g.Conditions = conditions
		for range conditions {
			v := lambda * math.Exp(0.5*r.NormFloat64())
			variance = append(variance, v)
			g.Residual = append(g.Residual, math.Sqrt(v+noise/2)*r.NormFloat64())
			g.Noise = append(g.Noise, noise)
			g.Distance = append(g.Distance, 1)
			g.Claim = append(g.Claim, v/lambda/100*math.Exp(-math.Abs(r.NormFloat64())))
		}

		return g, variance
	}

	covered := map[string]float64{}
	for _, name := range []string{"wide", "networks"} {
		r := rand.New(rand.NewPCG(1, 5))
		for range campaigns {
			var left []Group
			for range k {
				g, _ := group(r, factor(r))
				left = append(left, g)
			}

			s, _ := Learn(left, 1, named(t, name), Exact)
			p := s.Predictor()

			var m Mixture
			g, variance := group(r, factor(r))
			for i, claim := range g.Claim {
				p.At(&m, claim, 1, noise)
				covered[name] += math.Erf(m.Half(0.95)/math.Sqrt(2*(variance[i]+noise))) / float64(campaigns*conditions)
			}
		}
	}

	t.Logf("coverage at the level 0.95: %.3f, without the floor %.3f", covered["networks"], covered["wide"])

	if c := covered["networks"]; c < low || c > high {
		t.Errorf("coverage %.3f with the floor of claims", c)
	}

	if c := covered["wide"]; c > 0.85 {
		t.Errorf("coverage %.3f without it: this test shows nothing", c)
	}
}

// The factor and the floor of claims by hand: claims of mean 0.02 and 0.04 have the floor
// 0.05·0.03; mean errors of 1 − 0.1/2 and 4 − 0.1/2 may be ten times claims of mean 0.03.
func TestRaisedClaims(t *testing.T) {
	group := func(residual, claim float64) Group {
		return Group{
			Conditions: 2, Residual: []float64{residual, -residual}, Noise: []float64{0.1, 0.1},
			Claim: []float64{0.5 * claim, 1.5 * claim}, Distance: []float64{1, 1},
		}
	}

	left := []Group{group(1, 0.02), group(2, 0.04)}
	s, _ := Learn(left, 1, named(t, "networks"), Exact)

	factor := (0.95 + 3.95) / 0.06 / 10
	floor := 0.05 * 0.03
	require.InDelta(t, 1, s.Factor/factor, 1e-12,
		"factor %g, floor %g, by hand %g and %g", s.Factor, s.Floor, factor, floor)
	assert.InDelta(t, 1, s.Floor/floor, 1e-12, "factor %g, floor %g, by hand %g and %g", s.Factor, s.Floor, factor, floor)

	var none, low Mixture
	s.Predictor().At(&none, 0, 1, 0.1)
	s.Predictor().At(&low, floor, 1, 0.1)

	if none.Half(0.95) != low.Half(0.95) {
		t.Errorf("± %g without a claim, ± %g at the floor", none.Half(0.95), low.Half(0.95))
	}

	large, _ := Learn([]Group{group(1, 2), group(2, 4)}, 1, named(t, "networks"), Exact)
	plain, _ := Learn(left, 1, named(t, "wide"), Exact)
	require.Equal(t, 1.0, large.Factor,
		"factors %g and %g, floor %g: claims are never made smaller, and raised by a prior alone", large.Factor,
		plain.Factor, plain.Floor)
	require.Equal(t, 1.0, plain.Factor,
		"factors %g and %g, floor %g: claims are never made smaller, and raised by a prior alone", large.Factor,
		plain.Factor, plain.Floor)
	assert.Equal(t, 0.0, plain.Floor,
		"factors %g and %g, floor %g: claims are never made smaller, and raised by a prior alone", large.Factor,
		plain.Factor, plain.Floor)
}

// What Learn cannot have returned is refused, and says why.
func TestScaleCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for _, left := range [][]Group{nil, {draw(r, 4, 1, 0.1)}, uneven(r)} {
		for _, prior := range []string{"wide", "networks"} {
			if s, _ := Learn(left, 1, named(t, prior), Exact); s.Check() != nil {
				t.Errorf("%d groups, %s: %v", len(left), prior, s.Check())
			}
		}
	}

	for words, damage := range map[string]func(*Scale){
		"an origin":          func(s *Scale) { s.Prior.Origin = "" },
		"expected 90 weight": func(s *Scale) { s.Weights[Both] = s.Weights[Both][1:] },
		"at least 0, found":  func(s *Scale) { s.Weights[Claim][3] = -s.Weights[Claim][3] },
		"sum is 1, found":    func(s *Scale) { s.Weights[Distance][40] += 0.1 },
		"0, found NaN":       func(s *Scale) { s.Weights[Claim][40] = math.NaN() },
		"found 0, 1, floor":  func(s *Scale) { s.Ratio = 0 },
		", -1, floor":        func(s *Scale) { s.Factor = -1 },
		"floor -1":           func(s *Scale) { s.Floor = -1 },
		"{Scale:0 Freedom:":  func(s *Scale) { s.Noise.Scale = 0 },
		"Freedom:-2}":        func(s *Scale) { s.Noise.Freedom = -2 },
	} {
		s, _ := Learn(uneven(r), 1, named(t, "wide"), Exact)
		damage(s)

		if err := s.Check(); words == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, words)
		}
	}
}

// Slices that do not fit are a mistake of the program.
func TestLearnPanics(t *testing.T) {
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "2 conditions and 1 outcomes") {
			t.Errorf("%v", v)
		}
	}()

	Learn([]Group{{Conditions: 2, Residual: []float64{1}}}, 1, named(t, "wide"), Exact)
}

// A stored scale predicts the same bits.
func TestStored(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	s, _ := Learn([]Group{draw(r, 4, 1, 0.1), draw(r, 4, 3, 0.1)}, 1, named(t, "library"), Noise{Scale: 1.2, Freedom: 9})
	b, err := json.Marshal(s)
	require.NoError(t, err)

	var back Scale
	require.NoError(t, json.Unmarshal(b, &back))

	var m, n Mixture
	s.Predictor().At(&m, 0.3, 0.6, 0.1)
	back.Predictor().At(&n, 0.3, 0.6, 0.1)

	assert.Equal(t, n.Half(0.9), m.Half(0.9), "%v, from the file %v", m.Half(0.9), n.Half(0.9))
}

func TestPriors(t *testing.T) {
	wide := named(t, "wide")
	library := named(t, "library")
	require.NotEqual(t, library.Digest(), wide.Digest(), "%+v, %+v", wide, library)
	require.Equal(t, 0.8, wide.Tau, "%+v, %+v", wide, library)
	assert.Equal(t, 0.3, library.Tau, "%+v, %+v", wide, library)

	renamed := wide
	renamed.Name = "mine"
	renamed.Origin = "elsewhere"
	assert.Equal(t, wide.Digest(), renamed.Digest(), "words are part of the digest")

	for name, known := range map[string]bool{"wide": true, "library": true, "networks": true, "narrow": false, "": false} {
		_, err := Named(name)
		require.Equal(t, (err == nil), known, "%q: %v, named %v", name, err, IsNamed(name))
		assert.Equal(t, IsNamed(name), known, "%q: %v, named %v", name, err, IsNamed(name))

		assert.False(t, !known && !strings.Contains(err.Error(), "wide or library"), "%v", err)
	}

	for _, p := range []Prior{wide, library, named(t, "networks")} {
		sum := 0.0
		for _, w := range p.weights() {
			sum += w
		}

		assert.InDelta(t, 1, sum, 1e-12, "%s: the weights sum to", p.Name)
	}

	for _, change := range [][2]string{
		{"doubletake-scale-priors", "other"},
		{`"version": 1`, `"version": 9`},
		{`"tau": 0.8`, `"tau": 0`},
		{`"m": 0.5`, `"m": 8`},
		{`"m_std": 0.75`, `"m_std": 0.01`},
		{`"tau": 0.8`, `"tau": 3`},
		{`"tau": 0.8, "tau_std": 0.8`, `"tau": 0.7, "tau_std": 0.001`},
		{`"m_std": 0.75`, `"m_std": -1`},
		{`"claim_floor": 0.05`, `"claim_floor": -1`},
		{`"claim_ratio": 10`, `"claim_ratio": 0`},
		{`"name": "wide"`, `"name": ""`},
		{`"name": "wide"`, `"name": "wide", "rises": {"of": "a", "origin": "b", "rose": {"groups": 1, "inside": 2}}`},
		{"{", "["},
	} {
		if _, err := ReadPriors([]byte(strings.Replace(string(builtin), change[0], change[1], 1))); err == nil {
			t.Errorf("with %s: no error", change[1])
		}
	}
}

// Whatever a file of priors holds: it is refused, or each of its priors passes its check and
// is read back as it is written.
func FuzzReadPriors(f *testing.F) {
	f.Add(string(builtin))
	f.Add(`{"format":"doubletake-scale-priors","version":1,"priors":[]}`)
	f.Add(`{"format":"doubletake-scale-priors","version":1,"priors":[{"name":"a","m":-3,"m_std":1e-3,"tau":9,` +
		`"tau_std":1,"origin":"b","claim_floor":0.1,"claim_ratio":1e300}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadPriors([]byte(text))
		if err != nil {
			return
		}

		b, err := json.Marshal(map[string]any{"format": PriorFormat, "version": PriorVersion, "priors": list})
		require.NoError(t, err)

		again, err := ReadPriors(b)
		require.NoError(t, err)
		assert.Equal(t, again, list, "%+v, read back %+v, %v", list, again, err)

		for _, p := range list {
			require.NoError(t, p.Check())
		}
	})
}

func TestEvenly(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2, 3, 4}, evenly(5, 9))
	assert.Equal(t, []int{0, 4, 8}, evenly(9, 3))
}

// A negative noise is none, and a prediction that is not finite has no interval.
func TestNotFinite(t *testing.T) {
	s, _ := Learn(nil, 1, named(t, "wide"), Noise{Scale: 1, Freedom: 8})
	p := s.Predictor()

	var m, none Mixture
	p.At(&m, 0.1, 1, -0.5)
	p.At(&none, 0.1, 1, 0)

	if m.Half(0.95) != none.Half(0.95) {
		t.Errorf("half width %g with a negative noise, %g without", m.Half(0.95), none.Half(0.95))
	}

	for _, claim := range []float64{math.NaN(), math.Inf(1)} {
		p.At(&m, claim, 1, 0.1)
		if h := m.Half(0.95); h == h && !math.IsInf(h, 0) || m.Dispersion() == 0 {
			t.Errorf("claim %g: half width %g", claim, h)
		}
	}
}
