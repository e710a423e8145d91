package scale

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/longtest"
)

// simulated returns left-out groups of one campaign, with ln λ ~ N(m, τ²).
func simulated(r *rand.Rand, groups int, m, tau float64) []Group {
	var left []Group
	for range groups {
		left = append(left, draw(r, 8, math.Exp(m+tau*r.NormFloat64()), 0.1))
	}

	return left
}

// A campaign has the evidence that Learn computes. Expected value: Scale.LogEvidence, which sums over m and τ first and
// then over shapes and ω. A campaign sums in the other order.
func TestCampaignAgainstLearn(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	left := uneven(r)
	for _, name := range []string{"wide", "library", "networks"} {
		p := named(t, name)
		s, _ := Learn(left, 1, p, Exact)
		got := NewCampaign(left, 1, p).log(p.weights())
		assert.InDelta(t, s.LogEvidence, got, 1e-9, "ln evidence with the prior %s", name)
	}
}

// The campaigns are simulated with known m and τ. The prior that is learned from them must agree with these, and its
// intervals must cover groups of further campaigns.
func TestLearnPrior(t *testing.T) {
	const m, between, tau, noise = 1.0, 0.5, 0.45, 0.1

	const groups = 12 // of a campaign

	families := 6
	campaigns := longtest.Count(40, 100)
	low := 0.93 // bounds of the coverage of 95 % intervals, wider for few campaigns
	high := 0.99
	if longtest.IsStudy() {
		families = 20
		campaigns = 2000
		low = 0.94
		high = 0.985
	}

	r := rand.New(rand.NewPCG(9, 1))
	drawM := func() float64 { return m + between*r.NormFloat64() }
	const each = 2 // campaigns of a family
	mean := 0.0    // of the drawn m

	var list []Family
	for range families {
		var f Family
		for range each {
			own := drawM()
			mean += own / float64(families*each)
			f = append(f, NewCampaign(simulated(r, groups, own, tau), 1, named(t, "wide")))
		}

		list = append(list, f)
	}

	p, rests := LearnPrior(list, named(t, "wide"))
	t.Logf("m %g ± %g, τ %g (ln ± %g); drawn mean %.2f", p.M, p.MStd, p.Tau, p.TauStd, mean)

	// The mean over campaigns has an error of τ/√n by their groups, and the grid has steps of ¼.
	assert.InDelta(t, mean, p.M, 0.25+3*tau/math.Sqrt(float64(groups*families*each)), "m")

	// A group counts as one value, which hides most of the scatter between groups.
	assert.LessOrEqual(t, p.MStd, between+0.01, "deviation of m")
	assert.LessOrEqual(t, p.Tau, tau+0.01, "τ")
	require.Len(t, rests, families, "families that were left out")

	gain := 0.0 // ln evidence of the left-out families over the wide prior's
	for f, rest := range rests {
		gain += rest.Learned - rest.Like
		assert.LessOrEqual(t, rest.Steps, 2, "grid steps of the prior without family %d: %+v", f, rest.Prior)
	}

	assert.Positive(t, gain, "ln evidence of the left-out families, less ln with the wide prior")

	// With three groups nothing rules out the widest laws. Intervals then cover somewhat more than 95 %, as they do with
	// the true prior (TestSimulatedCampaigns).
	covered := 0.0
	for range campaigns {
		own := drawM()
		left := simulated(r, 3, own, tau)
		sd := math.Sqrt(math.Exp(own+tau*r.NormFloat64()) + noise) // of the values of a new group
		covered += coverage(left, p, sd, noise) / float64(campaigns)
	}

	t.Logf("coverage of further groups at .95: %.4f", covered)
	assert.GreaterOrEqual(t, covered, low, "coverage of further groups")
	assert.LessOrEqual(t, covered, high, "coverage of further groups")
}

// coverage returns the share of the values of a new group that lie inside the 95 % interval learned from groups. The
// values are normal with the deviation sd, and the claim and the distance of the new group are 1.
func coverage(left []Group, p Prior, sd, noise float64) float64 {
	s, _ := Learn(left, 1, p, Exact)

	var law Mixture
	s.Predictor().SetLaw(&law, 1, 1, noise)

	return 1 - 2*distuv.UnitNormal.CDF(-law.Half(0.95)/sd)
}

// The groups of the simulated campaigns scatter by up to τ = 1.5. Expected: 95 % intervals cover at least 90 %
// with the learned prior, and at least 93 % with the wide one, which covers more.
func TestLearnPriorOfScatteredGroups(t *testing.T) {
	longtest.SkipUnlessStudy(t)

	const noise, campaigns = 0.1, 300

	for _, c := range []struct{ between, tau float64 }{{0.5, 0.45}, {0.75, 1}, {0.3, 1.5}} {
		r := rand.New(rand.NewPCG(9, 1))
		drawM := func() float64 { return 0.5 + c.between*r.NormFloat64() }

		var list []Family
		for range 20 {
			list = append(list, Family{NewCampaign(simulated(r, 8, drawM(), c.tau), 1, named(t, "wide"))})
		}

		learned, _ := LearnPrior(list, named(t, "wide"))

		coveredLearned := 0.0
		coveredWide := 0.0
		for range campaigns {
			own := drawM()
			left := simulated(r, 4, own, c.tau)
			sd := math.Sqrt(math.Exp(own+c.tau*r.NormFloat64()) + noise) // of the values of a new group
			coveredLearned += coverage(left, learned, sd, noise) / campaigns
			coveredWide += coverage(left, named(t, "wide"), sd, noise) / campaigns
		}

		t.Logf("τ %g: learned %.4g ± %g, τ %g (ln ± %g)", c.tau, learned.M, learned.MStd, learned.Tau, learned.TauStd)

		assert.GreaterOrEqual(t, coveredLearned, 0.9, "τ %g: coverage with the learned prior", c.tau)
		assert.GreaterOrEqual(t, coveredWide, coveredLearned, "τ %g: coverage, wide and learned", c.tau)
		assert.GreaterOrEqual(t, coveredWide, 0.93, "τ %g: coverage with the wide prior", c.tau)
	}
}

// Expected: a campaign that is listed twice with the weight ½ teaches as much as once with the weight 1, and a large
// weight of the campaign with the larger m raises m. If there is one family, no family is left out.
func TestCampaignWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	wide := named(t, "wide")
	a := NewCampaign(simulated(r, 5, 2, 0.3), 1, wide)
	b := NewCampaign(simulated(r, 6, -1, 0.3), 1, wide)
	once, _ := LearnPrior([]Family{{a, b}}, wide)

	a.Weight = 0.5
	twice, rests := LearnPrior([]Family{{a, b, a}}, wide)
	assert.Equal(t, once, twice)
	assert.Empty(t, rests, "families that were left out")

	a.Weight = 20
	much, _ := LearnPrior([]Family{{a, b}}, wide)
	assert.Greater(t, much.M, once.M, "m if the campaign with m = 2 counts 20 times, and once")
}

// Expected by hand: the largest distance of two priors in steps of learnM, learnMStd, learnTau and learnTauStd.
func TestSteps(t *testing.T) {
	grid := learnGrid(Prior{})
	place := func(m, mStd, tau, tauStd float64) int {
		k := slices.IndexFunc(grid, func(p Prior) bool {
			return math.Abs(p.M-m) < 1e-9 && p.MStd == mStd && p.Tau == tau && p.TauStd == tauStd
		})
		require.GreaterOrEqual(t, k, 0, "%g, %g, %g, %g is in the grid", m, mStd, tau, tauStd)

		return k
	}

	library := place(0.5, 0.75, 0.3, 0.3) // the built-in prior lies on the grid
	assert.Equal(t, 1, steps(library, place(0.25, 0.5, 0.3, 0.3)))
	assert.Equal(t, 3, steps(place(0.5, 0.3, 0.8, 0.8), library))
}

// Expected: the prior that was written is read, and equal priors give equal bytes.
func TestEncodePriors(t *testing.T) {
	p := Prior{Name: "own", M: 0.25, MStd: 0.5, Tau: 0.3, TauStd: 0.8, Origin: "this test"}
	b, err := EncodePriors(p)
	require.NoError(t, err)

	list, err := ReadPriors(b)
	require.NoError(t, err)
	assert.Equal(t, []Prior{p}, list)

	again, err := EncodePriors(p)
	require.NoError(t, err)
	assert.Equal(t, string(b), string(again))
}
