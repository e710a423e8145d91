package interval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/numbers"
	"doubletake/train/score"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leftOutRotors returns a calibration with one left-out rotor for each share of values inside its intervals, which
// have the given half width.
func leftOutRotors(half float64, inside ...float64) *interval.Calibration {
	c := &interval.Calibration{
		K: len(inside), Level: 0.95, Condition: "rotor", Deviation: []float64{10, 15, 2}, Scale: &scale.Scale{},
	}
	for k, share := range inside {
		c.Groups = append(c.Groups, interval.GroupResult{
			Inside: share, Inside68: share * (0.70 + 0.03*float64(k%3)), Half: half, E: 0.02, Farthest: 0.5 * float64(k),
		})
	}

	return c
}

// The intervals of a new group are graded by the left-out groups. Expected: grades by the rules of docs/glossary.md,
// the half width of the groups, and this half width over 1.959964, the quantile of the normal law.
func TestGroupEvidence(t *testing.T) {
	amounts := func(unit string, low, high float64) string { return fmt.Sprintf("%.3g to %.3g %s", low, high, unit) }
	units := []string{"dB", "dB", "N"}
	for _, c := range []struct {
		found   *interval.Calibration
		grade   score.Grade
		words   string // beginning of the words
		decides bool   // whether a larger number of groups would decide the grade
	}{
		{
			found: leftOutRotors(0.5, 1, 1, 0.95),
			grade: score.Undecided,
			words: "undecided: 3 of 3 groups of rotor, each left out in turn, were covered; mean half width " +
				"± 5 to 7.5 dB, ± 1 to 1 N, 0.26 of the spread; ",
			decides: true,
		},
		{
			found: leftOutRotors(0.5, 1, 1, 0.95, 1, 0.97, 0.98, 1),
			grade: score.Holds,
			words: "holds: 7 of 7 groups",
		},
		{
			found: leftOutRotors(1.6, 1, 1, 0.95, 1, 0.97, 0.98, 1),
			grade: score.Wide,
			words: "wide: 7 of 7 groups",
		},
		{
			found: leftOutRotors(0.5, 0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.95),
			grade: score.Fails,
			words: "fails: 1 of 7 groups",
		},
	} {
		words := c.found.BeforeWords(units, amounts)
		assert.True(t, strings.HasPrefix(words, c.words), "%q begins with %q", words, c.words)
		assert.Equal(t, c.decides, strings.Contains(words, " such groups in all it would "), words)

		b := beforeMeasuring(t, c.found)
		assert.Equal(t, c.grade, b.Grade, words)
		assert.Equal(t, c.found.K, b.Of, "left-out groups: %s", words)
		assert.Equal(t, c.decides, b.Enough > b.Of, "%d groups would decide: %s", b.Enough, words)
		assert.InDelta(t, c.found.Groups[0].Half, float64(b.Half), 1e-12, "half width: %s", words)
		wantRatio := c.found.Groups[0].Half / 1.959963984540054
		assert.InDelta(t, wantRatio, float64(b.WidthOverSpread), 1e-12, "over spread: %s", words)
	}
}

// Expected: without left-out groups nothing is known about the intervals.
func TestBeforeWithoutGroups(t *testing.T) {
	c := leftOutRotors(0.5)
	assert.Equal(t, "undecided: no group could be left out", c.BeforeWords(nil, nil))

	b := beforeMeasuring(t, c)
	assert.Equal(t, score.Undecided, b.Grade)
	assert.Zero(t, b.Of, "left-out groups")
	assert.True(t, math.IsNaN(float64(b.Half)), "half width")
	assert.True(t, math.IsNaN(float64(b.WidthOverSpread)), "half width over spread")
}

// The second outcome has the deviation 15. Expected: an interval whose half width is 1.96 deviations is wide, and a
// tenth of this half width is not. The farthest of seven groups is at the distance 3.
func TestWithHalf(t *testing.T) {
	c := leftOutRotors(0.5, 1, 1, 0.95, 1, 0.97, 0.98, 1)
	wide := c.WithHalf(c.GroupEvidence(), 1, 29.4)
	assert.Equal(t, score.Wide, wide.Grade())
	assert.InDelta(t, 1, wide.WidthOverSpread, 1e-4, "half width over spread")
	assert.Equal(t, score.Holds, c.WithHalf(c.GroupEvidence(), 1, 2.94).Grade())
	assert.InDelta(t, 3, c.Reach(), 1e-8, "reach")
}

// before is the member before_measuring of a document.
type before struct {
	Grade           score.Grade
	Of, Enough      int
	Half            numbers.Float `json:"expected_half_width"`
	WidthOverSpread numbers.Float `json:"width_over_spread"`
}

// beforeMeasuring returns the member before_measuring of the document of a calibration.
func beforeMeasuring(t *testing.T, c *interval.Calibration) before {
	t.Helper()

	text, err := json.Marshal((&interval.Result{Calibration: c}).Document())
	require.NoError(t, err)

	var b before
	require.NoError(t, numbers.Object{"before_measuring", &b}.UnmarshalJSON(text))

	return b
}
