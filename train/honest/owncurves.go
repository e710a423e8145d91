package honest

import (
	"context"
	"fmt"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
)

// This file decides whether the names of a label get curves of their own. A label is a column of names, such as wings.
// A process gives each name an offset, which is one number for each outcome. This is not enough if the lift of two
// wings follows the angle in different ways. A curve of its own is a function of the inputs that one name adds to the
// function of all names. Names get curves if the evidence of the process rises by enough: the probability density of
// the outcomes.

// curveMargin is the rise of ln evidence above which the names of a label get curves.
const curveMargin = 5.0

// leastJudges is the smallest number of left-out things whose evidence counts in the decision.
const leastJudges = 3

// fitCurves fits a process again, with a curve for each name of one label. It returns the new process and an entry that
// describes the curves if the data prefer it. Otherwise it returns offsets, the process without curves, and no entry.
//
// The label is the one whose names gain most by curves in fits with few conditions and steps (screenCurves). fitCurves
// then compares full fits. ln evidence must rise by more than curveMargin. If the groups are things and at least
// leastJudges were left out, the rise and the change of the left-out things' ln evidence (leftOutChange) must exceed
// curveMargin in sum.
//
// fitCurves tries no curves if l asks for offsets alone, for harmonics of a rotor, or if the process averages
// conditions because there are more than gp.MaxRows.
func (l Learner) fitCurves(ctx context.Context, t trainingGroups, offsets fittedProcess) (
	fittedProcess, []interval.OwnCurves, error,
) {
	m := offsets.model
	averages := m.Process.Conditions() > gp.MaxRows
	if l.OffsetsAlone || m.Orders != nil || averages {
		return offsets, nil, nil
	}

	r := l.newProcessRows(t.set, t.grouping, t.train)
	r.Logarithm = m.Logarithm
	r.form = m.Form()
	label, err := r.screenCurves(ctx)
	if err != nil || label == 0 {
		return offsets, nil, err
	}

	r.curves = label
	var curves fittedProcess
	curves.model, curves.base, err = r.fit(ctx)
	if err != nil || curves.base == nil { // the data allow no process with curves
		return offsets, nil, err
	}

	rise := curves.model.logEvidence() - m.logEvidence()
	if rise <= curveMargin {
		return offsets, nil, nil
	}

	change, err := l.leftOutChange(ctx, t, offsets, curves)
	if err != nil || rise+change <= curveMargin {
		return offsets, nil, err
	}

	curves.model.Representation = m.Representation
	names := m.Labels[label-1]

	return curves, []interval.OwnCurves{{Label: names.Name, Names: len(names.Names), Evidence: rise}}, nil
}

// fittedProcess is a model, and its process in the form that can leave out training rows.
type fittedProcess struct {
	model *Model
	base  *gp.Mapped
}

// leftOutChange returns ln of the evidence of the left-out things by the process with curves, less ln of their evidence
// by the process with offsets. It returns 0 if the groups are not things, or if there are fewer than leastJudges
// things.
func (l Learner) leftOutChange(ctx context.Context, t trainingGroups, offsets, curves fittedProcess) (float64, error) {
	if !l.OfThings() || len(t.held) < leastJudges {
		return 0, nil
	}

	before, err := l.leftOutEvidence(ctx, t, offsets)
	if err != nil {
		return 0, err
	}

	after, err := l.leftOutEvidence(ctx, t, curves)
	if err != nil {
		return 0, err
	}

	return after - before, nil
}

// leftOutEvidence returns ln of the evidence of the left-out groups, each predicted by the process without the group.
func (l Learner) leftOutEvidence(ctx context.Context, t trainingGroups, p fittedProcess) (float64, error) {
	left, held, err := leaveOut(ctx, t, p.model, p.base)
	if err != nil {
		return 0, err
	}

	return l.evidence(t.set, t.train, left, held, p.model.Form()), nil
}

// screenCurves returns the label whose names gain most ln evidence by curves of their own, counted from 1 as in
// processRows.curves. It returns 0 if no label gains more than curveMargin, or if the data allow no process with
// offsets. It skips runs, labels with fewer than two names, and labels whose names the inputs tell apart.
func (r processRows) screenCurves(ctx context.Context) (label int, err error) {
	r.hyperRows = screenRows
	r.steps = screenSteps
	var offsets *Model // nil before the first fit
	most := curveMargin
	for k, names := range r.Labels {
		if names.areRuns() || len(names.Names) < 2 || r.tellsApart(k) {
			continue
		}

		if offsets == nil {
			var base *gp.Mapped
			offsets, base, err = r.fit(ctx)
			if err != nil || base == nil {
				return 0, err
			}
		}

		r.curves = k + 1
		curves, base, err := r.fit(ctx)
		if err != nil {
			return 0, err
		}

		if base == nil {
			continue // the data allow no process with these curves
		}

		if gain := curves.logEvidence() - offsets.logEvidence(); gain > most {
			most = gain
			label = k + 1
		}
	}

	return label, nil
}

// tellsApart reports whether inputs describe each name of label k (counted from 0): no two names have the same values
// of the inputs that are constant within every name. It skips inputs that the form does not use. The kernel on all
// inputs can then describe how the names differ, and they need no curves.
func (r processRows) tellsApart(k int) bool {
	names := len(r.Labels[k].Names)
	rows := make([][]int, names) // by name
	for i := range r.Set.N {
		name := r.Level[i*len(r.Labels)+k]
		rows[name] = append(rows[name], i)
	}

	x := r.Set.AtSetPoints()
	properties := make([]string, names) // by name: the values of its properties, as one text
	for j := range r.Set.In {
		column := lists.Column(x, r.Set.In, j)
		isUsed := r.form == nil || slices.ContainsFunc(r.form.Columns, func(c form.Column) bool { return c.Uses(j) })
		if !isUsed || !sameInEach(column, rows) {
			continue
		}

		for name, own := range rows {
			properties[name] += fmt.Sprint(column[own[0]]+0, " ") // −0 is 0
		}
	}

	_, distinct := lists.Index(properties)

	return len(distinct) == names
}
