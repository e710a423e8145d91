package train

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Expected values: the moments of the standard normal distribution, mean 0 and
// covariance the identity exactly, fourth moments 3 nearly.
func TestPairSets(t *testing.T) {
	for _, d := range []int{5, 6, 12, 20, 21, 60} {
		points := haltonNormal
		if d > maxHalton {
			points = normalPoints
		}

		nodes, weights := pairSet(points(d, 1024), d)
		for a := range d {
			mean := 0.0
			fourth := 0.0
			for i, w := range weights {
				x := float64(nodes[i*d+a])
				mean += w * x
				fourth += w * x * x * x * x
			}

			assert.InDelta(t, 0, mean, 1e-12, "%d outcomes: mean of %d", d, a)
			assert.InDelta(t, 3, fourth, 0.6, "%d outcomes: fourth moment of %d", d, a)

			for b := range a + 1 {
				s := 0.0
				want := 0.0
				for i, w := range weights {
					s += w * float64(nodes[i*d+a]) * float64(nodes[i*d+b])
				}

				if a == b {
					want = 1
				}

				assert.InDelta(t, want, s, 1e-6, "%d outcomes: covariance of %d and %d", d, a, b)
			}
		}
	}
}

// Expected values: numpy.polynomial.hermite_e.hermegauss with weights divided by their sum, and for any number n of
// nodes the moments of the standard normal distribution, which are exact up to 2n−1.
func TestGaussHermite(t *testing.T) {
	for _, c := range []struct {
		n    int
		x, w []float64
	}{
		{2, []float64{-1, 1}, []float64{0.5, 0.5}},
		{3, []float64{-1.7320508075688772, 0, 1.7320508075688772}, []float64{1.0 / 6, 2.0 / 3, 1.0 / 6}},
		{
			5,
			[]float64{-2.8569700138728056, -1.355626179974266, 0, 1.355626179974266, 2.8569700138728056},
			[]float64{0.011257411327720693, 0.22207592200561266, 0.5333333333333333, 0.22207592200561266, 0.011257411327720693},
		},
	} {
		x, w := gaussHermite(c.n)
		near(t, "nodes", x, c.x, 1e-14)
		near(t, "weights", w, c.w, 1e-14)
	}

	for n := 2; n <= tensorOrder(2); n++ {
		x, w := gaussHermite(n)

		moment := 1.0 // the even ones: 1, 1, 3, 15 …
		for k := 0; k < 2*n; k += 2 {
			if k > 0 {
				moment *= float64(k - 1)
			}

			got := 0.0
			for i := range x {
				got += w[i] * math.Pow(x[i], float64(k))
			}

			assert.InDelta(t, moment, got, 1e-12*moment, "%d nodes: moment %d", n, k)
		}
	}
}
