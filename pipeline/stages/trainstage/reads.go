package trainstage

import (
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
)

// jointVersion is part of the key of trainings with a joint head alone: results of other
// heads stay valid. 2: the loss rounds otherwise; 3: other dropout bits, full matrices in
// float32.
var jointVersion = kv.Pair{Key: "joint head", Value: "3"}

// reads are the settings that a training reads: they are part of its task's key. What a task
// does not read is taken out of its copy.
type reads struct {
	Inputs   []string `key:"inputs"`
	Outcomes []string `key:"outcomes"`
	train.Config
	Estimate    *train.EstimateOptions `key:"estimate"`
	Calibration float64                `key:"calibration" omit:"zero"` // the share; kinds are learned of what is set aside
	EarlyStop   *config.EarlyStop      `key:"early_stopping"`

	kernels         string
	couples, single bool // single: networks that are given no outcome
	weighted        bool
}

// readsOf are the settings that the networks of an experiment read.
func readsOf(exp plan.Experiment) reads {
	tr := exp.Train
	r := reads{
		Inputs: tr.Inputs, Outcomes: tr.Outcomes, Config: tr.Config, Estimate: &tr.Estimate,
		Calibration: tr.Calibration.Share, kernels: exp.Program.Kernels, couples: exp.DSP.Couples,
	}

	if tr.EarlyStop.On != "" {
		r.EarlyStop = &tr.EarlyStop
	}

	if t := exp.Ingest.Table; t != nil {
		r.weighted = t.Use == "all"
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
	if r.Head == train.Joint || r.Head == train.JointFull {
		out = append(out, jointVersion)
	}

	if r.weighted {
		out = append(out, kv.Pair{Key: "weights of pairs", Value: "loss, scale, R², e"})
	}

	return out
}
