package trainstage

import (
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/train/holdout"
	"doubletake/train/honest"
)

// inner lists the splits by which a variant is selected for the split s: each holds one
// group of the training set out, and what s holds out takes no part. There are none
// without a sweep's select.
func (pl *planner) inner(s config.Split) (out []config.Split) {
	on, at := pl.exp.Select.On, "select.on"
	if on == "" || s.Final() {
		return nil
	}

	if !slices.Contains(pl.ing.Conditions, on) {
		fault.Raise(pl.notACondition(at, on))
	}

	all := pl.ing.Values(on)
	pl.exp.Refuse(len(all) == 0, at, "the values of %s are not known before the files are read, so no groups of them can "+
		"be planned; name another condition", on)

	values := lists.Keep(all, func(v float64) bool { return pl.trainsOn(s.Test, on, v) })
	g := honest.Learner{Condition: on, Within: s.Test.Within(on)}.Grouping(values)
	pl.exp.Refuse(len(g.Names) < 2, at, "expected at least 2 groups of %s in the training set of split %q, found %d", on,
		s.Name, len(g.Names))

	for h := range g.Names {
		var of, rest []float64
		for i, v := range values {
			if g.Of[i] == h {
				of = append(of, v)
			} else {
				rest = append(rest, v)
			}
		}

		pl.exp.Refuse(slices.Min(rest) == slices.Max(rest) && slices.Contains(pl.exp.Train.Inputs, on), at,
			"expected at least 3 groups of the input %s in the training set of split %q, found %d: without one of them it "+
				"would be constant; name another condition", on, s.Name, len(g.Names))

		out = append(out, config.Split{
			Name: s.Name + config.InnerSplit + holdout.GroupName(on, of), Without: s.Test,
			Test: holdout.AtSetPoints(holdout.Values(on, of...), pl.ing.Points.Find),
		})
	}

	return out
}

// trainsOn reports whether the training set can have rows with the value.
func (pl *planner) trainsOn(test holdout.Holdout, condition string, value float64) bool {
	if test.Group() == condition {
		return !test.Holds(condition, value)
	}

	held, err := test.Held(pl.ing.Known)
	if err != nil || len(held) == 0 {
		return true // only the files tell
	}

	for i, c := range pl.ing.Known {
		if c.Numbers[condition] == value && !held[i] {
			return true
		}
	}

	return false
}

// rowsWith lists the rows of which held is as given.
func rowsWith(held []bool, is bool) []int {
	return lists.Where(len(held), func(i int) bool { return held[i] == is })
}
