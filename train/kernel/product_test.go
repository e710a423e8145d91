package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Expected values: the definition, one multiply-add after the other, fused for Subtract and rounded for Add. Every
// element is the same to the bit, with all tiles that the processor can run, whichever way b is stored. The
// shapes reach over the edges of tiles and blocks. The gaps between the rows of c do not change.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}

		return v
	}

	defer func() { tiles = tileSets[0] }()

	for _, s := range []struct{ m, n, k int }{
		{1, 1, 1}, {6, 16, 1}, {7, 17, 3}, {5, 15, 193}, {97, 33, 40}, {100, 530, 200}, {12, 64, 385},
	} {
		m := s.m
		n := s.n
		k := s.k
		a := random((m + 1) * (k + 2))
		b := random((k + 1) * (n + 2))
		c := random((m + 1) * (n + 3))
		plain := View{Data: b, Row: n + 2, Col: 1}

		turned := View{Data: make([]float64, (k+1)*(n+2)), Row: 1, Col: k + 1} // the same matrix in another order
		for l := range k {
			for j := range n {
				turned.Data[l+j*turned.Col] = b[l*plain.Row+j]
			}
		}

		av := View{Data: a, Row: k + 2, Col: 1}
		wantDifference := slices.Clone(c)
		wantSum := slices.Clone(c)
		for i := range m {
			for j := range n {
				for l := range k {
					x := a[i*(k+2)+l]
					y := b[l*(n+2)+j]
					element := i*(n+3) + j
					wantDifference[element] = math.FMA(-x, y, wantDifference[element])
					wantSum[element] += float64(x * y)
				}
			}
		}

		for _, bv := range []View{plain, turned} {
			for _, set := range tileSets {
				tiles = set
				difference := slices.Clone(c)
				sum := slices.Clone(c)
				Subtract(m, n, k, av, bv, View{Data: difference, Row: n + 3, Col: 1})
				Add(m, n, k, av, bv, View{Data: sum, Row: n + 3, Col: 1})

				what := fmt.Sprintf("%+v, strides %d and %d, tiles %s", s, bv.Row, bv.Col, set.name)
				assert.Equal(t, wantDifference, difference, "Subtract %s", what)
				assert.Equal(t, wantSum, sum, "Add %s", what)
			}
		}
	}
}

// Without rows there is nothing to do: the empty matrices are not read.
func TestSubtractNothing(t *testing.T) {
	assert.NotPanics(t, func() { Subtract(0, 3, 3, View{}, View{}, View{Col: 1}) })
}

// Subtract panics if the columns of the result are not adjacent.
func TestSubtractRefuses(t *testing.T) {
	one := View{Data: []float64{1}, Row: 1, Col: 1}
	apart := View{Data: []float64{1}, Row: 1, Col: 2}
	assert.PanicsWithValue(t, "kernel: the columns of c are not adjacent", func() { Subtract(1, 1, 1, one, one, apart) })
}

// SolveDots is b·L⁻ᵀ, and Solve is L⁻¹·b. Expected values: gonum's on amd64, to the bit.
func TestSolve(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum adds in another order here")
	}

	rng := rand.New(rand.NewPCG(5, 1))
	const bColumns = 50 // row stride of b in Solve
	gonum := blas64.Implementation()
	for _, n := range []int{1, 2, 5, 6, 7, 63, 64} {
		l := make([]float64, n*(n+1))
		b := make([]float64, n*bColumns)
		for i := range l {
			l[i] = rng.NormFloat64()
		}

		for i := range b {
			b[i] = rng.NormFloat64()
		}

		for _, rows := range []int{1, 16, 49} {
			want := slices.Clone(b)
			got := slices.Clone(b)
			gonum.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, rows, n, 1, l, n+1, want, n)
			SolveDots(View{Data: l, Row: n + 1, Col: 1}, View{Data: got, Row: n, Col: 1}, n, rows)

			assert.Equal(t, want, got, "SolveDots, %d columns, %d rows", n, rows)
		}

		for _, columns := range []int{1, 16, 49} {
			want := slices.Clone(b)
			got := slices.Clone(b)
			gonum.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, columns, 1, l, n+1, want, bColumns)
			Solve(View{Data: l, Row: n + 1, Col: 1}, View{Data: got, Row: bColumns, Col: 1}, n, columns, false)

			assert.Equal(t, want, got, "Solve, %d rows, %d columns", n, columns)
		}
	}
}

// BenchmarkSubtract measures the product of matrices with all tiles that the processor can run.
func BenchmarkSubtract(b *testing.B) {
	defer func() { tiles = tileSets[0] }()

	for _, n := range []int{64, 320, 1024} {
		v := make([]float64, n*n)
		c := make([]float64, n*n)
		for i := range v {
			v[i] = float64(i%7) - 3
		}

		m := View{Data: v, Row: n, Col: 1}
		for _, set := range tileSets {
			tiles = set
			b.Run(fmt.Sprintf("%d/%s", n, set.name), func(b *testing.B) {
				for b.Loop() {
					Subtract(n, n, n, m, m.T(), View{Data: c, Row: n, Col: 1})
				}

				operations := 2 * float64(n*n*n) * float64(b.N)
				b.ReportMetric(operations/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
