// Package experiment says what is trained and how it is judged: the splits of an experiment, the groups that each split
// leaves out in turn, the rows of each training, and what cannot work with the conditions of a campaign.
//
// The package knows no configuration and no tasks. It needs the inputs, the splits and the conditions of a campaign, as
// far as they are known. Its errors name the setting that they are about.
package experiment

import (
	"doubletake/ingest/condition"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/honest/scale"
)

// Experiment says what is trained on the pairs of a campaign.
type Experiment struct {
	Inputs   []string              // conditions that networks see
	Outcomes []string              // outcomes that are asked for; none: all that vary
	Splits   []Split               // what is held out
	Honest   honest.Settings       // how intervals are calibrated
	Form     string                // form of the calibrated process: form.Raw, form.Auto or the name of a form
	Network  train.Config          // settings of networks, without a seed
	Estimate train.EstimateOptions // how the covariance of two answers is computed
	Seeds    int                   // trainings of each split
	Members  int                   // networks of an ensemble

	BatchStated bool        // the size of a batch was asked for, so that a smaller training set is an error
	Weighted    bool        // pairs have weights
	Couples     bool        // the two outcomes of a pair are coupled
	Spectra     bool        // the outcomes are levels of spectra
	Across      string      // occasion across which repeats are paired; "": none
	Prior       scale.Prior // the law of the scale of new groups; zero: the settings name one

	// Scatter returns how far values of an input may lie from the middle of a set point, and 0 if the input has no set
	// points.
	Scatter func(input string, point float64) float64

	Campaign
	numbered []string // inputs whose values are the numbers of things
}

// Campaign contains what is known of the conditions of a campaign.
type Campaign struct {
	Conditions []string         // conditions of numbers
	Texts      []string         // all columns of text
	Labels     []string         // the Texts by which rows are split or grouped
	Things     []string         // labels that name things or occasions, whose offsets are modelled
	Measured   []string         // outcomes; nil if they are not known
	Known      condition.Rows   // conditions of the recordings; nil if they are not known
	Points     condition.Points // set points of conditions, as far as they are known
	MostPairs  int              // largest number of pairs that a row of Known gives; 0 if it is not known
	AllPairs   int              // number of pairs, if it does not depend on files; 0 otherwise

	Source // lists conditions, and reads a table of pairs if it must
}

// Source lists the conditions of a campaign.
type Source interface {
	// Rows lists the conditions of the rows.
	Rows() (condition.Rows, error)
	// Size estimates how many conditions and pairs there will be.
	Size() (conditions, pairs float64)
}

// Values lists the distinct values of a condition, ascending, or its set points if it has some. It returns nil if only
// files state the condition.
func (c *Campaign) Values(name string) ([]float64, error) {
	if points, ok := c.Points[name]; ok {
		return points.Nominals(), nil
	}

	rows, err := c.Rows()
	if err != nil {
		return nil, err
	}

	values, _ := rows.Floats(name) // an error says that only files state the condition

	return holdout.Distinct(values), nil
}

// Names lists the distinct names of a label, sorted. It returns nil if only files state the label.
func (c *Campaign) Names(label string) ([]string, error) {
	rows, err := c.Rows()
	if err != nil {
		return nil, err
	}

	names, _ := rows.Strings(label) // an error says that only files state the label

	return holdout.Distinct(names), nil
}
