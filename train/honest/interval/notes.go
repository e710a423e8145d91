package interval

import (
	"fmt"
	"math"
	"slices"

	"doubletake/train/honest/scale"
)

// String returns the shares in words.
func (t Thing) String() string {
	text := "variance of " + t.Outcome
	for _, b := range t.Between {
		text += fmt.Sprintf(", between %d of %s %.0f %% (%.0f to %.0f %%)", b.Names, b.Label, 100*b.Share, 100*b.Low,
			100*b.High)
	}

	if t.Runs > 0 {
		text += fmt.Sprintf(", from run to run %.0f %%", 100*t.Runs)
	}

	return text + fmt.Sprintf(", noise %.0f %%", 100*t.Noise)
}

// More says how many more things must be measured to learn how much things differ. If enough things were measured, it
// says by how much one more thing would narrow the intervals for a new thing, and by how much the same number of
// measurements of known things would narrow them. It returns "" if the groups are not things. See newThingVariance
// for the assumptions.
func (c *Calibration) More() string {
	n := max(c.K, 1)
	needed := max(scale.MinGroups, c.properties()+1) + 1
	missing := needed - n
	switch {
	case c.OfThings && missing == 1:
		return Another(n, c.Condition) + " would measure how much they differ"
	case c.OfThings && missing > 1:
		return fmt.Sprintf("%d more of %s would measure how much they differ", missing, c.Condition)
	}

	another := 0.0 // sum over outcomes: share by which intervals narrow with one more thing
	again := 0.0   // sum over outcomes: share by which they narrow with more measurements of known things
	outcomes := 0.0
	for _, t := range c.Things {
		k := slices.IndexFunc(t.Between, func(b Between) bool { return b.Label == c.Condition })
		if k < 0 {
			continue // offsets of other labels only
		}

		share := t.Between[k].Share
		things := float64(n)
		now := c.newThingVariance(t, share, things, things)
		another += 1 - math.Sqrt(c.newThingVariance(t, share, things+1, things+1)/now)
		again += 1 - math.Sqrt(c.newThingVariance(t, share, things, things+1)/now)
		outcomes++
	}

	if outcomes == 0 {
		return ""
	}

	return fmt.Sprintf("%s would narrow intervals for a new one by %.2g %%, as many measurements of those that "+
		"were measured by %.2g %% (forecast)", Another(n, c.Condition), 100*another/outcomes, 100*again/outcomes)
}

// ordinals are the words for the numbers from 1.
var ordinals = []string{
	"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
}

// Another names the next thing after n measured ones, such as "a third mounting" after two.
func Another(n int, thing string) string {
	if n >= len(ordinals) {
		return "one more " + thing
	}

	article := "a "
	if word := ordinals[n]; word[0] == 'e' {
		article = "an "
	}

	return article + ordinals[n] + " " + thing
}

// newThingVariance returns the variance with which an outcome of a new thing is predicted, in units of the outcome's
// variance, if the given number of things had been measured. measured is the number of measurements, in units of the
// present number of measurements of a thing. share is the share of the variance between things.
//
// As in least squares, the mean of things has an error of their variance times (properties + 1)/things. More
// measurements of known things lower only the error of their own means, which runs and noise cause.
func (c *Calibration) newThingVariance(t Thing, share, things, measured float64) float64 {
	n := float64(max(c.K, 1))
	freedom := float64(c.properties() + 1)
	conditions := 0.0
	for _, g := range c.Groups {
		conditions += float64(g.Conditions)
	}

	mean := (t.Runs + t.Noise/2) / conditions

	return share*(1+freedom/things) + t.Runs + t.Noise + mean*n/measured
}

// properties counts the inputs that are functions of the groups, without those that the form of the model sets aside.
func (c *Calibration) properties() int {
	n := 0
	for _, r := range c.Inputs {
		if r.FromGroup && !r.Aside {
			n++
		}
	}

	return n
}

// Learned says in words which groups the intervals rest on.
func (c *Calibration) Learned() string {
	switch {
	case c.OfThings && c.K < scale.MinGroups:
		return fmt.Sprintf("assumed: how much one %s differs from another was not measured", c.Condition)
	case c.OfThings && c.K == scale.MinGroups:
		return fmt.Sprintf("as much assumed as measured: checked on two groups of %s", c.Condition)
	case c.K == 0:
		return "learned elsewhere, not checked here: no group could be left out"
	case c.K < scale.MinGroups:
		return fmt.Sprintf("learned elsewhere, not checked here: one group of %s alone could be left out", c.Condition)
	case c.K == scale.MinGroups:
		return fmt.Sprintf("learned elsewhere, checked on two groups of %s, and therefore taken at the level of %.3g %%",
			c.Condition, 100*c.Level)
	}

	return fmt.Sprintf("checked on %d groups of %s left out", c.K, c.Condition)
}

// mostInside is the smallest share of values inside with which a group counts as covered.
const mostInside = 0.9

// LeftOutInside returns the number of left-out groups of which at least 90 % of the values were inside the intervals
// that the other groups give.
func (c *Calibration) LeftOutInside() int {
	n := 0
	for _, g := range c.Groups {
		if g.Inside >= mostInside {
			n++
		}
	}

	return n
}

// Ratios of noise above which Notes warns.
const (
	noisyPairs = 1.3 // of the pairs over the model
	noisyModel = 3   // of the model over the pairs
)

// Notes returns the warnings about the calibration, in words.
func (c *Calibration) Notes() []string {
	var notes []string
	if words := c.Representation.Words(); words != "" {
		notes = append(notes, "form: "+words)
	}

	if c.K != 2 && c.Level > c.Asked {
		notes = append(notes, fmt.Sprintf("the level is %.3g %%, so that nearly all groups have 90 %% of their values inside",
			100*c.Level))
	}

	properties := c.properties()
	if n := max(c.K, 1); c.OfThings && properties > 0 && n <= properties+1 {
		notes = append(notes, fmt.Sprintf("%d of %s were measured, fewer than their %d properties among the inputs need: "+
			"the level holds, the width says little", n, c.Condition, properties))
	}

	if c.OfThings && c.conditionIsInput() {
		notes = append(notes, fmt.Sprintf("each %s is taken for one thing, which may differ from others by more than its "+
			"inputs say; as a setting: honest: {groups: %s}", c.Condition, c.Condition))
	}

	for _, o := range c.OwnCurves {
		notes = append(notes, o.String())
	}

	if c.RunsWithout != "" {
		notes = append(notes, fmt.Sprintf("runs have no offsets of their own (%s): beyond its own settings, 95 %% intervals "+
			"of a measured thing covered 81 %%", c.RunsWithout))
	}

	for _, t := range c.Things {
		notes = append(notes, t.String())
	}

	if c.K > 0 && c.singleConditions() { // docs/honest.md states the same share under Limits
		notes = append(notes, "every left-out group is a single condition: on such groups, intervals of 95 % covered 92 %")
	}

	if s := c.Scale.Noise.Scale; s > noisyPairs {
		notes = append(notes, fmt.Sprintf("pairs scatter by %.2g times the noise that the model states: the intervals count "+
			"with that", s))
	}

	if c.NoiseRatio > noisyModel {
		notes = append(notes, fmt.Sprintf("the model states %.3g times the noise of the pairs: the intervals count with the "+
			"noise of the pairs", c.NoiseRatio))
	}

	return notes
}

// conditionIsInput reports whether the condition of the groups is an input.
func (c *Calibration) conditionIsInput() bool {
	return slices.ContainsFunc(c.Inputs, func(r InputRange) bool { return r.Name == c.Condition })
}

// singleConditions reports whether every left-out group is a single condition.
func (c *Calibration) singleConditions() bool {
	for _, g := range c.Groups {
		if g.Conditions != 1 {
			return false
		}
	}

	return true
}
