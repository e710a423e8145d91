package condition

import (
	"math"
	"slices"
)

const (
	// leastRoundValues is the number of different values from which DiscoverRound finds set points.
	leastRoundValues = 5

	// leastRoundPoints is the least number of set points that DiscoverRound proposes.
	leastRoundPoints = 3

	// mostOffRound is the greatest distance of a value from its round number, as a part of the step between round
	// numbers. A value is so near by chance in 8 of 100 cases.
	mostOffRound = 0.04

	// mostOffExact is the greatest distance if most values are exact multiples.
	mostOffExact = 0.02
)

// DiscoverRound proposes a tolerance for values that each lie near a multiple of a round step, such as 3.994, 6.003
// and -2.005 near multiples of 2. Unlike Discover it needs no repeated set points. ok is false if no step fits. If most
// values are exact multiples, the others must lie nearer, because they may be set points of their own.
func DiscoverRound(values []float64) (p SetPoints, ok bool) {
	v := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(v)
	v = slices.Compact(v)
	if len(v) < leastRoundValues {
		return p, false
	}

	width := v[len(v)-1] - v[0]
	if math.IsInf(width, 0) { // an infinite value has no round number
		return p, false
	}

	top := int(math.Ceil(math.Log10(width)))
	for k := top; k > top-leastRoundValues; k-- {
		for _, share := range []float64{1, 0.5, 0.25, 0.2} { // steps of 10, 5, 2.5, 2, 1 …
			p, ok := roundPointsOf(v, share*math.Pow10(k))
			if ok {
				return p, true
			}
		}
	}

	return p, false
}

// roundPointsOf returns the set points of ascending values that lie near multiples of a step. ok is false if the values
// do not lie there, or if all are exact multiples.
func roundPointsOf(v []float64, step float64) (p SetPoints, ok bool) {
	const isExact = 1e-9    // of a step
	const isRounded = 1e-14 // of a number of steps
	multiples := map[float64]bool{}
	exact := 0
	most := 0.0
	for _, x := range v {
		n := math.Round(x / step)
		multiples[n] = true
		off := math.Abs(x/step - n)
		most = max(most, off)
		if off < max(isExact, isRounded*math.Abs(n)) {
			exact++
		}
	}

	limit := mostOffRound
	if 2*exact > len(v) {
		limit = mostOffExact
	}

	if most > limit || exact == len(v) || len(multiples) < leastRoundPoints {
		return p, false
	}

	return SetPointsOf(v, Tolerance{Absolute: roundUp(most * step)}), true
}
