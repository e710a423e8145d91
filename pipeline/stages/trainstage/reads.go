package trainstage

import (
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
)

// reads are the settings that a training reads: they are part of its task's key. What a task
// does not read is taken out of its copy.
type reads struct {
	Inputs   []string `key:"inputs"`
	Outcomes []string `key:"outcomes"`
	train.Config
	Estimate *train.EstimateOptions `key:"estimate"`

	kernels         string
	couples, single bool // single: networks that are given no outcome
	weighted        bool
	across          []kv.Pair // how pairs are made across occasions
}

// readsOf are the settings that the networks of an experiment read.
func readsOf(exp plan.Experiment) reads {
	tr := exp.Train
	r := reads{
		Inputs: tr.Inputs, Outcomes: tr.Outcomes, Config: tr.Config, Estimate: &tr.Estimate,
		kernels: exp.Program.Kernels, couples: exp.DSP.Couples,
	}

	if t := exp.Ingest.Table; t != nil {
		r.weighted = t.Use == "all"
	}

	if across, _ := exp.Across(); across != "" {
		r.across = []kv.Pair{{Key: "pairs across", Value: "none with a row of a group or a part that is left out"}}
	}

	return r
}

// settings are the settings of a task's key.
func (r reads) settings() []kv.Pair {
	var leave []string
	if r.single {
		leave = []string{"pairs"}
	}

	out := append(config.Flatten("train", r, leave...), kv.Pair{Key: "kernels", Value: r.kernels},
		kv.Pair{Key: "dsp.couples", Value: strconv.FormatBool(r.couples)})
	if r.weighted {
		out = append(out, kv.Pair{Key: "weights of pairs", Value: "loss, scale, R², e"})
	}

	return append(out, r.across...)
}
