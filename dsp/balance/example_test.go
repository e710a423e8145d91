package balance_test

import (
	"fmt"

	"doubletake/dsp/balance"
)

// A balance whose z axis points down measures lift as a negative force.
func ExampleComponent() {
	name, sign := balance.Component("-Fz")
	fmt.Println(name, sign)
	fmt.Println(balance.CoefficientOf["lift_n"])
	// Output:
	// Fz -1
	// cl
}
