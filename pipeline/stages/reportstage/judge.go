package reportstage

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/holdout"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// reportSet returns the set that the report shows: the inputs and outcomes of the
// training, or all conditions and outcomes if nothing is trained.
func reportSet(exp plan.Experiment, conditions []string, t *table.Table) (triplets.Set, error) {
	if len(exp.Train.Inputs) > 0 {
		return trainstage.Triplets(exp, t)
	}

	outcomes, err := trainstage.Outcomes(exp, t)
	if err != nil {
		return triplets.Set{}, err
	}

	return pairs.Triplets(t, conditions, outcomes)
}

// splitReporter judges the models and methods of splits, and adds to det the answers that the page shows.
type splitReporter struct {
	exp       plan.Experiment
	job       *engine.Job
	tab       *table.Table
	det       *detail
	reference *reference
}

// reportAll judges the models and methods of several splits.
func (r *splitReporter) reportAll(ctx context.Context, set triplets.Set, splits []config.Split) ([]report.Split,
	error,
) {
	var reported []report.Split
	for _, split := range splits {
		sp, err := r.report(ctx, set, split)
		if err != nil {
			return nil, err
		}

		reported = append(reported, *sp)
	}

	return reported, nil
}

// report judges the models and methods of one split. set has the rows of r.tab.
func (r *splitReporter) report(ctx context.Context, set triplets.Set, split config.Split) (*report.Split, error) {
	sp := &report.Split{Name: split.Name, HeldOut: split.Test.String(), Seeds: r.exp.Train.Seeds}
	set, err := trainstage.Split(r.exp, set, r.tab, split)
	if err != nil {
		return nil, err
	}

	trained := set.RowsOf(triplets.Train)
	held := set.RowsOf(triplets.Test)
	sp.Reach, err = holdout.Reach(split.Test, pairs.AtSetPoints{Table: r.tab}, trained, held)
	if err != nil {
		return nil, fmt.Errorf("find the reach of split %s: %w", split.Name, err)
	}

	ds := r.det.addSplit(split)
	answers, err := r.judgeSeeds(ctx, set, split, sp, ds)
	if err != nil {
		return nil, err
	}

	r.reference.addTo(set, r.det, sp, ds)
	sp.Flags = append(sp.Flags, coverageFlags(sp.Network)...)

	if err := addHonest(r.exp, r.job, set, split, sp, r.det, ds); err != nil {
		return nil, err
	}

	groupByHeldOut(&set, sp)
	sp.Held, err = heldOutcomes(ctx, set, boundsOf(r.tab, set), sp, answers)
	if err != nil {
		return nil, err
	}

	return sp, nil
}

// judgeSeeds judges the answers of every seed of a split, and the methods that are compared with the network. It
// returns the answers.
func (r *splitReporter) judgeSeeds(ctx context.Context, set triplets.Set, split config.Split, sp *report.Split,
	ds *report.SplitDetail,
) ([]triplets.Answers, error) {
	var all []triplets.Answers
	var train, test []score.Summary
	var trust [][]score.OutcomeTrust
	methods := &compared{}
	for seed := range r.exp.Train.Seeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		id := trainstage.TrainID(r.exp, split.Name, seed)
		predictions, err := table.Read(r.job.Input(id, "predictions.arrow"))
		if err != nil {
			return nil, err
		}

		sp.MCSamples, _ = strconv.Atoi(predictions.Get("samples"))
		sp.Sampler = predictions.Get("sampler")
		sp.CovMethod = predictions.Get("cov_method")
		sp.Kernels = predictions.Get("kernels")

		answers, err := results.ReadPredictions(predictions, set)
		if err != nil {
			return nil, fmt.Errorf("judge %s: %w", id, err)
		}

		onTrain := score.Judged(set, answers, triplets.Train)
		onTest := score.Judged(set, answers, triplets.Test)
		train = append(train, score.Summarise(onTrain))
		test = append(test, score.Summarise(onTest))

		if err := methods.compare(r.exp, r.job, set, split, seed, onTest); err != nil {
			return nil, err
		}

		losses, err := readLosses(r.job, id)
		if err != nil {
			return nil, err
		}

		ds.Losses = append(ds.Losses, losses)
		all = append(all, answers)
		trust = append(trust, networkTrust(set, answers))
		r.det.addSeed(ds, set, answers, onTrain, onTest)
	}

	sp.Train = report.OverSeeds(train, set.Outcomes)
	sp.Test = report.OverSeeds(test, set.Outcomes)
	if text := score.UncertainCalibration(sp.Test.Values, sp.Test.Runs); text != "" {
		sp.Test.Notes = append(slices.Clip(sp.Test.Notes), text)
	}

	methods.finish(sp)
	sp.Network = score.MeanByOutcome(trust)

	return all, nil
}
