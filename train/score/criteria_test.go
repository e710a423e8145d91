package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// Expected values are scipy's (testdata/make_paired.py).
func TestRankingAgainstScipy(t *testing.T) {
	raw := testfile.Read(t, "testdata/paired.json")

	var want struct {
		Plain struct {
			Scores             [][]float64
			P, Holm, Above, SE []float64
		}
		Clustered struct {
			Scores       [][][]float64
			Run          []int
			Above, SE, P float64
		}
	}

	require.NoError(t, json.Unmarshal(raw, &want))

	near := func(what string, got, want float64) {
		t.Helper()
		assert.InDelta(t, want, got, 1e-9*math.Max(1, math.Abs(want)), "%s", what)
	}

	var scores [][][]float64
	for _, m := range want.Plain.Scores {
		scores = append(scores, [][]float64{m})
	}

	run := make([]int, len(scores[0][0]))
	for i := range run {
		run[i] = i
	}

	ranks := Ranking(scores, run)
	require.Len(t, ranks, 4, "%+v", ranks)
	require.True(t, math.IsNaN(ranks[0].P), "%+v", ranks)

	var p []float64
	for i, r := range ranks[1:] {
		p = append(p, r.P)
		near("difference", r.Above, want.Plain.Above[i])
		near("SE", r.SE, want.Plain.SE[i])
		near("p", r.P, want.Plain.P[i])
	}

	for i, v := range Holm(p) {
		near("Holm", v, want.Plain.Holm[i])
	}

	r := Ranking(want.Clustered.Scores, want.Clustered.Run)[1]
	near("clustered difference", r.Above, want.Clustered.Above)
	near("clustered SE", r.SE, want.Clustered.SE)
	near("clustered p", r.P, want.Clustered.P)
}

// The example of R's p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm"), with one that is no test.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, math.NaN(), 0.03, 0.02})
	for i, want := range []float64{0.06, 0.04, math.NaN(), 0.06, 0.06} {
		if math.IsNaN(want) {
			assert.True(t, math.IsNaN(got[i]), "%v", got)
			continue
		}

		assert.InDelta(t, want, got[i], 1e-15, "%v", got)
	}
}

// Corrected values are no smaller, at most Bonferroni's, and keep the order.
func TestHolmInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		h := Holm(p)
		for i := range p {
			require.GreaterOrEqual(t, h[i], p[i], "%v → %v", p, h)
			require.LessOrEqual(t, h[i], min(1, float64(len(p))*p[i]), "%v → %v", p, h)

			for k := range p {
				if p[i] < p[k] {
					require.LessOrEqual(t, h[i], h[k], "the order stays: %v → %v", p, h)
				}
			}
		}

		least := slices.Index(p, slices.Min(p))
		require.Equal(t, min(1, float64(len(p))*p[least]), h[least], "the smallest: %v → %v", p, h)
	})
}

// criteriaSet is a random set of 30 rows in 10 runs with two outcomes.
func criteriaSet(weights bool) Set {
	rng := rand.New(rand.NewPCG(1, 9))
	const n, out = 30, 2
	s := Set{Set: triplets.Set{N: n, Out: out}}
	for i := range n {
		s.Run = append(s.Run, i/3)
		if weights {
			s.Weight = append(s.Weight, 0.5+rng.Float64())
		}

		for range out {
			mu := rng.NormFloat64()
			err := 0.4 * rng.NormFloat64()
			s.Mu = append(s.Mu, mu)
			s.Y1 = append(s.Y1, mu+err+0.2*rng.NormFloat64())
			s.Y2 = append(s.Y2, mu+err+0.2*rng.NormFloat64())
			s.Var = append(s.Var, 0.1+rng.Float64())
			s.Cov = append(s.Cov, 0.05+0.1*rng.Float64())
		}
	}

	return s
}

// The means over the rows are the numbers of Judge.
func TestCriteriaAreJudges(t *testing.T) {
	for _, weights := range []bool{false, true} {
		s := criteriaSet(weights)
		j := Judge(s, s.Var, s.Cov)
		want := map[string]float64{
			"nll": j.Get("nll"), "crps": j.Get("crps"), "rmse": j.Get("e"),
			"ratio": math.Abs(math.Log(j.Get("sum_e_ratio"))),
		}

		for _, c := range Criteria() {
			assert.InDelta(t, want[c.Key], average(c.Rows(s), nil), 1e-12, "weights %v: %s", weights, c.Key)
		}

		assert.InDelta(t, j.Get("sum_e_ratio"), ErrorRatio(s), 1e-12, "Σe/Σv̂")
	}

	s := criteriaSet(false)
	s.Couples = true
	assert.True(t, math.IsNaN(Criteria()[2].Rows(s)[0]), "couples have no measured error")
}

// The scatter of the ratio's rows is that of the ratio: within 10 % of the jackknife's
// standard error over runs.
func TestRatioRowsAgainstJackknife(t *testing.T) {
	s := criteriaSet(false)
	_, se := ClusteredMean(ratioRows(s.check()), s.Run)

	var left []float64
	for g := range 10 {
		u := Set{Set: triplets.Set{Out: 2}}
		for i := range s.N {
			if s.Run[i] == g {
				continue
			}

			u.N++

			for k := 2 * i; k < 2*i+2; k++ {
				u.Y1 = append(u.Y1, s.Y1[k])
				u.Y2 = append(u.Y2, s.Y2[k])
				u.Mu = append(u.Mu, s.Mu[k])
				u.Cov = append(u.Cov, s.Cov[k])
			}
		}

		left = append(left, math.Abs(math.Log(ErrorRatio(u))))
	}

	_, sd := MeanStd(left)
	assert.InEpsilon(t, sd*9/math.Sqrt(10), se, 0.1, "standard error, as by the jackknife")
}
