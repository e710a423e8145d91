package content

import (
	"math"
	"slices"

	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// addHonest adds the calibration on left-out groups to a split of the report, or the reason why there is none.
func (d *Data) addHonest(trained Trained, sp *report.Split, ds *report.SplitDetail) {
	sp.Honest = trained.Honest
	if trained.Honest == nil || trained.Honest.Record == nil {
		return
	}

	ds.Calibrated = d.intervals(trained.Set, trained.Honest)
	ds.Reached = shareReached(trained.Set, trained.Honest.Record.ContainedAt)
}

// intervals returns the calibrated predictions at the held-out conditions that the page shows, and NaN at others. If a
// condition has several rows, the last row counts.
func (d *Data) intervals(set triplets.Set, result *interval.Result) *report.Intervals {
	n := len(d.placeOf) * set.Out
	record := result.Record
	shown := &report.Intervals{
		Mu: unknown(n), Half: unknown(n), Half68: unknown(n), Level: result.Calibration.Level,
	}

	for k, i := range set.RowsOf(triplets.Test) {
		place, kept := d.placeOf[d.condition[i]]
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
