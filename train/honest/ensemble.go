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

// Network is a trained network, such as *train.Model. Predict returns means and variances of the outcomes (rows ×
// outcomes) at standardised inputs x (rows of all inputs of the network).
type Network interface {
	Predict(x []float64) (mu, variance []float64)
}

// Claimer is a Network that states an epistemic variance itself. Claim returns the variance of its mean (rows ×
// outcomes) at standardised inputs x. The variance that Predict returns contains it. A negative one counts as 0.
type Claimer interface {
	Claim(ctx context.Context, x []float64) ([]float64, error)
}

// TrainFunc trains a network on standardised pairs. It must not standardise them again, and its result must depend on
// the data and the seed alone.
type TrainFunc func(ctx context.Context, d triplets.Set, seed uint64) (Network, error)

// Ensemble trains several networks, whose means disagree where they know little.
type Ensemble struct {
	Members int       // number of networks; 0 is 5. At least 2 unless Claims is set
	Claims  bool      // the networks are Claimers
	Seed    uint64    // from which the seed of each network is drawn
	Train   TrainFunc // trains one network
}

// defaultMembers is the default number of networks.
const defaultMembers = 5

// Fit trains the networks on d, one after the other. Inputs and outcomes are standardised on d; inputs that are
// constant there are dropped.
func (e Ensemble) Fit(ctx context.Context, d triplets.Set) (*EnsembleModel, error) {
	d = checked(d)
	e.Members = cmp.Or(e.Members, defaultMembers)
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
		m, err := e.Train(ctx, z, e.memberSeed(k))
		if err != nil {
			return nil, fmt.Errorf("fit ensemble member %d of %d: %w", k+1, e.Members, err)
		}

		p.Members = append(p.Members, Member{Network: m})
	}

	return p, nil
}

// memberSeed returns the seed of network k, from stream 2k of the random numbers of e.Seed.
func (e Ensemble) memberSeed(k int) uint64 {
	return rand.New(rand.NewPCG(e.Seed, 2*uint64(k))).Uint64()
}

// Untrained returns the ensemble on d without its members: the inputs that vary, and the scales. It returns an error if
// the ensemble cannot be trained on d.
func (e Ensemble) Untrained(d triplets.Set) (*EnsembleModel, error) {
	least := 2
	if e.Claims {
		least = 1
	}

	if members := cmp.Or(e.Members, defaultMembers); members < least {
		return nil, fmt.Errorf("fit ensemble: expected at least 2 members, found %d", members)
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

	// spread takes pairs: an input counts as an outcome whose two values are equal.
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

// EnsembleModel is a trained Ensemble, in the form of its file. It is safe for concurrent use if its networks are.
type EnsembleModel struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Inputs   int       `json:"inputs"`       // number of all inputs
	Outcomes int       `json:"outcomes"`     // number of outcomes
	Seed     uint64    `json:"seed"`         // Ensemble.Seed
	Columns  []int     `json:"columns"`      // inputs that the networks take: the ones that varied in training
	XMean    []float64 `json:"input_mean"`   // by input, in its unit
	XStd     []float64 `json:"input_std"`    // by input, in its unit
	YMean    []float64 `json:"outcome_mean"` // by outcome, in its unit
	YStd     []float64 `json:"outcome_std"`  // by outcome, in its unit
	Members  []Member  `json:"members"`
}

// Member is a network of an ensemble.
type Member struct {
	Network Network `json:"network"`
}

// kind describes the networks in words, as "ensemble of 5".
func (e *EnsembleModel) kind() string {
	if _, ok := e.Members[0].Network.(PairNetwork); ok {
		return fmt.Sprintf("pair networks of %d", len(e.Members))
	}
	return fmt.Sprintf("ensemble of %d", len(e.Members))
}

// standardise returns the inputs that the networks take at conditions x (rows of all inputs), standardised.
func (e *EnsembleModel) standardise(x []float64) []float64 {
	var z []float64
	for i := 0; i < len(x); i += e.Inputs {
		for _, j := range e.Columns {
			z = append(z, (x[i+j]-e.XMean[j])/e.XStd[j])
		}
	}

	return z
}

// Predict predicts the outcomes at conditions x, rows of all inputs. Mu is the mean of the members' means. Claim is the
// sample variance of these means, plus the mean of the claims if the members are Claimers. Noise is the mean of the
// members' variances without their claims. It panics if x does not consist of rows of the inputs.
func (e *EnsembleModel) Predict(ctx context.Context, x []float64) (triplets.Prediction, error) {
	if len(x)%e.Inputs != 0 {
		panic(fmt.Sprintf("honest: %d numbers are not rows of %d inputs", len(x), e.Inputs))
	}

	z := e.standardise(x)
	p := triplets.NewPrediction(len(x) / e.Inputs * e.Outcomes) // in standardised units at first
	count := float64(len(e.Members))

	var means [][]float64 // by member
	for _, m := range e.Members {
		mean, variance := m.Network.Predict(z)
		claim, err := m.claim(ctx, z, len(p.Mu))
		if err != nil {
			return triplets.Prediction{}, fmt.Errorf("predict with ensemble: %w", err)
		}

		for i := range mean {
			claimed := max(claim[i], 0)
			p.Mu[i] += mean[i] / count
			p.Claim[i] += claimed / count
			p.Noise[i] += max(variance[i]-claimed, 0) / count
		}

		means = append(means, mean)
	}

	if count > 1 {
		for _, mean := range means {
			for i, v := range mean {
				p.Claim[i] += (v - p.Mu[i]) * (v - p.Mu[i]) / (count - 1)
			}
		}
	}

	e.restoreUnits(p)

	return p, nil
}

// claim returns the variance of the network's mean at standardised inputs z if the network states one, and otherwise
// zeros for n means. It returns the error of ctx if ctx is done.
func (m Member) claim(ctx context.Context, z []float64, n int) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	if c, ok := m.Network.(Claimer); ok {
		return c.Claim(ctx, z)
	}

	return make([]float64, n), nil
}

// restoreUnits converts a prediction of standardised outcomes to the units of the outcomes.
func (e *EnsembleModel) restoreUnits(p triplets.Prediction) {
	for i := range p.Mu {
		j := i % e.Outcomes
		std := e.YStd[j]
		p.Mu[i] = float64(p.Mu[i]*std) + e.YMean[j]
		p.Claim[i] *= std * std
		p.Noise[i] *= std * std
	}
}

// UnmarshalJSON reads what encoding/json wrote and checks that it is complete.
func (e *EnsembleModel) UnmarshalJSON(data []byte) error {
	type plain EnsembleModel // without this method

	// Member holds an interface, which encoding/json cannot read. So the members are read in raw form first. The field
	// Members hides plain.Members.
	var s struct {
		plain
		Members []struct {
			Network json.RawMessage `json:"network"`
		} `json:"members"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("decode ensemble: %w", err)
	}

	if s.Format != EnsembleFormat || s.Version != EnsembleVersion {
		return fmt.Errorf("decode ensemble: expected format %q version %d, found %q version %d", EnsembleFormat,
			EnsembleVersion, s.Format, s.Version)
	}

	columns := len(s.Columns)
	countsFit := min(s.Inputs, s.Outcomes, columns, len(s.Members)) >= 1
	inputsFit := len(s.XMean) == s.Inputs && len(s.XStd) == s.Inputs
	outcomesFit := len(s.YMean) == s.Outcomes && len(s.YStd) == s.Outcomes
	if !countsFit || !inputsFit || !outcomesFit {
		return fmt.Errorf("decode ensemble: expected members and scales for %d inputs and %d outcomes", s.Inputs,
			s.Outcomes)
	}

	for _, j := range s.Columns {
		if j < 0 || j >= s.Inputs {
			return fmt.Errorf("decode ensemble: expected columns below %d, found %d", s.Inputs, j)
		}
	}

	for k, m := range s.Members {
		n, err := ReadNetwork(m.Network, columns, s.Outcomes)
		if err != nil {
			return fmt.Errorf("decode ensemble member %d: %w", k+1, err)
		}

		s.plain.Members = append(s.plain.Members, Member{Network: n})
	}

	*e = EnsembleModel(s.plain)

	return nil
}

// PairNetwork is a network that is given its own prediction and then predicts again. Its claim is the covariance C of
// the two answers (docs/method.md).
type PairNetwork struct {
	Pair *train.Model `json:"pair"`
}

// Predict returns the first answer, without a prediction fed back.
func (p PairNetwork) Predict(x []float64) (mu, variance []float64) { return p.Pair.Predict(x) }

// Claim returns C. It needs only two samples, because C is computed by quadrature.
func (p PairNetwork) Claim(ctx context.Context, x []float64) ([]float64, error) {
	e, err := p.Pair.Estimate(ctx, x, train.EstimateOptions{Samples: 2})
	if err != nil {
		return nil, err
	}

	return e.Cov, nil
}

// ReadNetwork reads a member of an ensemble: a PairNetwork or a *train.Model. It returns an error if the network does
// not have the given numbers of inputs and outcomes.
func ReadNetwork(data []byte, inputs, outcomes int) (Network, error) {
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

	if m.In != inputs || m.Out != outcomes {
		return nil, fmt.Errorf("expected a network of %d inputs and %d outcomes, found %d and %d", inputs, outcomes,
			m.In, m.Out)
	}

	if pair.Pair != nil {
		return pair, nil
	}

	return m, nil
}
