package experiment

import (
	"slices"

	"doubletake/ingest/setting"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// Inner lists the splits by which a variant is selected for a split. Each holds out one group of a condition in the
// split's training part, and ignores the rows that the split holds out. Inner returns nil for a final model, and if no
// variant is to be selected, which is the condition "". Its errors are about the setting on of the selection.
func (e *Experiment) Inner(split Split, condition string) ([]Split, error) {
	const key = "on"
	if condition == "" || split.Final() {
		return nil, nil
	}

	if !slices.Contains(e.Conditions, condition) {
		return nil, e.notACondition(key, condition)
	}

	all, err := e.Values(condition)
	if err != nil {
		return nil, err
	}

	if len(all) == 0 {
		return nil, setting.Errorf(key, "the values of %s are not known before the files are read, so no groups of them can "+
			"be planned; name another condition", condition)
	}

	isHeld := func(v float64) bool { return !e.trainsOn(split.Test, condition, v) }
	values := slices.DeleteFunc(slices.Clone(all), isHeld)
	grouping := honest.Learner{Condition: condition, Tolerance: split.Test.Within(condition)}.Grouping(values)
	if len(grouping.Names) < 2 {
		return nil, setting.Errorf(key, "expected at least 2 groups of %s in the training set of split %q, found %d",
			condition, split.Name, len(grouping.Names))
	}

	var splits []Split
	for group := range grouping.Names {
		held, rest := divideGroup(values, grouping.Group, group)
		if same(rest) && slices.Contains(e.Inputs, condition) {
			return nil, setting.Errorf(key, "expected at least 3 groups of the input %s in the training set of split %q, "+
				"found %d: without one of them it would be constant; name another condition", condition, split.Name,
				len(grouping.Names))
		}

		splits = append(splits, Split{
			Name: split.Name + InnerSplit + holdout.GroupName(condition, held), Ignored: split.Test,
			Test: holdout.AtSetPoints(holdout.Values(condition, held...), e.Points.Find),
		})
	}

	return splits, nil
}

// divideGroup returns the values of a group, and the other values. groups has the group of each value.
func divideGroup(values []float64, groups []int, group int) (own, rest []float64) {
	for i, v := range values {
		if groups[i] == group {
			own = append(own, v)
		} else {
			rest = append(rest, v)
		}
	}

	return own, rest
}

// trainsOn reports whether the training set can have rows with a value of a condition. It returns true if only the
// files can tell.
func (e *Experiment) trainsOn(test holdout.Holdout, condition string, value float64) bool {
	if test.Group() == condition {
		return !test.Holds(condition, value)
	}

	held, err := test.Held(e.Known)
	if err != nil || len(held) == 0 {
		return true // only the files tell
	}

	for i, c := range e.Known {
		number, known := c.Numbers[condition]
		if known && number == value && !held[i] {
			return true
		}
	}

	return false
}
