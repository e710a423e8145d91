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
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"doubletake/internal/kv"
	"doubletake/internal/parallel"
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

// PanicError reports that a task panicked.
type PanicError struct {
	*parallel.Panic
	File string // the first raw file that the task reads; "": it reads none
	Kept string // path of a file with the stack; "": there is none
}

// NewPanicError returns the error of a panic. value is the result of recover, in the deferred function that calls
// NewPanicError.
func NewPanicError(value any) *PanicError { return &PanicError{Panic: parallel.Caught(value)} }

// Keep writes the stack to a file at path, and sets e.Kept. If it cannot, e stays as it is.
func (e *PanicError) Keep(path string) {
	if os.WriteFile(path, fmt.Appendf(nil, "%v\n\n%s", e, e.Stack), 0o644) == nil {
		e.Kept = path
	}
}

func (e *PanicError) Error() string {
	reading := ""
	if e.File != "" {
		reading = " reading " + e.File
	}

	text := fmt.Sprintf("a fault of the program%s, please report it: %v in %s", reading, e.Value, e.Place)
	if e.Kept != "" {
		text += "; with " + e.Kept
	}

	return text
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

// Job gives a running task its inputs and takes its outputs.
type Job struct {
	Dir     string                 // empty folder for the outputs; "" if the task is packed
	digests map[string]string      // digests that the task set with SetDigest, by output
	inputs  map[Dep]string         // path of each input from another task
	packed  []packed               // outputs so far, if the task is packed
	fault   string                 // path for the stack of a panic
	made    map[string]string      // digests of raw files by path, and of inputs by "task → output"
	follows func(task string) bool // reports whether another task is made next, in this process
	passing map[string]Freer       // values that the task passes on with a Handoff, by the task that gets them
	passed  Freer                  // value that was passed to this task; nil: none
	held    []hashed               // raw files whose contents were kept when they were hashed
}

// Held returns the contents of a raw file of the task if the engine has just read them, or
// nil. They must not be changed, and last as long as the task.
func (j *Job) Held(path string) []byte {
	for _, file := range j.held {
		if file.path == path {
			return *file.held
		}
	}

	return nil
}

// FileDigest returns the SHA-256 of a raw file of the task, as hex.
func (j *Job) FileDigest(path string) string { return j.made[path] }

// InputDigest returns the digest of an output of another task.
func (j *Job) InputDigest(task, output string) string { return j.made[task+arrow+output] }

// Input returns the path of an output of another task. It panics if the output is not among the task's Deps.
func (j *Job) Input(task, output string) string {
	path, ok := j.inputs[Dep{task, output}]
	if !ok {
		panic("engine: " + task + " " + output + " is not among the task's dependencies")
	}

	return path
}

// Output returns the path at which the task must write an output. It panics if the task is packed.
func (j *Job) Output(name string) string {
	if j.Dir == "" {
		panic("engine: a packed task writes a file")
	}

	return filepath.Join(j.Dir, name)
}

// Create starts an output, which the caller writes and closes. It works for any task, packed or not.
func (j *Job) Create(name string) (io.WriteCloser, error) {
	if j.Dir != "" {
		return os.Create(filepath.Join(j.Dir, name))
	}

	b := outputBuffers.Get().(*bytes.Buffer)
	b.Reset()
	j.packed = append(j.packed, packed{name, b})

	return inPack{b}, nil
}

// packed is an output of a packed task.
type packed struct {
	name string
	*bytes.Buffer
}

// outputBuffers is a pool of memory for the outputs of packed tasks.
var outputBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// inPack writes an output of a packed task. Close does nothing: the engine writes the pack when the task has ended.
type inPack struct{ io.Writer }

func (inPack) Close() error { return nil }

// SetDigest replaces the digest of an output in the keys of the tasks that take it. Without SetDigest the digest is the
// SHA-256 of the file. A table needs another digest, because its metadata may change while its values do not.
func (j *Job) SetDigest(output, digest string) { j.digests[output] = digest }

// SetContent calls SetDigest with the SHA-256 of the bytes that content writes.
func (j *Job) SetContent(output string, content func(writer io.Writer)) {
	hash := sha256.New()
	content(hash)
	j.digests[output] = hex.EncodeToString(hash.Sum(nil))
}
