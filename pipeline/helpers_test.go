package pipeline_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/ingest/table/tabletest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/report"
)

// write writes a file below a test's folder.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// amend changes the pipeline.yaml of a folder by pairs of old and new text. Each old text must be there once.
func amend(t testing.TB, dir string, change ...string) {
	t.Helper()

	path := filepath.Join(dir, "pipeline.yaml")
	text := string(testfile.Read(t, path))
	for i := 0; i < len(change); i += 2 {
		old := change[i]
		replacement := change[i+1]
		require.Equal(t, 1, strings.Count(text, old), "%s must contain %q once", path, old)
		text = strings.Replace(text, old, replacement, 1)
	}

	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// runIn runs the pipeline.yaml of a folder and returns its reports by experiment. Any error,
// which the command would turn into an exit status other than 0, fails the test.
func runIn(t testing.TB, dir string, experiments ...string) map[string]report.Experiment {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	selection := engine.Selection{Experiments: experiments}
	result, err := p.Run(context.Background(), engine.Options{Selection: selection, Jobs: 2})
	require.NoError(t, err)

	list, err := p.Reports(result, selection)
	require.NoError(t, err)

	byName := map[string]report.Experiment{}
	for _, e := range list {
		byName[e.Name] = e
	}

	return byName
}

// tripletsIn runs the pipeline.yaml of a folder up to the triplets.
func tripletsIn(t testing.TB, dir string) {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)

	_, err = p.Run(context.Background(), engine.Options{Selection: engine.Selection{To: "dsp"}, Jobs: 2})
	require.NoError(t, err)
}

// tripletsOf writes a configuration into a folder, runs it up to the triplets and reads those of an experiment.
func tripletsOf(t testing.TB, dir, experiment, yaml string) *table.Table {
	t.Helper()
	write(t, dir, "pipeline.yaml", yaml)
	tripletsIn(t, dir)

	return readTable(t, dir, "runs", experiment, "triplets.arrow")
}

// tryIn runs the pipeline.yaml of a folder up to the triplets and returns the error. It runs one task at a time, so
// that the first of several faults is always the same.
func tryIn(dir string) error {
	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return err
	}

	_, err = p.Run(context.Background(), engine.Options{Selection: engine.Selection{To: "dsp"}, Jobs: 1})

	return err
}

// assertRefuses writes a configuration into a folder and asserts that its run fails with an error that contains words.
func assertRefuses(t testing.TB, dir, yaml, words string) {
	t.Helper()
	write(t, dir, "pipeline.yaml", yaml)
	assert.ErrorContains(t, tryIn(dir), words)
}

// assertColumn asserts that a column of numbers has exactly the wanted values.
func assertColumn(t testing.TB, tab *table.Table, name string, want []float64) {
	t.Helper()
	assert.Equal(t, want, column(t, tab, name), name)
}

// column returns a column of numbers.
func column(t testing.TB, tab *table.Table, name string) []float64 {
	t.Helper()
	return tabletest.Floats(t, tab, name)
}

// readTable reads a table whose path has the given parts.
func readTable(t testing.TB, parts ...string) *table.Table {
	t.Helper()
	return tabletest.Read(t, filepath.Join(parts...))
}

// metrics is the content of metrics.json by its documented keys. Numbers that are null in the file are nil.
type metrics struct {
	Experiment string   `json:"experiment"`
	Data       string   `json:"data"`
	Pairs      string   `json:"pairs"`
	Warnings   []string `json:"warnings"`
	Splits     []struct {
		Name    string     `json:"name"`
		HeldOut string     `json:"held_out"`
		Seeds   int        `json:"seeds"`
		Train   setMetrics `json:"train"`
		Test    setMetrics `json:"test"`
	} `json:"splits"`
}

// setMetrics are the metrics of a training or held-out set.
type setMetrics struct {
	R2     overSeeds `json:"r2"`
	AbsCov overSeeds `json:"abs_cov"`
	E      overSeeds `json:"e"`
}

// overSeeds is a metric over the seeds of a training.
type overSeeds struct {
	Mean *float64 `json:"mean"`
	Std  *float64 `json:"std"`
}

// readMetrics reads the metrics.json of an experiment.
func readMetrics(t testing.TB, dir, experiment string) metrics {
	t.Helper()

	var m metrics
	b := testfile.Read(t, filepath.Join(dir, "runs", experiment, "report", "metrics.json"))
	require.NoError(t, json.Unmarshal(b, &m))

	return m
}

// soundReferencePa is the reference of sound pressure levels in air.
const soundReferencePa = 20e-6

// soundLevel returns the level in dB re 20 µPa of a sine of the given amplitude in Pa, whose rms is amplitude/√2.
func soundLevel(amplitude float64) float64 {
	return 20 * math.Log10(amplitude/math.Sqrt2/soundReferencePa)
}

// soundLevelOfSquare returns the level in dB re 20 µPa of a mean square in Pa².
func soundLevelOfSquare(meanSquare float64) float64 {
	return 10 * math.Log10(meanSquare/(soundReferencePa*soundReferencePa))
}
