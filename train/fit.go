package train

import (
	"context"
	"fmt"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Epoch describes one pass of the training over the data.
type Epoch struct {
	Epoch        int     // its number, from 1
	Loss         float64 // mean over all triplets, with dropout and with the weights of each step
	LearningRate float64 // of its last step
	HeldOut      float64 // loss on FitOptions.HeldOut after the epoch; 0 unless Judged
	Judged       bool    // HeldOut was computed, and is finite
}

// ConstantInputError is the error of an input that has the same value in every training
// row: nothing can be learned about it, and it cannot be standardised.
type ConstantInputError struct {
	Column int // of X, from 0
	Value  float64
}

// Error returns the column, the value and the remedy.
func (e *ConstantInputError) Error() string {
	return fmt.Sprintf("input column %d is constant (%g) in the training rows: leave it out or train on rows where it "+
		"varies", e.Column, e.Value)
}

// check returns an error if no network can be trained on the data.
func check(d triplets.Set) error {
	if err := checkSizes(d.In, d.Out); err != nil {
		return err
	}

	if err := d.Check(); err != nil {
		return err
	}

	for j := range d.In {
		values := lists.Column(d.X, d.In, j)
		if slices.Min(values) == slices.Max(values) {
			return &ConstantInputError{Column: j, Value: d.X[j]}
		}
	}

	return nil
}

// checkSizes returns an error if a network cannot have these numbers of inputs and outcomes.
func checkSizes(inputs, outcomes int) error {
	tooFew := inputs < 1 || outcomes < 1
	tooMany := inputs > maxWidth || outcomes > maxWidth
	if tooFew || tooMany {
		return fmt.Errorf("expected 1 to %d inputs and outcomes, found %d and %d", maxWidth, inputs, outcomes)
	}

	return nil
}

// Fit trains a network on triplets (docs/method.md#model-and-training). It
// returns the network and one Epoch per epoch.
//
// The result depends only on data, cfg and the set of kernels. Fit runs on the
// calling goroutine; several may run at once. If hook is not nil, Fit calls it after
// each epoch. Fit looks at ctx before each step. When ctx is done, Fit returns
// its error and no model.
//
// Fit returns an error if the settings are invalid, if there are fewer than two rows,
// if a number is not finite, if an input is constant (*ConstantInputError), if an outcome
// that is to be standardised is constant, and if the loss stops being finite. It panics if
// slices do not fit the shape of data.
func Fit(ctx context.Context, data triplets.Set, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	return FitWith(ctx, data, cfg, FitOptions{Hook: hook})
}

// Check returns the error of Fit if Fit would refuse the settings or the data before the training, and nil otherwise.
func Check(data triplets.Set, cfg Config) error {
	_, err := prepare(data, cfg)

	return err
}

// FitOptions has settings of FitWith that are not settings of the training. With the zero
// value, FitWith does the same as Fit.
type FitOptions struct {
	// Hook, if not nil, is called after each epoch.
	Hook func(Epoch)

	// HeldOut has rows that the training does not use; it may be empty. Their loss is computed,
	// without dropout, after every HeldOutEvery epochs (0: never) and after the last one. It does not
	// influence the training.
	HeldOut      triplets.Set
	HeldOutEvery int

	// Single trains the network of FitSingle.
	Single bool
}

// judges reports whether the held-out loss is computed after an epoch, numbered from 1. epochs is their total number.
func (o FitOptions) judges(epoch, epochs int) bool {
	if o.HeldOut.N == 0 || o.HeldOutEvery <= 0 {
		return false
	}

	return epoch%o.HeldOutEvery == 0 || epoch == epochs
}

// FitWith does the same as Fit, with options.
func FitWith(ctx context.Context, data triplets.Set, cfg Config, o FitOptions) (*Model, []Epoch, error) {
	if o.Single {
		cfg.Feedback = DropWeights
		cfg.FeedbackValue = 0
		cfg.Pairs = Symmetrised
	}

	start, err := prepare(data, cfg)
	if err != nil {
		return nil, nil, err
	}

	layout := newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden)
	t := newTrainer(layout, start.kernels, cfg)
	t.weight, t.second = rowWeights[float32](data)
	t.initialise(cfg.Seed)

	t.single = o.Single
	if t.single {
		t.zeroFeedback()
	}

	held := packRows[float32](o.HeldOut, start.inputs, start.outcomes)
	weight, second := rowWeights[float32](o.HeldOut)
	heldOutLoss := func() float64 { return t.loss(held, weight, second) }

	history, err := t.fit(ctx, start.rows, cfg, o, heldOutLoss)
	if err != nil {
		return nil, nil, err
	}

	return newModel(t, cfg, start.inputs, start.outcomes, start.kernels.Name), history, nil
}

// fit trains on rows (packRows) and returns one Epoch per epoch. heldOutLoss returns the loss on o.HeldOut. fit
// returns an error if ctx ends, or if the loss or a weight stops being finite.
func (t *trainer[T]) fit(
	ctx context.Context, rows []T, cfg Config, o FitOptions, heldOutLoss func() float64,
) ([]Epoch, error) {
	n := len(rows) / (t.inputs + 2*t.outcomes)
	shuffled := newStream(cfg.Seed, streamOrder)
	swaps := newStream(cfg.Seed, streamSwap)

	var order []int32
	for i := range n {
		order = append(order, int32(i))
	}

	var swapped []bool
	if cfg.Pairs == Swap {
		swapped = make([]bool, n)
	}

	history := make([]Epoch, 0, cfg.Epochs)
	for len(history) < cfg.Epochs {
		shuffle(shuffled, order)

		for i := range swapped {
			swapped[i] = swaps.Uint64()>>63 == 1
		}

		e, err := t.pass(ctx, rows, order, swapped, len(history), cfg)
		if err != nil {
			return nil, err
		}

		if o.judges(e.Epoch, cfg.Epochs) {
			if v := heldOutLoss(); finite(v) {
				e.HeldOut = v
				e.Judged = true
			}
		}

		history = append(history, e)
		if o.Hook != nil {
			o.Hook(e)
		}
	}

	// The loss does not show weights that the last step has made infinite or NaN.
	for _, w := range t.p {
		if !finite(float64(w)) {
			return nil, fmt.Errorf("train: a weight became %g in epoch %d: lower the learning rate (%g) or standardise "+
				"the data", w, len(history), cfg.LearningRate)
		}
	}

	return history, nil
}

// pass trains for one epoch. order has the numbers of the triplets in the order of their use. If swapped is not nil, it
// says for each number whether y1 and y2 are exchanged. epoch is the number of epochs before this one. CONTRIBUTING.md
// says why products are converted.
func (t *trainer[T]) pass(
	ctx context.Context, rows []T, order []int32, swapped []bool, epoch int, cfg Config,
) (Epoch, error) {
	n := len(order)
	steps := max(1, n/cfg.Batch) // the last batch takes the remainder too
	sum := 0.0
	rate := 0.0 // of the last step
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return Epoch{}, fmt.Errorf("train: stopped in epoch %d: %w", epoch+1, err)
		}

		begin := step * cfg.Batch
		end := (step + 1) * cfg.Batch
		if step == steps-1 {
			end = n
		}

		var batchSwapped []bool
		if swapped != nil {
			batchSwapped = swapped[begin:end]
		}

		rate = cfg.rate(epoch*steps+step, cfg.Epochs*steps)

		sum += float64(t.gradient(rows, order[begin:end], batchSwapped) * float64(end-begin))
		t.step(rate)

		if t.single {
			t.zeroFeedback()
		}
	}

	e := Epoch{Epoch: epoch + 1, Loss: sum / float64(n), LearningRate: rate}
	if !finite(e.Loss) {
		return Epoch{}, fmt.Errorf("train: the loss became %g in epoch %d: lower the learning rate (%g) or standardise "+
			"the data", e.Loss, e.Epoch, cfg.LearningRate)
	}

	return e, nil
}

// rate returns the step size of a step of the training, which has the given number of steps. step counts from 0.
func (c Config) rate(step, steps int) float64 {
	if c.Schedule != Cosine {
		return c.LearningRate
	}

	return c.LearningRate * 0.5 * (1 + cosPi(float64(step)/float64(steps)))
}

// beginning has the kernels, the scales and the data with which a training starts.
type beginning struct {
	kernels  *kernel.Set[float32]
	inputs   triplets.Scale // by which the inputs are standardised
	outcomes triplets.Scale // by which the outcomes are standardised
	rows     []float32      // the training data in these scales (packRows)
}

// prepare checks settings and data, and returns the beginning of a training with them.
func prepare(data triplets.Set, cfg Config) (beginning, error) {
	if err := cfg.Validate(); err != nil {
		return beginning{}, fmt.Errorf("check settings: %w", err)
	}

	if err := check(data); err != nil {
		return beginning{}, fmt.Errorf("check training data: %w", err)
	}

	kernels, err := kernel.Resolve(cfg.Kernels)
	if err != nil {
		return beginning{}, err
	}

	inputs, outcomes, err := scalers(data, cfg)
	if err != nil {
		return beginning{}, fmt.Errorf("check training data: %w", err)
	}

	rows := packRows[float32](data, inputs, outcomes)

	return beginning{kernels: kernels, inputs: inputs, outcomes: outcomes, rows: rows}, nil
}

// scalers returns the scales of the inputs and the outcomes. When standardising, it returns an error if one of them is
// constant.
func scalers(data triplets.Set, cfg Config) (inputs, outcomes triplets.Scale, err error) {
	if !cfg.Standardise {
		return triplets.Identity(data.In), triplets.Identity(data.Out), nil
	}

	inputs = triplets.ScaleOf(data.In, data.X)
	for j, s := range inputs.Std {
		if !(s > 0) { // rounding may lose the spread of distinct numbers
			return inputs, outcomes, &ConstantInputError{Column: j, Value: inputs.Mean[j]}
		}
	}

	outcomes = data.OutcomeScale()
	for j, s := range outcomes.Std {
		if !(s > 0) {
			return inputs, outcomes, fmt.Errorf("outcome column %d is constant (%g): there is nothing to learn", j,
				outcomes.Mean[j])
		}
	}

	return inputs, outcomes, nil
}

// flagInputs returns the number of inputs that say whether an outcome is fed back: 1 with Flag, otherwise 0.
func flagInputs(feedback string) int {
	if feedback == Flag {
		return 1
	}
	return 0
}

// rowWeights returns the weights of the triplets in the loss of the first answer and of the second answer. They are 1
// on average, so that the mean over a batch estimates the weighted mean. The second answer has the weight 0 for rows
// that are alone: they have one outcome only, so that there is nothing to predict once it is fed back. Both results
// are nil if all weights are 1.
func rowWeights[T kernel.Float](d triplets.Set) (weight, second []T) {
	if d.Weight == nil && d.Alone == nil {
		return nil, nil
	}

	sum := 0.0
	for i := range d.N {
		sum += triplets.WeightAt(d.Weight, i)
	}

	for i := range d.N {
		weight = append(weight, T(triplets.WeightAt(d.Weight, i)*float64(d.N)/sum))
	}

	second = slices.Clone(weight)
	for i, alone := range d.Alone {
		if alone {
			second[i] = 0
		}
	}

	return weight, second
}

// packRows returns the standardised triplets, one after the other: x, then y1, then y2, d.In + 2·d.Out numbers each. A
// triplet then needs few cache lines.
func packRows[T kernel.Float](d triplets.Set, inputScale, outcomeScale triplets.Scale) []T {
	row := d.In + 2*d.Out
	rows := make([]T, d.N*row)
	for i := range d.N {
		r := rows[i*row : (i+1)*row]
		for j := range d.In {
			r[j] = T((d.X[i*d.In+j] - inputScale.Mean[j]) / inputScale.Std[j])
		}

		for j := range d.Out {
			r[d.In+j] = T((d.Y1[i*d.Out+j] - outcomeScale.Mean[j]) / outcomeScale.Std[j])
			r[d.In+d.Out+j] = T((d.Y2[i*d.Out+j] - outcomeScale.Mean[j]) / outcomeScale.Std[j])
		}
	}

	return rows
}

// FitSingle trains a network without a second answer: it predicts mean and variance
// of the outcomes at a condition. Both outcomes of a triplet count as separate
// measurements: the loss is ℓ(y1|x) + ℓ(y2|x). Layers, optimiser, order of the data and
// number of steps are the same as in Fit. Methods without a second answer (Deep
// Ensembles, MC dropout) use such networks. The feedback weights are 0, so that Estimate
// finds C = 0 and δ = 0.
//
// FitSingle does not use cfg.Feedback and cfg.Pairs; the model records DropWeights and
// Symmetrised. It returns the same errors as Fit and panics in the same cases.
func FitSingle(ctx context.Context, data triplets.Set, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	return FitWith(ctx, data, cfg, FitOptions{Hook: hook, Single: true})
}

// zeroFeedback sets the weights of the feedback inputs to 0. Both answers are then the
// same, and the symmetrised loss is ℓ(y1|x) + ℓ(y2|x).
func (t *trainer[T]) zeroFeedback() {
	for j := t.inputs; j < t.inputs+t.outcomes; j++ {
		for u := range t.width[0] {
			t.p[t.at(0, j, u)] = 0
		}
	}
}
