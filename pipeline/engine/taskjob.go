package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"sync"
)

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
