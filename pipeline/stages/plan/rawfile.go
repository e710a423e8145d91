package plan

import (
	"path/filepath"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/pipeline/engine"
)

// RawFile is one raw file of an experiment. Exactly one of File and Dep is not nil.
type RawFile struct {
	Name string       // the name in tables of conditions and in IDs of tasks
	File *engine.File // a file on disk
	Dep  *engine.Dep  // a file that a task writes
}

// OnDisk returns the file with a name, which is relative to the folder of the configuration.
func (e Experiment) OnDisk(name string) RawFile {
	slash := filepath.ToSlash(name)
	return RawFile{Name: slash, File: &engine.File{Path: slash, Open: e.File.Resolve(name)}}
}

// Named returns a file that the configuration names, or an error if the file does not exist.
func (e Experiment) Named(name string) (RawFile, error) {
	f := e.OnDisk(name)
	if _, err := fault.Regular(f.File.Open); err != nil {
		return RawFile{}, ingest.PathError(f.File.Open, err)
	}

	return f, nil
}

// Needs adds the file to the files or inputs of a task.
func (r RawFile) Needs(task *engine.Task) {
	if r.File != nil {
		task.Files = append(task.Files, *r.File)
	} else {
		task.Deps = append(task.Deps, *r.Dep)
	}
}

// Path returns the path at which a running task opens the file.
func (r RawFile) Path(job *engine.Job) string {
	if r.File != nil {
		return r.File.Open
	}
	return job.Input(r.Dep.Task, r.Dep.Output)
}

// Held returns the contents of the file if they are in memory, and nil otherwise (engine.Job.Held).
func (r RawFile) Held(job *engine.Job) []byte {
	if r.File != nil {
		return job.Held(r.File.Path)
	}
	return nil
}

// SHA256 returns the SHA-256 of the contents of the file in hexadecimal digits.
func (r RawFile) SHA256(job *engine.Job) string {
	if r.File != nil {
		return job.FileDigest(r.File.Path)
	}
	return job.InputDigest(r.Dep.Task, r.Dep.Output)
}
