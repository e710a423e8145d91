package variants

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Variants whose triplets differ are compared by run and conditions, as far as both have
// them. Computed by hand: predictions are 0 and claims 1, so that the error of a row is
// y1·y2, that of a unit the mean over its rows. Run "far" is in the first variant alone.
func TestSweepPairsRunsAndConditions(t *testing.T) {
	variant := func(unit, run []string, y1, y2 []float64) Variant {
		n := len(unit)
		return Variant{Unit: unit, Run: run, Seeds: []score.Set{{
			Set: triplets.Set{N: n, Out: 1, Y1: y1, Y2: y2},
			Answers: triplets.Answers{
				Mu: make([]float64, n), Var: slices.Repeat([]float64{1}, n), Cov: slices.Repeat([]float64{1}, n),
			},
		}}}
	}

	l := Judged{
		variant([]string{"r1 30", "r1 30", "r2 30", "far 30", "r1 60"}, []string{"r1", "r1", "r2", "far", "r1"},
			[]float64{1, 1, 1, 100, 2}, []float64{1, 3, 5, 100, 2}),
		variant([]string{"r1 60", "r1 60", "r1 30", "r2 30"}, []string{"r1", "r1", "r1", "r2"},
			[]float64{1, 1, 1, 2}, []float64{1, 3, 1, 2}),
		{Apart: "its outcomes are others than the first variant's"},
	}

	l, pairs := l.pair()
	require.Equal(t, "by run and conditions, 3 of the first variant's 4", pairs.how)
	require.Empty(t, pairs.whyNone)
	require.Equal(t, 2, pairs.runs)
	require.Equal(t, []int{0, 1, 0}, pairs.run)
	require.Equal(t, []int{0, 1}, pairs.variants)

	clamped := slices.IndexFunc(score.Criteria(), func(criterion score.Criterion) bool { return criterion.Key == "rmse" })
	values := l.values(pairs, score.Criteria()[clamped])
	for k, want := range [][]float64{{2, 5, 4}, {1, 4, 2}} {
		assert.Equal(t, want, values[k][0], "variant %d: errors", k)
	}

	got := map[string][2]report.VariantRank{}
	for _, c := range l.compare(pairs).Criteria {
		got[c.Key] = [2]report.VariantRank(c.Ranks)
	}

	for key, want := range map[string][2]float64{
		"rmse":  {math.Sqrt(7. / 3), math.Sqrt(11. / 3)},
		"ratio": {9. / 4, 13. / 4},
	} {
		best, other := got[key][0], got[key][1]
		assert.Equal(t, 1, best.Variant)
		assert.InDelta(t, want[0], best.Value.Mean, 1e-12)
		assert.InDelta(t, want[1], other.Value.Mean, 1e-12)
		if key == "rmse" {
			assert.InDelta(t, 4./3, other.Above, 1e-12)
		}
	}

	stranger := variant([]string{"r9 30"}, []string{"r9"}, []float64{1}, []float64{1})
	if _, p := (Judged{l[0], stranger}).pair(); p.whyNone == "" {
		t.Error("variants without a common run are compared")
	}
}
