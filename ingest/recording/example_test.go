package recording_test

import (
	"errors"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/ingest/recording"
)

// No microphone is sampled 51.2 times a second: the rate was written in kHz.
func ExampleRateHint() {
	fmt.Println(recording.RateHint(51.2, 0))
	// Output:
	// a sampling rate of 51.2 Hz (in the file) may be meant in kHz: write rate_hz: 51200
}

// A copy of a recording under another name is not a second measurement.
func ExampleCheckCopies() {
	names := []string{"monday.wav", "tuesday.wav", "wednesday.wav"}
	digests := []string{"a1", "b2", "a1"}

	var copied *fault.Error
	if errors.As(recording.CheckCopies(names, digests), &copied) {
		fmt.Printf("%s\nexpected %s\nfound %s\n", copied.Path, copied.Want, copied.Found)
	}
	// Output:
	// wednesday.wav
	// expected another measurement than monday.wav
	// found an exact copy of it (the same sha256)
}
