// Package suggest ranks candidate conditions by the expected error of a split's models: where
// the next measurement pays most, and whether to measure longer or elsewhere.
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
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/predict"
	"doubletake/train/honest/interval"
)

// Axis is one input of a grid of candidate conditions.
type Axis struct {
	Input  int // its number among InputNames
	Values []float64
}

// ParseGrid reads "blades=2:5:1,rpm=2000:9000:500".
func ParseGrid(m *predict.Models, s string) ([]Axis, error) {
	list, err := m.Axes(s)
	return lists.Each(list, func(a kv.Axis) Axis { return Axis{slices.Index(m.InputNames(), a.Name), a.Values} }), err
}

// Measures by which candidates are ranked.
const (
	ByGain   = "gain"   // fall of the mean variance over all candidates, by the split's calibrated process
	ByHonest = "honest" // variance of the split's calibrated model, where that is no process
	ByBoth   = "both"   // covariance and spread of the networks, where there is no calibrated model
)

// Suggestion is one candidate condition. Variances are in units of the
// outcomes' training variance, means over the outcomes.
type Suggestion struct {
	At        []float64 // values of the grid's axes
	Gain      float64   // by which share the mean expected squared error over all candidates would fall; by ByGain
	Epistemic float64   // expected squared error of the mean
	Aleatoric float64   // noise of one measurement
	Share     float64   // Epistemic/(Epistemic + Aleatoric)
	Measured  bool      // the models were trained on it
	Outside   []string  // inputs outside of the training range, in words
	Advice    string    // what to do, in words
}

// By is the measure by which Rank ranks.
func By(m *predict.Models) string {
	switch {
	case m.Honest == nil || m.Honest.Calibration == nil:
		return ByBoth
	case m.Honest.Process == nil:
		return ByHonest
	}

	return ByGain
}

// Rank ranks the grid's points by what measuring there gains, or by the expected error of the
// models' mean, largest first, each with the advice to measure longer (noise dominates)
// or to measure there at all (ignorance dominates). Inputs that
// are not in the grid are averaged over the values they were trained on: a run of a
// rotor has all its microphones.
func Rank(ctx context.Context, m *predict.Models, axes []Axis) (_ []Suggestion, err error) {
	defer fault.Catch(&err)
	others := averaged(m, axes)
	points := kv.Points(lists.Each(axes, func(a Axis) []float64 { return a.Values })...)
	if len(points)*len(others) > kv.MaxPoints {
		return nil, fmt.Errorf("the grid has %d points, each averaged over %d others: more than %d together", len(points),
			len(others), kv.MaxPoints)
	}

	done := measured(m, axes)
	out := make([]Suggestion, len(points))
	d := len(m.Card.Inputs)
	var x, epistemic, aleatoric []float64
	some := max(1, rowsAtOnce/len(others)) // points that are predicted at once
	for i, p := range points {
		if i%some == 0 {
			x = x[:0]
			for _, q := range points[i:min(i+some, len(points))] {
				for _, row := range others {
					for k, a := range axes {
						row[a.Input] = q[k]
					}
					x = append(x, row...)
				}
			}

			epistemic, aleatoric = expected(ctx, m, x, len(others))
		}

		s := Suggestion{
			At: p, Outside: m.Outside(x[i%some*len(others)*d:][:d]),
			Epistemic: epistemic[i%some], Aleatoric: aleatoric[i%some],
		}

		if t := s.Epistemic + s.Aleatoric; t > 0 {
			s.Share = s.Epistemic / t
		}

		s.Measured = slices.ContainsFunc(done, func(q []float64) bool { return sameCondition(p, q) })
		s.Advice = interval.Advice(s.Share, s.Measured)
		out[i] = s
	}

	if By(m) != ByGain {
		slices.SortStableFunc(out, func(a, b Suggestion) int { return cmp.Compare(b.Epistemic, a.Epistemic) })
		return out, nil
	}

	a := lookAhead(ctx, m, axes, out)
	for i := range a.list {
		a.list[i].Gain = a.gain(i)
	}

	slices.SortStableFunc(a.list, func(a, b Suggestion) int { return cmp.Compare(b.Gain, a.Gain) })
	return a.list, nil
}

// rowsAtOnce bounds the memory of predictions.
const rowsAtOnce = 4096

// averaged lists the combinations of trained values of the inputs that are not in
// the grid, as rows of all inputs.
func averaged(m *predict.Models, axes []Axis) [][]float64 {
	values := make([][]float64, len(m.Card.Inputs))
	for i, in := range m.Card.Inputs {
		values[i] = in.Values
		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Input == i }) {
			values[i] = []float64{0} // the grid's
		} else if len(in.Values) == 0 {
			fault.Raise(fmt.Errorf("%s is not in the grid, and the model's card does not list its values: add it to the grid",
				in.Name))
		}
	}

	return kv.Points(values...)
}

// expected returns the mean squared errors of the mean and the mean noise to be expected over each so many conditions
// of x, in units of the outcomes' training variance.
func expected(ctx context.Context, m *predict.Models, x []float64, each int) (epistemic, aleatoric []float64) {
	n := len(x) / len(m.Card.Inputs) / each
	each *= len(m.Card.Outcomes)
	epistemic, aleatoric = make([]float64, n), make([]float64, n)
	if By(m) != ByBoth {
		p, std := fault.Get(m.Honest.Predict(ctx, x, 0, nil)), m.Honest.Calibration.Deviation
		for k, v := range p.Epistemic {
			w := 1 / (std[k%p.Out] * std[k%p.Out] * float64(each))
			epistemic[k/each] += w * v
			aleatoric[k/each] += w * (p.Total[k] - v)
		}

		return epistemic, aleatoric
	}

	r, std := fault.Get(m.Quick(ctx, x)), m.OutcomeStd()
	for k := range r.Mu {
		w := 1 / (std[k%r.Out] * std[k%r.Out] * float64(each))

		cov, spread := max(r.Cov[k], 0), r.Spread[k]
		if math.IsNaN(spread) {
			spread = 0
		}

		epistemic[k/each] += w * (cov + spread)
		n := float64(r.Seeds)
		aleatoric[k/each] += w * max(r.Var[k]-spread*(n-1)/n-cov, 0)
	}

	return epistemic, aleatoric
}

// measured returns the training conditions seen along the grid's axes.
func measured(m *predict.Models, axes []Axis) [][]float64 {
	var out [][]float64
	for _, c := range m.Card.Conditions {
		p := lists.Each(axes, func(a Axis) float64 { return c[a.Input] })
		if !slices.ContainsFunc(out, func(q []float64) bool { return sameCondition(p, q) }) {
			out = append(out, p)
		}
	}

	return out
}

func sameCondition(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
	})
}

// Forecast says what runs of the group that the split holds out would buy, and what more things, a line each; nil where
// its calibrated model has no forecast.
func Forecast(m *predict.Models) (lines []string) {
	if m.Honest == nil || m.Honest.Calibration == nil {
		return nil
	}

	runs := m.Honest.Record.ForecastWords(func(unit string, low, high float64) string {
		unit = units.Difference(unit)
		text := fmt.Sprintf("%.2g", high)
		if least := fmt.Sprintf("%.2g", low); least != text {
			text = least + " to " + text
		}

		return strings.TrimSpace(text + " " + unit)
	})
	lines = []string{runs, m.Honest.Calibration.More()}

	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}
