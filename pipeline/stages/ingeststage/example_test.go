package ingeststage_test

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline/stages/ingeststage"
)

// An error about the table of conditions names the recording too.
func ExampleNamed() {
	err := fault.At("log.csv", "line 3", "row0 below row1", "row0 9 and row1 3", "")
	fmt.Println(ingeststage.Named(err, "raw/a.wav"))
	// Output: read raw/a.wav: log.csv: line 3: expected row0 below row1, found row0 9 and row1 3
}
