package caf

import (
	"testing"

	"doubletake/ingest/ingesttest"
)

// FuzzCAF reads any bytes: no panic, errors that are data errors, memory bounded.
func FuzzCAF(f *testing.F) { ingesttest.Fuzz(f, Format, "../testdata/sound/*.caf*", 1<<16) }
