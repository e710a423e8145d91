package stages

import (
	"slices"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
)

// This file turns the configuration and the results of stage ingest into an experiment.Experiment, and the errors about
// its settings into errors about keys of the configuration.

// settingsOf returns what an experiment trains, as far as the configuration says it.
func settingsOf(exp plan.Experiment) *experiment.Experiment {
	tr := exp.Train
	across, _ := exp.Across()
	network := tr.Config // the seed is set when a network is trained
	network.Kernels = exp.Program.Kernels
	hasBatch := exp.File != nil && exp.File.Has(exp.Key+".train.optimizer.batch")

	return &experiment.Experiment{
		Inputs: tr.Inputs, Outcomes: tr.Outcomes, Splits: tr.Splits, Honest: tr.Honest, Form: tr.Form,
		Network: network, Seeds: tr.Seeds, Members: tr.Members, BatchStated: hasBatch,
		Estimate: tr.Estimate, Weighted: exp.Ingest.Table != nil && exp.Ingest.Table.Use == "all",
		Couples: exp.DSP.Couples, Across: across, Scatter: scatter(exp),
	}
}

// dividerOf returns what divides the tables of triplets of an experiment.
func dividerOf(exp plan.Experiment) pairs.Divider {
	return pairs.Divider{Experiment: settingsOf(exp), Tolerances: exp.Ingest.Tolerances}
}

// experimentOf returns what an experiment trains, with what is known of its campaign.
func experimentOf(exp plan.Experiment, ing *ingestResult) *experiment.Experiment {
	e := settingsOf(exp)
	_, e.Spectra = ing.Construction.(dsp.OfSpectra)
	e.Campaign = experiment.Campaign{
		Conditions: ing.Conditions, Labels: ing.Labels, Texts: ing.Texts, Measured: ing.Outcomes,
		Things: slices.Concat(exp.Ingest.Things, exp.Ingest.Occasions),
		Known:  ing.Known, Points: ing.Points, Source: ing,
	}

	if rec := ing.Recordings; rec != nil {
		e.MostPairs = rec.Reading.PairsPerRow(rec.inventory.IsByChannel())
	}

	if ing.Pairs != nil && ing.Pairs.Toy != nil {
		e.AllPairs = ing.Pairs.Toy.N
	}

	return e
}

// settingsRead returns the settings that a training reads as a part of its task's key.
func settingsRead(r experiment.SettingsRead) []kv.Pair {
	return append(config.Flatten("train", r, r.Unread()...), r.Facts()...)
}

// checkSplits returns an error if the splits or inputs of an experiment cannot work with the conditions of its
// recordings, as far as ing contains them.
func checkSplits(exp plan.Experiment, ing ingestResult, splits []experiment.Split) error {
	exp.Train.Splits = splits
	return exp.Located("train", experimentOf(exp, &ing).Check())
}

// warnEach warns if a condition whose values are held out in turn has many values, or if its values scatter about set
// points, so that values of one set point are held out in different turns. ing must have the conditions of all
// recordings, and the experiment must have a file.
func warnEach(exp plan.Experiment, ing ingestResult) (warnings []ingest.Warning, err error) {
	texts, err := experimentOf(exp, &ing).WarnEach(exp.Train.Splits)
	if err != nil {
		return nil, err
	}

	for _, text := range texts {
		warnings = append(warnings, ingest.Warning{Path: exp.File.Path, Code: "each", Text: exp.Name + ": " + text})
	}

	return warnings, nil
}
