package format_test

import (
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/format"
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
				r, err := format.Open(filepath.Join("testdata/conventions", name), o)
				require.NoError(t, err)
				defer r.Close()

				info := r.Info()
				assert.Len(t, info.Channels, len(want.Channels), "channels")
				assert.Len(t, info.Unread, len(want.Unread), "unread")

				for _, u := range info.Unread {
					require.Contains(t, want.Unread, u.Name, "unread")
					assert.Contains(t, u.Reason, want.Unread[u.Name], "reason of %s", u.Name)
				}

				attributes := map[string]string{}
				for _, a := range info.Attributes {
					attributes[a.Name] = a.Value
				}

				for k, v := range want.Attributes {
					assert.Equal(t, v, attributes[k], "attribute %s", k)
				}

				for k, c := range info.Channels {
					require.Contains(t, want.Channels, c.Name, "channels")
					w := want.Channels[c.Name]
					require.EqualValues(t, len(w), c.Samples, "%s: samples", c.Name)

					got := make([]float64, len(w)+1)
					n, err := r.Read([]int{k}, 0, [][]float64{got})
					require.ErrorIs(t, err, io.EOF, "%s: read beyond the end", c.Name)
					require.Equal(t, len(w), n, "%s: samples read", c.Name)

					for i, v := range w {
						if v == nil {
							assert.True(t, math.IsNaN(got[i]), "%s, sample %d is missing, found %v", c.Name, i, got[i])
						} else {
							assert.Equal(t, *v, got[i], "%s, sample %d", c.Name, i)
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
		_, err := format.Open("testdata/conventions/"+name, ingest.Options{})
		assert.ErrorContains(t, err, "time_axis")
		assert.ErrorContains(t, err, "[4 4]")
	}
}
