package interval

import (
	"fmt"
	"math"
)

// Rival is what a simple method gave on the left-out groups, each predicted from the
// others. Its numbers are in deviations of the training outcomes.
type Rival struct {
	Method string    `json:"method"`         // as in comparisons
	EBy    []float64 `json:"e_by,omitempty"` // mean e per outcome, measured by the pairs; nil: its mean is the model's
	Score  float64   `json:"interval_score"` // mean interval score, see Winkler
	Error  Against   `json:"error"`          // the rms difference from measured values against the model's
	Width  Against   `json:"width"`          // the interval score against the calibrated interval's
}

// Against compares a rival with the model group by group.
type Against struct {
	Ratio float64 `json:"ratio"` // of the means over groups; below 1 the rival is better
	More  float64 `json:"more"`  // mean of the differences
	SE    float64 `json:"se"`    // its standard error, groups being independent
}

// rivalRatio is the largest ratio at which a rival can be as good as the model.
const rivalRatio = 1.25

// AsGood reports whether the rival is worse by no more than the standard error.
func (a Against) AsGood() bool { return a.Ratio <= rivalRatio && a.More <= a.SE }

// rivalNames are the methods in words.
var rivalNames = map[string]string{
	"linear": "least squares", "nearest-group": "the nearest group's own outcome",
	"plain":              "an interval from the left-out groups without E|cov| (scale: plain)",
	"conformal":          "an interval of constant width from left-out errors",
	"conformal-relative": "an interval from left-out errors over the model's own deviation",
}

// RivalWords names the best of the simple methods that do as well on the left-out groups as
// the model, by the error of the mean or else by the interval score; "" where none does.
// amounts writes a range of differences in a unit.
func (r *Result) RivalWords(amounts func(unit string, low, high float64) string) string {
	if r == nil || r.Calibration == nil {
		return ""
	}

	c := r.Calibration

	var best Rival
	for _, v := range c.Rivals {
		if v.EBy != nil && v.Error.AsGood() && (best.Method == "" || v.Error.Ratio < best.Error.Ratio) {
			best = v
		}
	}

	if best.Method != "" {
		return fmt.Sprintf("%s: error %s against %s", c.does(best.Method, best.Error), r.inUnit(best.EBy, amounts),
			r.inUnit(c.meanE(), amounts))
	}

	for _, v := range c.Rivals {
		if v.Width.AsGood() && (best.Method == "" || v.Width.Ratio < best.Width.Ratio) {
			best = v
		}
	}

	if best.Method != "" {
		return fmt.Sprintf("%s: interval score %.2g times that of the calibrated interval",
			c.does(best.Method, best.Width), best.Width.Ratio)
	}

	return ""
}

func (c *Calibration) does(method string, a Against) string {
	how := "as well"
	if a.More < -a.SE {
		how = "better"
	}

	return fmt.Sprintf("%s does %s on the left-out groups of %s", rivalNames[method], how, c.Condition)
}

// meanE is the mean e of the left-out groups per outcome.
func (c *Calibration) meanE() []float64 {
	out := make([]float64, len(c.Deviation))
	for _, g := range c.Groups {
		for j, e := range g.EBy {
			out[j] += e / float64(len(c.Groups))
		}
	}

	return out
}

// inUnit writes the root of mean e over the outcomes: in their unit where they have one, else
// in percent of their deviations.
func (r *Result) inUnit(e []float64, amounts func(unit string, low, high float64) string) string {
	unit, one := "", r.Record != nil
	if one {
		for i, t := range r.Record.Outcomes {
			one = one && (i == 0 || t.Unit == unit)
			unit = t.Unit
		}
	}

	sum := 0.0
	for j, v := range e {
		if one {
			v *= r.Calibration.Deviation[j] * r.Calibration.Deviation[j]
		}

		sum += v / float64(len(e))
	}

	rms := math.Sqrt(max(sum, 0))
	switch {
	case !one:
		return fmt.Sprintf("%.2g %% of the data's spread", 100*rms)
	case rms == 0:
		return "below the noise"
	}

	return amounts(unit, rms, rms)
}
