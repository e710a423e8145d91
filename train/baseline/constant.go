package baseline

import (
	"context"
	"fmt"

	"doubletake/train/triplets"
)

// Constant predicts the mean of the training outcomes at every condition. Its
// epistemic variance is that of this mean over the training rows, whose two
// outcomes count as one because they share a condition; the total adds the
// variance of single measurements about the mean. A method that is no better than
// Constant has learned nothing.
type Constant struct{}

// constantPredictor holds one value for each outcome.
type constantPredictor struct {
	in                   int
	mu, total, epistemic []float64
}

// Fit computes the moments; the inputs and the seed are not used.
func (Constant) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fit constant: %w", err)
	}

	if err := data.Check(); err != nil {
		return nil, fmt.Errorf("fit constant: check training data: %w", err)
	}

	rows := make([]float64, len(data.Y1)) // mean of each pair
	for k := range rows {
		rows[k] = (data.Y1[k] + data.Y2[k]) / 2
	}

	n := float64(data.N)
	values, pairs := triplets.ScaleOf(data.Out, data.Y1, data.Y2), triplets.ScaleOf(data.Out, rows)
	p := constantPredictor{in: data.In, mu: values.Mean}
	for j, s := range values.Std {
		if !(s > 0) {
			return nil, fmt.Errorf("fit constant: outcome column %d is constant (%g): there is nothing to learn", j, p.mu[j])
		}

		// Population variances, hence the factors n/(n − 1).
		epistemic := pairs.Std[j] * pairs.Std[j] / (n - 1)
		p.epistemic = append(p.epistemic, epistemic)
		p.total = append(p.total, s*s*2*n/(2*n-1)+epistemic)
	}

	return p, nil
}

// Predict returns the same at every condition; safe for concurrent use.
func (p constantPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with constant: %w", err)
	}

	if len(x)%p.in != 0 {
		panic(fmt.Sprintf("baseline: %d numbers are not rows of %d inputs", len(x), p.in))
	}

	r := newPrediction(len(x)/p.in, len(p.mu))
	for i := range r.N {
		copy(r.Mu[i*r.Out:], p.mu)
		copy(r.Total[i*r.Out:], p.total)
		copy(r.Epistemic[i*r.Out:], p.epistemic)
	}

	return r, nil
}
