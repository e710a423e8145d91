package train

import (
	"context"
	"fmt"

	"doubletake/train/triplets"
)

// FitSingle trains a network that answers once: mean and variance of the
// outcomes at a condition, the loss ℓ(y1|x) + ℓ(y2|x), both outcomes of a triplet
// as two measurements. It is what methods without a second answer are
// built from (Deep Ensembles, MC dropout), with the layers, optimiser, order of
// the data and number of steps of Fit. Its feedback weights are zero, so that
// Estimate finds C = 0 and δ = 0.
//
// cfg.Head, cfg.Feedback and cfg.Pairs are not used and are recorded as
// TwoAnswers, DropWeights and Symmetrised. Errors and panics are those of Fit.
func FitSingle(ctx context.Context, data triplets.Set, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	cfg.Head, cfg.Bins = TwoAnswers, 0
	cfg.Feedback, cfg.FeedbackValue, cfg.Pairs = DropWeights, 0, Symmetrised
	k, in, out, rows, err := prepare(data, cfg)
	if err != nil {
		return nil, nil, err
	}
	t := newTrainer(newLayout(data.In, data.Out, 0, cfg.Hidden), k, cfg)
	t.weight = rowWeights[float32](data)
	t.initialise(cfg.Seed)
	history, err := t.fitSingle(ctx, rows, data.N, cfg, hook)
	if err != nil {
		return nil, nil, err
	}
	return newModel(t, cfg, in, out, k.Name), history, nil
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

// fitSingle is fit with the feedback weights held at zero.
func (t *trainer[T]) fitSingle(ctx context.Context, rows []T, n int, cfg Config, hook func(Epoch)) ([]Epoch, error) {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	shuffled := newStream(cfg.Seed, streamOrder)
	steps := max(1, n/cfg.Batch)
	history := make([]Epoch, 0, cfg.Epochs)
	rate := cfg.LearningRate
	t.deafen()
	for epoch := range cfg.Epochs {
		shuffle(shuffled, order)
		sum := 0.0
		for s := range steps {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("train: stopped in epoch %d: %w", epoch+1, err)
			}
			a, b := s*cfg.Batch, (s+1)*cfg.Batch
			if s == steps-1 {
				b = n
			}
			if cfg.Schedule == "cosine" {
				rate = cfg.LearningRate * 0.5 * (1 + cosPi(float64(epoch*steps+s)/float64(cfg.Epochs*steps)))
			}
			sum += float64(t.gradient(rows, order[a:b], nil) * float64(b-a))
			t.step(rate)
			t.deafen()
		}
		e := Epoch{Epoch: epoch + 1, Loss: sum / float64(n), LearningRate: rate}
		if !finite(e.Loss) {
			return nil, fmt.Errorf("train: the loss became %g in epoch %d: lower the learning rate (%g) or standardise the "+
				"data", e.Loss, e.Epoch, cfg.LearningRate)
		}
		history = append(history, e)
		if hook != nil {
			hook(e)
		}
	}
	for _, w := range t.p {
		if !finite(float64(w)) {
			return nil, fmt.Errorf("train: a weight became %g in epoch %d: lower the learning rate (%g) or standardise the "+
				"data", w, cfg.Epochs, cfg.LearningRate)
		}
	}
	return history, nil
}
