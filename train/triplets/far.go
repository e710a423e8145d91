package triplets

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// Limits of FarPairs.
const (
	FarLimit    = 8  // robust deviations from which a pair is far
	fewestPairs = 10 // a deviation of fewer is not worth a warning
)

// FarPair is a row whose two outcomes differ far more than those of the others.
type FarPair struct {
	Row, Outcome int
	Deviation    float64 // robust standard deviation of all rows' differences, in the outcome's unit
	Times        float64 // |y1 − y2| over Deviation
}

// FarPairs returns the rows with |y1 − y2| of at least FarLimit robust standard
// deviations in some outcome, the farthest first, each row once with its worst
// outcome. The deviation is 1.4826 times the median of |y1 − y2|: the standard
// deviation of normal differences, which a quarter of bad rows hardly changes.
// Sets of fewer than ten rows have none, as do outcomes whose rows mostly agree
// exactly.
func (s Set) FarPairs() []FarPair {
	pairs := s.Pairs()
	if len(pairs) < fewestPairs {
		return nil
	}

	worst := map[int]FarPair{}

	for k := range s.Out {
		size := lists.Each(pairs, func(i int) float64 { return math.Abs(s.Y1[i*s.Out+k] - s.Y2[i*s.Out+k]) })
		deviation := 1.4826 * lists.Median(size)
		if !(deviation > 0) {
			continue
		}

		for at, d := range size {
			i := pairs[at]
			if t := d / deviation; t >= FarLimit && t > worst[i].Times {
				worst[i] = FarPair{Row: i, Outcome: k, Deviation: deviation, Times: t}
			}
		}
	}

	out := lists.Each(slices.Sorted(maps.Keys(worst)), func(i int) FarPair { return worst[i] }) // equal ones in order
	slices.SortStableFunc(out, func(a, b FarPair) int { return cmp.Compare(b.Times, a.Times) })

	return out
}
