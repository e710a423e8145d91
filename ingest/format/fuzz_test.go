package format

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/require"
)

// samples has a file of each format, written by another program.
var samples = map[string]string{
	"wav": "testdata/truth/odd_chunks.wav", "flac": "flac/testdata/i16_2ch.flac", "tdms": "testdata/arrays/run.tdms",
	"uff": "uff/testdata/text_even_real.uff", "netcdf": "netcdf/testdata/scipy_records.nc",
	"lvm": "lvm/testdata/segments.lvm", "hdf5": "hdf5/testdata/windtunnel_U10_a4.h5",
	"mat": "matfile/testdata/truth/structs_z.mat", "npz": "npz/testdata/truth/deflated.npz",
	"npy": "testdata/truth/u1.npy", "arrow": "arrow/testdata/recording.arrow",
	"parquet": "parquet/testdata/snappy_v1.parquet", "text": "testdata/truth/savetxt_g.csv",
}

// headerBytes is the length of the beginning of a file that half of the changes are in: most headers are there.
const headerBytes = 256

// In every format, a file that is cut or changed anywhere is read or refused.
func TestDamaged(t *testing.T) {
	for _, f := range All() {
		b, err := os.ReadFile(samples[f.Name])
		require.NoError(t, err, "%s: %v", f.Name, err)

		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 300 {
			d := bytes.Clone(b[:1+rng.IntN(len(b))])
			if i%3 > 0 {
				d = bytes.Clone(b)
			}

			for range i % 3 {
				span := len(d)
				if rng.IntN(2) == 0 {
					span = min(span, headerBytes)
				}

				d[rng.IntN(span)] = byte(rng.IntN(256))
			}

			drain(t, f, d, ingest.Options{Truncated: []string{"", "use"}[i%2]}, 1<<20)
		}
	}
}

// drain opens and reads a file. It checks that errors are *fault.Error, that there are at most perByte samples for each
// byte, and that reading a part again gives the same samples.
func drain(t *testing.T, f ingest.Format, b []byte, o ingest.Options, perByte int64) {
	t.Helper()

	explained := func(err error) bool {
		if err == nil {
			return true
		}

		if !errors.Is(err, io.EOF) {
			require.ErrorAs(t, err, new(*fault.Error), "%s", f.Name)
		}

		require.NotContains(t, err.Error(), "runtime error", "%s: Go's words", f.Name)

		return false
	}

	if len(b) == 0 {
		return // never opened
	}

	r, err := f.Open(ingesttest.Source(b), o)
	if !explained(err) {
		return
	}
	defer r.Close()

	info := r.Info()
	require.NotEmpty(t, info.Channels, "no channels and no error")

	total := int64(0)
	for _, c := range info.Channels {
		total += c.Samples
	}

	require.Positive(t, info.Channels[0].Samples, "samples of the first channel")
	require.LessOrEqual(t, total, perByte*int64(len(b)), "samples in %d bytes", len(b))

	chans := make([]int, min(len(info.Channels), 16))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c] = c
		dst[c] = make([]float64, min(info.Channels[0].Samples, 1<<20))
	}

	n, err := r.Read(chans, 0, dst)
	if !explained(err) || n < 1 {
		return
	}

	again := [][]float64{make([]float64, n-n/2)}
	if _, err := r.Read([]int{0}, int64(n/2), again); explained(err) {
		ingesttest.Equal(t, again[0], dst[0][n/2:])
	}
}

// fuzz drains any bytes as a file of a format, without options and with the given ones. It takes at most 1 MiB plus 64
// times the size of the file. The seeds are the files that the patterns name and that have at most most bytes.
func fuzz(f *testing.F, name string, most int, o ingest.Options, patterns ...string) {
	for _, p := range patterns {
		names, err := filepath.Glob(p)
		if err != nil || len(names) == 0 {
			f.Fatal(p, err)
		}

		for _, n := range names {
			b := testfile.Read(f, n)

			f.Add(b)
		}
	}

	format, err := recognise(ingest.Source{}, nil, name)
	require.NoError(f, err)

	o.Truncated = "use"
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > most {
			return
		}

		for _, o := range []ingest.Options{{}, o} {
			ingesttest.Bounded(t, b, 1<<20, 64, func() { drain(t, *format, b, o, 1) })
		}
	})
}

func FuzzWAV(f *testing.F) {
	fuzz(f, "wav", 1<<16, ingest.Options{}, "testdata/truth/*.wav", "testdata/sound/*.rf64")
}

func FuzzNPY(f *testing.F) { fuzz(f, "npy", 1<<16, ingest.Options{}, "testdata/truth/*.npy") }

func FuzzUFF(f *testing.F) { fuzz(f, "uff", 1<<16, ingest.Options{}, "uff/testdata/*.uff") }

func FuzzLVM(f *testing.F) { fuzz(f, "lvm", 1<<16, ingest.Options{}, "lvm/testdata/*.lvm") }

func FuzzNetCDF(f *testing.F) { fuzz(f, "netcdf", 1<<13, ingest.Options{}, "netcdf/testdata/*.nc") }

func FuzzText(f *testing.F) {
	o := ingest.Options{Text: ingest.TextOptions{Time: "1", Columns: []string{"a", "b"}}}
	fuzz(f, "text", 1<<16, o, "testdata/truth/*.csv", "testdata/truth/*.txt")
}

func FuzzOpenArrays(f *testing.F) {
	files, _ := filepath.Glob("testdata/a*/*") // arrays, axes
	for _, p := range files {
		if b, err := os.ReadFile(p); err == nil && !strings.HasSuffix(p, ".json") {
			f.Add(b)
		}
	}

	// A deflated stream becomes up to 1032 times as long. While its buffer grows, the old one of half the length is still
	// in memory.
	f.Fuzz(func(t *testing.T, b []byte) {
		if src := ingesttest.Source(b); len(b) > 0 {
			if format, err := recognise(src, b[:min(len(b), ingest.HeadBytes)], ""); err == nil {
				ingesttest.Bounded(t, b, 32<<20, 8192, func() { drain(t, *format, b, ingest.Options{}, 1<<20) })
			}
		}
	})
}
