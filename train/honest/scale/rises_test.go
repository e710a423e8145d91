package scale

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The record is the one of the examination: 170 and 172 of 418 groups of 63 measured
// sets, .93 ± .01 and .990 ± .003.
func TestRises(t *testing.T) {
	const want = "Where E|cov| rose to × 1.5 or more, 95 % intervals held 93 ± 1 % of the values; " +
		"where it did not rise, 99.0 ± 0.3 % (170 and 172 held-out groups of 63 measured sets)."
	if got := BuiltInRises().Words(); got != want {
		t.Errorf("got %q", got)
	}

	builtIn := BuiltInRises()
	for rise, want := range map[float64]float64{2: 0.93, 1.55: 0.93, 1.5: math.NaN(), 1.02: 0.99, 0.1: 0.99} {
		if got := builtIn.Like(rise).Inside; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("rise %g: %g inside, expected %g", rise, got, want)
		}
	}
}

// With γ = 0 alone, rises change no bit.
func TestNoGamma(t *testing.T) {
	r := rand.New(rand.NewPCG(56, 3))
	left := []Group{draw(r, 9, 2, 0.1), draw(r, 9, 0.5, 0.1), draw(r, 9, 4, 0.1)}
	want, wantWithout := Learn(left, 1, named(t, "wide"), Exact)
	got, without := learn(left, 1, named(t, "wide"), Exact, []float64{1, -2, 0.3, 1.7}, []float64{0})
	assert.Equal(t, want, got, "scale")
	assert.Equal(t, wantWithout, without, "scales without a group")
}

// Of 24 groups 16 rose or did not; means and standard errors by hand: shares 1 and 0.8 in turn have the mean 0.9 and
// the deviation 0.1·√(n/(n−1)).
func TestLearnRises(t *testing.T) {
	var rises, inside []float64
	for i, n := range []int{10, 8, 6} {
		for k := range n {
			rises = append(rises, []float64{2, 1.2, 0.5}[i])
			inside = append(inside, []float64{1, 0.8}[k%2]-0.1*float64(i/2))
		}
	}

	r, enough := LearnRises(rises, inside)
	require.True(t, enough, "24 groups are enough")
	assert.InDelta(t, 0.9, r.Rose.Inside, 1e-12, "inside where E|cov| rose")
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
	assert.Equal(t, "Where E|cov| rose to × 1.5 or more, 95 % intervals held 90 ± 3 % of "+
		"the values; where it did not rise, 80 ± 4 % (10 and 6 held-out groups of two campaigns).",
		list[0].RisesRecord().Words(), "its words")

	if wide := named(t, "wide"); p.Digest() == wide.Digest() || wide.RisesRecord() != BuiltInRises() {
		t.Error("the record is no part of the digest, or there is one without a file")
	}

	for _, n := range []int{19, 22} { // too few groups; four that did not rise
		if _, enough := LearnRises(rises[:n], inside[:n]); enough {
			t.Errorf("%d groups are enough", n)
		}
	}
}

// In simulated campaigns of seven groups, one of which is new, rises that are correlated with ln λ lower the interval
// score of the new group. The same rises exchanged between groups change it by at most two standard errors.
func TestRisesHelp(t *testing.T) {
	if os.Getenv("DOUBLETAKE_LONG") != "all" {
		t.Skip("a study: DOUBLETAKE_LONG=all")
	}

	const campaigns, k, noise, level = 60, 6, 0.1, 0.95
	r := rand.New(rand.NewPCG(56, 2))
	prior := named(t, "wide")
	z := NormalQuantile(level)

	var gains [2][]float64 // ln score with rises over that without; of those exchanged
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
			s.Predictor().At(&m, 1, 1, noise/2)

			half := m.Half(level)
			sum := 0.0
			for _, v := range fresh.Residual {
				sum += 2*half + 2/(1-level)*max(math.Abs(v)-half, 0)
			}

			return math.Log(sum / z)
		}

		plain, _ := Learn(groups[:k], 1, prior, Exact)
		told, _ := LearnRising(groups[:k], 1, prior, Exact, rises)

		mixed := make([]float64, k+1)
		for i, from := range r.Perm(k + 1) {
			mixed[i] = rises[from]
		}

		placebo, _ := LearnRising(groups[:k], 1, prior, Exact, mixed)
		gains[0] = append(gains[0], score(told)-score(plain))
		gains[1] = append(gains[1], score(placebo)-score(plain))
	}

	for i, list := range gains {
		mean := 0.0
		square := 0.0
		for _, v := range list {
			mean += v / campaigns
		}

		for _, v := range list {
			square += (v - mean) * (v - mean)
		}

		se := math.Sqrt(square / campaigns / (campaigns - 1))
		t.Logf("ln score %.3f ± %.3f", mean, se)
		require.False(t, i == 0 && mean > -2*se, "ln score %.3f ± %.3f", mean, se)
		assert.False(t, i == 1 && mean < -2*se, "ln score %.3f ± %.3f", mean, se)
	}
}
