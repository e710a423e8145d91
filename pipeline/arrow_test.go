package pipeline_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

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
		rec := table.Table{
			Columns: []table.Column{{Name: "mic", Unit: "Pa", Floats: x}},
			Meta:    []kv.Pair{{Key: "fs", Value: "6400"}},
		}
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
	if err != nil || in.Recording == nil || in.Recording.Channels[0].RateHz != 6400 ||
		!strings.Contains(in.Recording.Encoding, "Arrow") {
		t.Errorf("%+v, %v", in, err)
	}
}

// Damaged in any byte, of its schema and footer as of its batches, or cut
// anywhere, a table is shown or refused with its name; it never panics. Of one in
// four the damage is in the footer, which the reader starts from.
func TestInspectArrowDamaged(t *testing.T) {
	b, err := os.ReadFile("../ingest/format/arrow/testdata/recording.arrow")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.arrow")
	try := func(b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := pipeline.Inspect(context.Background(), path, ingest.Options{}); err != nil &&
			!strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name the file", err)
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

// FuzzInspectArrow shows any bytes that begin as an Arrow file: no panic, no
// hang, memory bounded. The bound is 24 times that of the Arrow reader's own fuzz
// test, the most for a table of bits that become bytes in a slice that grows; 18
// MiB of it for each compressed buffer, of which a file may hold one in 24 bytes: 16
// that state where it lies, and 8 that state its length.
func FuzzInspectArrow(f *testing.F) {
	seeds, err := filepath.Glob("../ingest/format/arrow/testdata/polars/*.arrow")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range append(seeds, "../ingest/format/arrow/testdata/recording.arrow") {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	path := filepath.Join(f.TempDir(), "fuzz.arrow")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		ingesttest.Bounded(t, b, 24*16<<20, 24*512+24*18<<20/24, func() {
			if _, err := pipeline.Inspect(context.Background(), path, ingest.Options{}); err != nil &&
				!strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name the file", err)
			}
		})
	})
}
