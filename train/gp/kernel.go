package gp

import (
	"math"

	"doubletake/internal/lists"
)

// Hyper are the hyperparameters of one outcome's kernel, for standardised
// inputs and outcomes. Amplitudes are deviations, lengths are per varying input.
type Hyper struct {
	Constant  float64   `json:"constant"`  // deviation of the constant
	Linear    []float64 `json:"linear"`    // deviation of the slope in each input
	Amplitude float64   `json:"amplitude"` // of the kernel on all inputs
	Length    []float64 `json:"length"`    //
	Shared    float64   `json:"shared"`    // amplitude of the kernel without the group's inputs; 0 without one
	Lengths   []float64 `json:"lengths"`   // of the inputs it uses, in their order
	Nugget    float64   `json:"nugget"`    // run-to-run deviation
	Objective float64   `json:"objective"` // negative log evidence and prior reached
}

// theta is the order of the logarithms of hyperparameters: constant, nugget,
// amplitude, lengths and slopes per input, then shared amplitude and lengths.
type theta struct{ in, others int }

const (
	atConstant = iota
	atNugget
	atAmplitude
	atLength
)

func (t theta) linear() int { return atLength + t.in }
func (t theta) shared() int { return atLength + 2*t.in }
func (t theta) size() int {
	if t.others == 0 {
		return t.shared()
	}
	return t.shared() + 1 + t.others
}

// prior is the normal prior of each logarithm, and the start of the search.
func (t theta) prior() (mean, std, start []float64) {
	n := t.size()
	mean, std, start = make([]float64, n), make([]float64, n), make([]float64, n)
	set := func(from, count int, m, s, x float64) {
		for i := from; i < from+count; i++ {
			mean[i], std[i], start[i] = m, s, x
		}
	}

	set(atConstant, 1, -0.5, 1.5, -1)
	set(atNugget, 1, -3, 1, -3)
	set(atAmplitude, 1, -0.5, 1.5, -0.7)
	set(atLength, t.in, 0.3, 1, 0)
	set(t.linear(), t.in, -1, 1.5, -2)

	if t.others > 0 {
		set(t.shared(), 1, -0.5, 1.5, -0.7)
		set(t.shared()+1, t.others, 0.3, 1, 0)
	}

	return mean, std, start
}

func (t theta) hyper(v []float64) Hyper {
	exp := func(from, n int) []float64 { return lists.Each(v[from:from+n], math.Exp) }
	h := Hyper{
		Constant: math.Exp(v[atConstant]), Nugget: math.Exp(v[atNugget]), Amplitude: math.Exp(v[atAmplitude]),
		Length: exp(atLength, t.in), Linear: exp(t.linear(), t.in),
	}

	if t.others > 0 {
		h.Shared, h.Lengths = math.Exp(v[t.shared()]), exp(t.shared()+1, t.others)
	}

	return h
}

// logarithms is the inverse of hyper.
func (t theta) logarithms(h Hyper) []float64 {
	v := make([]float64, 0, t.size())
	v = append(append(append(v, h.Constant, h.Nugget, h.Amplitude), h.Length...), h.Linear...)
	if t.others > 0 {
		v = append(append(v, h.Shared), h.Lengths...)
	}

	for i, x := range v {
		v[i] = math.Log(x)
	}

	return v
}

// Tiny is added to squared scaled distances: the derivative of a distance stays finite where
// two inputs are equal.
const Tiny = 1e-12

// one is the correlation of a condition with itself.
var one, _ = matern(0)

// matern is the Matérn-5/2 correlation at a squared scaled distance q, and −2·(its derivative
// with respect to q).
func matern(q float64) (k, slope float64) {
	r := math.Sqrt(5 * (q + Tiny))
	e := math.Exp(-r)

	return (1 + r + r*r/3) * e, 5.0 / 3 * (1 + r) * e
}

// covariance evaluates k(a, b) without the nugget. others are the inputs of the
// second kernel.
type covariance struct {
	constant, amplitude, shared float64 // variances
	linear, inverse, inverse2   []float64
	others                      []int
}

func newCovariance(h Hyper, others []int) covariance {
	square := func(v []float64, power float64) []float64 {
		return lists.Each(v, func(x float64) float64 { return math.Pow(x, power) })
	}

	return covariance{
		constant: h.Constant * h.Constant, amplitude: h.Amplitude * h.Amplitude, shared: h.Shared * h.Shared,
		linear: square(h.Linear, 2), inverse: square(h.Length, -2), inverse2: square(h.Lengths, -2), others: others,
	}
}

// row sets dst to k(a, b) at the conditions b, rows of len(a).
func (c *covariance) row(dst, a, b []float64) {
	in := len(a)
	for i := range dst {
		x := b[i*in : (i+1)*in]
		sum, all := c.constant, 0.0
		for j, w := range c.inverse {
			d := a[j] - x[j]
			all += d * d * w
			sum += c.linear[j] * a[j] * x[j]
		}

		k, _ := matern(all)
		sum += float64(c.amplitude * k)

		if c.shared > 0 {
			part := 0.0
			for j, w := range c.inverse2 {
				d := a[c.others[j]] - x[c.others[j]]
				part += d * d * w
			}

			k, _ = matern(part)
			sum += float64(c.shared * k)
		}

		dst[i] = sum
	}
}

// at is k(a, b).
func (c *covariance) at(a, b []float64) float64 {
	var k [1]float64
	c.row(k[:], a, b)

	return k[0]
}
