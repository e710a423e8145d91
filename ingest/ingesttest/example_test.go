package ingesttest_test

import (
	"fmt"

	"doubletake/ingest/ingesttest"
)

func ExampleNewMemory() {
	r := ingesttest.NewMemory([]float64{1, 2, 3}, []float64{4, 5, 6})
	x := make([]float64, 2)
	n, err := r.Read([]int{1}, 1, [][]float64{x})
	fmt.Println(n, err, x)
	// Output: 2 <nil> [5 6]
}
