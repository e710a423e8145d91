package tabletest_test

import (
	"fmt"

	"doubletake/ingest/table/tabletest"
)

// Example prints the sizes of the tables.
func Example() {
	for _, name := range []string{"types", "empty", "long"} {
		t := tabletest.Tables()[name]
		fmt.Println(name, len(t.Columns), "columns,", t.Rows(), "rows")
	}
	// Output:
	// types 7 columns, 5 rows
	// empty 4 columns, 0 rows
	// long 2 columns, 65539 rows
}
