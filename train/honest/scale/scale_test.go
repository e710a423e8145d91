package scale

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/longtest"
)

// named returns a built-in prior.
func named(t testing.TB, name string) Prior {
	t.Helper()

	p, err := Named(name)
	require.NoError(t, err)

	return p
}

// computedElsewhere is a campaign with the results that a program in Python computed.
type computedElsewhere struct {
	Name     string
	Outcomes int
	Groups   []Group   // left-out groups
	Z        []float64 // see LearnRising; nil: Learn

	// Conditions that are predicted: claims and noise variances are conditions × outcomes.
	Claim, Noise, Distance []float64
	Levels                 []float64 // of the intervals

	Gamma float64
	Want  map[string]struct { // by name of the prior
		Evidence  [][]float64 // by shape and ω
		Epistemic []float64   // like Claim
		Half      [][]float64 // by level, like Claim
	}
}

// Compared with: the prototype hs2.py by numpy and scipy (testdata/make.py), bisection of the mixture's tail included;
// with rises, the formulas in numpy (testdata/make_rising.py).
func TestAgainstPrototype(t *testing.T) {
	for _, file := range []string{"scale.json", "rising.json"} {
		var cases []computedElsewhere
		b, err := os.ReadFile("testdata/" + file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &cases), file)
		require.GreaterOrEqual(t, len(cases), 3, "cases in %s", file)

		for _, c := range cases {
			for prior := range c.Want {
				c.compare(t, prior)
			}
		}
	}
}

// compare learns with a prior and compares the results with the ones from Python.
func (c computedElsewhere) compare(t *testing.T, prior string) {
	t.Helper()

	want := c.Want[prior]
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		assert.InDelta(t, want, got, tolerance*math.Abs(want)+1e-15, "%s, %s: %s", c.Name, prior, what)
	}

	var s *Scale
	if c.Z == nil {
		s, _ = Learn(c.Groups, c.Outcomes, named(t, prior), Exact)
	} else {
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
		p.SetLaw(&m, c.Claim[k], c.Distance[k/c.Outcomes], noise)
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

// Many groups have the same factor. Expected: λ is the mean of e/v̂ over all conditions.
func TestManyGroups(t *testing.T) {
	groups := 100
	tolerance := 0.05
	if longtest.IsStudy() {
		groups = 400
		tolerance = 0.02
	}

	r := rand.New(rand.NewPCG(1, 2))
	const lambda, noise = 2.3, 0.3
	var left []Group

	const conditions = 15
	mean := 0.0
	for range groups {
		g := draw(r, conditions, lambda, noise)
		for _, v := range g.Residual {
			mean += (v*v - noise/2) / float64(groups*conditions)
		}

		left = append(left, g)
	}

	s, _ := Learn(left, 1, Prior{Name: "narrow", M: 0.5, MStd: 1, Tau: 0.1, TauStd: 0.05, Origin: "this test"}, Exact)
	var m Mixture
	s.Predictor().SetLaw(&m, 1, 1, 0)

	assert.InEpsilon(t, mean, m.Epistemic(), tolerance, "λ")
}

// Many residuals have one variance. Expected: its likelihood is largest at the mean of e, which is the mean square of
// the residuals less half of the noise. The slope of the likelihood changes its sign there.
func TestLikelihoodOfVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const noise = 0.2
	g := draw(r, 50, 0.6, noise)

	e := -noise / 2
	for _, v := range g.Residual {
		e += v * v / 50
	}

	slope := func(variance float64) float64 {
		const h = 1e-6
		difference := 0.0
		for _, v := range g.Residual {
			difference += logDensity(v, noise, variance+h) - logDensity(v, noise, variance-h)
		}

		return difference / (2 * h)
	}

	assert.Positive(t, slope(e*(1-1e-6)), "slope below the mean of e, %g", e)
	assert.Negative(t, slope(e*(1+1e-6)), "slope above the mean of e, %g", e)
}

// The factors of campaigns are drawn from the prior. Expected: the 95 % interval of a further group covers 94 to 99 %
// of its values. Without DOUBLETAKE_LONG=all the campaigns are few, and the limits wider by their scatter.
func TestSimulatedCampaigns(t *testing.T) {
	campaigns := longtest.Count(12, 30)
	low := 0.90
	high := 1.0
	groups := []int{3, 12}
	if longtest.IsStudy() {
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
			s.Predictor().SetLaw(&law, 1, 1, noise)
			half := law.Half(0.95)
			sd := math.Sqrt(factor() + noise)
			covered += 1 - 2*distuv.UnitNormal.CDF(-half/sd)
		}

		covered /= float64(campaigns)
		t.Logf("K = %d: coverage %.4f in %d campaigns", k, covered, campaigns)

		assert.GreaterOrEqual(t, covered, low, "coverage of %d groups", k)
		assert.LessOrEqual(t, covered, high, "coverage of %d groups", k)
	}
}

// The half width is a quantile of the mixture. Compared with: values that are drawn from the mixture, and the closed
// form of one normal law.
func TestHalf(t *testing.T) {
	draws := 400_000
	tolerance := 2e-2
	if longtest.IsStudy() {
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
		assert.InDelta(t, level, got, tolerance*(1-level), "share of the values inside at level %g", level)
	}

	one := Mixture{variance: []float64{4}, weight: []float64{1}}
	for _, level := range []float64{0.1, 0.68, 0.95, 0.99999} {
		want := 2 * distuv.UnitNormal.Quantile((1+level)/2)
		assert.InDelta(t, want, one.Half(level), 1e-9*want, "level %g of one normal law", level)
	}
}

// Expected: no degrees of freedom of the noise, and infinitely many, give the same law to the bit.
func TestInfiniteFreedomOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	left := []Group{draw(r, 8, 1, 0.1), draw(r, 5, 2, 0.1), draw(r, 5, 0.5, 0.1)}
	plain, _ := Learn(left, 1, named(t, "wide"), Exact)
	infinite, _ := Learn(left, 1, named(t, "wide"), Noise{Scale: 1, Freedom: math.Inf(1)})
	var a, b Mixture
	plain.Predictor().SetLaw(&a, 0.7, 0.4, 0.2)
	infinite.Predictor().SetLaw(&b, 0.7, 0.4, 0.2)

	assert.Equal(t, a, b, "laws")
	assert.Equal(t, a.Half(0.95), b.Half(0.95), "half widths")
}

// Compared with: the quantiles of Student's t, which is the law of a value whose noise has few degrees of freedom, if
// the claim is nearly 0.
func TestFreedomOfNoise(t *testing.T) {
	for _, freedom := range []float64{4, 10, 200} {
		s := &Scale{Ratio: 1, Noise: Noise{Scale: 1.7, Freedom: freedom}}
		s.Weights[Claim] = []float64{1}
		var m Mixture
		s.Predictor().SetLaw(&m, 1e-9, 1, 4)

		for _, level := range []float64{0.68, 0.95, 0.98} {
			law := distuv.StudentsT{Sigma: 2 * math.Sqrt(1.7), Nu: freedom}
			assert.InEpsilon(t, law.Quantile((1+level)/2), m.Half(level), 5e-3, "%g degrees of freedom, level %g", freedom,
				level)
		}
	}
}

// The ratios of 400 groups are drawn with a known law of the noise's factor. Expected: this law. The scatter of a
// ratio that follows from the number of its values does not count as a difference between groups.
func TestPairNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	chi := func(freedom float64) float64 {
		return distuv.ChiSquared{K: freedom, Src: r}.Rand() / freedom
	}
	for _, c := range []struct {
		freedom   float64 // of the factor between groups; 0: the factor is the same in all groups
		values    int     // values of each group
		low, high float64 // limits of the learned degrees of freedom
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

		assert.GreaterOrEqual(t, n.Freedom, c.low, "degrees of freedom of %+v", c)
		assert.LessOrEqual(t, n.Freedom, c.high, "degrees of freedom of %+v", c)
		assert.InEpsilon(t, want, n.Scale, 0.1, "scale of %+v", c)
	}

	assert.Equal(t, Exact, PairNoise([]float64{0, 0}, []int{3, 4}), "without noise")
}

// Expected: ψ′(½) = π²/2 and ψ′(1) = π²/6, and the number itself from the inverse of its trigamma.
func TestTrigamma(t *testing.T) {
	assert.InDelta(t, math.Pi*math.Pi/2, trigamma(0.5), 1e-9)
	assert.InDelta(t, math.Pi*math.Pi/6, trigamma(1), 1e-9)
	for _, x := range []float64{0.5, 1, 3.7, 200} {
		assert.InEpsilon(t, x, inverseTrigamma(trigamma(x)), 1e-9)
	}
}

// Expected: without left-out groups, and with one, the law follows from the prior alone, and does not depend on the
// distance.
func TestPriorAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	none, _ := Learn(nil, 1, named(t, "wide"), Exact)

	one, _ := Learn([]Group{draw(r, 9, 40, 0.1)}, 1, named(t, "wide"), Exact)
	assert.Equal(t, 1, one.K, "left-out groups")
	assert.Equal(t, none.Weights, one.Weights, "weights of λ")
	assert.Equal(t, 1.0, one.Ratio, "f")

	var far, near Mixture
	one.Predictor().SetLaw(&far, 0.5, 100, 0.1)
	one.Predictor().SetLaw(&near, 0.5, 1, 0.1)
	assert.Equal(t, near.Half(0.95), far.Half(0.95), "half widths at the distances 1 and 100")

	// The prior "networks" multiplies claims by its ratio, since the claims of networks are too small.
	networks, _ := Learn(nil, 1, named(t, "networks"), Exact)
	assert.Equal(t, 10., networks.Factor, "factor of the claims of networks")
	assert.Zero(t, networks.Floor, "floor of the claims of networks")
}

// The scale without a group is compared with the scale that Learn returns for the other groups. Both have the same f,
// because all claims and distances are 1. If one of two groups is left out, one group remains, which teaches nothing:
// the law follows from the prior.
func TestWithout(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))

	var left []Group
	for _, lambda := range []float64{0.5, 3, 1, 20} {
		left = append(left, draw(r, 7, lambda, 0.1))
	}

	noise := Noise{Scale: 1.1, Freedom: 12}
	all, without := Learn(left, 1, named(t, "wide"), noise)
	require.Equal(t, 4, all.K, "groups")
	require.Len(t, without, 4, "scales without one group")

	for h, got := range without {
		others := slices.Delete(slices.Clone(left), h, h+1)
		want, _ := Learn(others, 1, named(t, "wide"), noise)
		assert.Equal(t, want, got, "scale without group %d", h)
		assert.NotEqual(t, all.Weights, got.Weights, "weights of λ without group %d, and with it", h)
	}

	none, _ := Learn(nil, 1, named(t, "wide"), noise)
	_, withoutOfTwo := Learn(left[:2], 1, named(t, "wide"), noise)
	for h, got := range withoutOfTwo {
		require.Equal(t, 1, got.K, "groups without group %d of two", h)
		assert.Equal(t, none.Weights, got.Weights, "weights of λ without group %d of two, and of the prior", h)
	}

	// The residuals of a group enter the scale without another group, but not the scale without this group.
	changed := slices.Clone(left)
	changed[2].Residual = slices.Repeat([]float64{1e6}, 7)
	_, again := Learn(changed, 1, named(t, "wide"), noise)
	assert.Equal(t, without[2], again[2], "scale without the changed group")
	assert.NotEqual(t, without[1], again[1], "scale without another group")
}

// A model claims a hundredth of its squared error, and at some conditions even less. Expected: with the prior that has
// a floor of claims, 95 % intervals cover 93 to 97 %; with the wide prior, whose grid of λ ends at such factors, they
// cover less than 85 %. Compared with: the law that the errors are drawn from. Without DOUBLETAKE_LONG=all the
// campaigns are few, and the limits wider by their scatter.
func TestClaimFloor(t *testing.T) {
	campaigns := longtest.Count(18, 30)
	low := 0.90
	high := 0.99
	if longtest.IsStudy() {
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
				p.SetLaw(&m, claim, 1, noise)
				covered[name] += math.Erf(m.Half(0.95)/math.Sqrt(2*(variance[i]+noise))) / float64(campaigns*conditions)
			}
		}
	}

	t.Logf("coverage at the level 0.95: %.3f, without the floor %.3f", covered["networks"], covered["wide"])
	assert.GreaterOrEqual(t, covered["networks"], low, "coverage with the floor of claims")
	assert.LessOrEqual(t, covered["networks"], high, "coverage with the floor of claims")
	assert.Less(t, covered["wide"], 0.85, "coverage without the floor of claims")
}

// The factor of claims without left-out groups, as the comment of Prior says: ClaimRatio, but at least 1, and 1 if the
// prior has no ClaimFloor. Two groups without a floor have the same factor as none.
func TestClaimFactorWithoutGroups(t *testing.T) {
	for _, c := range []struct{ floor, ratio, want float64 }{
		{0, 0, 1}, {0, 10, 1}, {0.1, 10, 10}, {0.1, 1, 1}, {0.1, 0.2, 1},
	} {
		prior := named(t, "wide")
		prior.ClaimFloor = c.floor
		prior.ClaimRatio = c.ratio
		require.NoError(t, prior.Check())

		all, _ := Learn(nil, 1, prior, Exact)
		assert.Equal(t, c.want, all.Factor, "floor %g, ratio %g", c.floor, c.ratio)
		if c.floor > 0 {
			continue
		}

		one := []float64{1}
		group := Group{Conditions: 1, Residual: one, Noise: []float64{0.1}, Claim: one, Distance: one}
		all, _ = Learn([]Group{group, group}, 1, prior, Exact)
		assert.Equal(t, c.want, all.Factor, "two groups, ratio %g", c.ratio)
	}
}

// Expected by hand: claims of mean 0.02 and 0.04 have the floor 0.05·0.03. The squared errors of 1 − 0.1/2 and 4 −
// 0.1/2 may be ten times the mean claim of 0.03. Claims are never made smaller, and stay as they are with the wide
// prior.
func TestRaisedClaims(t *testing.T) {
	group := func(residual, claim float64) Group {
		return Group{
			Conditions: 2, Residual: []float64{residual, -residual}, Noise: []float64{0.1, 0.1},
			Claim: []float64{0.5 * claim, 1.5 * claim}, Distance: []float64{1, 1},
		}
	}

	left := []Group{group(1, 0.02), group(2, 0.04)}
	s, _ := Learn(left, 1, named(t, "networks"), Exact)

	const floor = 0.05 * 0.03
	assert.InEpsilon(t, (0.95+3.95)/0.06/10, s.Factor, 1e-12, "factor")
	assert.InEpsilon(t, floor, s.Floor, 1e-12, "floor")

	var none, low Mixture
	s.Predictor().SetLaw(&none, 0, 1, 0.1)
	s.Predictor().SetLaw(&low, floor, 1, 0.1)
	assert.InEpsilon(t, low.Half(0.95), none.Half(0.95), 1e-12, "half width without a claim, and at the floor")

	large, _ := Learn([]Group{group(1, 2), group(2, 4)}, 1, named(t, "networks"), Exact)
	assert.Equal(t, 1.0, large.Factor, "factor of claims that are larger than the errors")

	plain, _ := Learn(left, 1, named(t, "wide"), Exact)
	assert.Equal(t, 1.0, plain.Factor, "factor with the wide prior")
	assert.Zero(t, plain.Floor, "floor with the wide prior")
}

// Expected: no error for any scale that Learn returns, and for a damaged scale an error that names the damage.
func TestScaleCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	one := draw(r, 4, 1, 0.1)
	several := uneven(r)
	for _, left := range [][]Group{nil, {one}, several} {
		for _, prior := range []string{"wide", "networks"} {
			s, _ := Learn(left, 1, named(t, prior), Exact)
			assert.NoError(t, s.Check(), "%d groups, %s", len(left), prior)
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
		s, _ := Learn(several, 1, named(t, "wide"), Exact)
		damage(s)
		assert.ErrorContains(t, s.Check(), words)
	}
}

// Expected: a panic with the sizes, because slices that do not fit are a mistake of the program.
func TestLearnPanics(t *testing.T) {
	assert.PanicsWithValue(t, "scale: a group of 0 conditions and 1 outcomes has slices of 0, 0, 0 and 0 numbers", func() {
		Learn([]Group{{}}, 1, named(t, "wide"), Exact)
	})
	wide := named(t, "wide")
	assert.PanicsWithValue(t, "scale: a group of 2 conditions and 1 outcomes has slices of 1, 0, 0 and 0 numbers", func() {
		Learn([]Group{{Conditions: 2, Residual: []float64{1}}}, 1, wide, Exact)
	})
}

// Expected: a stored scale gives half widths with the same bits.
func TestStored(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	s, _ := Learn([]Group{draw(r, 4, 1, 0.1), draw(r, 4, 3, 0.1)}, 1, named(t, "library"), Noise{Scale: 1.2, Freedom: 9})
	b, err := json.Marshal(s)
	require.NoError(t, err)

	var back Scale
	require.NoError(t, json.Unmarshal(b, &back))

	var m, n Mixture
	s.Predictor().SetLaw(&m, 0.3, 0.6, 0.1)
	back.Predictor().SetLaw(&n, 0.3, 0.6, 0.1)

	assert.Equal(t, m.Half(0.9), n.Half(0.9), "half width of the stored scale")
}

// Expected: the digest depends on the numbers of a prior and not on its words, and the weights of every prior sum to 1.
func TestPriors(t *testing.T) {
	wide := named(t, "wide")
	assert.NotEqual(t, wide.Digest(), named(t, "library").Digest())

	renamed := wide
	renamed.Name = "mine"
	renamed.Origin = "elsewhere"
	assert.Equal(t, wide.Digest(), renamed.Digest())

	for _, name := range []string{"wide", "library", "networks", "things"} {
		assert.True(t, IsNamed(name), name)
		assert.InDelta(t, 1, floats.Sum(named(t, name).weights()), 1e-12, "sum of the weights of %s", name)
	}

	for _, name := range []string{"narrow", ""} {
		_, err := Named(name)
		require.ErrorContains(t, err, "wide or library")
		assert.False(t, IsNamed(name), name)
	}
}

// Expected: an error that names what is wrong with a file of priors.
func TestReadPriorsRefuses(t *testing.T) {
	for _, c := range []struct{ old, damaged, words string }{
		{"doubletake-scale-priors", "other", `found "other" version 1`},
		{`"version": 1`, `"version": 9`, "version 1, found"},
		{`"tau": 0.8`, `"tau": 0`, "positive deviations"},
		{`"m": 0.5`, `"m": 8`, "expected m from -3 to 4, found 8"},
		{`"m_std": 0.75`, `"m_std": 0.01`, "expected an m_std of at least"},
		{`"tau": 0.8`, `"tau": 3`, "expected tau from 0.1 to 2.7, found 3"},
		{`"tau": 0.8, "tau_std": 0.8`, `"tau": 0.7, "tau_std": 0.001`, "with which the grids of m and tau have a weight"},
		{`"m_std": 0.75`, `"m_std": -1`, "positive deviations"},
		{`"claim_floor": 0.05`, `"claim_floor": -1`, "ClaimFloor:-1"},
		{`"claim_ratio": 10`, `"claim_ratio": 0`, "ClaimRatio:0"},
		{`"name": "wide"`, `"name": ""`, "expected a name"},
		{
			`"name": "wide"`, `"name": "wide", "rises": {"of": "a", "origin": "b", "rose": {"groups": 1, "inside": 2}}`,
			"shares inside from 0 to 1",
		},
		{"{", "[", "decode priors of the scale: "},
	} {
		damaged := strings.Replace(string(builtin), c.old, c.damaged, 1)
		require.NotEqual(t, string(builtin), damaged, "%s is in the built-in priors", c.old)

		_, err := ReadPriors([]byte(damaged))
		assert.ErrorContains(t, err, c.words, c.damaged)
	}
}

// Any file of priors is refused, or all its priors pass the check and are read back as they were written.
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

		b, err := EncodePriors(list...)
		require.NoError(t, err)

		again, err := ReadPriors(b)
		require.NoError(t, err)
		assert.Equal(t, list, again)

		for _, p := range list {
			require.NoError(t, p.Check())
		}
	})
}

// Expected: all rows if they are few, otherwise evenly spaced ones with the first and the last.
func TestEvenly(t *testing.T) {
	assert.Equal(t, []int{0, 1, 2, 3, 4}, evenly(5, 9))
	assert.Equal(t, []int{0, 4, 8}, evenly(9, 3))
}

// Expected: a negative noise counts as 0, and a claim that is not finite has no finite half width.
func TestNotFinite(t *testing.T) {
	s, _ := Learn(nil, 1, named(t, "wide"), Noise{Scale: 1, Freedom: 8})
	p := s.Predictor()

	var m, none Mixture
	p.SetLaw(&m, 0.1, 1, -0.5)
	p.SetLaw(&none, 0.1, 1, 0)

	assert.Equal(t, none.Half(0.95), m.Half(0.95), "half widths without noise, and with a negative one")

	for _, claim := range []float64{math.NaN(), math.Inf(1)} {
		p.SetLaw(&m, claim, 1, 0.1)
		half := m.Half(0.95)
		assert.True(t, math.IsNaN(half) || math.IsInf(half, 0), "half width %g of the claim %g", half, claim)
		assert.NotZero(t, m.Dispersion(), "dispersion of the claim %g", claim)
	}
}
