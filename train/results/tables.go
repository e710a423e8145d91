// Package results writes what was trained as tables, and reads them: the history of a training, the predictions of a
// network and of a method, and the intervals of a calibration. The writer and the reader of a table stand side by side.
package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/table"
	"doubletake/ingest/units"
	"doubletake/internal/kv"
	"doubletake/internal/lists"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// HeldOutLoss is a column of the table of a training's history, if something is held out.
const HeldOutLoss = "held_out_loss"

// HistoryTable returns the losses of a training by epoch. It has the held-out loss if the training computed some; the
// loss is NaN after epochs for which it was not computed.
func HistoryTable(history []train.Epoch) *table.Table {
	t := &table.Table{}

	judged := slices.ContainsFunc(history, func(e train.Epoch) bool { return e.Judged })
	for _, e := range history {
		table.AddCell(t, "epoch", "", "passes over the training triplets", e.Epoch)
		table.AddCell(t, "loss", "", "mean training loss of the epoch, with dropout", e.Loss)
		table.AddCell(t, "learning_rate", "", "step size of the epoch's last step", e.LearningRate)

		if judged {
			if !e.Judged {
				e.HeldOut = math.NaN()
			}

			table.AddCell(t, HeldOutLoss, "",
				"mean loss of held-out triplets after the epoch, without dropout; no part in training",
				e.HeldOut)
		}
	}

	return t
}

// PredictionTable returns the triplets with the model's answers, in the outcomes' own units. The metadata contain the
// means and deviations by which the outcomes are standardised.
func PredictionTable(trip *table.Table, set triplets.Set, est *train.Estimates) *table.Table {
	t := &table.Table{Columns: slices.Clone(trip.Columns)}

	parts := make([]string, len(set.Part))
	for i, part := range set.Part {
		parts[i] = part.String()
	}

	t.Make("set", "", "train or test: whether the model was trained on the row").Strings = parts
	addAnswers(t, set, triplets.AnswerColumns, est.Own(set.Scale).Rows(set.Condition, set.Out))
	t.Meta = []kv.Pair{
		{Key: "inputs", Value: strings.Join(set.InputNames(), ",")},
		{Key: "outcomes", Value: strings.Join(set.OutcomeNames(), ",")},
		{Key: "outcome_mean", Value: numberList(set.Scale.Mean)},
		{Key: "outcome_std", Value: numberList(set.Scale.Std)},
		{Key: "samples", Value: strconv.Itoa(est.Samples)},
		{Key: "sampler", Value: est.Sampler},
		{Key: "cov_method", Value: est.Method},
	}

	return t
}

// numberList joins numbers with commas.
func numberList(values []float64) string {
	texts := make([]string, len(values))
	for i, x := range values {
		texts[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}

	return strings.Join(texts, ",")
}

// addAnswers adds the given columns of answers for each outcome. The answers are in the outcomes' own units.
func addAnswers(t *table.Table, set triplets.Set, columns []triplets.AnswerColumn, answers triplets.Answers) {
	for k, o := range set.Outcomes {
		for _, c := range columns {
			unit := o.Unit
			if c.Square {
				unit = units.Squared(unit)
			}

			t.Make(o.Name+c.Suffix, unit, c.Description).Floats = lists.Column(*c.Field(&answers), set.Out, k)
		}
	}
}

// readAnswers reads the columns that addAnswers added to a table of n rows. rows names the rows in messages.
func readAnswers(t *table.Table, set triplets.Set, columns []triplets.AnswerColumn, n int, rows string) (
	a triplets.Answers, err error,
) {
	for _, c := range columns {
		values, failed := table.Matrix(t, set.OutcomeNames(), c.Suffix)
		*c.Field(&a) = values
		err = errors.Join(err, failed)
	}

	if t.Rows() != n {
		err = errors.Join(err, fmt.Errorf("expected %d %s, found %d", n, rows, t.Rows()))
	}

	return a, err
}

// ReadPredictions reads the answers from a table that PredictionTable returned, with one row for each triplet, in the
// outcomes' own units.
func ReadPredictions(t *table.Table, set triplets.Set) (triplets.Answers, error) {
	a, err := readAnswers(t, set, triplets.AnswerColumns, set.N, "rows")
	if err != nil {
		return a, fmt.Errorf("read predictions: %w", err)
	}

	return a, nil
}

// methodColumns lists the columns of a method's table for each outcome. The method's epistemic variance is read into
// the field Cov, to which it is compared.
var methodColumns = []triplets.AnswerColumn{
	{Suffix: "_mu", Description: "mean", Field: func(a *triplets.Answers) *[]float64 { return &a.Mu }},
	{
		Suffix: "_var", Square: true, Description: "variance of one measurement, everything included",
		Field: func(a *triplets.Answers) *[]float64 { return &a.Var },
	},
	{
		Suffix: "_epistemic", Square: true, Description: "the part of it that is ignorance of the mean",
		Field: func(a *triplets.Answers) *[]float64 { return &a.Cov },
	},
}

// MethodTable returns a method's predictions with one row for each distinct condition, in the order of set.Distinct and
// in the outcomes' own units.
func MethodTable(set triplets.Set, p *baseline.Prediction) *table.Table {
	t := &table.Table{}
	for k, q := range set.Inputs {
		t.Make(q.Name, q.Unit, q.Description).Floats = lists.Column(set.Distinct, set.In, k)
	}

	addAnswers(t, set, methodColumns, triplets.Answers{Mu: p.Mu, Var: p.Total, Cov: p.Epistemic})
	if p.Doubt != "" {
		t.Meta = append(t.Meta, kv.Pair{Key: "doubt", Value: p.Doubt})
	}

	return t
}

// ReadMethod reads the answers from a table that MethodTable returned, with one row for each distinct condition, in the
// outcomes' own units. The caller adds the name of the method to its error.
func ReadMethod(t *table.Table, set triplets.Set) (triplets.Answers, error) {
	return readAnswers(t, set, methodColumns, set.Conditions(), "conditions")
}

// IntervalTable returns the held-out triplets with their intervals, in the outcomes' own units. It returns the triplets
// without intervals if p is nil, which means that there is no calibration.
func IntervalTable(set triplets.Set, p *interval.Prediction) *table.Table {
	t := &table.Table{}
	test := set.Only(triplets.Test)
	rows := set.RowsOf(triplets.Test)
	var runs []string
	for _, i := range rows {
		runs = append(runs, set.Runs[set.Run[i]])
	}

	t.Make("run", "", "one acquisition at one condition").Strings = runs
	t.Make("recording", "", "one channel of a run, or the group that makes one outcome vector").Strings = lists.Pick(
		set.Recording, rows)
	for k, q := range set.Inputs {
		t.Make(q.Name, q.Unit, q.Description).Floats = lists.Column(test.X, set.In, k)
	}

	if p == nil {
		return t
	}

	for k, outcome := range set.Outcomes {
		for _, c := range interval.Columns {
			column := t.Make(outcome.Name+c.Suffix, outcome.Unit, c.Description)
			for i := k; i < len(p.Mu); i += set.Out {
				column.Floats = append(column.Floats, c.Value(p, i))
			}
		}
	}

	return t
}
