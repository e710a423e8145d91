package honest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"doubletake/train/triplets"
)

// Network is a trained network: mean and variance of the outcomes at
// standardised inputs x (rows of all inputs), row-major. *train.Model is one.
type Network interface {
	Predict(x []float64) (mu, variance []float64)
}

// Claimer is a Network that states an epistemic variance itself: that of its mean at
// standardised inputs x, contained in the variance of Predict. A negative one counts
// as 0.
type Claimer interface {
	Claim(ctx context.Context, x []float64) ([]float64, error)
}

// TrainFunc trains a network on standardised pairs. It must not standardise them
// again, and its result may depend on data and seed only.
type TrainFunc func(ctx context.Context, d triplets.Set, seed uint64) (Network, error)

// Ensemble is a base of several networks whose means disagree where they know
// little. With Prior, each member is the sum of a trained network and a fixed
// random function of size Prior (Osband, Aslanides & Cassirer 2018): away from
// the data the members keep the spread of these functions.
type Ensemble struct {
	Members int     // default 5, with Signed 6; at least 2 unless Claims is set
	Claims  bool    // the networks are Claimers
	Prior   float64 // factor of the random functions in standardised units; 0: none
	Signed  bool    // members in pairs with opposite random functions, which cancel in the mean
	Seed    uint64
	Train   TrainFunc
}

// Sizes of the random functions: tanh networks with two hidden layers.
const (
	priorWidth = 64
	priorGain  = 1.5 // deviation of the weights behind the first layer, times √fan-in
)

// Fit trains the members on d, one after the other. Inputs and outcomes are
// standardised on d; inputs that are constant there are dropped.
func (e Ensemble) Fit(ctx context.Context, d triplets.Set) (*EnsembleModel, error) {
	d = checked(d)

	if e.Members == 0 {
		e.Members = 5
		if e.Signed {
			e.Members = 6
		}
	}

	if e.Members < 1 || e.Members < 2 && !e.Claims || e.Signed && e.Members%2 != 0 {
		return nil, fmt.Errorf("fit ensemble: expected at least 2 members, an even number with signed priors, found %d",
			e.Members)
	}

	if d.N == 0 {
		return nil, errors.New("fit ensemble: there are no training rows")
	}

	rows := all(d.N)
	p := &EnsembleModel{in: d.In, out: d.Out, seed: e.Seed, columns: VaryingInputs(d.X, d.In, rows)}
	if len(p.columns) == 0 {
		return nil, fmt.Errorf("fit ensemble: no input varies over the %d training rows", d.N)
	}

	// The scale of an input is that of a pair whose outcomes are equal.
	x := triplets.Set{N: d.N, Out: d.In, Y1: d.X, Y2: d.X}
	p.xMean, p.xStd = spread(x, rows, nil)
	p.yMean, p.yStd = spread(d, rows, d.Weight)
	for j, s := range p.yStd {
		if !(s > 0) {
			return nil, fmt.Errorf("fit ensemble: outcome column %d is constant (%g): there is nothing to learn",
				j, p.yMean[j])
		}
	}

	z := triplets.Set{
		N: d.N, In: len(p.columns), Out: d.Out, X: p.standardise(d.X), Run: d.Run, Weight: d.Weight,
	}
	for k := range e.Members {
		m := member{sign: e.Prior, source: k}
		if e.Signed {
			m.source = k / 2 * 2
			if k%2 != 0 {
				m.sign = -m.sign
			}
		}

		m.draw(e.Seed, len(p.columns), d.Out)
		f := m.function(z.X, d.N*d.Out)
		z.Y1, z.Y2 = make([]float64, len(f)), make([]float64, len(f))
		for i, v := range f {
			j := i % d.Out
			z.Y1[i] = (d.Y1[i]-p.yMean[j])/p.yStd[j] - v
			z.Y2[i] = (d.Y2[i]-p.yMean[j])/p.yStd[j] - v
		}

		var err error
		if m.network, err = e.Train(ctx, z, rand.New(rand.NewPCG(e.Seed, uint64(k)<<1)).Uint64()); err != nil {
			return nil, fmt.Errorf("fit ensemble member %d of %d: %w", k+1, e.Members, err)
		}

		p.members = append(p.members, m)
	}

	return p, nil
}

// EnsembleModel is a trained Ensemble. It is safe for concurrent use if its
// networks are.
type EnsembleModel struct {
	in, out                  int
	seed                     uint64
	columns                  []int
	xMean, xStd, yMean, yStd []float64
	members                  []member
}

type member struct {
	network Network
	prior   *prior // nil: none
	sign    float64
	source  int // number of the random function
}

// draw makes the member's random function, unless its factor is 0.
func (m *member) draw(seed uint64, in, out int) {
	if m.sign != 0 {
		m.prior = newPrior(rand.New(rand.NewPCG(seed, uint64(m.source)<<1|1)), in, out)
	}
}

// Members is the number of networks.
func (e *EnsembleModel) Members() int { return len(e.members) }

func (e *EnsembleModel) standardise(x []float64) []float64 {
	var z []float64
	for i := 0; i < len(x); i += e.in {
		for _, j := range e.columns {
			z = append(z, (x[i+j]-e.xMean[j])/e.xStd[j])
		}
	}

	return z
}

// Predict returns the mean of the members' means, their sample variance, and the
// mean of the variances they state. What a Claimer claims is added to the variance
// of the means, and taken out of the noise.
func (e *EnsembleModel) Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error) {
	if len(x)%e.in != 0 {
		panic(fmt.Sprintf("honest: %d numbers are not rows of %d inputs", len(x), e.in))
	}

	z := e.standardise(x)
	n := len(x) / e.in * e.out
	mu, claim, noise = make([]float64, n), make([]float64, n), make([]float64, n)
	count := float64(len(e.members))

	var means [][]float64
	for _, m := range e.members {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, fmt.Errorf("predict with ensemble: %w", err)
		}

		f := m.function(z, n)
		a, v := m.network.Predict(z)

		own := make([]float64, n)
		if c, ok := m.network.(Claimer); ok {
			if own, err = c.Claim(ctx, z); err != nil {
				return nil, nil, nil, fmt.Errorf("predict with ensemble: %w", err)
			}
		}

		for i := range f {
			f[i] += a[i]
			mu[i] += f[i] / count
			claim[i] += max(own[i], 0) / count
			noise[i] += max(v[i]-max(own[i], 0), 0) / count
		}

		means = append(means, f)
	}

	for _, f := range means {
		for i := range f {
			if count == 1 {
				break
			}
			claim[i] += (f[i] - mu[i]) * (f[i] - mu[i]) / (count - 1)
		}
	}

	for i := range mu {
		j := i % e.out
		s := e.yStd[j]
		mu[i] = mu[i]*s + e.yMean[j]
		claim[i] *= s * s
		noise[i] *= s * s
	}

	return mu, claim, noise, nil
}

// EnsembleFormat and EnsembleVersion identify the JSON form of an EnsembleModel.
const (
	EnsembleFormat  = "doubletake-ensemble"
	EnsembleVersion = 1
)

type storedEnsemble struct {
	Format   string         `json:"format"`
	Version  int            `json:"version"`
	Inputs   int            `json:"inputs"`
	Outcomes int            `json:"outcomes"`
	Seed     uint64         `json:"seed"`    // of the random functions
	Columns  []int          `json:"columns"` // inputs that the networks take
	XMean    []float64      `json:"input_mean"`
	XStd     []float64      `json:"input_std"`
	YMean    []float64      `json:"outcome_mean"`
	YStd     []float64      `json:"outcome_std"`
	Members  []storedMember `json:"members"`
}

type storedMember struct {
	Network json.RawMessage `json:"network"`
	Sign    float64         `json:"random_factor"`
	Source  int             `json:"random_source"`
}

// MarshalJSON writes the scales and the networks in their own JSON form.
func (e *EnsembleModel) MarshalJSON() ([]byte, error) {
	s := storedEnsemble{
		Format: EnsembleFormat, Version: EnsembleVersion, Inputs: e.in, Outcomes: e.out, Seed: e.seed, Columns: e.columns,
		XMean: e.xMean, XStd: e.xStd, YMean: e.yMean, YStd: e.yStd,
	}

	for _, m := range e.members {
		b, err := json.Marshal(m.network)
		if err != nil {
			return nil, fmt.Errorf("encode ensemble: %w", err)
		}

		s.Members = append(s.Members, storedMember{b, m.sign, m.source})
	}

	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote and checks that it is complete.
func (e *EnsembleModel) UnmarshalJSON(data []byte) error {
	var s storedEnsemble
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode ensemble: %w", err)
	}

	if s.Format != EnsembleFormat || s.Version != EnsembleVersion {
		return fmt.Errorf("decode ensemble: expected format %q version %d, found %q version %d", EnsembleFormat,
			EnsembleVersion, s.Format, s.Version)
	}

	in := len(s.Columns)
	if s.Inputs < 1 || s.Outcomes < 1 || in < 1 || len(s.Members) < 1 || len(s.XMean) != s.Inputs ||
		len(s.XStd) != s.Inputs || len(s.YMean) != s.Outcomes || len(s.YStd) != s.Outcomes {
		return fmt.Errorf("decode ensemble: expected members and scales for %d inputs and %d outcomes", s.Inputs,
			s.Outcomes)
	}

	for _, j := range s.Columns {
		if j < 0 || j >= s.Inputs {
			return fmt.Errorf("decode ensemble: expected columns below %d, found %d", s.Inputs, j)
		}
	}

	read := EnsembleModel{
		in: s.Inputs, out: s.Outcomes, seed: s.Seed, columns: s.Columns, xMean: s.XMean, xStd: s.XStd, yMean: s.YMean,
		yStd: s.YStd,
	}

	for k, m := range s.Members {
		n, err := ReadNetwork(m.Network, in, s.Outcomes)
		if err != nil {
			return fmt.Errorf("decode ensemble member %d: %w", k+1, err)
		}

		r := member{network: n, sign: m.Sign, source: m.Source}
		r.draw(s.Seed, in, s.Outcomes)
		read.members = append(read.members, r)
	}

	*e = read

	return nil
}

// function returns the member's random function at rows z, n numbers.
func (m member) function(z []float64, n int) []float64 {
	f := make([]float64, n)
	if m.prior != nil {
		for i, v := range m.prior.at(z) {
			f[i] = m.sign * v
		}
	}

	return f
}

// prior is a random tanh network. Weights are rows of the inputs of a layer.
type prior struct {
	sizes   []int
	weights [][]float64
	biases  [][]float64
}

// newPrior draws weights and biases of the first layer from N(0, 1), weights
// behind it with the deviation 1.5/√fan-in; the last layer has no bias.
func newPrior(rng *rand.Rand, in, out int) *prior {
	p := &prior{sizes: []int{in, priorWidth, priorWidth, out}}
	for l := range 3 {
		w, b := make([]float64, p.sizes[l]*p.sizes[l+1]), make([]float64, p.sizes[l+1])

		s := 1.0
		if l > 0 {
			s = priorGain / math.Sqrt(float64(p.sizes[l]))
		}

		for i := range w {
			w[i] = s * rng.NormFloat64()
		}

		for i := range b {
			if l < 2 {
				b[i] = rng.NormFloat64()
			}
		}

		p.weights, p.biases = append(p.weights, w), append(p.biases, b)
	}

	return p
}

func (p *prior) at(z []float64) []float64 {
	in, out := p.sizes[0], p.sizes[3]
	result := make([]float64, 0, len(z)/in*out)
	for i := 0; i < len(z); i += in {
		h := z[i : i+in]
		for l, w := range p.weights {
			next := append([]float64(nil), p.biases[l]...)
			for a, v := range h {
				for b := range next {
					next[b] += v * w[a*len(next)+b]
				}
			}

			if l < 2 {
				for b, v := range next {
					next[b] = math.Tanh(v)
				}
			}

			h = next
		}

		result = append(result, h...)
	}

	return result
}
