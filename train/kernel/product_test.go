package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Witness: the definition, one fused multiply-add after the other. Every element
// is the same to the bit, for all shapes of the edges, with the portable tile and
// the processor's, and nothing next to the matrix changes.
func TestSubtract(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	random := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}

		return v
	}

	fast := productTile
	defer func() { productTile = fast }()

	for _, s := range [][3]int{
		{1, 1, 1}, {6, 16, 1}, {7, 17, 3}, {5, 15, 193}, {97, 33, 40}, {100, 530, 200}, {12, 64, 385},
	} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := random((m+1)*(k+2)), random((k+1)*(n+2)), random((m+1)*(n+3))
		plain := View{Data: b, Row: n + 2, Col: 1}

		turned := View{Data: make([]float64, (k+1)*(n+2)), Row: 1, Col: k + 1} // the same matrix in another order
		for l := range k {
			for j := range n {
				turned.Data[l+j*turned.Col] = b[l*plain.Row+j]
			}
		}

		av, want := View{Data: a, Row: k + 2, Col: 1}, slices.Clone(c)
		for i := range m {
			for j := range n {
				for l := range k {
					want[i*(n+3)+j] = math.FMA(-a[i*(k+2)+l], b[l*(n+2)+j], want[i*(n+3)+j])
				}
			}
		}

		for _, bv := range []View{plain, turned} {
			for _, tile := range []func(c, a, b *float64, k, ldc int){nil, fast} {
				productTile = tile
				got := slices.Clone(c)
				Subtract(m, n, k, av, bv, View{Data: got, Row: n + 3, Col: 1})

				if !slices.Equal(got, want) {
					t.Errorf("%d×%d×%d, strides %d and %d, portable %v: another product", m, n, k, bv.Row, bv.Col, tile == nil)
				}
			}
		}
	}

	Subtract(0, 3, 3, View{}, View{}, View{Col: 1}) // nothing to do
}

// The order in which AVX2 and AVX-512 add is the same: Resolve's choice of a set
// does not change these products.
func TestProductSets(t *testing.T) {
	if len(products()) < 2 {
		t.Skip("this processor has one set")
	}

	a, b := make([]float64, 6*50), make([]float64, 16*50)
	for i := range a {
		a[i] = math.Sin(float64(i))
	}

	for i := range b {
		b[i] = math.Cos(float64(3 * i))
	}

	want := make([]float64, 6*16)
	tilePortable(want, a, b, 50, 16)

	for i, p := range products() {
		got := make([]float64, 6*16)
		p(&got[0], &a[0], &b[0], 50, 16)

		if !slices.Equal(got, want) {
			t.Errorf("set %d: another product", i)
		}
	}
}

// Refused: columns of the result that are not adjacent.
func TestSubtractRefuses(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()

	Subtract(1, 1, 1, View{[]float64{1}, 1, 1}, View{[]float64{1}, 1, 1}, View{[]float64{1}, 1, 2})
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
