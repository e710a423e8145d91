package methods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// MCDropout is Monte-Carlo dropout (Gal & Ghahramani 2016): one network with
// dropout left on at prediction. Epistemic is the variance of the sampled
// means, the total that plus the mean of the sampled variances. One set of masks serves every
// condition, so that its numbers do not depend on the others.
type MCDropout struct {
	Config  train.Config
	Samples int // default 200
}

type dropoutPredictor struct {
	m     *train.Model
	masks [][]float64 // of each sample: 0 or 1/(1 − dropout) for every hidden unit
}

// Fit trains the network; settings without dropout are an error.
func (c MCDropout) Fit(ctx context.Context, data triplets.Set, seed uint64) (baseline.Predictor, error) {
	if c.Config.Dropout == 0 {
		return nil, errors.New("fit mc-dropout: the network has no dropout to sample; set a dropout probability above 0")
	}

	c.Config.Seed = seed
	m, _, err := train.FitSingle(ctx, data, c.Config, nil)
	if err != nil {
		return nil, fmt.Errorf("fit mc-dropout: %w", err)
	}

	return dropoutPredictor{m, masks(c.Config, cmp.Or(c.Samples, 200), seed)}, nil
}

func masks(c train.Config, samples int, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0x64726f70))
	units := 0
	for _, h := range c.Hidden {
		units += h
	}

	out := make([][]float64, samples)
	for s := range out {
		out[s] = make([]float64, units)
		for u := range out[s] {
			if rng.Float64() >= c.Dropout {
				out[s][u] = 1 / (1 - c.Dropout)
			}
		}
	}

	return out
}

// Predict samples the network; safe for concurrent use.
func (p dropoutPredictor) Predict(ctx context.Context, x []float64) (*baseline.Prediction, error) {
	if len(x)%p.m.In != 0 {
		panic(fmt.Sprintf("methods: %d numbers are not rows of %d inputs", len(x), p.m.In))
	}

	r := baseline.NewPrediction(len(x)/p.m.In, p.m.Out)
	a, scale, n := activationsOf(p.m), p.m.OutcomeScale(), float64(len(p.masks))
	for i := 0; i <= r.N; i++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("predict with mc-dropout: %w", err)
		}

		if i == r.N {
			break
		}

		square, noise, sum := make([]float64, r.Out), make([]float64, r.Out), make([]float64, r.Out)
		for _, mask := range p.masks {
			mu, v := a.through(x[i*p.m.In:(i+1)*p.m.In], func(unit int) float64 { return mask[unit] })
			for j := range mu {
				sum[j], square[j], noise[j] = sum[j]+mu[j]/n, square[j]+mu[j]*mu[j]/n, noise[j]+v[j]/n
			}
		}

		for j, mean := range sum {
			k, u := i*r.Out+j, scale.Std[j]
			r.Mu[k] = mean*u + scale.Mean[j]
			r.Epistemic[k] = max(square[j]-mean*mean, 0) * (u * u)
			r.Total[k] = r.Epistemic[k] + noise[j]*(u*u)
		}
	}

	return r, nil
}
