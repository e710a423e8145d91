package stages

import (
	"slices"

	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs/repeats"
)

// pairing returns the settings with which the repeats of an experiment are paired. Conditions that are found in a run
// are not compared, and derived conditions only with a tolerance.
func pairing(exp plan.Experiment, rec *Recordings) *repeats.Pairing {
	pairing := &repeats.Pairing{
		Path: exp.File.Path, Place: exp.Key + ".dsp", Tolerances: setting.Tolerances(rec.DSP.Tolerances),
		Stated: exp.Variants().Stated(), Occasions: rec.Ingest.Occasions, Across: rec.DSP.Across,
	}

	for _, name := range rec.Conditions {
		_, hasTolerance := pairing.Tolerances[name]
		isDerived := rec.Derive.Text(name) != ""
		if !slices.Contains(rec.Found, name) && (hasTolerance || !isDerived) {
			pairing.Conditions = append(pairing.Conditions, name)
		}
	}

	for _, label := range rec.Labels {
		if label != rec.DSP.Across {
			pairing.Labels = append(pairing.Labels, label)
		}
	}

	return pairing
}

// checkRepeats returns an error if pairs are made of repeats and no recording repeats another, by the conditions that
// ing contains. It returns nil if a condition is known only later.
func checkRepeats(exp plan.Experiment, ing ingestResult) error {
	rec := ing.Recordings
	if rec == nil || !rec.Construction.Describe().Repeats {
		return nil
	}

	return pairing(exp, rec).Check(ing.Known)
}
