package numbers

import "fmt"

func ExampleFixed() {
	for _, v := range []struct{ value, deviation float64 }{{1.23456, 0.0996}, {-0.0004, 0.012}, {123456, 789}} {
		d := Decimals(v.deviation, 2)
		fmt.Println(Fixed(v.value, d), "±", Fixed(v.deviation, d))
	}
	// Output:
	// 1.23 ± 0.10
	// 0.000 ± 0.012
	// 123460 ± 790
}
