package format_test

import (
	"errors"
	"fmt"
	"log"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format"
)

func ExampleOpen() {
	r, err := format.Open("testdata/truth/savetxt_g.csv", ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	info := r.Info()
	fmt.Println(info.Format, info.Encoding)

	for _, c := range info.Channels {
		fmt.Println(c.Name, c.Unit, c.Samples)
	}
	// Output:
	// text comma separated
	// Fx N 37
	// Fy N 37
	// Fz N 37
	// Mx N m 37
}

// Errors name the place in the file and a remedy.
func ExampleOpen_refused() {
	_, err := format.Open("testdata/truth/sox_alaw.wav", ingest.Options{})

	var e *fault.Error
	if errors.As(err, &e) {
		fmt.Printf("%s\nexpected %s\nfound %s\n(%s)\n", e.Place, e.Want, e.Found, e.Hint)
	}
	// Output:
	// byte 20
	// expected PCM or IEEE float samples
	// found format 0x0006 (A-law)
	// (convert the file to PCM, e.g. with sox or ffmpeg)
}
