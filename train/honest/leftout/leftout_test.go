package leftout_test

import (
	"fmt"

	"doubletake/train/honest/leftout"
	"doubletake/train/honest/scale"
)

// A table has a row for each condition and outcome of a group.
func Example() {
	left := []scale.Group{{
		Conditions: 1, Residual: []float64{0.3}, Noise: []float64{0.01}, Claim: []float64{0.04}, Distance: []float64{1},
	}}
	written := leftout.Table([]string{"blades = 3"}, left, []string{"lift_n"})

	groups, err := leftout.Read(written)
	fmt.Println(written.Rows(), groups.Names, groups.Groups[0].Residual, err)
	// Output: 1 [blades = 3] [0.3] <nil>
}
