package dsp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Expected values: the sorted numbers. Numbers that are all different, few
// different, equal, rising and falling, of any count and any place.
func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	kinds := map[string]func(i, n int) float64{
		"different": func(int, int) float64 { return rng.ExpFloat64() },
		"few":       func(int, int) float64 { return float64(rng.IntN(3)) },
		"equal":     func(int, int) float64 { return 2 },
		"rising":    func(i, _ int) float64 { return float64(i) },
		"falling":   func(i, n int) float64 { return float64(n - i) },
		"zeros":     func(int, int) float64 { return max(0, rng.NormFloat64()) },
		"infinite":  func(int, int) float64 { return []float64{math.Inf(1), 1, 2}[rng.IntN(3)] },
	}
	var spare []float64
	for name, value := range kinds {
		for _, n := range []int{1, 2, 3, 24, 25, 26, 60, 201, 500} {
			for range 20 {
				x := make([]float64, n)
				for i := range x {
					x[i] = value(i, n)
				}
				sorted := slices.Sorted(slices.Values(x))
				k := rng.IntN(n)
				y := slices.Clone(x)
				spare = slices.Grow(spare[:0], n)[:n]
				if got := selectNth(y, spare, k); got != sorted[k] || y[k] != got {
					t.Fatalf("%s, %d numbers: number %d is %g (%g in place), want %g", name, n, k, got, y[k], sorted[k])
				}
				if k > 0 && slices.Max(y[:k]) > y[k] || slices.Min(y[k:]) < y[k] {
					t.Fatalf("%s, %d numbers: those about number %d are on the wrong side", name, n, k)
				}
				if slices.Sort(y); !slices.Equal(y, sorted) {
					t.Fatalf("%s, %d numbers: other numbers than before", name, n)
				}
				want := sorted[n/2]
				if n%2 == 0 {
					want = 0.5 * (sorted[n/2-1] + sorted[n/2])
				}
				if got := median(slices.Clone(x), &spare); got != want {
					t.Fatalf("%s, %d numbers: median %g, want %g", name, n, got, want)
				}
			}
		}
	}
	if v := median(nil, &spare); !math.IsNaN(v) {
		t.Errorf("median of nothing is %g", v)
	}
}
