package baseline

import (
	"context"
	"fmt"

	"doubletake/train"
	"doubletake/train/triplets"
)

// Pair is the model of pairs (docs/method.md#scores). Its total variance is σ² of the first answer, its epistemic
// variance is C, the covariance of the two answers.
type Pair struct {
	Config   train.Config
	Estimate train.EstimateOptions
}

// Fit trains the network.
func (p Pair) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	p.Config.Seed = seed
	m, _, err := train.Fit(ctx, data, p.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit pair model: %w", err)
	}

	p.Estimate.Seed = derive(seed, 0)

	return PairPredictor{m, p.Estimate}, nil
}

// PairPredictor predicts with a trained model of pairs. It is safe for concurrent use.
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

	own := e.Own(p.Model.OutcomeScale())

	return &Prediction{N: e.N, Out: e.Out, Mu: own.Mu, Total: own.Var, Epistemic: own.Cov}, nil
}
