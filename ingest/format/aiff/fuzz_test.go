package aiff

import (
	"testing"

	"doubletake/ingest/ingesttest"
)

// FuzzAIFF reads any bytes: no panic, errors that are data errors, memory bounded.
func FuzzAIFF(f *testing.F) { ingesttest.Fuzz(f, Format, "../testdata/sound/*.aiff*", 1<<16) }
