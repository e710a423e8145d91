package interval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// GroupEvidence returns the evidence about the intervals of a new group before any of its conditions is measured. It
// comes from the left-out groups alone, each with the intervals that the other groups give. The half width is the mean
// over the groups, and the error is the root of the mean squared error. Both are in deviations of the training
// outcomes, and NaN without left-out groups.
func (c *Calibration) GroupEvidence() score.Evidence {
	half := math.NaN()
	squaredError := math.NaN()
	if c.K > 0 {
		half = 0
		squaredError = 0
	}

	var inside, inside68 []float64
	for _, g := range c.Groups {
		inside = append(inside, g.Inside)
		inside68 = append(inside68, g.Inside68)
		half += g.Half / float64(c.K)
		squaredError += g.E / float64(c.K)
	}

	evidence := score.Pool(c.Level, inside, inside68)
	evidence.Error = math.Sqrt(max(squaredError, 0))

	return withHalf(evidence, half)
}

// beforeMeasuring returns the evidence of GroupEvidence with its grade, for documents. expected_half_width is in
// deviations of the training outcomes. left_out_inside is the number of groups with at least 90 % of their values
// inside. enough is the number of groups that would decide the grade; it is 0 if the grade is decided, or if no number
// would decide it.
func (c *Calibration) beforeMeasuring() numbers.Object {
	v := c.GroupEvidence()
	return numbers.Object{
		"grade", v.Grade(), "expected_half_width", v.Half, "width_over_spread", v.WidthOverSpread,
		"left_out_inside", c.LeftOutInside(), "of", c.K, "enough", v.Outlook().Units,
	}
}

// WithHalf returns the evidence with another half width: the half width of one outcome's interval, in its unit.
func (c *Calibration) WithHalf(evidence score.Evidence, outcome int, half float64) score.Evidence {
	return withHalf(evidence, half/c.Deviation[outcome])
}

// withHalf returns the evidence with the given half width, in deviations of the training outcomes.
func withHalf(v score.Evidence, half float64) score.Evidence {
	v.Half = half
	v.WidthOverSpread = half / scale.NormalQuantile(0.95)

	return v
}

// BeforeWords returns the grade of the intervals of a new group before any of its conditions is measured, with the
// evidence, in words. units are the units of the outcomes, or nil; amounts writes a range of differences in a unit.
func (c *Calibration) BeforeWords(units []string, amounts func(unit string, low, high float64) string) string {
	v := c.GroupEvidence()
	text := string(v.Grade())
	if c.K == 0 {
		text += ": no group could be left out"
	} else {
		text += fmt.Sprintf(": %d of %d groups of %s, each left out in turn, were covered; mean half width "+
			"%s, %s of the spread", c.LeftOutInside(), c.K, c.Condition, c.widths(v.Half, units, amounts),
			fault.Digits(v.WidthOverSpread, 2))
	}

	if outlook := v.Outlook(); outlook.Units > 0 {
		end := "hold"
		if outlook.Like == score.Fails {
			end = "fail"
		}

		text += fmt.Sprintf("; with %d such groups in all it would %s", outlook.Units, end)
	}

	if more := c.More(); more != "" {
		text += "; " + more
	}

	return text
}

// widths writes a half width, which is in deviations of the training outcomes, in the units of the outcomes. For each
// unit it writes a range, from the outcome with the smallest deviation to the outcome with the largest deviation.
func (c *Calibration) widths(half float64, units []string, amounts func(unit string, low, high float64) string) string {
	own := make([]string, len(c.Deviation))
	copy(own, units)

	var parts []string
	for _, outcomes := range lists.Alike(own) {
		d := lists.Pick(c.Deviation, outcomes)
		parts = append(parts, "± "+amounts(own[outcomes[0]], half*slices.Min(d), half*slices.Max(d)))
	}

	return strings.Join(parts, ", ")
}
