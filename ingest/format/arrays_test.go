package format_test

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"sort"
	"testing"

	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/stats"
	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type arrayTruth struct {
	Format   string `json:"format"`
	Channels map[string]struct {
		Rate float64   `json:"rate"`
		Unit string    `json:"unit"`
		Time bool      `json:"time"`
		Data []float64 `json:"data"`
	} `json:"channels"`
	Attributes map[string]string `json:"attributes"`
}

func arrayTruths(t testing.TB) (map[string]arrayTruth, []string) {
	t.Helper()

	b := testfile.Read(t, "testdata/arrays/truth.json")

	m := map[string]arrayTruth{}
	require.NoError(t, json.Unmarshal(b, &m))

	var names []string
	for n := range m {
		names = append(names, n)
	}

	sort.Strings(names)

	return m, names
}

// Every channel of every file has the values that its writer was given (h5py, scipy.io, numpy, and for TDMS the
// published layout), with the right name, rate and unit. testdata/make_arrays.py wrote the files and truth.json.
func TestArrayTruth(t *testing.T) {
	all, names := arrayTruths(t)
	require.GreaterOrEqual(t, len(names), 6, "%d files", len(names))

	for _, name := range names {
		want := all[name]
		t.Run(name, func(t *testing.T) {
			r, err := format.Open(filepath.Join("testdata/arrays", name), ingest.Options{})
			require.NoError(t, err)
			defer r.Close()

			info := r.Info()
			assert.Equal(t, want.Format, info.Format, "format")

			require.Empty(t, info.Warnings, "warnings")
			assert.Empty(t, info.Unread, "unread")

			require.Len(t, info.Channels, len(want.Channels), "channels")

			for k, c := range info.Channels {
				w, ok := want.Channels[c.Name]
				require.True(t, ok, "channel %q was written", c.Name)
				assert.EqualValues(t, len(w.Data), c.Samples, "%s: samples", c.Name)
				assert.Equal(t, w.Unit, c.Unit, "%s: unit", c.Name)
				assert.Equal(t, w.Time, c.IsTime(), "%s: is the time", c.Name)
				assert.InDelta(t, w.Rate, c.RateHz, 1e-9*w.Rate, "%s: rate", c.Name)

				got := make([]float64, len(w.Data)+1) // one more than there are
				n, err := r.Read([]int{k}, 0, [][]float64{got})
				require.ErrorIs(t, err, io.EOF, "%s: read beyond the end", c.Name)
				require.Equal(t, len(w.Data), n, "%s: samples read", c.Name)

				for i, v := range w.Data {
					require.Equal(t, v, got[i], "%s, sample %d", c.Name, i)
				}

				// From the middle, together with the first channel.
				first := want.Channels[info.Channels[0].Name].Data
				if len(first) != len(w.Data) {
					continue
				}

				middle := len(w.Data) / 2
				end := min(middle+7, len(w.Data))
				dst := [][]float64{make([]float64, end-middle), make([]float64, end-middle)}
				n, err = r.Read([]int{k, 0}, int64(middle), dst)
				require.NoError(t, err, "%s from %d on", c.Name, middle)
				require.Equal(t, end-middle, n, "%s from %d on: samples read", c.Name, middle)
				require.Equal(t, w.Data[middle:end], dst[0], "%s from %d on", c.Name, middle)
				require.Equal(t, first[middle:end], dst[1], "first channel from %d on", middle)
			}

			for k, v := range want.Attributes {
				assert.Contains(t, info.Attributes, ingest.Attribute{Name: k, Value: v})
			}
		})
	}
}

// If the arrays of a file differ in length, a run scans the arrays of its own length. The expected mean of counts[2]
// is by numpy, in truth.json.
func TestScanDifferentLengths(t *testing.T) {
	all, _ := arrayTruths(t)

	r, err := format.Open("testdata/arrays/v5.mat", ingest.Options{})
	require.NoError(t, err)
	defer r.Close()
	info := r.Info()
	c, err := ingest.FindChannel(info, "counts[2]")
	require.NoError(t, err)

	sums, _, err := stats.Scan(context.Background(), r,
		ingest.Run{ID: "r", Row1: -1, Recordings: []ingest.Recording{{Channels: []int{c}}}})
	require.NoError(t, err)

	mean := 0.0
	for _, v := range all["v5.mat"].Channels["counts[2]"].Data {
		mean += v / 150
	}

	assert.EqualValues(t, 150, sums[0].Samples)
	assert.InEpsilon(t, mean, sums[0].Mean, 1e-9)

	countRecordings := func(g campaign.Grouping) (recordings int, err error) {
		runs, err := assemble([]string{"v5.mat"}, func(string) (ingest.Info, error) { return info, nil }, nil, nil, g)
		if err != nil {
			return 0, err
		}

		return len(runs[0].Recordings), nil
	}

	n, err := countRecordings(campaign.Grouping{Channels: []string{"counts"}})
	require.NoError(t, err)
	assert.Equal(t, 2, n, "recordings of the two columns of counts")

	_, err = countRecordings(campaign.Grouping{})
	ingesttest.WantDataError(t, nil, err, "channels of one length and rate", "name the channels")
	_, err = countRecordings(campaign.Grouping{Channels: []string{"x", "counts[1]"}})
	ingesttest.WantDataError(t, nil, err, "x with 300 samples", "counts[1] with 150")
}

// An attribute becomes a condition, in the unit of its name. The expected values are those that make_arrays.py wrote.
func TestAttributeNumber(t *testing.T) {
	r, err := format.Open("testdata/arrays/tunnel_U10_a4.h5", ingest.Options{})
	require.NoError(t, err)
	defer r.Close()

	none := condition.Roles{}
	for _, name := range []string{"/Table1@alpha_deg", "alpha_deg", "Table1@alpha_deg"} {
		c, err := none.Attribute(r.Info(), name, name, "")
		require.NoError(t, err, "%s", name)
		assert.Equal(t, 4.0, c.Value, "%s", name)
	}

	c, err := none.Attribute(ingest.Info{Attributes: []ingest.Attribute{{Name: "a", Value: "0.5 m"}}}, "a", "x_mm", "")
	require.NoError(t, err)
	assert.Equal(t, 500.0, c.Value)
	_, err = none.Attribute(r.Info(), "alpha_dg", "", "")
	ingesttest.WantDataError(t, nil, err, "none of that name", "alpha_deg")
	_, err = none.Attribute(r.Info(), "operator", "", "")
	ingesttest.WantDataError(t, nil, err, "a number", "example")
	c, err = condition.Roles{Things: []string{"who"}}.Attribute(r.Info(), "operator", "who", "")
	require.NoError(t, err)
	assert.Equal(t, "example", c.Name)
	assert.True(t, c.IsName)
}

// A file may state the rate twice if both are the same. A rate that contradicts the user's is an error. The user may
// name the attribute of the rate; an impossible value in it is an error.
func TestArrayRates(t *testing.T) {
	for _, c := range []struct {
		file string
		o    ingest.Options
		want float64 // rate of the first channel in Hz
	}{
		{"tunnel_U10_a4.h5", ingest.Options{RateHz: 51200}, 51200},
		{"v5.mat", ingest.Options{RateHz: 44100}, 44100},
		{"v5.mat", ingest.Options{Arrays: ingest.ArrayOptions{RateAttribute: "opp.vInf"}}, 40},
		// The user may name any attribute. The property rpm is 3000, so this period is 3000 s.
		{"run.tdms", ingest.Options{Arrays: ingest.ArrayOptions{PeriodAttribute: "rpm"}}, 1.0 / 3000},
	} {
		r, err := format.Open(filepath.Join("testdata/arrays", c.file), c.o)
		require.NoError(t, err, "%s", c.file)
		assert.InEpsilon(t, c.want, r.Info().Channels[0].RateHz, 1e-9, "%s: rate with %+v", c.file, c.o)
		require.NoError(t, r.Close())
	}

	for _, c := range []struct {
		file string
		o    ingest.Options
		want string
	}{
		{"tunnel_U10_a4.h5", ingest.Options{RateHz: 48000}, "expected a rate of 48000 Hz as configured, found 51200 Hz"},
		{
			"v5.mat",
			ingest.Options{Arrays: ingest.ArrayOptions{RateAttribute: "label"}},
			`expected a number above zero in "label", found "run 1"`,
		},
	} {
		_, err := format.Open(filepath.Join("testdata/arrays", c.file), c.o)
		require.ErrorContains(t, err, c.want, "%s", c.file)
	}
}

// Asking by name for something that cannot be read as numbers is an error, and so is asking for all channels. The files
// are those of the tests of package hdf5.
func TestUnread(t *testing.T) {
	r, err := format.Open("hdf5/testdata/refused.h5", ingest.Options{})
	ingesttest.WantDataError(t, r, err, "filter ", "not supported")

	r, err = format.Open("testdata/conventions/axes_v73.mat", ingest.Options{})
	require.NoError(t, err)
	defer r.Close()
	_, err = ingest.FindChannel(r.Info(), "sparse")
	ingesttest.WantDataError(t, nil, err, "sparse", "sparse arrays")
	opened := func(string) (ingest.Info, error) { return r.Info(), nil }
	_, err = assemble([]string{"axes_v73.mat"}, opened, nil, nil, campaign.Grouping{})
	ingesttest.WantDataError(t, nil, err, "sparse", "sparse arrays", "name the channels")
}

// Spectra are told from time series by a vector of frequencies, as in ISAE's layout
// (docs/method.md#layouts-of-published-files). The archive of microphones has no such vector.
func TestRequireTimeSeries(t *testing.T) {
	r, err := format.Open("testdata/arrays/ISAE_2_square20_L0.h5", ingest.Options{})
	require.NoError(t, err)
	defer r.Close()

	c, err := ingest.FindChannel(r.Info(), "Autopower_RPM_8000_Pa2[7,1]")
	require.NoError(t, err)

	ingesttest.WantDataError(t, nil, ingest.RequireTimeSeries(r, []int{c}), "a time series",
		"a spectrum over /ISAE_2_square20_L0/frequency_Hz (60 frequencies in steps of 25 Hz)")

	m, err := format.Open("testdata/arrays/mics.npz", ingest.Options{})
	require.NoError(t, err)
	defer m.Close()

	require.NoError(t, ingest.RequireTimeSeries(m, []int{0}))
}

// In the layouts of acousticians' programs, recordings have their rate and unit, and other data are not taken for
// recordings. testdata/make_layouts.py wrote the files with PyTables, h5py and netCDF's library, and the expected
// values.
func TestLayouts(t *testing.T) { testLayouts(t, "testdata/layouts", 4) }

// The axis of time is known by its name, its coordinate or a clock, however long the axes are. testdata/make_axes.py
// wrote the files with netCDF4, h5netcdf, h5py, scipy and numpy, and the expected values.
func TestAxes(t *testing.T) { testLayouts(t, "testdata/axes", 11) }

func testLayouts(t *testing.T, folder string, files int) {
	b := testfile.Read(t, filepath.Join(folder, "truth.json"))

	truth := map[string]struct {
		Rate     float64 `json:"rate"`
		Recorded map[string]struct {
			Unit string    `json:"unit"`
			Data []float64 `json:"data"`
		} `json:"recorded"`
		Conditions map[string][]float64 `json:"conditions"`
	}{}

	require.NoError(t, json.Unmarshal(b, &truth))
	require.Len(t, truth, files, "files of truth.json")

	for name, want := range truth {
		r, err := format.Open(filepath.Join(folder, name), ingest.Options{})
		require.NoError(t, err)
		defer r.Close()

		n := 0
		for i, c := range r.Info().Channels {
			if c.Role() != "" {
				continue
			}

			n++

			data := want.Conditions[c.Name]
			rate := 0.0
			if w, ok := want.Recorded[c.Name]; ok {
				data = w.Data
				rate = want.Rate
				assert.Equal(t, w.Unit, c.Unit, "%s: unit of %s", name, c.Name)
			}

			assert.Equal(t, rate, c.RateHz, "%s: rate of %s", name, c.Name)

			got := make([]float64, c.Samples)
			_, err := r.Read([]int{i}, 0, [][]float64{got})
			require.NoError(t, err, "%s: %s", name, c.Name)
			assert.Equal(t, data, got, "%s: samples of %s", name, c.Name)
		}

		assert.Equal(t, len(want.Recorded)+len(want.Conditions), n, "%s: recordings, and arrays of conditions", name)

		for _, u := range r.Info().Unread {
			assert.False(t, u.Fault, "%s: %s is a fault: %s", name, u.Name, u.Reason)
		}
	}
}
