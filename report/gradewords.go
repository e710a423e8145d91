package report

import (
	"strconv"

	"doubletake/train/score"
)

// gradeLimits contains the limits of grades as texts, for the explanations of the page and of the terminal. An interval
// is wide if its width over the spread of the data is at least Spread. It is also wide if its half width is more than
// Errors times the error and the share inside 68 % intervals is at least Wide68. An interval holds only if the shares
// inside 68 and 95 % intervals are at least Least68 and Least95, and the lower bound of the latter at least Bound95.
type gradeLimits struct {
	Errors  string // score.WideError
	Wide68  string // score.WideInside
	Spread  string // score.WideSpread
	Least68 string // 0.68 less score.Inside68Miss
	Least95 string // usualLevel less score.CoverageMiss
	Bound95 string // usualLevel less score.BoundMiss
}

// usualLevel is the level of the intervals that the explanations are about.
const usualLevel = 0.95

// limitsOfGrades returns the limits by which score.Evidence.Grade grades.
func limitsOfGrades() gradeLimits {
	return gradeLimits{
		Errors:  strconv.FormatFloat(score.WideError, 'g', -1, 64),
		Wide68:  shareText(score.WideInside),
		Spread:  strconv.FormatFloat(score.WideSpread, 'g', -1, 64),
		Least68: shareText(score.Levels[0] - score.Inside68Miss),
		Least95: shareText(usualLevel - score.CoverageMiss),
		Bound95: shareText(usualLevel - score.BoundMiss),
	}
}
