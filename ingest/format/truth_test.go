package format_test

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type truth struct {
	Format string      `json:"format"`
	Rate   float64     `json:"rate"`
	Data   [][]float64 `json:"data"`
}

func readTruth(t testing.TB) map[string]truth {
	t.Helper()

	m := map[string]truth{}
	for _, name := range []string{"truth/truth.json", "sound/sound.json"} {
		b := testfile.Read(t, "testdata/"+name)

		files := map[string]truth{}
		require.NoError(t, json.Unmarshal(b, &files))

		for k, v := range files {
			m[filepath.Join("testdata", filepath.Dir(name), k)] = v
		}
	}

	// pyuff wrote or read the UFF files, and lvm_read read the LVM files (make.py in their folders), in which an empty
	// column is not a channel.
	for _, name := range []string{"uff", "lvm"} {
		b := testfile.Read(t, name+"/testdata/truth.json")

		files := map[string][][]*float64{}
		require.NoError(t, json.Unmarshal(b, &files))

		for file, columns := range files {
			w := truth{Format: name, Rate: -1}
			for _, c := range columns {
				if slices.Contains(c, nil) {
					continue
				}

				var x []float64
				for _, v := range c {
					x = append(x, *v)
				}

				w.Data = append(w.Data, x)
			}

			m[filepath.Join(name, "testdata", file)] = w
		}
	}

	return m
}

// TestTruth compares every sample of every file with the samples that scipy.io.wavfile, numpy.load and numpy.loadtxt
// (testdata/make_truth.py) or libsndfile (testdata/make_sound.py) read. JSON has float64 exactly, so the samples must
// be equal.
func TestTruth(t *testing.T) {
	all := readTruth(t)
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}

	sort.Strings(names)

	require.GreaterOrEqual(t, len(names), 76, "only %d files: are the JSON files complete?", len(names))

	for _, name := range names {
		want := all[name]
		t.Run(name, func(t *testing.T) {
			r, err := format.Open(name, ingest.Options{})
			require.NoError(t, err)
			defer r.Close()

			info := r.Info()
			require.Equal(t, want.Format, info.Format, "format")
			require.Len(t, info.Channels, len(want.Data), "channels")

			if want.Format != "lvm" { // its increments have too few digits for a rate
				assert.Empty(t, info.Warnings, "warnings")
			}

			for c, ch := range info.Channels {
				require.EqualValues(t, len(want.Data[c]), ch.Samples, "channel %d: samples", c)
				if want.Rate >= 0 { // −1: not known
					require.Equal(t, want.Rate, ch.RateHz, "channel %d: rate", c)
				}
			}

			access(t, r, want.Data)
		})
	}
}

// access checks that a file has the given samples in channels of one length. It reads them at once, by threes
// backwards with the channels in another order and one of them twice, and across the end.
func access(t testing.TB, r ingest.Reader, want [][]float64) {
	t.Helper()

	require.Len(t, r.Info().Channels, len(want), "channels")

	for c, x := range ingesttest.ReadAll(t, r) {
		ingesttest.Equal(t, x, want[c])
	}

	n := len(want[0])
	last := len(want) - 1
	dst := [][]float64{make([]float64, 3), make([]float64, 3), make([]float64, 3)}
	for at := n - 3; at >= 0; at-- {
		pick := []int{last, 0, last}
		got, err := r.Read(pick, int64(at), dst)
		require.NoError(t, err, "from %d on", at)
		require.Equal(t, 3, got, "samples read from %d on", at)

		for i, c := range pick {
			ingesttest.Equal(t, dst[i], want[c][at:at+3])
		}
	}

	for left := range 2 {
		got, err := r.Read([]int{0}, int64(n-left), dst[:1])
		require.ErrorIs(t, err, io.EOF, "%d samples before the end", left)
		require.Equal(t, left, got, "samples read before the end")
	}
}
