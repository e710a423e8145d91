package baseline

import (
	"context"
	"fmt"
	"slices"

	"doubletake/train"
	"doubletake/train/triplets"
)

// ZigZagValue is the constant that is fed back for "nothing yet", in standardised units. The authors used −100, −20, 0
// and 50. A value far from the data cannot be taken for an outcome, but a nearer one trains faster.
const ZigZagValue = -20

// ZigZag is the deterministic method of Durasov et al. (2024), trained as its authors do: on single measurements, with
// the loss ℓ(y|x, constant) + ℓ(y|x, y), in which the measurement that is to be predicted is also fed back. Both
// outcomes of a triplet are measurements of their own; half the epochs keep the number of steps. The epistemic variance
// is u² with u = |m(μ) − μ|, and the total variance is u² + σ², where σ² is the variance of the first answer.
type ZigZag struct{ Config train.Config }

// zigzagPredictor is a fitted ZigZag.
type zigzagPredictor struct{ m *train.Model }

// Fit trains the network.
func (z ZigZag) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	if err := data.Check(); err != nil { // before the rows are doubled
		return nil, fmt.Errorf("fit zigzag: check training data: %w", err)
	}

	c := z.Config
	c.Seed = seed
	c.Pairs = train.Plain
	c.Feedback = train.Constant
	c.FeedbackValue = ZigZagValue
	c.Epochs = (c.Epochs + 1) / 2 // each epoch has twice the rows

	// If pairs are made across occasions, each measured value is an outcome of two rows, and the value of a row that is
	// Alone is both outcomes of this row. All values then count alike, so that Alone is not needed.
	both := slices.Concat(data.Y1, data.Y2)
	single := triplets.Set{
		N: 2 * data.N, In: data.In, Out: data.Out, Y1: both, Y2: both,
		X:      slices.Concat(data.X, data.X),
		Weight: slices.Concat(data.Weight, data.Weight),
	}

	m, _, err := train.Fit(ctx, single, c, nil)
	if err != nil {
		return nil, fmt.Errorf("fit zigzag: %w", err)
	}

	return zigzagPredictor{m}, nil
}

// Predict feeds the first answer back once. It is safe for concurrent use.
func (p zigzagPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with zigzag: %w", err)
	}

	r := &Prediction{N: len(x) / p.m.In, Out: p.m.Out}
	r.Mu, r.Total = p.m.Predict(x)
	r.Epistemic = make([]float64, len(r.Mu))
	again, _ := p.m.PredictGiven(x, r.Mu)
	for k, v := range again {
		u := v - r.Mu[k]
		r.Epistemic[k] = u * u
		r.Total[k] += u * u
	}

	return r, nil
}
