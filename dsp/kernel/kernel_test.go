package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers returns n numbers of normal noise.
func numbers[T Number](n int, seed uint64) []T {
	rng := rand.New(rand.NewPCG(seed, 7))

	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}

	return x
}

// same fails the test at the first number whose bits differ.
func same[T Number](t *testing.T, what string, got, want []T) {
	t.Helper()

	for i := range want {
		isSame := math.Float64bits(float64(want[i])) == math.Float64bits(float64(got[i]))
		if !isSame { // an assertion for each number would take most of the time of these tests
			t.Fatalf("%s: number %d is %v, portable %v", what, i, got[i], want[i])
		}
	}
}

// In the tests TestSame…, the set in assembly gives the same bits as the portable set. The tests of package dsp check
// the transforms of the portable set against their definition and scipy.

// assembly returns the set in assembly. It skips the test if this machine runs the portable set only.
func assembly(t *testing.T) *Set {
	t.Helper()

	set := fast()
	if set == nil {
		t.Skip("this machine runs the portable set only")
	}

	return set
}

func TestSameStages(t *testing.T) {
	set := assembly(t)
	for a := 2; a <= 5; a++ {
		for b := 1; b <= 5; b++ {
			checkStagesOf(t, set, Portable(), a, b)
		}
	}
}

// In a last stage, the sets may give zeros with different signs. The numbers are equal.
func TestSameZeros(t *testing.T) {
	set := assembly(t)
	for a := 2; a <= 5; a++ {
		for b := 2; b <= 5; b++ {
			n := a * b * Vec
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Copysign(float64(i%3), float64(i%2)-0.5) // 0, 1, 2, -0, 1, -2 …
			}

			tw := numbers[float64](2*(a-1)*b, 1)
			got := make([]float64, n)
			want := make([]float64, n)
			set.Stages(got, x, tw, make([]float64, n), a, b, 1, 1, true)
			Portable().Stages(want, x, tw, make([]float64, n), a, b, 1, 1, true)
			assert.True(t, slices.Equal(want, got), "radices %d and %d", a, b)

			clear(x)
			set.Stages(got, x, tw, make([]float64, n), a, b, 1, 1, true)
			assert.True(t, slices.Equal(x, got), "zeros, radices %d and %d", a, b)
		}
	}
}

func TestSameTwist(t *testing.T) {
	const (
		stride = (Lanes + 1) * Vec
		block  = Lanes * Vec
	)
	set := assembly(t)
	for groups := 1; groups <= 3; groups++ {
		x := numbers[float64](groups*block, 1)
		near := numbers[float64](groups*block, 2)
		far := numbers[float64](2*groups*Lanes, 3)

		got := make([]float64, (groups-1)*stride+block+1)
		want := slices.Clone(got)
		set.Twist(got, x, near, far, stride, groups)
		Portable().Twist(want, x, near, far, stride, groups)
		same(t, fmt.Sprintf("twist of %d groups", groups), got, want)
	}
}

func TestSameRows(t *testing.T) {
	set := assembly(t)
	for rows := 1; rows <= 5; rows++ {
		shape := rowShape{stride: Lanes + 3, rows: rows, jump: rows, groups: 1}
		checkLoads(t, set, Portable(), shape)
		checkStores(t, set, Portable(), shape)
	}

	// Only loads take several groups: here three of two rows, which start four rows apart.
	checkLoads(t, set, Portable(), rowShape{stride: Lanes + 1, rows: 2, jump: 4, groups: 3})
}

func TestSameUntangle(t *testing.T) {
	set := assembly(t)
	for _, n := range []int{0, 1, 7, 8, 9, 37} {
		low := numbers[float64](2*n, 1)
		high := numbers[float64](2*n+2, 2)

		sums := make([]float32, n)
		differences := make([]float32, n)
		set.Untangle(sums, differences, low, high, 0.3)

		wantSums := make([]float32, n)
		wantDifferences := make([]float32, n)
		Portable().Untangle(wantSums, wantDifferences, low, high, 0.3)
		same(t, "sums", sums, wantSums)
		same(t, "differences", differences, wantDifferences)

		alone := make([]float32, n)
		set.Untangle(alone, alone, low, high, 0.3)
		same(t, "sums alone", alone, wantSums)
	}
}

// rowShape is the shape of rows that a set loads and stores: groups of rows, jump rows apart, and the numbers of a row
// stride numbers after the numbers of the row before.
type rowShape struct{ stride, rows, jump, groups int }

// length returns the length of a sequence with all rows.
func (s rowShape) length() int { return (s.jump*(s.groups-1)+s.rows-1)*s.stride + Lanes }

// vectors returns a slice for the vectors of all rows. One number more shows a write past the end.
func (s rowShape) vectors() []float64 { return make([]float64, s.rows*s.groups*Vec+1) }

// checkLoads compares what two sets load.
func checkLoads(t *testing.T, set, portable *Set, s rowShape) {
	t.Helper()

	n := s.length()
	turn := numbers[float64](2*(s.jump*(s.groups-1)+s.rows), 3)
	lane := numbers[float64](Vec, 6)
	got := s.vectors()
	want := s.vectors()

	a := numbers[float64](n, 1)
	b := numbers[float64](n, 2)
	set.LoadPair(got, a, b, turn, lane, 0.25, -3, s.stride, s.rows, s.jump, s.groups)
	portable.LoadPair(want, a, b, turn, lane, 0.25, -3, s.stride, s.rows, s.jump, s.groups)
	same(t, "load of a pair", got, want)

	a32 := numbers[float32](n, 1)
	b32 := numbers[float32](n, 2)
	set.LoadPair32(got, a32, b32, turn, lane, 0.1, -3.3, s.stride, s.rows, s.jump, s.groups)
	portable.LoadPair32(want, a32, b32, turn, lane, 0.1, -3.3, s.stride, s.rows, s.jump, s.groups)
	same(t, "load of a float32 pair", got, want)

	z := numbers[float64](2*n, 4)
	set.LoadComplex(got, z, s.stride, s.rows, s.jump, s.groups)
	portable.LoadComplex(want, z, s.stride, s.rows, s.jump, s.groups)
	same(t, "load of complex numbers", got, want)
}

// checkStores compares what two sets store of one group.
func checkStores(t *testing.T, set, portable *Set, s rowShape) {
	t.Helper()

	n := s.length()
	x := numbers[float64](s.rows*Vec, 4)

	got := make([]float64, 2*n+1)
	want := make([]float64, 2*n+1)
	set.StoreComplex(got, x, s.stride, s.rows)
	portable.StoreComplex(want, x, s.stride, s.rows)
	same(t, "store of complex numbers", got, want)

	gotPower := numbers[float64](n+1, 9)
	wantPower := numbers[float64](n+1, 9)
	set.AddPower(gotPower, x, s.stride, s.rows)
	portable.AddPower(wantPower, x, s.stride, s.rows)
	same(t, "power", gotPower, wantPower)
}

// Expected: the number of values below a mark, the largest of them and the smallest other, found by looking at each
// value.
func TestAround(t *testing.T) {
	for name, f := range map[string]func([]float64, float64) (int, float64, float64){"portable": around, "fast": Around} {
		for n := range 40 {
			x := numbers[float64](n, 1)
			for i := range x {
				x[i] = math.Round(4*math.Abs(x[i])) / 4 // ties
			}

			for mark := 0.0; mark <= 4; mark += 0.125 {
				below := 0
				low := 0.0
				high := math.Inf(1)
				for _, v := range x {
					if v < mark {
						below++
						low = max(low, v)
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
			x := numbers[float64](n, uint64(n))
			tw := numbers[float64](2*(a*b-1)*q, 5)
			tmp := make([]float64, a*b*Vec)

			// One number more shows a write past the end.
			got := make([]float64, n+1)
			want := make([]float64, n+1)
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

// Expected: n(n+1)/2, which is exact, for the first n whole numbers, and the portable sum, to the bit, for noise.
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

		noise := numbers[float64](n, 1)
		assert.Equal(t, sum(noise), Sum(noise), "sum of %d numbers", n)

		noise32 := numbers[float32](n, 1)
		assert.Equal(t, sum(noise32), Sum(noise32), "sum of %d float32 numbers", n)
	}
}

// Low has the complex numbers k + 3i, and high has 2k + i. The sum with the conjugate of the second is 3k + 2i, and the
// difference is −k + 4i. Expected: half of their squared magnitudes, because the scale is 0.5.
func TestUntangle(t *testing.T) {
	for _, set := range sets() {
		const n = 20
		x := make([]float32, n)
		y := make([]float32, n)
		low := make([]float64, 2*n)
		high := make([]float64, 2*n)
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

// Every set panics if a slice is too short for its shape, because the assembly would read or write beyond it, and if no
// butterfly has the radix.
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
			"radix 6":        func() { stagesOf(set, 6, 1, 1, 1, false) },
			"radix 1":        func() { stagesOf(set, 1, 4, 1, 1, true) },
			"second radix 6": func() { stagesOf(set, 4, 6, 1, 1, true) },
			"twiddles of a last stage for two groups": func() { stagesOf(set, 4, 4, 2, 1, true) },
			"short power": func() { set.AddPower(make([]float64, 17), make([]float64, 32), 10, 2) },
			"short high": func() {
				set.Untangle(make([]float32, 8), make([]float32, 8), make([]float64, 16), make([]float64, 15), 1)
			},
			"short pair": func() {
				set.LoadPair(make([]float64, 16), make([]float64, 8), make([]float64, 7), make([]float64, 2), make([]float64, 16),
					0, 0, 1, 1, 1, 1)
			},
		} {
			assert.Panics(t, f, "%s, %s", set.Name, name)
		}
	}
}

// stagesOf runs stages on slices that are long enough for every shape of the tests.
func stagesOf(set *Set, a, b, q, s int, last bool) {
	set.Stages(make([]float64, 1024), make([]float64, 1024), make([]float64, 256), make([]float64, 1024), a, b, q, s, last)
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
