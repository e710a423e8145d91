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
	FarLimit    = 8  // number of robust deviations from which a pair is far
	fewestPairs = 10 // smallest number of pairs whose robust deviation is known well enough
)

// FarPair is a row whose two outcomes differ far more than the outcomes of other rows.
type FarPair struct {
	Row       int
	Outcome   int
	Deviation float64 // robust standard deviation of all rows' differences, in the outcome's unit
	Times     float64 // |y1 − y2| over Deviation
}

// normalMAD is the standard deviation of a normal variable over the median of its absolute value.
const normalMAD = 1.4826

// FarPairs returns the rows with |y1 − y2| of at least FarLimit robust standard deviations in some outcome, the
// farthest first. Each row occurs once, with its worst outcome. The robust standard deviation is normalMAD times the
// median of |y1 − y2|. If a quarter of the rows is bad, it is at most 1.5 times as large. FarPairs returns nil for
// fewer than fewestPairs rows with two measurements, and finds none in an outcome whose rows mostly agree exactly. A
// pair with NaN is not far.
func (s Set) FarPairs() []FarPair {
	pairs := s.Pairs()
	if len(pairs) < fewestPairs {
		return nil
	}

	worst := map[int]FarPair{}

	for k := range s.Out {
		var size []float64
		for _, i := range pairs {
			size = append(size, math.Abs(s.Y1[i*s.Out+k]-s.Y2[i*s.Out+k]))
		}

		deviation := normalMAD * lists.Median(size)
		if !(deviation > 0) {
			continue
		}

		for pair, d := range size {
			i := pairs[pair]
			if t := d / deviation; t >= FarLimit && t > worst[i].Times {
				worst[i] = FarPair{Row: i, Outcome: k, Deviation: deviation, Times: t}
			}
		}
	}

	var list []FarPair
	for _, i := range slices.Sorted(maps.Keys(worst)) {
		list = append(list, worst[i])
	}

	// Pairs that are equally far stay in the order of their rows.
	slices.SortStableFunc(list, func(a, b FarPair) int { return cmp.Compare(b.Times, a.Times) })

	return list
}
