package honest

import (
	"context"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Predictor is a trained base model.
type Predictor interface {
	// Predict returns the means, the model's own epistemic variances v̂, and the noise variances σ² of one measurement
	// (n×Out each) at n conditions x (n×In), in the units of the data. It must be safe for concurrent use.
	Predict(ctx context.Context, x []float64) (triplets.Prediction, error)
}

// Held is a training group that is left out.
type Held struct {
	Group int   // place in Grouping.Names
	Rows  []int // training rows of the group, ascending
	Rest  []int // other training rows, ascending
}

// LeaveOneOut returns the training rows, which are the rows that test does not mark, and the groups among them that can
// be left out in turn. A group cannot be left out if it has no training row, or if no training row would remain without
// it.
func (g Grouping) LeaveOneOut(test []bool) (train []int, held []Held) {
	for i, t := range test {
		if !t {
			train = append(train, i)
		}
	}

	for k := range g.Names {
		h := Held{Group: k}
		for _, i := range train {
			if g.Group[i] == k {
				h.Rows = append(h.Rows, i)
			} else {
				h.Rest = append(h.Rest, i)
			}
		}

		if len(h.Rows) > 0 && len(h.Rest) > 0 {
			held = append(held, h)
		}
	}

	return train, held
}

// LeaveOutRows returns the left-out groups for a base that predicts all training rows at once, each row without the
// measurements of its group. p are the predictions of the rows of train.
func LeaveOutRows(d triplets.Set, g Grouping, train []int, held []Held, p triplets.Prediction) []LeftOut {
	var left []LeftOut
	for _, h := range held {
		left = append(left, NewLeftOut(d, g, h, p.Rows(d.Out, placesIn(train, h.Rows))))
	}

	return left
}

// placesIn returns the places of some elements in an ascending list, which must contain them.
func placesIn(ascending, some []int) []int {
	var places []int
	for _, v := range some {
		k, _ := slices.BinarySearch(ascending, v)
		places = append(places, k)
	}

	return places
}

// NewLeftOut joins p, the predictions of the rows of a left-out group h, with the pairs measured there and the
// distances to the rows that the model was trained on. NewLeftOut panics if the slices of d or p have a length that
// does not fit their rows.
func NewLeftOut(d triplets.Set, g Grouping, h Held, p triplets.Prediction) LeftOut {
	d = checked(d)
	l := LeftOut{
		Name: g.Names[h.Group], N: len(h.Rows), Mu: p.Mu, Claim: p.Claim, Noise: p.Noise,
		Y1: lists.Rows(d.Y1, d.Out, h.Rows), Y2: lists.Rows(d.Y2, d.Out, h.Rows),
		Run: lists.Pick(d.Run, h.Rows), Condition: lists.Pick(d.Condition, h.Rows),
		Alone: lists.Pick(d.Alone, h.Rows), Weight: lists.Pick(d.Weight, h.Rows),
	}

	axis := g.Axis(h.Rest)
	for _, i := range h.Rows {
		z := 0.0
		if g.Z != nil {
			z = g.Z[i]
		}

		distance, outside := axis.Distance(z)
		l.Distance = append(l.Distance, distance)
		l.Outside = append(l.Outside, outside)
	}

	if d.SetPoints != nil { // rows of equal set points are repeats of one condition
		l.Condition, _ = triplets.Index(lists.Rows(d.SetPoints, d.In, h.Rows), d.In)
	}

	l.check(d.Out)

	return l
}
