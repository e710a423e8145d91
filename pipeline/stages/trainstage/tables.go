package trainstage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// Outputs of the stage's tasks that other stages read.
const (
	MethodArrow     = "method.arrow"
	TimingJSON      = "timing.json"      // how long it took; its digest is fixed, because it is no result
	FlagsJSON       = "diagnostics.json" // identities of the theory that a model violates
	CalibrationJSON = "calibration.json"
	HeldOutLoss     = "held_out_loss" // a column of history.arrow, where something is held out
)

func historyTable(history []train.Epoch) *table.Table {
	t := &table.Table{}

	judged := slices.ContainsFunc(history, func(e train.Epoch) bool { return e.Judged })
	for _, e := range history {
		plan.Cell(t, "epoch", "", "passes over the training triplets", e.Epoch)
		plan.Cell(t, "loss", "", "mean training loss of the epoch, with dropout", e.Loss)
		plan.Cell(t, "learning_rate", "", "step size of the epoch's last step", e.LearningRate)

		if judged {
			plan.Cell(t, HeldOutLoss, "", "mean loss of held-out triplets after the epoch, without dropout; no part in training",
				judgedLoss(e))
		}
	}

	return t
}

// judgedLoss is the held-out loss, NaN where it was not taken.
func judgedLoss(e train.Epoch) float64 {
	if !e.Judged {
		return math.NaN()
	}
	return e.HeldOut
}

// predictionTable returns the triplets with the model's answers, in the outcomes'
// own units. The metadata hold the scales that give standardised units.
func predictionTable(trip *table.Table, s triplets.Set, est *train.Estimates) *table.Table {
	t := &table.Table{Columns: append([]table.Column(nil), trip.Columns...)}

	parts := table.Column{Name: "set", Description: "train or test: whether the model was trained on the row; " +
		"calibration: set aside to recalibrate"}
	for _, p := range s.Part {
		parts.Strings = append(parts.Strings, p.String())
	}

	t.Columns = append(t.Columns, parts)

	rows := est.Own(s.Scale).Rows(s.Condition, s.Out)
	for k, o := range s.Outcomes {
		for _, c := range triplets.AnswerColumns {
			column := table.Column{Name: o.Name + c.Suffix, Unit: o.Unit, Description: c.Description}
			if c.Square {
				column.Unit = squared(o.Unit)
			}

			plan.AddColumn(t, column, *c.Field(&rows), s.Out, k)
		}
	}

	list := func(v []float64) string {
		text := make([]string, len(v))
		for i, x := range v {
			text[i] = strconv.FormatFloat(x, 'g', -1, 64)
		}

		return strings.Join(text, ",")
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

// ReadPredictions reads the answers that predictionTable wrote, one row for each
// triplet, in the outcomes' own units.
func ReadPredictions(t *table.Table, s triplets.Set) (triplets.Answers, error) {
	var a triplets.Answers

	var errs []error
	for _, c := range triplets.AnswerColumns {
		v, err := plan.Matrix(t, s.OutcomeNames(), c.Suffix)
		*c.Field(&a) = v
		errs = append(errs, err)
	}

	if t.Rows() != s.N {
		errs = append(errs, fmt.Errorf("expected %d rows, found %d", s.N, t.Rows()))
	}

	if err := errors.Join(errs...); err != nil {
		return a, fmt.Errorf("read predictions: %w", err)
	}

	return a, nil
}

// methodColumns are the columns of a method's table, per outcome.
var methodColumns = []struct {
	suffix, description string
	square              bool
	of                  func(*baseline.Prediction) *[]float64
}{
	{"_mu", "mean", false, func(p *baseline.Prediction) *[]float64 { return &p.Mu }},
	{
		"_var", "variance of one measurement, everything included", true,
		func(p *baseline.Prediction) *[]float64 { return &p.Total },
	},
	{
		"_epistemic", "the part of it that is ignorance of the mean", true,
		func(p *baseline.Prediction) *[]float64 { return &p.Epistemic },
	},
}

// methodTable holds a method's predictions, one row per distinct condition in
// the order of s.Distinct, in the outcomes' own units.
func methodTable(s triplets.Set, p *baseline.Prediction) *table.Table {
	t := &table.Table{}
	for k, q := range s.Inputs {
		plan.AddColumn(t, table.Column{Name: q.Name, Unit: q.Unit, Description: q.Description}, s.Distinct, s.In, k)
	}

	for k, o := range s.Outcomes {
		for _, c := range methodColumns {
			column := table.Column{Name: o.Name + c.suffix, Unit: o.Unit, Description: c.description}
			if c.square {
				column.Unit = squared(o.Unit)
			}

			plan.AddColumn(t, column, *c.of(p), s.Out, k)
		}
	}

	if p.Doubt != "" {
		t.Meta = append(t.Meta, kv.Pair{Key: "doubt", Value: p.Doubt})
	}

	return t
}

// ReadMethod reads what methodTable wrote.
func ReadMethod(t *table.Table, s triplets.Set) (*baseline.Prediction, error) {
	p := &baseline.Prediction{N: t.Rows(), Out: s.Out, Doubt: t.Get("doubt")}

	var errs []error
	for _, c := range methodColumns {
		v, err := plan.Matrix(t, s.OutcomeNames(), c.suffix)
		*c.of(p) = v
		errs = append(errs, err)
	}

	if p.N != s.Conditions() {
		errs = append(errs, fmt.Errorf("expected %d conditions, found %d", s.Conditions(), p.N))
	}

	return p, errors.Join(errs...)
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
