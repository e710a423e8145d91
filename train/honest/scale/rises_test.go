package scale

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"doubletake/internal/longtest"
)

// Expected: the record of the study of measured sets, which found 170 and 172 of 418 groups of 63 sets, with shares
// inside of .93 ± .01 and .990 ± .003.
func TestRises(t *testing.T) {
	builtIn := BuiltInRises()
	assert.Equal(t, "In 63 measured campaigns of others, with an earlier version, the calibrated 95 % intervals "+
		"contained 93 ± 1 % of the values if E|cov| rose above × 1.54, and 99.0 ± 0.3 % if it did not rise "+
		"(170 and 172 held-out groups).", builtIn.Words())

	for ratio, want := range map[float64]float64{2: 0.93, 1.55: 0.93, 1.02: 0.99, 0.1: 0.99} {
		assert.Equal(t, want, builtIn.Like(ratio).Inside, "share inside at the ratio %g", ratio)
	}

	assert.True(t, math.IsNaN(builtIn.Like(1.5).Inside), "share inside between the ranges")
}

// Expected: if the grid of γ has 0 alone, rises change no bit.
func TestNoGamma(t *testing.T) {
	r := rand.New(rand.NewPCG(56, 3))
	left := []Group{draw(r, 9, 2, 0.1), draw(r, 9, 0.5, 0.1), draw(r, 9, 4, 0.1)}
	want, wantWithout := Learn(left, 1, named(t, "wide"), Exact)
	got, without := learn(left, 1, named(t, "wide"), Exact, []float64{1, -2, 0.3, 1.7}, []float64{0})
	assert.Equal(t, want, got, "scale")
	assert.Equal(t, wantWithout, without, "scales without a group")
}

// E|cov| rose in ten of 24 groups, did not rise in six, and lies between the ranges in eight. Expected by hand:
// shares of 1 and 0.8 in turn have the mean 0.9 and the deviation 0.1·√(n/(n−1)); the shares of the six groups are
// lower by 0.1.
func TestLearnRises(t *testing.T) {
	var ratios, inside []float64
	for _, c := range []struct {
		groups       int
		ratio, lower float64
	}{{10, 2, 0}, {8, 1.2, 0}, {6, 0.5, 0.1}} {
		for k := range c.groups {
			ratios = append(ratios, c.ratio)
			inside = append(inside, 1-0.2*float64(k%2)-c.lower)
		}
	}

	r, enough := LearnRises(ratios, inside)
	require.True(t, enough, "24 groups are enough")
	assert.InDelta(t, 0.9, r.Rose.Inside, 1e-12, "inside if E|cov| rose")
	assert.InDelta(t, 0.8, r.Steady.Inside, 1e-12, "inside if E|cov| did not rise")
	assert.InDelta(t, 0.1/3, r.Rose.SE, 1e-12, "standard error of ten groups")
	assert.InDelta(t, 0.1/math.Sqrt(5), r.Steady.SE, 1e-12, "standard error of six groups")

	p := named(t, "wide")
	p.Name = "lab"
	p.Rises = r
	p.Rises.Source = "two campaigns"
	p.Rises.Origin = "this test"
	b, err := EncodePriors(p)
	require.NoError(t, err)

	list, err := ReadPriors(b)
	require.NoError(t, err)
	assert.Equal(t, p, list[0], "prior read back")
	assert.Equal(t, "In two campaigns, the calibrated 95 % intervals contained 90 ± 3 % of the values if E|cov| rose "+
		"above × 1.54, and 80 ± 4 % if it did not rise (10 and 6 held-out groups).",
		list[0].RisesRecord().Words(), "its words")

	wide := named(t, "wide")
	assert.NotEqual(t, wide.Digest(), p.Digest(), "digests without and with a record of rises")
	assert.Equal(t, BuiltInRises(), wide.RisesRecord(), "record of a prior without one of its own")

	_, enough = LearnRises(ratios[:19], inside[:19])
	assert.False(t, enough, "19 groups are too few")

	_, enough = LearnRises(ratios[:22], inside[:22])
	assert.False(t, enough, "four groups that did not rise are too few")
}

// In simulated campaigns of seven groups, one of which is new, rises are correlated with ln λ. Expected: the rises
// lower the interval score of the new group by more than two standard errors; rises that are exchanged between groups
// do not.
func TestRisesHelp(t *testing.T) {
	if !longtest.IsStudy() {
		t.Skip("a study: DOUBLETAKE_LONG=all")
	}

	const campaigns, k, noise, level = 60, 6, 0.1, 0.95
	r := rand.New(rand.NewPCG(56, 2))
	prior := named(t, "wide")
	z := NormalQuantile(level)

	var told, exchanged []float64 // ln of the score with rises, or exchanged rises, over the score without
	for range campaigns {
		var groups []Group
		var rises []float64
		for range k + 1 {
			rises = append(rises, r.NormFloat64())
			groups = append(groups, draw(r, 12, math.Exp(0.5+0.6*rises[len(rises)-1]+0.3*r.NormFloat64()), noise))
		}

		fresh := groups[k]
		score := func(s *Scale) float64 {
			var m Mixture
			s.Predictor().SetLaw(&m, 1, 1, noise/2)

			half := m.Half(level)
			sum := 0.0
			for _, v := range fresh.Residual {
				sum += 2*half + 2/(1-level)*max(math.Abs(v)-half, 0)
			}

			return math.Log(sum / z)
		}

		plain, _ := Learn(groups[:k], 1, prior, Exact)
		withRises, _ := LearnRising(groups[:k], 1, prior, Exact, rises)

		mixed := make([]float64, k+1)
		for i, place := range r.Perm(k + 1) {
			mixed[i] = rises[place]
		}

		placebo, _ := LearnRising(groups[:k], 1, prior, Exact, mixed)
		told = append(told, score(withRises)-score(plain))
		exchanged = append(exchanged, score(placebo)-score(plain))
	}

	mean, deviation := stat.MeanStdDev(told, nil)
	standardError := deviation / math.Sqrt(campaigns)
	t.Logf("ln score with rises %.3f ± %.3f", mean, standardError)
	assert.Less(t, mean, -2*standardError, "ln score with rises over the score without")

	mean, deviation = stat.MeanStdDev(exchanged, nil)
	standardError = deviation / math.Sqrt(campaigns)
	t.Logf("ln score with exchanged rises %.3f ± %.3f", mean, standardError)
	assert.Greater(t, mean, -2*standardError, "ln score with exchanged rises over the score without")
}
