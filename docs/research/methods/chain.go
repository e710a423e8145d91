package methods

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// target is a density to sample: −ln of it up to a constant, with its gradient, and
// where a chain starts.
type target interface {
	value(z, grad []float64) float64
	start(ctx context.Context, r *rand.Rand) ([]float64, error)
	// metric is the upper Cholesky factor of a precision that resembles the density's at
	// places, one after the other.
	metric(places []float64) (blas64.Triangular, error)
}

// sampling are chains of Hamiltonian Monte Carlo, each with a seed of its own. The first
// transitions, five for every three draws, adapt step and metric.
type sampling struct {
	target        target
	seed          uint64
	chains, draws int
}

const (
	leapfrogs  = 500  // steps of a transition, times 0.7 to 1.3; an eighth until the metric is taken
	firstStep  = 0.1  // until it is adapted
	acceptance = 0.8  // that the step is adapted to
	divergence = 1000 // error of the energy above which a transition diverged
)

// chain is the state of one chain between two transitions.
type chain struct {
	T                   int       // transitions made
	Around, Seen        []float64 // places, one after the other: of the present metric, and of the next
	Z, G                []float64 // where it is, and the gradient there
	U                   float64
	First, Step, Bar, H float64 // dual averaging (Hoffman & Gelman 2014): ln μ, ln ε, its mean; the error
	Draws               []float64
	Accepted            float64 // sum of the probabilities of the draws
	Divergent           int     // of the draws
	random              *rand.Rand
	metric              blas64.Triangular
	z, grad, p, q       []float64
}

func (s sampling) adapting() int { return s.draws * 5 / 3 }

// run makes all transitions of all chains.
func (s sampling) run(ctx context.Context) ([]chain, error) {
	var chains []chain
	for k := range s.chains {
		c, err := s.begin(ctx, k)
		if err != nil {
			return nil, err
		}

		for c.T < s.adapting()+s.draws {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("stopped in transition %d of chain %d: %w", c.T+1, k+1, err)
			}

			c.transition(s.target, s.adapting())

			if c.T < s.adapting() {
				if err := c.remeasure(s.target, s.adapting()); err != nil {
					return nil, err
				}
			}
		}

		chains = append(chains, c)
	}

	return chains, nil
}

func (s sampling) begin(ctx context.Context, k int) (chain, error) {
	c := chain{Step: math.Log(firstStep), Bar: math.Log(firstStep), First: math.Log(10 * firstStep)}
	c.random = rand.New(rand.NewPCG(derive(s.seed, k), 0x686d63))

	var err error
	if c.Z, err = s.target.start(ctx, c.random); err != nil {
		return c, fmt.Errorf("start chain %d: %w", k+1, err)
	}

	c.Around, c.G = slices.Clone(c.Z), make([]float64, len(c.Z))
	if c.metric, err = s.target.metric(c.Around); err != nil {
		return c, fmt.Errorf("start chain %d: %w", k+1, err)
	}

	c.U = s.target.value(c.Z, c.G)
	if math.IsNaN(c.U) || math.IsInf(c.U, 0) {
		return c, fmt.Errorf("start chain %d: the energy is %g", k+1, c.U)
	}

	return c, nil
}

// derive gives the k-th chain its seed (splitmix64's finaliser).
func derive(seed uint64, k int) uint64 {
	z := seed + 0x9E3779B97F4A7C15*uint64(k+1)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// transition makes one transition of the chain. The first adapting ones adapt the step.
func (c *chain) transition(t target, adapting int) {
	n := len(c.Z)
	c.z, c.grad, c.p = append(c.z[:0], c.Z...), append(c.grad[:0], c.G...), c.p[:0]

	kinetic := 0.0
	for range n {
		p := c.random.NormFloat64()
		c.p = append(c.p, p)
		kinetic += p * p / 2
	}

	step := math.Exp(c.Step)
	if c.T >= adapting {
		step = math.Exp(c.Bar)
	}

	steps := int(leapfrogs * (0.7 + 0.6*c.random.Float64()))
	if c.T < adapting/2 {
		steps /= 8
	}

	u := c.U

	// Momenta are those of w, z = z0 + U⁻¹w, in which the density is about round.
	push := func(step float64) {
		c.q = append(c.q[:0], c.grad...)
		blas64.Trsv(blas.Trans, c.metric, vector(c.q))
		add(c.p, -step, c.q)
	}

	push(step / 2)

	for i := range steps {
		c.q = append(c.q[:0], c.p...)
		blas64.Trsv(blas.NoTrans, c.metric, vector(c.q))
		add(c.z, step, c.q)
		u = t.value(c.z, c.grad)

		if i < steps-1 {
			push(step)
		} else {
			push(step / 2)
		}

		if !(u-c.U < divergence+kinetic) {
			break // it will not come back; NaN ends here too
		}
	}

	energy := u
	for _, p := range c.p {
		energy += p * p / 2
	}

	gain := c.U + kinetic - energy

	a := 0.0
	if !math.IsNaN(gain) {
		a = math.Exp(min(gain, 0))
	}

	if c.random.Float64() < a {
		c.Z, c.z, c.G, c.grad, c.U = c.z, c.Z, c.grad, c.G, u
	}

	c.T++

	if c.T <= adapting {
		m := float64(c.T)
		if c.T > adapting/2 {
			m -= float64(adapting / 2)
		}

		c.H += (acceptance - a - c.H) / (m + 10)
		c.Step = c.First - math.Sqrt(m)/0.05*c.H
		w := math.Pow(m, -0.75)
		c.Bar += w * (c.Step - c.Bar)

		return
	}

	c.Draws = append(c.Draws, c.Z...)
	c.Accepted += a
	if !(gain > -divergence) {
		c.Divergent++
	}
}

// remeasure takes the metric anew in the middle of the transitions that adapt the chain,
// at places it has come to, and begins the adaptation of the step again.
func (c *chain) remeasure(t target, adapting int) (err error) {
	switch half := adapting / 2; {
	case c.T == half:
		c.Around = append(c.Seen, c.Z...)
		c.First, c.Step, c.H = c.Bar+math.Log(3), c.Bar, 0
		c.metric, err = t.metric(c.Around)

	case c.T < half && c.T > half/3 && c.T%max(1, half/6) == 0:
		c.Seen = append(c.Seen, c.Z...)
	}

	return err
}

// add adds s·v to dst.
func add(dst []float64, s float64, v []float64) {
	for i, x := range v {
		dst[i] += float64(s * x)
	}
}

// sampled tells how far sampled numbers can be trusted, the worst of all predictions
// asked for together.
type sampled struct {
	rhat       float64 // largest split R̂ of a mean (Gelman et al. 2013): 1 where all halves of all chains agree
	ess        float64 // smallest number of independent draws worth as much
	acceptance float64 // mean probability of accepting a transition
	divergent  float64 // share of transitions that left the energy's level
}

// Limits of sampled.
const (
	mostRHat        = 1.05
	leastESS        = 100
	mostDivergent   = 0.01
	leastAcceptance = 0.6
)

// maxRHat is R̂ where it is larger or infinite.
const maxRHat = 1000

// doubts lists what fails, in words; none where the chains have converged as far as
// these numbers can tell.
func (s sampled) doubts() (out []string) {
	fails := func(is bool, format string, a ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}

	fails(!(s.rhat <= mostRHat), "the chains disagree: R̂ is %.3g, above %g", s.rhat, mostRHat)
	fails(!(s.ess >= leastESS), "%.0f independent draws are fewer than %d", s.ess, leastESS)
	fails(!(s.divergent <= mostDivergent), "%.2g %% of the transitions diverged", 100*s.divergent)
	fails(!(s.acceptance >= leastAcceptance), "%.0f %% of the transitions were accepted, fewer than %g %%",
		100*s.acceptance, 100*leastAcceptance)

	return out
}

// summary starts the diagnosis of predictions.
func (p *hmcPredictor) summary() *sampled {
	s := &sampled{ess: math.Inf(1)}
	for _, c := range p.chain {
		n := float64(len(p.chain) * (len(c.Draws) / p.net.weights))
		s.acceptance += c.Accepted / n
		s.divergent += float64(c.Divergent) / n
	}

	return s
}

// add returns mean and variance of a quantity of which every chain has a series, and
// keeps the worst of their diagnoses.
func (s *sampled) add(series [][]float64) (mean, variance float64) {
	var all []float64
	for _, c := range series {
		all = append(all, c...)
	}

	mean, variance = meanVariance(all)
	rhat, ess := diagnose(series)
	s.rhat, s.ess = max(s.rhat, rhat), min(s.ess, ess)

	return mean, variance
}

func meanVariance(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}

	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v)-1)
	}

	return mean, variance
}

// diagnose returns split R̂ and the effective number of draws (Gelman et al. 2013,
// section 11.4 and 11.5; Geyer's initial monotone sequence), both from the halves of the
// chains.
func diagnose(series [][]float64) (rhat, ess float64) {
	var halves [][]float64
	for _, c := range series {
		h := len(c) / 2
		halves = append(halves, c[:h], c[len(c)-h:])
	}

	m, n := float64(len(halves)), float64(len(halves[0]))

	means, within := make([]float64, len(halves)), 0.0
	for i, h := range halves {
		v := 0.0
		means[i], v = meanVariance(h)
		within += v / m
	}

	_, between := meanVariance(means)
	pooled := within*(n-1)/n + between

	if !(within > 0) {
		return maxRHat, 0 // nothing moves
	}

	// Correlation at a lag; pairs of neighbours are positive and fall until noise.
	at := func(lag int) float64 {
		sum := 0.0
		for i, h := range halves {
			for k, x := range h[:len(h)-lag] {
				sum += (x - means[i]) * (h[k+lag] - means[i])
			}
		}

		return 1 - (within-sum/(m*n))/pooled
	}

	last, time := math.Inf(1), -1.0
	for lag := 0; lag+1 < len(halves[0]); lag += 2 {
		p := at(lag) + at(lag+1)
		if p <= 0 {
			break
		}

		last = min(last, p)
		time += 2 * last
	}

	total := m * n

	return min(math.Sqrt(pooled/within), maxRHat), min(total/max(time, 1/math.Log10(total)), total*math.Log10(total))
}
