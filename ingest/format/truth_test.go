package format

import (
	"encoding/json"
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

			ingesttest.Access(t, r, want.Data)
		})
	}
}
