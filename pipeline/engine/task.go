// Package engine plans and runs tasks: it knows which are up to date, which are
// stale and why, runs the others in parallel, and keeps their results so that
// nothing is done twice and nothing half done is ever seen.
//
// A task's key is the SHA-256 of its stage's version, the slice of
// configuration it reads, the content hashes of its raw files and the digests
// of its inputs from other tasks. Its result is an object: a directory
// .cache/objects/<key> with the task's outputs and a manifest, or one file that
// holds them (package pack), written under another name and renamed, so that it
// is complete or absent. The index
// (.cache/index) caches the manifests and the parts of each task's last key, to
// be fast and to explain; lost, it is made again. It is written when what it lists
// is durable.
//
// The engine knows nothing of microphones, networks, configuration files or
// tables. Of the project it imports only the key-value pair.
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
	"strconv"
	"sync"

	"doubletake/pipeline/kv"
)

// Task is one unit of caching and of parallelism.
type Task struct {
	ID         string    // unique, stable over runs: "drone/dsp/n2_rpm2000.wav"
	Stage      string    // "ingest", "dsp", "train", "report", …
	Experiment string    // "" for tasks over all experiments
	Shared     []string  // further experiments it works for
	Split      string    // "" unless the task belongs to one
	Version    int       // of the stage's code; a change reruns the task
	Config     []kv.Pair // slice of the configuration the task reads; shared slices are kept once
	Local      []kv.Pair // settings of this task alone: its rows of the conditions, its seed
	Files      []File    // raw files it reads
	Deps       []Dep     // its inputs from other tasks
	Weight     float64   // expected cost, any unit: heavy tasks are started first within a stage
	Replaces   bool      // its former result goes when a new one is published: a large join, quickly made again
	Publish    []Link    // outputs that also appear under a readable name
	Packed     bool      // outputs are given by Job.Put and read by package pack: one file has them; none is published
	Run        func(ctx context.Context, j *Job) error
}

// File is a raw file: Path as people know it, Open where it is.
type File struct{ Path, Open string }

// Dep names an output of another task.
type Dep struct{ Task, Output string }

// Link publishes an output at a path below the work directory; an Output that
// ends in "/" means all outputs below that folder, which are published below
// Path.
type Link struct{ Output, Path string }

// Job is what a running task is given.
type Job struct {
	Dir     string // empty folder for its outputs
	digests map[string]string
	inputs  map[Dep]string
	packed  []packed          // outputs of a task whose results are packed
	scratch string            // folder that Scratch makes
	made    map[string]string // digests of raw files by path, of inputs by "task → output"
	notes   []kv.Pair
	note    func(text string)
	follows func(task string) bool
	passing map[string]Freer // by Handoff, by the task that gets it
	passed  Freer            // to this task
	held    []hashed         // raw files that were read to be hashed
}

// Note records a fact about how the result was made (not about the result) in its
// manifest, and sends it to the run's observer: "checkpoint", "went on at epoch
// 312 of 500".
func (j *Job) Note(key, value string) {
	j.notes = append(j.notes, kv.Pair{Key: key, Value: value})
	j.note(key + ": " + value)
}

// Scratch returns a folder that outlives an interrupted run: what a task keeps
// there (a training checkpoint) is found again when the same task, made from
// the same things, runs again. It goes when the task's result is sealed.
func (j *Job) Scratch() (string, error) {
	if err := os.MkdirAll(j.scratch, 0o755); err != nil {
		return "", fmt.Errorf("make scratch folder: %w", err)
	}
	return j.scratch, nil
}

// Held returns the contents of a raw file of the task if the engine has just read them, or
// nil. They must not be changed, and last as long as the task.
func (j *Job) Held(path string) []byte {
	for _, x := range j.held {
		if x.path == path {
			return *x.held
		}
	}

	return nil
}

// FileDigest returns the SHA-256 of a raw file of the task, as hex.
func (j *Job) FileDigest(path string) string { return j.made[path] }

// InputDigest returns the digest of an output of another task.
func (j *Job) InputDigest(task, output string) string { return j.made[task+arrow+output] }

// Input returns the path of an output of another task, which must be among Deps.
func (j *Job) Input(task, output string) string {
	p, ok := j.inputs[Dep{task, output}]
	if !ok {
		panic("engine: " + task + " " + output + " is not among the task's dependencies")
	}

	return p
}

// Output returns the path an output is to be written to, by a task that is not Packed.
func (j *Job) Output(name string) string {
	if j.Dir == "" {
		panic("engine: a packed task writes a file")
	}

	return filepath.Join(j.Dir, name)
}

// Create begins an output, of any task, that the caller writes and closes.
func (j *Job) Create(name string) (io.WriteCloser, error) {
	if j.Dir != "" {
		return os.Create(filepath.Join(j.Dir, name))
	}

	b := outputBuffers.Get().(*bytes.Buffer)
	b.Reset()
	j.packed = append(j.packed, packed{name, b})

	return inPack{b}, nil
}

// packed is an output of a task that is Packed.
type packed struct {
	name string
	*bytes.Buffer
}

// outputBuffers hold the outputs of one task after the other.
var outputBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// inPack ends with its task.
type inPack struct{ io.Writer }

func (inPack) Close() error { return nil }

// SetDigest gives the digest that tasks which take this output are keyed with,
// where it is not that of the file's bytes: a table whose metadata may change
// while its values do not.
func (j *Job) SetDigest(output, digest string) { j.digests[output] = digest }

// SetContent is SetDigest of the SHA-256 of what content writes.
func (j *Job) SetContent(output string, content func(w io.Writer)) {
	h := sha256.New()
	content(h)
	j.digests[output] = hex.EncodeToString(h.Sum(nil))
}

// output is one file of an object.
type output struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Digest string `json:"digest,omitempty"` // "" where it is the SHA-256
}

func (o output) digest() string {
	if o.Digest != "" {
		return o.Digest
	}
	return o.SHA256
}

// input is one thing a key was made of, kept to explain a change.
type input struct {
	Name   string `json:"name"` // path of a raw file, or "task → output"
	Digest string `json:"digest"`
}

// manifest describes an object, in the same folder or pack as the outputs.
type manifest struct {
	Task     string    `json:"task"`
	Stage    string    `json:"stage"`
	Version  int       `json:"stage_version"`
	Program  string    `json:"program"` // version of the program: recorded, never keyed
	Host     string    `json:"host"`
	Start    string    `json:"start"`
	Seconds  float64   `json:"seconds"`
	Config   []kv.Pair `json:"config"`
	Inputs   []input   `json:"inputs"`
	Outputs  []output  `json:"outputs"`
	Annotate []kv.Pair `json:"annotate,omitempty"`
}

// inputs lists what the task reads, with the digests in that order.
func (t *Task) inputs(digests []string) []input {
	out := make([]input, len(digests))
	for i, d := range digests {
		out[i].Digest = d
		if k := i - len(t.Files); k < 0 {
			out[i].Name = t.Files[i].Path
		} else {
			out[i].Name = t.Deps[k].Task + arrow + t.Deps[k].Output
		}
	}

	return out
}

const arrow = " → "

var keyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// key computes the task's key from the digests of its raw files and its inputs, in their order.
func (t *Task) key(digests []string) string {
	buffer := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buffer)
	b, h := (*buffer)[:0], sha256.New()
	num := func(n int) { b = append(strconv.AppendInt(b, int64(n), 10), ':') }
	put := func(parts ...string) {
		n := 0
		for _, s := range parts {
			n += len(s)
		}

		num(n)

		for _, s := range parts {
			b = append(b, s...)
		}

		if len(b) > 1<<14 {
			h.Write(b)
			b = b[:0]
		}
	}

	put("doubletake object 1")
	put(t.Stage)
	num(t.Version)

	for _, list := range [][]kv.Pair{t.Config, t.Local} {
		num(len(list))

		for _, kv := range list {
			put(kv.Key)
			put(kv.Value)
		}
	}

	num(len(digests))

	for i, d := range digests {
		if k := i - len(t.Files); k < 0 {
			put(t.Files[i].Path)
		} else {
			put(t.Deps[k].Task, arrow, t.Deps[k].Output)
		}

		put(d)
	}

	h.Write(b)
	b = h.Sum(b[:0])
	n := len(b)
	b = hex.AppendEncode(b, b)
	*buffer = b

	return string(b[n:])
}

func hashFile(path string) (sum string, size int64, err error) {
	f, err := OpenOwn(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()

	return hashOpen(f)
}

var hashBuffers = sync.Pool{New: func() any { return new([1 << 18]byte) }}

// hashOpen hashes a file from its start.
func hashOpen(f io.Reader) (sum string, size int64, err error) {
	b := hashBuffers.Get().(*[1 << 18]byte)
	defer hashBuffers.Put(b)

	h := sha256.New()
	n, err := io.CopyBuffer(h, struct{ io.Reader }{f}, b[:])
	if err != nil {
		return "", 0, err
	}

	return hex.EncodeToString(h.Sum(nil)), n, nil
}
