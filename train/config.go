package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"doubletake/train/kernel"
)

// Values of Config.Feedback: what the feedback inputs are if no outcome is fed back
// (docs/method.md#model-and-training).
const (
	DropWeights = "drop-weights" // the feedback weights do not count, as if the inputs were 0
	Constant    = "constant"     // every feedback input is FeedbackValue
	Flag        = "flag"         // 0; a further input is 1 if an outcome is fed back, which may be 0 too
)

// Values of Config.Pairs: how the two outcomes of a triplet enter the loss, with ℓ the β-NLL
// (docs/method.md#model-and-training).
const (
	Symmetrised = "symmetrised" // ½[ℓ(y1|x) + ℓ(y2|x) + ℓ(y2|x,y1) + ℓ(y1|x,y2)]
	Swap        = "swap"        // plain, with y1 and y2 exchanged at random for each use
	Plain       = "plain"       // ℓ(y1|x) + ℓ(y2|x,y1), the paper's
)

// Values of Config.Schedule: the step size over the epochs.
const (
	ConstantRate = "constant"
	Cosine       = "cosine" // to zero, over all steps
)

// Config has the settings of Fit. The zero value is not valid; start from
// DefaultConfig. The comments of fields with a key are the documentation of the key for
// users. The tag only:"pairs" marks settings that FitSingle does not use.
type Config struct {
	// the network
	Network `key:"model"`

	// the loss
	Loss `key:"loss"`

	// the optimiser
	Optimizer `key:"optimizer"`

	// scale inputs and outcomes to zero mean and unit deviation of the training split
	Standardise bool `key:"standardise" json:"standardise"`

	Seed    uint64 `json:"seed"`    // of all random numbers; weights, order and dropout have streams of their own
	Kernels string `json:"kernels"` // "auto" (default), "portable", "avx2"
}

// Network is the shape of the network and its feedback inputs.
type Network struct {
	// widths of the hidden layers
	Hidden []int `key:"hidden" json:"hidden"`

	// probability of dropping a hidden unit
	Dropout float64 `key:"dropout" json:"dropout"` // rounded to a multiple of 1/65536

	// the network's input where no outcome is fed back
	Feedback string `key:"feedback" enum:"drop-weights|constant|flag" only:"pairs" json:"feedback"`

	// constant: the value, in standardised units
	FeedbackValue float64 `key:"feedback_value" default:"0" only:"pairs" json:"feedback_value"`
}

// Loss is the loss of two answers.
type Loss struct {
	// exponent of the beta-NLL; 0 is the plain negative log likelihood
	Beta float64 `key:"beta" json:"beta"`

	// outcome of a pair that is fed back: each in turn, one at random in every epoch, or the first
	Pairs string `key:"pairs" enum:"symmetrised|swap|plain" only:"pairs" json:"pairs"`
}

// Optimizer is Adam and its schedule.
type Optimizer struct {
	// the optimiser
	Name string `key:"name" enum:"adam" json:"-"`

	// step size
	LearningRate float64 `key:"learning_rate" json:"learning_rate"`

	// decoupled weight decay (AdamW): each step multiplies the weights by 1 - learning_rate*weight_decay
	WeightDecay float64 `key:"weight_decay" default:"0" json:"weight_decay"`

	// triplets per step, at most those of the training set
	Batch int `key:"batch" json:"batch"` // the last batch of an epoch also takes the rest

	// passes over the training triplets
	Epochs int `key:"epochs" json:"epochs"`

	// the step size is constant, or falls to zero along a cosine over the epochs
	Schedule string `key:"schedule" enum:"constant|cosine" json:"schedule"`
}

// DefaultConfig returns the settings of the drone experiment
// (docs/method.md#model-and-training).
func DefaultConfig() Config {
	return Config{
		Network:   Network{Hidden: []int{64, 64}, Dropout: 0.05, Feedback: DropWeights},
		Loss:      Loss{Beta: 0.5, Pairs: Symmetrised},
		Optimizer: Optimizer{Name: "adam", LearningRate: 1e-3, Batch: 32, Epochs: 500, Schedule: ConstantRate},

		Standardise: true, Kernels: "auto",
	}
}

// Limits of the settings: values beyond them are mistakes.
const (
	maxLayers   = 8
	maxWidth    = 4096
	maxDropout  = 0.9 // above it nothing is learned
	maxFeedback = 1e6
	maxRate     = 1
	maxBatch    = 1 << 20
)

// MaxEpochs is the limit of Config.Epochs.
const MaxEpochs = 10_000_000

// Validate returns the joined errors of all settings that Fit would refuse, or nil if there are none.
func (c Config) Validate() error { return joinRefused(c.Check) }

// joinRefused runs check and returns the joined errors of all settings for which it calls fail.
func joinRefused(check func(fail func(setting, text string))) error {
	var all error
	check(func(setting, text string) { all = errors.Join(all, fmt.Errorf("%s: %s", setting, text)) })

	return all
}

// Check calls fail for every setting that Fit would refuse, with the key of the
// setting and a text "expected …, found …".
func (c Config) Check(fail func(setting, text string)) {
	require := func(ok bool, setting, format string, a ...any) {
		if !ok {
			fail(setting, fmt.Sprintf(format, a...))
		}
	}

	require(len(c.Hidden) >= 1 && len(c.Hidden) <= maxLayers, "model.hidden",
		"expected 1 to %d hidden layers, found %d", maxLayers, len(c.Hidden))

	for i, h := range c.Hidden {
		require(h >= 1 && h <= maxWidth, "model.hidden",
			"expected widths from 1 to %d, found %d for layer %d", maxWidth, h, i+1)
	}

	require(c.Dropout >= 0 && c.Dropout <= maxDropout, "model.dropout",
		"expected 0 to %g, found %g", maxDropout, c.Dropout)
	require(slices.Contains([]string{DropWeights, Constant, Flag}, c.Feedback), "model.feedback",
		"expected %s, %s or %s, found %q", DropWeights, Constant, Flag, c.Feedback)
	require(math.Abs(c.FeedbackValue) <= maxFeedback, "model.feedback_value",
		"expected a number from -%g to %g, found %g", maxFeedback, maxFeedback, c.FeedbackValue)
	require(c.FeedbackValue == 0 || c.Feedback == Constant, "model.feedback_value",
		"expected feedback: %s with it, found feedback: %s", Constant, c.Feedback)
	require(c.Beta >= 0 && c.Beta <= 1, "loss.beta", "expected 0 to 1, found %g", c.Beta)
	require(slices.Contains([]string{Symmetrised, Swap, Plain}, c.Pairs), "loss.pairs",
		"expected %s, %s or %s, found %q", Symmetrised, Swap, Plain, c.Pairs)
	require(c.LearningRate > 0 && c.LearningRate <= maxRate, "optimizer.learning_rate",
		"expected above 0 and up to %d, found %g", maxRate, c.LearningRate)
	require(c.WeightDecay >= 0 && !(c.WeightDecay*c.LearningRate >= 1), "optimizer.weight_decay",
		"expected 0 or more, and below 1/learning_rate, found %g", c.WeightDecay)
	require(c.Batch >= 1 && c.Batch <= maxBatch, "optimizer.batch",
		"expected 1 to %d triplets, found %d", maxBatch, c.Batch)
	require(c.Epochs >= 1 && c.Epochs <= MaxEpochs, "optimizer.epochs",
		"expected 1 to %d epochs, found %d", MaxEpochs, c.Epochs)
	require(slices.Contains([]string{ConstantRate, Cosine}, c.Schedule), "optimizer.schedule",
		"expected %s or %s, found %q", ConstantRate, Cosine, c.Schedule)
	require(slices.Contains([]string{"", "auto", "portable", "avx2"}, c.Kernels), "kernels",
		"expected auto, portable or avx2, found %q", c.Kernels)
}

// KernelSet returns the name of the set of numeric kernels that name stands for on this
// machine. "auto" stands for the set in the environment variable DOUBLETAKE_KERNELS or, without
// it, for the fastest set that the CPU runs. KernelSet returns an error if the CPU cannot run
// the set. The bytes of a model depend on the set.
func KernelSet(name string) (string, error) {
	s, err := kernel.Resolve(name)
	if err != nil {
		return "", err
	}

	return s.Name, nil
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
