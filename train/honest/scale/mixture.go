package scale

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// This file turns a Scale into laws of new measurements, and laws into intervals. A law is a mixture: for each value of
// λ and κ on their grids it has a normal law, whose weight is the probability of these values.

// Known is the distance of a thing that was measured: the claim of the model is then its epistemic variance.
const Known = 0

// Predictor returns the laws of new measurements. It is safe for concurrent use.
type Predictor struct {
	s      *Scale
	shapes []component
	kappa  []float64 // values of the noise's factor κ
	weight []float64 // probability of each κ
}

// component holds, for one shape, the values of λ whose weights are not negligible.
type component struct {
	shape  Shape
	lambda []float64
	weight []float64 // of each λ
	mean   float64   // Σ weight·λ
}

// negligible is the weight up to which a λ is left out of intervals.
const negligible = 1e-10

// counts reports whether a weight is not negligible.
func counts(weight float64) bool { return weight > negligible }

// Predictor returns the predictor of s.
func (s *Scale) Predictor() *Predictor {
	p := &Predictor{s: s}
	p.kappa, p.weight = s.Noise.atoms()
	for shape, weights := range s.Weights {
		c := component{shape: Shape(shape)}
		for k, w := range weights {
			if counts(w) {
				c.lambda = append(c.lambda, gridLambda[k])
				c.weight = append(c.weight, w)
				c.mean += w * gridLambda[k]
			}
		}

		if len(c.lambda) > 0 {
			p.shapes = append(p.shapes, c)
		}
	}

	return p
}

// Mixture is the law of the deviation of one new measurement from the predicted mean: a mixture of normal laws about
// 0, in units of the deviation of the training outcomes. Its methods keep intermediate results in it, so that it is
// not safe for concurrent use.
type Mixture struct {
	variance  []float64 // of each normal law
	weight    []float64 // of each normal law
	epistemic float64   // variance of the mean
	noise     float64   // variance of a measurement

	// Intermediate results:
	merged []merged  // of merge
	root   []float64 // of Half: √(2v) of each law of variance v
	norm   []float64 // of Half: √(2πv) of each law of variance v
}

// SetLaw sets m to the law at a condition with the given claim v̂ and noise σ² of the model, and the given distance d
// to the measured groups: 1 for labels, and Known for a thing that was measured. Variances are in units of the variance
// of the training outcomes. A negative noise counts as 0.
func (p *Predictor) SetLaw(m *Mixture, claim, distance, noise float64) {
	p.Moments(m, claim, distance, noise)
	p.setLaws(m, p.s.claim(claim), distance, max(noise, 0))
}

// Moments sets the numbers of m that Epistemic and Uncertainty return, but not its law.
func (p *Predictor) Moments(m *Mixture, claim, distance, noise float64) {
	m.epistemic = 0
	m.noise = 0
	for i, kappa := range p.kappa {
		m.noise += p.weight[i] * kappa * max(noise, 0)
	}

	if distance == Known {
		m.epistemic = p.s.claim(claim)
		return
	}

	for _, c := range p.shapes {
		m.epistemic += c.mean * p.s.quantity(c.shape, p.s.claim(claim), distance)
	}
}

// setLaws sets the normal laws of m. claim is the result of Scale.claim, and noise is not negative.
func (p *Predictor) setLaws(m *Mixture, claim, distance, noise float64) {
	m.variance = m.variance[:0]
	m.weight = m.weight[:0]
	if distance == Known {
		for i, kappa := range p.kappa {
			m.variance = append(m.variance, claim+kappa*noise)
			m.weight = append(m.weight, p.weight[i])
		}

		return
	}

	for _, c := range p.shapes {
		q := p.s.quantity(c.shape, claim, distance)
		for k, lambda := range c.lambda {
			for i, kappa := range p.kappa {
				m.variance = append(m.variance, lambda*q+kappa*noise)
				m.weight = append(m.weight, c.weight[k]*p.weight[i])
			}
		}
	}

	if len(p.kappa) > 1 {
		m.merge()
	}
}

// Components returns the normal laws of a prediction, for programs that compute intervals themselves.
func (p *Predictor) Components() []Component {
	var list []Component
	for _, c := range p.shapes {
		for k, lambda := range c.lambda {
			for i, kappa := range p.kappa {
				list = append(list, Component{c.shape, lambda, kappa, c.weight[k] * p.weight[i]})
			}
		}
	}

	return list
}

// Component is one normal law of a mixture. Its variance is Lambda·q + Kappa·σ², with q of the shape.
type Component struct {
	Shape                 Shape
	Lambda, Kappa, Weight float64
}

// merged is the sum of laws of nearly equal variances.
type merged struct {
	weight float64 // sum of their weights
	sum    float64 // sum of weight·variance
}

// Variances are merged if their exponents and the first mergedBits of their mantissas are equal: they then agree to 3
// %.
const (
	mergedBits   = 5
	mantissaBits = 52
)

// merge replaces laws whose variances agree to 3 % by one law with their mean variance. It does nothing if a variance
// is not finite.
func (m *Mixture) merge() {
	smallest := math.Inf(1)
	largest := 0.0
	for _, v := range m.variance {
		if !(v <= math.MaxFloat64) { // infinite or NaN
			return
		}

		if v < smallest {
			smallest = v
		}

		if v > largest {
			largest = v
		}
	}

	first := bin(smallest)
	n := bin(largest) - first + 1
	m.merged = slices.Grow(m.merged[:0], n)[:n]
	clear(m.merged)

	for k, v := range m.variance {
		b := &m.merged[bin(v)-first]
		b.weight += m.weight[k]
		b.sum += m.weight[k] * v
	}

	m.variance = m.variance[:0]
	m.weight = m.weight[:0]
	for _, b := range m.merged {
		if b.weight > 0 {
			m.variance = append(m.variance, b.sum/b.weight)
			m.weight = append(m.weight, b.weight)
		}
	}
}

// bin returns a number that is the same for variances that merge joins, and ascends with the variance.
func bin(v float64) int { return int(math.Float64bits(v) >> (mantissaBits - mergedBits)) }

// Epistemic returns the variance of the mean.
func (m *Mixture) Epistemic() float64 { return m.epistemic }

// Uncertainty returns the standard uncertainty of one new measurement.
func (m *Mixture) Uncertainty() float64 { return math.Sqrt(m.epistemic + m.noise) }

// Coverage returns the coverage factor of a level: the half width over the standard uncertainty.
func (m *Mixture) Coverage(level float64) float64 { return m.Half(level) / m.Uncertainty() }

// Accuracy of Half.
const (
	halfSteps     = 100  // largest number of steps
	halfTolerance = 1e-9 // relative error of the half width
)

// Half returns the half width of the central interval that has a probability of level, from 0 to 1. It finds the half
// width by Newton's steps, and by bisection if a step would leave the bounds.
func (m *Mixture) Half(level float64) float64 {
	smallest := math.Inf(1)
	largest := 0.0
	mass := 0.0
	m.root = m.root[:0]
	m.norm = m.norm[:0]
	for k, v := range m.variance {
		smallest = min(smallest, v)
		largest = max(largest, v)
		mass += m.weight[k]
		m.root = append(m.root, math.Sqrt(2*v))
		m.norm = append(m.norm, math.Sqrt(2*math.Pi*v))
	}

	// The half width of a mixture lies between the half widths of its narrowest and its widest law.
	z := NormalQuantile(level)
	low := z * math.Sqrt(smallest)
	high := z * math.Sqrt(largest)
	outside := (1 - level) / 2 * mass // probability above the interval

	half := min(max(z*m.Uncertainty(), low), high)
	for range halfSteps {
		tail, density := m.tail(half)
		if tail > outside {
			low = half
		} else {
			high = half
		}

		next := half + (tail-outside)/density
		if !(next > low && next < high) {
			next = (low + high) / 2
		}

		if math.Abs(next-half) <= halfTolerance*half || high-low <= halfTolerance*high {
			return next
		}

		half = next
	}

	return half
}

// Inside returns the probability that a value deviates from the mean by at most r, which is not negative.
func (m *Mixture) Inside(r float64) float64 {
	inside := 0.0
	mass := 0.0 // of all laws; negligible laws are left out, so it may be less than 1
	for k, v := range m.variance {
		inside += m.weight[k] * math.Erf(r/math.Sqrt(2*v))
		mass += m.weight[k]
	}

	return inside / mass
}

// CRPS returns the continuous ranked probability score of the law if the value deviates by r from the mean (Grimit et
// al. 2006, equation 5). dispersion is the result of Dispersion for this law.
func (m *Mixture) CRPS(r, dispersion float64) float64 {
	sum := 0.0
	for k, v := range m.variance {
		sum += m.weight[k] * absolute(r, v)
	}

	return sum - dispersion
}

// Dispersion returns half of the mean absolute difference of two independent values of the law. It merges the laws of
// m.
func (m *Mixture) Dispersion() float64 {
	m.merge()

	sum := 0.0
	for i, a := range m.variance {
		for k, b := range m.variance[:i] {
			sum += m.weight[i] * m.weight[k] * math.Sqrt(a+b)
		}

		sum += m.weight[i] * m.weight[i] * math.Sqrt(2*a) / 2
	}

	return sum * math.Sqrt(2/math.Pi)
}

// absolute returns the mean of |X − r| for a normal X about 0 with the given variance.
func absolute(r, variance float64) float64 {
	sd := math.Sqrt(variance)
	z := r / sd

	return r*math.Erf(z/math.Sqrt2) + 2*sd*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

// NormalQuantile returns the half width of the central interval of the standard normal law that has a probability of
// level.
func NormalQuantile(level float64) float64 { return distuv.UnitNormal.Quantile((1 + level) / 2) }

// farTail is the distance, over √2 deviations, beyond which the tail of a normal law is less than 1e-19.
const farTail = 6.5

// tail returns the probability above h, and the density at h. It needs root and norm.
func (m *Mixture) tail(h float64) (mass, density float64) {
	for k, root := range m.root {
		x := h / root
		if x > farTail {
			continue
		}

		mass += m.weight[k] * math.Erfc(x) / 2
		density += m.weight[k] * math.Exp(-x*x) / m.norm[k]
	}

	return mass, density
}
