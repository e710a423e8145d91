package train

import (
	"context"
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// Epoch is what Fit reports after each pass over the data.
type Epoch struct {
	Epoch        int     // from 1
	Loss         float64 // mean over the epoch's triplets, in training (with dropout, moving weights)
	LearningRate float64 // of the epoch's last step
	HeldOut      float64 // the loss on FitOptions.HeldOut; 0 unless Judged
	Judged       bool    // HeldOut was taken after this epoch, and is finite
}

// ConstantInputError reports an input that has the same value in every training
// row: nothing can be learned about it, and it cannot be standardised.
type ConstantInputError struct {
	Column int // of X, from 0
	Value  float64
}

func (e *ConstantInputError) Error() string {
	return fmt.Sprintf("input column %d is constant (%g) in the training rows: leave it out or train on rows where it "+
		"varies", e.Column, e.Value)
}

// check reports data that no network can be trained on.
func check(d triplets.Set) error {
	if d.In < 1 || d.Out < 1 || d.In > maxWidth || d.Out > maxWidth {
		return fmt.Errorf("expected 1 to %d inputs and outcomes, found %d and %d", maxWidth, d.In, d.Out)
	}

	if err := d.Check(); err != nil {
		return err
	}

	for j := range d.In {
		if !slices.ContainsFunc(lists.Column(d.X, d.In, j), func(v float64) bool { return v != d.X[j] }) {
			return &ConstantInputError{Column: j, Value: d.X[j]}
		}
	}

	return nil
}

// Fit trains a network on triplets (docs/method.md#model-and-training) and
// returns it with its history.
//
// The result depends on data, cfg and the set of kernels only. Fit runs on the
// calling goroutine; several may run at once. hook, unless nil, is called after
// each epoch. ctx is looked at before each step; when it is done, Fit returns
// its error and no model.
//
// Errors: invalid settings, fewer than two rows, numbers that are not finite,
// a *ConstantInputError, an outcome that is constant (when standardising), and
// a loss that stopped being finite. Slices that do not fit the shape panic.
func Fit(ctx context.Context, data triplets.Set, cfg Config, hook func(Epoch)) (*Model, []Epoch, error) {
	return FitWith(ctx, data, cfg, FitOptions{Hook: hook})
}

// Check returns the error of settings and data that Fit would refuse before it begins.
func Check(data triplets.Set, cfg Config) error {
	return fault.Try(func() { prepare(data, cfg) })
}

// FitOptions are settings of FitWith in addition to those of training. With the
// zero value it equals Fit.
type FitOptions struct {
	// Hook, unless nil, is called after each epoch.
	Hook func(Epoch)

	// HeldOut are rows that the training does not use, or none. Their loss is taken
	// after every HeldOutEvery epochs (0: never) and after the last one, without dropout.
	// It changes nothing.
	HeldOut      triplets.Set
	HeldOutEvery int

	// Single trains the network of FitSingle.
	Single bool
}

// FitWith is Fit with options.
func FitWith(ctx context.Context, data triplets.Set, cfg Config, o FitOptions) (_ *Model, _ []Epoch, err error) {
	defer fault.Catch(&err)
	if o.Single {
		cfg.Feedback, cfg.FeedbackValue, cfg.Pairs = DropWeights, 0, Symmetrised
	}

	k, in, out, rows := prepare(data, cfg)
	t := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
	t.weight, t.second = rowWeights[float32](data)
	t.initialise(cfg.Seed)

	if t.single = o.Single; t.single {
		t.deafen()
	}

	held := packRows[float32](o.HeldOut, in, out)
	weight, second := rowWeights[float32](o.HeldOut)

	history := t.fit(ctx, rows, cfg, o, func() float64 { return t.loss(held, weight, second) })

	return newModel(t, cfg, in, out, k.Name), history, nil
}

// fit trains on so many rows. heldOut is the loss of o.HeldOut.
func (t *trainer[T]) fit(ctx context.Context, rows []T, cfg Config, o FitOptions, heldOut func() float64) []Epoch {
	n := len(rows) / (t.in + 2*t.out)
	shuffled, swaps := newStream(cfg.Seed, streamOrder), newStream(cfg.Seed, streamSwap)

	order := lists.Make(n, func(i int) int32 { return int32(i) })
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

		e := t.pass(ctx, rows, order, swapped, len(history), cfg)
		if every := o.HeldOutEvery; o.HeldOut.N > 0 && every > 0 && (e.Epoch%every == 0 || e.Epoch == cfg.Epochs) {
			if v := heldOut(); finite(v) {
				e.HeldOut, e.Judged = v, true
			}
		}

		history = append(history, e)
		if o.Hook != nil {
			o.Hook(e)
		}
	}

	// The last step may still have spoilt the weights.
	for _, w := range t.p {
		if !finite(float64(w)) {
			fault.Raise(fmt.Errorf("train: a weight became %g in epoch %d: lower the learning rate (%g) or standardise "+
				"the data", w, len(history), cfg.LearningRate))
		}
	}

	return history
}

// pass trains for one epoch, after so many others.
func (t *trainer[T]) pass(ctx context.Context, rows []T, order []int32, swapped []bool, epoch int, cfg Config) Epoch {
	n := len(order)
	steps := max(1, n/cfg.Batch) // the last batch takes the remainder too
	sum, rate := 0.0, cfg.LearningRate

	for step := range steps {
		if err := ctx.Err(); err != nil {
			fault.Raise(fmt.Errorf("train: stopped in epoch %d: %w", epoch+1, err))
		}

		a, b := step*cfg.Batch, (step+1)*cfg.Batch
		if step == steps-1 {
			b = n
		}

		var sw []bool
		if swapped != nil {
			sw = swapped[a:b]
		}

		if cfg.Schedule == Cosine {
			rate = cfg.LearningRate * 0.5 * (1 + cosPi(float64(epoch*steps+step)/float64(cfg.Epochs*steps)))
		}

		sum += float64(t.gradient(rows, order[a:b], sw) * float64(b-a))
		t.step(rate)

		if t.single {
			t.deafen()
		}
	}

	e := Epoch{Epoch: epoch + 1, Loss: sum / float64(n), LearningRate: rate}
	if !finite(e.Loss) {
		fault.Raise(fmt.Errorf("train: the loss became %g in epoch %d: lower the learning rate (%g) or standardise the data",
			e.Loss, e.Epoch, cfg.LearningRate))
	}

	return e
}

// prepare checks settings and data, and returns what every training begins
// with: kernels, scales and the rows in them.
func prepare(data triplets.Set, cfg Config) (k *kernel.Set[float32], in, out triplets.Scale, rows []float32) {
	if err := cfg.Validate(); err != nil {
		fault.Raise(fmt.Errorf("check settings: %w", err))
	}

	if err := check(data); err != nil {
		fault.Raise(fmt.Errorf("check training data: %w", err))
	}

	k = fault.Get(kernel.Resolve(cfg.Kernels))
	in, out = scalers(data, cfg)

	return k, in, out, packRows[float32](data, in, out)
}

// scalers returns the scales of inputs and outcomes.
func scalers(data triplets.Set, cfg Config) (in, out triplets.Scale) {
	if !cfg.Standardise {
		return triplets.Identity(data.In), triplets.Identity(data.Out)
	}

	in, out = triplets.ScaleOf(data.In, data.X), data.OutcomeScale()
	for j, s := range in.Std {
		// Distinct numbers whose spread is lost to rounding.
		if !(s > 0) {
			fault.Raise(fmt.Errorf("check training data: %w", &ConstantInputError{Column: j, Value: in.Mean[j]}))
		}
	}

	for j, s := range out.Std {
		if !(s > 0) {
			fault.Raise(fmt.Errorf("check training data: outcome column %d is constant (%g): there is nothing to learn", j,
				out.Mean[j]))
		}
	}

	return in, out
}

func flagInputs(feedback string) int {
	if feedback == Flag {
		return 1
	}
	return 0
}

// rowWeights are the weights of the triplets in the loss, 1 on average, so that the
// mean over a batch estimates the weighted mean; nil without. second are those of the second answer, zero for rows
// that are alone: a network that is given their outcome has nothing to predict.
func rowWeights[T kernel.Float](d triplets.Set) (weight, second []T) {
	if d.Weight == nil {
		return nil, nil
	}

	sum := 0.0
	for _, w := range d.Weight {
		sum += w
	}

	weight = lists.Each(d.Weight, func(w float64) T { return T(w * float64(d.N) / sum) })
	second = slices.Clone(weight)
	for i, alone := range d.Alone {
		if alone {
			second[i] = 0
		}
	}

	return weight, second
}

// packRows interleaves standardised x, y1, y2: one cache line or two a triplet.
func packRows[T kernel.Float](d triplets.Set, in, out triplets.Scale) []T {
	row := d.In + 2*d.Out
	rows := make([]T, d.N*row)
	for i := range d.N {
		r := rows[i*row : (i+1)*row]
		for j := range d.In {
			r[j] = T((d.X[i*d.In+j] - in.Mean[j]) / in.Std[j])
		}

		for j := range d.Out {
			r[d.In+j] = T((d.Y1[i*d.Out+j] - out.Mean[j]) / out.Std[j])
			r[d.In+d.Out+j] = T((d.Y2[i*d.Out+j] - out.Mean[j]) / out.Std[j])
		}
	}

	return rows
}

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
