package interval

import (
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/train/honest/scale"
)

// More says how many more things must be measured to learn how much things differ. If enough things were measured, it
// says by how much one more thing would narrow the intervals for a new thing, and by how much the same number of
// measurements of known things would narrow them. It returns "" if the groups are not things. See newThingVariance
// for the assumptions.
func (c *Calibration) More() string {
	if !c.OfThings {
		return ""
	}

	n := c.measuredThings()
	needed := max(scale.MinGroups, c.properties()+1) + 1
	missing := needed - n
	switch {
	case missing == 1:
		return Another(n, c.Condition) + " would measure how much they differ"
	case missing > 1:
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

	return fmt.Sprintf("%s would narrow intervals for a new one by %s %%, as many measurements of those that "+
		"were measured by %s %% (forecast)", Another(n, c.Condition), fault.Digits(100*another/outcomes, 2),
		fault.Digits(100*again/outcomes, 2))
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
	n := float64(c.measuredThings())
	freedom := float64(c.properties() + 1)
	conditions := 0.0
	for _, g := range c.Groups {
		conditions += float64(g.Conditions)
	}

	newThing := share * (1 + freedom/things) // the thing itself, and the error of the mean of things
	knownMeans := (t.Runs + t.Noise/2) / conditions * n / measured

	return newThing + t.Runs + t.Noise + knownMeans
}

// measuredThings counts the things that were measured. Each of them is left out in turn, but for one that is alone:
// without it nothing would be left to learn from.
func (c *Calibration) measuredThings() int { return max(c.K, 1) }

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
