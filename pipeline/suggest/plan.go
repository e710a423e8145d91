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

	"doubletake/pipeline/predict"
)

// Costs are what measurements cost: of each axis what a change of its value costs, and what every
// measurement costs.
type Costs struct {
	Change []float64 // by axis
	Repeat float64
	Unit   string // "min", or "" for numbers without unit
}

// ParseCosts reads "blades=60min,rpm=1min,repeat=2min", times in s, min, h or d, or all numbers
// without unit. Axes that are not named cost nothing to change; repeat is 0 or more.
func ParseCosts(names []string, text string) (Costs, error) {
	c, plain := Costs{Change: make([]float64, len(names))}, 0
	for _, term := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(term, "=")
		name = strings.TrimSpace(name)
		k := slices.Index(names, name)
		if !ok || k < 0 && name != "repeat" {
			return c, fmt.Errorf("expected repeat or an input of the grid (%s) with what a change of it costs, such as %s=60min, "+
				"found %q", strings.Join(names, ", "), names[0], term)
		}

		v, unit, err := amount(value)
		if err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}

		if unit == "" && v != 0 {
			plain++
		} else if unit != "" {
			c.Unit = "min"
		}

		if k < 0 {
			c.Repeat = v
		} else {
			c.Change[k] = v
		}
	}

	if c.Repeat+slices.Max(c.Change) == 0 {
		return c, fmt.Errorf("expected a cost above zero, found %q", text)
	}

	if c.Unit != "" && plain > 0 {
		return c, fmt.Errorf("expected times or numbers without unit, found both in %q", text)
	}

	return c, nil
}

// ParseBudget reads a budget in the unit of the costs.
func (c Costs) ParseBudget(text string) (float64, error) {
	v, unit, err := amount(text)
	switch {
	case err != nil:
		return 0, err
	case (unit == "") != (c.Unit == ""):
		return 0, fmt.Errorf("expected a budget in the unit of the costs, found %q", text)
	case v <= 0:
		return 0, fmt.Errorf("expected a budget above zero, found %q", text)
	}

	return v, nil
}

// amount reads a number, or a time, which is returned in minutes.
func amount(text string) (v float64, unit string, err error) {
	number := strings.TrimRight(strings.TrimSpace(text), "abcdefghijklmnopqrstuvwxyz ")
	unit = strings.TrimSpace(strings.TrimSpace(text)[len(number):])
	minutes, known := map[string]float64{"": 1, "s": 1. / 60, "min": 1, "h": 60, "d": 24 * 60}[unit]
	v, err = strconv.ParseFloat(number, 64)
	if err != nil || !known || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, "", fmt.Errorf("expected a number, or a time in s, min, h or d, found %q", text)
	}

	return v * minutes, unit, nil
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
	axes := make([]int, len(c.Change))
	for k := range axes {
		axes[k] = k
	}

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
}

// maxSteps bounds a plan; the forecast's cost grows with its square.
const maxSteps = 40

// Plan picks measurements that a budget pays for: each time the one that takes most expected
// error for its cost, given the ones before (see Batch), in an order with few expensive changes. It
// is empty where the budget pays for none.
func Plan(list []Suggestion, measured int, c Costs, budget float64) []Step {
	n := maxSteps
	if least := c.Repeat + slices.Min(c.Change); least > 0 {
		n = int(min(math.Ceil(budget/least), maxSteps))
	}

	var steps []Step
	pickEach(list, min(n, len(list)), measured, func(left []float64) int {
		best, most, kept := -1, 0.0, steps
		for i, v := range left {
			with := c.order(append(slices.Clone(steps), Step{Suggestion: list[i]}))
			sum := c.of(with)
			if sum > budget || !(v > 0) {
				continue
			}

			if rate := v / max(sum-c.of(steps), math.SmallestNonzeroFloat64); best < 0 || rate > most {
				best, most, kept = i, rate, with
			}
		}

		steps = kept

		return best
	})

	for i := range steps {
		steps[i].Sum = c.of(steps[:i+1])
		steps[i].Cost = steps[i].Sum
		if i > 0 {
			steps[i].Cost -= steps[i-1].Sum
		}
	}

	return steps
}

// Conditions whose widths a plan's are the mean of, and that its measurements may have together.
const (
	planConditions = 32
	planMeasured   = 400
)

// Promise fills in the half widths after each step: the mean over conditions that are spread evenly
// over the candidates of list, by the split's calibrated model if each step were measured. It returns
// those before the first.
func Promise(ctx context.Context, m *predict.Models, axes []Axis, list []Suggestion, steps []Step) (now []float64, err error) {
	if m.Honest == nil || len(list) == 0 {
		return nil, errors.New("forecast of a plan: expected candidates and a calibrated model")
	}

	others, err := averaged(m, axes)
	if err != nil {
		return nil, err
	}

	if len(others)*len(steps) > planMeasured {
		kept := max(planMeasured/max(len(steps), 1), 1)
		some := make([][]float64, kept)
		for k := range some {
			some[k] = others[(2*k+1)*len(others)/(2*kept)]
		}
		others = some
	}

	row := func(at []float64, other int) []float64 {
		r := slices.Clone(others[other])
		for k, a := range axes {
			r[a.Input] = at[k]
		}
		return r
	}

	var added, x []float64
	counts := []int{0}
	for i, s := range steps {
		for o := range others {
			added = append(added, row(s.At, o)...)
		}
		counts = append(counts, (i+1)*len(others))
	}

	list = slices.Clone(list) // ranked; spread over the grid
	slices.SortFunc(list, func(a, b Suggestion) int { return slices.Compare(a.At, b.At) })
	all := len(list) * len(others)
	n := min(all, planConditions)
	for k := range n {
		i := (2*k + 1) * all / (2 * n)
		x = append(x, row(list[i/len(others)].At, i%len(others))...)
	}

	after, err := m.Honest.After(ctx, added, counts, x)
	if err != nil {
		return nil, err
	}

	for i, a := range after {
		half := make([]float64, a.Out)
		for k, h := range a.Half {
			half[k%a.Out] += h / float64(a.N)
		}

		if i == 0 {
			now = half
		} else {
			steps[i-1].Half = half
		}
	}

	return now, nil
}
