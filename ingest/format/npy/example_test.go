package npy_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/npy"
	"doubletake/ingest/ingesttest"
)

// The longer of two axes is time.
func Example() {
	file := ingesttest.NPY("|i1", false, []byte{1, 2, 3, 10, 20, 30}, 2, 3)
	r, err := npy.Format.Open(ingesttest.Source(file), ingest.Options{RateHz: 100})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	x := make([]float64, 3)
	_, err = r.Read([]int{1}, 0, [][]float64{x})
	fmt.Println(len(r.Info().Channels), x, err)
	// Output: 2 [10 20 30] <nil>
}
