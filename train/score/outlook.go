package score

import (
	"math"
	"sort"
)

// This file says what further units would show about intervals that are undecided.

// mostUnits is the largest number of units that an Outlook considers.
const mostUnits = 1000

// Outlook says what further units would show about undecided intervals. Its grades do not consider the width of the
// intervals: an interval that would be Wide is said to hold. Numbers of units include the measured units.
type Outlook struct {
	// Units is the number of units that would decide the grade if they showed the same shares, and Like is the grade
	// then. Units is 0 and Like is Undecided if the grade is decided, or if mostUnits would not decide it.
	Units int
	Like  Grade

	// Best is the grade with Units units if all values of the further units are inside all intervals, and Worst is the
	// grade if none is. Both are Undecided if Units is 0.
	Best, Worst Grade

	// FewestHold is the smallest number of units with which the intervals can hold: all values of the further units
	// are inside all intervals. It is 0 if mostUnits would not be enough.
	FewestHold int
}

// Outlook returns what further units would show. It assumes that the values of a further unit are worth as many
// independent values as the values of a measured unit.
func (e Evidence) Outlook() Outlook {
	none := Outlook{Like: Undecided, Best: Undecided, Worst: Undecided}
	isUnknown := e.Units == 0 || math.IsNaN(e.Inside)
	staysUndecided := e.Claimed || e.OneLevel || isUnknown
	if staysUndecided || e.Grade() != Undecided {
		return none
	}

	outlook := none
	if n := e.fewest(func(n int) bool { return e.repeated(n).Grade() != Undecided }); n > 0 {
		outlook.Units = n
		outlook.Like = unlessWide(e.repeated(n).Grade())
		outlook.Best = unlessWide(e.with(n, 1).Grade())
		outlook.Worst = unlessWide(e.with(n, 0).Grade())
	}

	outlook.FewestHold = e.fewest(func(n int) bool { return unlessWide(e.with(n, 1).Grade()) == Holds })

	return outlook
}

// fewest returns the smallest number of units, above the measured units, from which a condition is met, or 0 if more
// than mostUnits would be needed. The condition must stay met with more units: bounds of a share come closer to it.
func (e Evidence) fewest(isMet func(units int) bool) int {
	more := mostUnits - e.Units
	k := sort.Search(max(0, more), func(k int) bool { return isMet(e.Units + 1 + k) })
	if k >= more {
		return 0
	}

	return e.Units + 1 + k
}

// unlessWide returns Holds for Wide, and other grades as they are.
func unlessWide(g Grade) Grade {
	if g == Wide {
		return Holds
	}
	return g
}

// repeated returns the evidence of n units that show the same shares as the measured units.
func (e Evidence) repeated(n int) Evidence {
	e.Effective *= float64(n) / float64(e.Units)
	e.Units = n

	return e
}

// with returns the evidence of n units: the measured units, and further units whose share of values inside any interval
// is the given share.
func (e Evidence) with(n int, share float64) Evidence {
	measured := float64(e.Units) / float64(n)
	all := e.repeated(n)
	all.Inside = e.Inside*measured + share*(1-measured)
	all.Inside68 = e.Inside68*measured + share*(1-measured)

	return all
}
