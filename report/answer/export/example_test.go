package export_test

import (
	"fmt"
	"os"

	"doubletake/ingest/table"
	"doubletake/report/answer/export"
)

// ExampleCSV writes a table of two rows. The name that a spreadsheet would take for a formula gets ' in front.
func ExampleCSV() {
	t := &table.Table{Columns: []table.Column{
		{Name: "run", Strings: []string{"a.wav", "=b.wav"}},
		{Name: "rpm", Unit: "1/min", Floats: []float64{5000, 5500.25}},
	}}

	if err := export.CSV(os.Stdout, t); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run,rpm
	// a.wav,5000
	// '=b.wav,5500.25
}
