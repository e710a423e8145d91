package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// The groups of a condition are graded together, last, with the mean shares and their errors between groups. The group
// of blades = 3 is held out by two splits, and counts once. By hand: shares 0.9 and 1 have the mean 0.95 and the error
// 0.05. By scipy: the lower bound of 95 % of two values is beta.ppf(.05, 1.9, 1.1) = 0.193.
func TestPooled(t *testing.T) {
	e := Experiment{Name: "x"}
	for i, shares := range [][4]float64{{0.6, 0.8, 0.9, 1}, {0.8, 1, 1, 1}, {0.8, 1, 1, 1}} {
		h := calibratedBy(holding("y", "N", 1, 3, 0.5))
		h.Calibration = &interval.Calibration{Condition: "blades", K: 3, Level: 0.95, Scale: &scale.Scale{}}
		h.Record.At = shares
		e.Splits = append(e.Splits, Split{Name: "s", HeldOut: "blades = " + strconv.Itoa(2+min(i, 1)), Honest: h})
	}

	got := e.verdicts()
	want := "blades, 2 groups held out in turn: undecided: "
	rest := "Of the values of a group 70 ± 10\u00a0%, 90 ± 10\u00a0% and 95 ± 5\u00a0% lie inside"
	require.Len(t, got, 4, "%q\nexpected %s… %s", got, want, rest)
	require.True(t, strings.HasPrefix(got[3], want), "%q\nexpected %s… %s", got, want, rest)
	assert.Contains(t, got[3], rest, "%q\nexpected %s… %s", got, want, rest)

	pools := e.groupPools()
	require.Len(t, pools, 1)
	assert.Equal(t, 2, pools[0].Units)
	lower, _ := pools[0].Bounds()
	assert.InDelta(t, 0.193, lower, 0.0005, "lower bound")

	assert.Nil(t, Experiment{Splits: e.Splits[:1]}.groupPools(), "one group")
}
