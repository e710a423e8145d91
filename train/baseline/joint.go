package baseline

import (
	"context"
	"fmt"

	"doubletake/train"
	"doubletake/train/triplets"
)

// JointHead is a network that gives mean, noise A and covariance C of the two
// outcomes of a pair at once (docs/method.md#joint-head): its total is A + C, its
// epistemic variance C. A binned head gives tables of both outcomes
// (docs/method.md#binned-head), from which the same follow.
type JointHead struct {
	Config train.Config
	Head   string // train.Joint, train.JointFull or train.Binned
}

// Fit trains the network with the layers and steps of Pair.
func (h JointHead) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	c := h.Config
	c.Head, c.Seed = h.Head, seed
	if h.Head != train.Binned {
		c.Bins = 0
	}

	c.Feedback, c.FeedbackValue, c.Pairs = train.DropWeights, 0, train.Symmetrised
	m, _, err := train.Fit(ctx, data, c, nil)
	if err != nil {
		return nil, fmt.Errorf("fit %s head: %w", h.Head, err)
	}

	return PairPredictor{m, train.EstimateOptions{Samples: 2}}, nil
}
