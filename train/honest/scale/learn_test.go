package scale

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"doubletake/internal/longtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// simulated are left-out groups of one campaign, ln λ ~ N(m, τ²).
func simulated(r *rand.Rand, groups int, m, tau float64) (left []Group) {
	for range groups {
		left = append(left, draw(r, 8, math.Exp(m+tau*r.NormFloat64()), 0.1))
	}
	return left
}

// Witness: Scale.LogEvidence, which sums over m and τ before shapes and ω, not after.
func TestCampaignAgainstLearn(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	left := uneven(r)
	for _, name := range []string{"wide", "library", "networks"} {
		p := named(t, name)
		s, _ := Learn(left, 1, p, Exact)
		if got := NewCampaign(left, 1, p).log(p.weights()); math.Abs(got-s.LogEvidence) > 1e-9 {
			t.Errorf("%s: ln evidence %.12g, of Learn %.12g", name, got, s.LogEvidence)
		}
	}
}

// Campaigns with known m and τ: the learned m is theirs within the scatter of their mean, no
// family moves the prior by much, and its intervals cover fresh groups of fresh campaigns. A
// group counts as one value, which hides most of the scatter between groups: the deviations
// come out at the lower end of the grid, not larger than they are.
func TestLearnPrior(t *testing.T) {
	const m, between, tau, noise = 1.0, 0.5, 0.45, 0.1

	// With three groups nothing rules out the widest laws: as with the true prior, intervals cover
	// somewhat more than their level (TestSimulatedCampaigns).
	groups := 12
	families := 6
	campaigns := longtest.Count(40, 100)
	low := 0.93
	high := 0.99
	if os.Getenv("DOUBLETAKE_LONG") == "all" {
		families = 20
		campaigns = 2000
		low = 0.94
		high = 0.985
	}

	r := rand.New(rand.NewPCG(9, 1))
	draws := func() float64 { return m + between*r.NormFloat64() }
	mean := 0.0

	const each = 2

	var list []Family
	for range families {
		var f Family
		for range each {
			own := draws()
			mean += own / float64(families*each)
			f = append(f, NewCampaign(simulated(r, groups, own, tau), 1, named(t, "wide")))
		}

		list = append(list, f)
	}

	p, without := LearnPrior(list, named(t, "wide"))
	t.Logf("m %g ± %g, τ %g (ln ± %g); drawn mean %.2f", p.M, p.MStd, p.Tau, p.TauStd, mean)

	// The mean over campaigns has an error of τ/√n by their groups, and the grid has steps of ¼.
	assert.InDelta(t, mean, p.M, 0.25+3*tau/math.Sqrt(float64(groups*families*each)),
		"m is %g, the campaigns' mean %.3f", p.M, mean)
	require.LessOrEqual(t, p.MStd, between+0.01,
		"m's deviation %g, τ %g, drawn with %g and %g", p.MStd, p.Tau, between, tau)
	assert.LessOrEqual(t, p.Tau, tau+0.01, "m's deviation %g, τ %g, drawn with %g and %g", p.MStd, p.Tau, between, tau)
	require.Len(t, without, families, "%d families were left out, expected %d", len(without), families)

	gain := 0.0
	for f, o := range without {
		if gain += o.Learned - o.Like; o.Steps > 2 {
			t.Errorf("family %d: %d steps: %+v", f, o.Steps, o.Prior)
		}
	}

	assert.Greater(t, gain, 0.0, "left-out families: ln evidence %.2f below that of the wide prior", -gain)

	covered := 0.0
	for range campaigns {
		own := draws()
		s, _ := Learn(simulated(r, 3, own, tau), 1, p, Exact)

		var law Mixture
		s.Predictor().At(&law, 1, 1, noise)
		sd := math.Sqrt(math.Exp(own+tau*r.NormFloat64()) + noise)
		covered += (1 - 2*distuv.UnitNormal.CDF(-law.Half(0.95)/sd)) / float64(campaigns)
	}

	t.Logf("coverage of fresh groups at .95: %.4f", covered)

	require.GreaterOrEqual(t, covered, low, "coverage of fresh groups %.4f, expected %g to %g", covered, low, high)
	assert.LessOrEqual(t, covered, high, "coverage of fresh groups %.4f, expected %g to %g", covered, low, high)
}

// Groups that scatter much: the learned prior covers less than its level, and the wide one
// more than the learned. docs/honest.md says so.
func TestLearnPriorOfScatteredGroups(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") != "all" {
		t.Skip("set DOUBLETAKE_LONG=all to learn from scattered groups")
	}

	const noise, campaigns = 0.1, 300

	for _, c := range []struct{ between, tau float64 }{{0.5, 0.45}, {0.75, 1}, {0.3, 1.5}} {
		r := rand.New(rand.NewPCG(9, 1))
		draws := func() float64 { return 0.5 + c.between*r.NormFloat64() }

		var list []Family
		for range 20 {
			list = append(list, Family{NewCampaign(simulated(r, 8, draws(), c.tau), 1, named(t, "wide"))})
		}

		learned, _ := LearnPrior(list, named(t, "wide"))

		var covered [2]float64
		for range campaigns {
			own := draws()
			left := simulated(r, 4, own, c.tau)
			sd := math.Sqrt(math.Exp(own+c.tau*r.NormFloat64()) + noise)
			for k, p := range []Prior{learned, named(t, "wide")} {
				var law Mixture
				s, _ := Learn(left, 1, p, Exact)
				s.Predictor().At(&law, 1, 1, noise)
				covered[k] += (1 - 2*distuv.UnitNormal.CDF(-law.Half(0.95)/sd)) / campaigns
			}
		}

		t.Logf("τ %g: learned %.4g ± %g, τ %g (ln ± %g), covers %.3f; wide %.3f", c.tau, learned.M, learned.MStd,
			learned.Tau, learned.TauStd, covered[0], covered[1])

		require.GreaterOrEqual(t, covered[0], 0.9,
			"τ %g: coverage %.3f, with the wide prior %.3f", c.tau, covered[0], covered[1])
		require.GreaterOrEqual(t, covered[1], covered[0],
			"τ %g: coverage %.3f, with the wide prior %.3f", c.tau, covered[0], covered[1])
		assert.GreaterOrEqual(t, covered[1], 0.93,
			"τ %g: coverage %.3f, with the wide prior %.3f", c.tau, covered[0], covered[1])
	}
}

// A campaign that counts twice by half teaches what it teaches once, and one family leaves
// nothing that could be left out.
func TestCampaignWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	wide := named(t, "wide")
	a := NewCampaign(simulated(r, 5, 2, 0.3), 1, wide)
	b := NewCampaign(simulated(r, 6, -1, 0.3), 1, wide)
	once, _ := LearnPrior([]Family{{a, b}}, wide)
	a.Weight = 0.5
	twice, without := LearnPrior([]Family{{a, b, a}}, wide)
	require.Equal(t, twice, once, "%+v once, %+v twice by half; left out: %v", once, twice, without)
	assert.Empty(t, without, "%+v once, %+v twice by half; left out: %v", once, twice, without)

	a.Weight = 20
	if much, _ := LearnPrior([]Family{{a, b}}, wide); much.M <= once.M {
		t.Errorf("m is %g where the campaign of m 2 counts 20 times, %g where once", much.M, once.M)
	}
}

// Numbers of priors count from the last: steps by hand.
func TestSteps(t *testing.T) {
	grid := learnGrid(Prior{})
	at := func(m, mStd, tau, tauStd float64) int {
		for i, p := range grid {
			if math.Abs(p.M-m) < 1e-9 && p.MStd == mStd && p.Tau == tau && p.TauStd == tauStd {
				return i
			}
		}
		t.Fatalf("%g, %g, %g, %g is not in the grid", m, mStd, tau, tauStd)
		return 0
	}

	library := at(0.5, 0.75, 0.3, 0.3) // the built-in prior lies on the grid
	assert.Equal(t, 1, steps(library, at(0.25, 0.5, 0.3, 0.3)), "steps")
	assert.Equal(t, 3, steps(at(0.5, 0.3, 0.8, 0.8), library), "steps")
}

// What is written is read; equal priors give equal bytes.
func TestEncodePriors(t *testing.T) {
	p := Prior{Name: "own", M: 0.25, MStd: 0.5, Tau: 0.3, TauStd: 0.8, Origin: "this test"}
	b, err := EncodePriors(p)
	require.NoError(t, err)

	if list, err := ReadPriors(b); err != nil || len(list) != 1 || list[0] != p {
		t.Errorf("%+v, %v", list, err)
	}

	if c, _ := EncodePriors(p); !bytes.Equal(b, c) {
		t.Error("written twice, the bytes differ")
	}
}
