package numbers_test

import (
	"fmt"

	"doubletake/train/numbers"
)

// A value is written with as many decimals as its deviation to two digits.
func ExampleFixed() {
	for _, v := range []struct{ value, deviation float64 }{{1.23456, 0.0996}, {-0.0004, 0.012}, {123456, 789}} {
		d := numbers.Decimals(v.deviation, 2)
		fmt.Println(numbers.Fixed(v.value, d), "±", numbers.Fixed(v.deviation, d))
	}
	// Output:
	// 1.23 ± 0.10
	// 0.000 ± 0.012
	// 123460 ± 790
}
