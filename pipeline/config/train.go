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

// Train describes the network, its training and the splits.
type Train struct {
	// conditions that are the network's inputs. A condition of names, such as the propeller, is used by the calibrated
	// predictions alone, as with ingest: {things}; the network sees numbers only
	Inputs []string `key:"inputs"`

	// quantities it predicts; empty: all
	Outcomes []string `key:"outcomes"`

	train.Config // settings of a network and its training, except the seed and the numeric kernels, which the stage sets

	// trainings per split
	Seeds int `key:"seeds"`

	// the first seed; each further training has the next number
	Seed uint64 `key:"seed" default:"0"`

	// how the covariance of two answers is computed
	Estimate train.EstimateOptions `key:"estimate"`

	// further methods trained on the same splits, for the comparison table; all, or some of
	Compare []string `key:"compare" of:"methods"`

	// compare: number of networks in an ensemble
	Members int `key:"members"`

	// how the calibrated process sees inputs and outcomes: auto, the form that predicts left-out groups best (logarithms,
	// ratios, coefficients such as a force over ρu², a tip speed; properties of things may be left out, because a few
	// things do not show their effects), chosen anew for every split; raw, as they are; or the name of such a form
	Form string `key:"form"`

	// intervals for groups that were never measured, learned from left-out training groups
	Honest honest.Settings `key:"honest"`

	// train/test rules by name: the held-out conditions
	Splits []Split `key:"splits"`
}

func defaultTrain() Train {
	return Train{
		Config: train.DefaultConfig(), Estimate: train.DefaultEstimateOptions(), Form: form.Auto,
		Seeds: 5, Members: baseline.DefaultMembers, Honest: honest.DefaultSettings(),
	}
}

// maxSeeds is the largest number of trainings of a split.
const maxSeeds = 1000

// validate reports faults of the section, which is at key.
func (t *Train) validate(f *File, key string, fail failFunc) {
	fail.when(len(t.Inputs) == 0, key+".inputs", "expected at least one condition the network sees, found none")

	for name, list := range map[string][]string{"inputs": t.Inputs, "outcomes": t.Outcomes} {
		for i, s := range list {
			fail.when(slices.Contains(list[:i], s), key+"."+name, "%q occurs twice", s)
		}
	}

	t.Config.Check(func(setting, text string) { fail(join(key, setting), "%s", text) })
	t.Estimate.Check(func(setting, text string) { fail(key+".estimate."+setting, "%s", text) })

	fail.when(f.Has(key+".model.feedback_value") && t.Feedback != train.Constant && t.FeedbackValue == 0,
		key+".model.feedback_value", "belongs to feedback: %s, found feedback: %s", train.Constant, t.Feedback)
	fail.when(t.Estimate.Samples < 2, key+".estimate.samples", "expected at least 2 samples, found %d", t.Estimate.Samples)

	fail.whole(key+".seeds", "seeds", t.Seeds, 1, maxSeeds)

	isNamed := t.Form != form.Auto && t.Form != form.Raw
	fail.when(isNamed && t.Honest.Base != "gp", key+".form",
		"belongs to honest: {base: gp}, found base: %s", t.Honest.Base)
	fail.when(isNamed && len(t.Inputs) > 0 && !form.Named(t.Form, t.Inputs), key+".form",
		"expected auto, raw, log, order, or ratios, coefficient, tip or reynolds of a speed and perhaps a length "+
			"among the inputs, such as coefficient(u_m_s,chord_m), found %s", t.Form)

	t.Honest.Check(func(setting, text string) { fail(key+".honest."+setting, "%s", text) })
	t.validateMethods(key, fail)
	t.validateSplits(key+".splits", fail)
}

// complete replaces the word all in t.Compare by the methods that it stands for.
func (t *Train) complete() {
	if slices.Equal(t.Compare, []string{"all"}) {
		t.Compare = baseline.All()
	}
}

// validateMethods reports methods to compare with that are unknown or listed twice.
func (t *Train) validateMethods(key string, fail failFunc) {
	known := baseline.Compared()
	for i, m := range t.Compare {
		switch {
		case m == "all":
			fail(key+".compare", "all stands alone, found other methods with it")
		case !slices.Contains(known, m):
			fail(key+".compare", "expected some of %s, found %q%s", strings.Join(known, ", "), m, spelling.DidYouMean(m, known))
		case slices.Contains(t.Compare[:i], m):
			fail(key+".compare", "%q occurs twice", m)
		}
	}

	fail.whole(key+".members", "networks", t.Members, baseline.MinMembers, baseline.MaxMembers)
}

// validateSplits reports faults of the splits, which are at key.
func (t *Train) validateSplits(key string, fail failFunc) {
	fail.when(len(t.Splits) == 0, key, "expected at least one split, found none")

	for _, s := range t.Splits {
		validateSplit(s, key+"."+s.Name, fail)
	}
}
