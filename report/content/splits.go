package content

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/holdout"
	"doubletake/train/honest/interval"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Split is a split of an experiment. Its set has the parts and the scale of the split.
type Split struct {
	Name string
	Test holdout.Holdout // the rows that it holds out
	Set  triplets.Set
}

// Trained contains what was trained on a split.
type Trained struct {
	Split
	Seeds  int                          // trainings of the network, and of each method
	Read   func(seed int) (Seed, error) // reads the results of a training
	Honest *interval.Result             // the calibration on left-out groups, or why there is none; nil if not wanted
}

// Seed contains the results of one training of a split.
type Seed struct {
	Predictions *table.Table // the network's (results.PredictionTable)
	History     *table.Table // its losses (results.HistoryTable)
	Flags       results.Flags
	Methods     []Method // methods that are compared with the network
}

// Method contains the answers of a method that is compared with the network.
type Method struct {
	Name    string
	Answers *table.Table // results.MethodTable
}

// AddSplit judges the networks and methods of one split, and adds the answers that the page shows. reference is nil if
// there is nothing else to compare with.
func (d *Data) AddSplit(ctx context.Context, trained Trained, reference *Reference) (*report.Split, error) {
	set := trained.Set
	sp := &report.Split{Name: trained.Name, HeldOut: trained.Test.String(), Seeds: trained.Seeds}

	var err error
	rows := pairs.AtSetPoints{Table: d.tab}
	sp.Reach, err = holdout.Reach(trained.Test, rows, set.RowsOf(triplets.Train), set.RowsOf(triplets.Test))
	if err != nil {
		return nil, fmt.Errorf("find the reach of split %s: %w", trained.Name, err)
	}

	ds := d.addSplit(trained.Split)
	answers, err := d.judgeSeeds(ctx, trained, sp, ds)
	if err != nil {
		return nil, err
	}

	reference.addTo(set, d, sp, ds)
	sp.Flags = append(sp.Flags, coverageFlags(sp.Network)...)
	d.addHonest(trained, sp, ds)
	groupByHeldOut(&set, sp)
	sp.Held, err = heldOutcomes(ctx, set, boundsOf(d.tab, set), sp, answers)
	if err != nil {
		return nil, err
	}

	return sp, nil
}

// judgeSeeds judges the answers of every seed of a split, and the methods that are compared with the network. It
// returns the answers.
func (d *Data) judgeSeeds(ctx context.Context, trained Trained, sp *report.Split, ds *report.SplitDetail) (
	[]triplets.Answers, error,
) {
	set := trained.Set
	var all []triplets.Answers
	var train, test []score.Summary
	var trust [][]score.OutcomeTrust
	methods := &compared{}
	for seed := range trained.Seeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		result, err := trained.Read(seed)
		if err != nil {
			return nil, err
		}

		sp.MCSamples, _ = strconv.Atoi(result.Predictions.Get("samples"))
		sp.Sampler = result.Predictions.Get("sampler")
		sp.CovMethod = result.Predictions.Get("cov_method")
		sp.Kernels = result.Predictions.Get("kernels")

		answers, err := results.ReadPredictions(result.Predictions, set)
		if err != nil {
			return nil, fmt.Errorf("judge training %d of split %s: %w", seed, trained.Name, err)
		}

		onTrain := score.Judged(set, answers, triplets.Train)
		onTest := score.Judged(set, answers, triplets.Test)
		train = append(train, score.Summarise(onTrain))
		test = append(test, score.Summarise(onTest))

		if err := methods.compare(result, set, onTest); err != nil {
			return nil, fmt.Errorf("judge training %d of split %s: %w", seed, trained.Name, err)
		}

		losses, err := lossesOf(result.History)
		if err != nil {
			return nil, fmt.Errorf("judge training %d of split %s: %w", seed, trained.Name, err)
		}

		ds.Losses = append(ds.Losses, losses)
		all = append(all, answers)
		trust = append(trust, networkTrust(set, answers))
		d.addSeed(ds, set, answers, onTrain, onTest)
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
