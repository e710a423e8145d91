package report

import (
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// pooled is the evidence of several groups of a condition, each held out by a split.
type pooled struct {
	condition string
	groups    []string
	at, se    [3]float64 // share inside the intervals of the first of score.Levels, with its error by group
	score.Evidence
}

// pooledLevel is that of the intervals that are pooled: splits may have others as well.
const pooledLevel = 0.95

// pooled are the conditions of which at least two groups were held out.
func (e Experiment) pooled() []pooled {
	var out []pooled
	for _, s := range e.Splits {
		if !s.calibrated() || slices.ContainsFunc(out, func(p pooled) bool {
			return p.condition == s.Honest.Calibration.Condition
		}) {
			continue
		}

		if p := e.pool(s.Honest.Calibration.Condition); len(p.groups) > 1 {
			out = append(out, p)
		}
	}

	return out
}

// pool pools the groups of a condition; the same group held out twice counts once.
func (e Experiment) pool(condition string) pooled {
	p := pooled{condition: condition}

	var inside [3][]float64
	var squared, half, width []float64
	for _, s := range e.Splits {
		if !s.calibrated() || s.Honest.Calibration.Condition != condition || slices.Contains(p.groups, s.HeldOut) {
			continue
		}

		r := s.Honest.Record
		p.groups = append(p.groups, s.HeldOut)
		squared, half, width = append(squared, r.E), append(half, r.After.Width/2), append(width, r.WidthOverSpread)
		for l := range inside {
			inside[l] = append(inside[l], r.At[l])
		}
	}

	for l, v := range inside {
		p.at[l], p.se[l] = score.MeanStd(v)
		p.se[l] /= math.Sqrt(float64(len(v)))
	}

	e2, _ := score.MeanStd(squared)
	p.Evidence = score.Pool(pooledLevel, inside[2], inside[0])
	p.Error = math.Sqrt(max(0, e2))
	p.Half, _ = score.MeanStd(half)
	p.WidthOverSpread, _ = score.MeanStd(width)

	return p
}

// verdict is the grade of the groups together, in words.
func (p pooled) verdict() verdict {
	rest := "Of the values of a group"
	for l, at := range p.at {
		sep := []string{" ", ", ", " and "}[l]
		rest += fmt.Sprintf("%s%s ± %s", sep, numbers.Fixed(100*at, 0), share(p.se[l]))
	}

	finding, why := p.Grade().Words(), reason(p.Evidence, "group")
	if n := p.Enough(); p.Grade() == score.Undecided && n > 0 {
		why = ""
		finding = fmt.Sprintf("too few to tell a 90\u00a0%% interval from a 99\u00a0%% one (%d would do)", n)
	}

	return verdict{
		string(p.Grade()), fmt.Sprintf("%s, %d groups held out", clean(p.condition), len(p.groups)), "", finding, why,
		rest + " lie inside the intervals of 68, 90 and 95\u00a0% (mean and standard error over groups).",
	}
}

// pooledVerdicts are the grades of conditions of which several groups were held out.
func (e Experiment) pooledVerdicts() []verdict { return lists.Each(e.pooled(), pooled.verdict) }

// json is the evidence in metrics.json.
func (p pooled) json() object {
	lower, upper := p.Bounds()
	o := object{
		"condition", p.condition, "groups", stringArray(p.groups), "verdict", string(p.Grade()),
		"sentence", p.verdict().String(), "lower_bound", lower, "upper_bound", upper,
	}

	for l, at := range p.at {
		key := fmt.Sprintf("coverage_%g", 100*score.Levels[l])
		o = append(o, key, at, key+"_se", p.se[l])
	}

	return o
}
