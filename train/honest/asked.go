package honest

import (
	"context"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// asked holds all questions of the calibration of one split to a process, with the answers. The questions are asked
// together, because a large process is factorised anew each time that it is asked. For networks, which need no
// factorisation, it holds only the test part (askNetworks).
type asked struct {
	rows   []int  // rows of the groups that are left out, ascending
	held   []Held // these groups, with the rows that are predicted
	units  leftUnits
	test   testRows
	chosen chosenRuns // held-out runs that forecasts take as measured; the zero value: there is no forecast

	answers gp.Answers
}

// ask asks a process for all that the calibration of a split needs: predictions of the left-out groups and units and of
// the test part, and the claims after further runs. m is the model of the process, which describes its inputs and its
// condition.
func (l Learner) ask(ctx context.Context, t trainingGroups, m *Model, base *gp.Mapped) (*asked, error) {
	a := &asked{}
	q := gp.Questions{LeaveOut: true}
	a.rows, q.Rows, a.held = leftRows(t, m)
	a.units = newLeftUnits(t, m)
	for _, set := range a.units.sets {
		q.Units = append(q.Units, set)
	}

	if slices.Contains(t.set.Part, triplets.Test) {
		a.test = newTestRows(t, m, l.labels(t.grouping))
		q.X = a.test.x
		q.Level = a.test.level
		if chosen := chooseRuns(t.set); chosen.allowForecast() {
			a.chosen = chosen
			q.Added = chosen.added(t.set, a.test, len(m.Labels))
		}
	}

	var err error
	a.answers, err = base.Answer(ctx, q)
	if err != nil {
		return nil, err
	}

	return a, nil
}

// left returns the left-out groups.
func (a *asked) left(t trainingGroups) []LeftOut {
	return LeaveOutRows(t.set, t.grouping, a.rows, a.held, a.answers.Left)
}

// leaveOut predicts each held group by the process without the group, in closed form. It also returns the groups with
// the rows that were predicted: a process of cells, which are averages of neighbouring conditions (gp.Cells), predicts
// only some rows of large groups.
func leaveOut(ctx context.Context, t trainingGroups, m *Model, base *gp.Mapped) ([]LeftOut, []Held, error) {
	rows, places, held := leftRows(t, m)
	p, err := base.LeaveOut(ctx, places)
	if err != nil {
		return nil, nil, err
	}

	return LeaveOutRows(t.set, t.grouping, rows, held, p), held, nil
}

// leftRows returns the rows that are predicted without their groups, their places among the training rows (nil: all),
// and the groups with these rows.
func leftRows(t trainingGroups, m *Model) (rows, places []int, held []Held) {
	if m.Process.Cells() != nil {
		return someLeftOut(t.set, t.train, t.held)
	}

	return t.train, nil, t.held
}

// testRows are the rows of the test part as they are predicted.
type testRows struct {
	all   []int     // levels of the labels of all rows of the set, rows × labels; nil: there are no labels
	level []int     // like all, of the test rows; nil: there are no labels
	x     []float64 // inputs of the conditions that are predicted
	rows  []int     // place of each test row among these conditions; nil: each row is predicted
}

// newTestRows returns the rows of the test part. Without labels each condition is predicted once, since all its rows
// have the same prediction.
func newTestRows(t trainingGroups, m *Model, labels []Label) testRows {
	test := t.set.Only(triplets.Test)
	r := testRows{all: levels(m.Labels, labels, lists.Numbers(t.set.N))}
	r.level = lists.Rows(r.all, len(m.Labels), t.set.RowsOf(triplets.Test))
	if len(m.Labels) > 0 {
		r.x = test.X
		return r
	}

	places := map[int]int{} // by condition: its place among the predicted conditions
	for i, c := range test.Present() {
		places[c] = i
		r.x = append(r.x, test.At(c)...)
	}

	for _, c := range test.Condition {
		r.rows = append(r.rows, places[c])
	}

	return r
}

// askNetworks asks networks for the test part.
func (l Learner) askNetworks(ctx context.Context, t trainingGroups, m *Model) (*asked, error) {
	var err error
	a := &asked{test: newTestRows(t, m, l.labels(t.grouping))}
	a.answers.Predicted, err = m.Ensemble.Predict(ctx, a.test.x)
	if err != nil {
		return nil, err
	}

	return a, nil
}

// predicted returns the predictions of the test rows, from the predictions of the conditions r.x.
func (r testRows) predicted(p triplets.Prediction, outcomes int) triplets.Prediction {
	if r.rows == nil {
		return p
	}
	return p.Rows(outcomes, r.rows)
}
