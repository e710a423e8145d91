package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
)

// What is not compared or not selected has its reason, and nothing is said of pairs that
// there are not.
func TestSweepWithoutScores(t *testing.T) {
	ranked := func(key string, variants ...int) ByCriterion {
		b := ByCriterion{Key: key}
		for _, v := range variants {
			b.Ranks = append(b.Ranks, VariantRank{Variant: v, Value: score.Mean([]float64{float64(v)})})
		}

		return b
	}

	held := Comparison{Pairing: "row by row, 9 rows", Runs: 9, Criteria: []ByCriterion{ranked("nll", 1, 0, 2)}}
	three := Sweep{Name: "toy", Variants: []Variant{{Name: "toy/a=1"}, {Name: "toy/a=2"}, {Name: "toy/a=3"}}}
	selecting := three
	selecting.Criterion = "ratio"
	selecting.LeftOut = "x"
	for _, c := range []struct {
		name, verdict, warning string
		s                      Sweep
		splits                 []SweptSplit
	}{
		{"no split", "Not compared, because no split holds anything out.", "", three, nil},
		{
			"no score", "edge: not compared, because no score is defined for two variants.", "", three,
			[]SweptSplit{{Name: "edge", Held: Comparison{Criteria: []ByCriterion{ranked("nll"), ranked("crps", 2)}}}},
		},
		{
			"best", "edge: best by NLL a=2, better than 0 of the 2 others.", "", three,
			[]SweptSplit{{Name: "edge", Held: held}},
		},
		{
			"no ratio", "edge: none is selected, because no variant has Σe/Σv̂ on the groups of x in the training set.", "",
			selecting,
			[]SweptSplit{{Name: "edge", Held: held, Inner: Comparison{Criteria: []ByCriterion{ranked("ratio")}}}},
		},
		{
			"not one group", "edge: none is selected, because nothing is common.", "", selecting,
			[]SweptSplit{{Name: "edge", Held: held, Inner: Comparison{Unpaired: "nothing is common"}}},
		},
		{
			"one ratio", "edge: a=3 is selected by Σe/Σv̂ on 8 groups of x in the training set. On what was held out, which " +
				"the selection did not use: NLL 2.00 (place 3 of 3).",
			"edge: the selection leaves out 2 of 3 variants, whose Σe/Σv̂ on the groups of x is not defined (a dash in the " +
				"table); select: {by: nll} ranks them too",
			selecting,
			[]SweptSplit{{
				Name: "edge", Held: held, Groups: 8, Seeds: 2, Inner: Comparison{Criteria: []ByCriterion{ranked("ratio", 2)}},
			}},
		},
	} {
		s := c.s
		s.Splits = c.splits
		got := s.verdicts()
		require.Len(t, got, 1)
		assert.Equal(t, c.verdict, got[0])

		w := s.warnings()

		leaves := func(text string) bool { return strings.Contains(text, "leaves out") }
		if i := slices.IndexFunc(w, leaves); i >= 0 != (c.warning != "") || i >= 0 && w[i] != c.warning {
			t.Errorf("%s: warnings %q", c.name, w)
		}

		words := strings.Join(s.words(), "")
		assert.NotContains(t, words, "paired: ,")
		assert.Equal(t, (c.splits == nil), (words == ""))
	}
}
