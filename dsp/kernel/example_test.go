package kernel_test

import (
	"fmt"

	"doubletake/dsp/kernel"
)

// The harmonic number H(1000) = 7.485471, added in 32 lanes.
func ExampleSum() {
	x := make([]float64, 1000)
	for i := range x {
		x[i] = 1 / float64(i+1)
	}

	fmt.Printf("%.6f\n", kernel.Sum(x))
	// Output: 7.485471
}
