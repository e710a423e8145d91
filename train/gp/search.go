package gp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
)

// With manyOutcomes or more, such as bands of a spectrum, only every fullSearch-th outcome is searched from all
// starts. The search of another outcome starts at the best of these points by the outcome's own evidence: the starts,
// and the ends of the full searches.
const (
	manyOutcomes = 12
	fullSearch   = 8
)

// maxSteps is the default largest number of L-BFGS iterations. The objective is flat near its minimum; further steps
// change predictions by less than the choice of conditions does.
const maxSteps = 60

// Limits at which a search has converged.
const (
	smallGradient = 1e-3 // largest derivative, in nats for a change of a logarithm by 1
	smallProgress = 1e-3 // change of the objective, in nats, …
	progressSteps = 5    // … over this number of iterations
)

// smallAmplitude is ln of the amplitude of a kernel that is small at a start.
const smallAmplitude = -2.5

// noKernel is a length at which an input no longer matters in a kernel.
const noKernel = 1e6

// search finds the hyperparameters of all outcomes on a subset of the conditions.
func (m *Model) search(ctx context.Context, subset []int) error {
	step := 1
	if m.Outcomes >= manyOutcomes {
		step = fullSearch
	}

	var full, rest []int // outcomes
	for j := range m.Outcomes {
		if j%step == 0 {
			full = append(full, j)
		} else {
			rest = append(rest, j)
		}
	}

	data := m.prepareSearch(subset)
	m.Hyper = make([]Hyper, m.Outcomes)
	err := parallel.Try(m.workers, len(full), func(k int) error {
		return m.searchOutcome(ctx, data, subset, full[k], nil)
	})
	if err != nil {
		return err
	}

	var known []Hyper
	for _, j := range full {
		known = append(known, m.Hyper[j])
	}

	err = parallel.Try(m.workers, len(rest), func(k int) error {
		return m.searchOutcome(ctx, data, subset, rest[k], known)
	})
	if err != nil {
		return err
	}

	for j := range m.Hyper {
		for _, k := range m.slopes {
			m.Hyper[j].Length[k] = noKernel
		}
	}

	return nil
}

// searchOutcome sets the hyperparameters of outcome j. The search begins at all starts, or if hyperparameters of other
// outcomes are known, at the best among the starts and these.
func (m *Model) searchOutcome(ctx context.Context, data *searchData, subset []int, j int, known []Hyper) error {
	e := m.newEvidence(data, subset, j)
	starts := data.layout.starts()
	if known != nil {
		starts = [][]float64{e.bestStart(starts, known)}
	}

	h, err := e.maximise(ctx, starts)
	if err != nil {
		return fmt.Errorf("outcome column %d: %w", j, err)
	}

	m.Hyper[j] = h

	return nil
}

// prepareSearch returns the search data of the given conditions.
func (m *Model) prepareSearch(conditions []int) *searchData {
	s := newSearchData(lists.Rows(m.X, len(m.Columns), conditions), len(m.Columns), m.Others)
	s.steps = m.steps
	s.spacing = m.spacing
	if len(m.Labels) > 0 {
		s.labels = labels{m.Labels, m.Level}.rows(conditions)
		s.grid = m.grid
		s.setCurves(m.Curves)
	}

	for _, j := range m.slopes { // without differences an input has no part in a kernel
		clear(s.squaredDifference[j])
	}

	return s
}

// newEvidence returns the objective of outcome j on the given conditions. s must be the search data of these
// conditions.
func (m *Model) newEvidence(s *searchData, conditions []int, j int) *evidence {
	y := make([]float64, len(conditions))
	noise := make([]float64, len(conditions))
	for k, i := range conditions {
		y[k] = m.Y[i*m.Outcomes+j]
		noise[k] = m.Spread[i*m.Outcomes+j]
	}

	return &evidence{searchData: s, y: y, noise: noise}
}

// starts returns the points where the search begins: the start of the prior, and, if there is a shared kernel, two
// points at which one of the kernels is small. The evidence may have one maximum at which the groups have nothing in
// common and another at which they share as much as possible; from a single start the search may end in the lower
// maximum.
func (l layout) starts() [][]float64 {
	var start []float64
	for _, p := range l.prior() {
		start = append(start, p.start)
	}

	list := [][]float64{start}
	if l.others > 0 {
		for _, place := range []int{atAmplitude, l.shared()} {
			small := slices.Clone(start)
			small[place] = smallAmplitude
			list = append(list, small)
		}
	}

	return list
}

// bestStart returns the point with the largest evidence among the starts and the hyperparameters of other outcomes.
func (e *evidence) bestStart(starts [][]float64, known []Hyper) []float64 {
	for _, h := range known {
		starts = append(starts, e.layout.logarithms(h))
	}

	best := starts[0]
	least := math.Inf(1)
	for _, start := range starts {
		if v := e.value(start, nil); v < least {
			best = start
			least = v
		}
	}

	return best
}

// maximise follows the gradient from each start and returns the hyperparameters with the largest evidence. It fails
// if no start could be evaluated.
func (e *evidence) maximise(ctx context.Context, starts [][]float64) (Hyper, error) {
	var best Hyper
	found := false

	var errs []error
	for _, start := range starts {
		h, err := e.climb(ctx, start)

		if ctxErr := ctx.Err(); ctxErr != nil {
			return Hyper{}, ctxErr
		}

		if err != nil {
			errs = append(errs, err)
			continue
		}

		if !found || h.Objective < best.Objective {
			best = h
			found = true
		}
	}

	if !found {
		return Hyper{}, errors.Join(errs...)
	}

	return best, nil
}

// climb follows the gradient from one start by L-BFGS.
func (e *evidence) climb(ctx context.Context, start []float64) (Hyper, error) {
	o := &objective{ctx: ctx, evidence: e, grad: make([]float64, len(start))}
	problem := optimize.Problem{Func: o.valueAt, Grad: o.gradientAt, Status: o.status}
	settings := &optimize.Settings{
		MajorIterations: cmp.Or(e.steps, maxSteps), GradientThreshold: smallGradient,
		Converger: &optimize.FunctionConverge{Absolute: smallProgress, Iterations: progressSteps},
	}

	result, err := optimize.Minimize(problem, start, settings, &optimize.LBFGS{})
	o.guard.Raise() // Minimize calls the functions of the problem on a goroutine of its own

	// Minimize returns an error if its line search finds nothing better. The point it reached is good all the same, so
	// climb fails only if no value is finite.
	if result == nil || math.IsInf(result.F, 0) || math.IsNaN(result.F) {
		return Hyper{}, errors.Join(errors.New("maximise the evidence: no start could be evaluated"), err)
	}

	h := e.layout.hyper(result.X)
	h.Objective = result.F

	return h, nil
}

// objective adapts an evidence to package optimize, which asks for the value and the gradient at a point in separate
// calls. It computes both at the first call for a point. Package optimize calls it on a single goroutine.
type objective struct {
	ctx      context.Context
	evidence *evidence
	point    []float64 // where value and grad were computed; nil before the first call
	value    float64
	grad     []float64
	guard    parallel.Guard
}

func (o *objective) valueAt(v []float64) float64 {
	o.evaluate(v)
	return o.value
}

func (o *objective) gradientAt(grad, v []float64) {
	o.evaluate(v)
	copy(grad, o.grad)
}

// errPanicked ends a search. Guard.Raise says what happened.
var errPanicked = errors.New("a panic")

// status ends the search when the context ends, and after a panic.
func (o *objective) status() (optimize.Status, error) {
	if err := o.ctx.Err(); err != nil {
		return optimize.RuntimeLimit, err
	}

	if o.guard.HasCaught() {
		return optimize.Failure, errPanicked
	}

	return optimize.NotTerminated, nil
}

// evaluate computes value and gradient at v unless they are known. It computes nothing once the context has ended.
func (o *objective) evaluate(v []float64) {
	if slices.Equal(o.point, v) {
		return
	}

	o.point = append(o.point[:0], v...)
	o.value = math.Inf(1)
	if o.ctx.Err() != nil || o.guard.HasCaught() {
		return
	}

	defer o.guard.Catch()
	o.value = o.evidence.value(v, o.grad)
}
