package plan

import (
	"doubletake/ingest"
	"doubletake/ingest/campaign"
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

// SHA256 is the hex digest of the contents.
func (r RawFile) SHA256(j *engine.Job) string {
	if r.File != nil {
		return j.FileDigest(r.File.Path)
	}
	return j.InputDigest(r.Dep.Task, r.Dep.Output)
}

// Source states how the files of an experiment are read.
type Source struct {
	In         config.Ingest
	Conditions *campaign.Conditions
	Pattern    *campaign.Pattern
	Constants  map[string]float64
	Grouping   campaign.Grouping
	Options    ingest.Options
	Reader     []kv.Pair   // the program that reads the files: part of the keys of tasks that open one
	Settings   []kv.Pair   // settings that are part of the key of a file's task
	Calibrator *engine.Dep // the sensitivities by a calibrator; nil without one
	// of conditions that no table holds, to the units of their names
	Convert map[string]units.Named
	Forces  bool // the balance's columns are forces, not voltages
}
