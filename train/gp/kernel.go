package gp

import (
	"math"
	"slices"

	"doubletake/train/kernel"
)

// Hyper are the hyperparameters of one outcome's kernel, for standardised inputs and outcomes. Constant, Linear,
// Amplitude, Shared, Own and Nugget are standard deviations.
type Hyper struct {
	Constant  float64   `json:"constant"`      // of the constant
	Linear    []float64 `json:"linear"`        // by varying input: of the slope
	Amplitude float64   `json:"amplitude"`     // of the Matérn kernel on all inputs
	Length    []float64 `json:"length"`        // by varying input: length in the kernel on all inputs
	Shared    float64   `json:"shared"`        // of the Matérn kernel on the inputs Others; 0 without such a kernel
	Lengths   []float64 `json:"lengths"`       // by input of Others: length in that kernel
	Own       float64   `json:"own,omitempty"` // of the curve of each level (curves.go); 0 without such curves
	Nugget    float64   `json:"nugget"`        // from run to run
	Objective float64   `json:"objective"`     // negative log evidence and prior that the search reached
}

// layout is the order of the logarithms of hyperparameters in a list: constant, nugget, amplitude, the lengths and the
// slopes of the inputs, then the amplitude and the lengths of the shared kernel, if it has inputs, then the deviation
// of curves, if levels have curves of their own.
type layout struct {
	inputs int  // of the kernel on all inputs
	others int  // of the shared kernel; 0: no such kernel exists
	curves bool // whether levels have curves of their own; needs a shared kernel
}

// Places of the first logarithms in the list. The lengths of all inputs begin at atLength.
const (
	atConstant = iota
	atNugget
	atAmplitude
	atLength
)

// linear returns the place of the first slope.
func (l layout) linear() int { return atLength + l.inputs }

// shared returns the place of the amplitude of the shared kernel.
func (l layout) shared() int { return atLength + 2*l.inputs }

// sharedLengths returns the place of the first length of the shared kernel.
func (l layout) sharedLengths() int { return l.shared() + 1 }

// own returns the place of the deviation of curves.
func (l layout) own() int { return l.sharedLengths() + l.others }

// size returns the number of hyperparameters.
func (l layout) size() int {
	switch {
	case l.curves:
		return l.own() + 1
	case l.others > 0:
		return l.own()
	}

	return l.shared()
}

// hyperPrior is the normal prior of the logarithm of a hyperparameter, with the logarithm at which the search starts.
type hyperPrior struct{ mean, std, start float64 }

// Weak priors of the kinds of hyperparameters, in the order mean, std, start.
var (
	constantPrior  = hyperPrior{-0.5, 1.5, -1}
	nuggetPrior    = hyperPrior{-3, 1, -3}
	amplitudePrior = hyperPrior{-0.5, 1.5, -0.7}
	lengthPrior    = hyperPrior{0.3, 1, 0}
	linearPrior    = hyperPrior{-1, 1.5, -2}
	ownPrior       = hyperPrior{-3, 1.5, -2.5}
)

// prior returns the priors of all hyperparameters, in the order of the layout.
func (l layout) prior() []hyperPrior {
	list := make([]hyperPrior, 0, l.size())
	list = append(list, constantPrior, nuggetPrior, amplitudePrior)
	list = append(list, slices.Repeat([]hyperPrior{lengthPrior}, l.inputs)...)
	list = append(list, slices.Repeat([]hyperPrior{linearPrior}, l.inputs)...)
	if l.others > 0 {
		list = append(list, amplitudePrior)
		list = append(list, slices.Repeat([]hyperPrior{lengthPrior}, l.others)...)
	}

	if l.curves {
		list = append(list, ownPrior)
	}

	return list
}

// hyper returns the hyperparameters that have the logarithms v.
func (l layout) hyper(v []float64) Hyper {
	h := Hyper{
		Constant:  math.Exp(v[atConstant]),
		Nugget:    math.Exp(v[atNugget]),
		Amplitude: math.Exp(v[atAmplitude]),
		Length:    exponentials(v[atLength:], l.inputs),
		Linear:    exponentials(v[l.linear():], l.inputs),
	}

	if l.others > 0 {
		h.Shared = math.Exp(v[l.shared()])
		h.Lengths = exponentials(v[l.sharedLengths():], l.others)
	}

	if l.curves {
		h.Own = math.Exp(v[l.own()])
	}

	return h
}

// exponentials returns exp of the first n numbers of v.
func exponentials(v []float64, n int) []float64 {
	var list []float64
	for _, x := range v[:n] {
		list = append(list, math.Exp(x))
	}

	return list
}

// logarithms returns the logarithms of h in the order of the layout: it is the inverse of hyper.
func (l layout) logarithms(h Hyper) []float64 {
	v := make([]float64, 0, l.size())
	v = append(v, h.Constant, h.Nugget, h.Amplitude)
	v = append(v, h.Length...)
	v = append(v, h.Linear...)
	if l.others > 0 {
		v = append(v, h.Shared)
		v = append(v, h.Lengths...)
	}

	if l.curves {
		v = append(v, h.Own)
	}

	for i, x := range v {
		v[i] = math.Log(x)
	}

	return v
}

// selfCorrelation is the Matérn correlation of a condition with itself. It is not exactly 1, see kernel.Matern.
var selfCorrelation, _ = kernel.MaternAt(0)

// covariance evaluates the covariance k(a, b) of the latent function at two standardised conditions, without the
// nugget.
type covariance struct {
	// Variances:
	constant, amplitude, shared float64
	own                         float64   // of the curve of each level; 0 without such curves
	linear                      []float64 // by input

	inverseSquares       []float64 // by input: 1/length² in the kernel on all inputs
	sharedInverseSquares []float64 // by input of others: 1/length² in the shared kernel
	others               []int     // inputs of the shared kernel
}

func newCovariance(h Hyper, others []int) covariance {
	return covariance{
		constant:             h.Constant * h.Constant,
		amplitude:            h.Amplitude * h.Amplitude,
		shared:               h.Shared * h.Shared,
		own:                  h.Own * h.Own,
		linear:               powers(h.Linear, 2),
		inverseSquares:       powers(h.Length, -2),
		sharedInverseSquares: powers(h.Lengths, -2),
		others:               others,
	}
}

// powers returns the numbers of v raised to the given exponent.
func powers(v []float64, exponent float64) []float64 {
	list := make([]float64, len(v))
	for i, x := range v {
		list[i] = math.Pow(x, exponent)
	}

	return list
}

// rowBlock is the number of covariances that are computed together.
const rowBlock = 64

// row sets dst[i] to k(a, b_i) without curves, where b_i is row i of conditions b, each with len(a) inputs.
func (c *covariance) row(dst, a, b []float64) {
	inputs := len(a)
	for first := 0; first < len(dst); first += rowBlock {
		end := min(first+rowBlock, len(dst))
		c.block(dst[first:end], a, b[first*inputs:end*inputs])
	}
}

// block is row for at most rowBlock conditions.
func (c *covariance) block(dst, a, b []float64) {
	var all, shared [rowBlock]float64 // squared scaled distances for the two kernels
	inputs := len(a)
	for i := range dst {
		x := b[i*inputs : (i+1)*inputs]
		sum := c.constant
		for j, inverse := range c.inverseSquares {
			d := a[j] - x[j]
			all[i] += d * d * inverse
			sum += c.linear[j] * a[j] * x[j]
		}

		shared[i] = c.sharedDistance(a, x)
		dst[i] = sum
	}

	addMatern(dst, c.amplitude, all[:len(dst)])
	if c.shared > 0 {
		addMatern(dst, c.shared, shared[:len(dst)])
	}
}

// addMatern adds the Matérn kernel with the given variance at the squared distances q, at most rowBlock, to dst.
func addMatern(dst []float64, variance float64, q []float64) {
	var correlation, slope [rowBlock]float64
	kernel.Matern(q, correlation[:len(q)], slope[:len(q)])
	for i, v := range correlation[:len(q)] {
		dst[i] += float64(variance * v)
	}
}

// sharedDistance returns the squared distance of two conditions for the shared kernel.
func (c *covariance) sharedDistance(a, b []float64) float64 {
	distance := 0.0
	for j, inverse := range c.sharedInverseSquares {
		d := a[c.others[j]] - b[c.others[j]]
		distance += d * d * inverse
	}

	return distance
}

// sharedCorrelation returns the correlation of the shared kernel at two conditions.
func (c *covariance) sharedCorrelation(a, b []float64) float64 {
	correlation, _ := kernel.MaternAt(c.sharedDistance(a, b))

	return correlation
}

// variance returns k(a, a), curves included.
func (c *covariance) variance(a []float64) float64 {
	var k [1]float64
	c.row(k[:], a, a)

	return k[0] + c.own*selfCorrelation
}
