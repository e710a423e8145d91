//go:build !amd64

package kernel

func fast() *Set { return nil }

// Around counts the values of x, none negative or NaN, that are below mark, and
// returns the greatest of them, or 0, and the least of the others, or +Inf.
func Around(x []float64, mark float64) (below int, low, high float64) { return around(x, mark) }

// Sum adds a sequence in 32 lanes, in float64.
func Sum[T Number](x []T) float64 { return sum(x) }
