package table_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
)

// Witness: testdata/recording.arrow was written by npm apache-arrow
// (arrowjs/write.mjs) of the values repeated here: two batches of 5 and 7 rows.
func TestArrowRecording(t *testing.T) {
	r, err := ingest.Open("testdata/recording.arrow", ingest.Options{})
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
	if v, err := ingest.AttributeNumber(ingest.Info{Attributes: info.Channels[0].Attributes}, "serial"); err != nil || v != 4711 {
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
// anywhere, a file is read or refused, as a recording and as a table; it never
// panics. Of one in four the damage is in the footer, which the reader starts from.
func TestArrowRecordingDamaged(t *testing.T) {
	b, err := os.ReadFile("testdata/recording.arrow")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.arrow")
	try := func(b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Read(path); err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name the file", err)
		}
		r, err := ingest.Open(path, ingest.Options{})
		if err != nil {
			var d *ingest.DataError
			if !errors.As(err, &d) {
				t.Errorf("%v is no DataError", err)
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

// A campaign of Arrow recordings runs to triplets. Expected: closed form, a sine
// of amplitude a at the blade passing frequency has the level 20 lg(a/√2/20 µPa).
func TestArrowCampaign(t *testing.T) {
	dir := t.TempDir()
	amplitude := []float64{0.5, 0.05}
	for i, a := range amplitude {
		x := make([]float64, 2*6400)
		for k := range x {
			x[k] = a * math.Sin(2*math.Pi*80*float64(k)/6400)
		}
		rec := table.Table{Columns: []table.Column{{Name: "mic", Unit: "Pa", Floats: x}}, Meta: []table.KV{{Key: "fs", Value: "6400"}}}
		if _, err := rec.WriteFile(filepath.Join(dir, []string{"a.arrow", "b.arrow"}[i])); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(config, []byte(`version: 1
experiments:
  rotor:
    ingest: {files: "*.arrow", constants: {blades: 2, rpm: 2400}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), engine.Options{Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	tab, err := table.Read(filepath.Join(dir, "runs", "rotor", "triplets.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := tab.Floats("bpf1_db_1")
	if err != nil || len(got) != 2 || tab.Column("bpf1_db_1").Unit != "dB re 20 µPa" {
		t.Fatalf("%v, %v", got, err)
	}
	for i, a := range amplitude {
		if want := 20 * math.Log10(a/math.Sqrt2/20e-6); math.Abs(got[i]-want) > 0.01 {
			t.Errorf("%g Pa: %.3f dB, expected %.3f", a, got[i], want)
		}
	}
	in, err := pipeline.Inspect(context.Background(), filepath.Join(dir, "a.arrow"), ingest.Options{Format: "arrow"})
	if err != nil || in.Recording == nil || in.Recording.Channels[0].RateHz != 6400 || !strings.Contains(in.Recording.Encoding, "Arrow") {
		t.Errorf("%+v, %v", in, err)
	}
}
