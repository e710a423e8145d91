package aiff

import (
	"os"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
)

// FuzzAIFF reads any bytes: no panic, errors that are data errors, memory bounded.
func FuzzAIFF(f *testing.F) {
	names, err := filepath.Glob("../testdata/sound/*.aiff*")
	if err != nil || len(names) < 5 {
		f.Fatal(names, err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ingesttest.Drain(t, Format, b, ingest.Options{}, 1)
		ingesttest.Drain(t, Format, b, ingest.Options{Truncated: "use"}, 1)
	})
}
