package stages

import (
	"context"
	"strings"

	"doubletake/dsp/analysis"
	"doubletake/ingest/recording"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
)

// planShards adds the tasks that join the outputs of consecutive files, and returns their outputs. parts are the
// outputs of all files, the same number for each.
func (s *dspStage) planShards(parts []engine.Dep, shards []plan.Shard) []engine.Dep {
	outputs := len(parts) / len(s.rec.Files) // of each file
	var joined []engine.Dep
	for _, shard := range shards {
		task := s.planShard(s.rec.Files[shard.Begin].Name, parts[outputs*shard.Begin:outputs*shard.End])
		joined = s.appendOutputs(joined, task)
	}

	return joined
}

// planShard adds the task that joins the tables of consecutive files. first is the name of the first file.
func (s *dspStage) planShard(first string, parts []engine.Dep) *engine.Task {
	task := &engine.Task{
		ID: s.exp.ID("triplets", first), Stage: "dsp", Version: dspVersion, Deps: parts, Weight: 0.05, Replaces: true,
		Run: func(ctx context.Context, job *engine.Job) error {
			all, err := s.join(ctx, job, parts)
			if err != nil {
				return err
			}

			if s.spectra {
				if err := writeSpectra(job, all, nil); err != nil {
					return err
				}
			}

			if err := taskfile.WriteTable(job, tripletsArrow, all.Triplets); err != nil {
				return err
			}

			return taskfile.WriteJSON(job, notesJSON, all.Notes...)
		},
	}

	return s.exp.Add(task)
}

// appendOutputs appends to list the outputs of a task that computes or joins rows.
func (s *dspStage) appendOutputs(list []engine.Dep, task *engine.Task) []engine.Dep {
	list = append(list, engine.Dep{Task: task.ID, Output: tripletsArrow}, engine.Dep{Task: task.ID, Output: notesJSON})
	if s.spectra {
		list = append(list, engine.Dep{Task: task.ID, Output: spectraArrow})
	}

	return list
}

// join reads the parts, which are the outputs of files or of shards.
func (s *dspStage) join(ctx context.Context, job *engine.Job, parts []engine.Dep) (*analysis.Joined, error) {
	all := analysis.NewJoined()
	for _, part := range parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		if err := s.joinPart(job, all, part); err != nil {
			return nil, err
		}
	}

	return all, nil
}

// joinPart adds one output of a file or of a shard to all.
func (s *dspStage) joinPart(job *engine.Job, all *analysis.Joined, p engine.Dep) error {
	path := job.Input(p.Task, p.Output)
	switch p.Output {
	case spectraArrow:
		all.AddSpectra(path, job.InputDigest(p.Task, p.Output))
		return nil

	case backgroundData:
		background, err := readBackground(path)
		if err != nil {
			return err
		}

		all.Notes = append(all.Notes, analysis.FileNotes{Warnings: background.Warnings})

		return nil

	case notesJSON:
		return taskfile.EachJSON(path, func(notes *analysis.FileNotes) { all.Notes = append(all.Notes, *notes) })
	}

	return all.AddTriplets(path, s.fileOf(p.Task))
}

// fileOf returns the name of the file, or of the first file of a shard, whose outcomes a task computes.
func (s *dspStage) fileOf(task string) string {
	name := strings.TrimPrefix(task, s.exp.ID("dsp")+"/")
	return strings.TrimPrefix(name, s.exp.ID("triplets")+"/")
}

// writeSpectra writes the joined spectra.
func writeSpectra(job *engine.Job, all *analysis.Joined, meta []kv.Pair) error {
	digest, err := all.WriteSpectra(job.Output(spectraArrow), meta)
	if err != nil {
		return err
	}

	job.SetDigest(spectraArrow, digest)

	return nil
}

// checkCopies returns an error if two files, which would be taken for two runs, have the same contents.
func checkCopies(job *engine.Job, results []engine.Dep) error {
	type file struct { // the fields of FileResult that are read here
		Path    string
		SHA256  string
		Skipped *struct{}
	}

	var names, sums []string
	for _, d := range results {
		err := taskfile.EachJSON(job.Input(d.Task, d.Output), func(f *file) {
			if f.Skipped == nil {
				names = append(names, f.Path)
				sums = append(sums, f.SHA256)
			}
		})
		if err != nil {
			return err
		}
	}

	return recording.CheckCopies(names, sums)
}
