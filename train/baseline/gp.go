package baseline

import (
	"context"
	"fmt"

	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// GP is the exact Gaussian process of package gp without groups: a constant, linear
// terms and a Matérn-5/2 kernel with a length per input, with the noise of a condition
// from its pairs.
//
// Epistemic is the variance of the latent function with the run-to-run variance, because
// a same-run error is measured against the mean of its run; the total adds the noise.
type GP struct{}

type gpPredictor struct {
	m   *gp.Model
	out int
}

// Fit finds the hyperparameters, on conditions that the seed chooses where there are
// many, and factorises the covariance.
func (g GP) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	o := gp.Options{Seed: seed, GroupInputs: lists.Numbers(data.In)} // there is no second kernel on the others
	m, err := gp.Fit(ctx, data, o)
	if err != nil {
		return nil, fmt.Errorf("fit gp: %w", err)
	}

	return gpPredictor{m, data.Out}, nil
}

// Predict evaluates the process; safe for concurrent use.
func (p gpPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	mu, claim, noise, err := p.m.Predict(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("predict with gp: %w", err)
	}

	r := &Prediction{N: len(mu) / p.out, Out: p.out, Mu: mu, Epistemic: claim, Total: noise}
	for k, v := range claim {
		r.Total[k] += v
	}

	return r, nil
}
