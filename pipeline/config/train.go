package config

import (
	"slices"
	"strings"

	"doubletake/ingest/spelling"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/form"
	"doubletake/train/honest"
)

// Train is the network, its training and the splits.
type Train struct {
	// conditions that are the network's inputs
	Inputs []string `key:"inputs"`

	// quantities it predicts; empty: all
	Outcomes []string `key:"outcomes"`

	train.Config // of a network and its training; the seed and the numeric kernels are the stage's

	// head binned: ranges of outcomes by name, {loud: "bpf1_db > 70"}, each an expression of one outcome, as
	// in derive; the report and predict give their probabilities with their epistemic deviations
	Events []NamedString `key:"events"`

	// trainings per split
	Seeds int `key:"seeds"`

	// the first seed; the others follow
	Seed uint64 `key:"seed" default:"0"`

	// how the covariance of two answers is computed
	Estimate train.EstimateOptions `key:"estimate"`

	// further methods trained on the same splits, for the comparison table; all, or some of
	Compare []string `key:"compare" of:"methods"`

	// compare: networks of an ensemble
	Members int `key:"members"`

	// share of the training runs set aside to recalibrate the uncertainties, e.g. 0.2
	Calibration Recalibrate `key:"calibration"`

	// how the calibrated process sees inputs and outcomes: raw, as they are; auto, the form that predicts
	// left-out groups best (logarithms, ratios, coefficients such as a force over ρu²), chosen anew for every
	// split; or the name of such a form
	Form string `key:"form" omit:"zero"`

	// intervals for groups that were never measured, learned from left-out training groups
	Honest honest.Settings `key:"honest"`

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
}

// EarlyStop ends trainings where inner held-out pairs are predicted best.
type EarlyStop struct {
	// an input; a first training leaves out the pairs of one group of its values, a value or a block of
	// neighbours, and the loss on them decides how many epochs the training on all training pairs has
	On string `key:"on"`

	// epochs without a lower loss after which the first training ends
	Patience int `key:"patience"`
}

func defaultTrain() Train {
	return Train{
		Config: train.DefaultConfig(), Estimate: train.DefaultEstimateOptions(),
		Seeds: 5, Members: baseline.DefaultMembers, Honest: honest.DefaultSettings(), EarlyStop: EarlyStop{Patience: 50},
	}
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

	t.Config.Check(func(setting, text string) { fail(join(key, setting), "%s", text) })
	t.Estimate.Check(func(setting, text string) { fail(key+".estimate."+setting, "%s", text) })

	if f.Has(key+".model.feedback_value") && t.Feedback != train.Constant && t.FeedbackValue == 0 {
		fail(key+".model.feedback_value", "belongs to feedback: %s, found feedback: %s", train.Constant, t.Feedback)
	}

	if t.Estimate.Samples < 2 {
		fail(key+".estimate.samples", "expected at least 2 samples, found %d", t.Estimate.Samples)
	}

	if t.Seeds < 1 || t.Seeds > maxSeeds {
		fail(key+".seeds", "expected 1 to %d seeds, found %d", maxSeeds, t.Seeds)
	}

	if share := t.Calibration.Share; !(share >= 0 && share <= maxCalibration) {
		fail(key+".calibration", "expected a share from 0 to %g, found %g", maxCalibration, share)
	}

	if len(t.Events) > 0 && t.Head != train.Binned {
		fail(key+".events", "needs model: {head: %s}, whose tables give probabilities of events, found head: %q",
			train.Binned, t.Head)
	}

	if t.Form != "" && t.Form != form.Raw && t.Honest.Base != "gp" {
		fail(key+".form", "belongs to honest: {base: gp}, found base: %s", t.Honest.Base)
	}

	if t.Form != "" && len(t.Inputs) > 0 && !form.Named(t.Form, t.Inputs) {
		fail(key+".form", "expected raw, auto, log, order, or ratios or coefficient of a speed and perhaps a length "+
			"among the inputs, such as coefficient(u_m_s,chord_m), found %s", t.Form)
	}

	t.Honest.Check(func(setting, text string) { fail(key+".honest."+setting, "%s", text) })
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
		t.Compare = baseline.All(t.Config)
	}

	known := baseline.Compared()
	for i, m := range t.Compare {
		switch {
		case m == "all":
			fail(key+".compare", "all stands alone, found other methods with it")
		case !slices.Contains(known, m) && (m == "hmc" || strings.HasPrefix(m, "laplace-")):
			fail(key+".compare", "%s left the program in version 0.2; the research's program has it: "+
				"go run ./pipeline in docs/research", m)
		case !slices.Contains(known, m):
			fail(key+".compare", "expected some of %s, found %q%s", strings.Join(known, ", "), m, spelling.DidYouMean(m, known))
		case slices.Contains(t.Compare[:i], m):
			fail(key+".compare", "%q occurs twice", m)
		case baseline.Needs(m, t.Config) != "":
			fail(key+".compare", "%s needs %s", m, baseline.Needs(m, t.Config))
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
