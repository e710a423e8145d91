package wav_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/wav"
	"doubletake/ingest/ingesttest"
)

// A 24-bit sample is a fraction of full scale.
func Example() {
	file := ingesttest.WAV{
		Tag: 1, Channels: 1, Align: 3, Bits: 24, Rate: 48000, Data: []byte{0, 0, 0x40, 0, 0, 0x80},
		Claim: 6,
	}

	r, err := wav.Format.Open(ingesttest.Source(file.Bytes()), ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	x := make([]float64, 2)
	_, err = r.Read([]int{0}, 0, [][]float64{x})
	fmt.Println(r.Info().Encoding, r.Info().Channels[0].RateHz, x, err)
	// Output: PCM 24-bit 48000 [0.5 -1] <nil>
}
