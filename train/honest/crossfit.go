package honest

import (
	"context"
	"fmt"
	"slices"
)

// Predictor is a trained base model.
type Predictor interface {
	// Predict returns, at n conditions x (n×In, in the data's own units), the
	// means, the model's own epistemic variances v̂ and the noise variances σ² of
	// one measurement, n×Out each. It must be safe for concurrent use.
	Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error)
}

// Fitted holds the predictors of a Plan, by training.
type Fitted []Predictor

// LeaveOut predicts the left-out groups of a split, each with the model that was
// trained without it.
func LeaveOut(ctx context.Context, d Data, g Grouping, p Plan, split int, fitted Fitted) ([]LeftOut, error) {
	d = d.check()
	var left []LeftOut
	for _, h := range p.Splits[split].LeftOut {
		mu, claim, noise, err := fitted[h.Training].Predict(ctx, pick(d.X, d.In, h.Rows))
		if err != nil {
			return nil, fmt.Errorf("predict left-out group %s: %w", g.Names[h.Group], err)
		}
		left = append(left, NewLeftOut(d, g, h.Group, h.Rows, p.Trainings[h.Training].Rows, mu, claim, noise))
	}
	return left, nil
}

// LeaveOutRows is LeaveOut for a base that predicts all training rows of a split
// at once, each group without its own measurements (mu, claim and noise in the
// order of the split's training rows). condition, unless nil, is the index of
// each such row's condition, see LeftOut.Condition.
func LeaveOutRows(d Data, g Grouping, p Plan, split int, mu, claim, noise []float64, condition []int) []LeftOut {
	train := p.Trainings[p.Splits[split].Full].Rows
	var left []LeftOut
	for _, h := range p.Splits[split].LeftOut {
		at := make([]int, len(h.Rows)) // among the training rows
		for k, i := range h.Rows {
			at[k], _ = slices.BinarySearch(train, i)
		}
		l := NewLeftOut(d, g, h.Group, h.Rows, p.Trainings[h.Training].Rows,
			pick(mu, d.Out, at), pick(claim, d.Out, at), pick(noise, d.Out, at))
		if condition != nil {
			l.Condition = make([]int, len(at))
			for i, k := range at {
				l.Condition[i] = condition[k]
			}
		}
		left = append(left, l)
	}
	return left
}

// NewLeftOut joins predictions for the given rows of a left-out group (mean, v̂
// and σ², in the order of rows) with the pairs measured there and the distances
// to the rows the model was trained on.
func NewLeftOut(d Data, g Grouping, group int, rows, trained []int, mu, claim, noise []float64) LeftOut {
	d = d.check()
	l := LeftOut{
		Name: g.Names[group], N: len(rows), Mu: mu, Claim: claim, Noise: noise,
		Y1: pick(d.Y1, d.Out, rows), Y2: pick(d.Y2, d.Out, rows),
	}
	axis := g.Axis(trained)
	for _, i := range rows {
		z := 0.0
		if g.Z != nil {
			z = g.Z[i]
		}
		dist, outside := axis.Distance(z)
		l.Distance, l.Outside = append(l.Distance, dist), append(l.Outside, outside)
		l.Run = append(l.Run, d.Run[i])
	}
	l.check(d.Out)
	return l
}
