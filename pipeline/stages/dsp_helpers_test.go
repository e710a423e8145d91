package stages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/format"
	"doubletake/ingest/ingesttest"
	"doubletake/ingest/recording"
	"doubletake/ingest/stats"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"

	"github.com/stretchr/testify/require"
)

// ingested is an experiment with the result of stage ingest.
type ingested struct {
	plan.Experiment
	*Recordings
	ing ingestResult
}

// plannedDSP writes files into a folder and returns the experiment "x"
// whose sections are given as YAML in one line each, with the tasks of stage
// ingest.
func plannedDSP(t *testing.T, files map[string]string, ingest, dsp string) *ingested {
	t.Helper()

	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}

	yaml := fmt.Sprintf("version: 1\nexperiments:\n  x:\n    ingest: %s\n    dsp: %s\n", ingest, dsp)
	f, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(yaml))
	require.NoError(t, err)

	exp := plan.NewExperiment(f, 0, plan.Program{}, plan.NewTasks(&engine.Plan{Dir: filepath.Join(dir, "runs")}))
	ing, err := planIngest(exp, simulateResult{})
	require.NoError(t, err)

	return &ingested{exp, ing.Recordings, ing}
}

// result returns the result of stage ingest for file i, with all its samples in one run, without calibration.
func result(t *testing.T, b *ingested, i int, conditions map[string]float64) *FileResult {
	t.Helper()
	r := b.Files[i]
	rd, err := format.Open(r.raw.File.Open, b.Source.Reading.Options)
	require.NoError(t, err)
	defer rd.Close()
	info := rd.Info()
	info.Path = r.Name
	run := ingest.Run{ID: r.Name, Path: r.Name, Row1: -1}
	rr := recording.Run{}

	var group []int
	for k, c := range info.Channels {
		if c.IsTime() {
			continue
		}

		group = append(group, k)
		rr.Units = append(rr.Units, "Pa")
		rr.Scale = append(rr.Scale, 1)
		rr.Stats = append(rr.Stats, stats.Summary{Samples: c.Samples})

		if !b.Source.Reading.Grouping.Together {
			run.Recordings = append(run.Recordings, ingest.Recording{
				ID: fmt.Sprintf("%s#%d", r.Name, k+1), Channels: []int{k},
				Conditions: conditions,
			})
		}
	}

	if b.Source.Reading.Grouping.Together {
		run.Recordings = []ingest.Recording{{ID: r.Name, Channels: group, Conditions: conditions}}
	}

	rr.Run = run

	return &FileResult{Path: r.Name, Info: info, Runs: []recording.Run{rr}}
}

// npy encodes channels of equal length as an NPY file.
func npy(channels ...[]float64) string { return string(ingesttest.Columns(false, channels...)) }

// csv writes columns of equal length.
func csv(head string, columns ...[]float64) string {
	var b strings.Builder
	b.WriteString(head + "\n")

	for i := range columns[0] {
		for k, c := range columns {
			if k > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "%g", c[i])
		}

		b.WriteString("\n")
	}

	return b.String()
}

// series returns the outcome with a name. It returns one sample, 0, if there is none.
func series(list []dsp.Series, name string) *dsp.Series {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}

	return &dsp.Series{Values: []float64{0}}
}
