package scale

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Known is the distance of a thing that was measured: its claim holds as it is.
const Known = 0

// Predictor makes intervals for new groups. It is safe for concurrent use.
type Predictor struct {
	s      *Scale
	shapes []component
	kappa  []float64
	weight []float64 // of each κ
}

// component are the values of λ of one shape that have a weight.
type component struct {
	shape          Shape
	lambda, weight []float64
	mean           float64 // Σ weight·λ
}

// negligible is the weight below which a λ is left out of intervals.
const negligible = 1e-10

// Predictor prepares predictions.
func (s *Scale) Predictor() *Predictor {
	p := &Predictor{s: s}
	p.kappa, p.weight = s.Noise.atoms()
	for shape, weights := range s.Weights {
		c := component{shape: Shape(shape)}
		for k, w := range weights {
			if w > negligible {
				c.lambda, c.weight = append(c.lambda, gridLambda[k]), append(c.weight, w)
				c.mean += w * gridLambda[k]
			}
		}

		if len(c.lambda) > 0 {
			p.shapes = append(p.shapes, c)
		}
	}

	return p
}

// Mixture is the law of one new measurement about the predicted mean: normal laws with
// these variances and weights. It is not safe for concurrent use.
type Mixture struct {
	variance, weight []float64
	epistemic, noise float64
	merged           []merged

	root, norm []float64 // √2v and √2πv of each law
}

// At returns the law at a condition where the model claims v̂ and states the noise σ²,
// with the distance d to the measured groups; 1 for labels, Known for a thing among them. Variances are in units of
// the training outcomes' variance; a negative noise is none. m is used again.
func (p *Predictor) At(m *Mixture, claim, distance, noise float64) {
	p.Moments(m, claim, distance, noise)
	p.law(m, p.s.claim(claim), distance, max(noise, 0))
}

// Moments sets Epistemic and Uncertainty of the law alone.
func (p *Predictor) Moments(m *Mixture, claim, distance, noise float64) {
	m.epistemic, m.noise = 0, 0
	for i, kappa := range p.kappa {
		m.noise += p.weight[i] * kappa * max(noise, 0)
	}

	if distance == Known {
		m.epistemic = p.s.claim(claim)
		return
	}

	for _, c := range p.shapes {
		m.epistemic += c.mean * p.s.of(c.shape, p.s.claim(claim), distance)
	}
}

// law sets the law at a claim as the shapes take it.
func (p *Predictor) law(m *Mixture, claim, distance, noise float64) {
	m.variance, m.weight = m.variance[:0], m.weight[:0]
	if distance == Known {
		for i, kappa := range p.kappa {
			m.variance, m.weight = append(m.variance, claim+kappa*noise), append(m.weight, p.weight[i])
		}

		return
	}

	for _, c := range p.shapes {
		q := p.s.of(c.shape, claim, distance)
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

// Components returns the laws that a prediction consists of, for programs that make it
// themselves: its variance is Σ_k λ_k·q + κ_k·σ².
func (p *Predictor) Components() (list []Component) {
	for _, c := range p.shapes {
		for k, lambda := range c.lambda {
			for i, kappa := range p.kappa {
				list = append(list, Component{c.shape, lambda, kappa, c.weight[k] * p.weight[i]})
			}
		}
	}

	return list
}

// Component is one normal law of a mixture.
type Component struct {
	Shape                 Shape
	Lambda, Kappa, Weight float64
}

// merged are laws of nearly equal variances.
type merged struct{ weight, sum float64 }

// mergedBits is the number of bits of a variance's mantissa by which laws are merged.
const mergedBits = 5

// merge replaces laws whose variances agree to 3 % by one with their mean variance.
func (m *Mixture) merge() {
	bin := func(v float64) int { return int(math.Float64bits(v) >> (52 - mergedBits)) }
	smallest, largest := math.Inf(1), 0.0
	for _, v := range m.variance {
		if !(v <= math.MaxFloat64) {
			return // of predictions that are not finite
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

	m.variance, m.weight = m.variance[:0], m.weight[:0]
	for _, b := range m.merged {
		if b.weight > 0 {
			m.variance, m.weight = append(m.variance, b.sum/b.weight), append(m.weight, b.weight)
		}
	}
}

// Epistemic is the variance of the mean.
func (m *Mixture) Epistemic() float64 { return m.epistemic }

// Uncertainty is the standard uncertainty of one new measurement.
func (m *Mixture) Uncertainty() float64 { return math.Sqrt(m.epistemic + m.noise) }

// Coverage is the factor of Uncertainty that gives the half width at the level.
func (m *Mixture) Coverage(level float64) float64 { return m.Half(level) / m.Uncertainty() }

// Half is the half width of the central interval that has a probability of level. It is
// found by bisection, with Newton's steps where they stay within the bounds.
func (m *Mixture) Half(level float64) float64 {
	smallest, largest, mass := math.Inf(1), 0.0, 0.0
	for k, v := range m.variance {
		smallest, largest, mass = min(smallest, v), max(largest, v), mass+m.weight[k]
	}

	z := NormalQuantile(level)
	low, high := z*math.Sqrt(smallest), z*math.Sqrt(largest)
	outside := (1 - level) / 2 * mass

	m.root, m.norm = m.root[:0], m.norm[:0]
	for _, v := range m.variance {
		m.root, m.norm = append(m.root, math.Sqrt(2*v)), append(m.norm, math.Sqrt(2*math.Pi*v))
	}

	h := min(max(z*m.Uncertainty(), low), high)
	for range 100 {
		tail, density := m.tail(h)
		if tail > outside {
			low = h
		} else {
			high = h
		}

		next := h + (tail-outside)/density
		if !(next > low && next < high) {
			next = (low + high) / 2
		}

		if math.Abs(next-h) <= 1e-9*h || high-low <= 1e-9*high {
			return next
		}

		h = next
	}

	return h
}

// CRPS is the continuous ranked probability score of the law at a deviation r of the value
// from the mean (Grimit et al. 2006, eq. 5). dispersion is that of the law.
func (m *Mixture) CRPS(r, dispersion float64) float64 {
	sum := 0.0
	for k, v := range m.variance {
		sum += m.weight[k] * absolute(r, v)
	}

	return sum - dispersion
}

// Dispersion is half of the mean difference of two values of the law.
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

// absolute is the mean of |X − r| of a normal X about 0.
func absolute(r, variance float64) float64 {
	sd := math.Sqrt(variance)
	z := r / sd

	return r*math.Erf(z/math.Sqrt2) + 2*sd*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

// NormalQuantile is the half width of the central interval of the standard normal law.
func NormalQuantile(level float64) float64 { return distuv.UnitNormal.Quantile((1 + level) / 2) }

// tail is the mass above h, and its derivative with opposite sign.
func (m *Mixture) tail(h float64) (mass, density float64) {
	for k, root := range m.root {
		if x := h / root; !(x > 6.5) { // beyond is below 1e-19
			mass += m.weight[k] * math.Erfc(x) / 2
			density += m.weight[k] * math.Exp(-x*x) / m.norm[k]
		}
	}

	return mass, density
}
