package suggest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
)

// Costs contains the costs of measurements. An axis is something that is set for a measurement, and that costs to
// change between two measurements. In this order the axes are the sources of candidates, their inputs, and their
// labels.
type Costs struct {
	Change []float64 // by axis: cost of a change of its value
	Labels []string  // labels of the last axes
	Repeat float64   // cost of every measurement, beside the changes
	Unit   string    // of all costs: "min", or "" for numbers without unit
}

// isSame reports whether two measurements need no change of an axis between them. Two measurements without a name of a
// label are of one new thing, and need none.
func (c Costs) isSame(axis int, a, b Candidate) bool {
	if axis < len(a.Stated) {
		return a.Stated[axis] == b.Stated[axis]
	}

	axis -= len(a.Stated)
	if axis < len(a.At) {
		return a.At[axis] == b.At[axis]
	}

	label := c.Labels[axis-len(a.At)]

	return a.Things[label] == b.Things[label]
}

// ReadCosts parses the costs of measurements and of changes of axes, such as "blades=60min,rpm=1min,repeat=2min", and a
// budget, such as "4h". It returns both. names are the names of the axes. All amounts must be times in s, min, h or d,
// which become minutes, or all must be numbers without unit; 0 needs no unit. Axes that cost does not name cost nothing
// to change. The cost of a measurement, repeat, must be above zero. ReadCosts does not set Costs.Labels. The errors
// name the flags --cost and --budget.
func ReadCosts(names []string, cost, budget string) (Costs, float64, error) {
	terms, err := costTerms(names, cost)
	if err != nil {
		return Costs{}, 0, err
	}

	if budget == "" {
		return Costs{}, 0, errors.New("state what a session may cost with --budget, such as --budget 4h")
	}

	var found amounts
	prices, err := found.readPrices(names, terms)
	if err != nil {
		return Costs{}, 0, err
	}

	most, err := found.read("--budget", budget)
	if err != nil {
		return Costs{}, 0, err
	}

	costs := Costs{Change: prices[:len(names)], Repeat: prices[len(names)]}
	switch {
	case found.timed != "" && found.plain != "":
		return Costs{}, 0, fmt.Errorf("%s: expected times or numbers without unit, found both, there and at %s", found.plain,
			found.timed)
	case most == 0:
		return Costs{}, 0, fmt.Errorf("--budget: expected a budget above zero, found %q", budget)
	case costs.Repeat == 0: // otherwise a plan would measure one condition again and again, because this costs nothing
		return Costs{}, 0, errors.New("--cost: state what each measurement costs, such as repeat=2min")
	case found.timed != "":
		costs.Unit = "min"
	}

	return costs, most, nil
}

// costTerms reads the terms of costs: names of axes, or repeat, with their amounts as texts. It returns an error if
// there are none.
func costTerms(names []string, cost string) ([]kv.Pair, error) {
	terms, err := kv.Parse(cost)
	if syntax, ok := errors.AsType[*kv.SyntaxError](err); ok {
		return nil, fmt.Errorf("--cost wants costs such as %s=60min, found %q", names[0], syntax.Part)
	}

	if err != nil {
		return nil, fmt.Errorf("--cost: %w", err)
	}

	if len(terms) == 0 {
		return nil, fmt.Errorf("--budget needs --cost: state what changes and measurements cost, such as "+
			"--cost %s=60min,repeat=2min", names[0])
	}

	return terms, nil
}

// readPrices returns the amounts of the terms by axis, and then the amount of repeat. An amount that no term states is
// 0.
func (a *amounts) readPrices(names []string, terms []kv.Pair) ([]float64, error) {
	known := append(slices.Clone(names), "repeat")
	prices := make([]float64, len(known))
	for _, term := range terms {
		k := slices.Index(known, term.Key)
		if k < 0 {
			return nil, fmt.Errorf("--cost: expected repeat or one of %s, found %q%s", strings.Join(names, ", "),
				term.Key, spelling.DidYouMean(term.Key, known))
		}

		price, err := a.read("--cost: "+term.Key, term.Value)
		if err != nil {
			return nil, err
		}

		prices[k] = price
	}

	return prices, nil
}

// amounts remembers which kinds of amounts were read, for messages.
type amounts struct {
	timed string // key of the last time; "" if there was none
	plain string // key of the last number without unit that is not 0; "" if there was none
}

// read parses the amount of a key and remembers whether it is a time.
func (a *amounts) read(key, text string) (float64, error) {
	v, timed, err := amount(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", key, err)
	case timed:
		a.timed = key
	case v > 0:
		a.plain = key
	}

	return v, nil
}

// minutes contains the minutes of each unit of time. A number without unit keeps its value.
var minutes = map[string]float64{"": 1, "s": 1. / 60, "min": 1, "h": 60, "d": 24 * 60}

// amount parses a number, or a time, which it returns in minutes. timed reports whether it is a time.
func amount(text string) (v float64, timed bool, err error) {
	trimmed := strings.TrimSpace(text)
	number := strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(trimmed[len(number):])

	factor, known := minutes[unit]
	v, err = strconv.ParseFloat(number, 64)
	isAmount := err == nil && v >= 0 && !math.IsInf(v, 0)
	if !known || !isAmount {
		return 0, false, fmt.Errorf("expected a number, or a time in s, min, h or d, found %q", text)
	}

	return v * factor, unit != "", nil
}

// leastHours is the cost in min from which Format writes hours.
const leastHours = 90

// Format writes a cost with its unit, to three digits: in hours from leastHours on if the unit is minutes.
func (c Costs) Format(v float64) string {
	if c.Unit != "" && v >= leastHours {
		return fault.Digits(v/60, 3) + " h"
	}
	return strings.TrimSpace(fault.Digits(v, 3) + " " + c.Unit)
}

// total returns the cost of measurements in the given order. The first measurement costs a change of every axis.
func (c Costs) total(steps []Step) float64 {
	sum := 0.0
	for i, step := range steps {
		sum += c.Repeat
		for k, change := range c.Change {
			if i == 0 || !c.isSame(k, step.Candidate, steps[i-1].Candidate) {
				sum += change
			}
		}
	}

	return sum
}

// order returns measurements in an order with few expensive changes. It groups them by the values of the most expensive
// axis, in the order in which these first occur, and within a group by the values of the next axis.
func (c Costs) order(steps []Step) []Step {
	axes := make([]int, len(c.Change))
	for k := range axes {
		axes[k] = k
	}

	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(c.Change[b], c.Change[a]) })

	first := func(axis int, like Step) int {
		return slices.IndexFunc(steps, func(step Step) bool { return c.isSame(axis, step.Candidate, like.Candidate) })
	}

	ordered := slices.Clone(steps)
	slices.SortStableFunc(ordered, func(a, b Step) int {
		for _, k := range axes {
			if c.Change[k] == 0 {
				break
			}

			if d := first(k, a) - first(k, b); d != 0 {
				return d
			}
		}
		return 0
	})

	return ordered
}
