package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// withPlainErrors returns a calibrated split of one outcome with an error of 5 dB and the given errors of plain models.
// On the left-out groups the mean squared error of the model is 0.04, and that of least squares is leftOut.
func withPlainErrors(mean, linear, leftOut float64) Split {
	s := Split{Name: "s", HeldOut: "blades = 2", Honest: calibratedBy(holding("bpf1_db", "dB", 5, 15, 0.5))}
	s.Held = []HeldOutcome{{Outcome: "bpf1_db", MeanError: mean, LinearError: linear}}
	s.Honest.Calibration = &interval.Calibration{
		K: 4, Condition: "blades", Deviation: []float64{4},
		Groups: []interval.GroupResult{{EBy: []float64{0.05}}, {EBy: []float64{0.03}}},
		Rivals: []interval.Rival{{
			Method: "linear", EBy: []float64{leftOut}, Error: interval.Comparison{Ratio: 3, More: 1},
			Width: interval.Comparison{Ratio: 3, More: 1},
		}},
	}

	return s
}

// The left-out training groups decide which prediction to use. By hand: √(0.16/0.04) = 2.
func TestCloserModels(t *testing.T) {
	for name, c := range map[string]struct {
		split Split
		want  string
	}{
		"no plain model is closer": {withPlainErrors(12, 7, 0.16), ""},
		"least squares, by chance": {
			withPlainErrors(12, 4, 0.16), "Least squares is closer for bpf1_db (4.0 dB), but has 2 times " +
				"the model's error on left-out training groups: do not use it",
		},
		"least squares, everywhere": {
			withPlainErrors(12, 4, 0.02), "Least squares is closer for bpf1_db (4.0 dB), and on training groups " +
				"left out in turn too: take its values, and the interval from the calibrated model",
		},
		"the mean": {
			withPlainErrors(3, 4, 0.16), "The training mean is closer for bpf1_db (3.0 dB), and no other group " +
				"shows which is closer: rely on the interval, not on the value",
		},
	} {
		assert.Equal(t, c.want, c.split.closerWords(), name)
	}

	split := withPlainErrors(12, 4, 0.16)
	assert.Contains(t, split.Sentence(), "do not use it. Use the intervals. Error 5.0 dB")

	// Of several outcomes the one with the smallest ratio of errors is named.
	split.Honest.Record.Outcomes = append(split.Honest.Record.Outcomes, holding("bpf2_db", "dB", 5, 15, 0.5))
	split.Honest.Calibration.Deviation = []float64{4, 4}
	split.Honest.Calibration.Rivals = nil
	split.Held = append(split.Held, HeldOutcome{Outcome: "bpf2_db", MeanError: 12, LinearError: 1})
	assert.Contains(t, split.closerWords(), "Least squares is closer for bpf2_db and 1 more outcome (1.0 dB)")
	assert.Equal(t, score.Holds, split.Verdict())
}

// The sentence counts only outcomes to which its model and its advice apply. By hand, on left-out groups: an error of
// √(0.02/0.04) = 0.7 times the model's says to take the values, √(0.16/0.04) = 2 times says not to.
func TestCloserModelsOfOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		mean, linear, leftOut float64 // of the second outcome
		want                  string
	}{
		"alike":         {12, 4.5, 0.02, "bpf1_db and 1 more outcome (4.0 dB), and on training groups left out in turn too"},
		"another model": {4.2, 4.5, 0.02, "bpf1_db (4.0 dB), and on training groups left out in turn too"},
		"other advice":  {12, 4.5, 0.16, "bpf1_db (4.0 dB), and on training groups left out in turn too"},
		"not closer":    {12, 7, 0.02, "bpf1_db (4.0 dB), and on training groups left out in turn too"},
		"closest":       {12, 1, 0.16, "bpf2_db (1.0 dB), but has 2 times the model's error"},
	} {
		split := withPlainErrors(12, 4, 0.02)
		split.Honest.Record.Outcomes = append(split.Honest.Record.Outcomes, holding("bpf2_db", "dB", 5, 15, 0.5))
		split.Held = append(split.Held, HeldOutcome{Outcome: "bpf2_db", MeanError: c.mean, LinearError: c.linear})
		calibration := split.Honest.Calibration
		calibration.Deviation = []float64{4, 4}
		calibration.Groups = []interval.GroupResult{{EBy: []float64{0.05, 0.05}}, {EBy: []float64{0.03, 0.03}}}
		calibration.Rivals[0].EBy = append(calibration.Rivals[0].EBy, c.leftOut)
		assert.Contains(t, split.closerWords(), "Least squares is closer for "+c.want, name)
	}
}

// The smaller error of the plain predictions that can be made counts, in the words and in the drawing alike. By hand:
// the longest bar, 2, reaches 145 px from 5 px, so that 1.5 is at 5 + 140·0.75 = 110 px. An error that is not a finite
// number has no place.
func TestPlainErrorsThatCannotBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		mean, linear, error float64
		words, tick         string
	}{
		"both, the mean is closer":      {1.5, 1.8, 1.9, "The training mean is closer", "M110.0 2v16"},
		"both, least squares is closer": {1.8, 1.5, 1.9, "Least squares is closer", "M110.0 2v16"},
		"without least squares":         {1.5, undefined, 1.9, "The training mean is closer", "M110.0 2v16"},
		"without the mean":              {undefined, 1.5, 1.9, "Least squares is closer", "M110.0 2v16"},
		"neither":                       {undefined, undefined, 1.9, "", ""},
		"least squares is infinite":     {1.5, math.Inf(1), 1.9, "The training mean is closer", "M110.0 2v16"},
		"the error is infinite":         {1.5, 1.8, math.Inf(1), "The training mean is closer", ""},
	} {
		split := withPlainErrors(c.mean, c.linear, 0.16)
		trust := holding("bpf1_db", "dB", c.error, 1, 0.5)
		split.Honest.Record.Outcomes[0] = trust
		words := split.closerWords()
		bar := string(errorBar(result{split: split, trust: trust, held: split.Held[0]}, 2))

		assert.Equal(t, c.words, words[:min(len(words), len(c.words))], "%s: %s", name, words)
		assert.Equal(t, c.words == "", words == "", name)
		assert.Equal(t, c.tick != "", strings.Contains(bar, `class="tick"`), "%s: %s", name, bar)
		assert.Contains(t, bar, c.tick, name)
		assert.NotContains(t, bar, "Inf", name)
		assert.NotContains(t, bar, "NaN", name)
	}
}
