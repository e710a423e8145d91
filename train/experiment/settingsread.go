package experiment

import (
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/kv"
	"doubletake/train"
	"doubletake/train/honest"
)

// SettingsRead contains the settings that a training reads. A training that does not read some of them removes them
// from its copy. The tags are the settings' names.
type SettingsRead struct {
	Inputs   []string `key:"inputs"`
	Outcomes []string `key:"outcomes"`
	train.Config
	Estimate *train.EstimateOptions `key:"estimate"`

	couples  bool // the two outcomes of a pair are coupled
	weighted bool // pairs have weights
	across   bool // pairs are made across occasions
	single   bool // networks take no outcome as an input
}

// SettingsRead returns the settings that the networks of the experiment read.
func (e *Experiment) SettingsRead() SettingsRead {
	return SettingsRead{
		Inputs: e.Inputs, Outcomes: e.Outcomes, Config: e.Network, Estimate: &e.Estimate,
		couples: e.Couples, weighted: e.Weighted, across: e.Across != "",
	}
}

// WithoutEstimate returns the settings that a training reads if nobody samples the covariance of its networks. single
// says that the networks take no outcome as an input, so that they do not read the settings of pairs.
func (r SettingsRead) WithoutEstimate(single bool) SettingsRead {
	r.Estimate = nil
	r.single = single

	return r
}

// Unread lists the groups of settings that a training does not read, as the tags of the settings name them.
func (r SettingsRead) Unread() []string {
	if r.single {
		return []string{"pairs"}
	}

	return nil
}

// Facts returns what a training reads besides the settings of networks.
func (r SettingsRead) Facts() []kv.Pair {
	facts := []kv.Pair{
		{Key: "kernels", Value: r.Kernels},
		{Key: "dsp.couples", Value: strconv.FormatBool(r.couples)},
	}
	if r.weighted {
		facts = append(facts, kv.Pair{Key: "weights of pairs", Value: "loss, scale, R², e"})
	}

	if r.across {
		facts = append(facts, factAcross)
	}

	return facts
}

// factAcross says how pairs across occasions are made.
var factAcross = kv.Pair{Key: "pairs across", Value: "none with a row of a group or a part that is left out"}

// Setting returns the held-out conditions of the split as a setting.
func (s Split) Setting() kv.Pair {
	return kv.Pair{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()}
}

// CalibrationRead returns what the calibration of a split reads besides the settings of the learner. points are the
// set points of conditions.
func (e *Experiment) CalibrationRead(split Split, learner honest.Learner, construction string,
	points []kv.Pair,
) []kv.Pair {
	facts := []kv.Pair{
		split.Setting(),
		{Key: "groups", Value: learner.Condition},
		{Key: "inputs", Value: strings.Join(e.Inputs, ",")},
		{Key: "outcomes", Value: strings.Join(e.Outcomes, ",")},
		{Key: "construction", Value: construction},
		{Key: "kernels", Value: e.Network.Kernels},
	}

	if e.Weighted {
		facts = append(facts, kv.Pair{Key: "weights of pairs", Value: "spread, process, left-out groups"})
	}

	if learner.Base == "gp" {
		facts = append(facts, kv.Pair{Key: "form", Value: learner.Represent})
	}

	facts = slices.Concat(facts, points)
	if e.Across != "" {
		facts = append(facts, factAcross, kv.Pair{Key: "variance within occasions", Value: "of repeats"})
	}

	var offsets []string
	for _, label := range learner.Offsets {
		offsets = append(offsets, label.Name)
	}

	if len(offsets) > 0 {
		facts = append(facts, kv.Pair{Key: "offsets of names", Value: strings.Join(offsets, ",")})
	}

	return facts
}

// SubsetsRead returns what the selection of the rows of subsets reads.
func (e *Experiment) SubsetsRead(subsets []Subset) []kv.Pair {
	facts := []kv.Pair{
		{Key: "inputs", Value: strings.Join(e.Inputs, ",")}, {Key: "outcomes", Value: strings.Join(e.Outcomes, ",")},
	}
	for _, s := range subsets {
		facts = append(facts, kv.Pair{Key: s.Name, Value: s.Rule()})
	}

	if e.Weighted {
		facts = append(facts, kv.Pair{Key: "weights of pairs", Value: "kept"})
	}

	if e.Across != "" {
		facts = append(facts, factAcross)
	}

	return facts
}
