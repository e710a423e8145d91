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

// Expected values: means over the halves, the deviation of twice the segments,
// an upper bound only where both are; a silent floor keeps ρ finite.
func TestWhole(t *testing.T) {
	a := Line{Power: 2, PeakPower: 8, Floor: 1, PeakHz: 100, UpperBound: true}
	b := Line{Power: 4, PeakPower: 10, Floor: 2, PeakHz: 104}
	w := whole([2]Line{a, b}, independent(16))
	if w.Power != 3 || w.Rho != 6 || w.PeakHz != 102 || w.UpperBound || w.SDdB != independent(16).lineSD(6) {
		t.Errorf("%+v", w)
	}

	a.Floor, b.Floor = 0, 0
	if w := whole([2]Line{a, b}, independent(16)); w.Rho != maxRho || !finite(w.SDdB) {
		t.Errorf("without a floor: %+v", w)
	}
}

// Expected values: the bins of the band with half a bin to both sides, and one
// and a half bins around a peak.
func TestBetween(t *testing.T) {
	l := Line{PeakHz: 50, Band: [2]int{24, 26}}
	if lo, hi := l.Between(2, 1.5, "band"); lo != 47 || hi != 53 {
		t.Errorf("band from %g to %g", lo, hi)
	}

	if lo, hi := l.Between(2, 1.5, "peak"); lo != 48.5 || hi != 51.5 {
		t.Errorf("peak from %g to %g", lo, hi)
	}
}
