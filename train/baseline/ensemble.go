package baseline

import (
	"cmp"
	"context"
	"fmt"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Ensemble is a Deep Ensemble (Lakshminarayanan, Pritzel & Blundell 2017, without adversarial examples): networks with
// mean and variance that differ in their initial weights and in the order of the data. It predicts the mean and the
// total variance of the uniform mixture of the members. Its epistemic variance is the population variance of the
// members' means.
type Ensemble struct {
	Config  train.Config
	Members int // 2 to 1000, default 5
}

// Default and limits of Ensemble.Members.
const (
	DefaultMembers = 5
	MinMembers     = 2
	MaxMembers     = 1000
)

// ensemblePredictor contains the trained members.
type ensemblePredictor []*train.Model

// Fit trains the members one after the other.
func (e Ensemble) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	e.Members = cmp.Or(e.Members, DefaultMembers)

	if e.Members < MinMembers || e.Members > MaxMembers {
		return nil, fmt.Errorf("fit ensemble: expected %d to %d members, found %d", MinMembers, MaxMembers, e.Members)
	}

	var p ensemblePredictor
	for k := range e.Members {
		e.Config.Seed = derive(seed, k)
		m, _, err := train.FitSingle(ctx, data, e.Config, nil)
		if err != nil {
			return nil, fmt.Errorf("fit ensemble member %d of %d: %w", k+1, e.Members, err)
		}

		p = append(p, m)
	}

	return p, nil
}

// Predict returns the mean and the variances of the mixture. It is safe for concurrent use.
func (p ensemblePredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	r := NewPrediction(len(x)/p[0].In, p[0].Out)
	means := make([][]float64, len(p))

	n := float64(len(p))
	for i, m := range p {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with ensemble: %w", err)
		}

		mu, v := m.Predict(x)
		means[i] = mu

		for k := range mu {
			r.Mu[k] += mu[k] / n
			r.Total[k] += v[k] / n
		}
	}

	for _, mu := range means {
		for k := range mu {
			d := mu[k] - r.Mu[k]
			r.Epistemic[k] += d * d / n
		}
	}

	for k, v := range r.Epistemic {
		r.Total[k] += v
	}

	return r, nil
}
