package honest

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"doubletake/train/triplets"
)

// Fitted holds the predictors of a Plan, by training.
type Fitted []Predictor

// LeaveOut predicts the left-out groups of a split, each with the model that was
// trained without it.
func LeaveOut(ctx context.Context, d triplets.Set, g Grouping, p Plan, split int, fitted Fitted) ([]LeftOut, error) {
	var left []LeftOut
	for _, h := range p.Splits[split].LeftOut {
		mu, claim, noise, err := fitted[h.Training].Predict(ctx, pick(d.X, d.In, h.Rows))
		if err != nil {
			return nil, fmt.Errorf("predict left-out group %s: %w", g.Names[h.Group], err)
		}

		left = append(left, NewLeftOut(d, g, h.Held, mu, claim, noise))
	}

	return left, nil
}

// Held returns the left-out groups of a split.
func (p Plan) Held(split int) (held []Held) {
	for _, h := range p.Splits[split].LeftOut {
		held = append(held, h.Held)
	}
	return held
}

// Train returns the training rows of a split.
func (p Plan) Train(split int) []int { return p.Trainings[p.Splits[split].Full].Rows }

// Split holds out rows as a test set.
type Split struct {
	Name string
	Test []bool // per row
}

// Training is a model to be trained on some rows.
type Training struct {
	Rows []int // ascending
	Held []int // groups without a row among them, ascending
}

// SplitPlan names the trainings of a split by their index in Plan.Trainings.
type SplitPlan struct {
	Name    string
	Full    int       // on all training rows
	Test    []int     // test rows, ascending
	LeftOut []Trained // one for each training group
}

// Trained is a training group that is left out of a training.
type Trained struct {
	Held
	Training int // index in Plan.Trainings: without test rows and without this group
}

// Plan lists the distinct trainings that some splits need.
type Plan struct {
	Trainings []Training
	Splits    []SplitPlan
}

// NewPlan lists the trainings for splits of rows that g assigns to groups: each
// split needs one on all its training rows and one without each of its training
// groups. Trainings on the same rows are listed once, so that G groups, each
// held out in one split, need G + G(G−1)/2. A training that would have no rows
// is left out of the plan, as is its group. NewPlan panics when a split does not
// state every row.
func NewPlan(g Grouping, splits []Split) Plan {
	var p Plan
	index := map[string]int{}
	add := func(rows []int) int {
		key := make([]byte, 0, 4*len(rows))
		for _, i := range rows {
			key = binary.LittleEndian.AppendUint32(key, uint32(i))
		}

		k, known := index[string(key)]
		if !known {
			k = len(p.Trainings)
			index[string(key)] = k
			p.Trainings = append(p.Trainings, Training{Rows: rows, Held: g.absent(rows)})
		}

		return k
	}

	for _, s := range splits {
		if len(s.Test) != len(g.Of) {
			panic(fmt.Sprintf("honest: split %q states %d rows, the groups %d", s.Name, len(s.Test), len(g.Of)))
		}

		sp := SplitPlan{Name: s.Name}
		for i, test := range s.Test {
			if test {
				sp.Test = append(sp.Test, i)
			}
		}

		train, held := g.LeaveOneOut(s.Test)
		sp.Full = add(train)
		for _, h := range held {
			sp.LeftOut = append(sp.LeftOut, Trained{h, add(h.Rest)})
		}

		p.Splits = append(p.Splits, sp)
	}

	return p
}

// Each returns one split for each group of g, with the group as its test set
// and its name.
func (g Grouping) Each() []Split {
	splits := make([]Split, len(g.Names))
	for h, name := range g.Names {
		splits[h] = Split{Name: name, Test: make([]bool, len(g.Of))}
		for i, k := range g.Of {
			splits[h].Test[i] = k == h
		}
	}

	return splits
}

// absent returns the groups that have no row among rows.
func (g Grouping) absent(rows []int) []int {
	there := make([]bool, len(g.Names))
	for _, i := range rows {
		there[g.Of[i]] = true
	}

	var out []int
	for h, ok := range there {
		if !ok {
			out = append(out, h)
		}
	}

	return out
}

// FitFunc trains a base model on the given rows alone: neither outcomes nor
// scales of other rows may enter. Its result may depend on rows only, and
// several may run at once.
type FitFunc func(ctx context.Context, rows []int) (Predictor, error)

// FitPlan trains all models of a plan, up to workers at once. The result does
// not depend on their number.
func FitPlan(ctx context.Context, p Plan, fit FitFunc, workers int) (Fitted, error) {
	fitted := make(Fitted, len(p.Trainings))
	errs := make([]error, len(p.Trainings))
	next := make(chan int)

	var wg sync.WaitGroup
	for range max(1, min(workers, len(p.Trainings))) {
		wg.Go(func() {
			for k := range next {
				fitted[k], errs[k] = fit(ctx, p.Trainings[k].Rows)
			}
		})
	}

	for k := range p.Trainings {
		next <- k
	}

	close(next)
	wg.Wait()

	for k, err := range errs { // the first, whichever failed first
		if err != nil {
			return nil, fmt.Errorf("train model %d of %d, %d rows: %w", k+1, len(errs), len(p.Trainings[k].Rows), err)
		}
	}

	return fitted, nil
}
