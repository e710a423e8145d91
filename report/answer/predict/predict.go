// Package predict reads the models of a split, the trained networks and the model that was calibrated on left-out
// groups, and predicts outcomes and their uncertainty with them.
//
// Open finds and reads the files (open.go). ParseAt and ReadConditions read conditions from the command line and from
// tables (conditions.go). Answer predicts at conditions by the networks (Predict) and by the calibrated model
// (Recommend), and writes the result as a table for people (print.go), as CSV or as JSON (document.go).
package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/honest"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Card and the types below are the contents of a model's card.json.
type (
	// Card says what a model maps, and on which data it was trained.
	Card = card.Card

	// Input is a condition that the model takes.
	Input = card.Input

	// Outcome is a quantity that the model predicts.
	Outcome = card.Outcome
)

// Models are the trained networks of one split, one for each seed, which predict together, and the calibrated model of
// the split.
type Models struct {
	Card      Card                 // card of the first network: names, units, where it was trained
	Paths     []string             // paths of the model.json files
	Warnings  []string             // what limits the trust in the models, in words
	Honest    *honest.Model        // calibrated model of the split; nil if there is none
	Record    []score.OutcomeTrust // by outcome: how the networks did on held-out values; nil if that is not known
	Intervals []score.OutcomeTrust // by outcome: how the calibrated intervals did on held-out values; nil if not known

	tests     []heldOutPart // held-out parts that judge the calibrated intervals
	derived   *derivation   // see there; nil: not read yet
	nets      []*train.Model
	estimates []card.Estimate // by network: how its covariance was sampled in training
	trained   float64         // sum over networks of E|cov| in training; NaN if a card does not have it
}

// InputNames returns the names of the inputs, in the order that rows of conditions have.
func (m *Models) InputNames() []string {
	var names []string
	for _, input := range m.Card.Inputs {
		names = append(names, input.Name)
	}

	return names
}

// OutcomeStd returns the standard deviation of each outcome in the networks' training data.
func (m *Models) OutcomeStd() []float64 { return m.nets[0].OutcomeScale().Std }

// Predictions are the joint predictions of the networks at N conditions. Lists are row-major N×Out unless stated
// otherwise, in the units of the outcomes, variances and covariances in unit².
type Predictions struct {
	N, Out int
	Seeds  int // number of networks

	// Answers are means over the networks. Var is the variance of their equal mixture: it contains the variance of their
	// means.
	triplets.Answers

	Spread []float64 // sample variance of the networks' means; NaN for one network
	Rise   []float64 // by condition: E|cov| over its mean in training; NaN if a card does not have it
}

// Predict returns the predictions of the networks at conditions x (row-major, inputs in the order of InputNames, in
// their units).
func (m *Models) Predict(ctx context.Context, x []float64) (*Predictions, error) {
	width := len(m.Card.Outcomes)
	joint := &Predictions{N: len(x) / len(m.Card.Inputs), Out: width, Seeds: len(m.nets)}
	joint.Answers = joint.Map(func(triplets.AnswerColumn, []float64) []float64 {
		return make([]float64, joint.N*width)
	})
	joint.Spread = make([]float64, joint.N*width)
	joint.Rise = make([]float64, joint.N)
	n := float64(len(m.nets))

	means := make([][]float64, len(m.nets))
	for i, net := range m.nets {
		sampling := m.estimates[i]
		estimates, err := net.Estimate(ctx, x, train.EstimateOptions{
			Samples: sampling.Samples, Sampler: sampling.Sampler, Seed: sampling.Seed,
		})
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}

		for k := range joint.Rise {
			joint.Rise[k] += estimates.AbsCov(k) / m.trained
		}

		own := estimates.Own(net.OutcomeScale())
		means[i] = own.Mu

		for _, c := range triplets.AnswerColumns {
			mean := *c.Field(&joint.Answers)
			for k, v := range *c.Field(&own) {
				mean[k] += v / n
			}
		}
	}

	for k := range joint.Spread {
		squares := 0.0
		for _, mu := range means {
			squares += (mu[k] - joint.Mu[k]) * (mu[k] - joint.Mu[k])
		}

		joint.Var[k] += squares / n
		joint.Spread[k] = squares / (n - 1) // 0/0 is NaN for one network
	}

	return joint, nil
}

// Given returns the networks' second answer at conditions x, in which the outcomes y (row-major, in their units) are
// fed back. For several networks it returns the mean, and the variance of their equal mixture.
func (m *Models) Given(x, y []float64) (mu, variance []float64) {
	mu = make([]float64, len(y))
	variance = make([]float64, len(y))
	means := make([][]float64, len(m.nets))
	n := float64(len(m.nets))
	for i, net := range m.nets {
		var v []float64
		means[i], v = net.PredictGiven(x, y)
		for k := range y {
			mu[k] += means[i][k] / n
			variance[k] += v[k] / n
		}
	}

	for _, own := range means {
		for k := range y {
			variance[k] += (own[k] - mu[k]) * (own[k] - mu[k]) / n
		}
	}

	return mu, variance
}

// Quick returns what Predict returns, but faster: the sampled numbers, the raw covariance and the rise of E|cov|, are
// coarse.
func (m *Models) Quick(ctx context.Context, x []float64) (*Predictions, error) {
	quick := *m
	quick.estimates = slices.Clone(m.estimates)

	for i := range quick.estimates {
		quick.estimates[i].Samples = 2
	}

	return quick.Predict(ctx, x)
}

// edgeTolerance is how far, as a share of the limits, a value may lie outside the training range: numbers that went
// through text may be rounded.
const edgeTolerance = 1e-9

// Outside describes, in words, the inputs of a condition that lie outside the training range. It returns nil if none
// does.
func (m *Models) Outside(x []float64) []string {
	var texts []string
	for i, input := range m.Card.Inputs {
		tolerance := edgeTolerance * math.Max(math.Abs(input.Min), math.Abs(input.Max))
		v := input.Inside(x[i])
		isOutside := v < input.Min-tolerance || v > input.Max+tolerance
		if !isOutside {
			continue
		}

		if x[i] < input.Min {
			texts = append(texts, fmt.Sprintf("%s %s is below %s, the lowest trained on", input.Name,
				fault.Digits(x[i], 6), fault.Digits(input.Min, 6)))
		} else {
			texts = append(texts, fmt.Sprintf("%s %s is above %s, the highest trained on", input.Name,
				fault.Digits(x[i], 6), fault.Digits(input.Max, 6)))
		}
	}

	return texts
}

// New returns models of networks that were trained elsewhere, with their card. It panics if a network has other numbers
// of inputs or outcomes than the card.
func New(description Card, nets ...*train.Model) *Models {
	for _, net := range nets {
		if net.In != len(description.Inputs) || net.Out != len(description.Outcomes) {
			panic(fmt.Sprintf("predict: a network of %d inputs and %d outcomes with a card of %d and %d", net.In, net.Out,
				len(description.Inputs), len(description.Outcomes)))
		}
	}

	return &Models{Card: description, nets: nets, estimates: make([]card.Estimate, len(nets)), trained: math.NaN()}
}
