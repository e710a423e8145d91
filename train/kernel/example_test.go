package kernel_test

import (
	"fmt"

	"doubletake/train/kernel"
)

// A layer of two inputs (padded to KStep) and one output (padded to Lane):
// z = 2·a0 − a1 + 0.5.
func ExampleSet() {
	set := kernel.Portable[float32]()
	rows, k, n := kernel.PadRows(1), kernel.PadK(2), kernel.PadLane(1)
	a, w, b, z := make([]float32, rows*k), make([]float32, k*n), make([]float32, n), make([]float32, rows*n)
	a[0], a[1] = 3, 1
	w[0], w[n] = 2, -1
	b[0] = 0.5
	set.Dense(z, a, k, w, b, rows, k, n, 1)
	fmt.Println(z[0])
	// Output: 5.5
}
