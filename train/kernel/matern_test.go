package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Expected values: the formula with math.Exp, to the bit. The distances include ones at which exp is not a normal
// number or zero, and numbers that are not distances.
func TestMatern(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var q []float64
	for range 1000 {
		q = append(q, math.Exp(12*rng.NormFloat64()))
	}

	q = append(q, 0, 1e-300, 100252, 100253, 100254, 1e5, 1.1e5, math.Inf(1), 1, 2, 3, 4, 5)

	var wantCorrelation, wantSlope []float64
	for _, v := range q {
		correlation, slope := MaternAt(v)
		wantCorrelation = append(wantCorrelation, correlation)
		wantSlope = append(wantSlope, slope)
	}

	for _, n := range []int{0, 1, 3, 4, 5, len(q)} {
		first := len(q) - n
		correlation := make([]float64, n)
		slope := make([]float64, n)
		Matern(q[first:], correlation, slope)

		assert.Equal(t, bitsOf(wantCorrelation[first:]), bitsOf(correlation), "%d correlations", n)
		assert.Equal(t, bitsOf(wantSlope[first:]), bitsOf(slope), "%d slopes", n)
	}
}

// Expected value: the definition of the slope, −2 times the derivative of the correlation, by differences.
func TestMaternSlope(t *testing.T) {
	const step = 1e-5
	for _, q := range []float64{0.01, 0.5, 1, 4, 30} {
		after, _ := MaternAt(q + step)
		before, _ := MaternAt(q - step)
		_, slope := MaternAt(q)

		assert.InDelta(t, -2*(after-before)/(2*step), slope, 1e-8, "q = %g", q)
	}
}

// bitsOf returns the bits of numbers, so that numbers that are not a number are equal too.
func bitsOf(numbers []float64) []uint64 {
	list := make([]uint64, 0, len(numbers))
	for _, v := range numbers {
		list = append(list, math.Float64bits(v))
	}

	return list
}

// BenchmarkMatern measures the correlations of the pairs of 320 conditions.
func BenchmarkMatern(b *testing.B) {
	const pairs = 320 * 319 / 2
	q := make([]float64, pairs)
	for i := range q {
		q[i] = float64(i) / 1000
	}

	correlation := make([]float64, pairs)
	slope := make([]float64, pairs)
	for b.Loop() {
		Matern(q, correlation, slope)
	}

	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(pairs*b.N), "ns/pair")
}
