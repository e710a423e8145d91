package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// An error about a split of the command line names the flag, and any other error names the key of the file. The
// expected beginnings follow from the names of the splits: "own" is in the file, the others are asked for.
func TestErrorfOfAskedSplits(t *testing.T) {
	file := &File{Path: "pipeline.yaml", Experiments: []Experiment{{Name: "rotor"}}}
	file.Experiments[0].Train.Splits = []Split{{Name: "own"}, {Name: "u=each", Each: []string{"u"}}}
	entry := NewEntry(file, 0)
	entry.Asked = []Split{
		{Name: "rpm=0"}, {Name: "rpm=0.5"}, {Name: "blades=each", Each: []string{"blades"}},
	}

	for key, want := range map[string]string{
		"train.splits.rpm=0":           "--held-out rpm=0: ",
		"train.splits.rpm=0.test.rpm":  "--held-out rpm=0: ",
		"train.splits.rpm=0.5":         "--held-out rpm=0.5: ",
		"train.splits.blades=each":     "--held-out blades=each: ",
		"train.splits.blades=2":        "--held-out blades=each: ",
		"train.splits.own.test.blades": "pipeline.yaml: experiments.rotor.train.splits.own.test.blades: ",
		"train.splits.u=3":             "pipeline.yaml: experiments.rotor.train.splits.u=3: ",
		"train.inputs":                 "pipeline.yaml: experiments.rotor.train.inputs: ",
	} {
		assert.EqualError(t, entry.Errorf(key, "wrong"), want+"wrong", "%s", key)
	}
}
