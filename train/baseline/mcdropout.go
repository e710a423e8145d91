package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"doubletake/train"
	"doubletake/train/triplets"
)

// MCDropout is Monte-Carlo dropout (Gal & Ghahramani 2016): one network with
// dropout left on at prediction. Epistemic is the variance of the sampled
// means, the total that plus the mean of the sampled variances.
type MCDropout struct {
	Config  train.Config
	Samples int // default 200
}

type dropoutPredictor struct {
	m       *train.Model
	samples int
	seed    uint64
}

func dropoutNeeds(c train.Config) string {
	if c.Dropout == 0 {
		return "model.dropout above 0"
	}
	return ""
}

// Fit trains the network; settings without dropout are an error.
func (c MCDropout) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	if c.Config.Dropout == 0 {
		return nil, errors.New("fit mc-dropout: the network has no dropout to sample; set a dropout probability above 0")
	}

	c.Samples = cmp.Or(c.Samples, 200)

	c.Config.Seed = seed
	m, _, err := train.FitSingle(ctx, data, c.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit mc-dropout: %w", err)
	}

	return dropoutPredictor{m, c.Samples, derive(seed, 0)}, nil
}

// Predict samples the network; safe for concurrent use.
func (p dropoutPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	r := &Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	var err error
	r.Mu, r.Total, r.Epistemic, err = p.m.PredictDropout(ctx, x, p.samples, p.seed)
	if err != nil {
		return nil, fmt.Errorf("predict with mc-dropout: %w", err)
	}

	for k, v := range r.Epistemic {
		r.Total[k] += v
	}

	return r, nil
}
