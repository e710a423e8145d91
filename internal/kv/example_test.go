package kv_test

import (
	"fmt"

	"doubletake/internal/kv"
)

// ExamplePair prints settings in the order of their list.
func ExamplePair() {
	for _, p := range []kv.Pair{{Key: "train.model.dropout", Value: "0.05"}, {Key: "kernels", Value: "portable"}} {
		fmt.Println(p.Key, "=", p.Value)
	}
	// Output:
	// train.model.dropout = 0.05
	// kernels = portable
}
