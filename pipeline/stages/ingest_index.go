package stages

import (
	"context"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
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
			err := taskfile.EachJSON(path, func(res *FileResult) {
				res.AddRows(tab, columns.Cells)
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
		if err := taskfile.WriteJSON(job, fileJSON, short...); err != nil {
			return err
		}
	}

	return taskfile.WriteTable(job, recordingsArrow, tab)
}
