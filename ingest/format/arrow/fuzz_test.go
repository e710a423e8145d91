package arrow

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// FuzzArrowRecording reads any bytes as a recording: no panic, no hang, memory
// within the bounds below. Errors name their place in the file.
// The seeds are files by Arrow JS and Polars, and files of every kind by Arrow's
// library for Go.
func FuzzArrowRecording(f *testing.F) {
	others, err := filepath.Glob("testdata/polars/*.arrow")
	if err != nil {
		f.Fatal(err)
	}

	for _, p := range append(others, "testdata/recording.arrow") {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	f.Add(bigEndian(f))

	for _, k := range kindFiles(f) {
		if len(k.bytes) < 8000 {
			f.Add(k.bytes)
		}
	}

	f.Fuzz(func(t *testing.T, b []byte) { readAny(t, b) })
}

// Bounds of memory allocated, given back or not. Verifying: 64 KiB and 300 times
// the file. Opening, where the library reads the dictionaries, and each batch: the
// reader's own bound of 16 MiB and 256 times the file, as much again for other
// memory, and 18 MiB for each compressed buffer: a decompressor's window, of which
// one is in use at a time.
const (
	openTimes = 300
	loadTimes = 512
	perBuffer = 18 << 20
)

// allocated returns what do allocates.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)

	return int64(after.TotalAlloc - before.TotalAlloc)
}

// compressedBuffers counts the compressed buffers of batches.
func compressedBuffers(blocks ...block) (n int64) {
	for _, k := range blocks {
		if k.codec != noCodec {
			n += int64(k.buffers)
		}
	}

	return n
}

func readAny(t *testing.T, b []byte) {
	size := int64(len(b))
	explained := func(err error) {
		var d *fault.Error

		var f *fault.Error
		if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &d) && !errors.As(err, &f) {
			t.Fatalf("%T: %v", err, err)
		}
	}

	var err error
	used := allocated(func() { _, err = verify(bytes.NewReader(b), size, 16<<20+256*size) })
	if used > 64<<10+openTimes*size {
		t.Fatalf("verifying %d bytes allocated %d", size, used)
	}

	explained(err)
	if err != nil {
		return
	}

	var f *file
	used = allocated(func() { f, err = openFile(bytes.NewReader(b), size) })
	explained(err)
	if err != nil {
		return
	}

	bound := func(blocks ...block) int64 { return 16<<20 + loadTimes*size + compressedBuffers(blocks...)*perBuffer }
	if most := bound(f.dictionaries...); used > most {
		t.Fatalf("opening %d bytes allocated %d, expected at most %d", size, used, most)
	}

	for i := range min(8, len(f.rows)) {
		used := allocated(func() {
			rec, err := f.load(i)
			explained(err)
			if err == nil {
				rec.Release()
			}
		})

		if most := bound(f.batches[i]); used > most {
			t.Fatalf("batch %d of %d bytes allocated %d, expected at most %d", i+1, size, used, most)
		}
	}

	r, err := openBytes("fuzz", b, ingest.Options{})
	explained(err)
	if err != nil {
		return
	}
	defer r.Close()

	x := make([]float64, 300)
	for c, ch := range r.Info().Channels[:min(12, len(r.Info().Channels))] {
		for _, start := range []int64{0, ch.Samples / 2, max(0, ch.Samples-299)} {
			n, err := r.Read([]int{c}, start, [][]float64{x})
			explained(err)

			if want := min(300, ch.Samples-start); err == nil && n != 300 || errors.Is(err, io.EOF) && int64(n) != want {
				t.Fatalf("read %d of %d at %d of %d: %v", n, want, start, ch.Samples, err)
			}
		}
	}
}
