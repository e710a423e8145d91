package experiment

import (
	"strings"

	"doubletake/train/holdout"
)

// Split is one train/test rule.
type Split struct {
	Name string

	// the held-out test set: for each condition a value, list, {min, max} or {near, within}, or names in a column of
	// text: {propeller: APC-8x6}. A row is held out if it meets all conditions.
	// A list of such sets holds out all of them: [{u: 35, flap: 20}, {u: 12, flap: 0}].
	// {random: 0.2} draws a share of the distinct conditions of the network; the name of the split determines the draw.
	// none trains a final model on everything; the other splits show how well such a model predicts
	Test holdout.Holdout `key:"test"`

	// instead of test: a condition; one split for each of its values, named condition=value. splits:
	// {each: blades} is short for it. With a column of text each name is a split. With several conditions,
	// [u, flap], each measured combination of their values is a split, named u=35,flap=20
	Each []string `key:"each"`

	// each: hold out this many blocks of neighbouring values instead of single values, named
	// condition=from..to; 0: single values. Names and combinations have no blocks
	Blocks int `key:"blocks" default:"0"`

	// Rows that belong to neither set. A split by which a variant is selected ignores the outer split's held-out rows;
	// nil: none are ignored.
	Ignored holdout.Holdout
}

// Final reports whether the split holds nothing out: it trains a final model.
func (s Split) Final() bool { return len(s.Test.Conditions()) == 0 }

// Trained lists the splits on which networks are trained: those that hold something out, and those that train final
// models. Both lists are empty if the experiment names no inputs.
func (e *Experiment) Trained() (held, final []Split) {
	if len(e.Inputs) == 0 {
		return nil, nil
	}

	for _, split := range e.Splits {
		if split.Final() {
			final = append(final, split)
		} else {
			held = append(held, split)
		}
	}

	return held, final
}

// InnerSplit separates, in the name of an inner split, the name of the outer split and the group of its training set
// that the inner split holds out.
const InnerSplit = "/inner/"

// Outer returns the name of the outer split of an inner split, and the name of any other split.
func (s Split) Outer() string {
	name, _, _ := strings.Cut(s.Name, InnerSplit)
	return name
}
