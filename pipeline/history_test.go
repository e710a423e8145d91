package pipeline_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/pipeline"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/stages"
	"doubletake/report"
)

// If a report cannot be read, the record of the run lacks the numbers of its experiment alone.
func TestRecordWithoutReport(t *testing.T) {
	f, err := config.Parse("pipeline.yaml", []byte("version: 1\nexperiments: {a: {ingest: {simulate: {campaign: toy}}}, "+
		"b: {ingest: {simulate: {campaign: toy}}}}\n"))
	require.NoError(t, err)

	p := &pipeline.Project{File: f, Plan: &engine.Plan{Dir: t.TempDir(), Stages: []string{"dsp"}}}

	for version, name := range []string{"a", "b"} {
		p.Plan.Tasks = append(p.Plan.Tasks, &engine.Task{
			ID: stages.ReportTask(name), Stage: "dsp", Experiment: name, Version: version,
			Run: func(_ context.Context, j *engine.Job) error {
				var b bytes.Buffer
				err := gob.NewEncoder(&b).Encode(report.Detail{
					Experiment: report.Experiment{Name: name, Triplets: 12, Splits: []report.Split{{Name: "s"}}},
				})

				if name == "b" {
					b.Truncate(b.Len() / 2)
				}

				return errors.Join(err, os.WriteFile(j.Output(stages.PageData), b.Bytes(), 0o644))
			},
		})
	}

	_, err = p.Run(t.Context(), pipeline.Options{Jobs: 1})
	require.NoError(t, err)

	list, _, err := runs.History(p.Plan.Dir)
	require.NoError(t, err)
	require.Len(t, list, 1)

	r := list[0]
	require.Len(t, r.Splits, 1)
	assert.Equal(t, "a", r.Splits[0].Experiment)
	assert.NotEmpty(t, r.Metrics)
	assert.Contains(t, r.Data, runs.Setting{Where: "a", Key: "triplets", Value: "12"})
}
