package holdout

import (
	"slices"

	"doubletake/internal/lists"
)

// Any holds out the rows that at least one of the parts holds out. The parts may be combinations of values.
func Any(parts ...Holdout) Holdout {
	if len(parts) == 1 {
		return parts[0]
	}

	return either(parts)
}

// either holds out the rows that at least one of the parts holds out. It implements Holdout, as the other types of this
// package do.
type either []Holdout

func (e either) String() string { return joined(e, ", or ") }

func (e either) Conditions() []string { return distinct(conditionsOf(e)) }

func (e either) Labels() []string { return distinct(labelsOf(e)) }

// distinct returns the distinct names of a list, in order of first appearance.
func distinct(names []string) []string {
	_, list := lists.Index(names)
	return list
}

func (e either) Held(rows Rows) ([]bool, error) {
	heldByAny := make([]bool, rows.Rows())
	for _, h := range e {
		held, err := h.Held(rows)
		if err != nil {
			return nil, err
		}

		for i, ok := range held {
			heldByAny[i] = heldByAny[i] || ok
		}
	}

	return heldByAny, nil
}

func (e either) Holds(condition string, value float64) bool {
	return slices.ContainsFunc(e, func(h Holdout) bool { return h.Holds(condition, value) })
}

func (e either) HoldsLabel(condition, label string) bool {
	return slices.ContainsFunc(e, func(h Holdout) bool { return h.HoldsLabel(condition, label) })
}

func (e either) Group() string { return "" }

func (e either) Within(condition string) float64 {
	widest := 0.0
	for _, h := range e {
		widest = max(widest, h.Within(condition))
	}

	return widest
}

func (e either) forSplit(split string, inputs []string) Holdout {
	return either(eachFor(e, split, inputs))
}

// EachCombination returns a holdout for each combination of one holdout from each list. It skips combinations that hold
// out none or all of the rows.
func EachCombination(parts [][]Named, rows Rows) ([]Named, error) {
	combinations := []Named{{}}
	for _, list := range parts {
		var longer []Named
		for _, c := range combinations {
			for _, part := range list {
				longer = append(longer, c.with(part))
			}
		}

		combinations = longer
	}

	var measured []Named
	for _, c := range combinations {
		held, err := c.Held(rows)
		if err != nil {
			return nil, err
		}

		if slices.Contains(held, true) && slices.Contains(held, false) {
			measured = append(measured, c)
		}
	}

	return measured, nil
}

// with returns the combination of a holdout and another one. If n is empty, it returns the other one.
func (n Named) with(other Named) Named {
	if n.Holdout == nil {
		return other
	}

	parts := all{n.Holdout, other.Holdout}
	if combination, ok := n.Holdout.(all); ok {
		parts = append(slices.Clone(combination), other.Holdout)
	}

	return Named{Name: n.Name + "," + other.Name, Holdout: parts}
}
