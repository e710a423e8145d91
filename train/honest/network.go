package honest

import (
	"context"
	"encoding/json"
	"fmt"

	"doubletake/train"
)

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
