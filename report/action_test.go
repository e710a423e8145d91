package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// undecidedBy returns an outcome with the given evidence, an error of 3 N and an RMS residual of 1.75 · 2 = 3.5 N.
func undecidedBy(outcome string, evidence score.Evidence) score.OutcomeTrust {
	return score.OutcomeTrust{Outcome: outcome, Unit: "N", Trust: score.Trust{
		Level: evidence.Level, Runs: evidence.Units, Inside: evidence.Inside, At: [4]float64{evidence.Inside68},
		Effective: evidence.Effective, WidthOverSpread: evidence.WidthOverSpread, RMSE: 3, Half: 12.5,
		ClaimedSigma: 2, Ratio: 1.75,
	}}
}

// Evidence that is undecided for each reason.
var (
	nearlyHolds = score.Evidence{Level: 0.95, Units: 13, Inside: 1, Inside68: math.NaN(), Effective: 13}
	nearlyFails = score.Evidence{Level: 0.95, Units: 15, Inside: 0.85, Inside68: 0.36, Effective: 120}
	missesAt68  = score.Evidence{Level: 0.95, Units: 15, Inside: 0.96, Inside68: 0.46, Effective: 200}
	tooWide     = score.Evidence{
		Level: 0.95, Units: 15, Inside: 1, Inside68: 0.9, Effective: 200, WidthOverSpread: 3.1,
	}
)

// The interval of an undecided outcome can be used at 95 % if its 68 % intervals are the only doubt. Otherwise the
// measured residuals, which contain the noise, give one: 95 % of a normal distribution are within 1.96 deviations, here
// 1.96 × 3.5 = 6.9.
func TestUndecidedAction(t *testing.T) {
	only := undecidedBy("y", missesAt68)
	weak := undecidedBy("z", nearlyFails)
	action := func(list ...score.OutcomeTrust) string { return undecidedAction(list, score.OutcomeTrust.Residual) }
	assert.Equal(t, "Use only the 95\u00a0% interval of y.", action(only))
	assert.Equal(t, "For z use ±\u00a06.9 N (1.96 × RMS held-out residual, noise included), not its interval.",
		action(weak))
	assert.Equal(t, "Use only the 95\u00a0% interval of y. For z use ±\u00a06.9 N (1.96 × RMS held-out "+
		"residual, noise included), not its interval.", action(only, weak))
	assert.Equal(t, "For z use ±\u00a06.9 N, for z ±\u00a06.9 N (1.96 × RMS held-out "+
		"residual, noise included), not their intervals.",
		action(weak, weak))
	assert.Equal(t, "For 4 outcomes use ±\u00a01.96 × RMS held-out residual, noise included, not the intervals.",
		action(weak, weak, weak, weak))
}

// Each step says how many further test runs decide the interval if they are like the measured ones, and what a training
// run is forecast to give. The numbers of runs are those of score.TestOutlook, less the measured runs: 14 − 13 and
// 16 − 15. The forecast is given here; it is left out if the interval contains too few values.
func TestDecidingWords(t *testing.T) {
	s := Split{Name: "s", HeldOut: "blades = 2", Honest: calibratedBy(undecidedBy("y", missesAt68))}
	s.Honest.Record.Forecast = []interval.Forecast{{Half: []float64{12}}, {Runs: 1, Half: []float64{7.5}}}
	for want, evidence := range map[string]score.Evidence{
		"To decide, measure 1 more test run with blades = 2: if it is like these 13, the interval holds.": nearlyHolds,
		"Train on a run with blades = 2: held-out runs only test.":                                        nearlyFails,
		"Train on a run with blades = 2: ±\u00a07.5 instead of ±\u00a012 N (forecast).":                   missesAt68,
		"Train on a run with blades = 2: ±\u00a07.5 instead of ±\u00a012 N (forecast); no test run decides an " +
			"interval as wide as this one.": tooWide,
	} {
		assert.Equal(t, want, s.decidingWords(undecidedBy("y", evidence)))
	}

	assert.Equal(t, "Train on a run with blades = 2, and hold out the others as a test.",
		s.decidingWords(undecidedBy("y", score.Evidence{Level: 0.95, Units: 15, Inside: 0.2, Inside68: 0.1, Effective: 15})))
	assert.Empty(t, s.decidingWords(holding("y", "N", 3, 12, 0.3)))

	s.HeldOut = "a random share of 0.2 of the conditions, drawn for s"
	assert.Contains(t, s.decidingWords(undecidedBy("y", nearlyFails)),
		"Train on a run with such conditions: held-out")
}

// Undecided and failing rows have steps in the order of the table: the failing row first, then by R². Outcomes with the
// same step share it.
func TestDecidingSteps(t *testing.T) {
	fails := undecidedBy("worst", score.Evidence{Level: 0.95, Units: 15, Inside: 0.2, Inside68: 0.1, Effective: 15})
	fails.R2 = 0.9
	twin := undecidedBy("twin", missesAt68)
	e := Experiment{Splits: []Split{{
		Name: "s", HeldOut: "blades = 2",
		Honest: calibratedBy(undecidedBy("y", missesAt68), fails, twin, holding("good", "N", 3, 12, 0.3)),
	}}}

	var got [][2]string
	for _, step := range e.decidingSteps() {
		got = append(got, [2]string{step.Row, step.Grade})
	}

	assert.Equal(t, [][2]string{{"s worst", "fails"}, {"s y, twin", "undecided"}}, got)
}
