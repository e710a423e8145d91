// Package suggest answers where the next measurement pays most, and whether to measure longer or elsewhere.
//
// A candidate is a condition that may be measured next (candidates.go). Rank orders candidates by the expected squared
// errors of a split's models. Plan chooses several measurements that fit into a budget (plan.go), by the costs of
// measurements and of changes between them (costs.go).
package suggest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/kv"
	"doubletake/report/answer/predict"
	"doubletake/train/honest/interval"
)

// Measures by which candidates are ranked, as Ranking returns them.
const (
	ByGain   = "gain"   // fall of the mean variance over all candidates, by the split's calibrated process
	ByHonest = "honest" // variance of the split's calibrated model, if that is not a process
	ByBoth   = "both"   // covariance and spread of the networks, if there is no calibrated model
)

// Suggestion is one candidate condition. Its numbers are means over the values of the inputs that it does not state.
// Its variances are also means over the outcomes, in units of the outcomes' training variance.
type Suggestion struct {
	Candidate
	Class     interval.Class // how it relates to the measured conditions; "" without a calibrated model
	Half      []float64      // by outcome: half width at present, in its unit; NaN: no interval; nil without a calibration
	Gain      float64        // share by which the mean expected squared error over all would fall; 0 unless ByGain
	Epistemic float64        // expected squared error of the mean
	Aleatoric float64        // noise of one measurement
	Share     float64        // Epistemic/(Epistemic + Aleatoric); 0 if both are 0
	Measured  bool           // the models were trained on it
	Outside   []string       // inputs outside of the training range, in words
	Advice    string         // what to do, in words
}

// IsMissing reports whether the candidate is a combination of measured values that was not measured.
func (s Suggestion) IsMissing() bool { return s.Class == interval.Combination }

// Ranking returns the measure by which Rank ranks.
func Ranking(models *predict.Models) string {
	switch {
	case models.Honest == nil || models.Honest.Calibration == nil:
		return ByBoth
	case models.Honest.Process == nil:
		return ByHonest
	}

	return ByGain
}

// Rank returns the candidates in the order of their gains, the largest first. If candidates.MissingFirst is true,
// combinations that were not measured come before all others. If there are too many candidates for the calibrated
// process, Rank returns an even selection of them (arranged). Without a calibrated process, Rank returns all
// candidates, ordered by the expected squared error of the models' mean. Each suggestion has the advice to measure
// longer if noise dominates, or to measure there if lack of data dominates.
func Rank(ctx context.Context, models *predict.Models, candidates *Candidates) ([]Suggestion, error) {
	others, err := averaged(models, candidates)
	if err != nil {
		return nil, err
	}

	if len(candidates.List)*len(others) > kv.MaxPoints {
		return nil, fmt.Errorf("%d candidates, each averaged over %d others: more than %d together", len(candidates.List),
			len(others), kv.MaxPoints)
	}

	list, err := expectedErrors(ctx, models, candidates, others)
	if err != nil {
		return nil, err
	}

	if Ranking(models) != ByGain {
		slices.SortStableFunc(list, func(a, b Suggestion) int { return cmp.Compare(b.Epistemic, a.Epistemic) })
		return list, nil
	}

	process, err := arranged(models, candidates, list, planRows)
	if err != nil {
		return nil, err
	}

	gains, err := models.Honest.Gains(ctx, process.x, process.things, process.rows, process.ignored)
	if err != nil {
		return nil, fmt.Errorf("plan measurements: %w", err)
	}

	for i, gain := range gains {
		process.list[i].Gain = gain / process.whole
	}

	slices.SortStableFunc(process.list, func(a, b Suggestion) int {
		if candidates.MissingFirst && a.IsMissing() != b.IsMissing() {
			if a.IsMissing() {
				return -1
			}
			return 1
		}

		return cmp.Compare(b.Gain, a.Gain)
	})

	return process.list, nil
}

// conditions returns the conditions at which the candidates of a list are predicted. For each candidate it copies all
// rows of others, which have all inputs of the models, and sets the inputs that the candidate states to the candidate's
// values. things has the names of things of each row of x.
func (c *Candidates) conditions(list []Candidate, others [][]float64) (x []float64, things []map[string]string) {
	for _, candidate := range list {
		for _, row := range others {
			first := len(x)
			x = append(x, row...)
			for k, input := range c.Inputs {
				x[first+input] = candidate.At[k]
			}

			things = append(things, candidate.Things)
		}
	}

	return x, things
}

// expectedErrors returns the candidates with their expected squared errors and half widths, as means over the rows of
// others.
func expectedErrors(ctx context.Context, models *predict.Models, candidates *Candidates, others [][]float64) (
	[]Suggestion, error,
) {
	done := measured(models, candidates)
	each := len(others) * len(models.Card.Inputs) // numbers of the rows of a candidate
	atOnce := max(1, rowsAtOnce/len(others))      // candidates that are predicted at once
	list := make([]Suggestion, 0, len(candidates.List))
	for chunk := range slices.Chunk(candidates.List, atOnce) {
		x, things := candidates.conditions(chunk, others)
		present, err := expected(ctx, models, x, things, len(others))
		if err != nil {
			return nil, err
		}

		for i, candidate := range chunk {
			suggestion := present[i]
			suggestion.Candidate = candidate
			suggestion.Outside = models.Outside(x[i*each:][:len(models.Card.Inputs)])
			if t := suggestion.Epistemic + suggestion.Aleatoric; t > 0 {
				suggestion.Share = suggestion.Epistemic / t
			}

			suggestion.Measured = slices.ContainsFunc(done, func(q []float64) bool {
				return sameCondition(candidate.At, q)
			})
			suggestion.Advice = interval.Advice(suggestion.Share, suggestion.Measured)
			list = append(list, suggestion)
		}
	}

	return list, nil
}

// rowsAtOnce is the number of rows that are predicted at once, unless a single candidate has more. It bounds the memory
// of predictions.
const rowsAtOnce = 4096

// averaged returns the rows over which predictions of a candidate are averaged: all combinations of the trained values
// of the inputs that candidates do not state. A row has all inputs. An input that candidates state is 0 in it.
func averaged(models *predict.Models, candidates *Candidates) ([][]float64, error) {
	values := make([][]float64, len(models.Card.Inputs))
	for i, input := range models.Card.Inputs {
		values[i] = input.Values
		if slices.Contains(candidates.Inputs, i) {
			values[i] = []float64{0} // conditions replaces it
		} else if len(input.Values) == 0 {
			return nil, fmt.Errorf("candidates do not state %s, and the model's card does not list its values: state it",
				input.Name)
		}
	}

	return kv.Points(values...), nil
}

// expected predicts at the conditions x, which come in groups of n consecutive conditions, and returns a suggestion for
// each group. The half widths, expected squared errors and noise of a suggestion are means over its group, and its
// class is the commonest in the group. Its other fields are not set. things has the names of things, by condition.
func expected(ctx context.Context, models *predict.Models, x []float64, things []map[string]string, n int) (
	[]Suggestion, error,
) {
	if Ranking(models) == ByBoth {
		return expectedByNetworks(ctx, models, x, n)
	}

	prediction, err := models.Recommend(ctx, x, predict.Options{Things: things})
	if err != nil {
		return nil, err
	}

	list := make([]Suggestion, prediction.N/n)
	std := models.Honest.Calibration.Deviation
	each := n * prediction.Out // values of a group
	for k, epistemic := range prediction.Epistemic {
		j := k % prediction.Out
		weight := 1 / (std[j] * std[j] * float64(each))
		s := &list[k/each]
		s.Epistemic += weight * epistemic
		s.Aleatoric += weight * (prediction.Total[k] - epistemic)
		if s.Half == nil {
			s.Half = make([]float64, prediction.Out)
		}

		s.Half[j] += prediction.Half[k] / float64(n)
	}

	for i := range list {
		list[i].Class = commonest(prediction.Prediction, i*n, n)
	}

	return list, nil
}

// commonest returns the most frequent class of n consecutive conditions. from is the number of the first condition. If
// classes are equally frequent, commonest prefers the class of the first condition.
func commonest(prediction *interval.Prediction, from, n int) interval.Class {
	count := map[interval.Class]int{}
	best := prediction.Query(from).Class
	for i := from; i < from+n; i++ {
		class := prediction.Query(i).Class
		count[class]++
		if count[class] > count[best] {
			best = class
		}
	}

	return best
}

// expectedByNetworks does the work of expected with the networks, which give neither classes nor half widths.
func expectedByNetworks(ctx context.Context, models *predict.Models, x []float64, n int) ([]Suggestion, error) {
	networks, err := models.Quick(ctx, x)
	if err != nil {
		return nil, err
	}

	each := n * networks.Out
	list := make([]Suggestion, networks.N/n)
	std := models.OutcomeStd()
	seeds := float64(networks.Seeds)
	for k := range networks.Mu {
		weight := 1 / (std[k%networks.Out] * std[k%networks.Out] * float64(each))
		s := &list[k/each]

		cov := max(networks.Cov[k], 0)
		spread := networks.Spread[k]
		if math.IsNaN(spread) {
			spread = 0
		}

		s.Epistemic += weight * (cov + spread)
		s.Aleatoric += weight * max(networks.Var[k]-spread*(seeds-1)/seeds-cov, 0)
	}

	return list, nil
}

// measured returns the distinct values, in the training conditions, of the inputs that candidates state.
func measured(models *predict.Models, candidates *Candidates) [][]float64 {
	var points [][]float64
	for _, c := range models.Card.Conditions {
		var p []float64
		for _, input := range candidates.Inputs {
			p = append(p, c[input])
		}

		if !slices.ContainsFunc(points, func(q []float64) bool { return sameCondition(p, q) }) {
			points = append(points, p)
		}
	}

	return points
}

// sameCondition reports whether two conditions are equal but for the rounding of their values.
func sameCondition(a, b []float64) bool { return slices.EqualFunc(a, b, kv.Same) }

// Forecast returns lines for people: how runs of the held-out group of the split would change its intervals, and how
// more things would change the intervals of new things. It returns nil if the calibrated model forecasts neither.
func Forecast(models *predict.Models) []string {
	if models.Honest == nil || models.Honest.Calibration == nil {
		return nil
	}

	lines := []string{models.Honest.Record.ForecastWords(widths), models.Honest.Calibration.More()}

	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// widths writes a range of widths in a unit.
func widths(unit string, low, high float64) string {
	text := fault.Digits(high, 2)
	if least := fault.Digits(low, 2); least != text {
		text = least + " to " + text
	}

	return strings.TrimSpace(text + " " + units.Difference(unit))
}
