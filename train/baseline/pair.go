package baseline

import (
	"context"
	"fmt"

	"doubletake/train"
)

// Pair is the model of pairs (METHOD §2): its total is the first answer's σ²,
// its epistemic variance C, the covariance of two answers.
type Pair struct {
	Config   train.Config
	Estimate train.EstimateOptions
}

// Fit trains the network.
func (p Pair) Fit(ctx context.Context, data train.Triplets, seed uint64) (Predictor, error) {
	p.Config.Seed = seed
	m, _, err := train.Fit(ctx, data, p.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit pair model: %w", err)
	}
	p.Estimate.Seed = derive(seed, 0)
	return PairPredictor{m, p.Estimate}, nil
}

// PairPredictor predicts with a trained model of pairs; safe for concurrent use.
type PairPredictor struct {
	Model    *train.Model
	Estimate train.EstimateOptions
}

// Predict returns μ, σ² and C.
func (p PairPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	e, err := p.Model.Estimate(ctx, x, p.Estimate)
	if err != nil {
		return nil, fmt.Errorf("predict with pair model: %w", err)
	}
	mean, std := p.Model.OutputScale()
	r := newPrediction(e.N, e.Out)
	for k := range r.Mu {
		s, m := std[k%e.Out], mean[k%e.Out]
		r.Mu[k], r.Total[k], r.Epistemic[k] = e.Mu[k]*s+m, e.Var[k]*s*s, e.Cov[k]*s*s
	}
	return r, nil
}
