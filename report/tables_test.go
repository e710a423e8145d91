package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/score"
)

// The table of errors and claims: a calibrated split has two rows for each outcome, the numbers are in
// the outcomes' unit, a level has one decimal and two digits of the deviation decide
// elsewhere. Written by hand.
func TestClaimed(t *testing.T) {
	row := func(tab table, i int) string {
		texts := []string{tab.Rows[i].Label}
		for _, c := range tab.Rows[i].Cells {
			texts = append(texts, strings.ReplaceAll(c.plain(), "\u00a0", " "))
		}

		return strings.Join(texts, "|")
	}

	e := judged(rotor())
	tab := e.claimsTable()
	title := "Error and claim on the held-out sets, by model, in dB"
	require.Equal(t, title, tab.Title, "%q, %d rows", tab.Title, len(tab.Rows))
	require.Len(t, tab.Rows, 6, "%q, %d rows", tab.Title, len(tab.Rows))

	for i, want := range []string{
		"2-blades|calibrated|bpf1_db|2.5 ± 0.1|7.0|4.6|75 %|96 ± 1 %|24.8",
		"2-blades|calibrated|bpf2_db|2.5 ± 0.1|7.0|4.6|75 %|96 ± 1 %|7.1",
		"2-blades|network alone|bpf1_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
		"2-blades|network alone|bpf2_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
		"3-blades|network|bpf1_db|7.2 ± 0.5|0.9|0.042|7 %|13 ± 2 %|1.8",
	} {
		assert.Equal(t, want, row(tab, i))
	}

	// Each outcome has its own unit.
	e.Splits = e.Splits[1:]
	lift := score.OutcomeTrust{Outcome: "lift_n", Unit: "N", Trust: score.Trust{
		RMSE: 0.98934, RMSESE: 0.00123, ClaimedSigma: 12.34, ClaimedEpistemic: math.NaN(), At: [4]float64{math.NaN()},
		Level: 0.95, Inside: 0.5, InsideSE: math.NaN(), Half: 24.185,
	}}

	e.Splits[0].Network = append(e.Splits[0].Network, lift)
	tab = e.claimsTable()
	if got, want := row(tab, 2), "3-blades|network|lift_n|N|0.9893 ± 0.0012|12|–|–|50 %|24"; got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}

	assert.Equal(t, "Error and claim on the held-out sets, by model", tab.Title, "title %q of two units", tab.Title)
}
