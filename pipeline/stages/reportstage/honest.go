package reportstage

import (
	"math"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// honestDeps are the results of a split's calibration on left-out groups.
func honestDeps(b *plan.Builder, s config.Split) []engine.Dep {
	if _, absent := trainstage.HonestCondition(b.Exp.Train.Honest, s); absent != "" {
		return nil
	}
	return []engine.Dep{{Task: trainstage.HonestID(b, s.Name), Output: trainstage.HonestData}}
}

// addHonest adds the calibration on left-out groups to a split of the report.
func addHonest(b *plan.Builder, j *engine.Job, set triplets.Set, s config.Split, sp *report.Split,
	det *detail, ds *report.SplitDetail,
) error {
	if b.Exp.Train.Honest.Base == "none" {
		return nil
	}
	if _, absent := trainstage.HonestCondition(b.Exp.Train.Honest, s); absent != "" {
		sp.Honest = &report.Honest{Absent: absent}
		return nil
	}
	h, err := trainstage.ReadHonest(j.Input(trainstage.HonestID(b, s.Name), trainstage.HonestData))
	if err != nil {
		return err
	}
	if h.Absent != "" {
		sp.Honest = &report.Honest{Absent: h.Absent}
		return nil
	}
	c, r := h.Calibration, h.Report
	out := &report.Honest{
		Base: h.Base, Variant: string(c.Covariance.Variant), Condition: c.Condition, Kind: string(c.Kind), K: c.K,
		Level: c.Level, T: c.Quantile(),
		R2: r.R2, E: r.E, ESE: r.ESE, RatioBefore: r.Before.Ratio, RatioAfter: r.After.Ratio, RatioSE: r.After.RatioSE,
		CoverageBefore: r.Before.Normal.Coverage, CoverageNormal: r.After.Normal.Coverage,
		CoverageT: r.After.Student.Coverage,
		WidthT:    r.After.Student.Width, WidthOverSpread: r.WidthOverSpread,
		WidthBeforeOverSpread: r.Before.Normal.Width / r.ModelFree.Width, CoverageModelFree: r.ModelFree.Coverage,
		Test:        report.LeftOut{Group: s.Test.String(), Distance: h.Distance, E: r.E, ESE: r.ESE, Fitted: h.Added},
		ScoreBefore: r.Before.Normal.Score, Score: r.After.Student.Score, ScoreModelFree: r.ModelFree.Score,
		Largest: c.Groups[c.Largest].Name, LargestShare: c.Groups[c.Largest].Share, Scatter: c.Scatter,
		NoiseRatio:        c.NoiseRatio,
		ConformalCoverage: r.Conformal.Coverage, ConformalWidth: r.Conformal.Width, Guarantee: c.Conformal.Guarantee,
		Notes: c.Notes(), Trust: trustOf(set, trainstage.UnitGroups(set), h.Trust),
	}
	for _, g := range c.Groups {
		l := report.LeftOut{Group: g.Name, Distance: g.Distance, E: g.E, ESE: math.NaN(), Fitted: g.Fitted, Claim: g.Claim}
		if g.ESE != nil {
			l.ESE = *g.ESE
		}
		out.Groups, out.LeftOut = append(out.Groups, g.Name), append(out.LeftOut, l)
	}
	sp.Honest = out
	ds.Calibrated = det.intervals(set, h)
	return nil
}

// intervals are the calibrated predictions at the conditions that the page shows.
func (d *detail) intervals(set triplets.Set, h *trainstage.Honest) *report.Intervals {
	r := &report.Intervals{Mu: make([]float64, len(d.keepC)*set.Out), Half: make([]float64, len(d.keepC)*set.Out)}
	for k := range r.Mu {
		r.Mu[k], r.Half[k] = math.NaN(), math.NaN()
	}
	for k, i := range set.RowsOf(triplets.Test) {
		if at, shown := d.keepC[set.Condition[i]]; shown {
			copy(r.Mu[at*set.Out:(at+1)*set.Out], h.Mu[k*set.Out:(k+1)*set.Out])
			copy(r.Half[at*set.Out:(at+1)*set.Out], h.Half[k*set.Out:(k+1)*set.Out])
		}
	}
	return r
}

// networkTrust is the trust of a network's answers (one row for each triplet, own
// units) on the test part, for each group of outcomes.
func networkTrust(s triplets.Set, a triplets.Answers, groups [][]int) []score.Trust {
	test, rows := s.Of(triplets.Test), a.Rows(s.RowsOf(triplets.Test), s.Out)
	return trainstage.TrustOf(s, test, rows.Mu, rows.Var, rows.Cov, groups)
}

// trustOf names the groups of outcomes.
func trustOf(s triplets.Set, groups [][]int, list []score.Trust) []report.Trust {
	var out []report.Trust
	for i, t := range list {
		r := report.Trust{Unit: s.Outcomes[groups[i][0]].Unit, Trust: t}
		for _, k := range groups[i] {
			r.Outcomes = append(r.Outcomes, s.Outcomes[k].Name)
		}
		out = append(out, r)
	}
	return out
}

// meanTrust averages each group of outcomes over the seeds.
func meanTrust(seeds [][]score.Trust) []score.Trust {
	var out []score.Trust
	if len(seeds) == 0 {
		return nil
	}
	for i := range seeds[0] {
		var list []score.Trust
		for _, s := range seeds {
			list = append(list, s[i])
		}
		out = append(out, score.MeanTrust(list))
	}
	return out
}
