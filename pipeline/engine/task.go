// Package engine plans and runs tasks. It finds out which tasks are up to date and
// why the others are not, runs those in parallel, and keeps the results, so that no
// work is done twice and nobody sees a result that is not complete.
//
// A task's key is the SHA-256 of its stage's version, the settings that it reads,
// the hashes of its raw files and the digests of its inputs from other tasks. Its
// result is an object: a folder .cache/objects/K/KEY (K is the first digit of the
// key) with the task's outputs and a manifest, or one file that contains them
// (package pack). The engine writes an object under another name and then renames
// it, so that it is complete or absent.
//
// The index (.cache/index) lists the settings and outputs of each task's last
// result. It saves reading the manifests and explains why a task must run. If it is
// lost, the engine makes it again from the manifests. The engine writes the index
// only after the results that it lists are durable.
//
// The engine knows nothing of microphones, networks, configuration files or
// tables. It imports from the project only the pair of key and value (package kv),
// the packs (package pack) and internal/parallel.
package engine

import (
	"context"

	"doubletake/internal/kv"
)

// Task is one unit of caching and of parallelism.
type Task struct {
	ID         string    // unique, stable over runs: "drone/dsp/n2_rpm2000.wav"
	Stage      string    // "ingest", "dsp", "train", "report", …
	Experiment string    // "" for tasks over all experiments
	Shared     []string  // further experiments it works for
	Split      string    // "" unless the task belongs to one
	Version    int       // of the stage's code; after a change the task runs again
	Config     []kv.Pair // settings that the task reads; tasks of a stage share the slice, and the index has it once
	Local      []kv.Pair // settings of this task alone: its rows of the conditions, its seed
	Files      []File    // raw files it reads
	Deps       []Dep     // its inputs from other tasks
	Weight     float64   // expected cost in seconds, roughly: heavy tasks start first
	Replaces   bool      // its former result is removed when a new one is published: a large table that is quick to join
	Publish    []Link    // outputs that also appear under a readable name
	Packed     bool      // its small outputs are in one file, which package pack reads; it publishes none

	// Run writes the outputs with job.Create or at job.Output.
	Run func(ctx context.Context, job *Job) error
}

// run calls t.Run. It returns a panic as a *PanicError.
func (t *Task) run(ctx context.Context, job *Job) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}

		fault := NewPanicError(value)
		if len(t.Files) > 0 {
			fault.File = t.Files[0].Path
		}

		fault.Keep(job.fault)
		err = fault
	}()

	return t.Run(ctx, job)
}

// File is a raw file.
type File struct {
	Path string // as people know it; it is part of keys
	Open string // by which the file is opened
}

// Dep names an output of another task.
type Dep struct{ Task, Output string }

// Link publishes an output at a path below the work directory; an Output that
// ends in "/" means all outputs below that folder, which are published below
// Path.
type Link struct{ Output, Path string }
