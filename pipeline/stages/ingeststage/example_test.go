package ingeststage_test

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline/stages/ingeststage"
)

// A worker opens files by paths of its own; errors name them as the user does.
func ExampleNamed() {
	err := &fault.Error{Path: "/scratch/7/a.wav", Place: "byte 36", Want: "the chunk data", Found: "the end of the file"}
	fmt.Println(ingeststage.Named(err, "/scratch/7/a.wav", "raw/a.wav"))
	// Output: raw/a.wav: byte 36: expected the chunk data, found the end of the file
}
