package tape_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"doubletake/docs/research/extensions/tape"
	"doubletake/ingest"
	"doubletake/ingest/format"
)

// By hand: 0x4000 is half of full scale.
func TestTape(t *testing.T) {
	if err := format.Register(tape.Format); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "a.tape")
	b := []byte("TAPE\x00\x10\x00\x00\x02\x00\x00\x00\x00\x40\x00\x00\x00\xC0\x00\x80")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}

	r, err := format.Open(path, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	x := [][]float64{make([]float64, 3), make([]float64, 3)}
	if n, err := r.Read([]int{0, 1}, 0, x); n != 2 || err != io.EOF || r.Info().Channels[1].RateHz != 4096 {
		t.Fatalf("%d samples, %v, %+v", n, err, r.Info())
	}

	if !slices.Equal(x[0][:2], []float64{0.5, -0.5}) || !slices.Equal(x[1][:2], []float64{0, -1}) {
		t.Errorf("%v", x)
	}

	for _, n := range []int{9, 14} {
		if err := os.WriteFile(path, b[:n], 0o644); err != nil {
			t.Fatal(err)
		}

		if _, err := format.Open(path, ingest.Options{}); err == nil {
			t.Errorf("a file of %d bytes was opened", n)
		}
	}
}
