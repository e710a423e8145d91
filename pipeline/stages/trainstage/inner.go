package trainstage

import (
	"fmt"
	"slices"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// Inner lists the splits by which a variant is selected for the split s: each holds one
// group of the training set out, and what s holds out takes no part. There are none
// without a sweep's select.
func Inner(b *plan.Builder, s config.Split) ([]config.Split, error) {
	on, at := b.Exp.Select.On, b.At+".select.on"
	if on == "" || s.Test.None() {
		return nil, nil
	}
	if !slices.Contains(b.Conditions, on) {
		return nil, notACondition(b, at, on)
	}
	all, err := plannedValues(b, on)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, b.File.Errorf(at, "the values of %s are not known before the files are read, so no groups of them can "+
			"be planned; name another condition", on)
	}
	var values []float64
	for _, v := range all {
		if trainsOn(b, s.Test, on, v) {
			values = append(values, v)
		}
	}
	f := honestFit{condition: on, within: tolerance(s, on)}
	g := f.grouping(values)
	if len(g.Names) < 2 {
		return nil, b.File.Errorf(at, "expected at least 2 groups of %s in the training set of split %q, found %d", on,
			s.Name, len(g.Names))
	}
	var out []config.Split
	for h := range g.Names {
		var of, rest []float64
		for i, v := range values {
			if g.Of[i] == h {
				of = append(of, v)
			} else {
				rest = append(rest, v)
			}
		}
		if slices.Min(rest) == slices.Max(rest) && slices.Contains(b.Exp.Train.Inputs, on) {
			return nil, b.File.Errorf(at, "expected at least 3 groups of the input %s in the training set of split %q, found "+
				"%d: without one of them it would be constant; name another condition", on, s.Name, len(g.Names))
		}
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		name := on + "=" + number(of[0])
		if len(of) > 1 {
			name += ":" + number(of[len(of)-1])
		}
		out = append(out, config.Split{
			Name: s.Name + config.InnerSplit + name, Test: config.Rule{config.ValuesTerm(on, of...)}, Without: s.Test,
		})
	}
	return out, nil
}

// trainsOn reports whether the training set of a rule can have rows with the value.
func trainsOn(b *plan.Builder, rule config.Rule, condition string, value float64) bool {
	if len(rule) == 1 && rule[0].Condition == condition {
		return !rule[0].Holds(value)
	}
	if len(b.Known) == 0 {
		return true
	}
	return slices.ContainsFunc(b.Known, func(c map[string]float64) bool {
		held, known := holds(rule, c)
		return c[condition] == value && !(known && held)
	})
}

// heldRows reports for which rows of the triplets a rule holds; one that holds nothing
// out for none.
func heldRows(t *table.Table, rule config.Rule) ([]bool, error) {
	held := make([]bool, t.Rows())
	if len(rule) == 0 || rule.None() {
		return held, nil
	}
	for i := range held {
		held[i] = true
	}
	for _, term := range rule {
		v, err := t.Floats(term.Condition)
		if err != nil {
			return nil, fmt.Errorf("read triplets: %w", err)
		}
		for i := range v {
			held[i] = held[i] && term.Holds(v[i])
		}
	}
	return held, nil
}

// withoutRows leaves out the rows for which a rule holds.
func withoutRows(t *table.Table, rule config.Rule) (*table.Table, error) {
	if len(rule) == 0 {
		return t, nil
	}
	held, err := heldRows(t, rule)
	if err != nil {
		return nil, err
	}
	var rows []int
	for i, h := range held {
		if !h {
			rows = append(rows, i)
		}
	}
	return t.Select(rows), nil
}
