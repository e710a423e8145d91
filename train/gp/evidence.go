package gp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
)

// searchData holds the conditions on which hyperparameters are learned, and the settings of the search. The evidences
// of all outcomes share it.
//
// A packed list has one number for each pair of conditions i > k, ordered by i and then by k: (1, 0), (2, 0), (2, 1),
// …
type searchData struct {
	n                 int // conditions
	layout            layout
	others            []int       // inputs of the shared kernel
	x                 []float64   // standardised inputs, conditions × inputs
	squaredDifference [][]float64 // by input: the packed squared differences of its values
	spacing           []float64   // by input: smallest gap between its set points, or 0 without any; nil: none has any
	labels            labels      // of the conditions; the zero value: there are no offsets
	sameLevel         []bool      // packed: whether conditions have a curve in common; nil: no levels have curves
	grid              []deviations
	steps             int // largest number of iterations of a search; 0 is maxSteps
}

// newSearchData returns the search data of conditions x, rows of the given number of inputs, without labels and
// spacing. others are the inputs of the shared kernel.
func newSearchData(x []float64, inputs int, others []int) *searchData {
	s := &searchData{n: len(x) / inputs, layout: layout{inputs: inputs, others: len(others)}, others: others, x: x}
	for j := range inputs {
		squared := make([]float64, 0, s.n*(s.n-1)/2)
		for i := range s.n {
			for k := range i {
				d := x[i*inputs+j] - x[k*inputs+j]
				squared = append(squared, d*d)
			}
		}

		s.squaredDifference = append(s.squaredDifference, squared)
	}

	return s
}

// evidence is the objective of the search for the hyperparameters of one outcome: the negative logarithm of their
// evidence and prior, as a function of their logarithms.
//
// With the covariance K + D of the n conditions' means y, where D is the noise and the run-to-run variance, and w = (K
// + D)⁻¹y, the objective is ½ ln|K + D| + ½yᵀw − ln prior. Its derivative by a hyperparameter is ½ tr(((K +
// D)⁻¹ − wwᵀ)·∂(K + D)) plus the derivative of −ln prior (Rasmussen & Williams 2006, equation 5.9).
type evidence struct {
	*searchData
	y     []float64 // by condition: mean of the standardised outcome
	noise []float64 // by condition: variance of this mean

	// The remaining fields are room that value allocates and overwrites. Of matrices (n×n, row-major) only the lower
	// triangle is defined.
	matrix  []float64 // K + D, then its Cholesky factor L
	inverse []float64 // (K + D)⁻¹; for the gradient with offsets, what replaceInverse makes of it
	weights []float64 // (K + D)⁻¹y

	allInputs    maternTerm // the kernel on all inputs
	sharedInputs maternTerm // the kernel on the inputs that do not depend on the group
	distance     []float64  // packed: squared scaled distances for one of the kernels

	room *room
}

// maternTerm holds one Matérn kernel of the conditions in packed lists.
type maternTerm struct {
	covariance []float64
	slope      []float64 // −2 times the derivative of the covariance with respect to the squared scaled distance
}

// newMaternTerm returns room for a kernel of the given number of pairs.
func newMaternTerm(pairs int) maternTerm {
	return maternTerm{make([]float64, pairs), make([]float64, pairs)}
}

// allocate makes the room of e at its first use.
func (e *evidence) allocate() {
	if e.matrix != nil {
		return
	}

	e.room = newRoom(e.n)
	e.matrix = make([]float64, e.n*e.n)
	e.inverse = make([]float64, e.n*e.n)
	e.weights = make([]float64, e.n)

	pairs := e.n * (e.n - 1) / 2
	e.allInputs = newMaternTerm(pairs)
	e.sharedInputs = newMaternTerm(pairs)
	e.distance = make([]float64, pairs)
}

// fillMatern sets term to the Matérn kernel with the given variance on the given inputs. inverseSquares are 1/length²
// of these inputs, in their order.
func (e *evidence) fillMatern(term maternTerm, variance float64, inputs []int, inverseSquares []float64) {
	clear(e.distance)

	for i, j := range inputs {
		floats.AddScaled(e.distance, inverseSquares[i], e.squaredDifference[j])
	}

	kernel.Matern(e.distance, term.covariance, term.slope)
	floats.Scale(variance, term.covariance)
	floats.Scale(variance, term.slope)
}

// value returns the objective at the logarithms v, and sets grad to its gradient unless grad is nil. It returns +∞ if
// the covariance cannot be factorised.
func (e *evidence) value(v, grad []float64) float64 {
	e.allocate()

	objective := e.prior(v, grad)
	if math.IsInf(objective, 1) {
		return objective
	}

	c := newCovariance(e.layout.hyper(v), e.others)
	nugget := math.Exp(2 * v[atNugget])
	e.fillCovariance(c, nugget)
	if cholesky(e.n, e.matrix) != nil {
		return math.Inf(1)
	}

	for i := range e.n {
		objective += math.Log(e.matrix[i*e.n+i])
	}

	copy(e.weights, e.y)
	factor := lower(e.n, e.matrix)
	weights := blas64.Vector{N: e.n, Data: e.weights, Inc: 1}
	blas64.Trsv(blas.NoTrans, factor, weights) // weights are L⁻¹y

	objective += blas64.Dot(weights, weights) / 2
	hasOffsets := len(e.labels.count) > 0
	if grad == nil && !hasOffsets {
		return objective
	}

	// The gradient needs the inverse, and so does the evidence of offsets.
	blas64.Trsv(blas.Trans, factor, weights)
	copy(e.inverse, e.matrix)
	invert(e.n, e.inverse, e.room)

	if hasOffsets {
		offsets, err := e.integrateOffsets()
		if err != nil {
			return math.Inf(1)
		}

		objective -= offsets.log
		if grad != nil {
			e.replaceInverse(offsets)
		}
	}

	if grad != nil {
		e.addGradient(grad, c, nugget)
	}

	return objective
}

// largestLogarithm bounds the logarithms of hyperparameters: beyond it, squares of their exponentials are of no use
// and may overflow.
const largestLogarithm = 30

// spacingStd belongs to the prior that refuses lengths below the spacing of set points: below ln of the spacing, ln of
// a length has a normal prior with this standard deviation.
const spacingStd = 0.05

// prior returns the negative logarithm of the prior at the logarithms v, and sets grad to its gradient unless grad is
// nil. It returns +∞ if a logarithm is not a number or is larger than largestLogarithm.
func (e *evidence) prior(v, grad []float64) float64 {
	sum := 0.0
	for i, p := range e.layout.prior() {
		if math.Abs(v[i]) > largestLogarithm || math.IsNaN(v[i]) {
			return math.Inf(1)
		}

		d := (v[i] - p.mean) / p.std
		sum += d * d / 2

		if grad != nil {
			grad[i] = d / p.std
		}
	}

	for j, gap := range e.spacing {
		for _, place := range e.lengthPlaces(j) {
			below := (math.Log(gap) - v[place]) / spacingStd // −∞ without set points
			if !(below > 0) {
				continue
			}

			sum += below * below / 2
			if grad != nil {
				grad[place] -= below / spacingStd
			}
		}
	}

	return sum
}

// lengthPlaces returns the places that the lengths of input j have among the logarithms: its length in the kernel on
// all inputs, then its length in the shared kernel if it is an input of that kernel.
func (s *searchData) lengthPlaces(j int) []int {
	places := []int{atLength + j}
	if k := slices.Index(s.others, j); k >= 0 {
		places = append(places, s.layout.sharedLengths()+k)
	}

	return places
}

// fillCovariance sets the lower triangle of matrix to K + D, and allInputs and sharedInputs to its Matérn kernels.
// nugget is the run-to-run variance.
func (e *evidence) fillCovariance(c covariance, nugget float64) {
	n := e.n
	inputs := e.layout.inputs
	shared := e.layout.others > 0
	e.fillMatern(e.allInputs, c.amplitude, lists.Numbers(inputs), c.inverseSquares)
	if shared {
		e.fillMatern(e.sharedInputs, c.shared, e.others, c.sharedInverseSquares)
		e.withCurves(e.sharedInputs, c)
	}

	p := 0 // place in packed lists
	for i := range n {
		x := e.x[i*inputs : (i+1)*inputs]
		for k := range i + 1 {
			sum := c.constant
			for j, variance := range c.linear {
				sum += variance * x[j] * e.x[k*inputs+j]
			}

			if k < i {
				sum += e.allInputs.covariance[p]
				if shared {
					sum += e.sharedInputs.covariance[p]
				}

				p++
			} else {
				sum += (c.amplitude+c.shared+c.own)*selfCorrelation + e.noise[i] + nugget
			}

			e.matrix[i*n+k] = sum
		}
	}
}

// gradientSums are sums of elements of G, see addGradient. Sums over pairs leave out the diagonal.
type gradientSums struct {
	trace  float64
	below  float64 // over pairs: G
	all    float64 // over pairs: G times the kernel on all inputs
	shared float64 // over pairs: G times the shared kernel, with curves
	curves float64 // the part of shared by pairs of the same level
}

// addGradient adds ½ tr(G·∂(K + D)) to grad for each hyperparameter, where G is e.inverse − wwᵀ. It overwrites the
// slopes of the Matérn terms.
//
// G and ∂(K + D) are symmetric, so ½ tr is the sum over pairs i > k plus half the diagonal. A variance, the square
// of a hyperparameter, has twice the variance as derivative with respect to the hyperparameter's logarithm.
func (e *evidence) addGradient(grad []float64, c covariance, nugget float64) {
	inputs := e.layout.inputs
	first := e.layout.linear()
	sums := e.sumGradient(grad[first:first+inputs], c)

	grad[atConstant] += c.constant * (2*sums.below + sums.trace)
	grad[atNugget] += nugget * sums.trace
	grad[atAmplitude] += 2*sums.all + c.amplitude*selfCorrelation*sums.trace
	for j := range inputs {
		grad[atLength+j] += c.inverseSquares[j] * dot(e.allInputs.slope, e.squaredDifference[j])
	}

	if e.layout.others == 0 {
		return
	}

	if e.layout.curves {
		ofCurves := sums.curves * (c.own / (c.shared + c.own))
		sums.shared -= ofCurves
		grad[e.layout.own()] += 2*ofCurves + c.own*selfCorrelation*sums.trace
	}

	grad[e.layout.shared()] += 2*sums.shared + c.shared*selfCorrelation*sums.trace
	for i, j := range e.others {
		slope := dot(e.sharedInputs.slope, e.squaredDifference[j])
		grad[e.layout.sharedLengths()+i] += c.sharedInverseSquares[i] * slope
	}
}

// sumGradient returns the sums over G. It adds the derivatives by the slopes to linear, one for each input, and
// multiplies the slopes of the Matérn terms by G.
func (e *evidence) sumGradient(linear []float64, c covariance) gradientSums {
	var sums gradientSums
	n := e.n
	inputs := e.layout.inputs
	hasShared := e.layout.others > 0
	p := 0 // place in packed lists
	for i := range n {
		x := e.x[i*inputs : (i+1)*inputs]
		for k := range i {
			g := e.inverse[i*n+k] - e.weights[i]*e.weights[k]
			sums.below += g
			sums.all += g * e.allInputs.covariance[p]

			e.allInputs.slope[p] = g * e.allInputs.slope[p]
			if hasShared {
				sums.shared += g * e.sharedInputs.covariance[p]
				if e.sameLevel != nil && e.sameLevel[p] {
					sums.curves += g * e.sharedInputs.covariance[p]
				}

				e.sharedInputs.slope[p] = g * e.sharedInputs.slope[p]
			}

			for j, variance := range c.linear {
				linear[j] += 2 * variance * g * x[j] * e.x[k*inputs+j]
			}

			p++
		}

		g := e.inverse[i*n+i] - e.weights[i]*e.weights[i]
		sums.trace += g

		for j, variance := range c.linear {
			linear[j] += variance * g * x[j] * x[j]
		}
	}

	return sums
}

// dot returns the sum of the products of the elements of a and b.
func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Data: a, Inc: 1}, blas64.Vector{N: len(b), Data: b, Inc: 1})
}
