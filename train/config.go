package train

import (
	"errors"
	"fmt"
	"math"

	"doubletake/train/kernel"
)

// Values of Config.Feedback: what the feedback inputs read when nothing is fed
// back (METHOD §2).
const (
	DropWeights = "drop-weights" // the feedback weights are left out; algebraically zeros
	Constant    = "constant"     // every feedback input reads FeedbackValue
	Flag        = "flag"         // [b·y, b] with presence bit b: "none" differs from "mean"
)

// Values of Config.Pairs: how the two outcomes of a triplet enter the loss
// (METHOD §2).
const (
	Symmetrised = "symmetrised" // ½[ℓ(y1|x) + ℓ(y2|x) + ℓ(y2|x,y1) + ℓ(y1|x,y2)]
	Swap        = "swap"        // plain, with y1 and y2 exchanged at random for each use
	Plain       = "plain"       // ℓ(y1|x) + ℓ(y2|x,y1), the paper's
)

// Config are the settings of Fit. The zero value is not valid; start from
// DefaultConfig.
type Config struct {
	Hidden        []int   `json:"hidden"`         // widths of the hidden layers, default 64, 64
	Dropout       float64 `json:"dropout"`        // after each hidden layer, default 0.05; used rounded to 1/65536
	Feedback      string  `json:"feedback"`       // "drop-weights" (default), "constant", "flag"
	FeedbackValue float64 `json:"feedback_value"` // for "constant", in the units the network sees (standardised, if it is)
	Beta          float64 `json:"beta"`           // exponent of the β-NLL, default 0.5; 0 is the NLL
	Pairs         string  `json:"pairs"`          // "symmetrised" (default), "swap", "plain"
	LearningRate  float64 `json:"learning_rate"`  // Adam's, default 1e-3
	WeightDecay   float64 `json:"weight_decay"`   // decoupled (AdamW), default 0
	Batch         int     `json:"batch"`          // triplets a step, default 32; the last batch of an epoch takes the remainder too
	Epochs        int     `json:"epochs"`         // default 500
	Schedule      string  `json:"schedule"`       // "constant" (default) or "cosine", to zero over all steps
	Standardise   bool    `json:"standardise"`    // inputs and outcomes to mean 0, population std 1; default true
	Seed          uint64  `json:"seed"`           // of weights, order and dropout, each with its own stream
	Kernels       string  `json:"kernels"`        // "auto" (default), "portable", "avx2", "avx512"
}

// DefaultConfig returns the settings of the drone experiment (METHOD §2).
func DefaultConfig() Config {
	return Config{
		Hidden: []int{64, 64}, Dropout: 0.05, Feedback: DropWeights, Beta: 0.5, Pairs: Symmetrised,
		LearningRate: 1e-3, Batch: 32, Epochs: 500, Schedule: "constant", Standardise: true, Kernels: "auto",
	}
}

// Validate reports every setting that Fit would refuse, joined.
func (c Config) Validate() error {
	var errs []error
	bad := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	bad(len(c.Hidden) > 0, "hidden: expected at least one layer, found none")
	for i, h := range c.Hidden {
		bad(h >= 1 && h <= maxWidth, "hidden: expected widths from 1 to %d, found %d for layer %d", maxWidth, h, i+1)
	}
	// Above 0.9 nothing is learned, and so is never what was meant.
	bad(c.Dropout >= 0 && c.Dropout <= 0.9, "dropout: expected 0 to 0.9, found %g", c.Dropout)
	bad(c.Feedback == DropWeights || c.Feedback == Constant || c.Feedback == Flag,
		"feedback: expected %s, %s or %s, found %q", DropWeights, Constant, Flag, c.Feedback)
	bad(finite(c.FeedbackValue) && math.Abs(c.FeedbackValue) <= 1e6, "feedback value: expected a number up to 1e6, found %g", c.FeedbackValue)
	bad(c.FeedbackValue == 0 || c.Feedback == Constant, "feedback value: only %q feedback takes one, found %g with %q", Constant, c.FeedbackValue, c.Feedback)
	bad(c.Beta >= 0 && c.Beta <= 1, "beta: expected 0 to 1, found %g", c.Beta)
	bad(c.Pairs == Symmetrised || c.Pairs == Swap || c.Pairs == Plain,
		"pairs: expected %s, %s or %s, found %q", Symmetrised, Swap, Plain, c.Pairs)
	bad(c.LearningRate > 0 && c.LearningRate <= 1, "learning rate: expected above 0, up to 1, found %g", c.LearningRate)
	bad(c.WeightDecay >= 0 && c.WeightDecay*c.LearningRate < 1, "weight decay: expected 0 or more, and below 1/learning rate, found %g", c.WeightDecay)
	bad(c.Batch >= 1 && c.Batch <= 1<<20, "batch: expected 1 to %d, found %d", 1<<20, c.Batch)
	bad(c.Epochs >= 1 && c.Epochs <= 1e7, "epochs: expected 1 to 1e7, found %d", c.Epochs)
	bad(c.Schedule == "constant" || c.Schedule == "cosine", "schedule: expected constant or cosine, found %q", c.Schedule)
	switch c.Kernels {
	case "", "auto", "portable", "avx2", "avx512":
	default:
		bad(false, "kernels: expected auto, portable, avx2 or avx512, found %q", c.Kernels)
	}
	return errors.Join(errs...)
}

const maxWidth = 4096

// KernelSet returns the set of numeric kernels that name stands for on this
// machine: "auto" becomes the fastest one it runs (or what the environment
// variable DOUBLETAKE_KERNELS names), any other name itself, or an error where
// this CPU cannot run it. The set is part of what determines the bytes of a
// model.
func KernelSet(name string) (string, error) {
	s, err := kernel.Resolve(name)
	if err != nil {
		return "", err
	}
	return s.Name, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
