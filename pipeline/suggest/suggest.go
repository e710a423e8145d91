// Package suggest ranks candidate conditions by the expected error of a split's models: where
// the next measurement pays most, and whether to measure longer or elsewhere.
package suggest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest/units"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/predict"
	"doubletake/train/honest/interval"
)

// Axis is one input of a grid of candidate conditions.
type Axis struct {
	Input  int // its number among InputNames
	Values []float64
}

// maxGrid bounds the candidates, and the evaluations, of one suggestion.
const maxGrid = 1_000_000

// ParseGrid reads "blades=2:5:1,rpm=2000:9000:500": an input with a value, or
// from:to:step (to included where a step meets it). Every input may occur once.
func ParseGrid(m *predict.Models, s string) ([]Axis, error) {
	var axes []Axis

	terms, err := kv.Parse(s)
	if err != nil {
		return nil, err
	}

	points := 1
	for _, t := range terms {
		name, spec := t.Key, t.Value
		i, err := m.Input(name)
		if err != nil {
			return nil, err
		}

		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Input == i }) {
			return nil, fmt.Errorf("%s occurs twice", name)
		}

		a := Axis{Input: i}
		parts := strings.Split(spec, ":")
		v := make([]float64, len(parts))
		for k, p := range parts {
			if v[k], err = kv.Number(p); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}

		switch {
		case len(v) == 1:
			a.Values = v
		case len(v) == 3 && v[2] > 0 && v[0] <= v[1]:
			n := math.Floor((v[1]-v[0])/v[2]*(1+1e-12) + 1e-9)
			if n >= maxGrid {
				return nil, fmt.Errorf("%s=%s has more than %d values", name, spec, maxGrid)
			}

			for k := range int(n) + 1 {
				a.Values = append(a.Values, rounded(v[0]+float64(k)*v[2]))
			}

		default:
			return nil, fmt.Errorf("%s: expected a value or from:to:step with from ≤ to and a step above zero, found %q", name,
				spec)
		}

		if points *= len(a.Values); points > maxGrid {
			return nil, fmt.Errorf("the grid has more than %d points", maxGrid)
		}

		axes = append(axes, a)
	}

	return axes, nil
}

// rounded is a value without the last digits of a sum of decimal steps: 0.4 + 4·0.2 is 1.2.
func rounded(v float64) float64 {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 14, 64), 64); err == nil {
		return r
	}
	return v
}

// Measures by which candidates are ranked.
const (
	ByGain   = "gain"   // fall of the mean variance over all candidates, by the split's calibrated process: the default
	ByHonest = "honest" // variance of the split's calibrated model, the default of other calibrated models
	ByBoth   = "both"   // covariance and spread of the networks, the default elsewhere
	ByCov    = "cov"    // the positive part of C alone
	BySpread = "spread" // the disagreement of the seeds alone
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

// DefaultBy is the measure by which Rank ranks unless asked otherwise.
func DefaultBy(m *predict.Models) string {
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
// or to measure there at all (ignorance dominates). by "" is DefaultBy. Inputs that
// are not in the grid are averaged over the values they were trained on: a run of a
// rotor has all its microphones.
func Rank(ctx context.Context, m *predict.Models, axes []Axis, by string) ([]Suggestion, error) {
	by = cmp.Or(by, DefaultBy(m))

	switch {
	case by != ByGain && by != ByHonest && by != ByBoth && by != ByCov && by != BySpread:
		return nil, fmt.Errorf("rank by: expected %s, %s, %s, %s or %s, found %q", ByGain, ByHonest, ByBoth, ByCov,
			BySpread, by)
	case (by == ByHonest || by == ByGain) && DefaultBy(m) == ByBoth:
		return nil, fmt.Errorf("rank by %s: expected a split with a calibrated model, found none", by)
	case by == ByGain && DefaultBy(m) != ByGain:
		return nil, fmt.Errorf("rank by %s: expected a calibrated process, found networks", by)
	case by == BySpread && m.Seeds() < 2:
		return nil, fmt.Errorf("rank by %s: expected models of several seeds, found one; name the split's folder", by)
	}

	others, err := averaged(m, axes)
	if err != nil {
		return nil, err
	}

	points := [][]float64{nil}
	for _, a := range axes {
		var next [][]float64
		for _, p := range points {
			for _, v := range a.Values {
				next = append(next, append(slices.Clone(p), v))
			}
		}

		points = next
	}

	if len(points)*len(others) > maxGrid {
		return nil, fmt.Errorf("the grid has %d points, each averaged over %d others: more than %d together", len(points),
			len(others), maxGrid)
	}

	done := measured(m, axes)
	out := make([]Suggestion, len(points))
	d := len(m.Card.Inputs)
	x := make([]float64, 0, len(others)*d)
	for i, p := range points {
		x = x[:0]
		for _, row := range others {
			for k, a := range axes {
				row[a.Input] = p[k]
			}
			x = append(x, row...)
		}

		s := Suggestion{At: p, Outside: m.Outside(x[:d])}
		if s.Epistemic, s.Aleatoric, err = expected(ctx, m, x, by); err != nil {
			return nil, err
		}

		if t := s.Epistemic + s.Aleatoric; t > 0 {
			s.Share = s.Epistemic / t
		}

		s.Measured = slices.ContainsFunc(done, func(q []float64) bool { return sameCondition(p, q) })
		s.Advice = interval.Advice(s.Share, s.Measured)
		out[i] = s
	}

	if by != ByGain {
		sort.SliceStable(out, func(a, b int) bool { return out[a].Epistemic > out[b].Epistemic })
		return out, nil
	}

	a, err := lookAhead(ctx, m, axes, out)
	if err != nil {
		return nil, err
	}

	for i := range a.list {
		if a.list[i].Gain, err = a.gain(i); err != nil {
			return nil, err
		}
	}

	sort.SliceStable(a.list, func(i, k int) bool { return a.list[i].Gain > a.list[k].Gain })

	return a.list, nil
}

// averaged lists the combinations of trained values of the inputs that are not in
// the grid, as rows of all inputs.
func averaged(m *predict.Models, axes []Axis) ([][]float64, error) {
	rows := [][]float64{make([]float64, len(m.Card.Inputs))}
	for i, in := range m.Card.Inputs {
		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Input == i }) {
			continue
		}

		if len(in.Values) == 0 {
			return nil, fmt.Errorf("%s is not in the grid, and the model's card does not list its values: add it to the grid",
				in.Name)
		}

		var next [][]float64
		for _, row := range rows {
			for _, v := range in.Values {
				r := slices.Clone(row)
				r[i] = v
				next = append(next, r)
			}
		}

		rows = next
	}

	return rows, nil
}

// expected returns the mean squared error of the mean and the mean noise to be
// expected at conditions x, in units of the outcomes' training variance.
func expected(ctx context.Context, m *predict.Models, x []float64, by string) (
	epistemic, aleatoric float64, err error,
) {
	if by == ByHonest || by == ByGain {
		p, err := m.Honest.Predict(ctx, x, 0)
		if err != nil {
			return 0, 0, err
		}

		std := m.Honest.Calibration.Deviation
		for k, v := range p.Epistemic {
			w := 1 / (std[k%p.Out] * std[k%p.Out] * float64(len(p.Mu)))
			epistemic += w * v
			aleatoric += w * (p.Total[k] - v)
		}

		return epistemic, aleatoric, nil
	}

	r, err := m.Quick(ctx, x)
	if err != nil {
		return 0, 0, err
	}

	std := m.OutcomeStd()
	for k := range r.Mu {
		w := 1 / (std[k%r.Out] * std[k%r.Out] * float64(len(r.Mu)))

		cov, spread := max(r.Cov[k], 0), r.Spread[k]
		if math.IsNaN(spread) {
			spread = 0
		}

		switch by {
		case ByCov:
			epistemic += w * cov
		case BySpread:
			epistemic += w * spread
		default:
			epistemic += w * (cov + spread)
		}

		n := float64(r.Seeds)
		aleatoric += w * max(r.Total[k]-spread*(n-1)/n-cov, 0)
	}

	return epistemic, aleatoric, nil
}

// Measured is the number of training conditions that differ along the grid's
// axes.
func Measured(m *predict.Models, axes []Axis) int { return len(measured(m, axes)) }

// measured returns the training conditions seen along the grid's axes.
func measured(m *predict.Models, axes []Axis) [][]float64 {
	var out [][]float64
	for _, c := range m.Card.Conditions {
		p := make([]float64, len(axes))
		for k, a := range axes {
			p[k] = c[a.Input]
		}

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

// Batch picks n of the suggestions to be measured together, before the models
// are trained again: the one with the largest expected error first, then each
// time the one with the largest left over. A measurement takes the share
// exp(−d²/ℓ²) of the expected error at distance d with it, that of a Gaussian
// process with the kernel exp(−d²/2ℓ²); d is in the unit cube of the list's
// conditions, and ℓ the spacing that n and the conditions measured before would
// have if they were spread evenly, (measured+n)^(−1/dimensions). n beyond the
// list's length gives all of it.
func Batch(list []Suggestion, n, measured int) []Suggestion {
	n = min(n, len(list))
	if n <= 0 {
		return nil
	}

	d := len(list[0].At)

	low, high := slices.Clone(list[0].At), slices.Clone(list[0].At)
	for _, s := range list {
		for k, v := range s.At {
			low[k], high[k] = min(low[k], v), max(high[k], v)
		}
	}

	varying := 0
	for k := range d {
		if high[k] > low[k] {
			varying++
		}
	}

	length := math.Pow(float64(measured+n), -1/float64(max(varying, 1)))

	left, taken := make([]float64, len(list)), make([]bool, len(list))
	for i, s := range list {
		left[i] = s.Epistemic
	}

	var out []Suggestion
	for range n {
		best := -1
		for i, v := range left {
			if !taken[i] && (best < 0 || v > left[best]) {
				best = i
			}
		}

		taken[best] = true
		out = append(out, list[best])

		for i, s := range list {
			square := 0.0
			for k, v := range s.At {
				if high[k] > low[k] {
					t := (v - list[best].At[k]) / (high[k] - low[k])
					square += t * t
				}
			}

			left[i] *= -math.Expm1(-square / (length * length))
		}
	}

	return out
}

// Forecast says what runs of the group that the split holds out would buy, in words, "" where
// its calibrated model has no forecast.
func Forecast(m *predict.Models) string {
	if m.Honest == nil {
		return ""
	}

	return m.Honest.Record.ForecastWords(func(unit string, low, high float64) string {
		unit = units.Difference(unit)
		text := fmt.Sprintf("%.2g", high)
		if least := fmt.Sprintf("%.2g", low); least != text {
			text = least + " to " + text
		}

		return strings.TrimSpace(text + " " + unit)
	})
}
