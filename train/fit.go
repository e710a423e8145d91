package train

import (
	"context"
	"fmt"

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
		constant := true
		for i := 1; i < d.N && constant; i++ {
			constant = d.X[i*d.In+j] == d.X[j]
		}

		if constant {
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

func flagInputs(feedback string) int {
	if feedback == Flag {
		return 1
	}
	return 0
}

// rowWeights are the weights of the triplets in the loss, 1 on average, so that the
// mean over a batch estimates the weighted mean; nil without.
func rowWeights[T kernel.Float](d triplets.Set) []T {
	if d.Weight == nil {
		return nil
	}

	sum := 0.0
	for _, w := range d.Weight {
		sum += w
	}

	out := make([]T, d.N)
	for i, w := range d.Weight {
		out[i] = T(w * float64(d.N) / sum)
	}

	return out
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
