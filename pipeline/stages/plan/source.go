package plan

import (
	"path/filepath"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
)

// RawFile is one raw file of an experiment. Exactly one of File (on disk) and Dep
// (made by a task) is set.
type RawFile struct {
	Name string // as in the conditions table and in IDs
	File *engine.File
	Dep  *engine.Dep
}

// OnDisk is a file of the experiment's folder.
func (e Experiment) OnDisk(name string) RawFile {
	slash := filepath.ToSlash(name)
	return RawFile{Name: slash, File: &engine.File{Path: slash, Open: e.File.Resolve(name)}}
}

// Named is a file that the configuration names, or raises the error of one that is not there.
func (e Experiment) Named(name string) RawFile {
	f := e.OnDisk(name)
	if _, err := fault.Regular(f.File.Open); err != nil {
		fault.Raise(ingest.PathError(f.File.Open, err))
	}

	return f
}

// Needs adds the file to what a task depends on.
func (r RawFile) Needs(t *engine.Task) {
	if r.File != nil {
		t.Files = append(t.Files, *r.File)
	} else {
		t.Deps = append(t.Deps, *r.Dep)
	}
}

// Path is where a running task opens the file.
func (r RawFile) Path(j *engine.Job) string {
	if r.File != nil {
		return r.File.Open
	}
	return j.Input(r.Dep.Task, r.Dep.Output)
}

// Held returns the contents if they are in memory, or nil: see engine.Job.Held.
func (r RawFile) Held(j *engine.Job) []byte {
	if r.File != nil {
		return j.Held(r.File.Path)
	}
	return nil
}

// SHA256 is the hex digest of the contents.
func (r RawFile) SHA256(j *engine.Job) string {
	if r.File != nil {
		return j.FileDigest(r.File.Path)
	}
	return j.InputDigest(r.Dep.Task, r.Dep.Output)
}

// Source states how the recordings of an experiment are read, and which pairs are made of them.
type Source struct {
	Columns                                      // of the tables
	In           config.Ingest                   // the settings, with what the campaign states
	Roles        condition.Roles                 // of its columns
	DSP          config.DSP                      // the settings of the construction
	Construction dsp.Construction                // how pairs are made
	Table        *campaign.Conditions            // the table of conditions; nil without one
	Pattern      *campaign.Pattern               // of the files' names; nil without one
	Chains       map[string][]config.NamedNumber // gains and sensitivities of channels, by name
	Grouping     campaign.Grouping               //
	Options      ingest.Options                  //
	Reader       []kv.Pair                       // the program that reads the files: part of the keys of their tasks
	Settings     []kv.Pair                       // settings that are part of the key of a file's task
	Calibrator   *engine.Dep                     // the sensitivities by a calibrator; nil without one
	Convert      map[string]units.Named          // of conditions that no table holds, to the units of their names
	Forces       bool                            // the balance's columns are forces, not voltages
	Matrix       *dsp.LoadMatrix                 // of the balance; nil without one
}
