package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/report/answer/inspect"
)

// A sine of amplitude 0.5 that fills a bin reads its mean square 0.125 there
// (docs/method.md#split-half-spectra), its mean is the offset, its rms √(0.125 + offset²); a NaN is
// counted, not an error, and takes the channel's spectrum away.
func TestInspectText(t *testing.T) {
	var b strings.Builder
	b.WriteString("t (s),mic (Pa),bad\n")

	const (
		rate = 1024
		n    = 16384
	)
	for i := range n {
		bad := "1"
		if i == 7 || i == 9 {
			bad = "nan"
		}

		fmt.Fprintf(&b, "%.17g,%.17g,%s\n", float64(i)/rate, 0.25+0.5*math.Sin(2*math.Pi*128*float64(i)/rate), bad)
	}

	path := filepath.Join(t.TempDir(), "run.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))

	description, err := inspect.File(context.Background(), path, ingest.Options{})
	require.NoError(t, err)

	require.Equal(t, "recording", description.Kind, "%+v", description)
	require.Len(t, description.Recording.Channels, 3, "%+v", description)

	mic := description.Recording.Channels[1]
	bad := description.Recording.Channels[2]
	near := func(what string, got, want float64) {
		t.Helper()
		assert.InDelta(t, want, got, 1e-9, "%s", what)
	}

	near("mean", float64(mic.DC), 0.25)
	near("rms", float64(mic.RMS), math.Sqrt(0.125+0.0625))
	near("duration", mic.DurationS, 16)

	clock := description.Recording.Channels[0]
	assert.True(t, clock.Clock, "the first channel is the time")
	assert.Nil(t, clock.Spectrum, "spectrum of the time")

	assert.Equal(t, "Pa", mic.Unit)
	assert.InDelta(t, rate, mic.RateHz, 0)
	require.NotNil(t, mic.Spectrum)
	require.NotEmpty(t, mic.Spectrum.Peaks)
	near("distance of bins", mic.Spectrum.BinHz, 1)
	near("frequency", mic.Spectrum.Peaks[0].Hz, 128)
	near("power", mic.Spectrum.Peaks[0].Power, 0.125)

	assert.EqualValues(t, 2, bad.NaN, "values that are not finite")
	assert.EqualValues(t, 7, bad.FirstNaN, "the first of them")
	assert.Nil(t, bad.Spectrum, "spectrum of a channel with values that are not finite")
	near("mean of the finite values", float64(bad.DC), 1)

	assert.Contains(t, strings.Join(description.Warnings, "\n"),
		"channel bad: values that are not finite numbers: 2, the first is sample 7 (counted from 0)")

	_, err = json.Marshal(description)
	require.NoError(t, err)
}

// The description of a table has the numbers of its columns. A missing number, NaN, is counted as missing and is not a
// distinct value. The expected numbers follow from the values by hand.
func TestInspectTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	tab := &table.Table{
		Columns: []table.Column{
			{Name: "run", Strings: []string{"a", "b", "a", "b"}},
			{Name: "rpm", Unit: "1/min", Floats: []float64{3, math.NaN(), 5, math.NaN()}},
			{Name: "n", Ints: []int64{1, 2, 3, 3}},
			{Name: "level", Floats: []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}},
		},
		Meta: []kv.Pair{{Key: "program", Value: "x"}},
	}

	_, err := tab.WriteFile(path)
	require.NoError(t, err)

	description, err := inspect.File(context.Background(), path, ingest.Options{})
	require.NoError(t, err)

	assert.Equal(t, "table", description.Kind)
	assert.Equal(t, 4, description.Table.Rows)
	require.Len(t, description.Table.Columns, 4)

	run := description.Table.Columns[0]
	assert.Equal(t, 2, run.Distinct, "runs: a and b")

	rpm := description.Table.Columns[1]
	assert.Equal(t, "1/min", rpm.Unit)
	assert.Equal(t, 2, rpm.Missing)
	assert.Equal(t, 2, rpm.Distinct, "speeds: 3 and 5")
	assert.InDelta(t, 4, float64(rpm.Mean), 0)

	n := description.Table.Columns[2]
	assert.InDelta(t, 3, float64(n.Max), 0)
	assert.Equal(t, 3, n.Distinct)

	level := description.Table.Columns[3]
	assert.Equal(t, 4, level.Missing)
	assert.Zero(t, level.Distinct, "distinct values of a column without numbers")

	text, err := json.Marshal(description)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"min":null`, "the extremes of text are unknown")
}

// A table without rows has empty lists, not null, so that programs can count their elements.
func TestInspectEmptyTable(t *testing.T) {
	for _, tab := range []*table.Table{
		{Columns: []table.Column{{Name: "run", Strings: []string{}}, {Name: "rpm", Floats: []float64{}}}},
		{},
	} {
		path := filepath.Join(t.TempDir(), "t.arrow")
		_, err := tab.WriteFile(path)
		require.NoError(t, err)

		description, err := inspect.File(context.Background(), path, ingest.Options{})
		require.NoError(t, err)
		description.Table.AddValues()

		text, err := json.Marshal(description)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"columns":[`)
		for _, list := range []string{"columns", "metadata", "first", "values"} {
			assert.NotContains(t, string(text), `"`+list+`":null`)
		}
	}
}

// A file that begins as a table and goes on otherwise is an error about the file.
func TestInspectBrokenTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	require.NoError(t, os.WriteFile(path, []byte("ARROW1\x00\x00nothing"), 0o644))

	_, err := inspect.File(context.Background(), path, ingest.Options{})
	assert.ErrorAs(t, err, new(*fault.Error))
}
