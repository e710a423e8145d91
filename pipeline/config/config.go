// Package config reads pipeline.yaml: its types with the documentation of every
// key, strict decoding with positions, validation, and the JSON Schema made
// from the same types. The package that uses the value of a key states its limits and its default; the stages
// know its meaning for the data.
//
// Load reads a file in these steps: decode.go turns its YAML into the types of this package and notes the position of
// every key; sweep.go replaces an experiment with a sweep by its variants; validate.go reports the faults that single
// keys cannot show. The methods complete and setImplied set the values that follow from others, before and after that.
package config

import "doubletake/dsp"

// File is a whole pipeline.yaml.
type File struct {
	// format of this file; 1
	Version int `key:"version"`

	// folder for everything the pipeline writes, relative to this file
	Workdir string `key:"workdir"`

	// numeric kernels: auto takes avx2 where the machine has it, else portable; avx2 gives the same bytes on
	// every x86 machine, portable on any
	Kernels string `key:"kernels" enum:"auto|portable|avx2"`

	// how run --executor uses a cluster
	Executor Executor `key:"executor"`

	// the experiments, by name
	Experiments []Experiment `key:"experiments"`

	Path    string            // the file as the user named it
	Dir     string            // its folder; relative paths in the file start there
	where   map[string]pos    // position of each key in the file
	variant map[string]string // from the key of each variant to the key of its experiment in the file
	text    string            // of the file
	lines   []string          // of text, as YAML counts them, without line ends
}

// Text returns the text of the file as it was read.
func (f *File) Text() string { return f.text }

// Experiment returns the experiment with a name, or nil if there is none.
func (f *File) Experiment(name string) *Experiment {
	for i := range f.Experiments {
		if f.Experiments[i].Name == name {
			return &f.Experiments[i]
		}
	}

	return nil
}

// Experiment is one entry of experiments.
type Experiment struct {
	Name string

	// words about the data, for the page
	About About `key:"about"`

	// the files and their contents
	Ingest Ingest `key:"ingest"`

	// how a recording becomes triplets (x, y1, y2)
	DSP DSP `key:"dsp"`

	// the network, its training and the held-out splits
	Train Train `key:"train"`

	// settings to vary, by dotted key: every combination of the values of a mapping, {model.hidden: [[32, 32],
	// [64, 64]], loss.beta: [0, 0.5]}, or each mapping of a list, [{}, {loss.beta: 1}]. A key may be any end
	// of its path that no other key has. Variants share the results that their settings have in common; up to 200 variants
	Sweep Sweep `key:"sweep"`

	// chooses one variant of the sweep by groups left out of each split's training set, which uses no held-out
	// outcome
	Select Select `key:"select"`

	// what the report shows besides the models
	Report Report `key:"report"`

	Variant *Variant // nil if the experiment is not part of a sweep
}

// Report has settings of the report alone.
type Report struct {
	// a table of predictions by another program (theory, CFD, a former campaign), with columns named as conditions and
	// outcomes: drawn over measured values and intervals, and judged by the pairs that splits hold out
	Compare string `key:"compare"`
}

// About describes the data in words, for their data card.
type About struct {
	// what was measured, in a sentence
	Description string `key:"description"`

	// where the data come from: a citation, a DOI, a laboratory
	Source string `key:"source"`

	// licence of the data, such as CC-BY-4.0
	Licence string `key:"licence"`
}

// defaultFile returns a file with the default values of its keys; keys that are not listed here are zero.
func defaultFile() File {
	return File{
		Version: 1, Workdir: "runs", Kernels: "auto",
		Executor: Executor{Parts: 16},
	}
}

// defaultExperiment returns an experiment with the default values of its keys; keys that are not listed here are zero.
func defaultExperiment() Experiment {
	return Experiment{
		Ingest: Ingest{Truncated: "error", Axes: "wind", ThetaFrom: "plane", OnBadRecording: "fail", Data: "measured"},
		DSP:    DSP{Settings: dsp.DefaultSettings()},
		Train:  defaultTrain(),
	}
}
