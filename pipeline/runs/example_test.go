package runs_test

import (
	"fmt"

	"doubletake/pipeline/runs"
)

// ExampleFind finds the last run: negative numbers count from the end.
func ExampleFind() {
	list := []runs.Record{{ID: "20261101T080000.000Z"}, {ID: "20261102T093000.000Z"}}
	last, err := runs.Find(list, "-1")
	fmt.Println(last.ID, err)
	// Output:
	// 20261102T093000.000Z <nil>
}
