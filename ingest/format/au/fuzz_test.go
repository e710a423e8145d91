package au

import (
	"testing"

	"doubletake/ingest/ingesttest"
)

// FuzzAU reads any bytes: no panic, errors that are data errors, memory bounded.
func FuzzAU(f *testing.F) { ingesttest.Fuzz(f, Format, "../testdata/sound/*.au*", 1<<16) }
