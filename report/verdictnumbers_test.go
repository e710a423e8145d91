package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// Outcomes of different units are named and not averaged.
func TestSentenceUnits(t *testing.T) {
	s := judgedSplit()
	s.Network = append(s.Network, score.OutcomeTrust{
		Outcome: "lift_n", Unit: "N",
		Trust: score.Trust{RMSE: 12.6, ClaimedSigma: 3, Level: 0.95, Inside: 0.5, Claimed: true},
	})

	got := s.Sentence()
	assert.Contains(t, got, " bpf1_db: error 7.2 dB")
	assert.Contains(t, got, ". lift_n: error 13 N, claimed 3.0 N, 50\u00a0% inside")
}

// The verdict names a simple method that does as well on the left-out groups, by its error in
// the outcomes' unit, or else by its interval score. By hand: mean squares of 0.09 and 0.04
// deviations of 4 dB are 1.2 and 0.8 dB.
func TestSentenceOfRivals(t *testing.T) {
	same := interval.Comparison{Ratio: 1.1, More: 0.01, SE: 0.02}
	worse := interval.Comparison{Ratio: 1.3, More: 0, SE: 1}
	linear := interval.Rival{Method: "linear", EBy: []float64{0.09}, Error: same}
	constant := interval.Rival{Method: "conformal", Width: interval.Comparison{Ratio: 0.87, More: -0.2, SE: 0.1}}
	for want, rivals := range map[string][]interval.Rival{
		". Least squares does as well on the left-out groups of blades: error 1.2 dB against 0.8 dB. ": {constant, linear},
		". An interval of constant width from left-out errors does better on the left-out groups of blades: " +
			"interval score 0.87 times that of the calibrated interval. ": {constant},
		"(noise ceiling 0.99). ": {{Method: "linear", EBy: linear.EBy, Error: worse, Width: worse}},
	} {
		s := judgedSplit()
		s.Honest = calibratedBy(holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5))
		s.Honest.Calibration = &interval.Calibration{
			K: 4, Condition: "blades", Deviation: []float64{4}, Rivals: rivals,
			Groups: []interval.GroupResult{{EBy: []float64{0.05}}, {EBy: []float64{0.03}}},
		}
		if got := s.Sentence(); !strings.Contains(got, want) || len(rivals) == 1 && rivals[0].EBy != nil &&
			strings.Contains(got, "left-out") {
			t.Errorf("%s\nexpected %s", got, want)
		}
	}
}
