package pipeline_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/report/answer/inspect"
)

// A campaign of Arrow recordings runs to triplets. Expected: closed form, a sine
// of amplitude a at the blade passing frequency has the level 20 lg(a/√2/20 µPa).
func TestArrowCampaign(t *testing.T) {
	dir := t.TempDir()

	amplitude := []float64{0.5, 0.05}
	for i, a := range amplitude {
		x := make([]float64, 2*6400)
		for k := range x {
			x[k] = a * math.Sin(2*math.Pi*80*float64(k)/6400)
		}

		rec := table.Table{
			Columns: []table.Column{{Name: "mic", Unit: "Pa", Floats: x}},
			Meta:    []kv.Pair{{Key: "fs", Value: "6400"}},
		}

		_, err := rec.WriteFile(filepath.Join(dir, []string{"a.arrow", "b.arrow"}[i]))
		require.NoError(t, err)
	}

	runConfig(t, dir, `version: 1
experiments:
  rotor:
    ingest: {files: "*.arrow", constants: {blades: 2, rpm: 2400}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`, engine.Options{Jobs: 2})

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")

	got, err := tab.Floats("bpf1_db_1")
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.Equal(t, "dB re 20 µPa", tab.Column("bpf1_db_1").Unit)

	for i, a := range amplitude {
		assert.InDelta(t, soundLevel(a), got[i], 0.01, "%g Pa: dB", a)
	}

	description, err := inspect.File(context.Background(), filepath.Join(dir, "a.arrow"), ingest.Options{Format: "arrow"})
	require.NoError(t, err)
	require.NotNil(t, description.Recording)
	assert.Equal(t, 6400.0, description.Recording.Channels[0].RateHz)
	assert.Contains(t, description.Recording.Encoding, "Arrow")
}
