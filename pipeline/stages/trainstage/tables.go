package trainstage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// Outputs of the stage's tasks that other stages read.
const (
	MethodArrow = "method.arrow"
	FlagsJSON   = "diagnostics.json" // identities of the theory that a model violates
	HeldOutLoss = "held_out_loss"    // a column of history.arrow, where something is held out
)

func historyTable(history []train.Epoch) *table.Table {
	t := &table.Table{}

	judged := slices.ContainsFunc(history, func(e train.Epoch) bool { return e.Judged })
	for _, e := range history {
		t.Cell("epoch", "", "passes over the training triplets", e.Epoch)
		t.Cell("loss", "", "mean training loss of the epoch, with dropout", e.Loss)
		t.Cell("learning_rate", "", "step size of the epoch's last step", e.LearningRate)

		if judged {
			if !e.Judged {
				e.HeldOut = math.NaN()
			}

			t.Cell(HeldOutLoss, "", "mean loss of held-out triplets after the epoch, without dropout; no part in training",
				e.HeldOut)
		}
	}

	return t
}

// predictionTable returns the triplets with the model's answers, in the outcomes'
// own units. The metadata hold the scales that give standardised units.
func predictionTable(trip *table.Table, s triplets.Set, est *train.Estimates) *table.Table {
	t := &table.Table{Columns: append([]table.Column(nil), trip.Columns...)}

	t.Make("set", "", "train or test: whether the model was trained on the row").Strings = lists.Each(s.Part,
		triplets.Part.String)
	addAnswers(t, s, triplets.AnswerColumns, est.Own(s.Scale).Rows(s.Condition, s.Out))
	list := func(v []float64) string {
		return strings.Join(lists.Each(v, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }), ",")
	}

	t.Meta = []kv.Pair{
		{Key: "inputs", Value: strings.Join(s.InputNames(), ",")},
		{Key: "outcomes", Value: strings.Join(s.OutcomeNames(), ",")},
		{Key: "outcome_mean", Value: list(s.Scale.Mean)},
		{Key: "outcome_std", Value: list(s.Scale.Std)},
		{Key: "samples", Value: strconv.Itoa(est.Samples)},
		{Key: "sampler", Value: est.Sampler},
		{Key: "cov_method", Value: est.Method},
	}

	return t
}

// addAnswers adds columns of answers, which are in the outcomes' own units.
func addAnswers(t *table.Table, s triplets.Set, columns []triplets.AnswerColumn, a triplets.Answers) {
	for k, o := range s.Outcomes {
		for _, c := range columns {
			unit := o.Unit
			if c.Square {
				unit = squared(unit)
			}

			t.Make(o.Name+c.Suffix, unit, c.Description).Floats = lists.Column(*c.Field(&a), s.Out, k)
		}
	}
}

// readAnswers reads what addAnswers wrote, n rows.
func readAnswers(t *table.Table, s triplets.Set, columns []triplets.AnswerColumn, n int, rows string) (
	a triplets.Answers, err error,
) {
	for _, c := range columns {
		v, failed := plan.Matrix(t, s.OutcomeNames(), c.Suffix)
		*c.Field(&a), err = v, errors.Join(err, failed)
	}

	if t.Rows() != n {
		err = errors.Join(err, fmt.Errorf("expected %d %s, found %d", n, rows, t.Rows()))
	}

	return a, err
}

// ReadPredictions reads the answers that predictionTable wrote, one row for each
// triplet, in the outcomes' own units.
func ReadPredictions(t *table.Table, s triplets.Set) (triplets.Answers, error) {
	a, err := readAnswers(t, s, triplets.AnswerColumns, s.N, "rows")
	if err != nil {
		return a, fmt.Errorf("read predictions: %w", err)
	}

	return a, nil
}

// methodColumns are the columns of a method's table, per outcome; its v̂ is Cov.
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

// methodTable holds a method's predictions, one row per distinct condition in
// the order of s.Distinct, in the outcomes' own units.
func methodTable(s triplets.Set, p *baseline.Prediction) *table.Table {
	t := &table.Table{}
	for k, q := range s.Inputs {
		t.Make(q.Name, q.Unit, q.Description).Floats = lists.Column(s.Distinct, s.In, k)
	}

	addAnswers(t, s, methodColumns, triplets.Answers{Mu: p.Mu, Var: p.Total, Cov: p.Epistemic})
	if p.Doubt != "" {
		t.Meta = append(t.Meta, kv.Pair{Key: "doubt", Value: p.Doubt})
	}

	return t
}

// ReadMethod reads what methodTable wrote.
func ReadMethod(t *table.Table, s triplets.Set) (triplets.Answers, error) {
	return readAnswers(t, s, methodColumns, s.Conditions(), "conditions")
}

// squared is the unit of a variance.
func squared(unit string) string {
	switch {
	case unit == "":
		return ""
	case strings.ContainsAny(unit, " /·"):
		return "(" + unit + ")²"
	}

	return unit + "²"
}
