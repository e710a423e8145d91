package judge

import (
	"context"
	"math"
	"slices"

	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// smallClaim is a claim, an epistemic variance, that replaces a variance which the table does not state, in units of
// the outcomes' variance. The calibration scales it to the errors of the left-out groups, so that its value does not
// matter.
const smallClaim = 1e-6

// learn learns intervals from the predictions of left-out groups, and judges them on the test part.
func (g *given) learn(ctx context.Context) (*interval.Result, error) {
	names := slices.Compact(slices.Sorted(slices.Values(g.group)))
	z := make([]float64, g.N)
	for i, n := range g.group {
		number, _ := slices.BinarySearch(names, n)
		z[i] = float64(number)
	}

	learner := honest.Learner{Settings: honest.DefaultSettings(), Condition: g.Groups, Names: names}
	learner.Base = "given"
	learner.Labels = true
	learner.Level = g.Level
	claim, noise := g.claimAndNoise()

	result, err := learner.Given(ctx, g.Set, z, triplets.Prediction{Mu: g.answers.Mu, Claim: claim, Noise: noise})
	if err != nil {
		return nil, err
	}

	if result.Record != nil && g.unstated { // intervals by smallClaim before the calibration mean nothing
		nan := math.NaN()
		result.Record.RatioBefore = nan
		result.Record.Before = interval.Interval{Coverage: nan, Width: nan, Score: nan}
	}

	return result, nil
}

// claimAndNoise returns the epistemic variance and the noise of each prediction, N×Out. If only one of them or their
// sum is stated, it takes the noise from the differences of the training pairs.
func (g *given) claimAndNoise() (claim, noise []float64) {
	train := g.Only(triplets.Train)
	scale := train.OutcomeScale()

	pairNoise := make([]float64, g.Out)
	for k, y := range train.Y1 {
		difference := y - train.Y2[k]
		pairNoise[k%g.Out] += difference * difference / 2 / float64(train.N)
	}

	for k := range g.answers.Mu {
		n := pairNoise[k%g.Out] // the noise of prediction k
		c := smallClaim * scale.Std[k%g.Out] * scale.Std[k%g.Out]
		switch {
		case g.answers.Cov != nil:
			c = max(g.answers.Cov[k], 0)
		case g.answers.Var != nil:
			c = max(g.answers.Var[k]-n, 0)
		}

		if g.answers.Var != nil {
			n = g.answers.Var[k] - c
		}

		claim = append(claim, c)
		noise = append(noise, n)
	}

	return claim, noise
}
