// Package holdout describes which rows a split leaves out of the training, and what follows from it: whether the
// held-out rows lie inside or outside the range of the others, which groups are held out whole, and the words for it.
//
// A holdout holds out values, a range of values, or values within a tolerance of one condition, or names of a condition
// of text. Blocks of neighbouring values are lists of values. All and Any join several holdouts. The package reads no
// files: Bounds and Parse read the texts of a configuration or of a command line.
package holdout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Rows is a list of rows with conditions: a table of triplets, or the conditions that are known before files are read.
type Rows interface {
	// Rows returns the number of rows.
	Rows() int
	// Floats returns the value of a condition of numbers in every row.
	Floats(condition string) ([]float64, error)
	// Strings returns the text of a condition of text in every row.
	Strings(condition string) ([]string, error)
}

// Holdout decides which rows a split leaves out of the training.
type Holdout interface {
	// String describes in words what is held out. The words are part of the keys of tasks.
	String() string

	// Conditions lists the conditions that decide which rows are held out. It returns nil if no row is held out.
	Conditions() []string

	// Labels lists the conditions among them that are text.
	Labels() []string

	// Held reports for every row whether it is held out.
	Held(rows Rows) ([]bool, error)

	// Holds reports whether rows with a value of a condition of numbers can be held out.
	Holds(condition string, value float64) bool

	// HoldsLabel reports whether rows with a name of a condition of text can be held out.
	HoldsLabel(condition, label string) bool

	// Group returns the condition that decides alone: all rows with a value for which Holds returns true are held out. It
	// returns "" if no such condition exists.
	Group() string

	// Within returns how far values of the condition may lie apart that count as equal.
	Within(condition string) float64
}

// Nothing holds out no row. It is the holdout of a final model.
var Nothing Holdout = nothing{}

// nothing is the type of Nothing.
type nothing struct{}

func (nothing) String() string                 { return "nothing" }
func (nothing) Conditions() []string           { return nil }
func (nothing) Labels() []string               { return nil }
func (nothing) Held(rows Rows) ([]bool, error) { return make([]bool, rows.Rows()), nil }
func (nothing) Holds(string, float64) bool     { return false }
func (nothing) HoldsLabel(string, string) bool { return false }
func (nothing) Group() string                  { return "" }
func (nothing) Within(string) float64          { return 0 }

// AtSetPoints returns h with each list of values replaced by their set points: measured values of 2994 … 3008 are one
// set point, 3000 ± 8. find returns the set point of a value and its words. A list stays unchanged if one of its values
// has no set point.
func AtSetPoints(h Holdout, find func(condition string, v float64) (setPoint float64, text string, ok bool)) Holdout {
	return replaceLists(h, func(condition string, l list) Holdout {
		var p setPoints
		for _, v := range l {
			setPoint, text, found := find(condition, v)
			if !found {
				return term{condition, l}
			}

			if !slices.Contains(p.list, setPoint) {
				p.list = append(p.list, setPoint)
				p.text = append(p.text, text)
			}
		}

		return term{condition, p}
	})
}

// replaceLists returns h with each list of values replaced by the holdout that other returns for it.
func replaceLists(h Holdout, other func(condition string, l list) Holdout) Holdout {
	switch h := h.(type) {
	case all:
		return all(replaceListsOf(h, other))
	case either:
		return either(replaceListsOf(h, other))
	case term:
		if l, ok := h.selection.(list); ok {
			return other(h.condition, l)
		}
	}

	return h
}

// replaceListsOf does for each part of a holdout what replaceLists does.
func replaceListsOf(parts []Holdout, other func(condition string, l list) Holdout) []Holdout {
	var replaced []Holdout
	for _, part := range parts {
		replaced = append(replaced, replaceLists(part, other))
	}

	return replaced
}

// About returns h with lists of values that also hold out other values for which equal returns true with a listed
// value.
func About(h Holdout, equal func(condition string, a, b float64) bool) Holdout {
	return replaceLists(h, func(condition string, l list) Holdout {
		return term{condition, about{list: l, condition: condition, equal: equal}}
	})
}

// All holds out the rows that each of the parts holds out.
func All(parts ...Holdout) Holdout {
	if len(parts) == 1 {
		return parts[0]
	}

	return all(parts)
}

// joined joins the words for the parts of a holdout.
func joined(parts []Holdout, separator string) string {
	var words []string
	for _, part := range parts {
		words = append(words, part.String())
	}

	return strings.Join(words, separator)
}

// all holds out the rows that each of the parts holds out.
type all []Holdout

func (a all) String() string       { return joined(a, " and ") }
func (a all) Conditions() []string { return conditionsOf(a) }
func (a all) Labels() []string     { return labelsOf(a) }

// conditionsOf returns the conditions that the parts name, part after part. A condition may be in the list twice.
func conditionsOf(parts []Holdout) []string {
	var conditions []string
	for _, part := range parts {
		conditions = append(conditions, part.Conditions()...)
	}

	return conditions
}

// labelsOf returns the labels that the parts name, part after part. A label may be in the list twice.
func labelsOf(parts []Holdout) []string {
	var labels []string
	for _, part := range parts {
		labels = append(labels, part.Labels()...)
	}

	return labels
}

func (a all) Held(rows Rows) ([]bool, error) {
	heldByAll := slices.Repeat([]bool{true}, rows.Rows())
	for _, h := range a {
		held, err := h.Held(rows)
		if err != nil {
			return nil, err
		}

		for i, ok := range held {
			heldByAll[i] = heldByAll[i] && ok
		}
	}

	return heldByAll, nil
}

func (a all) Holds(condition string, value float64) bool {
	for _, h := range a {
		if !h.Holds(condition, value) {
			return false
		}
	}

	return true
}

func (a all) HoldsLabel(condition, label string) bool {
	for _, h := range a {
		if !h.HoldsLabel(condition, label) {
			return false
		}
	}

	return true
}

func (a all) Group() string { return "" }

func (a all) Within(condition string) (widest float64) {
	for _, h := range a {
		widest = max(widest, h.Within(condition))
	}

	return widest
}

func (a all) forSplit(split string, inputs []string) Holdout {
	return all(eachFor(a, split, inputs))
}

// eachFor returns the parts of a holdout for a split and for the network's inputs, as For does.
func eachFor(parts []Holdout, split string, inputs []string) []Holdout {
	var list []Holdout
	for _, part := range parts {
		list = append(list, For(part, split, inputs))
	}

	return list
}

// For returns a holdout for the split with the given name and for the network's inputs, whose distinct values are the
// conditions. Only a holdout that depends on them has a method forSplit; For returns other holdouts unchanged.
func For(h Holdout, split string, inputs []string) Holdout {
	dependent, ok := h.(interface {
		forSplit(split string, inputs []string) Holdout
	})
	if !ok {
		return h
	}

	return dependent.forSplit(split, inputs)
}

// Named is a holdout with the name of its split.
type Named struct {
	Name string
	Holdout
}

// Each returns a holdout for each of the ascending values of a condition. If blocks is not 0, it returns a holdout for
// each of as many blocks of neighbouring values, whose sizes differ by at most one. There must be at least as many
// values as blocks, because a block without values has no name.
func Each(condition string, values []float64, blocks int) []Named {
	blocks = cmp.Or(blocks, len(values))

	groups := make([]Named, blocks)
	for k := range groups {
		part := values[len(values)*k/blocks : len(values)*(k+1)/blocks]
		groups[k] = Named{GroupName(condition, part), Values(condition, part...)}
	}

	return groups
}

// GroupName returns the name of a group of neighbouring values, which is also the name of a folder: condition=value, or
// condition=from..to. It panics without values.
func GroupName(condition string, values []float64) string {
	lo := values[0]
	hi := values[len(values)-1]
	if lo == hi {
		return Folder(condition + "=" + shortest(lo))
	}

	return Folder(condition + "=" + shortest(lo) + ".." + shortest(hi))
}

// shortest writes a number with the fewest digits from which it can be read back exactly.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
