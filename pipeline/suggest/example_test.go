package suggest_test

import (
	"fmt"

	"doubletake/pipeline/suggest"
)

// Two conditions to measure together: the second in rank is so near the first that measuring
// there would give little more.
func ExampleBatch() {
	list := []suggest.Suggestion{
		{At: []float64{9000}, Epistemic: 1},
		{At: []float64{8500}, Epistemic: 0.9},
		{At: []float64{2000}, Epistemic: 0.5},
	}

	for _, s := range suggest.Batch(list, 2, 0) {
		fmt.Println(s.At[0])
	}
	// Output:
	// 9000
	// 2000
}
