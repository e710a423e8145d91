package au_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/au"
)

func Example() {
	src, err := ingest.OpenSource("../testdata/sound/sox_f.au")
	if err != nil {
		log.Fatal(err)
	}
	r, err := au.Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	c := r.Info().Channels[1]
	fmt.Println(r.Info().Encoding, c.Name, c.Unit, c.RateHz, c.Samples, r.Info().Attributes)
	// Output: IEEE float 32-bit 2 full-scale 44100 37 [{comment Processed by SoX}]
}
