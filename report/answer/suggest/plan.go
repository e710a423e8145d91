package suggest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/report/answer/predict"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
)

// This file plans the measurements of a session, one step after the other. A step looks ahead: the calibrated process
// says by how much the expected errors at all candidates would fall if a candidate were measured (honest.Posterior). A
// candidate that does not state all inputs has several rows of the posterior, one for each combination of the trained
// values of the other inputs (averaged).

// Step is one measurement of a plan.
type Step struct {
	Suggestion
	Cost float64   // cost of this measurement after the one before
	Sum  float64   // cost of all measurements up to this one
	Half []float64 // by outcome: mean half width over the candidates after the measurement, in its unit

	candidate int // place in ahead.list
}

// Limits of a plan. Its time is proportional to the square of the number of rows, and to the number of steps.
const (
	MaxSteps = 40
	planRows = 1500 // rows of the process: candidates × values of the other inputs × harmonics of a rotor

	// planNumbers limits the covariances that a plan keeps, for all outcomes together: 240 MB.
	planNumbers = 30e6
)

// plannedRows returns the largest number of rows of the process of a plan: planRows for up to 26 outcomes, and fewer
// for more, by planNumbers. The process keeps half of a symmetric matrix of the rows for each outcome. If names have
// curves of their own, it also keeps one of the curves, so that 13 outcomes take the place of 26.
func plannedRows(models *predict.Models) int {
	matrices := float64(len(models.Honest.Process.Hyper))
	if models.Honest.Process.Curves > 0 {
		matrices *= 2
	}

	return min(planRows, int(math.Sqrt(2*planNumbers/matrices)))
}

// ahead is the calibrated process at the candidates, or at an even selection of them.
type ahead struct {
	*honest.Posterior
	list    []Suggestion // the candidates
	rows    [][]int      // by candidate: its rows of the posterior
	asked   []int        // rows whose half widths count: the candidate is not Beyond, and there is an interval
	ignored []int        // rows of candidates that are Beyond
	whole   float64      // mean expected squared error at present, over the candidates that are not Beyond

	x      []float64           // inputs of the rows
	things []map[string]string // names of things of the rows
}

// lookAhead returns the calibrated process at the candidates, or at an even selection of them, see arranged.
func lookAhead(ctx context.Context, models *predict.Models, candidates *Candidates, list []Suggestion) (*ahead, error) {
	process, err := arranged(models, candidates, list, plannedRows(models))
	if err != nil {
		return nil, err
	}

	process.Posterior, err = models.Honest.Posterior(ctx, process.x, process.things, process.ignored)
	if err != nil {
		return nil, fmt.Errorf("plan measurements: %w", err)
	}

	return process, nil
}

// arranged returns the candidates for a process of at most the given number of rows, without the process. If there are
// too many candidates, or too many rows of the inputs that they do not state, arranged takes an even selection. It
// takes missing combinations before others if the candidates ask for it.
func arranged(models *predict.Models, candidates *Candidates, list []Suggestion, most int) (*ahead, error) {
	others, err := averaged(models, candidates)
	if err != nil {
		return nil, err
	}

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
	if len(process.list) == 0 {
		return nil, errors.New("plan measurements: expected candidates, found none")
	}

	others = lists.Evenly(others, max(most/len(process.list), 1))

	if err := process.arrange(candidates, others); err != nil {
		return nil, err
	}

	return process, nil
}

// arrange sets the rows of the candidates, the rows that are asked about, and the present error. It returns an error if
// nothing is asked about, because all candidates are Beyond.
func (a *ahead) arrange(candidates *Candidates, others [][]float64) error {
	var conditions []Candidate
	counted := 0.0 // number of the other candidates
	for k, s := range a.list {
		conditions = append(conditions, s.Candidate)

		var rows []int
		for i := range others {
			rows = append(rows, k*len(others)+i)
		}

		a.rows = append(a.rows, rows)
		if s.Beyond {
			a.ignored = append(a.ignored, rows...)
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
	a.x, a.things = candidates.conditions(conditions, others)

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

// gains returns, for each of the given candidates, the share by which the mean expected squared error over the
// candidates would fall if it were measured.
func (a *ahead) gains(candidates []int) ([]float64, error) {
	gains, err := a.Gains(lists.Pick(a.rows, candidates))
	if err != nil {
		return nil, err
	}

	for k := range gains {
		gains[k] /= a.whole
	}

	return gains, nil
}

// choice says which candidates best considers.
type choice int

const (
	allCandidates     choice = iota // also candidates that are among the steps already
	missingCandidates               // missing combinations that are not among the steps yet
)

// noCandidate is the result of best if it chooses no candidate.
const noCandidate = -1

// best returns the place in a.list of the candidate with the largest gain for its cost after these steps. It returns
// noCandidate if the budget pays for none, or none has a gain. The cost is the rise of the session's cost.
func (a *ahead) best(steps []Step, costs Costs, budget float64, considered choice) (int, error) {
	var affordable []int // candidates
	var rises []float64  // of the session's cost, by affordable candidate
	spent := costs.total(steps)
	for i, suggestion := range a.list {
		isPlanned := slices.ContainsFunc(steps, func(s Step) bool { return s.candidate == i })
		isNewMissing := suggestion.IsMissing() && !isPlanned
		if considered == missingCandidates && !isNewMissing {
			continue
		}

		sum := costs.total(costs.order(append(slices.Clone(steps), Step{Suggestion: suggestion})))
		if sum > budget {
			continue
		}

		// A candidate may cost nothing, or lower the cost by the order.
		affordable = append(affordable, i)
		rises = append(rises, max(sum-spent, math.SmallestNonzeroFloat64))
	}

	gains, err := a.gains(affordable)
	if err != nil {
		return 0, err
	}

	best := noCandidate
	most := 0.0
	for k, gain := range gains {
		if rate := gain / rises[k]; rate > most {
			best = affordable[k]
			most = rate
		}
	}

	return best, nil
}

// Session is a plan of measurements.
type Session struct {
	Steps  []Step
	Before []float64 // by outcome: mean half width over the candidates before the first step, in its unit
	Label  string    // label for which the session measures one new thing; "" if there is none

	// Opened names the new thing that the session measures, as "a third mounting", and Another the next one.
	Opened, Another string

	// Split has the mean half widths after all steps, by outcome, if the session measured two new things, Opened and
	// Another, with half of the steps each. It is nil without a Label, and for a single step.
	Split []float64
}

// Plan picks the measurements of a session whose costs are at most budget, in the unit of costs. list are the
// suggestions that Rank returned. Plan picks one candidate after the other, each time the one with the largest gain for
// its cost after the earlier ones. It then orders them so that few expensive changes are needed. A plan may measure a
// candidate again. It has no steps if the budget pays for none. Plan returns an error if there are no suggestions, or
// if the split has no calibrated process.
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

	if err := process.follow(steps, costs, models.Honest.Calibration.Deviation); err != nil {
		return nil, err
	}

	return session, nil
}

// follow measures the steps one after the other, and sets the costs and the half widths of each. If a step measures
// what an earlier one measured, it also sets the share of ignorance that is left then, and the advice. deviation are
// the deviations of the training outcomes.
func (a *ahead) follow(steps []Step, costs Costs, deviation []float64) error {
	for i := range steps {
		step := &steps[i]
		isAgain := slices.ContainsFunc(steps[:i], func(earlier Step) bool { return earlier.isLike(step.Candidate) })
		if isAgain {
			step.Share = share(a.Predict(), a.rows[step.candidate], deviation)
			step.Measured = true
			step.Advice = interval.Advice(step.Share, step.Measured)
		}

		step.Sum = costs.total(steps[:i+1])
		step.Cost = step.Sum - costs.total(steps[:i])
		if err := a.measure(step.candidate); err != nil {
			return err
		}

		step.Half = a.meanHalf()
	}

	return nil
}

// measure changes the posterior to what it would be after a candidate was measured.
func (a *ahead) measure(candidate int) error {
	if err := a.Measure(a.rows[candidate]); err != nil {
		return fmt.Errorf("plan measurements: %w", err)
	}

	return nil
}

// choose picks the steps of a plan, at most MaxSteps, in the order of costs. It measures them.
func (a *ahead) choose(candidates *Candidates, costs Costs, budget float64) ([]Step, error) {
	var steps []Step
	for len(steps) < MaxSteps {
		best := noCandidate
		var err error
		if candidates.MissingFirst {
			best, err = a.best(steps, costs, budget, missingCandidates)
		}

		if err == nil && best == noCandidate {
			best, err = a.best(steps, costs, budget, allCandidates)
		}

		if err != nil {
			return nil, err
		}

		if best == noCandidate {
			break
		}

		if err := a.measure(best); err != nil {
			return nil, err
		}

		steps = costs.order(append(steps, Step{Suggestion: a.list[best], candidate: best}))
	}

	return steps, nil
}

// inTwoSessions measures all steps, and returns the mean half widths after them, by outcome. The second half of the
// steps measures another new thing; of an odd number of steps, the first half has one more.
func (a *ahead) inTwoSessions(steps []Step) ([]float64, error) {
	for i, step := range steps {
		if i == (len(steps)+1)/2 {
			a.Renew()
		}

		if err := a.measure(step.candidate); err != nil {
			return nil, err
		}
	}

	return a.meanHalf(), nil
}

// share returns the share of ignorance, the epistemic variance, in the variance of a measurement at some rows. It adds
// the variances of all outcomes in units of the squares of deviation.
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
