package honest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// Posterior looks ahead: it holds what a calibrated process predicts at some conditions, and computes what the process
// would predict if some of them were measured, each by as many pairs as the training conditions. Means, noise and the
// scale of the errors stay as they are, since they depend on outcomes, which are not known.
//
// A condition may name things, such as a wing. The question at a condition stays the same, whatever is measured. It is
// about the outcome of a new measurement of the thing that is named there or, without a name, of any new thing. A
// session is the measurements until Renew is called: its measurements without a name are of one new thing.
//
// The level of a name is its place among the names that the process was fitted to (Model.Labels). Names that are new,
// or not given, have other levels: see plannedLevels.
type Posterior struct {
	model       *Model
	process     *gp.Posterior // covariances, which depend on what was measured
	calibration interval.Calibration
	x           []float64        // conditions × inputs, in the units of the inputs
	mu          []float64        // predicted means, conditions × outcomes
	noise       []float64        // noise variances, conditions × outcomes
	epistemic   []float64        // calibrated epistemic variances before any measurement, conditions × outcomes
	z           []float64        // by condition: coordinate of the groups, or distance to them; nil if they have neither
	factor      []float64        // conditions × outcomes: variance in the unit over the variance of the process; nil: 1
	level       []int            // conditions × labels: levels of a measurement, see plannedLevels; nil without labels
	queries     []interval.Query // by condition: its class; nil: the law of the groups holds everywhere
	done        map[int]bool     // conditions that were measured

	// weight (conditions × outcomes) turns a variance that the process claims into its part of the mean expected squared
	// error: it is the calibrated epistemic variance, in units of the outcome's training variance, over the claim, divided
	// by the number of weights, times the local scale of the errors (gp.Posterior.LocalScales). It is 0 at conditions that
	// are ignored.
	weight []float64
}

// Posterior returns what the model predicts at conditions x (n×In, in the units of the inputs). things are the names at
// each condition, by label, as Predict takes them; nil: none is named. Nothing is measured at first.
//
// ignored are distinct conditions, not all, that the mean of Gains leaves out.
//
// Posterior returns the errors of Predict, and an error if m is not a calibrated process.
func (m *Model) Posterior(ctx context.Context, x []float64, things []map[string]string, ignored []int) (
	*Posterior, error,
) {
	p, levels, err := m.lookAhead(ctx, x, things)
	if err != nil {
		return nil, err
	}

	p.process, err = m.mapped().Posterior(ctx, x, m.Process.Pairs(), levels)
	if err != nil {
		return nil, err
	}

	p.weight = p.weights(p.process, 0, ignored)

	return p, nil
}

// Gains returns what Posterior.Gains returns before any measurement, if the given conditions are ignored. It keeps the
// covariances of a few outcomes at a time.
func (m *Model) Gains(ctx context.Context, x []float64, things []map[string]string, lists [][]int, ignored []int) (
	[]float64, error,
) {
	p, levels, err := m.lookAhead(ctx, x, things)
	if err != nil {
		return nil, err
	}

	gains := make([]float64, len(lists))
	err = m.mapped().EachPosterior(ctx, x, m.Process.Pairs(), levels, func(j int, one *gp.Posterior) error {
		return one.AddGains(lists, p.weights(one, j, ignored), gains)
	})

	return gains, err
}

// lookAhead returns what Posterior returns, without the process and the weights, and the levels of its questions and
// measurements.
func (m *Model) lookAhead(ctx context.Context, x []float64, things []map[string]string) (*Posterior, gp.Levels, error) {
	if m.Process == nil || m.Calibration == nil {
		return nil, gp.Levels{}, errors.New("look ahead of measurements: expected a calibrated process")
	}

	level := m.levelsOf(things)
	raw, err := m.predictLevels(ctx, x, level)
	if err != nil {
		return nil, gp.Levels{}, err
	}

	const levelOfCalibration = 0
	present, err := m.calibrated(x, levelOfCalibration, level, raw)
	if err != nil {
		return nil, gp.Levels{}, err
	}

	levels := m.plannedLevels(present.N, things, level)
	p := &Posterior{
		model: m, x: x, mu: present.Mu, noise: raw.Noise, epistemic: present.Epistemic, queries: present.Queries,
		level: levels.Measured, done: map[int]bool{},
	}
	p.calibration, p.z, err = m.groupCoordinates(x, level)
	if err != nil {
		return nil, gp.Levels{}, err
	}

	for _, ln := range m.mapped().Form.LnFactors(x) {
		p.factor = append(p.factor, math.Exp(2*ln)) // of a variance
	}

	return p, levels, nil
}

// weights returns the weights of the variances of a process, conditions × outcomes of the process. first is the number
// of the first of its outcomes. Local scales divide the expected error of each outcome among the conditions anew. Its
// mean over the conditions that are not ignored stays the calibrated one. Calibrated variances and local scales are
// positive, so that no sum is 0.
func (p *Posterior) weights(process *gp.Posterior, first int, ignored []int) []float64 {
	outcomes := len(p.model.Outcomes)
	conditions := len(p.mu) / outcomes
	claims := process.Claims()
	local := process.LocalScales()
	given := len(claims) / conditions                        // outcomes of the process
	count := float64((conditions - len(ignored)) * outcomes) // variances that the mean is over
	isIgnored := make([]bool, conditions)
	for _, i := range ignored {
		isIgnored[i] = true
	}

	weights := make([]float64, len(claims))
	for j := range given {
		s := p.model.Calibration.Deviation[first+j]
		expected := 0.0
		scaled := 0.0
		for i := range conditions {
			if isIgnored[i] {
				continue
			}

			k := i*given + j
			epistemic := p.epistemic[i*outcomes+first+j]
			expected += epistemic
			scaled += epistemic * local[k]
			weights[k] = epistemic * local[k] / (claims[k] * s * s * count)
		}

		for k := j; k < len(weights); k += given {
			weights[k] *= expected / scaled
		}
	}

	return weights
}

// plannedLevels returns the levels of the questions at n conditions, and of the measurements there. level are the
// levels of the names in things. Each run is new, for the question and for the measurement (gp.EachNew). If a thing has
// no name, the question is about any new thing (gp.EachNew), and the measurement is of the one new thing of the session
// (unnamed).
func (m *Model) plannedLevels(n int, things []map[string]string, level []int) gp.Levels {
	var levels gp.Levels
	for i := range n {
		for k, label := range m.Labels {
			switch {
			case label.areRuns():
				levels.Asked = append(levels.Asked, gp.EachNew)
				levels.Measured = append(levels.Measured, gp.EachNew)
			case nameOf(things, i, label.Name) == "":
				levels.Asked = append(levels.Asked, gp.EachNew)
				levels.Measured = append(levels.Measured, unnamed)
			default:
				named := level[i*len(m.Labels)+k]
				levels.Asked = append(levels.Asked, named)
				levels.Measured = append(levels.Measured, named)
			}
		}
	}

	return levels
}

// unnamed is the level of the new thing that is measured in a session and has no name. Levels of names are smaller.
const unnamed = math.MaxInt32

// nameOf returns the name of a label at condition i, or "" if none is given.
func nameOf(things []map[string]string, i int, label string) string {
	if things == nil {
		return ""
	}
	return things[i][label]
}

// Renew begins another session: measurements without a name are then of another new thing.
func (p *Posterior) Renew() {
	for k := range p.model.Labels {
		p.process.Renew(k, unnamed)
	}
}

// Clone returns a copy, which Measure can change without changing p.
func (p *Posterior) Clone() *Posterior {
	c := *p
	c.process = p.process.Clone()
	c.done = maps.Clone(p.done)

	return &c
}

// Gains returns, for each list of conditions, by how much the mean expected squared error would fall if the conditions
// of this list were measured, after the ones that Measure has counted. The mean is over the outcomes and over all
// conditions that are not ignored, in units of each outcome's training variance.
func (p *Posterior) Gains(lists [][]int) ([]float64, error) {
	return p.process.Gains(lists, p.weight)
}

// Measure changes p to what it would be after the given conditions were measured. p is not defined after an error.
func (p *Posterior) Measure(conditions []int) error {
	if err := p.process.Measure(conditions); err != nil {
		return fmt.Errorf("look ahead of measurements: %w", err)
	}

	for _, i := range conditions {
		p.done[i] = true
	}

	return nil
}

// Predict returns the intervals at all conditions. It takes the claims that remain after Measure: the epistemic
// variances of the process itself. Conditions have their classes after Measure: a condition that was between measured
// ones may now be measured itself, and a thing that was new may now be known.
func (p *Posterior) Predict() *interval.Prediction {
	claims := p.process.Claims()
	for k, f := range p.factor {
		claims[k] *= f
	}

	c := p.calibration
	z := p.z
	queries := p.queries
	if len(p.done) > 0 {
		z = p.distancesAfter()
		queries = p.queriesAfter()
	}

	return c.Predict(p.x, z, queries, triplets.Prediction{Mu: p.mu, Claim: claims, Noise: p.noise})
}

// measured returns the measured conditions, ascending.
func (p *Posterior) measured() []int { return slices.Sorted(maps.Keys(p.done)) }

// distancesAfter returns the distances after the conditions in done were measured: a thing that was measured is
// known. If the groups have coordinates, it returns the coordinates unchanged.
func (p *Posterior) distancesAfter() []float64 {
	k := slices.IndexFunc(p.model.Labels, func(n Names) bool { return n.Name == p.model.Condition })
	if p.calibration.Axis != nil || p.z == nil || k < 0 {
		return p.z
	}

	after := slices.Clone(p.z)
	for i := range after {
		isMeasured := slices.ContainsFunc(p.measured(), func(a int) bool { return p.levelAt(a, k) == p.levelAt(i, k) })
		if isMeasured && p.levelAt(i, k) != unnamed {
			after[i] = scale.Known
		}
	}

	return after
}

// levelAt returns the level of label k that a measurement at condition i would have.
func (p *Posterior) levelAt(i, k int) int { return p.level[i*len(p.model.Labels)+k] }

// queriesAfter returns the classes of all conditions after the conditions in done were measured. If no scale was
// learned for the new class of a condition, the scale of single conditions holds there.
func (p *Posterior) queriesAfter() []interval.Query {
	if p.calibration.Design == nil {
		return p.queries
	}

	inputs := len(p.model.Inputs)
	places := p.placesAfter()
	var x []float64
	var values [][]float64
	for _, i := range p.measured() {
		row := p.x[i*inputs : (i+1)*inputs]
		x = append(x, p.model.Inside(row)...)
		values = append(values, p.model.factorValues(row, places[i]))
	}

	after := p.calibration.AfterMeasuring(x, values)
	single := after.SingleConditions()
	list := make([]interval.Query, len(p.mu)/len(p.model.Outcomes))
	for i := range list {
		for k, label := range p.model.Labels {
			if !label.areRuns() && p.levelAt(i, k) == unnamed {
				places[i][k] = unnamed // the question is about any new thing, not about the new thing of the session
			}
		}

		row := p.x[i*inputs : (i+1)*inputs]
		q := after.Query(p.model.Inside(row), p.model.places(after.Design, p.model.factorValues(row, places[i])))
		hasUnits := slices.Contains(unitClasses, q.Class)
		if q.Scale == nil && hasUnits {
			q.Scale = single
		}

		list[i] = q
	}

	return list
}

// unitClasses are the classes whose scale is learned from left-out units, rather than from groups.
var unitClasses = []interval.Class{interval.Measured, interval.BetweenMeasured, interval.Combination}

// placesAfter returns, by condition and label, the place of the name among the measured names after the conditions in
// done were measured. New names that were measured follow the known ones, in the order of their conditions. Names that
// were not measured get the place unnamed, which no measured name has.
func (p *Posterior) placesAfter() [][]int {
	places := make([][]int, len(p.mu)/len(p.model.Outcomes))
	for k, label := range p.model.Labels {
		known := len(label.Names)
		var added []int // levels of the new names that were measured
		for _, i := range p.measured() {
			if v := p.levelAt(i, k); v >= known && !slices.Contains(added, v) {
				added = append(added, v)
			}
		}

		for i := range places {
			place := p.levelAt(i, k)
			if a := slices.Index(added, place); a >= 0 {
				place = known + a
			} else if place >= known {
				place = unnamed
			}

			places[i] = append(places[i], place)
		}
	}

	return places
}
