package kernel_test

import (
	"fmt"

	"doubletake/train/kernel"
)

// A layer of two inputs (padded to KStep) and one output (padded to Lane):
// z = 2·a0 − a1 + 0.5.
func ExampleSet() {
	set := kernel.Portable[float32]()
	rows := kernel.PadRows(1)
	k := kernel.PadK(2)
	n := kernel.PadLane(1)
	a := make([]float32, rows*k)
	w := make([]float32, k*n)
	b := make([]float32, n)
	z := make([]float32, rows*n)
	a[0] = 3
	a[1] = 1
	w[0] = 2
	w[n] = -1
	b[0] = 0.5
	set.Dense(z, kernel.MatrixOf(a, k), w, b, kernel.Size{Rows: rows, K: k, N: n}, 1)
	fmt.Println(z[0])
	// Output: 5.5
}
