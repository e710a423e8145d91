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

// This file gives names curves of their own if they differ in more than an offset, as wings do if the lift follows the
// angle in different ways. The evidence decides.

// curveMargin is the gain of ln evidence above which names get curves of their own.
const curveMargin = 5.0

// leastJudges is the number of left-out things from which on they judge whether things have curves of their own.
const leastJudges = 3

// fitCurves fits the process of m again, with a curve for each name of a label, and returns it if the data prefer it.
// Otherwise it returns m and base. It also returns the label and the gain.
//
// A fit with few conditions and steps, as in the screen of forms, looks for the label whose names gain most ln evidence
// by curves. fitCurves then compares full fits. If the groups are things, the evidence of the left-out things must not
// fall. fitCurves returns m and base if l asks for offsets alone, for harmonics of a rotor, and for conditions that
// are averaged to cells.
func (l Learner) fitCurves(ctx context.Context, t trainingGroups, m *Model, base *gp.Mapped) (
	*Model, *gp.Mapped, []interval.OwnCurves, error,
) {
	if l.OffsetsAlone || m.Orders != nil || m.Process.Conditions() > gp.MaxRows {
		return m, base, nil, nil
	}

	r := l.newProcessRows(t.set, t.grouping, t.train)
	r.Logarithm = m.Logarithm
	r.form = m.Form()
	label, err := r.screenCurves(ctx)
	if err != nil || label == 0 {
		return m, base, nil, err
	}

	r.curves = label
	curved, curvedBase, err := r.fit(ctx)
	if err != nil || curvedBase == nil {
		return m, base, nil, err
	}

	gain := curved.logEvidence() - m.logEvidence()
	if gain <= curveMargin {
		return m, base, nil, nil
	}

	if l.OfThings() && len(t.held) >= leastJudges {
		before, err := l.leftOutEvidence(ctx, t, m, base)
		if err != nil {
			return nil, nil, nil, err
		}

		after, err := l.leftOutEvidence(ctx, t, curved, curvedBase)
		if err != nil {
			return nil, nil, nil, err
		}

		if gain+after-before <= curveMargin {
			return m, base, nil, nil
		}
	}

	curved.Representation = m.Representation
	names := m.Labels[label-1]

	return curved, curvedBase, []interval.OwnCurves{{Label: names.Name, Names: len(names.Names), Evidence: gain}}, nil
}

// leftOutEvidence returns ln of the evidence of the left-out groups, predicted by the process of m.
func (l Learner) leftOutEvidence(ctx context.Context, t trainingGroups, m *Model, base *gp.Mapped) (float64, error) {
	left, held, err := leaveOut(ctx, t, m, base)
	if err != nil {
		return 0, err
	}

	return l.evidence(t.set, t.train, left, held, m.Form()), nil
}

// screenCurves returns the label whose names gain most ln evidence by curves of their own, counted from 1. It returns 0
// if no label gains more than curveMargin. It skips runs, labels with fewer than two names, and labels whose names the
// inputs tell apart.
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
			continue // the data allow no process
		}

		if gain := curves.logEvidence() - offsets.logEvidence(); gain > most {
			most = gain
			label = k + 1
		}
	}

	return label, nil
}

// tellsApart reports whether the inputs that have one value for each name of label k differ between all its names, if
// the form uses them. The kernel on all inputs can then describe what each name has of its own.
func (r processRows) tellsApart(k int) bool {
	names := len(r.Labels[k].Names)
	rows := make([][]int, names)
	for i := range r.Set.N {
		level := r.Level[i*len(r.Labels)+k]
		rows[level] = append(rows[level], i)
	}

	x := r.Set.AtSetPoints()
	properties := make([]string, names)
	for j := range r.Set.In {
		column := lists.Column(x, r.Set.In, j)
		isUsed := r.form == nil || slices.ContainsFunc(r.form.Columns, func(c form.Column) bool { return c.Uses(j) })
		if !isUsed || !sameInEach(column, rows) {
			continue
		}

		for level, own := range rows {
			properties[level] += fmt.Sprint(column[own[0]], " ")
		}
	}

	_, distinct := lists.Index(properties)

	return len(distinct) == names
}
