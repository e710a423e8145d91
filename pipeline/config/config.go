// Package config reads pipeline.yaml: its types with the documentation of every
// key, strict decoding with positions, validation, and the JSON Schema made
// from the same types. The limits and defaults of a key are stated by the package
// that uses its value, its meaning for the data by the stages.
package config

import (
	"strings"

	"doubletake/dsp"
	"doubletake/pipeline/engine/slurm/job"
)

// File is a whole pipeline.yaml.
type File struct {
	Version     int          `key:"version"`
	Workdir     string       `key:"workdir"`
	Kernels     string       `key:"kernels" enum:"auto|portable|avx2|avx512"`
	Executor    Executor     `key:"executor"`
	Experiments []Experiment `key:"experiments"`

	Path    string            // the file as the user named it
	Dir     string            // its folder; relative paths in the file start there
	where   map[string]pos    // position of every key read
	variant map[string]string // key of the experiment in the file, by that of its variant
	lines   []string
}

// Text is the file as it was read.
func (f *File) Text() string { return strings.Join(f.lines, "\n") }

// Experiment is one entry of experiments.
type Experiment struct {
	Name   string
	About  About  `key:"about"`
	Ingest Ingest `key:"ingest"`
	DSP    DSP    `key:"dsp"`
	Train  Train  `key:"train"`
	Sweep  Sweep  `key:"sweep"`
	Select Select `key:"select"`

	Variant *Variant // nil outside of a sweep
}

// About describes the data in words, for their data card.
type About struct {
	Description string `key:"description"`
	Source      string `key:"source"`
	Licence     string `key:"licence"`
}

// NamedNumber is one entry of a mapping from names to numbers, in file order.
type NamedNumber struct {
	Name  string
	Value float64
}

// NamedString is one entry of a mapping from names to strings, in file order.
type NamedString struct{ Name, Value string }

// Default values; others are zero.
func defaultFile() File {
	p := job.DefaultPolicy()
	return File{
		Version: 1, Workdir: "runs", Kernels: "auto",
		Executor: Executor{Slurm{MaxRunning: p.MaxRunning, Retries: p.Retries, RetryMem: p.RetryMem}},
	}
}

func defaultExperiment() Experiment {
	return Experiment{
		Ingest: Ingest{Truncated: "error", Axes: "wind", ThetaFrom: "plane", OnBadRecording: "fail", Data: "measured"},
		DSP:    DSP{Settings: dsp.DefaultSettings()},
		Train:  defaultTrain(),
	}
}

// Find returns the value of name, and whether it is there.
func Find(list []NamedString, name string) (string, bool) {
	for _, e := range list {
		if e.Name == name {
			return e.Value, true
		}
	}
	return "", false
}
