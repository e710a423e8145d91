package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The expected numbers are closed forms. If all of n values are inside, the lower bound of Clopper and Pearson is
// 0.05^(1/n), which exceeds 0.8 from n = 14 on. If all values of m further units are inside, the share of u units is
// (u·p + m)/(u + m), which reaches the limit l for m ≥ u(l − p)/(1 − l). The upper bound of 85 % of 8n values falls
// below 0.9 from n = 16 on, by scipy: beta.ppf(.95, .85·8n + 1, .15·8n).
func TestOutlook(t *testing.T) {
	nan := math.NaN()
	fewest := func(units int, limit, share float64) int {
		return units + int(math.Ceil(float64(units)*(limit-share)/(1-limit)-1e-9))
	}

	for name, c := range map[string]struct {
		evidence Evidence
		want     Outlook
	}{
		"all of 13 values are inside": {
			Evidence{Level: 0.95, Units: 13, Inside: 1, Inside68: nan, Effective: 13},
			Outlook{Units: 14, Like: Holds, Best: Holds, Worst: Undecided, FewestHold: 14},
		},
		"85 % inside 95 % intervals, and 36 % inside 68 % intervals": {
			Evidence{Level: 0.95, Units: 15, Inside: 0.85, Inside68: 0.36, Effective: 120},
			Outlook{
				Units: 16, Like: Fails, Best: Undecided, Worst: Fails,
				FewestHold: max(fewest(15, 0.9, 0.85), fewest(15, 0.53, 0.36)),
			},
		},
		"68 % intervals with 46 %, which no unit like these would change": {
			Evidence{Level: 0.95, Units: 15, Inside: 0.96, Inside68: 0.46, Effective: 200},
			Outlook{Like: Undecided, Best: Undecided, Worst: Undecided, FewestHold: fewest(15, 0.53, 0.46)},
		},
		"wider than three spreads, which no run changes": {
			Evidence{Level: 0.95, Units: 15, Inside: 1, Inside68: 0.9, Effective: 200, WidthOverSpread: 3.1},
			Outlook{Like: Undecided, Best: Undecided, Worst: Undecided},
		},
		"decided": {
			Evidence{Level: 0.95, Units: 14, Inside: 1, Inside68: nan, Effective: 14},
			Outlook{Like: Undecided, Best: Undecided, Worst: Undecided},
		},
		"the model's own claim": {
			Evidence{Level: 0.95, Units: 13, Inside: 1, Inside68: nan, Effective: 13, Claimed: true},
			Outlook{Like: Undecided, Best: Undecided, Worst: Undecided},
		},
	} {
		assert.Equal(t, c.want, c.evidence.Outlook(), name)
	}
}

// The witness appends the further units themselves: the list of shares by unit, pooled as measured units are. A unit
// counts as one value in both if the shares inside 68 % intervals are not known.
func TestOutlookAgainstPooledUnits(t *testing.T) {
	for name, measured := range map[string][]float64{
		"four good units": {1, 1, 1, 1},
		"too few inside":  {0.7, 0.8, 0.75},
		"nearly enough":   {1, 0.9, 0.8, 1, 0.7, 0.9},
	} {
		outlook := Pool(0.95, measured, nil).Outlook()
		require.NotZero(t, outlook.FewestHold, name)

		extended := func(units int, share float64) Grade {
			list := append([]float64{}, measured...)
			for len(list) < units {
				list = append(list, share)
			}

			return Pool(0.95, list, nil).Grade()
		}

		assert.Equal(t, Holds, extended(outlook.FewestHold, 1), "%s: all further units inside", name)
		assert.NotEqual(t, Holds, extended(outlook.FewestHold-1, 1), "%s: one unit less", name)
		if outlook.Units == 0 {
			continue
		}

		mean := average(measured, nil)
		assert.Equal(t, outlook.Like, extended(outlook.Units, mean), "%s: units like the measured units", name)
		assert.Equal(t, Undecided, extended(outlook.Units-1, mean), "%s: one such unit less", name)
		assert.Equal(t, outlook.Best, extended(outlook.Units, 1), "%s: all inside", name)
		assert.Equal(t, outlook.Worst, extended(outlook.Units, 0), "%s: none inside", name)
	}
}

// The witness asks for the grade with each number of units in turn. The shares and numbers are drawn.
func TestOutlookAgainstCounting(t *testing.T) {
	decided := 0 // forecasts that were compared: units until the grade is decided
	held := 0    // the fewest units until it may hold
	rapid.Check(t, func(t *rapid.T) {
		e := Evidence{
			Level: 0.95, Units: rapid.IntRange(1, 40).Draw(t, "units"), Inside: rapid.Float64Range(0.5, 1).Draw(t, "inside"),
			Inside68: rapid.Float64Range(0.2, 1).Draw(t, "inside 68 %"),
		}
		e.Effective = float64(e.Units) * rapid.Float64Range(1, 10).Draw(t, "values of a unit")
		if e.Grade() != Undecided {
			t.Skip("decided")
		}

		const most = 150 // units that the witness counts
		like := 0
		holds := 0
		for n := e.Units + 1; n <= most; n++ {
			if like == 0 && e.repeated(n).Grade() != Undecided {
				like = n
			}

			if holds == 0 && unlessWide(e.with(n, 1).Grade()) == Holds {
				holds = n
			}
		}

		outlook := e.Outlook()
		if outlook.Units <= most {
			assert.Equal(t, like, outlook.Units)
			decided++
		}

		if outlook.FewestHold <= most {
			assert.Equal(t, holds, outlook.FewestHold)
			held++
		}
	})

	assert.Positive(t, decided, "numbers of units that were compared")
	assert.Positive(t, held, "fewest numbers of units to hold that were compared")
}
