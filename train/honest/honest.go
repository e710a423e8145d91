// Package honest calibrates the epistemic variance of any model on groups of conditions that the model has not seen: a
// blade count, a speed, a propeller.
//
// For one split, Learner takes these steps:
//
//  1. Grouping assigns the rows to groups, the values of one condition.
//  2. Each training group is left out in turn, and a model predicts it that did not see it (LeftOut).
//  3. The pairs of the left-out groups measure the squared errors there. Calibrate learns by how much these exceed
//     the variances that the model claims, and how much this factor differs between groups (package scale).
//  4. The interval at a new group is a quantile of the law of its values (package interval).
//
// Model is what honest.json holds. The package does no input or output except reading that file. docs/honest.md has the
// formulas and states the limits of the intervals.
//
// Terms of all files: A row of a set is a pair of measurements y1 and y2 at the inputs x. A condition is a distinct x,
// which several rows may share; "the condition of the groups" is the one input or label whose values are the groups. A
// label is a column of names, of things such as propellers or of occasions such as days. The level of a name is its
// place among the names of its label; the level of an interval is the share of values that it promises to contain. The
// claim v̂ of a model is the variance of its mean that it states itself, and σ² its variance of the noise of one
// measurement. The calibrated variance of the mean is called epistemic.
package honest

import (
	"fmt"
	"math"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// checked returns the set with a run for each row: if the set has no runs, every row becomes one. It panics if a slice
// does not have the length that the set states.
func checked(d triplets.Set) triplets.Set {
	numbersFit := len(d.X) == d.N*d.In && len(d.Y1) == d.N*d.Out && len(d.Y2) == d.N*d.Out
	runsFit := d.Run == nil || len(d.Run) == d.N
	if !numbersFit || !runsFit {
		panic(fmt.Sprintf("honest: data of %d rows, %d inputs, %d outcomes have slices of %d, %d, %d and %d numbers",
			d.N, d.In, d.Out, len(d.X), len(d.Y1), len(d.Y2), len(d.Run)))
	}

	if d.Run == nil {
		d.Run = lists.Numbers(d.N)
	}

	return d
}

// spread returns, for each outcome, the mean and the population standard deviation of y1 and y2 together over the given
// rows, in the unit of the outcome. weight has the weight of each row of the set; nil: all weights are 1. The deviation
// of a constant outcome is 0. Without rows both results are NaN.
func spread(d triplets.Set, rows []int, weight []float64) (mean, std []float64) {
	mean = make([]float64, d.Out)
	std = make([]float64, d.Out)
	for j := range d.Out {
		if len(rows) == 0 {
			mean[j] = math.NaN()
			std[j] = math.NaN()
			continue
		}

		// Sums about the first value: levels far from zero lose no digits.
		origin := d.Y1[rows[0]*d.Out+j]
		n := 0.0
		sum := 0.0
		for _, i := range rows {
			w := triplets.WeightAt(weight, i)
			n += 2 * w
			sum += w * ((d.Y1[i*d.Out+j] - origin) + (d.Y2[i*d.Out+j] - origin))
		}

		mean[j] = origin + sum/n

		squares := 0.0
		for _, i := range rows {
			a := d.Y1[i*d.Out+j] - mean[j]
			b := d.Y2[i*d.Out+j] - mean[j]
			squares += triplets.WeightAt(weight, i) * (a*a + b*b)
		}

		std[j] = math.Sqrt(squares / n)
	}

	return mean, std
}

// VaryingInputs returns the columns of x (row-major, with the given number of columns) that take at least two values in
// the given rows, in ascending order. It returns nil without rows. The other columns must be dropped from a training on
// these rows: a scale learned from a constant is meaningless.
func VaryingInputs(x []float64, columns int, rows []int) []int {
	var varying []int
	for j := range columns {
		for _, i := range rows {
			if x[i*columns+j] != x[rows[0]*columns+j] {
				varying = append(varying, j)
				break
			}
		}
	}

	return varying
}

// Settings choose the model that is calibrated, its groups, and the intervals that they teach. The comment of a field
// with a key is the documentation of that key in configuration files.
type Settings struct {
	// model that is calibrated: gp, an additive Gaussian process; pair, the networks that are given their own
	// prediction; ensemble; or none. Networks are trained again for each left-out group
	Base string `key:"base" enum:"gp|pair|ensemble|none"`

	// rows of gp: conditions, a row for each condition; orders, a row for each harmonic of a rotor over its shaft
	// order; auto, orders if the outcomes are levels of harmonics
	Form string `key:"form" enum:"auto|orders|conditions"`

	// condition whose values are the groups, or a column of text, such as names of propellers; empty: the
	// condition that a split holds out
	Groups string `key:"groups"`

	// number of blocks of neighbouring values into which the condition is cut; 0: the blocks of the split, or
	// else a group for every value, or 8 blocks of a continuous condition
	Blocks int `key:"blocks" default:"0"`

	// whether the values are numbers of things, such as propellers or days, without distances between them. Names are
	// things in any case. Numbers are things if another input has one value at each number and turns at least twice as
	// the number rises, unless groups names the condition
	Labels bool `key:"labels" default:"false"`

	// level of the intervals: the share of the values of new groups that they contain
	Level float64 `key:"level"`

	// what is assumed before any group is left out: wide; library, which is narrower and learned from 20 campaigns; or
	// a file that pipeline honest library learned from your own campaigns
	Prior string `key:"prior"`

	// evidence from which the errors on new groups are learned: plain, the left-out groups; ecov, also the rise of E|cov|
	// of the networks, which are trained again without each group
	Scale string `key:"scale" enum:"plain|ecov"`

	// what the intervals promise: values, that they contain this share of all values; groups, that they contain 90 % of
	// the values of nearly every group, for which their level is at least 0.98
	Hold string `key:"hold" enum:"values|groups"`
}

// DefaultSettings returns the settings that a configuration without others has.
func DefaultSettings() Settings {
	return Settings{Base: "gp", Form: "auto", Level: 0.95, Prior: "wide", Scale: "plain", Hold: "values"}
}

// maxBlocks is the largest number of blocks that a configuration can ask for.
const maxBlocks = 1000

// Check calls fail for every setting outside its limits, with the key of the setting and a text "expected …, found
// …".
func (s Settings) Check(fail func(setting, text string)) {
	if !(s.Level > 0.5 && s.Level < 1) {
		fail("level", fmt.Sprintf("expected a level above 0.5 and below 1, found %g", s.Level))
	}

	if s.Blocks != 0 && (s.Blocks < 2 || s.Blocks > maxBlocks) {
		fail("blocks", fmt.Sprintf("expected 2 to %d blocks, or 0, found %d", maxBlocks, s.Blocks))
	}

	if s.Prior == "" {
		fail("prior", "expected wide, library or a file, found nothing")
	}

	if s.Form != "auto" && s.Base != "gp" {
		fail("form", "belongs to base: gp, found base: "+s.Base)
	}

	if s.Scale == "ecov" && s.Base != "gp" {
		fail("scale", "belongs to base: gp, found base: "+s.Base)
	}

	if s.Blocks != 0 && s.Labels {
		fail("labels", fmt.Sprintf("belongs to single values, found blocks: %d", s.Blocks))
	}
}
