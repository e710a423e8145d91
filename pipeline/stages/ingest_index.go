package stages

import (
	"context"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
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
	columns := pairs.Columns{Conditions: rec.BeforeAnalysis(), Labels: rec.Labels, Derive: rec.Derive}
	add := func(task engine.Task, meta []kv.Pair) string {
		task.Run = func(_ context.Context, job *engine.Job) error { return writeIndex(job, columns, meta, task.Deps) }
		return exp.Add(&task).ID
	}

	task := engine.Task{
		ID: exp.ID("recordings"), Stage: "ingest", Version: ingestVersion, Deps: results, Weight: 0.05,
		Replaces: shards != nil,
		Local: append([]kv.Pair{{Key: "conditions", Value: strings.Join(columns.Conditions, ",")}},
			plan.LabelSetting(&columns)...),
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
func writeIndex(job *engine.Job, columns pairs.Columns, meta []kv.Pair, deps []engine.Dep) error {
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
func addToIndex(tab *table.Table, columns pairs.Columns, res *FileResult) {
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

	table.AddCell(tab, "file", "", "raw file", res.Path)
	table.AddCell(tab, "channel", "", "channel of the file", channel.Name)
	table.AddCell(tab, "format", "", "file format", res.Info.Format)
	table.AddCell(tab, "encoding", "", "sample encoding", res.Info.Encoding)
	table.AddCell(tab, "unit", "", "unit of the samples after calibration", run.Units[i])
	table.AddCell(tab, "scale", "see column unit", "what a sample of the file was multiplied with", run.Scale[i])
	table.AddCell(tab, "calibration", "", "where that comes from", run.How[i])
	table.AddCell(tab, "calibrator_spread_db", "dB", "loudest block of the calibrator's recording over the quietest",
		spread)

	table.AddCell(tab, "rate_hz", "Hz", "sampling rate", orNaN(channel.RateHz))
	table.AddCell(tab, "row0", "", "first sample of the run in the file", int(run.Run.Row0))
	table.AddCell(tab, "samples", "", "samples of the run", int(summary.Samples))
	table.AddCell(tab, "duration_s", "s", "duration of the run", orNaN(float64(summary.Samples)/channel.RateHz))

	table.AddCell(tab, "min", "see column unit", "smallest sample", summary.Min)
	table.AddCell(tab, "max", "see column unit", "largest sample", summary.Max)
	table.AddCell(tab, "mean", "see column unit", "mean", summary.Mean)
	table.AddCell(tab, "rms", "see column unit", "root mean square about zero", summary.RMS)
	table.AddCell(tab, "std", "see column unit", "standard deviation about the mean", summary.Std)
	table.AddCell(tab, "integral_time_s", "s", "integral time scale of a balance's channel, from its autocorrelation",
		orNaN(integral))

	table.AddCell(tab, "clipped", "", "samples in runs of three or more at the channel's extreme value",
		int(summary.Clipped))
	table.AddCell(tab, "longest_constant", "", "longest stretch of equal samples", int(summary.Constant))
	table.AddCell(tab, "sha256", "", "content hash of the raw file", res.SHA256)
}

// orNaN returns v, or NaN if v is 0 or infinite, which both mean that the value is unknown.
func orNaN(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}
