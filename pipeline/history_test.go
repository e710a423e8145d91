package pipeline_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/pipeline"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/report"
)

// A report that cannot be read costs the numbers of its experiment alone.
func TestRecordWithoutReport(t *testing.T) {
	f, err := config.Parse("pipeline.yaml", []byte("version: 1\nexperiments: {a: {ingest: {simulate: {campaign: toy}}}, "+
		"b: {ingest: {simulate: {campaign: toy}}}}\n"))
	require.NoError(t, err)

	p := &pipeline.Project{File: f, Plan: &engine.Plan{Dir: t.TempDir(), Stages: []string{"dsp"}}}

	for version, name := range []string{"a", "b"} {
		p.Plan.Tasks = append(p.Plan.Tasks, &engine.Task{
			ID: reportstage.ReportTask(name), Stage: "dsp", Experiment: name, Version: version,
			Run: func(_ context.Context, j *engine.Job) error {
				var b bytes.Buffer
				err := gob.NewEncoder(&b).Encode(report.Detail{
					Experiment: report.Experiment{Name: name, Triplets: 12, Splits: []report.Split{{Name: "s"}}},
				})

				if name == "b" {
					b.Truncate(b.Len() / 2)
				}

				return errors.Join(err, os.WriteFile(j.Output(reportstage.PageData), b.Bytes(), 0o644))
			},
		})
	}

	_, err = p.Run(t.Context(), pipeline.Options{Jobs: 1})
	require.NoError(t, err)

	list, _, err := runs.History(p.Plan.Dir)
	require.NoError(t, err)
	require.Len(t, list, 1)

	r := list[0]
	if len(r.Splits) != 1 || r.Splits[0].Experiment != "a" || len(r.Metrics) == 0 ||
		!slices.Contains(r.Data, runs.Setting{Where: "a", Key: "triplets", Value: "12"}) {
		t.Errorf("%+v, %d numbers, %+v", r.Splits, len(r.Metrics), r.Data)
	}
}
