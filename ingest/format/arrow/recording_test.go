package arrow

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Witness: testdata/recording.arrow was written by npm apache-arrow
// (arrowjs/write.mjs) of the values repeated here: two batches of 5 and 7 rows.
func TestArrowRecording(t *testing.T) {
	r, err := openPath("testdata/recording.arrow", ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	info := r.Info()
	if info.Format != "arrow" || len(info.Channels) != 3 || len(info.Unread) != 1 || info.Unread[0].Name != "note" {
		t.Fatalf("%+v", info)
	}

	want := [3][]float64{}
	for i := range 12 {
		f := float64(i)
		want[0], want[1], want[2] = append(want[0], f/8), append(want[1], 100-3*f), append(want[2], f*f/3)
	}

	want[2][7] = math.NaN() // null

	for i, c := range []ingest.Channel{{Name: "mic", Unit: "Pa"}, {Name: "raw"}, {Name: "force", Unit: "N"}} {
		got := info.Channels[i]
		if got.Name != c.Name || got.Unit != c.Unit || got.RateHz != 6400 || got.Samples != 12 {
			t.Errorf("channel %d: %+v", i, got)
		}
	}

	if v, err := ingest.AttributeNumber(ingest.Info{Attributes: info.Channels[0].Attributes}, "serial"); err != nil ||
		v != 4711 {
		t.Errorf("serial %v, %v", v, err)
	}

	same := func(a, b float64) bool { return a == b || a != a && b != b }
	for start := range int64(12) {
		for _, n := range []int{1, 4, 12} {
			dst := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
			got, err := r.Read([]int{0, 1, 2}, start, dst)
			if w := min(n, 12-int(start)); got != w || (w < n) != errors.Is(err, io.EOF) || w == n && err != nil {
				t.Fatalf("%d samples from %d: %d, %v", n, start, got, err)
			}

			for c := range dst {
				if !slices.EqualFunc(dst[c][:got], want[c][start:int(start)+got], same) {
					t.Fatalf("channel %d from %d: %v, expected %v", c, start, dst[c][:got], want[c][start:])
				}
			}
		}
	}
}

// Damaged in any byte, of its schema and footer as of its batches, or cut
// anywhere, a file is read or refused; it never panics. Of one in four the damage is in
// the footer, which the reader starts from.
func TestArrowRecordingDamaged(t *testing.T) {
	b, err := os.ReadFile("testdata/recording.arrow")
	if err != nil {
		t.Fatal(err)
	}

	try := func(b []byte) {
		r, err := openBytes("damaged.arrow", b, ingest.Options{})
		if err != nil {
			var d *fault.Error
			if !errors.As(err, &d) {
				t.Errorf("%v is no fault.Error", err)
			}

			return
		}

		defer r.Close()

		for c, ch := range r.Info().Channels {
			x := make([]float64, min(ch.Samples, 1000))
			if _, err := r.Read([]int{c}, 0, [][]float64{x}); err != nil {
				return
			}
		}
	}

	footer := len(b) - 10 - int(binary.LittleEndian.Uint32(b[len(b)-10:]))

	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 800 {
		d, from := slices.Clone(b), 0
		if i%4 == 0 {
			from = footer
		}

		for range 1 + i%3 {
			at := from + rng.IntN(len(b)-from)
			if i%8 < 4 {
				d[at] ^= byte(1 << rng.IntN(8))
			} else {
				d[at] = byte(rng.IntN(256))
			}
		}

		try(d)
	}

	for n := 8; n < len(b); n += 29 {
		try(b[:n])
	}
}
