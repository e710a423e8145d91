package scale_test

import (
	"fmt"

	"doubletake/train/honest/scale"
)

// Three propellers were left out in turn. The model claimed a variance of 0.1 on each. Its squared errors were about
// this large on two propellers, and larger on the third.
func Example() {
	var left []scale.Group
	for _, residual := range [][]float64{{0.3, -0.2, 0.4}, {0.1, 0.3, -0.3}, {1.2, 1.1, 0.9}} {
		left = append(left, scale.Group{
			Conditions: 3, Residual: residual, Noise: []float64{0.01, 0.01, 0.01},
			Claim: []float64{0.1, 0.1, 0.1}, Distance: []float64{1, 1, 1},
		})
	}

	prior, err := scale.Named("wide")
	if err != nil {
		fmt.Println(err)
		return
	}

	var m scale.Mixture

	s, _ := scale.Learn(left, 1, prior, scale.Exact)
	s.Predictor().SetLaw(&m, 0.1, 1, 0.01)

	for _, level := range []float64{0.68, 0.95} {
		fmt.Printf("%.0f %%: ± %.2f, %.1f times the standard uncertainty\n", 100*level, m.Half(level), m.Coverage(level))
	}
	// Output:
	// 68 %: ± 0.50, 0.6 times the standard uncertainty
	// 95 %: ± 1.56, 1.9 times the standard uncertainty
}
