package score

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Grade states whether intervals can be relied upon.
type Grade string

// Grades, from the best.
const (
	Holds     Grade = "holds"     // the intervals cover what they should, shown by enough runs
	Wide      Grade = "wide"      // they do, and say little
	Undecided Grade = "undecided" // too few runs to tell
	Fails     Grade = "fails"     // they cover less than they should
)

// All grades, from the best, and in words.
var (
	grades     = []Grade{Holds, Wide, Undecided, Fails}
	gradeWords = map[Grade]string{
		Holds: "holds", Wide: "holds, but wide", Undecided: "undecided", Fails: "does not hold",
	}
)

// Rank is the place of a grade from the best; that of an unknown one is len(grades).
func (g Grade) Rank() int {
	if i := slices.Index(grades, g); i >= 0 {
		return i
	}

	return len(grades)
}

// Words is the grade in words; "" of an unknown one.
func (g Grade) Words() string { return gradeWords[g] }

// Worst returns the worst of some grades, Undecided without any.
func Worst(list ...Grade) Grade {
	if len(list) == 0 {
		return Undecided
	}

	return slices.MaxFunc(list, func(a, b Grade) int { return a.Rank() - b.Rank() })
}

// Limits of the grades. The first two are below the level of the intervals.
const (
	CoverageMiss = 0.05 // of the share inside from which intervals hold, and of the upper bound below which they fail
	BoundMiss    = 0.15 // of the lower bound from which they hold
	FewestUnits  = 5    // independent runs or groups from which they may hold
	WideSpread   = 0.8  // width over that of mean ± 1.96 deviations of the training outcomes from which they say little
	WideError    = 4.0  // half width over error beyond which they say little, where 68 % intervals hold WideInside
	WideInside   = 0.9
)

// boundMiss is the probability by which each bound of a share may be wrong.
const boundMiss = 0.05

// Evidence is what intervals showed on independent units: runs or groups. The values of a
// unit go together. A number that is not known is NaN.
type Evidence struct {
	Level            float64 // of the intervals
	Units            int
	Inside, Inside68 float64 // shares of the values inside the intervals, and inside those of 68 %
	Effective        float64 // independent values that the units' are worth, at least Units
	WidthOverSpread  float64
	Half, Error      float64 // half width of the interval, and error of the mean
	Claimed          bool    // the intervals are the model's own claim: never better than Undecided
}

// Pool returns the evidence of units with the given shares inside intervals of the level
// and of 68 %. inside68 nil: not known.
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

// effective returns how many independent values the values of some units are worth, by
// the standard error of the share of them inside intervals of 68 %. There it scatters
// even where nearly all values are inside those of 95 %. With fewer than FewestUnits
// the scatter is not known, and a unit is worth one value.
func effective(units int, values, inside68, se float64) float64 {
	n := float64(units)
	if units < FewestUnits || !(se > 0) {
		return n
	}

	return min(max(n, inside68*(1-inside68)/(se*se)), max(n, values))
}

// Bounds are the bounds of the share inside, each wrong with a probability of 5 %: those of
// Clopper and Pearson for the effective number of values. The lower one is the better of
// two: of the share itself, and of that inside 68 %, transferred by the normal law.
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

// lowerBound is Clopper's and Pearson's bound of a share found in n values.
func lowerBound(share, n float64) float64 {
	hits := share * n
	if hits < 1e-9 {
		return 0
	}

	return distuv.Beta{Alpha: hits, Beta: n - hits + 1}.Quantile(boundMiss)
}

// Grade applies the limits.
func (e Evidence) Grade() Grade {
	lower, upper := e.Bounds()
	switch {
	case upper < e.Level-CoverageMiss:
		return Fails
	case e.Claimed, e.Units < FewestUnits, !(e.Inside >= e.Level-CoverageMiss), lower < e.Level-BoundMiss:
		return Undecided
	}

	return e.Regrade(Holds)
}

// Regrade is a grade that other widths had, of the same shares, for the widths of e.
func (e Evidence) Regrade(g Grade) Grade {
	switch {
	case g != Holds && g != Wide:
		return g
	case e.IsWide():
		return Wide
	}

	return Holds
}

// IsWide reports whether the intervals say little, whether or not they hold.
func (e Evidence) IsWide() bool {
	return e.WidthOverSpread >= WideSpread || e.Inside68 >= WideInside && e.Half > WideError*e.Error
}

// Enough is the number of units that would decide, if they showed the same shares; 0 where
// the grade is decided, or none would.
func (e Evidence) Enough() int {
	if e.Claimed || e.Units == 0 || math.IsNaN(e.Inside) || e.Grade() != Undecided {
		return 0
	}

	worth := e.Effective / float64(e.Units)
	for e.Units++; e.Units <= 1000; e.Units++ {
		e.Effective = worth * float64(e.Units)
		if e.Grade() != Undecided {
			return e.Units
		}
	}

	return 0
}
