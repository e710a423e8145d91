package score_test

import (
	"fmt"

	"doubletake/train/score"
	"doubletake/train/triplets"
)

// A model whose covariance is negative
// at one of four conditions.
func ExampleDiagnose() {
	flags := score.Diagnose(triplets.Answers{Var: []float64{1, 1, 1, 1}, Cov: []float64{0.2, 0.1, -0.1, 0.2}})
	for _, f := range flags {
		fmt.Println(f.Code)
		fmt.Println(f.Violated())
	}
	// Output:
	// negative-cov
	// C ≥ 0 is violated at 25 % of the conditions: no variance can be negative, and there is no interval
}

func ExampleChebyshev() {
	half, ok := score.Chebyshev(0.2, 0.05)
	fmt.Println(half, ok)
	_, ok = score.Chebyshev(-0.1, 0.05)
	fmt.Println(ok)
	// Output:
	// 2 true
	// false
}
