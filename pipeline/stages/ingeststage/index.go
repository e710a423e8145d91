package ingeststage

import (
	"context"
	"errors"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// planIndex adds the task that writes recordings.arrow: the index of all
// recordings with statistics, digests and quality. Of many files it joins shards, whose short
// FileResults are returned in place of the files'.
func planIndex(exp plan.Experiment, rec *Recordings, shards [][2]int, results []engine.Dep) ([]engine.Dep,
	*engine.Dep,
) {
	src := rec.Source
	meta := exp.Meta(plan.Settings("ingest", src.In))
	columns := plan.Columns{Conditions: src.BeforeAnalysis(), Labels: src.Labels, Derive: src.Derive}
	t := &engine.Task{
		ID: exp.ID("recordings"), Stage: "ingest", Version: version, Deps: results, Weight: 0.05,
		Config: plan.Stated(meta),
		Local: append([]kv.Pair{{Key: "conditions", Value: strings.Join(columns.Conditions, ",")}},
			columns.LabelSetting()...),
		Publish: []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}},
		Run: func(_ context.Context, j *engine.Job) error {
			_, err := writeIndex(j, columns, meta, results)
			return err
		},
	}

	index := &engine.Dep{Task: t.ID, Output: recordingsArrow}
	if shards == nil {
		exp.Add(t)
		return results, index
	}

	t.Replaces = true

	var short, parts []engine.Dep
	for _, r := range shards {
		s := *t
		s.Config = nil // it writes no metadata
		s.ID, s.Deps, s.Publish = exp.ID("recordings", rec.Files[r[0]].Name), results[r[0]:r[1]], nil
		s.Run = func(_ context.Context, j *engine.Job) error {
			short, err := writeIndex(j, columns, nil, s.Deps)
			return errors.Join(err, plan.WriteJSON(j, fileJSON, short...))
		}

		exp.Add(&s)
		short = append(short, engine.Dep{Task: s.ID, Output: fileJSON})
		parts = append(parts, engine.Dep{Task: s.ID, Output: recordingsArrow})
	}

	t.Deps = parts
	t.Run = func(_ context.Context, j *engine.Job) error {
		t := &table.Table{Meta: meta}
		if err := plan.AppendTables(j, t, parts); err != nil {
			return err
		}

		return plan.WriteTable(j, recordingsArrow, t)
	}

	exp.Add(t)

	return short, index
}

// writeIndex writes the rows of some files, and returns what later tasks need of them.
func writeIndex(j *engine.Job, columns plan.Columns, meta []kv.Pair, results []engine.Dep) (short []FileResult,
	err error,
) {
	t := &table.Table{Meta: meta}
	for _, d := range results {
		err := plan.EachJSON(j.Input(d.Task, d.Output), func(res *FileResult) {
			addToIndex(t, columns, res)
			short = append(short, res.short())
		})
		if err != nil {
			return nil, err
		}
	}

	return short, plan.WriteTable(j, recordingsArrow, t)
}

// short is the result without channels and statistics, and with one recording.
func (f *FileResult) short() FileResult {
	s := FileResult{Path: f.Path, SHA256: f.SHA256, Warnings: f.Warnings, Skipped: f.Skipped}
	if len(f.Runs) > 0 {
		run := ingest.Run{ID: f.Runs[0].Run.ID, Recordings: f.Runs[0].Run.Recordings[:1]}
		s.Runs = []RunResult{{Run: run}}
	}

	return s
}

// addToIndex appends a row for each channel of a file's recordings.
func addToIndex(t *table.Table, columns plan.Columns, res *FileResult) {
	for _, run := range res.Runs {
		i := 0
		for _, rec := range run.Run.Recordings {
			for _, ch := range rec.Channels {
				columns.Cells(t, run.Run.ID, rec)
				indexChannel(t, res, run, ch, i)
				i++
			}
		}
	}
}

// indexChannel appends what ingest found out about channel ch of a file, the i-th of the run.
func indexChannel(t *table.Table, res *FileResult, run RunResult, ch, i int) {
	c, s := res.Info.Channels[ch], run.Stats[i]
	at := func(list []float64) float64 {
		if list == nil {
			return math.NaN()
		}
		return list[i]
	}

	text := func(name, doc, v string) { plan.Cell(t, name, "", doc, v) }
	number := func(name, unit, doc string, v float64) { plan.Cell(t, name, unit, doc, v) }
	count := func(name, doc string, v int64) { plan.Cell(t, name, "", doc, int(v)) }

	text("file", "raw file", res.Path)
	text("channel", "channel of the file", c.Name)
	text("format", "file format", res.Info.Format)
	text("encoding", "sample encoding", res.Info.Encoding)
	text("unit", "unit of the samples after calibration", run.Units[i])
	number("scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	text("calibration", "where that comes from", run.How[i])
	number("calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest", at(run.Spread))

	number("rate_hz", "Hz", "sampling rate", orNaN(c.RateHz))
	count("row0", "first sample of the run in the file", run.Run.Row0)
	count("samples", "samples of the run", s.Samples)
	number("duration_s", "s", "duration of the run", orNaN(float64(s.Samples)/c.RateHz))

	number("min", "see column unit", "smallest sample", s.Min)
	number("max", "see column unit", "largest sample", s.Max)
	number("mean", "see column unit", "mean", s.Mean)
	number("rms", "see column unit", "root mean square about zero", s.RMS)
	number("std", "see column unit", "standard deviation about the mean", s.Std)
	number("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(at(run.Integral)))

	count("clipped", "samples in runs of three or more at the channel's extreme value", s.Clipped)
	count("longest_constant", "longest stretch of equal samples", s.Constant)
	text("sha256", "content hash of the raw file", res.SHA256)
}

func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
