package stages

import (
	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs/repeats"
)

// pairing returns how the repeats of an experiment are paired.
func pairing(exp plan.Experiment, rec *Recordings) *repeats.Pairing {
	pairing := &repeats.Pairing{
		Path: exp.File.Path, Place: exp.Key + ".dsp", Tolerances: setting.Tolerances(rec.DSP.Tolerances),
		Stated: exp.Variants().Stated(), Occasions: rec.Ingest.Occasions, Across: rec.DSP.Across,
	}
	pairing.Choose(&rec.Columns)

	return pairing
}

// checkRepeats returns an error if pairs are made of repeats and no recording repeats another, by the conditions that
// ing contains. It returns nil if a condition is known only later.
func checkRepeats(exp plan.Experiment, ing ingestResult) error {
	rec := ing.Recordings
	if rec == nil || !rec.Reading.Construction.Describe().Repeats {
		return nil
	}

	return pairing(exp, rec).Check(ing.Known)
}
