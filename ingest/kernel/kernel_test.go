package kernel

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

func samples(n int, levels float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Round(rng.NormFloat64()*levels) / levels)
	}
	return x
}

// Expected values: the portable set, to the bit; of that, see the other tests.
func TestSetsAgree(t *testing.T) {
	if fast == nil {
		t.Skip("this machine runs the portable set only")
	}
	for n := 1; n < 300; n++ {
		for _, levels := range []float64{1, 3, 10, 1e6} {
			x := samples(n, levels, uint64(n))
			s1, l1, h1, p1, t1 := fast.Describe(x, 0.25)
			s2, l2, h2, p2, t2 := Portable.Describe(x, 0.25)
			if s1 != s2 || l1 != l2 || h1 != h2 || p1 != p2 || t1 != t2 {
				t.Fatalf("%d samples: %v %v %v %v %v, portable %v %v %v %v %v", n, s1, l1, h1, p1, t1, s2, l2, h2, p2, t2)
			}
			if a, b := fast.Squares(x, 0.1), Portable.Squares(x, 0.1); a != b {
				t.Fatalf("%d samples: squares %v, portable %v", n, a, b)
			}
		}
	}
	for _, frame := range []int{32, 36, 52, 128} {
		for _, n := range []int{0, 7, 8, 9, 33} {
			src := make([]byte, n*frame+8)
			for i, v := range samples(len(src)/4, 1e6, 1) {
				binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(v))
			}
			var got, want [8][]float32
			for c := range got {
				got[c], want[c] = make([]float32, n+5), make([]float32, n+5)
			}
			if a, b := fast.Unpack8(&got, 2, src, frame, n), Portable.Unpack8(&want, 2, src, frame, n); a != b || a != n/8*8 {
				t.Fatalf("%d samples: unpacked %d, portable %d", n, a, b)
			}
			for c := range got {
				for i := range got[c] {
					if got[c][i] != want[c][i] {
						t.Fatalf("frame %d, channel %d, sample %d: %v, portable %v", frame, c, i, got[c][i], want[c][i])
					}
				}
			}
		}
	}
}

// Expected values: sums of whole numbers, which are exact, and where the
// neighbours were made equal.
func TestDescribe(t *testing.T) {
	for _, set := range []*Set{Portable, Best()} {
		for n := 3; n < 100; n++ {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i)
			}
			sum, low, high, pair, triple := set.Describe(x, 1)
			if sum != float64(n*(n-1)/2-n) || low != 0 || high != float32(n-1) || pair || triple {
				t.Fatalf("%s, %d: %v %v %v %v %v", set.Name, n, sum, low, high, pair, triple)
			}
			if got, want := set.Squares(x, 0), float64((n-1)*n*(2*n-1)/6); got != want {
				t.Fatalf("%s, %d: squares %v, want %v", set.Name, n, got, want)
			}
			for at := 0; at+1 < n; at++ {
				y := append([]float32(nil), x...)
				y[at+1] = y[at]
				_, _, _, pair, triple := set.Describe(y, 0)
				if !pair || triple {
					t.Fatalf("%s, %d, equal from %d: %v %v", set.Name, n, at, pair, triple)
				}
				if at+2 < n {
					y[at+2] = y[at]
					if _, _, _, pair, triple = set.Describe(y, 0); !pair || !triple {
						t.Fatalf("%s, %d, three equal from %d: %v %v", set.Name, n, at, pair, triple)
					}
				}
				y[at] = float32(math.NaN())
				if sum, _, _, _, _ := set.Describe(y, 0); sum == sum {
					t.Fatalf("%s, %d: NaN at %d left no trace", set.Name, n, at)
				}
			}
		}
	}
}
