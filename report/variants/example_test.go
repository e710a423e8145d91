package variants_test

import (
	"fmt"

	"doubletake/report/variants"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Two variants predict the same two rows; the second predicts them better.
func ExampleJudged_Compare() {
	variant := func(mu float64) variants.Variant {
		rows := score.Set{
			Set:     triplets.Set{N: 2, Out: 1, Y1: []float64{1, 1}, Y2: []float64{1, 1}},
			Answers: triplets.Answers{Mu: []float64{mu, mu}, Var: []float64{1, 1}, Cov: []float64{1, 1}},
		}

		return variants.Variant{Unit: []string{"a", "b"}, Run: []string{"a", "b"}, Seeds: []score.Set{rows}}
	}

	comparison := variants.Judged{variant(0), variant(1)}.Compare()
	fmt.Println(comparison.Pairing)
	fmt.Println("best: variant", comparison.Criteria[0].Ranks[0].Variant)
	// Output:
	// row by row, 2 rows
	// best: variant 1
}
