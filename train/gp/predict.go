package gp

import (
	"context"
	"fmt"

	"doubletake/internal/parallel"
	"doubletake/train/triplets"
)

// Predict predicts the outcomes at conditions x, rows of all inputs in their own units. Mu is the mean, Claim the
// variance of the latent function plus the run-to-run variance, and Noise the noise variance of one measurement. If the
// model has labels, all conditions belong to one new thing. Predict panics if x does not consist of rows of the model's
// inputs.
func (m *Model) Predict(ctx context.Context, x []float64) (triplets.Prediction, error) {
	return m.PredictLevels(ctx, x, nil)
}

// PredictLevels predicts as Predict does, at conditions whose labels have the given levels, conditions × labels. A
// level that is not below the number of levels of its label was not measured: it belongs to a new thing, and equal
// numbers belong to the same new thing. If level is nil, all conditions belong to one new thing.
func (m *Model) PredictLevels(ctx context.Context, x []float64, level []int) (triplets.Prediction, error) {
	if len(x)%m.Inputs != 0 {
		panic(fmt.Sprintf("gp: %d numbers are not rows of %d inputs", len(x), m.Inputs))
	}

	a, err := m.Answer(ctx, Questions{X: x, Level: level})

	return a.Predicted, err
}

// predictLevels is PredictLevels by the processes that m keeps.
func (m *Model) predictLevels(ctx context.Context, x []float64, level []int) (triplets.Prediction, error) {
	n := len(x) / m.Inputs
	columns := len(m.Columns)
	z := m.standardise(x)
	p := triplets.NewPrediction(n * m.Outcomes)
	block := m.conditionsTogether(n)
	blocks := (n + block - 1) / block
	err := parallel.Try(m.workers, m.Outcomes*blocks, func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		j := k / blocks
		first := k % blocks * block
		end := min(first+block, n)

		var blockLevel []int
		if level != nil {
			blockLevel = level[first*len(m.Labels) : end*len(m.Labels)]
		}

		mean, variance := m.predictRows(j, z[first*columns:end*columns], blockLevel)
		for i := range mean {
			row := first + i
			m.unscale(p, row*m.Outcomes+j, j, mean[i], variance[i], z[row*columns:(row+1)*columns])
		}

		return nil
	})
	if err != nil {
		return triplets.Prediction{}, fmt.Errorf("predict with additive gp: %w", err)
	}

	return p, nil
}

// fewestTogether is the smallest number of conditions for which another goroutine is worth its cost: it reads the whole
// factor, and packs it anew for its products.
const fewestTogether = 64

// conditionsTogether returns how many of n conditions a goroutine predicts together. It divides the conditions among
// the workers if there are fewer outcomes than workers. A prediction does not depend on the conditions that are
// predicted together with it.
func (m *Model) conditionsTogether(n int) int {
	workers := max(m.workers, 1)
	share := (n*m.Outcomes + workers - 1) / workers

	return min(max(share, fewestTogether), predictBlock)
}

// unscale writes a standardised mean and variance of outcome j at the standardised condition z into place k of p, in
// the units of the outcome.
func (m *Model) unscale(p triplets.Prediction, k, j int, mean, variance float64, z []float64) {
	std := m.OutputStd[j]
	p.Mu[k] = float64(mean*std) + m.OutputMean[j]
	p.Claim[k] = variance * std * std
	p.Noise[k] = m.Noise[j].variance(z) * std * std
}
