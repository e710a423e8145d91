package ingest

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"
)

type truth struct {
	Format string      `json:"format"`
	Rate   float64     `json:"rate"`
	Data   [][]float64 `json:"data"`
}

func readTruth(t testing.TB) map[string]truth {
	t.Helper()
	b, err := os.ReadFile("testdata/truth/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]truth{}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTruth compares every sample of every file with what scipy.io.wavfile,
// numpy.load and numpy.loadtxt read (testdata/make_truth.py). JSON carries
// float64 exactly, so equality is exact too.
func TestTruth(t *testing.T) {
	all := readTruth(t)
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(names) < 30 {
		t.Fatalf("only %d files: is truth.json complete?", len(names))
	}
	for _, name := range names {
		want := all[name]
		t.Run(name, func(t *testing.T) {
			r, err := Open(filepath.Join("testdata/truth", name), Options{})
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
			for c, got := range readAll(t, r) {
				equal(t, got, want.Data[c])
			}
			pick := []int{len(want.Data) - 1, 0, len(want.Data) - 1}
			dst := [][]float64{make([]float64, 5), make([]float64, 5), make([]float64, 5)}
			if got, err := r.Read(pick, 3, dst); got != 5 || err != nil {
				t.Fatalf("Read = %d, %v", got, err)
			}
			for i, c := range pick {
				equal(t, dst[i], want.Data[c][3:8])
			}
			one := [][]float64{make([]float64, 1)}
			for k := n - 1; k >= 0; k-- {
				if got, err := r.Read([]int{0}, int64(k), one); got != 1 || err != nil {
					t.Fatalf("Read(%d) = %d, %v", k, got, err)
				}
				equal(t, one[0], want.Data[0][k:k+1])
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

// readAll reads every channel of a file.
func readAll(t testing.TB, r Reader) [][]float64 {
	t.Helper()
	info := r.Info()
	chans := make([]int, len(info.Channels))
	dst := make([][]float64, len(chans))
	for c := range chans {
		chans[c], dst[c] = c, make([]float64, info.Channels[c].Samples)
	}
	if n, err := r.Read(chans, 0, dst); err != nil || int64(n) != info.Channels[0].Samples {
		t.Fatalf("read all: %d, %v", n, err)
	}
	return dst
}

// equal compares bit patterns; NaN equals NaN.
func equal(t testing.TB, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d samples, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("sample %d: %v, want %v", i, got[i], want[i])
		}
	}
}
