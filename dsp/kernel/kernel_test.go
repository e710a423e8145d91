package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbers[T Number](n int, seed uint64) []T {
	rng := rand.New(rand.NewPCG(seed, 7))

	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}

	return x
}

func same[T Number](t *testing.T, what string, got, want []T) {
	t.Helper()

	for i := range want {
		isSame := math.Float64bits(float64(want[i])) == math.Float64bits(float64(got[i]))
		if !isSame { // an assertion for each number would take most of the time of these tests
			t.Fatalf("%s: number %d is %v, portable %v", what, i, got[i], want[i])
		}
	}
}

// The set in assembly gives the same bits as the portable set. The tests of
// package dsp check the transforms of the portable set against their definition
// and scipy.
func TestSetsAgree(t *testing.T) {
	set, portable := fast(), Portable()
	if set == nil {
		t.Skip("this machine runs the portable set only")
	}

	for a := 2; a <= 5; a++ {
		for b := 1; b <= 5; b++ {
			checkStagesOf(t, set, portable, a, b)
		}
	}

	for groups := 1; groups <= 3; groups++ {
		stride, block := (Lanes+1)*Vec, Lanes*Vec
		x, near := numbers[float64](groups*block, 1), numbers[float64](groups*block, 2)
		far := numbers[float64](2*groups*Lanes, 3)
		got, want := make([]float64, (groups-1)*stride+block+1), make([]float64, (groups-1)*stride+block+1)
		set.Twist(got, x, near, far, stride, groups)
		portable.Twist(want, x, near, far, stride, groups)
		same(t, fmt.Sprintf("twist of %d groups", groups), got, want)
	}

	for rows := 1; rows <= 5; rows++ {
		agreeOnRows(t, set, portable, Lanes+3, rows, rows, 1)
	}

	for _, n := range []int{0, 1, 7, 8, 9, 37} {
		low, high := numbers[float64](2*n, 1), numbers[float64](2*n+2, 2)
		x, y, alone := make([]float32, n), make([]float32, n), make([]float32, n)
		wantX, wantY := make([]float32, n), make([]float32, n)
		set.Untangle(x, y, low, high, 0.3)
		portable.Untangle(wantX, wantY, low, high, 0.3)
		same(t, "sums", x, wantX)
		same(t, "differences", y, wantY)
		set.Untangle(alone, alone, low, high, 0.3)
		same(t, "sums alone", alone, wantX)
	}

	agreeOnRows(t, set, portable, Lanes+1, 2, 4, 3) // three groups of two rows, the groups four rows apart
}

// agreeOnRows compares what loads and stores groups of rows, jump rows apart, their
// numbers stride apart.
func agreeOnRows(t *testing.T, set, portable *Set, stride, rows, jump, groups int) {
	n := (jump*(groups-1)+rows-1)*stride + Lanes
	a, b := numbers[float64](n, 1), numbers[float64](n, 2)
	a32, b32 := numbers[float32](n, 1), numbers[float32](n, 2)
	turn, lane := numbers[float64](2*(jump*(groups-1)+rows), 3), numbers[float64](Vec, 6)

	got, want := make([]float64, rows*groups*Vec+1), make([]float64, rows*groups*Vec+1)
	set.LoadPair(got, a, b, turn, lane, 0.25, -3, stride, rows, jump, groups)
	portable.LoadPair(want, a, b, turn, lane, 0.25, -3, stride, rows, jump, groups)
	same(t, "load of a pair", got, want)
	set.LoadPair32(got, a32, b32, turn, lane, 0.1, -3.3, stride, rows, jump, groups)
	portable.LoadPair32(want, a32, b32, turn, lane, 0.1, -3.3, stride, rows, jump, groups)
	same(t, "load of a float32 pair", got, want)
	src := numbers[float64](2*n, 4)
	set.LoadComplex(got, src, stride, rows, jump, groups)
	portable.LoadComplex(want, src, stride, rows, jump, groups)
	same(t, "load of complex numbers", got, want)

	if groups > 1 {
		return
	}

	gotC, wantC := make([]float64, 2*n+1), make([]float64, 2*n+1)
	set.StoreComplex(gotC, want, stride, rows)
	portable.StoreComplex(wantC, want, stride, rows)
	same(t, "store of complex numbers", gotC, wantC)
	gotP, wantP := numbers[float64](n+1, 9), numbers[float64](n+1, 9)
	set.AddPower(gotP, want, stride, rows)
	portable.AddPower(wantP, want, stride, rows)
	same(t, "power", gotP, wantP)
}

// Expected values: counted one by one.
func TestAround(t *testing.T) {
	for name, f := range map[string]func([]float64, float64) (int, float64, float64){"portable": around, "fast": Around} {
		for n := range 40 {
			x := numbers[float64](n, 1)
			for i := range x {
				x[i] = math.Round(4*math.Abs(x[i])) / 4 // ties
			}

			for mark := 0.0; mark <= 4; mark += 0.125 {
				below, low, high := 0, 0.0, math.Inf(1)
				for _, v := range x {
					if v < mark {
						below, low = below+1, max(low, v)
					} else {
						high = min(high, v)
					}
				}

				b, l, h := f(x, mark)
				require.Equal(t, below, b, "%s, %v around %v", name, x, mark)
				require.InDelta(t, low, l, 0, "%s, %v around %v", name, x, mark)
				require.InDelta(t, high, h, 0, "%s, %v around %v", name, x, mark)
			}
		}
	}
}

// checkStagesOf compares the results of Stages with the portable set's, to the bit.
func checkStagesOf(t *testing.T, set, portable *Set, a, b int) {
	t.Helper()

	for _, q := range []int{1, 2, 3, 7} {
		for _, s := range []int{1, 2, 3, 8} {
			if b == 1 && s > 1 {
				continue
			}

			n := a * b * q * s * Vec
			x, tw, tmp := numbers[float64](n, uint64(n)), numbers[float64](2*(a*b-1)*q, 5), make([]float64, a*b*Vec)

			// One number more shows a write past the end.
			got, want := make([]float64, n+1), make([]float64, n+1)
			what := fmt.Sprintf("radix %d and %d, q %d, s %d", a, b, q, s)
			set.Stages(got, x, tw, tmp, a, b, q, s, false)
			portable.Stages(want, x, tw, tmp, a, b, q, s, false)
			same(t, what, got, want)

			if q > 1 || b == 1 {
				continue
			}

			tw = tw[:2*(a-1)*b]
			set.Stages(got, x, tw, tmp, a, b, q, s, true)
			portable.Stages(want, x, tw, tmp, a, b, q, s, true)
			same(t, what+", last", got, want)
			copy(got, x)
			set.Stages(got, got, tw, tmp, a, b, q, s, true)
			same(t, what+", last in place", got, want)
		}
	}
}

// Expected value: the sum of the first n whole numbers, which is exact; of others the
// portable sum, to the bit.
func TestSum(t *testing.T) {
	for _, n := range []int{0, 1, 5, 31, 32, 33, 64, 100, 1000, 4097} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i + 1)
		}

		got := Sum(x)
		want := float64(n * (n + 1) / 2)
		assert.InDelta(t, want, got, 0, "sum of 1 … %d", n)
		assert.InDelta(t, want, sum(x), 0, "sum of 1 … %d", n)

		y, z := numbers[float64](n, 1), numbers[float32](n, 1)
		assert.InDelta(t, sum(y), Sum(y), 0, "sums of %d", n)
		assert.InDelta(t, sum(z), Sum(z), 0, "sums of %d", n)
	}
}

// Expected values: of pairs (k, 3) and (2k, 1) the sum with the second's conjugate is
// (3k, 2), the difference (−k, 4).
func TestUntangle(t *testing.T) {
	for _, set := range sets() {
		const n = 20
		x, y, low, high := make([]float32, n), make([]float32, n), make([]float64, 2*n), make([]float64, 2*n)
		for k := range n {
			copy(low[2*k:], []float64{float64(k), 3})
			copy(high[2*(n-1-k):], []float64{float64(2 * k), 1})
		}

		set.Untangle(x, y, low, high, 0.5)
		for k := range n {
			assert.Equal(t, float32(9*k*k+4)/2, x[k], "%s, pair %d", set.Name, k)
			assert.Equal(t, float32(k*k+16)/2, y[k], "%s, pair %d", set.Name, k)
		}
	}
}

// Every set panics if a slice is too short for its shape, because the assembly would read or write beyond it.
func TestMisusePanics(t *testing.T) {
	for _, set := range sets() {
		for name, f := range map[string]func(){
			"short x": func() {
				set.Stages(make([]float64, 64), make([]float64, 63), make([]float64, 6), nil, 4, 1, 1, 1, false)
			},
			"short tmp": func() {
				set.Stages(make([]float64, 256), make([]float64, 256), make([]float64, 24), make([]float64, 255), 4, 4, 1, 1, true)
			},
			"short twiddles": func() {
				set.Stages(make([]float64, 256), make([]float64, 256), make([]float64, 23), make([]float64, 256), 4, 4, 1, 1, true)
			},
			"short power": func() { set.AddPower(make([]float64, 17), make([]float64, 32), 10, 2) },
			"short high": func() {
				set.Untangle(make([]float32, 8), make([]float32, 8), make([]float64, 16), make([]float64, 15), 1)
			},
			"short pair": func() {
				set.LoadPair(make([]float64, 16), make([]float64, 8), make([]float64, 7), make([]float64, 2), make([]float64, 16),
					0, 0, 1, 1, 1, 1)
			},
		} {
			func() {
				defer func() {
					assert.NotNil(t, recover(), "%s, %s: no panic", set.Name, name)
				}()

				f()
			}()
		}
	}
}

// The environment variable forces the portable set. With another value the fastest set that the machine runs is taken.
func TestBest(t *testing.T) {
	t.Setenv(EnvVar, "portable")

	s := Best()
	assert.Equal(t, "portable", s.Name, "%s=portable", EnvVar)

	t.Setenv(EnvVar, "auto")

	s = Best()
	assert.Equal(t, sets()[0].Name, s.Name, "%s=auto", EnvVar)
}

// sets returns the sets that run on this machine, the fastest first.
func sets() []*Set {
	if best := Best(); best.Name != "portable" {
		return []*Set{best, Portable()}
	}

	return []*Set{Portable()}
}
