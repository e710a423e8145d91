package ingeststage

import (
	"context"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
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
	meta := exp.Meta(plan.Settings("ingest", rec.In))
	columns := plan.Columns{Conditions: rec.BeforeAnalysis(), Labels: rec.Labels, Derive: rec.Derive}
	add := func(t engine.Task, meta []kv.Pair) string {
		t.Run = func(_ context.Context, j *engine.Job) error { return writeIndex(j, columns, meta, t.Deps) }
		return exp.Add(&t).ID
	}

	t := engine.Task{
		ID: exp.ID("recordings"), Stage: "ingest", Version: version, Deps: results, Weight: 0.05, Replaces: shards != nil,
		Local: append([]kv.Pair{{Key: "conditions", Value: strings.Join(columns.Conditions, ",")}},
			columns.LabelSetting()...),
	}

	var short, parts []engine.Dep
	for _, r := range shards {
		s := t
		s.ID, s.Deps = exp.ID("recordings", rec.Files[r[0]].Name), results[r[0]:r[1]]
		id := add(s, nil)
		short = append(short, engine.Dep{Task: id, Output: fileJSON})
		parts = append(parts, engine.Dep{Task: id, Output: recordingsArrow})
	}

	if shards != nil {
		results, t.Deps = short, parts
	}

	t.Config = plan.Stated(meta)
	t.Publish = []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}}

	return results, &engine.Dep{Task: add(t, meta), Output: recordingsArrow}
}

// writeIndex writes the rows of some files, or joins those that others wrote. A shard, which writes no metadata, leaves
// what later tasks need of its files.
func writeIndex(j *engine.Job, columns plan.Columns, meta []kv.Pair, deps []engine.Dep) (err error) {
	defer fault.Catch(&err)
	t := &table.Table{Meta: meta}
	var short []FileResult
	for _, d := range deps {
		path := j.Input(d.Task, d.Output)
		if d.Output == fileJSON {
			fault.Raise(plan.EachJSON(path, func(res *FileResult) {
				addToIndex(t, columns, res)
				res.Info, res.Runs = ingest.Info{}, nil // no later task needs them
				short = append(short, *res)
			}))
		} else if part := fault.Get(table.Read(path)); part.Rows() > 0 { // else of skipped files
			fault.Raise(t.Append(part))
		}
	}

	if meta == nil {
		fault.Raise(plan.WriteJSON(j, fileJSON, short...))
	}

	return plan.WriteTable(j, recordingsArrow, t)
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

	text := func(name, doc string, v any) { plan.Cell(t, name, "", doc, v) }
	number := func(name, unit, doc string, v float64) { plan.Cell(t, name, unit, doc, v) }

	text("file", "raw file", res.Path)
	text("channel", "channel of the file", c.Name)
	text("format", "file format", res.Info.Format)
	text("encoding", "sample encoding", res.Info.Encoding)
	text("unit", "unit of the samples after calibration", run.Units[i])
	number("scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	text("calibration", "where that comes from", run.How[i])
	number("calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest", at(run.Spread))

	number("rate_hz", "Hz", "sampling rate", orNaN(c.RateHz))
	text("row0", "first sample of the run in the file", int(run.Run.Row0))
	text("samples", "samples of the run", int(s.Samples))
	number("duration_s", "s", "duration of the run", orNaN(float64(s.Samples)/c.RateHz))

	number("min", "see column unit", "smallest sample", s.Min)
	number("max", "see column unit", "largest sample", s.Max)
	number("mean", "see column unit", "mean", s.Mean)
	number("rms", "see column unit", "root mean square about zero", s.RMS)
	number("std", "see column unit", "standard deviation about the mean", s.Std)
	number("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(at(run.Integral)))

	text("clipped", "samples in runs of three or more at the channel's extreme value", int(s.Clipped))
	text("longest_constant", "longest stretch of equal samples", int(s.Constant))
	text("sha256", "content hash of the raw file", res.SHA256)
}

func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
