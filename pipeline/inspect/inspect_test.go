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
	"doubletake/pipeline/inspect"
)

// A sine of amplitude 0.5 that fills a bin reads its mean square 0.125 there
// (docs/method.md#split-half-spectra), its mean is the offset, its rms √(0.125 + offset²); a NaN is
// counted, not an error, and takes the channel's spectrum away.
func TestInspectText(t *testing.T) {
	var b strings.Builder
	b.WriteString("t (s),mic (Pa),bad\n")

	const rate, n = 1024, 16384
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

	if mic.Unit != "Pa" || mic.RateHz != rate || !description.Recording.Channels[0].Clock ||
		description.Recording.Channels[0].Spectrum != nil {
		t.Errorf("%+v", description.Recording.Channels)
	}

	if mic.Spectrum == nil || mic.Spectrum.BinHz != 1 || len(mic.Spectrum.Peaks) == 0 || mic.Spectrum.Peaks[0].Hz != 128 {
		t.Fatalf("%+v", mic.Spectrum.Peaks)
	}

	near("power", mic.Spectrum.Peaks[0].Power, 0.125)

	if bad.NaN != 2 || bad.FirstNaN != 7 || bad.Spectrum != nil || float64(bad.DC) != 1 {
		t.Errorf("%+v", bad)
	}

	assert.Contains(t, strings.Join(description.Warnings, "\n"),
		"channel bad: 2 values no finite numbers, the first is sample 7")

	_, err = json.Marshal(description)
	require.NoError(t, err)
}

func TestInspectTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.arrow")
	tab := &table.Table{
		Columns: []table.Column{
			{Name: "run", Strings: []string{"a", "b", "a"}},
			{Name: "rpm", Unit: "1/min", Floats: []float64{3, math.NaN(), 5}},
			{Name: "n", Ints: []int64{1, 2, 3}},
		},
		Meta: []kv.Pair{{Key: "program", Value: "x"}},
	}

	_, err := tab.WriteFile(path)
	require.NoError(t, err)

	description, err := inspect.File(context.Background(), path, ingest.Options{})
	require.NoError(t, err)

	c := description.Table.Columns
	if description.Kind != "table" || description.Table.Rows != 3 || c[0].Distinct != 2 ||
		c[1].Missing != 1 || c[1].Mean != 4 ||
		c[1].Unit != "1/min" || c[2].Max != 3 {
		t.Errorf("%+v", description.Table)
	}

	if b, err := json.Marshal(description); err != nil || !strings.Contains(string(b), `"min":null`) {
		t.Errorf("%s, %v", b, err)
	}

	require.NoError(t, os.WriteFile(path, []byte("ARROW1\x00\x00nothing"), 0o644))

	_, err = inspect.File(context.Background(), path, ingest.Options{})
	assert.ErrorAs(t, err, new(*fault.Error), "a broken table")
}
