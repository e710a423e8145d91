package slurm_test

import (
	"fmt"

	"doubletake/pipeline/engine/slurm"
)

// A node with other kernels than the driver's machine would give other bytes;
// the run ends with this error before any task runs there.
func ExampleDisagreeError() {
	err := &slurm.DisagreeError{
		Node:        "n7",
		Differences: []slurm.Difference{{What: "kernels", Here: "avx512", There: "avx2"}},
	}

	fmt.Println(err)
	// Output:
	// node n7 does not agree with the machine of the run: kernels is "avx2" there and "avx512" here
}
