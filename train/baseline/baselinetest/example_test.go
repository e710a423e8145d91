package baselinetest_test

import (
	"fmt"

	"doubletake/train/baseline/baselinetest"
)

// The pairs have a gap at zero.
func ExampleToy() {
	d := baselinetest.Toy(4, 1)
	fmt.Printf("%d pairs of %d outcomes at %.1f\n", d.N, d.Out, d.X)
	// Output: 4 pairs of 2 outcomes at [-1.6 1.7 -2.6 2.4]
}
