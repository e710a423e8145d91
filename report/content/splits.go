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

// judged collects the judgements of the seeds of a split.
type judged struct {
	answers     []triplets.Answers
	train, test []score.Summary
	trust       [][]score.OutcomeTrust // by seed and outcome, on the test part
	methods     *compared
}

// judgeSeeds judges the answers of every seed of a split, and the methods that are compared with the network. It
// returns the answers.
func (d *Data) judgeSeeds(ctx context.Context, trained Trained, sp *report.Split, ds *report.SplitDetail) (
	[]triplets.Answers, error,
) {
	set := trained.Set
	all := &judged{methods: &compared{}}
	for number := range trained.Seeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		seed, err := trained.Read(number)
		if err != nil {
			return nil, err
		}

		sp.MCSamples, _ = strconv.Atoi(seed.Predictions.Get("samples"))
		sp.Sampler = seed.Predictions.Get("sampler")
		sp.CovMethod = seed.Predictions.Get("cov_method")
		sp.Kernels = seed.Predictions.Get("kernels")
		if err := d.judgeSeed(seed, set, all, ds); err != nil {
			return nil, fmt.Errorf("judge training %d of split %s: %w", number, trained.Name, err)
		}
	}

	sp.Train = report.OverSeeds(all.train, set.Outcomes)
	sp.Test = report.OverSeeds(all.test, set.Outcomes)
	if text := score.UncertainCalibration(sp.Test.Values, sp.Test.Runs); text != "" {
		sp.Test.Notes = append(slices.Clip(sp.Test.Notes), text)
	}

	all.methods.finish(sp)
	sp.Network = score.MeanByOutcome(all.trust)

	return all.answers, nil
}

// judgeSeed judges the answers of one seed, and adds the judgement to all and the answers to the detail of the split.
func (d *Data) judgeSeed(seed Seed, set triplets.Set, all *judged, ds *report.SplitDetail) error {
	answers, err := results.ReadPredictions(seed.Predictions, set)
	if err != nil {
		return err
	}

	onTrain := score.Judged(set, answers, triplets.Train)
	onTest := score.Judged(set, answers, triplets.Test)
	if err := all.methods.compare(seed, set, onTest); err != nil {
		return err
	}

	losses, err := lossesOf(seed.History)
	if err != nil {
		return err
	}

	all.answers = append(all.answers, answers)
	all.train = append(all.train, score.Summarise(onTrain))
	all.test = append(all.test, score.Summarise(onTest))
	all.trust = append(all.trust, networkTrust(set, answers))
	ds.Losses = append(ds.Losses, losses)
	d.addSeed(ds, set, answers, onTrain, onTest)

	return nil
}
