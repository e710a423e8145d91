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

	const first, last = 1, 3
	for _, c := range r.Info().Channels[first : last+1] {
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

			channels := r.Info().Channels
			require.Len(t, channels, len(want), "channels")
			require.Empty(t, r.Info().Warnings, "warnings")

			for c, channel := range channels {
				n := len(want[c])
				require.Equal(t, int64(n), channel.Samples, "%s: samples", channel.Name)

				tolerance := 0.0 // relative
				if channel.Name == "scale" {
					tolerance = 1e-6
				}

				for _, start := range []int{0, n / 2, n - 1} {
					x := make([]float64, n-start)
					read, err := r.Read([]int{c}, int64(start), [][]float64{x})
					require.NoError(t, err, "%s from %d on", channel.Name, start)
					require.Equal(t, n-start, read, "%s from %d on: samples read", channel.Name, start)
					requireSamples(t, want[c][start:], x, tolerance, "%s from %d on", channel.Name, start)
				}
			}

			requireReadTogether(t, r, want)
		})
	}
}

// requireSamples compares samples with their values by netCDF4, nil if it masks them.
func requireSamples(t *testing.T, want []*float64, samples []float64, tolerance float64, format string, args ...any) {
	t.Helper()

	message := fmt.Sprintf(format, args...)
	for i, v := range samples {
		if want[i] == nil {
			require.True(t, math.IsNaN(v), "%s, sample %d: expected NaN, found %g", message, i, v)
			continue
		}

		require.InDelta(t, *want[i], v, tolerance*math.Abs(*want[i]), "%s, sample %d", message, i)
	}
}

// requireReadTogether reads two samples of the last two channels together, in the opposite order. They are channels of
// one array if they have the same number of samples.
func requireReadTogether(t *testing.T, r ingest.Reader, want [][]*float64) {
	t.Helper()

	channels := r.Info().Channels
	last := len(channels) - 1
	if channels[last].Samples != channels[last-1].Samples {
		return
	}

	const start = 1
	ofLast := make([]float64, 2)
	ofOther := make([]float64, 2)
	n, err := r.Read([]int{last, last - 1}, start, [][]float64{ofLast, ofOther})
	require.NoError(t, err)
	require.Equal(t, 2, n, "samples read")
	requireSamples(t, want[last][start:], ofLast, 0, "last channel, read together")
	requireSamples(t, want[last-1][start:], ofOther, 0, "channel before the last, read together")
}

// channelNamed returns the channel of a name.
func channelNamed(t *testing.T, r ingest.Reader, name string) ingest.Channel {
	t.Helper()

	var names []string
	for _, c := range r.Info().Channels {
		if c.Name == name {
			return c
		}

		names = append(names, c.Name)
	}

	t.Fatalf("no channel %q among %q", name, names)

	return ingest.Channel{}
}

// Attributes are read: conditions of the file, and units and rates of channels (testdata/make.py).
func TestAttributes(t *testing.T) {
	r := ingesttest.Open(t, Format, ingesttest.Testdata(t, "scipy_1.nc"), ingest.Options{})

	rpm, err := condition.Roles{}.Attribute(r.Info(), "rpm", "rpm", "")
	require.NoError(t, err)
	assert.Equal(t, 3000.5, rpm.Value)

	plane := channelNamed(t, r, "plane[1]")
	assert.Equal(t, "Pa", plane.Unit)
	assert.Equal(t, 2000.0, plane.RateHz)

	r = ingesttest.Open(t, Format, ingesttest.Testdata(t, "netcdf3_classic.nc"), ingest.Options{})

	clock := channelNamed(t, r, "time")
	assert.True(t, clock.IsTime())
	assert.Equal(t, "seconds", clock.Unit)
	assert.InDelta(t, 2048, clock.RateHz, 1e-6)
}

// Places in the header of a classic file.
const (
	recordsPlace    = 4  // number of records
	tagPlace        = 8  // tag of the list of dimensions
	dimensionsPlace = 12 // number of dimensions
)

// putAt returns a copy of a file with another number at a place.
func putAt(file []byte, place int, v uint32) []byte {
	changed := bytes.Clone(file)
	binary.BigEndian.PutUint32(changed[place:], v)

	return changed
}

// Files that were written as a stream do not state the number of records. It follows from the size of the file, which
// has 19 records (testdata/make.py).
func TestStreaming(t *testing.T) {
	stream := putAt(ingesttest.Testdata(t, "scipy_records.nc"), recordsPlace, math.MaxUint32)

	r := ingesttest.Open(t, Format, stream, ingest.Options{})
	assert.Equal(t, int64(19), channelNamed(t, r, "p[1]").Samples, "samples")
}

// Files that are cut or damaged are refused with the place of the fault.
func TestRefused(t *testing.T) {
	records := ingesttest.Testdata(t, "scipy_records.nc")
	fixed := ingesttest.Testdata(t, "scipy_1.nc")

	ingesttest.Refused(t, Format, []struct {
		File []byte
		Want string
	}{
		{records[:len(records)-40], "byte 4: the header claims 19 records, there are 17 (copy the file again"},
		{records[:90], "expected "},
		{fixed[:len(fixed)-8], "expected the whole of a variable"},
		{putAt(records, tagPlace, 9), "byte 8: expected a list of dimensions, found tag 9"},
		{
			putAt(records, dimensionsPlace, 1<<30),
			"byte 12: expected a list of dimensions in the file, found 1073741824 of them",
		},
		{putAt(records, recordsPlace, 20), "the header claims 20 records, there are 19"},
		{
			putAt(records, recordsPlace, 0),
			"byte 4: the header does not know the number of records (0, as programs write that are stopped); the file has 19 " +
				"whole records (to read them, set truncated: use under ingest)",
		},
		{[]byte("CDF\x01" + strings.Repeat("\x00", 31)), "expected at least one array of numbers"},
		{[]byte("CDF\x03\x00\x00\x00\x00"), `expected "CDF" and version 1, 2 or 5`},
	})
}

// The file has 19 records (testdata/make.py). If it is cut, or its writer was stopped before it wrote their number, the
// whole records are read if the configuration wants so. Records behind those that the header states give a warning.
func TestTruncated(t *testing.T) {
	records := ingesttest.Testdata(t, "scipy_records.nc")
	for _, c := range []struct {
		name    string
		file    []byte
		samples int64
		warning string
	}{
		{"cut", records[:len(records)-40], 17, "truncated"},
		{"no number", putAt(records, recordsPlace, 0), 19, "truncated"},
		{"no number, and cut", putAt(records[:len(records)-40], recordsPlace, 0), 17, "truncated"},
		{"a number that is too small", putAt(records, recordsPlace, 18), 18, "extra-data"},
	} {
		r := ingesttest.Open(t, Format, c.file, ingest.Options{Truncated: "use"})

		assert.Equal(t, c.samples, channelNamed(t, r, "p[1]").Samples, "%s: samples", c.name)
		assert.Equal(t, c.warning, ingesttest.Codes(r.Info().Warnings), "%s: warnings", c.name)
	}
}
