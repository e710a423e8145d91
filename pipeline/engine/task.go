// Package engine plans and runs tasks: it knows which are up to date, which are
// stale and why, runs the others in parallel, and keeps their results so that
// nothing is done twice and nothing half done is ever seen.
//
// A task's key is the SHA-256 of its stage's version, the slice of
// configuration it reads, the content hashes of its raw files and the digests
// of its inputs from other tasks. Its result is an object: a directory
// .cache/objects/<key> with the task's outputs and a manifest, or one file that
// holds them (package pack), written under another name and renamed, so that it
// is complete or absent. The index (.cache/index) caches the outputs and settings
// of each task's last result, to be fast and to explain; lost, it is made again of
// the manifests. It is written when what it lists is durable.
//
// The engine knows nothing of microphones, networks, configuration files or
// tables. Of the project it imports only the key-value pair.
package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"doubletake/internal/parallel"
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

// PanicError reports that a task panicked.
type PanicError struct {
	*parallel.Panic
	File string // the first raw file the task reads, "" without one
	Kept string // path of a file with the stack
}

// NewPanicError describes what recover returned, to the function that was deferred.
func NewPanicError(value any) *PanicError { return &PanicError{Panic: parallel.Caught(value)} }

// Keep writes the stack to a file.
func (e *PanicError) Keep(path string) {
	if os.WriteFile(path, fmt.Appendf(nil, "%v\n\n%s", e, e.Stack), 0o644) == nil {
		e.Kept = path
	}
}

func (e *PanicError) Error() string {
	of := ""
	if e.File != "" {
		of = " reading " + e.File
	}

	text := fmt.Sprintf("a fault of the program%s, please report it: %v in %s", of, e.Value, e.Place)
	if e.Kept != "" {
		text += "; with " + e.Kept
	}

	return text
}

// run calls Run; a panic becomes an error.
func (t *Task) run(ctx context.Context, j *Job) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}

		e := NewPanicError(v)
		if len(t.Files) > 0 {
			e.File = t.Files[0].Path
		}

		e.Keep(j.fault)
		err = e
	}()

	return t.Run(ctx, j)
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
	fault   string            // path for the stack of a panic
	made    map[string]string // digests of raw files by path, of inputs by "task → output"
	follows func(task string) bool
	passing map[string]Freer // by Handoff, by the task that gets it
	passed  Freer            // to this task
	held    []hashed         // raw files that were read to be hashed
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

func (o output) digest() string { return cmp.Or(o.Digest, o.SHA256) }

// input is one thing a key was made of, kept to explain a change.
type input struct {
	Name   string `json:"name"` // path of a raw file, or "task → output"
	Digest string `json:"digest"`
}

// manifest describes an object, in the same folder or pack as the outputs. Its file ends with
// the checksum of its fields and of the object's key.
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

// encode returns the manifest as it is written for the object of that key.
func (m manifest) encode(key string) ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}

	sum := sha256.Sum256(append([]byte(key+"\n"), b...))

	return fmt.Appendf(b[:len(b)-2], ",\n  \"sum\": %q\n}\n", hex.EncodeToString(sum[:])), nil
}

// describes reports whether b is the manifest m of the object with the key of st. Results of version 0.1 have
// no checksum: their manifests must name the stage, the settings and the inputs that the key is made of.
func (m manifest) describes(st *Status, b []byte) bool {
	if whole, err := m.encode(st.key); err == nil && bytes.Equal(whole, b) {
		return true
	}

	t := st.Task
	m.Stage, m.Version, m.Config, m.Inputs = t.Stage, t.Version, t.settings(), t.inputs(st.digests)
	whole, err := json.MarshalIndent(m, "", "  ")

	return err == nil && bytes.Equal(append(whole, '\n'), b)
}

// settings are all that the task reads.
func (t *Task) settings() []kv.Pair { return append(slices.Clone(t.Config), t.Local...) }

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
