package kernel_test

import (
	"fmt"

	"doubletake/ingest/kernel"
)

// The sums behind a channel's statistics.
func ExampleDescribe() {
	x := []float32{1, 2, 2, 2, 5, -3, 0, 1}
	d := kernel.Describe(x, 0)
	fmt.Printf("%+v\n", d)
	fmt.Println(kernel.Squares(x, d.Sum/float64(len(x))))
	// Output:
	// {Sum:10 Low:-3 High:5 Pair:true Triple:true}
	// 35.5
}
