package netcdf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/ingesttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func Example() {
	src, err := ingest.OpenSource("testdata/scipy_records.nc", "")
	if err != nil {
		log.Fatal(err)
	}

	r, err := Format.Open(src, ingest.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Info().Encoding)

	for _, c := range r.Info().Channels[1:4] {
		fmt.Println(c.Name, c.Unit, c.RateHz, c.Samples, c.IsTime())
	}
	// Output:
	// netCDF classic
	// time s 2048 19 true
	// p[1] Pa 2048 19 false
	// p[2] Pa 2048 19 false
}

// The values are those that netCDF4 (Unidata's library) reads from the files, which it and scipy wrote
// (testdata/make.py). Values that it masks are NaN here. It multiplies by a scale in float32, and package netcdf does
// so in float64, hence the tolerance of the channel scale.
func TestTruth(t *testing.T) {
	truth := map[string][][]*float64{}
	require.NoError(t, json.Unmarshal(ingesttest.Testdata(t, "truth.json"), &truth))

	require.Len(t, truth, 8, "files")

	for name, want := range truth {
		t.Run(name, func(t *testing.T) {
			r := ingesttest.Open(t, Format, ingesttest.Testdata(t, name), ingest.Options{})

			cs := r.Info().Channels
			require.Len(t, cs, len(want), "channels")
			require.Empty(t, r.Info().Warnings, "warnings")

			for c := range cs {
				n := len(want[c])
				require.Equal(t, int64(n), cs[c].Samples, "%s: samples", cs[c].Name)

				for _, at := range []int{0, n / 2, n - 1} {
					x := make([]float64, n-at)
					got, err := r.Read([]int{c}, int64(at), [][]float64{x})
					require.NoError(t, err, "%s from %d on", cs[c].Name, at)
					require.Equal(t, n-at, got, "%s from %d on: samples read", cs[c].Name, at)

					for i, v := range x {
						w := want[c][at+i]
						if w == nil {
							require.True(t, math.IsNaN(v), "%s, sample %d: expected NaN, found %g", cs[c].Name, at+i, v)
							continue
						}

						tolerance := 0.0
						if cs[c].Name == "scale" {
							tolerance = 1e-6 * math.Abs(*w)
						}

						require.InDelta(t, *w, v, tolerance, "%s, sample %d", cs[c].Name, at+i)
					}
				}
			}

			// Channels of an array are read together, in another order.
			dst := [][]float64{make([]float64, 2), make([]float64, 2)}

			last := len(cs) - 1
			if cs[last].Samples == cs[last-1].Samples {
				n, err := r.Read([]int{last, last - 1}, 1, dst)
				require.NoError(t, err)
				require.Equal(t, 2, n, "samples read")

				for k, c := range []int{last, last - 1} {
					for i, v := range dst[k] {
						if w := want[c][1+i]; w != nil { // nil: not a sample
							assert.Equal(t, *w, v, "channel %d, sample %d", c, 1+i)
						}
					}
				}
			}
		})
	}

	r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "scipy_1.nc"), ingest.Options{})

	rpm, err := condition.Roles{}.Attribute(r.Info(), "rpm", "rpm", "")
	require.NoError(t, err)
	assert.Equal(t, 3000.5, rpm.Value)
	assert.Equal(t, "plane[1]", r.Info().Channels[15].Name)
	assert.Equal(t, "Pa", r.Info().Channels[15].Unit)
	assert.Equal(t, 2000.0, r.Info().Channels[15].RateHz)

	r = ingesttest.Open(t, Format, ingesttest.Testdata(t, "netcdf3_classic.nc"), ingest.Options{})

	assert.True(t, r.Info().Channels[30].IsTime())
	assert.Equal(t, "seconds", r.Info().Channels[30].Unit)
	assert.InDelta(t, 2048, r.Info().Channels[30].RateHz, 1e-6)
}

// Files that were written as a stream do not state the number of records. It follows from the size of the file, which
// has 19 records (testdata/make.py).
func TestStreaming(t *testing.T) {
	b := ingesttest.Testdata(t, "scipy_records.nc")
	binary.BigEndian.PutUint32(b[4:], math.MaxUint32)

	r := ingesttest.Open(t, Format, b, ingest.Options{})
	assert.Equal(t, int64(19), r.Info().Channels[1].Samples, "samples")
}

func TestRefused(t *testing.T) {
	records, fixed := ingesttest.Testdata(t, "scipy_records.nc"), ingesttest.Testdata(t, "scipy_1.nc")
	put := func(at int, v uint32) []byte {
		b := bytes.Clone(records)
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}

	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{records[:len(records)-40], "byte 4: the header claims 19 records, there are 17 (copy the file again"},
		{records[:90], "expected "},
		{fixed[:len(fixed)-8], "expected the whole of a variable"},
		{put(8, 9), "byte 8: expected a list of dimensions, found tag 9"},
		{put(12, 1<<30), "byte 12: expected a list of dimensions in the file, found 1073741824 of them"},
		{put(4, 20), "the header claims 20 records, there are 19"},
		{[]byte("CDF\x01" + strings.Repeat("\x00", 31)), "expected at least one array of numbers"},
		{[]byte("CDF\x03\x00\x00\x00\x00"), `expected "CDF" and version 1, 2 or 5`},
	})

	r := ingesttest.Open(t, Format, records[:len(records)-40], ingest.Options{Truncated: "use"})

	assert.EqualValues(t, 17, r.Info().Channels[1].Samples)
	assert.Equal(t, "truncated", ingesttest.Codes(r.Info().Warnings))
}
