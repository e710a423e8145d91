package reportstage

import (
	"math"

	"doubletake/ingest/fault"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// honestDeps are the results of a split's calibration on left-out groups.
func honestDeps(exp plan.Experiment, s config.Split) []engine.Dep {
	if _, absent := trainstage.HonestCondition(exp.Train.Honest, s, exp.Train.Splits); absent != "" {
		return nil
	}
	return []engine.Dep{{Task: trainstage.HonestID(exp, s.Name), Output: trainstage.HonestData}}
}

// addHonest adds the calibration on left-out groups to a split of the report.
func addHonest(exp plan.Experiment, j *engine.Job, set triplets.Set, s config.Split, sp *report.Split,
	det *detail, ds *report.SplitDetail,
) {
	if exp.Train.Honest.Base == "none" {
		return
	}

	if _, absent := trainstage.HonestCondition(exp.Train.Honest, s, nil); absent != "" {
		sp.Honest = &interval.Result{Absent: absent}
		return
	}

	sp.Honest = fault.Get(trainstage.ReadHonest(j.Input(trainstage.HonestID(exp, s.Name), trainstage.HonestData)))
	if sp.Honest.Absent == "" {
		ds.Calibrated = det.intervals(set, sp.Honest)
	}
}

// intervals are the calibrated predictions at the conditions that the page shows.
func (d *detail) intervals(set triplets.Set, h *interval.Result) *report.Intervals {
	n, record := len(d.keepC)*set.Out, h.Record
	r := &report.Intervals{
		Mu: make([]float64, n), Half: make([]float64, n), Half68: make([]float64, n), Level: h.Calibration.Level,
	}
	for k := range r.Mu {
		r.Mu[k], r.Half[k], r.Half68[k] = math.NaN(), math.NaN(), math.NaN()
	}

	for k, i := range set.RowsOf(triplets.Test) {
		if at, shown := d.keepC[d.condition[i]]; shown {
			copy(r.Mu[at*set.Out:(at+1)*set.Out], record.Mu[k*set.Out:(k+1)*set.Out])
			copy(r.Half[at*set.Out:(at+1)*set.Out], record.Half[k*set.Out:(k+1)*set.Out])
			copy(r.Half68[at*set.Out:(at+1)*set.Out], record.Half68[k*set.Out:(k+1)*set.Out])
		}
	}

	return r
}

// networkTrust is the trust of a network's answers (one row for each triplet, own
// units) on the test part.
func networkTrust(s triplets.Set, a triplets.Answers) []score.OutcomeTrust {
	rows := a.Rows(s.RowsOf(triplets.Test), s.Out)
	return score.TrustByOutcome(s, rows.Mu, rows.Var, rows.Cov, nil)
}
