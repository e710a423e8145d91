package variants

import (
	"context"
	"fmt"
	"slices"

	"doubletake/ingest/table"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/results"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Trained is a variant with its triplets and the predictions of its trainings.
type Trained struct {
	pairs.Divider
	Triplets   *table.Table
	Conditions []string // conditions that are known before the analysis of a run

	// Predictions reads the predictions of one seed for a split.
	Predictions func(split string, seed int) (*table.Table, error)
}

// Split is a split with the inner splits by which a variant is selected.
type Split struct {
	experiment.Split
	Inner []experiment.Split // splits of the training part; nil if no variant is selected
}

// CompareSplits compares the variants on each split, and on its inner splits.
func CompareSplits(ctx context.Context, all []Trained, splits []Split) ([]report.SweptSplit, error) {
	var compared []report.SweptSplit
	for _, split := range splits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		held, err := Compare(all, split.Split, []experiment.Split{split.Split})
		if err != nil {
			return nil, err
		}

		inner, err := Compare(all, split.Split, split.Inner)
		if err != nil {
			return nil, err
		}

		compared = append(compared, report.SweptSplit{
			Name: split.Name, HeldOut: split.Test.String(), Seeds: all[0].Seeds, Held: held, Inner: inner,
			Groups: len(split.Inner),
		})
	}

	return compared, nil
}

// Compare compares the variants on the test parts of splits, in the units of the training part that the split outer
// has in the first variant. Without splits, Compare returns an empty comparison.
func Compare(all []Trained, outer experiment.Split, splits []experiment.Split) (report.Comparison, error) {
	if len(splits) == 0 {
		return report.Comparison{}, nil
	}

	var judged Judged
	var first triplets.Set
	for i, v := range all {
		_, whole, err := v.DivideTable(v.Triplets, outer)
		if err != nil {
			return report.Comparison{}, fmt.Errorf("compare variants: %w", err)
		}

		if i == 0 {
			first = whole
		}

		if !slices.Equal(whole.OutcomeNames(), first.OutcomeNames()) {
			judged = append(judged, Variant{Apart: "its outcomes are others than the first variant's"})
			continue
		}

		answers := Variant{Seeds: make([]score.Set, v.Seeds)}
		for _, split := range splits {
			if err := v.addTo(&answers, split, first.Scale); err != nil {
				return report.Comparison{}, fmt.Errorf("compare variants: %w", err)
			}
		}

		judged = append(judged, answers)
	}

	return judged.Compare(), nil
}

// addTo adds the variant's answers at the test part of a split.
func (v *Trained) addTo(judged *Variant, split experiment.Split, scale triplets.Scale) error {
	tab, set, err := v.DivideTable(v.Triplets, split)
	if err != nil {
		return err
	}

	set.Scale = scale
	judged.AddRows(tab, v.Conditions, set.RowsOf(triplets.Test))
	for seed := range judged.Seeds {
		predictions, err := v.Predictions(split.Name, seed)
		if err != nil {
			return err
		}

		answers, err := results.ReadPredictions(predictions, set)
		if err != nil {
			return err
		}

		judged.AddAnswers(seed, score.Judged(set, answers, triplets.Test))
	}

	return nil
}
