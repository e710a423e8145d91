package stages

import (
	"strconv"

	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
)

// reads contains the settings that a training reads, which are part of its task's key. A task that does not read some
// of them removes them from its copy.
type reads struct {
	Inputs   []string `key:"inputs"`
	Outcomes []string `key:"outcomes"`
	train.Config
	Estimate *train.EstimateOptions `key:"estimate"`

	kernels  string    // the numeric kernels in use
	couples  bool      // the two outcomes of a pair are coupled (dsp.couples)
	single   bool      // networks take no outcome as an input, so that the settings of pairs are not read
	weighted bool      // pairs have weights
	across   []kv.Pair // how pairs across occasions are made; nil if there are none
}

// readsOf returns the settings that the networks of an experiment read.
func readsOf(exp plan.Experiment) reads {
	tr := exp.Train
	settings := reads{
		Inputs: tr.Inputs, Outcomes: tr.Outcomes, Config: tr.Config, Estimate: &tr.Estimate,
		kernels: exp.Program.Kernels, couples: exp.DSP.Couples,
	}

	if t := exp.Ingest.Table; t != nil {
		settings.weighted = t.Use == "all"
	}

	if across, _ := exp.Across(); across != "" {
		settings.across = []kv.Pair{
			{Key: "pairs across", Value: "none with a row of a group or a part that is left out"},
		}
	}

	return settings
}

// flatten returns the settings as a part of a task's key.
func (r reads) flatten() []kv.Pair {
	var omitted []string
	if r.single {
		omitted = []string{"pairs"}
	}

	pairs := append(config.Flatten("train", r, omitted...), kv.Pair{Key: "kernels", Value: r.kernels},
		kv.Pair{Key: "dsp.couples", Value: strconv.FormatBool(r.couples)})
	if r.weighted {
		pairs = append(pairs, kv.Pair{Key: "weights of pairs", Value: "loss, scale, R², e"})
	}

	return append(pairs, r.across...)
}
