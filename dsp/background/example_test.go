package background_test

import (
	"fmt"
	"strings"

	"doubletake/dsp/background"
	"doubletake/ingest/table"
)

// A level 3 dB above the background reads 3 dB high, and a level 10 dB above it reads half a decibel high.
func ExampleWarnHigh() {
	pairs := &table.Table{Columns: []table.Column{
		{Name: "l_125hz_db_1", Floats: []float64{53, 56, 60}},
		{Name: "l_125hz_db_background_1", Floats: []float64{50, 50, 50}},
	}}

	for _, warning := range background.WarnHigh("pipeline.yaml", pairs) {
		fmt.Println(warning.Code)
		fmt.Println(strings.ReplaceAll(warning.Text, ", ", ",\n"))
	}
	// Output:
	// background-high
	// the background is not subtracted: levels of bands and sums read high by 0.5 to 3.0 dB,
	// in the median by 1.3 dB; background: {…,
	// subtract: true} subtracts it
}
