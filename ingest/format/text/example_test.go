package text_test

import (
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/format/text"
	"doubletake/ingest/ingesttest"
)

// Open recognises the delimiter, the decimal comma, the units and the rate from the content.
func Example() {
	r, err := text.Format.Open(ingesttest.Source([]byte("t [ms];Fx [N]\n0;1,5\n10;2,5\n")), ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, c := range r.Info().Channels {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.IsTime())
	}
	// Output:
	// t ms 100 true
	// Fx N 100 false
}
