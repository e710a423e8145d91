package train

import (
	"context"

	"doubletake/train/triplets"
)

// FitSingle trains a network that answers once: mean and variance of the
// outcomes at a condition, the loss ℓ(y1|x) + ℓ(y2|x), both outcomes of a triplet
// as two measurements. It is what methods without a second answer are
// built from (Deep Ensembles, MC dropout), with the layers, optimiser, order of
// the data and number of steps of Fit. Its feedback weights are zero, so that
// Estimate finds C = 0 and δ = 0.
//
// cfg.Feedback and cfg.Pairs are not used and are recorded as DropWeights and
// Symmetrised. Errors and panics are those of Fit.
func FitSingle(ctx context.Context, data triplets.Set, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	return FitWith(ctx, data, cfg, FitOptions{Hook: hook, Single: true})
}

// deafen cuts the feedback inputs off: with their weights at zero both answers
// are the same, and the symmetrised loss is that of one answer to y1 and y2.
func (t *trainer[T]) deafen() {
	for j := t.in; j < t.in+t.out; j++ {
		for u := range t.width[0] {
			t.p[t.at(0, j, u)] = 0
		}
	}
}
