//go:build !amd64

package kernel

func fast() *Set { return nil }

// Around returns how many values of x are below mark, the greatest of them (0 if there are none), and the
// least of the other values (+Inf if there are none). No value may be negative or NaN.
func Around(x []float64, mark float64) (below int, low, high float64) { return around(x, mark) }

// Sum returns the sum of x in float64, added in 32 lanes.
func Sum[T Number](x []T) float64 { return sum(x) }
