package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/predict"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// Costs are what measurements cost: of each axis what a change of its value costs, and what every
// measurement costs.
type Costs struct {
	Change []float64 // by axis
	Repeat float64
	Unit   string // "min", or "" for numbers without unit
}

// ReadCosts reads what measurements and changes of the axes of these names cost, such as
// "blades=60min,rpm=1min,repeat=2min", and a budget, such as "4h": times in s, min, h or d, or all numbers without
// unit. Axes that are not named cost nothing to change. An error begins with what it is about.
func ReadCosts(names []string, cost, budget string) (c Costs, most float64, err error) {
	terms, err := kv.Parse(cost)
	switch {
	case err != nil:
		return c, 0, fmt.Errorf("cost: what a change costs, such as %s=60min: %w", names[0], err)
	case terms == nil:
		return c, 0, fmt.Errorf("cost: expected what changes and measurements cost, such as %s=60min,repeat=2min, found none",
			names[0])
	case budget == "":
		return c, 0, errors.New("budget: expected what a session may cost, such as 4h, found none")
	}

	timed, plain, sum := "", "", 0.0
	read := func(key, text string) float64 {
		v, unit, e := amount(text)
		switch {
		case e != nil && err == nil:
			err = fmt.Errorf("%s: %w", key, e)
		case unit:
			timed = key
		case v > 0:
			plain = key
		}

		return v
	}

	known, prices := append(slices.Clone(names), "repeat"), make([]float64, len(names)+1)
	for _, t := range terms {
		k := slices.Index(known, t.Key)
		if k < 0 {
			return c, 0, fmt.Errorf("cost: expected repeat or one of %s, found %q%s", strings.Join(names, ", "), t.Key,
				spelling.DidYouMean(t.Key, known))
		}

		prices[k] = read("cost."+t.Key, t.Value)
		sum += prices[k]
	}

	c, most = Costs{Change: prices[:len(names)], Repeat: prices[len(names)]}, read("budget", budget)

	switch {
	case err != nil:
	case timed != "" && plain != "":
		err = fmt.Errorf("%s: expected times or numbers without unit, found both, there and at %s", plain, timed)
	case sum == 0:
		err = errors.New("cost: expected a cost above zero, found none")
	case most == 0:
		err = fmt.Errorf("budget: expected a budget above zero, found %q", budget)
	case timed != "":
		c.Unit = "min"
	}

	return c, most, err
}

// amount reads a number, or a time, which is returned in minutes.
func amount(text string) (v float64, timed bool, err error) {
	number := strings.TrimRight(strings.TrimSpace(text), "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(strings.TrimSpace(text)[len(number):])

	minutes, known := map[string]float64{"": 1, "s": 1. / 60, "min": 1, "h": 60, "d": 24 * 60}[unit]
	v, err = strconv.ParseFloat(number, 64)
	if err != nil || !known || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false, fmt.Errorf("expected a number, or a time in s, min, h or d, found %q", text)
	}

	return v * minutes, unit != "", nil
}

// Format writes a cost.
func (c Costs) Format(v float64) string {
	if c.Unit != "" && v >= 90 {
		return fmt.Sprintf("%.3g h", v/60)
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", v, c.Unit))
}

// of is what measurements in that order cost; setting up for the first one costs every axis.
func (c Costs) of(steps []Step) (sum float64) {
	for i, s := range steps {
		sum += c.Repeat
		for k, v := range s.At {
			if i == 0 || v != steps[i-1].At[k] {
				sum += c.Change[k]
			}
		}
	}

	return sum
}

// order puts measurements in an order with few expensive changes: by the first occurrence of each
// value of the most expensive axis, within it by the next one.
func (c Costs) order(steps []Step) []Step {
	axes := lists.Numbers(len(c.Change))
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(c.Change[b], c.Change[a]) })

	first := func(axis int, v float64) int {
		return slices.IndexFunc(steps, func(s Step) bool { return s.At[axis] == v })
	}

	out := slices.Clone(steps)
	slices.SortStableFunc(out, func(a, b Step) int {
		for _, k := range axes {
			if c.Change[k] == 0 {
				break
			}

			if d := first(k, a.At[k]) - first(k, b.At[k]); d != 0 {
				return d
			}
		}
		return 0
	})

	return out
}

// Step is one measurement of a plan.
type Step struct {
	Suggestion
	Cost, Sum float64   // of this measurement after the one before, and of all so far
	Half      []float64 // mean half width over the candidates after it, by outcome

	candidate int
}

// Limits of a plan; its time goes with the square of the rows, and with the steps.
const (
	MaxSteps = 40
	planRows = 1500 // of the process: candidates × values of the other inputs × harmonics
)

// ahead is what the calibrated process knows at the candidates, of which a large grid has some.
type ahead struct {
	*honest.Posterior
	list  []Suggestion
	rows  [][]int // of the posterior, by candidate
	whole float64 // the mean expected squared error now
}

// lookAhead takes, of large grids, some candidates and some values of the inputs that are not in the
// grid, evenly.
func lookAhead(ctx context.Context, m *predict.Models, axes []Axis, list []Suggestion) *ahead {
	others, most := averaged(m, axes), planRows
	if m.Honest.Orders != nil {
		most /= m.Honest.Orders.Harmonics
	}

	byPlace := slices.SortedFunc(slices.Values(list), func(a, b Suggestion) int { return slices.Compare(a.At, b.At) })
	a := &ahead{list: lists.Evenly(byPlace, most)}
	others = lists.Evenly(others, max(most/len(a.list), 1))

	var x []float64
	for _, s := range a.list {
		var rows []int
		for _, r := range others {
			for k, axis := range axes {
				r[axis.Input] = s.At[k]
			}

			rows = append(rows, len(x)/len(r))
			x = append(x, r...)
		}

		a.rows = append(a.rows, rows)
		a.whole += s.Epistemic / float64(len(a.list))
	}

	a.Posterior = fault.Get(m.Honest.Posterior(ctx, x))

	return a
}

// gain is by which share the mean expected squared error over the candidates would fall if one were
// measured.
func (a *ahead) gain(candidate int) float64 { return fault.Get(a.Gain(a.rows[candidate])) / a.whole }

// Plan picks measurements that a budget pays for by the split's calibrated process: each time the one
// with the largest gain for its cost, given the ones before, in an order with few expensive changes. A
// candidate may be measured again. now are the mean half widths over the candidates before the first
// step. The plan is empty where the budget pays for none.
func Plan(ctx context.Context, m *predict.Models, axes []Axis, list []Suggestion, c Costs, budget float64) (
	steps []Step, now []float64, err error,
) {
	defer fault.Catch(&err)
	if By(m) != ByGain || len(list) == 0 {
		return nil, nil, errors.New("plan measurements: expected candidates and a calibrated process")
	}

	first := lookAhead(ctx, m, axes, list)
	then := *first
	then.Posterior = first.Clone()
	for len(steps) < MaxSteps {
		best, most, spent := -1, 0.0, c.of(steps)
		for i, s := range then.list {
			sum := c.of(c.order(append(slices.Clone(steps), Step{Suggestion: s})))
			if sum > budget {
				continue
			}

			if rate := then.gain(i) / max(sum-spent, math.SmallestNonzeroFloat64); rate > most {
				best, most = i, rate
			}
		}

		if best < 0 {
			break
		}

		fault.Raise(then.Measure(then.rows[best]))
		steps = c.order(append(steps, Step{Suggestion: then.list[best], candidate: best}))
	}

	now = meanHalf(first.Posterior)
	for i := range steps {
		s := &steps[i]
		if i > 0 && slices.Equal(s.At, steps[i-1].At) {
			s.Share = share(first.Predict(), first.rows[s.candidate], m.Honest.Calibration.Deviation)
			s.Measured, s.Advice = true, interval.Advice(s.Share, true)
		}

		s.Sum = c.of(steps[:i+1])
		s.Cost = s.Sum - c.of(steps[:i])
		fault.Raise(first.Measure(first.rows[s.candidate]))
		s.Half = meanHalf(first.Posterior)
	}

	return steps, now, nil
}

// share is the share of ignorance in the variance at some rows, outcomes in units of their deviations.
func share(p *interval.Prediction, rows []int, deviation []float64) float64 {
	epistemic, total := 0.0, 0.0
	for _, i := range rows {
		for j, s := range deviation {
			epistemic += p.Epistemic[i*p.Out+j] / (s * s)
			total += p.Total[i*p.Out+j] / (s * s)
		}
	}

	return epistemic / total
}

// meanHalf is the mean half width by outcome.
func meanHalf(p *honest.Posterior) []float64 {
	a := p.Predict()
	half := make([]float64, a.Out)
	for k, h := range a.Half {
		half[k%a.Out] += h / float64(a.N)
	}

	return half
}
