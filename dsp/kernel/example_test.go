package kernel_test

import (
	"fmt"

	"doubletake/dsp/kernel"
)

// Every set that runs here gives the same bits.
func ExampleSets() {
	x := make([]float64, 1000)
	for i := range x {
		x[i] = 1 / float64(i+1)
	}

	same := true
	for _, s := range kernel.Sets() {
		same = same && s.Sum(x) == kernel.Portable.Sum(x)
	}

	fmt.Printf("%v %.6f\n", same, kernel.Portable.Sum(x)) // the harmonic number H(1000) = 7.485471
	// Output: true 7.485471
}
