package interval

import (
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
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

// coveredShare is the share of a group's values that must be inside the intervals, so that the group counts as covered.
const coveredShare = 0.9

// LeftOutInside returns the number of left-out groups of which at least 90 % of the values were inside the intervals
// that the other groups give.
func (c *Calibration) LeftOutInside() int { return Covered(c.Groups) }

// Covered returns the number of groups of which at least 90 % of the values were inside the intervals.
func Covered(groups []GroupResult) int {
	n := 0
	for _, g := range groups {
		if g.Inside >= coveredShare {
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

	if c.K != scale.MinGroups && c.Level > c.Asked {
		notes = append(notes, fmt.Sprintf("the level is %.3g %%, so that nearly all groups have 90 %% of their values inside",
			100*c.Level))
	}

	properties := c.properties()
	things := c.measuredThings()
	if c.OfThings && properties > 0 && things <= properties+1 {
		notes = append(notes, fmt.Sprintf("%d of %s were measured, fewer than their %d properties among the inputs need: "+
			"the level holds, the width says little", things, c.Condition, properties))
	}

	if c.OfThings && c.conditionIsInput() {
		notes = append(notes, fmt.Sprintf("each %s is taken for one thing, which may differ from others by more than its "+
			"inputs say; as a setting: honest: {groups: %s}", c.Condition, spelling.YAML(c.Condition)))
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
		notes = append(notes, fmt.Sprintf("pairs scatter by %s times the noise that the model states: the intervals count "+
			"with that", fault.Digits(s, 2)))
	}

	if c.NoiseRatio > noisyModel {
		notes = append(notes, fmt.Sprintf("the model states %s times the noise of the pairs: the intervals count with the "+
			"noise of the pairs", fault.Digits(c.NoiseRatio, 3)))
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
