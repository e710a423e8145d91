package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachBench measures with every set the function that f returns. flop is the number of operations of one call; with 0
// only the time is reported.
func eachBench(b *testing.B, name string, flop float64, f func(k *Set[float32]) func()) {
	for _, set := range Names() {
		k, err := Resolve(set)
		require.NoError(b, err)

		b.Run(name+"/"+set, func(b *testing.B) {
			run := f(k)
			b.ReportAllocs()

			for b.Loop() {
				run()
			}

			if flop > 0 {
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
}

// BenchmarkKernels measures the kernels at the sizes of a training block: 96 rows, 64 wide, 5 outcomes.
func BenchmarkKernels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const rows, n = 96, 64
	a := random(r, rows*n)
	w := random(r, n*n)
	z := make([]float32, rows*n)
	h := random(r, rows*n)

	bias := random(r, n)
	keep := make([]uint16, rows*n/Lane)
	for i := range keep {
		keep[i] = uint16(r.Uint32())
	}

	for _, k := range []int{8, 64} { // first layer, hidden layers
		eachBench(b, fmt.Sprintf("DenseReLU/96x%dx64", k), 2*rows*n*float64(k),
			func(s *Set[float32]) func() {
				return func() { s.DenseReLU(z, MatrixOf(a, n), w, bias, Keep{keep, n / Lane}, Size{rows, k, n}, 1) }
			})
	}

	eachBench(b, "Dense/96x64x16", 2*rows*n*16, func(s *Set[float32]) func() {
		return func() { s.Dense(z[:rows*16], MatrixOf(a, n), w, bias, Size{rows, n, 16}, 1) }
	})
	eachBench(b, "Back/96x64x64", 2*rows*n*n, func(s *Set[float32]) func() {
		return func() { s.Back(z, MatrixOf(a, n), w, h, Size{rows, n, n}, 1) }
	})
	g := make([]float32, n*n)
	sum := make([]float32, n)
	eachBench(b, "Outer/96x64x64", 2*rows*n*n, func(s *Set[float32]) func() {
		return func() { s.Outer(g, sum, MatrixOf(a, n), h, Size{rows, n, n}, 1e-9) }
	})
	eachBench(b, "Transpose/64x64", 0, func(s *Set[float32]) func() {
		return func() { s.Transpose(MatrixOf(g, n), MatrixOf(w, n), n, n) }
	})

	const outcomes = 5
	l := newLossCase(r, rows*outcomes)
	gmu := make([]float32, rows*outcomes)
	graw := make([]float32, rows*outcomes)
	eachBench(b, "LossGrad/480", 0, func(s *Set[float32]) func() {
		return func() { s.LossGrad(gmu, graw, l.mu, l.raw, l.t1, l.t2, l.c, 0.5) }
	})
	eachBench(b, "Variance/480", 0, func(s *Set[float32]) func() {
		return func() { s.Variance(gmu) }
	})

	const droneParams = 5456 // of the drone's network
	weights := make([]float32, droneParams)
	gradient := make([]float32, droneParams)
	moment1 := make([]float32, droneParams)
	moment2 := make([]float32, droneParams)
	eachBench(b, "Adam/5456", 0, func(s *Set[float32]) func() {
		step := AdamStep[float32]{
			Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 1e-3,
			RootScale: 1, Eps: 1e-8, Decay: 1,
		}

		return func() { s.Adam(weights, gradient, moment1, moment2, step) }
	})

	lanes := NewLanes(1)
	eachBench(b, "Bits/96x64", 0, func(s *Set[float32]) func() {
		return func() { s.Bits(keep, 3277, lanes) }
	})
	eachBench(b, "Sums/256", 0, func(s *Set[float32]) func() {
		c := a[:256]
		w := a[256:512]
		e := a[512:768]
		return func() { s.Sums(c, w, e) }
	})
}
