package honest

import (
	"context"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Predictor is a trained base model.
type Predictor interface {
	// Predict returns, at n conditions x (n×In, in the data's own units), the
	// means, the model's own epistemic variances v̂ and the noise variances σ² of
	// one measurement, n×Out each. It must be safe for concurrent use.
	Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error)
}

// Held is a training group that is left out.
type Held struct {
	Group int
	Rows  []int // the group's training rows, ascending
	Rest  []int // the other training rows, ascending
}

// LeaveOneOut lists the training rows, those for which test does not hold, and the
// groups among them that can be left out in turn. One without which no row would remain
// cannot.
func (g Grouping) LeaveOneOut(test []bool) (train []int, held []Held) {
	train = lists.Where(len(test), func(i int) bool { return !test[i] })
	for k := range g.Names {
		h := Held{Group: k}
		h.Rows, h.Rest = lists.Split(train, func(i int) bool { return g.Of[i] == k })
		if len(h.Rows) > 0 && len(h.Rest) > 0 {
			held = append(held, h)
		}
	}

	return train, held
}

// LeaveOutRows returns the left-out groups of a base that predicts all training rows at
// once, each group without its own measurements (mu, claim and noise in the order of
// train).
func LeaveOutRows(d triplets.Set, g Grouping, train []int, held []Held, mu, claim, noise []float64) []LeftOut {
	var left []LeftOut
	for _, h := range held {
		at := placesIn(train, h.Rows)
		of := func(v []float64) []float64 { return lists.Rows(v, d.Out, at) }
		left = append(left, NewLeftOut(d, g, h, of(mu), of(claim), of(noise)))
	}

	return left
}

// placesIn are the places of some elements of an ascending list.
func placesIn(ascending, some []int) []int {
	return lists.Each(some, func(i int) int {
		k, _ := slices.BinarySearch(ascending, i)
		return k
	})
}

// NewLeftOut joins predictions for the rows of a left-out group (mean, v̂ and σ²) with
// the pairs measured there and the distances to the rows the model was trained on.
func NewLeftOut(d triplets.Set, g Grouping, h Held, mu, claim, noise []float64) LeftOut {
	d = checked(d)
	l := LeftOut{
		Name: g.Names[h.Group], N: len(h.Rows), Mu: mu, Claim: claim, Noise: noise,
		Y1: lists.Rows(d.Y1, d.Out, h.Rows), Y2: lists.Rows(d.Y2, d.Out, h.Rows),
		Run: lists.Rows(d.Run, 1, h.Rows), Condition: lists.Rows(d.Condition, 1, h.Rows),
		Alone: lists.Rows(d.Alone, 1, h.Rows), Weight: lists.Rows(d.Weight, 1, h.Rows),
	}

	axis := g.Axis(h.Rest)
	for _, i := range h.Rows {
		z := 0.0
		if g.Z != nil {
			z = g.Z[i]
		}

		dist, outside := axis.Distance(z)
		l.Distance, l.Outside = append(l.Distance, dist), append(l.Outside, outside)
	}

	if d.SetPoints != nil { // repeats are one condition
		l.Condition, _ = triplets.Index(lists.Rows(d.SetPoints, d.In, h.Rows), d.In)
	}

	l.check(d.Out)

	return l
}
