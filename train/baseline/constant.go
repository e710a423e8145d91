package baseline

import (
	"context"
	"fmt"

	"doubletake/train/triplets"
)

// Constant predicts the mean of the training outcomes at every condition. Its epistemic variance is the squared
// standard error of this mean, for which the two outcomes of a row count as one, because they share a condition. The
// total adds the variance of single measurements about the mean. A method that is not better than Constant has learned
// nothing.
type Constant struct{}

// Fit computes the means and variances. It does not use the inputs and the seed.
func (Constant) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	values, err := Learnable(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("fit constant: %w", err)
	}

	rows := make([]float64, len(data.Y1)) // mean of each pair
	for k := range rows {
		rows[k] = (data.Y1[k] + data.Y2[k]) / 2
	}

	n := float64(data.N)
	pairs := triplets.ScaleOf(data.Out, rows)
	p := steady{name: "constant", inputs: data.In, mean: func(_, mu []float64) { copy(mu, values.Mean) }}
	for j, s := range values.Std {
		// Population variances, hence the factors n/(n − 1).
		epistemic := pairs.Std[j] * pairs.Std[j] / (n - 1)
		p.epistemic = append(p.epistemic, epistemic)
		p.total = append(p.total, s*s*2*n/(2*n-1)+epistemic)
	}

	return p, nil
}
