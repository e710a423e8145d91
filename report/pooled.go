package report

import (
	"fmt"
	"math"
	"slices"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// pooledLevels is the number of levels of score.Levels that are pooled: 68, 90 and 95 %.
const pooledLevels = 3

// groupPool is the evidence of several groups of a condition, each held out by a split.
type groupPool struct {
	condition string
	groups    []string              // the held-out parts in words: "blades = 2"
	inside    [pooledLevels]float64 // mean over groups of the share of values inside the intervals of each level
	insideSE  [pooledLevels]float64 // standard error of inside over groups
	score.Evidence
}

// pooledLevel is the level of the intervals that are graded. A split may ask for another level as well.
const pooledLevel = 0.95

// groupPools returns the evidence for each condition of which at least two groups were held out.
func (e Experiment) groupPools() []groupPool {
	var pools []groupPool
	seen := map[string]bool{} // conditions that are in pools
	for _, split := range e.Splits {
		if !split.isCalibrated() || seen[split.Honest.Calibration.Condition] {
			continue
		}

		pool := e.poolGroups(split.Honest.Calibration.Condition)
		if len(pool.groups) > 1 {
			seen[pool.condition] = true
			pools = append(pools, pool)
		}
	}

	return pools
}

// poolGroups pools the groups of a condition. A group that is held out by two splits counts once.
func (e Experiment) poolGroups(condition string) groupPool {
	pool := groupPool{condition: condition}

	var inside [pooledLevels][]float64 // by level and group
	var squared, half, width []float64 // squared error, half width, width over spread; by group
	for _, split := range e.Splits {
		if !split.isCalibrated() || split.Honest.Calibration.Condition != condition {
			continue
		}

		if slices.Contains(pool.groups, split.HeldOut) {
			continue
		}

		record := split.Honest.Record
		pool.groups = append(pool.groups, split.HeldOut)
		squared = append(squared, record.E)
		half = append(half, record.After.Width/2)
		width = append(width, record.WidthOverSpread)
		for level := range inside {
			inside[level] = append(inside[level], record.At[level])
		}
	}

	for level, shares := range inside {
		pool.inside[level], pool.insideSE[level] = score.MeanStd(shares)
		pool.insideSE[level] /= math.Sqrt(float64(len(shares)))
	}

	meanSquare, _ := score.MeanStd(squared)
	pool.Evidence = score.Pool(pooledLevel, inside[2], inside[0]) // shares at 95 and at 68 %
	pool.Error = math.Sqrt(max(0, meanSquare))
	pool.Half, _ = score.MeanStd(half)
	pool.WidthOverSpread, _ = score.MeanStd(width)

	return pool
}

// verdictInWords grades all groups together.
func (p groupPool) verdictInWords() verdictWords {
	rest := "Of the values of a group"
	for level, inside := range p.inside {
		separator := [pooledLevels]string{" ", ", ", " and "}[level]
		rest += fmt.Sprintf("%s%s ± %s", separator, numbers.Fixed(100*inside, 0), shareText(p.insideSE[level]))
	}

	v := verdictWords{
		Grade: string(p.Grade()), Held: fmt.Sprintf("%s, %d groups held out in turn", clean(p.condition), len(p.groups)),
		finding: string(p.Grade()), why: reasonFor(p.Evidence), Action: "Rely on the grade of each group instead.",
		Rest: rest + " lie inside the intervals of 68, 90 and 95\u00a0% (mean and standard error over groups).",
	}

	switch outlook := p.Outlook(); {
	case p.Grade() == score.Undecided && outlook.Units > 0:
		v.why = fmt.Sprintf("%d groups like these would show that intervals %s for any other group", outlook.Units,
			endWords(outlook.Like))
		v.Action = "Until then, use the grade of each group."
	case p.Grade() == score.Holds || p.Grade() == score.Wide:
		v.Action = "Use the intervals for further groups."
	case p.Grade() == score.Fails:
		v.Action = "Do not use the intervals for further groups."
	}

	return v
}

// endWords writes what intervals with a decided grade do: "hold" or "fail".
func endWords(grade score.Grade) string {
	if grade == score.Fails {
		return "fail"
	}
	return "hold"
}

// decidedPools returns the grades of conditions of which several groups were held out, without undecided grades. An
// undecided grade of few groups gives a reader of a summary nothing to act upon.
func (e Experiment) decidedPools() []verdictWords {
	var verdicts []verdictWords
	for _, verdict := range e.pooledVerdicts() {
		if verdict.Grade != string(score.Undecided) {
			verdicts = append(verdicts, verdict)
		}
	}

	return verdicts
}

// pooledVerdicts returns the grades of conditions of which several groups were held out.
func (e Experiment) pooledVerdicts() []verdictWords {
	var verdicts []verdictWords
	for _, pool := range e.groupPools() {
		verdicts = append(verdicts, pool.verdictInWords())
	}

	return verdicts
}

// document returns the evidence as an object of the file of metrics.
func (p groupPool) document() object {
	lower, upper := p.Bounds()
	members := object{
		"condition", p.condition, "groups", stringArray(p.groups), "verdict", string(p.Grade()),
		"sentence", p.verdictInWords().String(), "lower_bound", lower, "upper_bound", upper,
	}

	for level, inside := range p.inside {
		key := fmt.Sprintf("coverage_%g", 100*score.Levels[level])
		members = append(members, key, inside, key+"_se", p.insideSE[level])
	}

	return members
}
