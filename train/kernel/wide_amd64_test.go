package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Expected values: the results of AVX2, to the bit. Some columns do not fill a panel of AVX-512, and some numbers are
// zero, infinite or not numbers.
func TestWideNetworks(t *testing.T) {
	if !isWide {
		t.Skip("this processor has no AVX-512")
	}

	defer func() { isWide = true }()

	rng := rand.New(rand.NewPCG(11, 1))
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.NaN())}
	for _, rows := range []int{4, 8, 12, 16, 20, 96, 100} {
		for _, k := range []int{4, 8, 12, 64} {
			for _, n := range []int{16, 48} {
				a := random(rng, rows*k)
				w := random(rng, k*n)
				b := random(rng, n)
				h := random(rng, rows*n)
				d := random(rng, rows*n)
				for i, v := range special {
					h[i] = v
					a[(i*7)%len(a)] = v
				}

				keep := make([]uint16, rows*n/Lane)
				for i := range keep {
					keep[i] = uint16(rng.Uint32())
				}

				results := func(wide bool) [][]float32 {
					isWide = wide
					dense := make([]float32, rows*n)
					relu := make([]float32, rows*n)
					back := make([]float32, rows*n)
					gradient := slices.Repeat([]float32{0.5}, k*n)
					sum := slices.Repeat([]float32{0.25}, n)
					without := slices.Repeat([]float32{0.5}, k*n)
					avx2.Dense(dense, MatrixOf(a, k), w, b, Size{rows, k, n}, 0.7)
					avx2.DenseReLU(relu, MatrixOf(a, k), w, b, Keep{keep, n / Lane}, Size{rows, k, n}, 0.7)
					avx2.Back(back, MatrixOf(a, k), w, h, Size{rows, k, n}, 0.7)
					avx2.Outer(gradient, sum, MatrixOf(a, k), d, Size{rows, k, n}, 0.7)
					avx2.Outer(without, nil, MatrixOf(a, k), d, Size{rows, k, n}, 0.7)

					return [][]float32{dense, relu, back, gradient, sum, without}
				}

				want := results(false)
				got := results(true)
				what := fmt.Sprintf("%d rows, %d inputs, %d columns", rows, k, n)
				for i, name := range []string{"Dense", "DenseReLU", "Back", "Outer", "sums", "Outer without sums"} {
					assert.Equal(t, bitsOf32(want[i]), bitsOf32(got[i]), "%s, %s", name, what)
				}
			}
		}
	}
}

// bitsOf32 returns the bits of numbers, so that numbers that are not a number are equal too.
func bitsOf32(numbers []float32) []uint32 {
	list := make([]uint32, 0, len(numbers))
	for _, v := range numbers {
		list = append(list, math.Float32bits(v))
	}

	return list
}
