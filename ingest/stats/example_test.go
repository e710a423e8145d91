package stats_test

import (
	"context"
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/stats"
)

// The second channel of a WAV file has 37 samples, the greatest of which is below full scale.
func ExampleScan() {
	r, err := format.Open("../format/testdata/truth/scipy_i16.wav", ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	run := ingest.Run{Row1: -1, Recordings: []ingest.Recording{{ID: "mic 2", Channels: []int{1}}}}
	sums, warnings, err := stats.Scan(context.Background(), r, run)
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(len(sums), sums[0].Samples, sums[0].Max < 1, len(warnings))
	// Output: 1 37 true 0
}
