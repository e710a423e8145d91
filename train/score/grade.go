package score

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Grade says whether intervals can be relied upon.
type Grade string

// Grades, from the best to the worst.
const (
	Holds     Grade = "holds"     // enough runs show that the intervals contain enough values
	Wide      Grade = "wide"      // like Holds, but the intervals are so wide that they say little
	Undecided Grade = "undecided" // nothing shows yet whether the intervals hold
	Fails     Grade = "fails"     // the intervals contain too few values
)

// grades lists all grades from the best to the worst. Texts, tables and documents use the same four words.
var grades = []Grade{Holds, Wide, Undecided, Fails}

// Rank returns the place of a grade, counted from 0 for the best. An unknown grade comes after all others.
func (g Grade) Rank() int {
	if i := slices.Index(grades, g); i >= 0 {
		return i
	}

	return len(grades)
}

// Predicate returns the grade as the end of a sentence about an interval: "holds", "is wide".
func (g Grade) Predicate() string {
	if g == Wide || g == Undecided {
		return "is " + string(g)
	}
	return string(g)
}

// Worst returns the worst of some grades, or Undecided without grades.
func Worst(list ...Grade) Grade {
	if len(list) == 0 {
		return Undecided
	}

	return slices.MaxFunc(list, func(a, b Grade) int { return a.Rank() - b.Rank() })
}

// Limits of the share of values inside intervals: how far it may be below the level of the intervals.
const (
	// CoverageMiss limits the share. Intervals hold only if the share misses the level by less, and fail if even the upper
	// bound of the share misses it by more.
	CoverageMiss = 0.05
	// BoundMiss limits the lower bound of the share. Intervals hold only if it misses the level by less.
	BoundMiss = 0.15
)

// Inside68Miss limits the share of values inside 68 % intervals: intervals hold only if the share misses 0.68 by less.
// 95 % intervals that hold do not show that narrower ones hold: intervals of a known mounting held although the 68 %
// intervals contained 16 to 47 %. A smaller share does not make intervals fail, because the share of one group scatters
// by 0.40.
const Inside68Miss = 0.15

// FewestUnits is the smallest number of independent runs or groups that can show that intervals hold.
const FewestUnits = 5

// Limits of the width of intervals.
const (
	// WideSpread is the width over the width of mean ± 1.96 deviations of the training outcomes, from which intervals say
	// little.
	WideSpread = 0.8
	// MostSpread is the same ratio beyond which intervals are never said to hold.
	MostSpread = 3.0
	// WideError is the half width over the error of the mean beyond which intervals say little, if 68 % intervals contain
	// at least the share WideInside.
	WideError = 4.0
	// WideInside is the share inside 68 % intervals from which WideError applies.
	WideInside = 0.9
)

// boundRisk is the largest probability with which a bound of Clopper and Pearson is wrong.
const boundRisk = 0.05

// Evidence contains what independent units, which are runs or groups, show about intervals. The values of one unit may
// be correlated. A number that is not known is NaN.
type Evidence struct {
	Level           float64 // probability of the intervals
	Units           int     // number of units
	Inside          float64 // share of the values inside the intervals
	Inside68        float64 // share of the values inside the 68 % intervals
	Effective       float64 // number of independent values that all values are worth, at least Units
	WidthOverSpread float64 // width over the width of mean ± 1.96 deviations of the training outcomes
	Half            float64 // mean half width of the intervals
	Error           float64 // error of the mean
	Claimed         bool    // the intervals are the model's own claim, and never better than Undecided
	OneLevel        bool    // intervals of another level are not stated, so that these are never better than Undecided
}

// Pool returns the evidence of units. inside contains the share of each unit's values inside intervals of the level,
// inside68 the share inside 68 % intervals, or nil if it is not known.
func Pool(level float64, inside, inside68 []float64) Evidence {
	nan := math.NaN()
	e := Evidence{
		Level: level, Units: len(inside), Inside: average(inside, nil), Inside68: nan, WidthOverSpread: nan, Half: nan,
		Error: nan,
	}

	se := nan
	if inside68 != nil {
		e.Inside68, se = MeanStd(inside68)
		se /= math.Sqrt(float64(len(inside68)))
	}

	e.Effective = effective(e.Units, math.Inf(1), e.Inside68, se)

	return e
}

// effective returns how many independent values the values of some units are worth: p(1−p)/se², by the share p of
// values inside 68 % intervals and its standard error. The share inside 68 % intervals scatters even if nearly all
// values are inside 95 % intervals. The result is at least the number of units and at most the number of values. With
// fewer than FewestUnits the standard error is not known well, and a unit counts as one value.
func effective(units int, values, inside68, se float64) float64 {
	n := float64(units)
	if units < FewestUnits || !(se > 0) {
		return n
	}

	return min(max(n, inside68*(1-inside68)/(se*se)), max(n, values))
}

// Bounds returns the lower and the upper bound of the share inside. They are bounds of Clopper and Pearson (1934) for
// the effective number of values, each wrong with a probability of at most 5 % (boundRisk). The lower bound is the
// larger of two: one from the share itself, and one from the share inside 68 % intervals, converted by the normal
// distribution. The larger one is wrong more often than each, with a probability of up to 10 %: 9 % of 22 independent
// values of a normal distribution. But Grade also requires shares near the level, so that intervals with a true share
// of 0.8 then hold with a probability of at most 5 %.
func (e Evidence) Bounds() (lower, upper float64) {
	if e.Units == 0 || math.IsNaN(e.Inside) {
		return 0, 1
	}

	lower = lowerBound(e.Inside, e.Effective)
	if !math.IsNaN(e.Inside68) {
		z := math.Erfinv(lowerBound(e.Inside68, e.Effective)) * math.Erfinv(e.Level) / math.Erfinv(0.68)
		lower = max(lower, math.Erf(z))
	}

	return lower, 1 - lowerBound(1-e.Inside, e.Effective)
}

// lowerBound returns the lower bound of Clopper and Pearson for a share that was found in n values.
func lowerBound(share, n float64) float64 {
	hits := share * n
	if hits < 1e-9 { // no value, up to rounding
		return 0
	}

	return distuv.Beta{Alpha: hits, Beta: n - hits + 1}.Quantile(boundRisk)
}

// Grade returns the grade of the intervals by the limits of this package.
func (e Evidence) Grade() Grade {
	lower, upper := e.Bounds()
	switch {
	case upper < e.Level-CoverageMiss:
		return Fails
	case e.Claimed, e.OneLevel, e.Units < FewestUnits:
		return Undecided
	case !(e.Inside >= e.Level-CoverageMiss), lower < e.Level-BoundMiss, e.MissesAt68():
		return Undecided
	}

	return e.Regrade(Holds)
}

// MissesAt68 reports whether intervals of 68 % contain too few values for intervals of any level to hold.
func (e Evidence) MissesAt68() bool { return e.Inside68 < 0.68-Inside68Miss }

// Regrade returns the grade of intervals with the widths of e, if their shares inside give the grade g, which was found
// with other widths.
func (e Evidence) Regrade(g Grade) Grade {
	switch {
	case g != Holds && g != Wide:
		return g
	case e.WidthOverSpread > MostSpread:
		return Undecided
	case e.IsWide():
		return Wide
	}

	return Holds
}

// IsWide reports whether the intervals say little, whether or not they hold.
func (e Evidence) IsWide() bool {
	return e.WidthOverSpread >= WideSpread || e.Inside68 >= WideInside && e.Half > WideError*e.Error
}
