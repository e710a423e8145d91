package baseline

import (
	"context"
	"fmt"

	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// GP is the exact Gaussian process of package gp without groups: a constant, linear terms and a Matérn-5/2 kernel with
// a length for each input. The pairs of a condition give its noise.
//
// The epistemic variance is the variance of the latent function plus the variance between runs, because the error of a
// same-run pair is measured against the mean of its run. The total adds the noise.
type GP struct{}

// gpPredictor is a fitted GP.
type gpPredictor struct {
	m        *gp.Model
	outcomes int
}

// Fit finds the hyperparameters and factorises the covariance. If there are many conditions, it finds the
// hyperparameters on a selection that depends on the seed.
func (g GP) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	o := gp.Options{Seed: seed, GroupInputs: lists.Numbers(data.In)} // no input is left for a second kernel
	m, err := gp.Fit(ctx, data, o)
	if err != nil {
		return nil, fmt.Errorf("fit gp: %w", err)
	}

	return gpPredictor{m, data.Out}, nil
}

// Predict evaluates the process. It is safe for concurrent use.
func (p gpPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	own, err := p.m.Predict(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("predict with gp: %w", err)
	}

	r := &Prediction{N: len(own.Mu) / p.outcomes, Out: p.outcomes, Mu: own.Mu, Epistemic: own.Claim, Total: own.Noise}
	for k, v := range own.Claim {
		r.Total[k] += v
	}

	return r, nil
}
