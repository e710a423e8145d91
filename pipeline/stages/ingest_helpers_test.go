package stages

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp/analysis"
	"doubletake/ingest"
	"doubletake/ingest/ingesttest"
	"doubletake/internal/kv"
	"doubletake/internal/testfile"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// campaignIn writes files into a folder and returns the experiment
// "x" whose sections are given as YAML in one line each.
func campaignIn(t *testing.T, files map[string]string, ingest, dsp string) plan.Experiment {
	t.Helper()

	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		testfile.Write(t, path, text)
	}

	yaml := fmt.Sprintf("version: 1\nexperiments:\n  x:\n    ingest: %s\n    dsp: %s\n", ingest, dsp)
	f, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(yaml))
	require.NoError(t, err)

	tasks := plan.NewTasks(&engine.Plan{Dir: filepath.Join(dir, "runs")})

	return plan.NewExperiment(f, 0, plan.Program{}, tasks)
}

// ingestedFile is an experiment with the result of the stage.
type ingestedFile struct {
	plan.Experiment
	ingestResult
}

// planFiles is campaignIn with the stage's tasks.
func planFiles(t *testing.T, files map[string]string, ingest, dsp string) *ingestedFile {
	t.Helper()
	exp := campaignIn(t, files, ingest, dsp)
	r, err := planIngest(exp, simulateResult{})
	require.NoError(t, err)

	return &ingestedFile{exp, r}
}

// Names lists the names of a label as the splits see them.
func (b *ingestedFile) Names(label string) ([]string, error) {
	return experimentOf(b.Experiment, &b.ingestResult).Names(label)
}

// refused expects that planning fails with an error that holds want.
func refused(t *testing.T, files map[string]string, ingest, dsp, want string) {
	t.Helper()

	_, err := planIngest(campaignIn(t, files, ingest, dsp), simulateResult{})
	assert.ErrorContains(t, err, want)
}

// read reads a file of the campaign as its task does; kept may be nil.
func read(b *ingestedFile, i int, kept *analysis.Kept) (*FileResult, error) {
	f := b.Recordings.Files[i]
	reader := &analysis.Reader{
		Source: b.Recordings.Reading, Chain: b.Recordings.chain(nil), Kept: kept, Name: f.Name, Facts: &f.Facts,
		Path: f.raw.File.Open,
	}

	return reader.Read(context.Background())
}

// npyFile encodes channels of equal length as an NPY file of shape (samples,
// channels).
func npyFile(channels ...[]float64) string { return string(ingesttest.Columns(false, channels...)) }

// constant returns n times v.
func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// count returns 0 … n−1 times step.
func count(n int, step float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = step * float64(i)
	}

	return x
}

// ids lists the tasks of a plan.
func ids(b *ingestedFile) string {
	var out []string
	for _, t := range b.Tasks.Plan.Tasks {
		out = append(out, t.ID)
	}

	return strings.Join(out, " ")
}

// value returns a setting of a task's key.
func value(kvs []kv.Pair, key string) (string, bool) {
	for _, kv := range kvs {
		if kv.Key == key {
			return kv.Value, true
		}
	}

	return "", false
}

// num writes a number as round reads it back.
func num(v float64) string { return fmt.Sprintf("%.6f", v) }

// round returns the number that num writes.
func round(v float64) float64 {
	var r float64
	fmt.Sscan(num(v), &r)
	return r
}

// isExcluded reports whether a warning names what the configuration excludes.
func isExcluded(w ingest.Warning) bool { return w.Code == "excluded" }

// warningTexts returns the texts of the warnings of the plan.
func warningTexts(b *ingestedFile) []string {
	var texts []string
	for _, w := range b.Warnings {
		texts = append(texts, w.Text)
	}

	return texts
}
