package tabletest_test

import (
	"fmt"
	"testing"

	"doubletake/ingest/table/tabletest"

	"github.com/stretchr/testify/assert"
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

// A table of a test is written as people read it.
func ExampleParse() {
	t, err := tabletest.Parse(`
run rpm[1/min] y_1[dB] y_2[dB]
a   1000       61      62
b   2000       70      71.5`)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(t.Rows(), t.Column("run").Strings, t.Column("y_2").Floats, t.Column("rpm").Unit)
	// Output: 2 [a b] [62 71.5] 1/min
}

// Parse refuses a row with another number of cells than names, and cells of the wrong type.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"run y_1\na 1 2":          `row "a 1 2": expected 2 cells, found 3`,
		"run y_1\na":              `row "a": expected 2 cells, found 1`,
		"run y_1\na high":         "column y_1: ",
		"run y_bound_1\na always": "column y_bound_1: ",
	} {
		_, err := tabletest.Parse(text)
		assert.ErrorContains(t, err, want, "%q", text)
	}
}
