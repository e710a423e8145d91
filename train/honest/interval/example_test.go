package interval_test

import (
	"fmt"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// left is a left-out speed: the deviation of its mean from the prediction, and the variance
// that the model claimed.
func left(residual, claim float64) scale.Group {
	return scale.Group{
		Conditions: 1, Residual: []float64{residual}, Noise: []float64{0.02}, Claim: []float64{claim},
		Distance: []float64{0.5},
	}
}

// Speeds 4, 8 and 12 were measured, and each left out. What that taught makes the interval
// at a new speed.
func Example() {
	prior, err := scale.Named("wide")
	if err != nil {
		fmt.Println(err)
		return
	}

	learned, _ := scale.Learn([]scale.Group{left(0.5, 0.3), left(-0.7, 0.4), left(0.6, 0.3)}, 1, prior, scale.Exact)
	c := interval.Calibration{
		Level: 0.95, K: 3, Condition: "speed", Kind: interval.Values, Axis: interval.NewAxis([]float64{4, 8, 12}, 0),
		Scale: learned, Mean: []float64{0}, Deviation: []float64{1},
		Inputs: []interval.InputRange{{Name: "speed", Min: 4, Max: 12, FromGroup: true}},
	}

	x := []float64{8, 10, 14}
	p := c.Predict(x, x, nil, triplets.Prediction{
		Mu: []float64{1, 1.2, 1.5}, Claim: []float64{0.001, 0.3, 0.6}, Noise: []float64{0.02, 0.02, 0.02},
	})
	for i, v := range x {
		fmt.Printf("speed %g: %.1f ± %.2f, outside: %v\n", v, p.Mu[i], p.Half[i], p.Where[i].Outside)
	}
	// Output:
	// speed 8: 1.0 ± 0.29, outside: false
	// speed 10: 1.2 ± 1.90, outside: false
	// speed 14: 1.5 ± 2.68, outside: true
}
