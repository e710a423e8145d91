package methods

import (
	"math"

	"doubletake/train"
)

// derivatives are the activations of a network, with the derivatives of each outcome's
// mean by the parameters, layer by layer, in network units. They are not safe for
// concurrent use; slices are overwritten by the next call.
type derivatives struct {
	*activations
	v []float64   // variances at the last condition
	g [][]float64 // derivatives by the pre-activations of each layer
	n int         // outcomes
}

func derivativesOf(m *train.Model) *derivatives {
	d := &derivatives{activations: activationsOf(m), n: m.Out}
	for i := 1; i < d.Layers(); i++ {
		d.g = append(d.g, make([]float64, len(d.Input(i))))
	}

	d.g = append(d.g, make([]float64, m.Out)) // means alone

	return d
}

// withVariances lets gradient take the outcomes n to 2n−1 too, whose numbers are the
// total variances, and square count their parameters of the head. It returns d.
func (d *derivatives) withVariances() *derivatives {
	d.g[len(d.g)-1] = make([]float64, 2*d.n)
	return d
}

// At evaluates the condition x, in own units, and returns mean and total variance of
// every outcome.
func (d *derivatives) At(x []float64) (mu, variance []float64) {
	mu, d.v = d.activations.At(x)
	return mu, d.v
}

// gradient returns the derivatives of the mean of outcome j at the last condition by the
// sums of every layer before its activation; of the head those by the means. A parameter
// [k, o] of layer i has the derivative Input(i)[k]·gradient(j)[i][o], its bias
// gradient(j)[i][o].
func (d *derivatives) gradient(j int) [][]float64 {
	top := len(d.g) - 1
	clear(d.g[top])

	d.g[top][j] = 1
	if j >= d.n {
		d.g[top][j] = -math.Expm1(1e-6 - d.v[j-d.n]) // of σ² = ln(1 + eᵘ) + 1e-6 by u
	}

	for i := top - 1; i >= 0; i-- {
		for k, a := range d.Input(i + 1) {
			s := 0.0
			if a > 0 {
				for o, g := range d.g[i+1] {
					s += float64(g * d.Parameter(i+1, k, o))
				}
			}

			d.g[i][k] = s
		}
	}

	return d.g
}

// square returns the sum of the squares of layer i's parameters; of the head of those of
// the means, and of the variances after withVariances.
func (d *derivatives) square(i int) (sum float64) {
	for o := range d.g[i] {
		for k := range len(d.Input(i)) + 1 {
			w := d.Parameter(i, k, o)
			sum += float64(w * w)
		}
	}

	return sum
}
