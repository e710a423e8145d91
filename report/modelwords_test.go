package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// The table has a row for each calibrated split; its words name the groups, and
// give the reason where there is no calibration.
func TestIntervals(t *testing.T) {
	s := judgedSplit()
	se := 0.034
	s.Honest = &interval.Result{
		Calibration: &interval.Calibration{
			Base: "additive GP", K: 3, Level: 0.95, Condition: "blades",
			Scale: &scale.Scale{M: math.Log(1.5), Tau: 2, Factor: 1, Noise: scale.Noise{Scale: 1.4}},
			Groups: []interval.GroupResult{
				{Name: "3", E: 0.241, ESE: &se, Inside: 1, Half: 1.2}, {Name: "4", Claim: 0.3, Inside: 0.49, Half: 1.2},
			},
			Deviation: []float64{6},
		},
		Record: &interval.Record{},
	}

	e := Experiment{
		Outcomes: []string{"bpf1_db"}, OutcomeUnits: []string{"dB re 20 µPa"},
		Splits: []Split{s, {Name: "b", Honest: &interval.Result{Absent: "too few groups."}}, {Name: "c"}},
	}

	list := e.intervalsTable()
	require.Len(t, list.Rows, 1, "%+v", list)
	require.Equal(t, "2-blades", list.Rows[0].Label, "%+v", list)

	words := strings.Join(e.intervalWords(), "\n")
	assert.Contains(t, words,
		"checked on 3 groups of blades left out. Before measuring: undecided: 1 of 3 groups of blades, each "+
			"left out in turn, were covered; mean half width ± 4.8 dB, 0.41 of the spread")
	assert.Contains(t, words, "3 0.24 ± 0.03")
	assert.Contains(t, words, "4 0 (claimed 0.3, 49\u00a0% inside ± 1.2)")
	assert.Contains(t, words, "by a factor about 1.5, between groups by factors about 7.4")
	assert.Contains(t, words, "promises nothing")
	assert.Contains(t, words, "1.4 times the noise")
	assert.Contains(t, words, "b: no calibrated interval: too few groups.")
}
