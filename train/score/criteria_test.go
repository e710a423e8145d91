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

// Differences between methods, their standard errors and p values are right. Expected values: scipy
// (testdata/make_paired.py).
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
	require.Len(t, ranks, 4)
	assert.True(t, math.IsNaN(ranks[0].P), "p value of the best method")

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

// NaN, which stands for a missing test, stays NaN and does not count as a test. Expected values:
// p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm") of R.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, math.NaN(), 0.03, 0.02})
	want := []float64{0.06, 0.04, math.NaN(), 0.06, 0.06}
	assert.InDeltaSlice(t, want, got, 1e-15)
}

// Corrected p values are not smaller than the original ones, are at most Bonferroni's, and keep the order.
func TestHolmInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		h := Holm(p)
		for i := range p {
			require.GreaterOrEqual(t, h[i], p[i], "corrected value of %v", p)
			require.LessOrEqual(t, h[i], min(1, float64(len(p))*p[i]), "corrected value of %v", p)

			for k := range p {
				if p[i] < p[k] {
					require.LessOrEqual(t, h[i], h[k], "order of %v", p)
				}
			}
		}

		least := slices.Index(p, slices.Min(p))
		require.Equal(t, min(1, float64(len(p))*p[least]), h[least], "smallest of %v", p)
	})
}

// criteriaSet returns a random set of 30 rows in 10 runs with two outcomes. Its rows have no weights.
func criteriaSet() Set {
	rng := rand.New(rand.NewPCG(1, 9))
	const n, out = 30, 2
	s := Set{Set: triplets.Set{N: n, Out: out}}
	for i := range n {
		s.Run = append(s.Run, i/3)
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

// The mean of a criterion over the rows is the number that Judge computes. Rows that are alone do not count for e. e is
// undefined for couples, and if all rows are alone.
func TestCriteriaAgreeWithJudge(t *testing.T) {
	weighted := criteriaSet()
	for i := range weighted.N {
		weighted.Weight = append(weighted.Weight, 0.5+float64(i%4))
	}

	alone := weighted
	for i := range alone.N {
		alone.Alone = append(alone.Alone, i%3 == 0)
	}

	for name, s := range map[string]Set{"no weights": criteriaSet(), "weights": weighted, "rows alone": alone} {
		j := Judge(s, s.Var, s.Cov)
		want := map[string]float64{
			"nll": j.Get("nll"), "crps": j.Get("crps"), "rmse": j.Get("e"),
			"ratio": math.Abs(math.Log(j.Get("sum_e_ratio"))),
		}

		for _, c := range Criteria() {
			assert.InDelta(t, want[c.Key], average(c.Rows(s), nil), 1e-12, "%s: %s", name, c.Key)
		}

		assert.InDelta(t, j.Get("sum_e_ratio"), ErrorRatio(s), 1e-12, "Σe/Σv̂")
	}

	s := criteriaSet()
	s.Couples = true
	assert.True(t, math.IsNaN(measuredRows(s)[0]), "measured error of couples")

	alone.Alone = slices.Repeat([]bool{true}, alone.N)
	assert.True(t, math.IsNaN(measuredRows(alone)[0]), "measured error of rows alone")
}

// A set without the answers that a criterion needs has no score: NaN, and not 0, which would be the best score.
func TestCriteriaWithoutAnswers(t *testing.T) {
	without := map[string]func(s *Set){
		"nll":   func(s *Set) { s.Var = nil },
		"crps":  func(s *Set) { s.Var = nil },
		"ratio": func(s *Set) { s.Cov = nil },
	}
	for _, c := range Criteria() {
		s := criteriaSet()
		remove, needsAnswer := without[c.Key]
		if !needsAnswer { // the measured error needs neither variances nor covariances
			s.Var = nil
			s.Cov = nil
			assert.False(t, math.IsNaN(c.Rows(s)[0]), c.Key)
			continue
		}

		remove(&s)
		assert.True(t, math.IsNaN(c.Rows(s)[0]), c.Key)
	}
}

// The rows of the ratio scatter as the ratio does. Expected value: the standard error by a jackknife over the runs,
// within 10 %.
func TestRatioRowsAgainstJackknife(t *testing.T) {
	const runs = 10
	s := criteriaSet()
	_, se := ClusteredMean(ratioRows(s.check()), s.Run)

	var left []float64 // the ratio without each run
	for g := range runs {
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
	assert.InEpsilon(t, sd*(runs-1)/math.Sqrt(runs), se, 0.1, "standard error of the ratio")
}
