package kernel

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Witness: the definition, one multiply-add after the other, fused or not. Every element
// is the same to the bit, for all shapes of the edges, with the portable tile and
// the processor's, and nothing next to the matrix changes.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}

		return v
	}

	defer func() { fused, rounded = tiles() }()

	for _, s := range [][3]int{
		{1, 1, 1}, {6, 16, 1}, {7, 17, 3}, {5, 15, 193}, {97, 33, 40}, {100, 530, 200}, {12, 64, 385},
	} {
		m := s[0]
		n := s[1]
		k := s[2]
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
		want := slices.Clone(c)
		sums := slices.Clone(c)
		for i := range m {
			for j := range n {
				for l := range k {
					want[i*(n+3)+j] = math.FMA(-a[i*(k+2)+l], b[l*(n+2)+j], want[i*(n+3)+j])
					sums[i*(n+3)+j] += float64(a[i*(k+2)+l] * b[l*(n+2)+j])
				}
			}
		}

		for _, bv := range []View{plain, turned} {
			for _, portable := range []bool{false, true} {
				fused, rounded = tiles()
				if portable {
					fused = fusedPortable
					rounded = roundedPortable
				}

				got := slices.Clone(c)
				added := slices.Clone(c)
				Subtract(m, n, k, av, bv, View{Data: got, Row: n + 3, Col: 1})
				Add(m, n, k, av, bv, View{Data: added, Row: n + 3, Col: 1})

				if !slices.Equal(got, want) || !slices.Equal(added, sums) {
					t.Errorf("%d×%d×%d, strides %d and %d, portable %v: another product", m, n, k, bv.Row, bv.Col, portable)
				}
			}
		}
	}

	Subtract(0, 3, 3, View{}, View{}, View{Col: 1}) // nothing to do
}

// Refused: columns of the result that are not adjacent.
func TestSubtractRefuses(t *testing.T) {
	defer func() {
		assert.NotNil(t, recover(), "no panic")
	}()

	Subtract(1, 1, 1, View{[]float64{1}, 1, 1}, View{[]float64{1}, 1, 1}, View{[]float64{1}, 1, 2})
}

// Expected values: gonum's on amd64, to the bit.
func TestSolve(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum adds in another order here")
	}

	rng := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{1, 2, 5, 6, 7, 63, 64} {
		l := make([]float64, n*(n+1))
		b := make([]float64, n*50)
		for i := range l {
			l[i] = rng.NormFloat64()
		}

		for i := range b {
			b[i] = rng.NormFloat64()
		}

		for _, rows := range []int{1, 16, 49} {
			want := slices.Clone(b)
			got := slices.Clone(b)
			blas64.Implementation().Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, rows, n, 1, l, n+1, want, n)
			SolveDots(View{Data: l, Row: n + 1, Col: 1}, View{Data: got, Row: n, Col: 1}, n, rows)

			if !slices.Equal(got, want) {
				t.Errorf("%d columns, %d rows: another solution", n, rows)
			}
		}

		for _, columns := range []int{1, 16, 49} {
			want := slices.Clone(b)
			got := slices.Clone(b)
			blas64.Implementation().Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.NonUnit, n, columns, 1, l, n+1, want, 50)
			Solve(View{Data: l, Row: n + 1, Col: 1}, View{Data: got, Row: 50, Col: 1}, n, columns, false)

			if !slices.Equal(got, want) {
				t.Errorf("%d rows, %d columns: another solution", n, columns)
			}
		}
	}
}

func BenchmarkSubtract(b *testing.B) {
	const n = 1024
	v := make([]float64, n*n)
	c := make([]float64, n*n)

	for i := range v {
		v[i] = float64(i%7) - 3
	}

	m := View{Data: v, Row: n, Col: 1}
	for b.Loop() {
		Subtract(n, n, n, m, m.T(), View{Data: c, Row: n, Col: 1})
	}

	b.ReportMetric(2*n*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
