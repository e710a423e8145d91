package table_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"doubletake/ingest/table"
)

// ExampleTable_WriteFile writes a table and reads it again. The missing number, NaN, is null in the file.
func ExampleTable_WriteFile() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "polar.arrow")

	out := table.Table{Columns: []table.Column{
		{Name: "alpha_deg", Unit: "deg", Description: "angle of attack", Floats: []float64{0, 4}},
		{Name: "cl", Description: "lift coefficient", Floats: []float64{0.02, math.NaN()}},
	}}

	written, err := out.WriteFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}

	in, err := table.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, c := range in.Columns {
		fmt.Printf("%s [%s] %v\n", c.Name, c.Unit, c.Floats)
	}

	fmt.Println("same contents:", in.Digest() == written)
	// Output:
	// alpha_deg [deg] [0 4]
	// cl [] [0.02 NaN]
	// same contents: true
}
