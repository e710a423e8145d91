package form

import (
	"slices"
	"strings"
)

// This file adds the forms that set inputs of things aside, such as the pitch of propellers. A few things differ in
// more than their properties, so that they cannot show the effects of many properties. Each property then costs more
// than it tells. So the forms have prior odds, which the evidence of left-out things must overcome.

// Contributions to ln of the prior odds of forms if the groups are things. They were chosen on simulated propellers,
// see docs/research/intervals.md.
const (
	tipSpeed   = 5.0  // a tip speed by a diameter replaces both: rotors follow it
	notDefault = -3.0 // any form that does not take the inputs as they are
	setAside   = -3.0 // each input that is set aside although it varied as much as a speed
)

// narrowShare says which properties are narrow: their share, the deviation of ln of the property over the deviation
// of ln of the speed, is smaller. An effect of a narrow property is hard to see. To show as much as the speed does,
// the property would need an effect that is stronger by the inverse of its share. Its cost is the square of this
// inverse.
const narrowShare = 0.5

// mostCost is the largest cost of a property. No evidence of few things overcomes it.
const mostCost = 20.0

// maxSubsets is the largest number of properties for which there is a form for every subset to set aside.
const maxSubsets = 4

// maxProperties bounds the number of subsets that are looked at. Properties beyond it are never set aside.
const maxProperties = 16

// DefaultPrior returns ln of the prior odds of the form with the inputs as they are if the groups are things.
func DefaultPrior(inputs []Quantity) float64 {
	g := generator{inputs: inputs}
	odds := 0.0
	for k := range inputs {
		odds -= g.cost(Column{Input: k})
	}

	return odds
}

// ofThings replaces the list by the forms for groups that are things, and sets their prior odds. logs is the form of
// logarithms.
func (g *generator) ofThings(logs Form) {
	bases := []Form{logs}
	for _, f := range g.list {
		isRatios := strings.HasPrefix(f.Name, ratiosKind)
		if !isRatios && f.Name != logs.Name {
			bases = append(bases, f)
		}
	}

	g.list = nil
	for _, f := range bases {
		properties := g.columnsOfThings(f)
		hasSlopesAlone := strings.HasSuffix(f.Name, "-")
		if hasSlopesAlone {
			properties = nil // the form with lengths of its own has the subsets
		}

		for _, subset := range subsets(properties) {
			g.add(g.without(f, subset))
		}
	}
}

// columnsOfThings returns the columns of a form that have one value for each thing.
func (g *generator) columnsOfThings(f Form) []int {
	var list []int
	for k, c := range f.Columns {
		if g.isOfThing(c) {
			list = append(list, k)
		}
	}

	return list
}

// isOfThing reports whether a column uses inputs of things alone.
func (g *generator) isOfThing(c Column) bool {
	for k, q := range g.inputs {
		if c.Uses(k) && !q.OfThing {
			return false
		}
	}

	return true
}

// cost returns the prior cost of a column in nats. It is 0 unless all inputs of the column are narrow properties of
// things: then it is the cost of the widest of these inputs. The speed is the one that varied most within things.
func (g *generator) cost(c Column) float64 {
	speed := 0.0 // spread of the speed
	for _, q := range g.inputs {
		isSpeed := q.Positive && q.Known && q.Mass == 0 && q.Time == -1 && !q.OfThing
		if isSpeed {
			speed = max(speed, q.Spread)
		}
	}

	widest := 0.0 // spread of the widest input
	for k, q := range g.inputs {
		if !c.Uses(k) {
			continue
		}

		if !q.OfThing || !q.logarithmic() {
			return 0
		}

		widest = max(widest, q.Spread)
	}

	if widest >= narrowShare*speed {
		return 0
	}

	return min(speed/widest*speed/widest, mostCost)
}

// subsets returns the subsets of a list, the empty one first. If the list has more than maxSubsets elements, it returns
// only the empty subset, the subsets of one element, and the subsets that leave out one element or none. Elements after
// the first maxProperties are in no subset.
func subsets(list []int) [][]int {
	var all [][]int
	for mask := range 1 << min(len(list), maxProperties) {
		var subset []int
		for k, v := range list {
			if mask&(1<<k) != 0 {
				subset = append(subset, v)
			}
		}

		isExtreme := len(subset) <= 1 || len(subset) >= len(list)-1
		if len(list) <= maxSubsets || isExtreme {
			all = append(all, subset)
		}
	}

	return all
}

// without returns a form without some of its columns, with its prior odds.
func (g *generator) without(f Form, columns []int) Form {
	f.Prior += notDefault
	var kept []Column
	var names []string // of the inputs that the columns are named after
	for k, c := range f.Columns {
		if slices.Contains(columns, k) {
			names = append(names, g.inputs[c.Input].Name)
			if g.cost(c) == 0 {
				f.Prior += setAside
			}

			continue
		}

		kept = append(kept, c)
		f.Prior -= g.cost(c)
	}

	f.Columns = kept
	for k, q := range g.inputs {
		if !f.uses(k) {
			f.Aside = append(f.Aside, q.Name)
		}
	}

	if len(columns) > 0 {
		f.Name += without + strings.Join(names, ",")
	}

	return f
}
