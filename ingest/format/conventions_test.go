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
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Packed numbers are unpacked by the conventions of netCDF, and MATLAB's axes have the same meaning in every version
// of its files. testdata/make_conventions.py wrote the files with netCDF4, h5py and scipy. truth.json has numpy's
// values, and null for numbers that are not samples.
func TestConventions(t *testing.T) {
	b := testfile.Read(t, "testdata/conventions/truth.json")

	var files map[string][]struct {
		TimeAxis   string                `json:"time_axis"`
		Channels   map[string][]*float64 `json:"channels"`
		Attributes map[string]string     `json:"attributes"`
		Unread     map[string]string     `json:"unread"`
	}

	require.NoError(t, json.Unmarshal(b, &files))

	require.Len(t, files, 11, "files")

	for name, cases := range files {
		for _, want := range cases {
			t.Run(name+" "+want.TimeAxis, func(t *testing.T) {
				o := ingest.Options{Arrays: ingest.ArrayOptions{TimeAxis: want.TimeAxis}}
				r, err := Open(filepath.Join("testdata/conventions", name), o)
				require.NoError(t, err)
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
					assert.Equal(t, v, attributes[k], "attribute %s is", k)
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

// A square array is refused if nothing names its axis of time.
func TestSquare(t *testing.T) {
	for _, name := range []string{"square.npy", "square.npz"} {
		_, err := Open("testdata/conventions/"+name, ingest.Options{})
		assert.ErrorContains(t, err, "time_axis")
		assert.ErrorContains(t, err, "[4 4]")
	}
}
