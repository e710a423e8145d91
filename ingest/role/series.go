package role

import "math"

// isEven reports whether values rise in equal steps, to a thousandth of a step. NaN does not rise.
func isEven(values []float64) bool {
	if len(values) < 2 {
		return true
	}

	step := values[1] - values[0]
	for i := 1; i < len(values); i++ {
		isAlike := math.Abs(values[i]-values[i-1]-step) <= 1e-3*math.Abs(step)
		if !isAlike {
			return false
		}
	}

	return step > 0
}

// Rises reports whether each sample is greater than the one before it. NaN is not.
func Rises(x []float64) bool {
	for k := 1; k < len(x); k++ {
		if !(x[k-1] < x[k]) {
			return false
		}
	}

	return true
}
