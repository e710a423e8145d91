package honest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"doubletake/internal/lists"
	"doubletake/train"
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
// little.
type Ensemble struct {
	Members int  // default 5; at least 2 unless Claims is set
	Claims  bool // the networks are Claimers
	Seed    uint64
	Train   TrainFunc
}

// Fit trains the members on d, one after the other. Inputs and outcomes are
// standardised on d; inputs that are constant there are dropped.
func (e Ensemble) Fit(ctx context.Context, d triplets.Set) (*EnsembleModel, error) {
	d = checked(d)
	p, err := e.Untrained(d)
	if err != nil {
		return nil, err
	}

	y := triplets.Scale{Mean: p.YMean, Std: p.YStd}
	z := triplets.Set{
		N: d.N, In: len(p.Columns), Out: d.Out, X: p.standardise(d.X), Run: d.Run, Weight: d.Weight, Alone: d.Alone,
		Y1: y.Standardise(d.Y1), Y2: y.Standardise(d.Y2),
	}
	for k := range e.Members {
		m, err := e.Train(ctx, z, rand.New(rand.NewPCG(e.Seed, uint64(k)<<1)).Uint64())
		if err != nil {
			return nil, fmt.Errorf("fit ensemble member %d of %d: %w", k+1, e.Members, err)
		}

		p.Members = append(p.Members, Member{Network: m, Source: k})
	}

	return p, nil
}

// Untrained returns the ensemble on d without its members, or the error of one that cannot be trained.
func (e *Ensemble) Untrained(d triplets.Set) (*EnsembleModel, error) {
	e.Members = cmp.Or(e.Members, 5)
	if e.Members < 1 || e.Members < 2 && !e.Claims {
		return nil, fmt.Errorf("fit ensemble: expected at least 2 members, found %d", e.Members)
	}

	if d.N == 0 {
		return nil, errors.New("fit ensemble: there are no training rows")
	}

	rows := lists.Numbers(d.N)
	p := &EnsembleModel{
		Format: EnsembleFormat, Version: EnsembleVersion, Inputs: d.In, Outcomes: d.Out, Seed: e.Seed,
		Columns: VaryingInputs(d.X, d.In, rows),
	}
	if len(p.Columns) == 0 {
		return nil, fmt.Errorf("fit ensemble: no input varies over the %d training rows", d.N)
	}

	// The scale of an input is that of a pair whose outcomes are equal.
	p.XMean, p.XStd = spread(triplets.Set{N: d.N, Out: d.In, Y1: d.X, Y2: d.X}, rows, nil)
	p.YMean, p.YStd = spread(d, rows, d.Weight)
	for j, s := range p.YStd {
		if !(s > 0) {
			return nil, fmt.Errorf("fit ensemble: outcome column %d is constant (%g): there is nothing to learn",
				j, p.YMean[j])
		}
	}

	return p, nil
}

// EnsembleFormat and EnsembleVersion identify the JSON form of an EnsembleModel.
const (
	EnsembleFormat  = "doubletake-ensemble"
	EnsembleVersion = 1
)

// EnsembleModel is a trained Ensemble, as its file has it. It is safe for concurrent use if its
// networks are.
type EnsembleModel struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Inputs   int       `json:"inputs"`
	Outcomes int       `json:"outcomes"`
	Seed     uint64    `json:"seed"`
	Columns  []int     `json:"columns"` // inputs that the networks take
	XMean    []float64 `json:"input_mean"`
	XStd     []float64 `json:"input_std"`
	YMean    []float64 `json:"outcome_mean"`
	YStd     []float64 `json:"outcome_std"`
	Members  []Member  `json:"members"`
}

// Member is a network of an ensemble.
type Member struct {
	Network Network `json:"network"`
	Factor  float64 `json:"random_factor"` // of the random functions that members of 0.1.0 could have; 0: none
	Source  int     `json:"random_source"` // number of the member
}

// kind names the kind of the networks.
func (e *EnsembleModel) kind() string {
	if _, ok := e.Members[0].Network.(PairNetwork); ok {
		return fmt.Sprintf("pair networks of %d", len(e.Members))
	}
	return fmt.Sprintf("ensemble of %d", len(e.Members))
}

func (e *EnsembleModel) standardise(x []float64) []float64 {
	var z []float64
	for i := 0; i < len(x); i += e.Inputs {
		for _, j := range e.Columns {
			z = append(z, (x[i+j]-e.XMean[j])/e.XStd[j])
		}
	}

	return z
}

// Predict returns the mean of the members' means, their sample variance, and the
// mean of the variances they state. What a Claimer claims is added to the variance
// of the means, and taken out of the noise.
func (e *EnsembleModel) Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error) {
	if len(x)%e.Inputs != 0 {
		panic(fmt.Sprintf("honest: %d numbers are not rows of %d inputs", len(x), e.Inputs))
	}

	z := e.standardise(x)
	n := len(x) / e.Inputs * e.Outcomes
	mu, claim, noise = make([]float64, n), make([]float64, n), make([]float64, n)
	count := float64(len(e.Members))

	var means [][]float64
	for _, m := range e.Members {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, fmt.Errorf("predict with ensemble: %w", err)
		}

		a, v := m.Network.Predict(z)

		own := make([]float64, n)
		if c, ok := m.Network.(Claimer); ok {
			if own, err = c.Claim(ctx, z); err != nil {
				return nil, nil, nil, fmt.Errorf("predict with ensemble: %w", err)
			}
		}

		for i := range a {
			mu[i] += a[i] / count
			claim[i] += max(own[i], 0) / count
			noise[i] += max(v[i]-max(own[i], 0), 0) / count
		}

		means = append(means, a)
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
		j := i % e.Outcomes
		s := e.YStd[j]
		mu[i] = mu[i]*s + e.YMean[j]
		claim[i] *= s * s
		noise[i] *= s * s
	}

	return mu, claim, noise, nil
}

// UnmarshalJSON reads what encoding/json wrote and checks that it is complete.
func (e *EnsembleModel) UnmarshalJSON(data []byte) error {
	type plain EnsembleModel

	var s struct {
		plain
		Members []struct { // instead of those of plain
			Network json.RawMessage `json:"network"`
			Factor  float64         `json:"random_factor"`
		} `json:"members"`
	}
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

	for k, m := range s.Members {
		n, err := ReadNetwork(m.Network, in, s.Outcomes)
		if err == nil && m.Factor != 0 {
			err = errors.New("random functions (base: prior-ensemble) went in version 0.2: train again")
		}

		if err != nil {
			return fmt.Errorf("decode ensemble member %d: %w", k+1, err)
		}

		s.plain.Members = append(s.plain.Members, Member{Network: n, Source: k})
	}

	*e = EnsembleModel(s.plain)

	return nil
}

// PairNetwork is a network that is given its own prediction: its claim is the covariance
// C of its two answers.
type PairNetwork struct {
	Pair *train.Model `json:"pair"`
}

// Predict returns the first answer.
func (p PairNetwork) Predict(x []float64) (mu, variance []float64) { return p.Pair.Predict(x) }

// Claim returns C.
func (p PairNetwork) Claim(ctx context.Context, x []float64) ([]float64, error) {
	e, err := p.Pair.Estimate(ctx, x, train.EstimateOptions{Samples: 2})
	if err != nil {
		return nil, err
	}

	return e.Cov, nil
}

// ReadNetwork reads a member of an ensemble, which must take in inputs and have out
// outcomes.
func ReadNetwork(data []byte, in, out int) (Network, error) {
	var pair PairNetwork
	if err := json.Unmarshal(data, &pair); err != nil {
		return nil, err
	}

	m := pair.Pair
	if m == nil {
		m = &train.Model{}
		if err := json.Unmarshal(data, m); err != nil {
			return nil, err
		}
	}

	if m.In != in || m.Out != out {
		return nil, fmt.Errorf("expected a network of %d inputs and %d outcomes, found %d and %d", in, out, m.In, m.Out)
	}

	if pair.Pair != nil {
		return pair, nil
	}

	return m, nil
}
