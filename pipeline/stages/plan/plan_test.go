package plan

import (
	"testing"

	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/train"

	"github.com/stretchr/testify/assert"
)

// Settings flattens a section to the keys of pipeline.yaml.
func TestSettings(t *testing.T) {
	got := Settings("train.loss", train.Loss{Beta: 0.5, Pairs: "swap"})

	want := []kv.Pair{{Key: "train.loss.beta", Value: "0.5"}, {Key: "train.loss.pairs", Value: "swap"}}
	assert.Equal(t, want, got)
}

// The digest depends on where a key ends and its value begins. Sections do not change it. The expected value is the
// output of sha256sum for "1:a2:bc".
func TestDigest(t *testing.T) {
	pair := func(k, v string) kv.Pair { return kv.Pair{Key: k, Value: v} }

	const want = "5310a58788781ab25d5ad7c3f85035824b4eb7bdfa394e0ac2186271472b5492"
	assert.Equal(t, want, Digest([]kv.Pair{pair("a", "bc")}), "digest")

	assert.NotEqual(t, Digest([]kv.Pair{pair("a", "bc")}), Digest([]kv.Pair{pair("ab", "c")}),
		"two settings have one digest")

	oneSection := Digest([]kv.Pair{pair("a", "b"), pair("c", "d")})
	twoSections := Digest([]kv.Pair{pair("a", "b")}, []kv.Pair{pair("c", "d")})
	assert.Equal(t, oneSection, twoSections, "the same settings in one section and in two")
}

// SeedOf returns the FNV-1a hash of "seed NUL purpose NUL run". The expected value comes from the definition of the
// algorithm, in Python.
func TestSeedOf(t *testing.T) {
	assert.Equal(t, uint64(11314068797658454194), SeedOf(7, "random-samples", "a.csv"))
	assert.NotEqual(t, SeedOf(1, "ab", ""), SeedOf(1, "a", "b"), "purpose and run are not separated")
}

// A table's metadata name the program, the experiment and every setting once.
func TestMeta(t *testing.T) {
	b := &Experiment{
		Entry:   config.Entry{Experiment: config.Experiment{Name: "wing", Ingest: config.Ingest{Data: "simulated"}}},
		Program: Program{Version: "v1"},
	}

	shared := kv.Pair{Key: "dsp.samples", Value: "250"}
	sections := [][]kv.Pair{{shared, {Key: "dsp.seed", Value: "0"}}, {shared}}
	got := b.Meta(sections...)
	want := []kv.Pair{
		{Key: "program", Value: "doubletake v1"},
		{Key: "experiment", Value: "wing"},
		{Key: "data", Value: "simulated"},
		{Key: "config_digest", Value: Digest(sections...)},
		{Key: "config:dsp.samples", Value: "250"},
		{Key: "config:dsp.seed", Value: "0"},
	}

	assert.Equal(t, want, got)
}

// A raw file made by a task is a dependency of its reader, one on disk an input.
func TestRawFile(t *testing.T) {
	var task engine.Task
	RawFile{Name: "a.wav", File: &engine.File{Path: "a.wav", Open: "/data/a.wav"}}.Needs(&task)
	RawFile{Name: "b.wav", Dep: &engine.Dep{Task: "x/simulate/b.wav", Output: "b.wav"}}.Needs(&task)

	assert.Equal(t, []engine.File{{Path: "a.wav", Open: "/data/a.wav"}}, task.Files)
	assert.Equal(t, []engine.Dep{{Task: "x/simulate/b.wav", Output: "b.wav"}}, task.Deps)
}

// Only keeps the named settings of a section and those below them.
func TestOnly(t *testing.T) {
	kvs := []kv.Pair{
		{Key: "dsp.samples"},
		{Key: "dsp.seed"},
		{Key: "dsp.track.range_hz"},
		{Key: "dsp.track_x"},
		{Key: "ingest.samples"},
	}

	var got []string
	for _, kv := range Only("dsp", kvs, "samples", "track") {
		got = append(got, kv.Key)
	}

	assert.Equal(t, []string{"dsp.samples", "dsp.track.range_hz"}, got, "keys")
}
