package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

func judgedSplit() Split {
	return Split{
		Name: "2-blades", HeldOut: "blades = 2",
		Network: []score.OutcomeTrust{{Outcome: "bpf1_db", Unit: "dB re 20 µPa", Trust: score.Trust{
			RMSE: 7.23, ClaimedSigma: 0.91, R2: 0.45, Ceiling: 0.98, Level: 0.95, Inside: 0.134, InsideSE: 0.02, Ratio: 8,
			RatioSE: 0.1, Runs: 15, Effective: 30, Values: 390, EpistemicRatio: math.NaN(), Claimed: true,
		}}},
	}
}

// holding is the trust of an interval that holds in 15 runs.
func holding(outcome, unit string, rms, half, width float64) score.OutcomeTrust {
	return score.OutcomeTrust{Outcome: outcome, Unit: unit, Trust: score.Trust{
		RMSE: rms, Half: half, R2: 0.94, Ceiling: 0.99, Level: 0.95, Inside: 0.97, At: [4]float64{0.7}, Runs: 15,
		Effective: 60, WidthOverSpread: width, ClaimedSigma: rms, Ratio: 1,
	}}
}

func calibratedBy(list ...score.OutcomeTrust) *interval.Result {
	return &interval.Result{Record: &interval.Record{Outcomes: list}}
}

// The sentence has the error, the claim and the coverage in the data's unit. Without a
// calibrated interval it first says that and why. Written by hand from the numbers: of 30 values
// 13.4 % inside are at most 28 %.
func TestSentence(t *testing.T) {
	s := judgedSplit()
	s.Honest = &interval.Result{Absent: "one group alone"}

	want := "2-blades (blades = 2 held out, 15 runs), paper's network: no calibrated interval (one group alone), and " +
		"the network's own claim fails. Use the means, not the intervals. Error 7.2 dB, claimed 0.9 dB, 13\u00a0% " +
		"inside its own 95\u00a0% intervals, R² of the mean 0.45 (noise ceiling 0.98)."
	assert.Equal(t, want, s.Sentence())

	// The network's own claim is never called good.
	s.Network[0].Inside = 0.96
	s.Network[0].At[0] = 0.7
	want = "2-blades (blades = 2 held out, 15 runs), paper's network: no calibrated interval (none was asked for), and " +
		"the network's own claim is undecided. Treat the intervals as unproven. "
	s.Honest = nil
	got := s.Sentence()
	assert.True(t, strings.HasPrefix(got, want), "%s\nexpected %s", got, want)
	assert.Equal(t, score.Undecided, s.Verdict(), "%s\nexpected %s", got, want)

	s = judgedSplit()
	s.Honest = calibratedBy(holding("bpf1_db", "dB re 20 µPa", 5, 15, 0.5))
	want = "2-blades (blades = 2 held out, 15 runs), calibrated model: holds. Use the intervals. Error 5.0 dB, " +
		"95\u00a0% intervals ± 15.0 dB. 97\u00a0% of the held-out values inside 95\u00a0% intervals, R² of the mean 0.94 " +
		"(noise ceiling 0.99). The network alone: error 7.2 dB, claimed 0.9 dB, 13\u00a0% inside its " +
		"own 95\u00a0% intervals (fails)."
	assert.Equal(t, want, s.Sentence())

	s.Network[0].RMSE = 0 // where the products of the residuals sum to less than zero
	assert.Contains(t, s.Sentence(), "error below the noise, claimed 0.9 dB")
	assert.Empty(t, (Split{}).Sentence(), "a sentence about nothing")
}

// The name of a split is left out only if the words of the held-out part begin with the whole name. Written by hand.
func TestHeldWords(t *testing.T) {
	for _, c := range []struct{ name, heldOut, want string }{
		{"2-blades", "blades = 2", "2-blades (blades = 2 held out, 15 runs)"},
		{"blades=2", "blades = 2", "blades = 2 held out (15 runs)"},
		{"blades=2", "blades = 2 ± 0.1", "blades = 2 ± 0.1 held out (15 runs)"},
		{"blades=1", "blades = 12", "blades=1 (blades = 12 held out, 15 runs)"},
		{"rpm=3", "rpm = 3.5", "rpm=3 (rpm = 3.5 held out, 15 runs)"},
		{"b", "blades = 2", "b (blades = 2 held out, 15 runs)"},
		{"all", "all predicted pairs", "all predicted pairs held out (15 runs)"},
		{"blades=2,rpm=300", "blades = 2 and rpm = 300", "blades = 2 and rpm = 300 held out (15 runs)"},
		{"blades=2, rpm=300", "blades = 2 and rpm = 300", "blades = 2 and rpm = 300 held out (15 runs)"},
	} {
		assert.Equal(t, c.want, Split{Name: c.name, HeldOut: c.heldOut}.heldWords(15), c.name)
	}
}

// Cases that were called good. Expected words: by the rules of docs/honest.md.
func TestSentenceOfWeakEvidence(t *testing.T) {
	// Two runs of which three quarters of the values are inside. 19 runs: scipy, as in score.TestGrade.
	lift := holding("lift_n", "N", 94, 15, 0.3)
	lift.Inside = 0.75
	lift.InsideSE = 0.25
	lift.At[0] = 0.25
	lift.Runs = 2
	lift.Effective = 2
	s := Split{HeldOut: "u = 4.7", Honest: calibratedBy(lift)}
	want := "u = 4.7 held out (2 runs), calibrated model: undecided: 95\u00a0% intervals contain 75\u00a0% of the " +
		"values (10 to 100\u00a0% with 90\u00a0% confidence), 68\u00a0% intervals 25\u00a0%. " +
		"For lift_n use ±\u00a0180 N (1.96 × RMS held-out residual, noise included), not its interval. Train " +
		"on a run with u = 4.7: held-out runs only test. Error 94 N, 95\u00a0% intervals ± 15 N. 75\u00a0% of"
	if got := s.Sentence(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nexpected %s", got, want)
	}

	// Harmonics of the default campaign: the first interval is as wide as the data.
	var list []score.OutcomeTrust
	for k, half := range []float64{24.8, 13.7, 9, 10.3, 10.9} {
		list = append(list, holding("bpf"+string(rune('1'+k))+"_db", "dB re 20 µPa", 3, half, half/24.9))
	}

	s = Split{HeldOut: "blades = 2", Honest: calibratedBy(list...)}
	s.Honest.Record.Forecast = []interval.Forecast{
		{Half: []float64{24.8, 13.7, 9, 10.3, 10.9}}, {Runs: 1, Half: []float64{8, 5, 4, 4, 4}},
	}

	want = "blades = 2 held out (15 runs), calibrated model: wide for bpf1_db: the interval is 100\u00a0% as " +
		"wide as the data's spread. Train on one run there: bpf1_db ±\u00a08.0 instead of " +
		"±\u00a024.8 dB (forecast). Error 3.0 dB, 95\u00a0% intervals ± 9.0 to 24.8 dB. 97\u00a0% of the held-out values " +
		"inside 95\u00a0% intervals, R² of the mean 0.94 (noise ceiling 0.99). One run of the new group would " +
		"make the interval ± 4.0 to 8.0 dB instead of ± 9.0 to 24.8 dB (forecast)."
	assert.Equal(t, want, s.Sentence())
	assert.Equal(t, score.Wide, s.Verdict(), "verdict")

	// Intervals of 95 % contain enough values; those of 68 % contain 46 %. No number of runs would decide.
	s = Split{HeldOut: "blades = 3", Honest: calibratedBy(holding("bpf1_db", "dB", 3, 9, 0.4))}
	s.Honest.Record.Outcomes[0].At[0] = 0.46
	assert.Contains(t, s.Sentence(),
		"undecided: 95\u00a0% intervals hold, 68\u00a0% intervals contain only 46\u00a0%. Use only the 95\u00a0% "+
			"interval of bpf1_db.")
	assert.Equal(t, score.Undecided, s.Verdict())

	// An interval more than three times as wide as the mean ± 1.96 deviations of the outcomes never holds.
	s = Split{HeldOut: "blades = 3", Honest: calibratedBy(holding("bpf1_db", "dB", 3, 9, 3.4))}
	assert.Contains(t, s.Sentence(), "undecided: the interval is 340\u00a0% as wide as the data's spread. "+
		"For bpf1_db use ±\u00a05.9 dB (1.96 × RMS held-out residual, noise included), not its interval. "+
		"Train on a run with blades = 3; no test run decides an interval as wide as this one.")

	// A wide interval that fails fails.
	s = Split{HeldOut: "blades = 2", Honest: calibratedBy(list...)}
	s.Honest.Record.Outcomes[0].Inside = 0.5
	want = "fails for bpf1_db: 95\u00a0% intervals contain 50\u00a0% of the values (at most 61\u00a0% with 95\u00a0% " +
		"confidence). Do not use"
	got := s.Sentence()
	assert.Equal(t, score.Fails, s.Verdict())
	assert.Contains(t, got, want)
}

// A verdict with many upper bounds says which grades change without them, and what to use above the noise floor if the
// other grade is doubtful. Here 4 of 10 values are bounds. The grades without them are given by shares inside 68 %
// intervals below 0.53, and inside 95 % intervals of 20 %. Residuals: 1.96 × 3 dB.
func TestWithoutBounds(t *testing.T) {
	without := func(name string, inside, inside68 float64) *score.OutcomeTrust {
		measured := holding(name, "dB", 3, 9, 0.4)
		measured.Inside = inside
		measured.At[0] = inside68

		return &measured
	}

	wide := holding("a", "dB", 3, 9, 0.9)
	const residual = "\u00a05.9 dB (1.96 × RMS held-out residual, noise included), not its interval."
	for name, c := range map[string]struct {
		bounds       int
		measured     []*score.OutcomeTrust
		want, action string
	}{
		"few bounds": {0, []*score.OutcomeTrust{without("a", 0.2, 0.1)}, "", ""},
		"no change":  {4, []*score.OutcomeTrust{without("a", 0.97, 0.7), nil}, "", ""},
		"two changes": {
			4,
			[]*score.OutcomeTrust{without("a", 0.96, 0.46), without("b", 0.97, 0.7), without("c", 0.2, 0.1)},
			"Without them a is undecided, c fails",
			"Above the noise floor: use only the 95\u00a0% interval of a. For c use ±" + residual,
		},
		"one change": {
			4,
			[]*score.OutcomeTrust{without("a", 0.2, 0.1)},
			"Without them a fails",
			"Above the noise floor: for a use ±" + residual,
		},
		"better": {4, []*score.OutcomeTrust{&wide}, "Without them a is wide", ""},
		"many": {
			4,
			[]*score.OutcomeTrust{
				without("a", 0.2, 0.1), without("b", 0.2, 0.1), without("c", 0.2, 0.1), without("d", 0.2, 0.1),
			},
			"Without them 4 grades change",
			"Above the noise floor: for 4 outcomes use ±\u00a01.96 × RMS held-out residual, noise included, not the " +
				"intervals.",
		},
	} {
		s := Split{HeldOut: "blades = 2", Honest: calibratedBy()}
		for k, measured := range c.measured {
			outcome := holding("abcd"[k:k+1], "dB", 3, 9, 0.4)
			s.Honest.Record.Outcomes = append(s.Honest.Record.Outcomes, outcome)
			s.Held = append(s.Held, HeldOutcome{
				Outcome: outcome.Outcome, Values: 10, Bounds: c.bounds, Measured: measured, MeasuredResidual: 3,
			})
		}

		assert.Equal(t, c.want, s.withoutBoundsWords(), name)
		assert.Equal(t, strings.TrimSpace("Use the intervals. "+c.action), s.action(), name)
	}
}
