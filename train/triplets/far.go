package triplets

import (
	"math"
	"slices"
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
	if s.N < fewestPairs {
		return nil
	}

	worst := map[int]FarPair{}

	size := make([]float64, s.N)
	for k := range s.Out {
		for i := range size {
			size[i] = math.Abs(s.Y1[i*s.Out+k] - s.Y2[i*s.Out+k])
		}

		sorted := slices.Clone(size)
		slices.Sort(sorted)

		deviation := 1.4826 * (sorted[(s.N-1)/2] + sorted[s.N/2]) / 2
		if !(deviation > 0) {
			continue
		}

		for i, d := range size {
			if t := d / deviation; t >= FarLimit && t > worst[i].Times {
				worst[i] = FarPair{Row: i, Outcome: k, Deviation: deviation, Times: t}
			}
		}
	}

	out := make([]FarPair, 0, len(worst))
	for i := range s.N { // rows in order, so that equal ones stay in it
		if p, ok := worst[i]; ok {
			out = append(out, p)
		}
	}

	slices.SortStableFunc(out, func(a, b FarPair) int {
		switch {
		case a.Times > b.Times:
			return -1
		case a.Times < b.Times:
			return 1
		}

		return 0
	})

	return out
}
