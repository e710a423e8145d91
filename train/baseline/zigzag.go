package baseline

import (
	"context"
	"fmt"

	"doubletake/train"
	"doubletake/train/triplets"
)

// ZigZagValue is the constant fed back for "nothing yet", in standardised
// units; the authors used −100, −20, 0 and 50. A value far from the data cannot
// be taken for an outcome, but the nearer ones train faster.
const ZigZagValue = -20

// ZigZag is the deterministic method of Durasov et al. (2024), trained as its
// authors do: single measurements, the same one fed back and asked for, a
// constant for "nothing yet", the plain loss ℓ(y|x, constant) + ℓ(y|x, y). Both
// outcomes of a triplet are measurements of their own, and half the epochs keep
// the number of steps. Its epistemic variance is u², u = |m(μ) − μ|; the total
// adds the first answer's σ².
type ZigZag struct{ Config train.Config }

type zigzagPredictor struct{ m *train.Model }

// Fit trains the network.
func (z ZigZag) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	if err := data.Check(); err != nil { // before the rows are doubled
		return nil, fmt.Errorf("fit zigzag: check training data: %w", err)
	}

	c := z.Config
	c.Seed, c.Pairs = seed, train.Plain
	c.Feedback, c.FeedbackValue = train.Constant, ZigZagValue
	c.Epochs = (c.Epochs + 1) / 2 // of twice the rows
	both := append(append([]float64(nil), data.Y1...), data.Y2...)
	single := triplets.Set{
		N: 2 * data.N, In: data.In, Out: data.Out, Y1: both, Y2: both,
		X:      append(append([]float64(nil), data.X...), data.X...),
		Weight: append(append([]float64(nil), data.Weight...), data.Weight...),
	}

	m, _, err := train.Fit(ctx, single, c, nil)
	if err != nil {
		return nil, fmt.Errorf("fit zigzag: %w", err)
	}

	return zigzagPredictor{m}, nil
}

// Predict feeds the first answer back once; safe for concurrent use.
func (p zigzagPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with zigzag: %w", err)
	}

	r := &Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	r.Mu, r.Total = p.m.Predict(x)
	again, _ := p.m.PredictGiven(x, r.Mu)
	r.Epistemic = again
	for k, v := range again {
		u := v - r.Mu[k]
		r.Epistemic[k] = u * u
		r.Total[k] += u * u
	}

	return r, nil
}
