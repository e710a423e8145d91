package stages

import (
	"context"
	"fmt"
	"strings"

	"doubletake/dsp/analysis"
	"doubletake/ingest/recording"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
)

// The results of reading a file have their types in the room that judges them.
type (
	// Skipped is a recording that was left out, with the reason.
	Skipped = recording.Skipped
	// FileResult is what was read of a file.
	FileResult = recording.File
)

// planFile adds the task that opens one file, assembles its runs, and
// computes their statistics.
func (r *Recordings) planFile(exp plan.Experiment, file *File) {
	src := r.Source
	handoff := engine.NewHandoff[*analysis.Kept](exp.ID("dsp", file.Name))
	task := &engine.Task{
		ID: exp.ID("ingest", file.Name), Stage: "ingest", Version: ingestVersion, Config: src.Settings,
		Local: plan.Own("", r.inventory.OwnSettings(file.File, r.Labels)), Weight: 0.0075, Packed: true,
		Run: func(ctx context.Context, job *engine.Job) error { return runFile(ctx, job, src, *file, handoff) },
	}

	file.raw.Needs(task)

	if src.Calibrator != nil {
		task.Deps = append(task.Deps, *src.Calibrator)
	}

	exp.Add(task)
	file.Kept = handoff
	file.Result = engine.Dep{Task: task.ID, Output: fileJSON}
}

// settingsRead returns the settings that the task of one file reads, including settings that follow from other files:
// the kind of data, the program that reads, and the channels' chains.
func (r *Recordings) settingsRead() []kv.Pair {
	s := append(config.Flatten("ingest", r.Ingest, "others"),
		kv.Pair{Key: "ingest.on_bad_recording", Value: r.Ingest.OnBadRecording},
		kv.Pair{Key: "ingest.data", Value: r.Ingest.Data})
	s = append(s, r.Reader...)
	if r.Ingest.Microphones != nil {
		s = append(s, kv.Pair{Key: "ingest.microphones: chains", Value: fmt.Sprint(r.inventory.Chains)})
	}

	if r.Ingest.Balance != nil { // this stage reads only the columns; stage dsp reads the rest of the balance's settings
		s = append(s, kv.Pair{Key: "ingest.balance: columns read", Value: strings.Join(r.Reading.Grouping.Channels, ", ")})
	}

	return s
}

// runFile reads a file and writes its result.
func runFile(ctx context.Context, job *engine.Job, src *Source, f File, handoff *engine.Handoff[*analysis.Kept]) error {
	chain, err := src.taskChain(job)
	if err != nil {
		return err
	}

	reader := &analysis.Reader{
		Source: src.Reading, Chain: chain, Name: f.Name, Facts: &f.Facts, Path: f.raw.Path(job), Held: f.raw.Held(job),
	}
	// With a tachometer the spectra depend on pulses that stage dsp finds, so that its task reads the file again.
	if src.Ingest.Tachometer == nil && handoff.Wanted(job) {
		reader.Kept = analysis.NewKept()
		handoff.Put(job, reader.Kept)
	}

	res, err := reader.Read(ctx)
	if src.Reading.Skips(err) {
		res = &FileResult{Path: f.Name, Skipped: &Skipped{Path: f.Name, Reason: err.Error()}}
	} else if err != nil {
		return err
	}

	res.SHA256 = f.raw.SHA256(job)
	if reader.Kept != nil {
		reader.Kept.Found = res
	}

	return taskfile.WriteJSON(job, fileJSON, res)
}
