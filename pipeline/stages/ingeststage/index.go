package ingeststage

import (
	"context"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// planIndex adds the task that writes recordings.arrow: the index of all recordings with their statistics and digests.
// If there are shards, a task writes the rows of each shard, and the index joins them.
//
// planIndex returns the results of the files for later stages, and the index. With shards, the results are the short
// FileResults that the tasks of the shards write; without shards they are the given ones.
func planIndex(exp plan.Experiment, rec *Recordings, shards []plan.Shard, results []engine.Dep) ([]engine.Dep,
	*engine.Dep,
) {
	meta := exp.Meta(plan.Settings("ingest", rec.Ingest))
	columns := plan.Columns{Conditions: rec.BeforeAnalysis(), Labels: rec.Labels, Derive: rec.Derive}
	add := func(task engine.Task, meta []kv.Pair) string {
		task.Run = func(_ context.Context, job *engine.Job) error { return writeIndex(job, columns, meta, task.Deps) }
		return exp.Add(&task).ID
	}

	task := engine.Task{
		ID: exp.ID("recordings"), Stage: "ingest", Version: version, Deps: results, Weight: 0.05, Replaces: shards != nil,
		Local: append([]kv.Pair{{Key: "conditions", Value: strings.Join(columns.Conditions, ",")}},
			columns.LabelSetting()...),
	}

	var short, parts []engine.Dep
	for _, r := range shards {
		s := task
		s.ID = exp.ID("recordings", rec.Files[r.Begin].Name)
		s.Deps = results[r.Begin:r.End]
		id := add(s, nil)
		short = append(short, engine.Dep{Task: id, Output: fileJSON})
		parts = append(parts, engine.Dep{Task: id, Output: recordingsArrow})
	}

	if shards != nil {
		results = short
		task.Deps = parts
	}

	task.Config = plan.Stated(meta)
	task.Publish = []engine.Link{{Output: recordingsArrow, Path: exp.Published("ingest", recordingsArrow)}}

	return results, &engine.Dep{Task: add(task, meta), Output: recordingsArrow}
}

// writeIndex writes the rows of some files, or joins the rows that other tasks wrote. The task of a shard has no
// metadata; writeIndex then also writes the part of the files' results that later tasks need.
func writeIndex(job *engine.Job, columns plan.Columns, meta []kv.Pair, deps []engine.Dep) error {
	tab := &table.Table{Meta: meta}
	var short []FileResult
	for _, dep := range deps {
		path := job.Input(dep.Task, dep.Output)
		if dep.Output == fileJSON {
			err := plan.EachJSON(path, func(res *FileResult) {
				addToIndex(tab, columns, res)
				res.Info = ingest.Info{} // no later task needs the header and the runs
				res.Runs = nil
				short = append(short, *res)
			})
			if err != nil {
				return err
			}

			continue
		}

		part, err := table.Read(path)
		if err != nil {
			return err
		}

		if part.Rows() == 0 { // all files of the shard were skipped
			continue
		}

		if err := tab.Append(part); err != nil {
			return err
		}
	}

	if meta == nil {
		if err := plan.WriteJSON(job, fileJSON, short...); err != nil {
			return err
		}
	}

	return plan.WriteTable(job, recordingsArrow, tab)
}

// addToIndex appends a row for each channel of a file's recordings.
func addToIndex(tab *table.Table, columns plan.Columns, res *FileResult) {
	for _, run := range res.Runs {
		i := 0
		for _, rec := range run.Run.Recordings {
			for _, ch := range rec.Channels {
				columns.Cells(tab, run.Run.ID, rec)
				indexChannel(tab, res, run, ch, i)
				i++
			}
		}
	}
}

// indexChannel appends the results of a channel to the current row. ch is the channel's place in the file, i its place
// among the channels of the run.
func indexChannel(tab *table.Table, res *FileResult, run RunResult, ch, i int) {
	channel := res.Info.Channels[ch]
	summary := run.Stats[i]
	spread := math.NaN()
	if run.Spread != nil {
		spread = run.Spread[i]
	}

	integral := math.NaN()
	if run.Integral != nil {
		integral = run.Integral[i]
	}

	text := func(name, doc string, v any) { tab.Cell(name, "", doc, v) }

	text("file", "raw file", res.Path)
	text("channel", "channel of the file", channel.Name)
	text("format", "file format", res.Info.Format)
	text("encoding", "sample encoding", res.Info.Encoding)
	text("unit", "unit of the samples after calibration", run.Units[i])
	tab.Cell("scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	text("calibration", "where that comes from", run.How[i])
	tab.Cell("calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest", spread)

	tab.Cell("rate_hz", "Hz", "sampling rate", orNaN(channel.RateHz))
	text("row0", "first sample of the run in the file", int(run.Run.Row0))
	text("samples", "samples of the run", int(summary.Samples))
	tab.Cell("duration_s", "s", "duration of the run", orNaN(float64(summary.Samples)/channel.RateHz))

	tab.Cell("min", "see column unit", "smallest sample", summary.Min)
	tab.Cell("max", "see column unit", "largest sample", summary.Max)
	tab.Cell("mean", "see column unit", "mean", summary.Mean)
	tab.Cell("rms", "see column unit", "root mean square about zero", summary.RMS)
	tab.Cell("std", "see column unit", "standard deviation about the mean", summary.Std)
	tab.Cell("integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(integral))

	text("clipped", "samples in runs of three or more at the channel's extreme value", int(summary.Clipped))
	text("longest_constant", "longest stretch of equal samples", int(summary.Constant))
	text("sha256", "content hash of the raw file", res.SHA256)
}

// orNaN returns v, or NaN if v is 0 or infinite, which both mean that the value is unknown.
func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
