package report

import (
	"strconv"

	"doubletake/train/score"
)

// gradeLimits contains the limits of grades in words, for the explanations of the page and of the terminal.
type gradeLimits struct {
	Errors  string // errors that the half width of a wide interval exceeds
	Wide68  string // share inside 68 % intervals from which Errors applies
	Spread  string // width of a wide interval over the spread of the data
	Least68 string // share inside 68 % intervals below which no interval holds
	Least95 string // share inside 95 % intervals below which none holds
	Bound95 string // smallest lower bound of this share with which an interval holds
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
