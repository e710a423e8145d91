package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"

	"doubletake/train/triplets"
)

// Learnable returns the scale of the outcomes, and an error if nothing can be learned from the data: if there are no
// inputs or no outcomes, too few rows, numbers that are not finite, or an outcome that does not vary.
func Learnable(ctx context.Context, d triplets.Set) (triplets.Scale, error) {
	if err := ctx.Err(); err != nil {
		return triplets.Scale{}, err
	}

	if d.In < 1 || d.Out < 1 {
		return triplets.Scale{}, fmt.Errorf("check training data: expected inputs and outcomes, found %d and %d", d.In, d.Out)
	}

	if err := d.Check(); err != nil {
		return triplets.Scale{}, fmt.Errorf("check training data: %w", err)
	}

	s := triplets.ScaleOf(d.Out, d.Y1, d.Y2)
	for j, v := range s.Std {
		if !(v > 0) {
			return s, fmt.Errorf("outcome column %d is constant (%g): there is nothing to learn", j, s.Mean[j])
		}
	}

	return s, nil
}

// steady is a fitted method that predicts the same variances at all conditions.
type steady struct {
	name      string                // of the method, for messages
	inputs    int                   // number of inputs
	mean      func(x, mu []float64) // stores the predicted means at condition x in mu
	total     []float64             // total variance of each outcome
	epistemic []float64             // epistemic variance of each outcome
}

// Predict is safe for concurrent use.
func (p steady) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with %s: %w", p.name, err)
	}

	if len(x)%p.inputs != 0 {
		panic(fmt.Sprintf("baseline: %d numbers are not rows of %d inputs", len(x), p.inputs))
	}

	r := NewPrediction(len(x)/p.inputs, len(p.total))
	for i := range r.N {
		p.mean(x[i*p.inputs:(i+1)*p.inputs], r.Mu[i*r.Out:(i+1)*r.Out])
		copy(r.Total[i*r.Out:], p.total)
		copy(r.Epistemic[i*r.Out:], p.epistemic)
	}

	return r, nil
}

// learn sets the variances. mu contains the means at the cells, each predicted without the cell's group, or NaN if it
// was not predicted. The epistemic variance is the mean over groups of the squared error on the group. The pairs
// measure it by (y1 − μ)(y2 − μ), whose mean contains no noise, unlike the mean of a square. The noise comes from their
// differences. learn returns an error if no cell of mu has a pair.
func (p *steady) learn(d triplets.Set, c cells, mu []float64) error {
	scale := triplets.ScaleOf(d.Out, d.Y1, d.Y2)
	for j, s := range scale.Std {
		errorSum := make([]float64, c.groups) // by group
		weight := make([]float64, c.groups)
		noiseSum := 0.0
		noiseWeight := 0.0
		for i, k := range c.index {
			if d.Alone != nil && d.Alone[i] {
				continue // both outcomes are one value, which shows neither error nor noise
			}

			entry := i*d.Out + j
			w := triplets.WeightAt(d.Weight, i)
			diff := d.Y1[entry] - d.Y2[entry]
			noiseSum += float64(w*float64(diff*diff)) / 2
			noiseWeight += w
			if m := mu[k*d.Out+j]; !math.IsNaN(m) {
				errorSum[c.group[k]] += float64(w * float64((d.Y1[entry]-m)*(d.Y2[entry]-m)))
				weight[c.group[k]] += w
			}
		}

		sum := 0.0 // sum of the squared errors of groups
		groups := 0.0
		for g, w := range weight {
			if w > 0 {
				sum += errorSum[g] / w
				groups++
			}
		}

		if groups == 0 {
			return errors.New("expected a pair at a condition whose left-out group was predicted, found none")
		}

		epistemic := max(sum/groups, 0)
		leastTotal := 1e-12 * s * s // a total variance must be positive, even if there are no errors
		p.epistemic = append(p.epistemic, epistemic)
		p.total = append(p.total, max(epistemic+noiseSum/noiseWeight, leastTotal))
	}

	return nil
}
