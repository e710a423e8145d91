package campaign_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/campaign"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/testfile"
	"doubletake/pipeline/config"
	"doubletake/report/pairs"
)

// settled writes files into a folder, and returns the inventory of the campaign there with everything that is known
// before the files are opened. settings is the section ingest of a configuration, as YAML in one line.
func settled(t *testing.T, files map[string]string, settings, triplets string) *campaign.Inventory {
	t.Helper()

	inventory, err := trySettled(t, files, settings, triplets)
	require.NoError(t, err)

	return inventory
}

// trySettled returns what settled returns, or the error about the files or the settings.
func trySettled(t *testing.T, files map[string]string, settings, triplets string) (*campaign.Inventory, error) {
	t.Helper()

	dir := t.TempDir()
	for name, text := range files {
		testfile.Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}

	text := fmt.Sprintf("version: 1\nexperiments:\n  x:\n    ingest: %s\n    dsp: {triplets: %s}\n", settings, triplets)
	file, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(text))
	require.NoError(t, err)

	entry := config.NewEntry(file, 0)
	inventory := entry.Inventory()
	if err := inventory.FindFiles(); err != nil {
		return nil, err
	}

	method := pairs.Method{Triplets: triplets, Instrument: entry.Instrument(), Settings: &entry.DSP.Settings}
	analysis, err := pairs.NewAnalysis(inventory, &inventory.Settings, method)
	if err != nil {
		return nil, err
	}

	return inventory, inventory.Settle(&analysis.Reading.Source)
}

// refused expects that an inventory is refused with an error that contains a text.
func refused(t *testing.T, files map[string]string, settings, triplets, want string) {
	t.Helper()

	_, err := trySettled(t, files, settings, triplets)
	assert.ErrorContains(t, err, want)
}

// samples encodes channels of numbers from 0 with the given steps as an NPY file.
func samples(n int, steps ...float64) string {
	var channels [][]float64
	for _, step := range steps {
		channel := make([]float64, n)
		for i := range channel {
			channel[i] = step * float64(i)
		}

		channels = append(channels, channel)
	}

	return string(ingesttest.Columns(false, channels...))
}
