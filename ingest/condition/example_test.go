package condition_test

import (
	"fmt"

	"doubletake/ingest/condition"
)

// The other cells of a column show what 1.200 means. If they show nothing, such a cell is an error.
func ExampleReadColumn() {
	col, _ := condition.ReadColumn([]string{"-1,5°", "0°", "n/a", "1.200°"}, condition.ColumnOptions{})
	fmt.Println(col.Values, col.Unit)

	_, err := condition.ReadColumn([]string{"900", "1,200"}, condition.ColumnOptions{})
	fmt.Println(err.(*condition.CellError).Found)

	// Output:
	// [-1.5 0 NaN 1200] °
	// "1,200", which is 1.2 or 1200, and no other cell shows which
}

// The numbers in the names of two files, as text.
func ExampleCutNames() {
	for _, c := range condition.CutNames([]string{"run-1_alpha-2p5.txt", "run-2_alpha0.txt"}) {
		fmt.Println(c.Numbers)
	}

	// Output:
	// [1 -2p5]
	// [2 0]
}
