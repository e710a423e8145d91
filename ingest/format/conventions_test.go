package format

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
)

// Packed numbers are unpacked after the conventions of netCDF, and MATLAB's axes
// mean the same in every version of its files. testdata/make_conventions.py wrote
// the files with netCDF4, h5py and scipy; truth.json holds numpy's values, null
// where a number is no sample.
func TestConventions(t *testing.T) {
	b, err := os.ReadFile("testdata/conventions/truth.json")
	if err != nil {
		t.Fatal(err)
	}

	var files map[string][]struct {
		TimeAxis   string                `json:"time_axis"`
		Channels   map[string][]*float64 `json:"channels"`
		Attributes map[string]string     `json:"attributes"`
		Unread     map[string]string     `json:"unread"`
	}

	if err := json.Unmarshal(b, &files); err != nil {
		t.Fatal(err)
	}

	if len(files) != 11 {
		t.Fatalf("%d files", len(files))
	}

	for name, cases := range files {
		for _, want := range cases {
			t.Run(name+" "+want.TimeAxis, func(t *testing.T) {
				o := ingest.Options{Arrays: ingest.ArrayOptions{TimeAxis: want.TimeAxis}}
				r, err := Open(filepath.Join("testdata/conventions", name), o)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()

				info := r.Info()
				if len(info.Channels) != len(want.Channels) || len(info.Unread) != len(want.Unread) {
					t.Errorf("%d channels, %d unread, want %d, %d: %v", len(info.Channels), len(info.Unread),
						len(want.Channels), len(want.Unread), info.Unread)
				}

				for _, u := range info.Unread {
					if w, ok := want.Unread[u.Name]; !ok || !strings.Contains(u.Reason, w) {
						t.Errorf("unread %+v, want %q", u, w)
					}
				}

				attributes := map[string]string{}
				for _, a := range info.Attributes {
					attributes[a.Name] = a.Value
				}

				for k, v := range want.Attributes {
					if attributes[k] != v {
						t.Errorf("attribute %s is %q, want %q", k, attributes[k], v)
					}
				}

				for k, c := range info.Channels {
					w, ok := want.Channels[c.Name]
					got := make([]float64, len(w)+1)
					n, err := r.Read([]int{k}, 0, [][]float64{got})
					if !ok || n != len(w) || c.Samples != int64(n) || !errors.Is(err, io.EOF) {
						t.Fatalf("%s: %d of %d samples, want %d: %v", c.Name, n, c.Samples, len(w), err)
					}

					for i, v := range w {
						if v == nil && !math.IsNaN(got[i]) || v != nil && got[i] != *v {
							t.Errorf("%s, sample %d: %v, want %v", c.Name, i, got[i], v)
						}
					}
				}
			})
		}
	}
}

// A square array is refused where nothing names its axis of time.
func TestSquare(t *testing.T) {
	for _, name := range []string{"square.npy", "square.npz"} {
		_, err := Open("testdata/conventions/"+name, ingest.Options{})
		if err == nil || !strings.Contains(err.Error(), "time_axis") || !strings.Contains(err.Error(), "[4 4]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
