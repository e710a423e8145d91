package format

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
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
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}

		files := map[string]truth{}
		if err := json.Unmarshal(b, &files); err != nil {
			t.Fatal(err)
		}

		for k, v := range files {
			m[filepath.Join("testdata", filepath.Dir(name), k)] = v
		}
	}

	return m
}

// TestTruth compares every sample of every file with what scipy.io.wavfile,
// numpy.load and numpy.loadtxt read (testdata/make_truth.py), or libsndfile
// (testdata/make_sound.py). JSON carries float64 exactly, so equality is exact too.
func TestTruth(t *testing.T) {
	all := readTruth(t)
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}

	sort.Strings(names)

	if len(names) < 45 {
		t.Fatalf("only %d files: are the JSON files complete?", len(names))
	}

	for _, name := range names {
		want := all[name]
		t.Run(name, func(t *testing.T) {
			r, err := Open(name, ingest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()

			info := r.Info()
			if info.Format != want.Format || len(info.Channels) != len(want.Data) {
				t.Fatalf("format %s, %d channels; want %s, %d", info.Format, len(info.Channels), want.Format, len(want.Data))
			}

			if len(info.Warnings) > 0 {
				t.Errorf("warnings: %v", info.Warnings)
			}

			for c, ch := range info.Channels {
				if ch.RateHz != want.Rate || ch.Samples != int64(len(want.Data[c])) {
					t.Fatalf("channel %d: %+v; want rate %g, %d samples", c, ch, want.Rate, len(want.Data[c]))
				}
			}

			n := len(want.Data[0])

			// All at once; then channels in another order, one twice, from an
			// odd start; then backwards sample by sample.
			for c, got := range ingesttest.ReadAll(t, r) {
				ingesttest.Equal(t, got, want.Data[c])
			}

			pick := []int{len(want.Data) - 1, 0, len(want.Data) - 1}

			dst := [][]float64{make([]float64, 5), make([]float64, 5), make([]float64, 5)}
			if got, err := r.Read(pick, 3, dst); got != 5 || err != nil {
				t.Fatalf("Read = %d, %v", got, err)
			}

			for i, c := range pick {
				ingesttest.Equal(t, dst[i], want.Data[c][3:8])
			}

			one := [][]float64{make([]float64, 1)}
			for k := n - 1; k >= 0; k-- {
				if got, err := r.Read([]int{0}, int64(k), one); got != 1 || err != nil {
					t.Fatalf("Read(%d) = %d, %v", k, got, err)
				}
				ingesttest.Equal(t, one[0], want.Data[0][k:k+1])
			}

			if got, err := r.Read([]int{0}, int64(n-2), [][]float64{make([]float64, 4)}); got != 2 || err != io.EOF {
				t.Fatalf("Read at the end = %d, %v; want 2, EOF", got, err)
			}

			if got, err := r.Read([]int{0}, int64(n), one); got != 0 || err != io.EOF {
				t.Fatalf("Read past the end = %d, %v; want 0, EOF", got, err)
			}
		})
	}
}
