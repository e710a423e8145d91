package aiff_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/aiff"
)

func Example() {
	src, err := ingest.OpenSource("../testdata/sound/sf_pcm_16_little.aiff")
	if err != nil {
		log.Fatal(err)
	}
	r, err := aiff.Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	c := r.Info().Channels[1]
	fmt.Println(r.Info().Encoding, c.Name, c.Unit, c.RateHz, c.Samples, r.Info().Attributes)
	// Output: PCM 16-bit 2 full-scale 44100 37 [{title wing} {comment tripped at 5 %}]
}
