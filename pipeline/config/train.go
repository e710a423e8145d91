package config

import (
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/train"
	"doubletake/train/baseline"
)

// Train is the network, its training and the splits.
type Train struct {
	// conditions that are the network's inputs
	Inputs []string `key:"inputs"`

	// quantities it predicts; empty: all
	Outcomes []string `key:"outcomes"`

	// the network
	Model Model `key:"model"`

	// the loss
	Loss Loss `key:"loss"`

	// the optimiser
	Optimizer Optimizer `key:"optimizer"`

	// scale inputs and outcomes to zero mean and unit deviation of the training split
	Standardise bool `key:"standardise"`

	// head binned: ranges of outcomes by name, {loud: "bpf1_db > 70"}, each an expression of one outcome, as
	// in derive; the report and predict give their probabilities with their epistemic deviations
	Events []NamedString `key:"events"`

	// trainings per split
	Seeds int `key:"seeds"`

	// the first seed; the others follow
	Seed uint64 `key:"seed" default:"0"`

	// how the covariance of two answers is computed
	Estimate Estimate `key:"estimate"`

	// further methods trained on the same splits, for the comparison table; all, or some of
	Compare []string `key:"compare" of:"methods"`

	// compare: networks of an ensemble
	Members int `key:"members"`

	// share of the training runs set aside to recalibrate the uncertainties, e.g. 0.2, or {share, kind}
	Calibration Recalibrate `key:"calibration"`

	// intervals for groups that were never measured, learned from left-out training groups
	Honest Honest `key:"honest"`

	// ends trainings by the loss on an inner group of the training set; off without it
	EarlyStop EarlyStop `key:"early_stopping"`

	// train/test rules by name: the held-out conditions
	Splits []Split `key:"splits"`
}

// Recalibrate is what is set aside to recalibrate uncertainties; a share alone is
// short for it.
type Recalibrate struct {
	// share of the training runs, chosen by whole runs; 0: none
	Share float64 `key:"share" default:"0"`

	// a map of the predicted levels, learned in addition to scaled, isotonic and quantile: beta, the same
	// everywhere, or gp-beta, which varies with the prediction
	Kind string `key:"kind" enum:"beta|gp-beta"`
}

// EarlyStop ends trainings where inner held-out pairs are predicted best.
type EarlyStop struct {
	// an input; a first training leaves out the pairs of one group of its values, a value or a block of
	// neighbours, and the loss on them decides how many epochs the training on all training pairs has
	On string `key:"on"`

	// epochs without a lower loss after which the first training ends
	Patience int `key:"patience"`
}

// Model is the network.
type Model struct {
	// without it the network answers twice; joint, it gives mean, noise and covariance of a pair at once, for
	// each outcome separately; joint-full, with full matrices over the outcomes; binned (experimental), for
	// each outcome a table of the probabilities of the bins of both values
	Head string `key:"head" enum:"joint|joint-full|binned"`

	// head binned: number of bins of each outcome, with as many training values in each; 0: 16
	Bins int `key:"bins" default:"0" omit:"zero"`

	// widths of the hidden layers
	Hidden []int `key:"hidden"`

	// probability of dropping a hidden unit
	Dropout float64 `key:"dropout"`

	// the network's input where no outcome is fed back
	Feedback string `key:"feedback" enum:"drop-weights|constant|flag"`

	// constant: the value, in standardised units
	FeedbackValue float64 `key:"feedback_value" default:"0"`
}

// Loss is the loss of two answers.
type Loss struct {
	// exponent of the beta-NLL; 0 is the plain negative log likelihood
	Beta float64 `key:"beta"`

	// outcome of a pair that is fed back: each in turn, one at random in every epoch, or the first
	Pairs string `key:"pairs" enum:"symmetrised|swap|plain"`
}

// Optimizer is Adam and its schedule.
type Optimizer struct {
	// the optimiser
	Name string `key:"name" enum:"adam"`

	// step size
	LearningRate float64 `key:"learning_rate"`

	// decoupled weight decay (AdamW): each step multiplies the weights by 1 - learning_rate*weight_decay
	WeightDecay float64 `key:"weight_decay" default:"0"`

	// triplets per step, at most those of the training set
	Batch int `key:"batch"`

	// passes over the training triplets
	Epochs int `key:"epochs"`

	// the step size is constant, or falls to zero along a cosine over the epochs
	Schedule string `key:"schedule" enum:"constant|cosine"`
}

// Estimate is how E|cov| is sampled.
type Estimate struct {
	// Monte-Carlo samples of the paper's estimator
	Samples int `key:"samples"`

	// how they are drawn: pairs of opposite noise, or independently (the paper's, biased upwards)
	Sampler string `key:"sampler" enum:"antithetic|plain"`
}

func defaultTrain() Train {
	c, o := train.DefaultConfig(), train.DefaultEstimateOptions()
	return Train{
		Model: Model{
			Head: c.Head, Hidden: c.Hidden, Dropout: c.Dropout, Feedback: c.Feedback, FeedbackValue: c.FeedbackValue,
		},
		Loss: Loss{Beta: c.Beta, Pairs: c.Pairs},
		Optimizer: Optimizer{
			Name: "adam", LearningRate: c.LearningRate, WeightDecay: c.WeightDecay,
			Batch: c.Batch, Epochs: c.Epochs, Schedule: c.Schedule,
		},
		Standardise: c.Standardise, Seeds: 5, Members: baseline.DefaultMembers,
		Estimate: Estimate{Samples: o.Samples, Sampler: o.Sampler},
		Honest:   defaultHonest(), EarlyStop: EarlyStop{Patience: 50},
	}
}

// Network returns the settings of a network and its training; the seed and the
// numeric kernels are the caller's.
func (t *Train) Network() train.Config {
	c := train.DefaultConfig()
	c.Head, c.Bins = t.Model.Head, t.Model.Bins
	c.Hidden, c.Dropout, c.Feedback, c.FeedbackValue = t.Model.Hidden, t.Model.Dropout, t.Model.Feedback,
		t.Model.FeedbackValue
	c.Beta, c.Pairs = t.Loss.Beta, t.Loss.Pairs
	c.LearningRate, c.WeightDecay = t.Optimizer.LearningRate, t.Optimizer.WeightDecay
	c.Batch, c.Epochs, c.Schedule = t.Optimizer.Batch, t.Optimizer.Epochs, t.Optimizer.Schedule
	c.Standardise = t.Standardise
	return c
}

// networkSections are the sections that hold the settings of train.Config.
var networkSections = map[string]string{
	"head": "model", "bins": "model", "hidden": "model", "dropout": "model",
	"feedback": "model", "feedback_value": "model",
	"beta": "loss", "pairs": "loss",
	"learning_rate": "optimizer", "weight_decay": "optimizer", "batch": "optimizer", "epochs": "optimizer",
	"schedule": "optimizer",
}

// Limits of what the training stage itself repeats and sets aside.
const (
	maxSeeds       = 1000
	maxCalibration = 0.5
)

func (t *Train) validate(f *File, key string, fail failFunc) {
	if len(t.Inputs) == 0 {
		fail(key+".inputs", "expected at least one condition the network sees, found none")
	}
	for i, s := range t.Inputs {
		if slices.Contains(t.Inputs[:i], s) {
			fail(key+".inputs", "%q occurs twice", s)
		}
	}
	for i, s := range t.Outcomes {
		if slices.Contains(t.Outcomes[:i], s) {
			fail(key+".outcomes", "%q occurs twice", s)
		}
	}
	t.Network().Check(func(setting, text string) {
		fail(join(join(key, networkSections[setting]), setting), "%s", text)
	})
	train.EstimateOptions{Samples: t.Estimate.Samples, Sampler: t.Estimate.Sampler}.Check(func(setting, text string) {
		fail(key+".estimate."+setting, "%s", text)
	})
	if f.Has(key+".model.feedback_value") && t.Model.Feedback != train.Constant && t.Model.FeedbackValue == 0 {
		fail(key+".model.feedback_value", "belongs to feedback: %s, found feedback: %s", train.Constant, t.Model.Feedback)
	}
	if t.Estimate.Samples < 2 {
		fail(key+".estimate.samples", "expected at least 2 samples, found %d", t.Estimate.Samples)
	}
	if t.Seeds < 1 || t.Seeds > maxSeeds {
		fail(key+".seeds", "expected 1 to %d seeds, found %d", maxSeeds, t.Seeds)
	}
	switch c := t.Calibration; {
	case !(c.Share >= 0 && c.Share <= maxCalibration):
		fail(key+".calibration", "expected a share from 0 to %g, found %g", maxCalibration, c.Share)
	case c.Share == 0 && c.Kind != "":
		fail(key+".calibration", "%s is learned on a share of the training runs, found none: {share: 0.2, kind: %s}",
			c.Kind, c.Kind)
	}
	if len(t.Events) > 0 && t.Model.Head != train.Binned {
		fail(key+".events", "needs model: {head: %s}, whose tables give probabilities of events, found head: %q",
			train.Binned, t.Model.Head)
	}
	t.Honest.validate(key+".honest", fail)
	t.validateEarlyStop(f, key+".early_stopping", fail)
	t.validateMethods(key, fail)
	t.validateSplits(key+".splits", fail)
}

func (t *Train) validateEarlyStop(f *File, key string, fail failFunc) {
	e := t.EarlyStop
	switch {
	case e.On == "" && f.Has(key):
		fail(key, "expected on: the input whose groups of training values are held out in turn, found none")
	case e.On != "" && !slices.Contains(t.Inputs, e.On):
		fail(key+".on", "expected one of the inputs %s, found %q%s", strings.Join(t.Inputs, ", "), e.On,
			spelling.DidYouMean(e.On, t.Inputs))
	case e.On != "" && t.Honest.Methods:
		fail(key+".on", "does not go with honest: {methods: true}, which trains for all epochs; leave one of them out")
	}
	if e.Patience < 1 || e.Patience > train.MaxEpochs {
		fail(key+".patience", "expected 1 to %d epochs, found %d", train.MaxEpochs, e.Patience)
	}
}

func (t *Train) validateMethods(key string, fail failFunc) {
	if slices.Equal(t.Compare, []string{"all"}) {
		t.Compare = baseline.All(t.Network())
	}
	known := baseline.Compared()
	for i, m := range t.Compare {
		switch {
		case m == "all":
			fail(key+".compare", "all stands alone, found other methods with it")
		case !slices.Contains(known, m):
			fail(key+".compare", "expected some of %s, found %q%s", strings.Join(known, ", "), m, spelling.DidYouMean(m, known))
		case slices.Contains(t.Compare[:i], m):
			fail(key+".compare", "%q occurs twice", m)
		case baseline.Needs(m, t.Network()) != "":
			fail(key+".compare", "%s needs %s", m, baseline.Needs(m, t.Network()))
		}
	}
	if t.Members < baseline.MinMembers || t.Members > baseline.MaxMembers {
		fail(key+".members", "expected %d to %d networks, found %d", baseline.MinMembers, baseline.MaxMembers, t.Members)
	}
}

func (t *Train) validateSplits(key string, fail failFunc) {
	if len(t.Splits) == 0 {
		fail(key, "expected at least one split, found none")
	}
	for _, s := range t.Splits {
		s.validate(key+"."+s.Name, fail)
	}
}
