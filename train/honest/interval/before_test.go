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

// Grades of a new group by the left-out ones: by the rules of docs/glossary.md, the width by hand
// over 1.959964, the normal law's quantile.
func TestBefore(t *testing.T) {
	calibration := func(half float64, inside ...float64) *interval.Calibration {
		c := &interval.Calibration{K: len(inside), Level: 0.95, Condition: "rotor", Deviation: []float64{10, 15, 2}}
		for k, share := range inside {
			c.Groups = append(c.Groups, interval.GroupResult{
				Inside: share, Inside68: share * (0.70 + 0.03*float64(k%3)), Half: half, E: 0.02, Farthest: 0.5 * float64(k),
			})
		}

		return c
	}

	amounts := func(unit string, low, high float64) string { return fmt.Sprintf("%.3g to %.3g %s", low, high, unit) }
	units := []string{"dB", "dB", "N"}
	for _, c := range []struct {
		c     *interval.Calibration
		grade score.Grade
		words string
	}{
		{calibration(0.5), score.Undecided, "undecided: no group could be left out"},
		{
			calibration(0.5, 1, 1, 0.95), score.Undecided, "undecided: 3 of 3 groups of rotor, each left out in turn, were " +
				"covered; expected half-width ± 5 to 7.5 dB, ± 1 to 1 N, 0.26 of the spread; ",
		},
		{calibration(0.5, 1, 1, 0.95, 1, 0.97, 0.98, 1), score.Holds, "holds: 7 of 7 groups"},
		{calibration(1.6, 1, 1, 0.95, 1, 0.97, 0.98, 1), score.Wide, "holds, but wide: 7 of 7 groups"},
		{calibration(0.5, 0.1, 0.2, 0.1, 0.3, 0.1, 0.1, 0.95), score.Fails, "does not hold: 1 of 7 groups"},
	} {
		var b struct {
			Grade           score.Grade
			Of, Enough      int
			Half            numbers.Float `json:"expected_half_width"`
			WidthOverSpread numbers.Float `json:"width_over_spread"`
		}

		c.c.Scale = &scale.Scale{}
		document(t, (&interval.Result{Calibration: c.c}).Document(), "before_measuring", &b)

		words := c.c.BeforeWords(units, amounts)
		require.Equal(t, c.grade, b.Grade, "%d groups: %+v, %q, expected %q", c.c.K, b, words, c.words)
		require.True(t, strings.HasPrefix(words, c.words), "%d groups: %+v, %q, expected %q", c.c.K, b, words, c.words)
		assert.Equal(t, c.c.K, b.Of, "%d groups: %+v, %q, expected %q", c.c.K, b, words, c.words)

		enough := strings.HasSuffix(words, "such groups would decide")
		if enough != (b.Enough > 0) || enough && b.Enough <= b.Of {
			t.Errorf("%d groups: %d would decide, %q", c.c.K, b.Enough, words)
		}

		half := math.NaN()
		over := math.NaN()
		if b.Of > 0 {
			half = c.c.Groups[0].Half
			over = half / 1.959963984540054
		}

		require.True(t, near(float64(b.Half), half), "half width %g, over spread %g", b.Half, b.WidthOverSpread)
		assert.True(t, near(float64(b.WidthOverSpread), over), "half width %g, over spread %g", b.Half, b.WidthOverSpread)
	}

	// The same groups, and an interval of the second outcome that is as wide as its spread.
	c := calibration(0.5, 1, 1, 0.95, 1, 0.97, 0.98, 1)
	if e := c.WithHalf(c.Before(), 1, 29.4); e.Grade() != score.Wide || math.Abs(e.WidthOverSpread-1) > 1e-4 {
		t.Errorf("%+v", e)
	}

	if e := c.WithHalf(c.Before(), 0, 2.94); e.Grade() != score.Holds {
		t.Errorf("%+v", e)
	}

	assert.InDelta(t, 3, c.Reach(), 1e-8, "reach")
}

// document reads a member of a document.
func document(t *testing.T, o numbers.Object, key string, into any) {
	t.Helper()

	b, err := json.Marshal(o)
	if err == nil {
		err = numbers.Object{key, into}.UnmarshalJSON(b)
	}

	require.NoError(t, err)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
