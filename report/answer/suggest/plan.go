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

	"doubletake/ingest/spelling"
	"doubletake/internal/kv"
	"doubletake/internal/lists"
	"doubletake/report/answer/predict"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// Costs contains the costs of measurements. The axes are the sources of candidates, their stated and computed inputs,
// and their labels.
type Costs struct {
	Change []float64 // cost of a change of each axis's value
	Labels []string  // labels of the last axes
	Repeat float64   // cost of every measurement
	Unit   string    // "min", or "" for numbers without unit
}

// isSame reports whether two measurements need no change of an axis between them.
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
// budget, such as "4h". names are the names of the axes. All amounts must be times in s, min, h or d, or all must be
// numbers without unit. Axes that cost does not name cost nothing to change. The errors name the flags
// --cost and --budget.
func ReadCosts(names []string, cost, budget string) (Costs, float64, error) {
	terms, err := kv.Parse(cost)
	if syntax, ok := errors.AsType[*kv.SyntaxError](err); ok {
		return Costs{}, 0, fmt.Errorf("--cost wants costs such as %s=60min, found %q", names[0], syntax.Part)
	}

	switch {
	case err != nil:
		return Costs{}, 0, fmt.Errorf("--cost: %w", err)
	case terms == nil:
		return Costs{}, 0, fmt.Errorf("--budget needs --cost: state what changes and measurements cost, such as "+
			"--cost %s=60min,repeat=2min", names[0])
	case budget == "":
		return Costs{}, 0, errors.New("state what a session may cost with --budget, such as --budget 4h")
	}

	var found amounts
	sum := 0.0
	known := append(slices.Clone(names), "repeat")
	prices := make([]float64, len(known))
	for _, term := range terms {
		k := slices.Index(known, term.Key)
		if k < 0 {
			return Costs{}, 0, fmt.Errorf("--cost: expected repeat or one of %s, found %q%s", strings.Join(names, ", "),
				term.Key, spelling.DidYouMean(term.Key, known))
		}

		prices[k], err = found.read("--cost: "+term.Key, term.Value)
		if err != nil {
			return Costs{}, 0, err
		}

		sum += prices[k]
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
	case sum == 0:
		return Costs{}, 0, errors.New("--cost: expected a cost above zero, found none")
	case most == 0:
		return Costs{}, 0, fmt.Errorf("--budget: expected a budget above zero, found %q", budget)
	case found.timed != "":
		costs.Unit = "min"
	}

	return costs, most, nil
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

// Format writes a cost with its unit.
func (c Costs) Format(v float64) string {
	if c.Unit != "" && v >= leastHours {
		return fmt.Sprintf("%.3g h", v/60)
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", v, c.Unit))
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

// Step is one measurement of a plan.
type Step struct {
	Suggestion
	Cost float64   // cost of this measurement after the one before
	Sum  float64   // cost of all measurements up to this one
	Half []float64 // by outcome: mean half width over the candidates after the measurement

	candidate int // number of the candidate
}

// Limits of a plan; its time goes with the square of the rows, and with the steps.
const (
	MaxSteps = 40
	planRows = 1500 // of the process: candidates × values of the other inputs × harmonics
)

// ahead is the calibrated process at the candidates, or at an even selection of them.
type ahead struct {
	*honest.Posterior
	list  []Suggestion
	rows  [][]int // of the posterior, by candidate
	asked []int   // rows that are asked about and at which there is an interval
	whole float64 // the mean expected squared error at present
}

// lookAhead returns the calibrated process at the candidates. If there are too many candidates, or too many rows of the
// inputs that they do not state, lookAhead takes an even selection. It takes missing combinations before others if the
// candidates ask for it.
func lookAhead(ctx context.Context, models *predict.Models, candidates *Candidates, list []Suggestion) (*ahead, error) {
	others, err := averaged(models, candidates)
	if err != nil {
		return nil, err
	}

	most := planRows
	if models.Honest.Orders != nil {
		most /= models.Honest.Orders.Harmonics
	}

	byPlace := slices.SortedStableFunc(slices.Values(list), func(a, b Suggestion) int {
		return slices.Compare(a.At, b.At)
	})
	var missing, rest []Suggestion
	for _, s := range byPlace {
		if candidates.MissingFirst && s.IsMissing() {
			missing = append(missing, s)
		} else {
			rest = append(rest, s)
		}
	}

	missing = lists.Evenly(missing, most)
	process := &ahead{list: append(missing, lists.Evenly(rest, most-len(missing))...)}
	others = lists.Evenly(others, max(most/len(process.list), 1))

	if err := process.open(ctx, models, candidates, others); err != nil {
		return nil, err
	}

	return process, nil
}

// open sets the other fields from a.list: the posterior at the candidates, their rows, the rows that are asked about,
// and the present error. It returns an error if nothing is asked about, because all candidates are Beyond.
func (a *ahead) open(ctx context.Context, models *predict.Models, candidates *Candidates, others [][]float64) error {
	var conditions []Candidate
	var ignored []int
	counted := 0.0
	for k, s := range a.list {
		conditions = append(conditions, s.Candidate)

		var rows []int
		for i := range others {
			rows = append(rows, k*len(others)+i)
		}

		a.rows = append(a.rows, rows)
		if s.Beyond {
			ignored = append(ignored, rows...)
			continue
		}

		a.whole += s.Epistemic
		counted++
		if !hasNone(s.Half) {
			a.asked = append(a.asked, rows...)
		}
	}

	if counted == 0 {
		return errors.New("plan measurements: all candidates are beyond the measured values")
	}

	a.whole /= counted
	x, things := candidates.conditions(conditions, others)

	var err error
	a.Posterior, err = models.Honest.Posterior(ctx, x, things)
	if err != nil {
		return fmt.Errorf("plan measurements: %w", err)
	}

	a.Ignore(ignored)

	return nil
}

// hasNone reports whether a half width is missing because there is no interval.
func hasNone(half []float64) bool { return slices.ContainsFunc(half, math.IsNaN) }

// clone returns a copy whose posterior can be changed by itself.
func (a *ahead) clone() *ahead {
	c := *a
	c.Posterior = a.Clone()

	return &c
}

// gain returns the share by which the mean expected squared error over the candidates would fall if this candidate were
// measured.
func (a *ahead) gain(candidate int) (float64, error) {
	fall, err := a.Gain(a.rows[candidate])
	if err != nil {
		return 0, err
	}

	return fall / a.whole, nil
}

// The candidates that best considers.
const (
	allCandidates = false
	missingOnly   = true
)

// best returns the candidate with the largest gain for its cost after these steps, or -1 if the budget pays for none.
// If missing is true, it considers only missing combinations that are not yet among the steps.
func (a *ahead) best(steps []Step, costs Costs, budget float64, missing bool) (int, error) {
	best := -1
	most := 0.0
	spent := costs.total(steps)
	for i, suggestion := range a.list {
		isPlanned := slices.ContainsFunc(steps, func(s Step) bool { return s.candidate == i })
		if missing && (!suggestion.IsMissing() || isPlanned) {
			continue
		}

		sum := costs.total(costs.order(append(slices.Clone(steps), Step{Suggestion: suggestion})))
		if sum > budget {
			continue
		}

		gain, err := a.gain(i)
		if err != nil {
			return 0, err
		}

		if rate := gain / max(sum-spent, math.SmallestNonzeroFloat64); rate > most {
			best = i
			most = rate
		}
	}

	return best, nil
}

// Session is a plan of measurements.
type Session struct {
	Steps  []Step
	Before []float64 // by outcome: mean half width over the candidates before the first step
	Label  string    // label for which the session measures one new thing; "" if there is none

	// Opened names the new thing that the session measures, as "a third mounting", and Another the next one.
	Opened, Another string

	// Split has the mean half widths after all steps, by outcome, if the session measured two new things, Opened and
	// Another, with half of the steps each. It is nil without a Label, and for a single step.
	Split []float64
}

// Plan picks the measurements of a session within a budget. By the split's calibrated process, it picks one candidate
// after the other, each time the one with the largest gain for its cost after the earlier ones. It then orders them so
// that few expensive changes are needed. A plan may measure a candidate again. It has no steps if the budget pays for
// none.
//
// The half widths before and after a step answer the question that the candidate asks: without the name of a thing,
// they are half widths for any new thing.
func Plan(ctx context.Context, models *predict.Models, candidates *Candidates, list []Suggestion, costs Costs,
	budget float64,
) (*Session, error) {
	if Ranking(models) != ByGain || len(list) == 0 {
		return nil, errors.New("plan measurements: expected candidates and a calibrated process")
	}

	process, err := lookAhead(ctx, models, candidates, list)
	if err != nil {
		return nil, err
	}

	steps, err := process.clone().choose(candidates, costs, budget)
	if err != nil {
		return nil, err
	}

	session := &Session{Steps: steps, Before: process.meanHalf(), Label: candidates.sessionLabel(models)}
	for _, label := range models.Honest.Labels {
		if label.Name == session.Label {
			session.Opened = interval.Another(len(label.Names), label.Name)
			session.Another = interval.Another(len(label.Names)+1, label.Name)
		}
	}

	if session.Label != "" && len(steps) > 1 {
		session.Split, err = process.clone().inTwoSessions(steps)
		if err != nil {
			return nil, err
		}
	}

	for i := range steps {
		step := &steps[i]
		isAgain := slices.ContainsFunc(steps[:i], func(earlier Step) bool { return earlier.isLike(step.Candidate) })
		if isAgain {
			step.Share = share(process.Predict(), process.rows[step.candidate], models.Honest.Calibration.Deviation)
			step.Measured = true
			step.Advice = interval.Advice(step.Share, true)
		}

		step.Sum = costs.total(steps[:i+1])
		step.Cost = step.Sum - costs.total(steps[:i])
		if err := process.Measure(process.rows[step.candidate]); err != nil {
			return nil, fmt.Errorf("plan measurements: %w", err)
		}

		step.Half = process.meanHalf()
	}

	return session, nil
}

// choose picks the steps of a plan.
func (a *ahead) choose(candidates *Candidates, costs Costs, budget float64) ([]Step, error) {
	var steps []Step
	for len(steps) < MaxSteps {
		best := -1
		var err error
		if candidates.MissingFirst {
			best, err = a.best(steps, costs, budget, missingOnly)
		}

		if err == nil && best < 0 {
			best, err = a.best(steps, costs, budget, allCandidates)
		}

		if err != nil {
			return nil, err
		}

		if best < 0 {
			break
		}

		if err := a.Measure(a.rows[best]); err != nil {
			return nil, fmt.Errorf("plan measurements: %w", err)
		}

		steps = costs.order(append(steps, Step{Suggestion: a.list[best], candidate: best}))
	}

	return steps, nil
}

// inTwoSessions returns the mean half widths after all steps if the second half of the steps measures another new
// thing.
func (a *ahead) inTwoSessions(steps []Step) ([]float64, error) {
	for i, step := range steps {
		if i == (len(steps)+1)/2 {
			a.Renew()
		}

		if err := a.Measure(a.rows[step.candidate]); err != nil {
			return nil, fmt.Errorf("plan measurements: %w", err)
		}
	}

	return a.meanHalf(), nil
}

// share returns the share of ignorance in the variance at some rows. Variances of all outcomes are added in units of
// the outcomes' deviations.
func share(prediction *interval.Prediction, rows []int, deviation []float64) float64 {
	epistemic := 0.0
	total := 0.0
	for _, i := range rows {
		for j, s := range deviation {
			epistemic += prediction.Epistemic[i*prediction.Out+j] / (s * s)
			total += prediction.Total[i*prediction.Out+j] / (s * s)
		}
	}

	return epistemic / total
}

// meanHalf returns the mean half width by outcome over the rows that are asked about, or NaN if there are none.
func (a *ahead) meanHalf() []float64 {
	p := a.Predict()
	half := make([]float64, p.Out)
	for _, i := range a.asked {
		for j := range half {
			half[j] += p.Half[i*p.Out+j]
		}
	}

	for j := range half {
		half[j] /= float64(len(a.asked))
	}

	return half
}
