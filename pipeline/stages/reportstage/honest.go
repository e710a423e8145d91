package reportstage

import (
	"math"
	"slices"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// honestDeps lists the result of the task that calibrates a split on left-out groups. It returns nil if the split is
// not calibrated.
func honestDeps(exp plan.Experiment, split config.Split) []engine.Dep {
	if _, absent := trainstage.HonestCondition(exp.Train.Honest, split, exp.Train.Splits); absent != "" {
		return nil
	}
	return []engine.Dep{{Task: trainstage.HonestID(exp, split.Name), Output: trainstage.HonestData}}
}

// addHonest adds the calibration on left-out groups to a split of the report, or the reason why there is none.
func addHonest(exp plan.Experiment, job *engine.Job, set triplets.Set, split config.Split, sp *report.Split,
	det *detail, ds *report.SplitDetail,
) error {
	if exp.Train.Honest.Base == "none" {
		return nil
	}

	if _, absent := trainstage.HonestCondition(exp.Train.Honest, split, nil); absent != "" {
		sp.Honest = &interval.Result{Absent: absent}
		return nil
	}

	result, err := trainstage.ReadHonest(job.Input(trainstage.HonestID(exp, split.Name), trainstage.HonestData))
	if err != nil {
		return err
	}

	sp.Honest = result
	if result.Record != nil {
		ds.Calibrated = det.intervals(set, result)
		ds.Reached = shareReached(set, result.Record.ContainedAt)
	}

	return nil
}

// intervals returns the calibrated predictions at the held-out conditions that the page shows, and NaN at others.
func (d *detail) intervals(set triplets.Set, result *interval.Result) *report.Intervals {
	n := len(d.keepC) * set.Out
	record := result.Record
	shown := &report.Intervals{
		Mu: unknown(n), Half: unknown(n), Half68: unknown(n), Level: result.Calibration.Level,
	}

	for k, i := range set.RowsOf(triplets.Test) {
		place, kept := d.keepC[d.condition[i]]
		if !kept {
			continue
		}

		copy(shown.Mu[place*set.Out:(place+1)*set.Out], record.Mu[k*set.Out:(k+1)*set.Out])
		copy(shown.Half[place*set.Out:(place+1)*set.Out], record.Half[k*set.Out:(k+1)*set.Out])
		copy(shown.Half68[place*set.Out:(place+1)*set.Out], record.Half68[k*set.Out:(k+1)*set.Out])
	}

	return shown
}

// unknown returns n times NaN, for numbers that are not known.
func unknown(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

// networkTrust judges the intervals of a network on the test part, by outcome. answers has one row for each triplet of
// the set, in the units of the outcomes.
func networkTrust(set triplets.Set, answers triplets.Answers) []score.OutcomeTrust {
	rows := answers.Rows(set.RowsOf(triplets.Test), set.Out)
	return score.TrustByOutcome(set, rows.Mu, rows.Var, rows.Cov, nil)
}
