package arrow_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/arrow"
)

func Example() {
	src, err := ingest.OpenSource("testdata/recording.arrow", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := arrow.Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Printf("%s [%s] %g Hz\n", c.Name, c.Unit, c.RateHz)
	}
	// Output:
	// mic [Pa] 6400 Hz
	// raw [] 6400 Hz
	// force [N] 6400 Hz
}
