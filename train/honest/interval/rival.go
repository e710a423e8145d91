package interval

import (
	"fmt"
	"math"

	"doubletake/ingest/fault"
)

// Rival holds the results of a simple method on the left-out groups, each predicted from the other groups. Its numbers
// are in deviations of the training outcomes.
type Rival struct {
	Method string     `json:"method"`         // as in comparisons
	EBy    []float64  `json:"e_by,omitempty"` // mean e per outcome, measured by the pairs; nil: its mean is the model's
	Score  float64    `json:"interval_score"` // mean interval score, see Winkler
	Error  Comparison `json:"error"`          // the rms difference from measured values against the model's
	Width  Comparison `json:"width"`          // the interval score against the calibrated interval's
}

// Comparison compares a number of a rival with the number of the model, group by group. Lower numbers are better.
type Comparison struct {
	Ratio float64 `json:"ratio"` // the rival's mean over groups, divided by the model's
	More  float64 `json:"more"`  // mean over groups of the rival's number less the model's
	SE    float64 `json:"se"`    // standard error of More if groups are independent
}

// rivalRatio is the largest ratio at which a rival can be as good as the model.
const rivalRatio = 1.25

// AsGood reports whether the rival is worse by no more than the standard error, and its ratio is at most rivalRatio.
func (a Comparison) AsGood() bool { return a.Ratio <= rivalRatio && a.More <= a.SE }

// rivalNames are the methods in words.
var rivalNames = map[string]string{
	"linear": "least squares", "nearest-group": "the nearest group's own outcome",
	"plain":              "an interval from the left-out groups without E|cov| (scale: plain)",
	"conformal":          "an interval of constant width from left-out errors",
	"conformal-relative": "an interval from left-out errors over the model's own deviation",
}

// RivalWords names the best of the rivals that are as good as the model on the left-out groups: by the error of the
// mean or, if no rival is as good by its error, by the interval score. It returns "" if no such rival exists.
// amounts writes a range of differences in a unit.
func (r *Result) RivalWords(amounts func(unit string, low, high float64) string) string {
	if r == nil || r.Calibration == nil {
		return ""
	}

	c := r.Calibration
	if best := c.bestMean(); best != nil {
		return fmt.Sprintf("%s: error %s against %s", c.compared(best.Method, best.Error), r.inUnit(best.EBy, amounts),
			r.inUnit(c.meanE(), amounts))
	}

	if best := c.bestWidth(); best != nil {
		return fmt.Sprintf("%s: interval score %s times that of the calibrated interval",
			c.compared(best.Method, best.Width), fault.Digits(best.Width.Ratio, 2))
	}

	return ""
}

// bestMean returns the rival with the smallest error of the mean among the rivals that are as good as the model, or
// nil.
func (c *Calibration) bestMean() *Rival {
	var best *Rival
	for i, v := range c.Rivals {
		if v.EBy == nil || !v.Error.AsGood() {
			continue
		}

		if best == nil || v.Error.Ratio < best.Error.Ratio {
			best = &c.Rivals[i]
		}
	}

	return best
}

// bestWidth returns the rival with the smallest interval score among the rivals that are as good as the model, or nil.
func (c *Calibration) bestWidth() *Rival {
	var best *Rival
	for i, v := range c.Rivals {
		if !v.Width.AsGood() {
			continue
		}

		if best == nil || v.Width.Ratio < best.Width.Ratio {
			best = &c.Rivals[i]
		}
	}

	return best
}

// compared says in words how well a method does on the left-out groups, compared with the model.
func (c *Calibration) compared(method string, a Comparison) string {
	how := "as well"
	if a.More < -a.SE {
		how = "better"
	}

	return fmt.Sprintf("%s does %s on the left-out groups of %s", rivalNames[method], how, c.Condition)
}

// LeftOutRatio returns the error of a rival over the model's error on the left-out groups, for the outcome with the
// given index. Errors are roots of the mean of e. LeftOutRatio returns NaN if the rival was not compared, and +Inf if
// the model's error is below the noise of the pairs.
func (c *Calibration) LeftOutRatio(method string, outcome int) float64 {
	for _, rival := range c.Rivals {
		if rival.Method == method && rival.EBy != nil {
			return math.Sqrt(max(rival.EBy[outcome], 0) / max(c.meanE()[outcome], 0))
		}
	}

	return math.NaN()
}

// meanE returns the mean squared error of the left-out groups, by outcome.
func (c *Calibration) meanE() []float64 {
	mean := make([]float64, len(c.Deviation))
	for _, g := range c.Groups {
		for j, e := range g.EBy {
			mean[j] += e / float64(len(c.Groups))
		}
	}

	return mean
}

// inUnit writes the root of the mean of e, the squared errors of the outcomes in units of their variances. It writes
// it in the unit of the outcomes if all have the same unit, and in percent of their deviations otherwise.
func (r *Result) inUnit(e []float64, amounts func(unit string, low, high float64) string) string {
	unit, same := r.commonUnit()
	sum := 0.0
	for j, v := range e {
		if same {
			v *= r.Calibration.Deviation[j] * r.Calibration.Deviation[j]
		}

		sum += v / float64(len(e))
	}

	rms := math.Sqrt(max(sum, 0))
	switch {
	case rms == 0:
		return "below the noise"
	case !same:
		return fault.Digits(100*rms, 2) + " % of the data's spread"
	default:
		return amounts(unit, rms, rms)
	}
}

// commonUnit returns the unit of the outcomes, and whether all outcomes of the record have the same. Without a record
// it returns false.
func (r *Result) commonUnit() (unit string, ok bool) {
	if r.Record == nil {
		return "", false
	}

	for i, t := range r.Record.Outcomes {
		if i > 0 && t.Unit != unit {
			return "", false
		}

		unit = t.Unit
	}

	return unit, true
}
