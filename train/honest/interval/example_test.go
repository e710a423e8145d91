package interval_test

import (
	"fmt"

	"doubletake/train/honest/interval"
)

// Speeds 4, 8 and 12 were measured. What the left-out groups taught, a variance of 0.5 per
// unit of distance, makes the interval at a new speed.
func Example() {
	c := interval.Calibration{
		Level: 0.95, K: 3, Condition: "speed", Kind: interval.Values, Axis: interval.NewAxis([]float64{4, 8, 12}, 0),
		Covariance: interval.Covariance{
			Variant: interval.VariantE, LnBeta: []float64{-0.69}, Distance: 1, Scale: []float64{1},
		},
		Mean: []float64{0}, Inputs: []interval.InputRange{{Name: "speed", Min: 4, Max: 12, FromGroup: true}},
	}

	x := []float64{8, 10, 14}
	p := c.Predict(x, x, []float64{1, 1.2, 1.5}, []float64{0.01, 0.01, 0.01}, []float64{0.02, 0.02, 0.02})
	for i, v := range x {
		fmt.Printf("speed %g: %.1f ± %.2f, outside: %v\n", v, p.Mu[i], p.Half[i], p.Where[i].Outside)
	}
	// Output:
	// speed 8: 1.0 ± 0.55, outside: false
	// speed 10: 1.2 ± 1.25, outside: false
	// speed 14: 1.5 ± 1.69, outside: true
}
