package format

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/internal/must"
)

// Packed numbers are unpacked after the conventions of netCDF, and MATLAB's axes
// mean the same in every version of its files. testdata/make_conventions.py wrote
// the files with netCDF4, h5py and scipy; truth.json holds numpy's values, null
// where a number is no sample.
func TestConventions(t *testing.T) {
	b := must.Read(t, "testdata/conventions/truth.json")

	var files map[string][]struct {
		TimeAxis   string                `json:"time_axis"`
		Channels   map[string][]*float64 `json:"channels"`
		Attributes map[string]string     `json:"attributes"`
		Unread     map[string]string     `json:"unread"`
	}

	must.Do(t, json.Unmarshal(b, &files))

	must.Be(t, len(files), 11, "files")

	for name, cases := range files {
		for _, want := range cases {
			t.Run(name+" "+want.TimeAxis, func(t *testing.T) {
				o := ingest.Options{Arrays: ingest.ArrayOptions{TimeAxis: want.TimeAxis}}
				r := must.Get(Open(filepath.Join("testdata/conventions", name), o))(t)
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
					must.Equal(t, attributes[k], v, "attribute %s is", k)
				}

				for k, c := range info.Channels {
					w, ok := want.Channels[c.Name]
					got := make([]float64, len(w)+1)
					n, err := r.Read([]int{k}, 0, [][]float64{got})
					must.Never(t, !ok || n != len(w) || c.Samples != int64(n) || !errors.Is(err, io.EOF),
						"%s: %d of %d samples, want %d: %v", c.Name, n, c.Samples, len(w), err)

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
		must.Refuse(t, err, "time_axis", "[4 4]")
	}
}
