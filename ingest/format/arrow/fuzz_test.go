package arrow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/require"
)

// FuzzArrowRecording reads any bytes as a recording: no panic, no hang, memory
// within the bounds below. Errors name their place in the file.
// The seeds are files by Arrow JS and Polars, and files of every kind by Arrow's
// library for Go.
func FuzzArrowRecording(f *testing.F) {
	others, err := filepath.Glob("testdata/polars/*.arrow")
	require.NoError(f, err)

	for _, p := range append(others, "testdata/recording.arrow") {
		b := testfile.Read(f, p)

		f.Add(b)
	}

	for _, k := range kindFiles(f) {
		if len(k.bytes) < 8000 {
			f.Add(k.bytes)
		}
	}

	f.Fuzz(func(t *testing.T, b []byte) { readAny(t, b, open) })
}

// Bounds of the memory that is allocated, even if it is freed again.
// Opening may allocate aside + openTimes × the file. Reading may allocate aside,
// and 96 MiB + loadTimes × the file for each batch, because a batch grows in steps.
const (
	openTimes = 300
	loadTimes = 512
	aside     = 64 << 10 // bytes that the runtime and other goroutines may allocate meanwhile
)

// allocated returns the number of bytes that do allocates.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)

	return int64(after.TotalAlloc - before.TotalAlloc)
}

// readAny opens bytes as a recording and reads some of its channels.
func readAny(t *testing.T, b []byte, open func(ingest.Source, ingest.Options) (ingest.Reader, error)) {
	size := int64(len(b))
	explained := func(err error) {
		if err != nil && !errors.Is(err, io.EOF) {
			require.ErrorAs(t, err, new(*fault.Error))
		}
	}

	var err error
	used := allocated(func() { _, err = openFile(bytes.NewReader(b), size) })
	ingesttest.ReportBound(t, fmt.Sprintf("bytes allocated to open %d bytes", size), used, aside+openTimes*size)
	explained(err)

	r, err := open(ingest.Source{Path: "fuzz", ReaderAt: bytes.NewReader(b), Size: size}, ingest.Options{})
	explained(err)
	if err != nil {
		return
	}
	defer r.Close()

	batches := int64(0)
	_, callErr := fmt.Sscanf(r.Info().Encoding, "Arrow IPC, %d batches", &batches)
	require.NoError(t, callErr)

	x := make([]float64, 300)
	for c, ch := range r.Info().Channels[:min(12, len(r.Info().Channels))] {
		for _, start := range []int64{0, ch.Samples / 2, max(0, ch.Samples-299)} {
			var n int
			used := allocated(func() { n, err = r.Read([]int{c}, start, [][]float64{x}) })
			explained(err)

			ingesttest.ReportBound(t, fmt.Sprintf("bytes allocated to read %d bytes", size), used,
				aside+batches*(96<<20+loadTimes*size))

			switch {
			case err == nil:
				require.Equal(t, 300, n, "samples read from %d on of %d", start, ch.Samples)
			case errors.Is(err, io.EOF):
				require.Equal(t, min(300, ch.Samples-start), int64(n), "samples read from %d on of %d", start, ch.Samples)
			}
		}
	}
}
