// Package judge judges the predictions of any other program by pairs, with the functions that judge our own predictions
// (docs/judge.md). It reports the measured error of the mean, the intervals that the other program states, and
// intervals that are learned from the other program's own predictions of left-out groups. It fits no model.
package judge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/report"
	"doubletake/report/pairs"
)

// Options name the predictions and the pairs that judge them.
type Options struct {
	Predictions string       // path of a table of predictions
	Against     pairs.Source // the pairs that judge
	Split       string       // a split of the experiment, whose held-out pairs alone are judged; "": all predicted pairs
	Groups      string       // column with the group that a prediction was trained without, or a derived condition
	Level       float64      // probability of the intervals
}

// Judge judges predictions. It returns the judgement as the report of an experiment without networks, with one split
// or, if groups were left out, a split for each group.
func Judge(ctx context.Context, o Options) (report.Experiment, error) {
	cells, err := pairs.ReadCells(o.Predictions)
	if err != nil {
		_, other := openPairs(o, nil) // a wrong split is reported together with err
		if _, isUsage := errors.AsType[*fault.UsageError](other); isUsage {
			err = &fault.UsageError{Text: err.Error() + "; " + other.Error()}
		}

		return report.Experiment{}, err
	}

	judges, err := openPairs(o, cells.Columns)
	if err != nil {
		return report.Experiment{}, err
	}

	groups, err := judges.groups(o.Groups, cells)
	if err != nil {
		return report.Experiment{}, err
	}

	matched, err := cells.Match(judges.Pairs, judges.inputs())
	if err != nil {
		return report.Experiment{}, err
	}

	set, err := judges.set(matched)
	if err != nil {
		return report.Experiment{}, err
	}

	p := &predictions{cells, matched.Rows, groups}
	predicted, notes, err := p.read(set, o)
	if err != nil {
		return report.Experiment{}, err
	}

	experiment := report.Experiment{
		Name: filepath.Base(p.Path) + " against " + judges.Name, Data: judges.Get("data"), Pairs: judges.Get("pairs"),
		Inputs: matched.Conditions, Outcomes: matched.Outcomes, Triplets: judges.Rows(), Runs: len(set.Runs),
		Warnings: slices.Concat(matched.Notes, notes, cells.Notes, judges.Notes),
	}
	for _, quantity := range set.Outcomes {
		experiment.OutcomeUnits = append(experiment.OutcomeUnits, quantity.Unit)
	}

	if left := p.unused(pairs.Outcomes(judges.Table)); left != nil {
		experiment.Warnings = append(experiment.Warnings,
			"not used: "+pairs.Some(left, len(left))+"; columns of an outcome are "+
				"NAME, NAME_low and NAME_high, or NAME_sd")
	}

	if err := predicted.addSplits(ctx, judges, &experiment); err != nil {
		return report.Experiment{}, err
	}

	return experiment, nil
}

// groups returns the group that each row of a table of predictions was trained without: the text of the column with the
// given name, or the number that is computed from other columns as in the experiment. It returns nil if name is "".
func (a *judgingPairs) groups(name string, cells *pairs.Cells) ([]string, error) {
	if name == "" {
		return nil, nil
	}

	var texts []string
	if cells.Has(name) {
		for i := range cells.Rows {
			texts = append(texts, cells.Text(i, name))
		}

		return texts, nil
	}

	if !a.Computes(name, cells) {
		return nil, &fault.UsageError{Text: fmt.Sprintf("--groups: %s has no column %q, but %s%s", cells.Path, name,
			strings.Join(cells.Columns, ", "), spelling.DidYouMean(name, cells.Columns))}
	}

	values, err := a.Compute(name, cells)
	if err != nil {
		return nil, err
	}

	for _, value := range values {
		texts = append(texts, strconv.FormatFloat(value, 'g', 10, 64)) // without the digits that rounding changes
	}

	return texts, nil
}
