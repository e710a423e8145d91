package interval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Before is what the left-out groups alone show of the intervals of a new group, before any
// of it is measured. Half width and error are in deviations of the training outcomes.
func (c *Calibration) Before() score.Evidence {
	var inside, inside68 []float64

	half, e := math.NaN(), math.NaN()
	if c.K > 0 {
		half, e = 0, 0
	}

	for _, g := range c.Groups {
		inside, inside68 = append(inside, g.Inside), append(inside68, g.Inside68)
		half += g.Half / float64(c.K)
		e += g.E / float64(c.K)
	}

	v := score.Pool(c.Level, inside, inside68)
	v.Error = math.Sqrt(max(e, 0))

	return withHalf(v, half)
}

// beforeMeasuring is Before, graded: the half width is in deviations of the training outcomes, left_out_inside
// counts the groups of which at least 90 % of the values were inside, enough those that would decide (0: decided, or
// none).
func (c *Calibration) beforeMeasuring() numbers.Object {
	v := c.Before()
	return numbers.Object{
		"grade", v.Grade(), "expected_half_width", v.Half, "width_over_spread", v.WidthOverSpread,
		"left_out_inside", c.LeftOutInside(), "of", c.K, "enough", v.Enough(),
	}
}

// At is the evidence of Before for an interval of one outcome, with a half width in its unit.
func (c *Calibration) At(before score.Evidence, outcome int, half float64) score.Evidence {
	return withHalf(before, half/c.Deviation[outcome])
}

func withHalf(v score.Evidence, half float64) score.Evidence {
	v.Half, v.WidthOverSpread = half, half/scale.NormalQuantile(0.95)
	return v
}

// BeforeWords is the grade of the intervals of a new group before any of it is measured, with
// the evidence. units are those of the outcomes, or nil; amounts writes a range of differences in a unit.
func (c *Calibration) BeforeWords(units []string, amounts func(unit string, low, high float64) string) string {
	v := c.Before()
	text := v.Grade().Words()
	if c.K == 0 {
		text += ": no group could be left out"
	} else {
		text += fmt.Sprintf(": %d of %d groups of %s, each left out in turn, were covered; expected half-width %s, %.2g of "+
			"the spread", c.LeftOutInside(), c.K, c.Condition, c.widths(v.Half, units, amounts), v.WidthOverSpread)
	}

	if n := v.Enough(); n > 0 {
		text += fmt.Sprintf("; %d such groups would decide", n)
	}

	if more := c.More(); more != "" {
		text += "; " + more
	}

	return text
}

// widths are half widths, in deviations of the training outcomes, in the units of these: from
// the least to the largest of each unit.
func (c *Calibration) widths(half float64, units []string, amounts func(unit string, low, high float64) string) string {
	units = append(slices.Clone(units), slices.Repeat([]string{""}, max(0, len(c.Deviation)-len(units)))...)
	parts := lists.Each(lists.Alike(units[:len(c.Deviation)]), func(at []int) string {
		d := lists.Rows(c.Deviation, 1, at)
		return "± " + amounts(units[at[0]], half*slices.Min(d), half*slices.Max(d))
	})

	return strings.Join(parts, ", ")
}
