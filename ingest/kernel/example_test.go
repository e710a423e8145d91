package kernel_test

import (
	"fmt"

	"doubletake/ingest/kernel"
)

// The sums behind a channel's statistics.
func ExampleDescribe() {
	x := []float32{1, 2, 2, 2, 5, -3, 0, 1}
	sum, low, high, pair, triple := kernel.Describe(x, 0)
	fmt.Println(sum, low, high, pair, triple)
	fmt.Println(kernel.Squares(x, sum/float64(len(x))))
	// Output:
	// 10 -3 5 true true
	// 35.5
}
