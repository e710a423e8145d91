package honest

import (
	"context"
	"slices"

	"doubletake/train/honest/interval"
)

// This file finds labels whose names differ in more than an offset, such as wings that differ in how the lift follows
// the angle. An offset is all that a process has for them, so the user is told to add an input that tells them apart.

const (
	// mostCurves is the largest number of names of a label for which own curves are sought, because each name but one
	// needs an input.
	mostCurves = 6
	// curveMargin is the gain of ln evidence by own curves above which there is a warning.
	curveMargin = 5.0
)

// ownCurves returns the labels of m whose names differ in more than an offset: the evidence of the process is larger if
// the names are inputs as well, with the numbers 0 and 1. It fits both processes on few conditions, with the rows and
// steps that the screen of forms uses. It returns nil for harmonics of a rotor and for models of more than
// choiceConditions conditions, and it skips a label if the data allow no process with or without the added inputs.
func (l Learner) ownCurves(ctx context.Context, t trainingGroups, m *Model) ([]interval.OwnCurves, error) {
	if m.Orders != nil || m.Process.Conditions() > choiceConditions {
		return nil, nil
	}

	var list []interval.OwnCurves
	for k, label := range m.Labels {
		names := len(label.Names)
		if label.areRuns() || names < 2 || names > mostCurves {
			continue
		}

		r := l.newProcessRows(t.set, t.grouping, t.train)
		r.Logarithm = m.Logarithm
		r.form = m.Form()
		r.hyperRows = screenRows
		r.steps = screenSteps
		offsets, offsetsProcess, err := r.fit(ctx)
		if err != nil {
			return nil, err
		}

		curves, curvesProcess, err := r.withNames(k).fit(ctx)
		if err != nil {
			return nil, err
		}

		if offsetsProcess == nil || curvesProcess == nil {
			continue // the data allow no process
		}

		if gain := curves.logEvidence() - offsets.logEvidence(); gain > curveMargin {
			list = append(list, interval.OwnCurves{Label: label.Name, Names: names, Evidence: gain})
		}
	}

	return list, nil
}

// withNames returns the rows with one more input for each name of label k except the first. The input is 1 if the row
// has the name, and 0 otherwise. Conditions or set points that are nil stay nil.
func (r processRows) withNames(k int) processRows {
	added := len(r.Labels[k].Names) - 1
	withIndicators := func(x []float64) []float64 {
		if x == nil {
			return nil
		}

		var list []float64
		for i := range r.Set.N {
			list = append(list, x[i*r.Set.In:(i+1)*r.Set.In]...)
			own := make([]float64, added)
			if level := r.Level[i*len(r.Labels)+k]; level > 0 {
				own[level-1] = 1
			}

			list = append(list, own...)
		}

		return list
	}

	inputs := r.Set.In
	r.Set.X = withIndicators(r.Set.X)
	r.Set.SetPoints = withIndicators(r.Set.SetPoints)
	r.Set.In = inputs + added
	if r.form != nil {
		r.form = r.form.WithInputs(inputs, added)
	} else {
		r.Logarithm = append(slices.Clone(r.Logarithm), make([]bool, added)...)
	}

	return r
}
