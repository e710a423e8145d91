package reportstage

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/holdout"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// reportSet is the set that the report shows: the inputs and outcomes of the
// training, all conditions and outcomes where nothing is trained.
func reportSet(exp plan.Experiment, conditions []string, t *table.Table) (_ triplets.Set, err error) {
	defer fault.Catch(&err)
	if len(exp.Train.Inputs) > 0 {
		return trainstage.Triplets(exp, t)
	}

	return plan.Triplets(t, conditions, fault.Get(trainstage.Outcomes(exp, t)))
}

// reportSplit judges the models and methods of one split and adds what the
// page shows of it to det.
func reportSplit(
	ctx context.Context, exp plan.Experiment, j *engine.Job, tab *table.Table, set triplets.Set, s config.Split,
	det *detail, ref *reference,
) *report.Split {
	tr := exp.Train
	sp := &report.Split{Name: s.Name, HeldOut: s.Test.String(), Seeds: tr.Seeds}
	set = fault.Get(trainstage.Split(exp, set, tab, s))
	trained, held := set.RowsOf(triplets.Train), set.RowsOf(triplets.Test)
	reach, err := holdout.Reach(s.Test, plan.AtSetPoints{Table: tab}, trained, held)
	if sp.Reach = reach; err != nil {
		fault.Raise(fmt.Errorf("read triplets: %w", err))
	}

	var trainSum, testSum []score.Summary
	methods := &compared{}
	ds := det.split(s)

	var trust [][]score.OutcomeTrust
	for k := range tr.Seeds {
		fault.Raise(ctx.Err())
		id := trainstage.TrainID(exp, s.Name, k)
		pred := fault.Get(table.Read(j.Input(id, "predictions.arrow")))
		sp.MCSamples, _ = strconv.Atoi(pred.Get("samples"))
		sp.Sampler, sp.CovMethod, sp.Kernels = pred.Get("sampler"), pred.Get("cov_method"), pred.Get("kernels")

		answers, err := trainstage.ReadPredictions(pred, set)
		if err != nil {
			fault.Raise(fmt.Errorf("judge %s: %w", id, err))
		}

		a, c := Judged(set, answers, triplets.Train), Judged(set, answers, triplets.Test)
		trainSum, testSum = append(trainSum, score.Summarise(a)), append(testSum, score.Summarise(c))

		compare(exp, methods, j, set, s, k, c)
		trust = append(trust, networkTrust(set, answers))

		det.seed(ds, set, answers, a, c)
	}

	sp.Train, sp.Test = OverSeeds(trainSum, set.Outcomes), OverSeeds(testSum, set.Outcomes)
	if text := score.UncertainCalibration(sp.Test.Values, sp.Test.Runs); text != "" {
		sp.Test.Notes = append(slices.Clip(sp.Test.Notes), text)
	}

	methods.finish(sp)
	sp.Network = score.MeanByOutcome(trust)
	ref.judge(set, det, sp, ds)
	sp.Flags = append(sp.Flags, coverageFlags(sp.Network)...)
	addHonest(exp, j, set, s, sp, det, ds)

	return sp
}

// Judged is a part of the set with a model's answers at its rows, both in
// standardised units. The answers are one row for each triplet of s, in own units.
func Judged(s triplets.Set, answers triplets.Answers, p triplets.Part) score.Set {
	return score.Set{
		Set:     s.Of(p).Standardised(),
		Answers: answers.Rows(s.RowsOf(p), s.Out).Standardised(s.Scale),
	}
}

// OverSeeds averages the seeds' summaries of a part.
func OverSeeds(seeds []score.Summary, outcomes []triplets.Quantity) report.SetMetrics {
	of := func(get func(score.Summary) score.Numbers) score.Values {
		return score.OverSeeds(lists.Each(seeds, get))
	}

	m := report.SetMetrics{
		Values: of(func(s score.Summary) score.Numbers { return s.Numbers }),
		Rows:   seeds[0].Rows, Conditions: seeds[0].Conditions, Runs: seeds[0].Runs, Notes: seeds[0].Warnings,
	}

	for k, q := range outcomes {
		m.Outcomes = append(m.Outcomes, report.OutcomeMetrics{
			Name: q.Name, Unit: q.Unit,
			Values: of(func(s score.Summary) score.Numbers { return s.Outcomes[k] }),
		})
	}

	return m
}
