package honest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Learner calibrates predictions of one split by leaving out each of its training groups.
//
// Process fits a process and leaves groups out in closed form. Retrained takes networks that were trained again without
// each group. Given takes predictions that somebody else made. All three learn the scale of the errors on new groups
// from the left-out groups (finish and Calibrate), and judge the intervals on the test part if there is one
// (judgeTest).
type Learner struct {
	Settings

	// Condition is the input or the label whose values are the groups.
	Condition string
	// Names are the names of the groups if the condition is a label: its values are then places in Names. nil: the
	// groups are named after their values.
	Names []string
	// Tolerance is the largest gap between neighbouring values of one group, in the unit of the condition. 0: each value
	// is a group.
	Tolerance float64
	// Law is the prior that Settings.Prior names if that is a file. Without a name: Settings.Prior is a built-in name.
	Law scale.Prior
	// Represent is the form of inputs and outcomes: raw, auto, or the name of a form. "" is raw.
	Represent string
	// Dimension returns the dimension of a quantity. It is needed if Represent is not raw.
	Dimension func(q triplets.Quantity) form.Dimension
	// Rate reports whether the effects of an input depend on ratios of its values, as the effects of a speed do, so that
	// it enters as its logarithm. nil: no input does.
	Rate func(input string) bool
	// Scatter returns how far values of an input may lie from the middle of a set point, in the unit of the input. nil:
	// inputs do not scatter about set points.
	Scatter func(input string, point float64) float64
	// Offsets are the labels whose names have offsets of their own in a process.
	Offsets []Label
	// OffsetsAlone is true if names have no curves of their own even if they differ in more than an offset.
	OffsetsAlone bool
	// Rises are the rises of E|cov| in the groups. They are set if Settings.Scale is "ecov", otherwise nil.
	Rises *Rises
}

// A condition of more than manyValues distinct values is taken for continuous and cut into DefaultBlocks blocks.
const (
	manyValues    = 40
	DefaultBlocks = 8
)

// Grouping assigns the rows to groups by z, the value of the condition in each row.
func (l Learner) Grouping(z []float64) Grouping {
	values := slices.Compact(slices.Sorted(slices.Values(z)))

	blocks := l.Blocks
	isContinuous := !l.Labels && l.Tolerance == 0 && len(values) > manyValues
	if blocks == 0 && isContinuous {
		blocks = DefaultBlocks
	}

	switch {
	case blocks > 0:
		// The blocks divide the distinct values, not the rows, as the blocks of splits with "each" do. So a held-out block is
		// one of the groups, and blocks do not depend on the number of rows at each value. Extend knows all values of z.
		g, _ := ByBlock(l.Condition, values, blocks).Extend(values, z)
		return g
	case l.Labels:
		return ByLabel(l.Condition, l.labelsOf(z))
	default:
		return ByValue(l.Condition, z, l.Tolerance)
	}
}

// labelsOf returns the name of each value of the condition: its name among l.Names, or otherwise the number as a text.
func (l Learner) labelsOf(z []float64) []string {
	var names []string
	for _, v := range z {
		if l.Names != nil {
			names = append(names, l.Names[int(v)])
		} else {
			names = append(names, strconv.FormatFloat(v+0, 'g', -1, 64)) // −0 is 0
		}
	}

	return names
}

// ScalePrior returns the prior of the scale of new groups. If the wide prior is asked for, networks get the prior
// "networks", because the wide one is for models whose claims are of the size of their errors; and things get the prior
// "things", because the claims of a process contain their offsets. ScalePrior panics if Settings.Prior is not a
// built-in name and Law is not set.
func (l Learner) ScalePrior() scale.Prior {
	if l.Law.Name != "" {
		return l.Law
	}

	name := cmp.Or(l.Prior, "wide")
	if name == "wide" && l.Base != "gp" {
		name = "networks"
	} else if name == "wide" && l.OfThings() {
		name = "things"
	}

	p, err := scale.Named(name)
	if err != nil {
		panic("honest: " + err.Error()) // the names above are of this program
	}

	return p
}

// options returns the options that do not depend on the model. Calibrations of networks and processes complete them.
func (l Learner) options(s triplets.Set, g Grouping) Options {
	return Options{
		Base: l.Base, Level: l.Level, Hold: l.Hold, Prior: l.ScalePrior(), InputNames: s.InputNames(),
		FromGroup: fromGroup(s, g), OfThings: l.OfThings(), Rises: l.Rises,
	}
}

// trainingGroups is a set with the training groups that are left out in turn.
type trainingGroups struct {
	set      triplets.Set
	grouping Grouping
	train    []int  // training rows, ascending
	held     []Held // groups that can be left out
}

// leaveOneOut returns the groups of a set that can be left out in turn. test marks the rows that are not learned from.
func leaveOneOut(s triplets.Set, g Grouping, test []bool) trainingGroups {
	train, held := g.LeaveOneOut(test)
	return trainingGroups{set: s, grouping: g, train: train, held: held}
}

// Process fits a process to the training rows, learns the scale of new groups from the groups that it leaves out in
// closed form, and judges the intervals on the test rows. z is the value of the condition in each row. The prediction
// covers the test rows; it is nil if there is no test part, or no calibration (Model.Absent then says why).
func (l Learner) Process(ctx context.Context, s triplets.Set, z []float64) (*Model, *interval.Prediction, error) {
	if s.Couples {
		return absent(couples), nil, nil
	}

	t := leaveOneOut(s, l.Grouping(z), outsideTraining(s))
	m, base, err := l.fitForm(ctx, t)
	if err != nil {
		return nil, nil, err
	}

	if base == nil {
		return absent(m.Absent), nil, nil
	}

	fitted, curves, err := l.fitCurves(ctx, t, fittedProcess{m, base})
	if err != nil {
		return nil, nil, err
	}

	m = fitted.model
	l.describe(m, s)
	a, err := l.ask(ctx, t, m, fitted.base)
	if err != nil {
		return nil, nil, err
	}

	done, p, err := l.finish(ctx, t, a.left(t), m, a)
	if err == nil && done.Calibration != nil {
		done.Calibration.OwnCurves = curves
	}

	return done, p, err
}

// describe sets the format, the condition, the inputs and the outcomes of a model.
func (l Learner) describe(m *Model, s triplets.Set) {
	m.Format = Format
	m.Version = Version
	m.Condition = l.Condition
	m.describe(s, l.Scatter)
}

// couples says why pairs of equal values cannot calibrate.
const couples = "the pairs are couples: they measure no error"

// outsideTraining reports for each row whether it is outside the training part.
func outsideTraining(s triplets.Set) []bool {
	outside := make([]bool, s.N)
	for i := range outside {
		outside[i] = s.Part != nil && s.Part[i] != triplets.Train
	}

	return outside
}

// Retrained calibrates networks. full was trained on the training rows; retrained returns the model that was trained
// without the given group as well. Its results are like the results of Process.
func (l Learner) Retrained(ctx context.Context, s triplets.Set, g Grouping, full *Model,
	retrained func(group int) (*Model, error),
) (*Model, *interval.Prediction, error) {
	if s.Couples {
		return absent(couples), nil, nil
	}

	t := leaveOneOut(s, g, outsideTraining(s))
	var left []LeftOut
	for _, h := range t.held {
		m, err := retrained(h.Group)
		if err != nil {
			return nil, nil, err
		}

		p, err := m.Ensemble.Predict(ctx, lists.Rows(s.X, s.In, h.Rows))
		if err != nil {
			return nil, nil, fmt.Errorf("predict left-out group %s: %w", g.Names[h.Group], err)
		}

		left = append(left, NewLeftOut(s, g, h, p))
	}

	l.describe(full, s)

	return l.finish(ctx, t, left, full, nil)
}

// finish completes the model m, which was trained on the training rows and is described (describe). It adds the
// calibration by the left-out groups and, if there is a test part, the record. It returns m and the prediction of the
// test part, or nil without a test part. If the groups allow no calibration, it returns a model that says why. a has
// the answers of the process of m; it is nil for networks.
func (l Learner) finish(ctx context.Context, t trainingGroups, left []LeftOut, m *Model, a *asked) (
	*Model, *interval.Prediction, error,
) {
	c, err := Calibrate(t.set, t.grouping, t.train, left, l.optionsOf(m, t))
	if err != nil {
		return absent(err.Error()), nil, nil
	}

	c.Rivals, err = rivals(ctx, t, left, c)
	if err != nil {
		return nil, nil, err
	}

	m.take(c, t, left)
	if a != nil {
		c.Things = m.things(a.answers.Spreads)
		a.units.learn(t, c, a.answers.Units)
	}

	if !slices.Contains(t.set.Part, triplets.Test) {
		return m, nil, nil
	}

	if a == nil {
		a, err = l.askNetworks(ctx, t, m)
		if err != nil {
			return nil, nil, err
		}
	}

	return m, l.judgeTest(t, m, a), nil
}

// optionsOf returns the options of the calibration of the model m.
func (l Learner) optionsOf(m *Model, t trainingGroups) Options {
	o := l.options(t.set, t.grouping)
	o.Base = m.base()
	o.SawGroups = m.Process != nil
	if l.OfThings() {
		o.Form = m.Form()
	}

	return o
}

// take sets the calibration c of a model, with what c states about the model, and the numbers of the left-out groups.
func (m *Model) take(c *interval.Calibration, t trainingGroups, left []LeftOut) {
	c.Representation = m.Representation
	c.RunsWithout = runsWithout(m.Labels, lists.Pick(t.set.Run, t.train))
	m.Calibration = c
	m.Left = scaleGroups(left, c)
}

// judgeTest compares the intervals of the test part with its pairs, and forecasts what the intervals would be if some
// runs of the test part had been measured. It sets the record of m, and returns the intervals.
func (l Learner) judgeTest(t trainingGroups, m *Model, a *asked) *interval.Prediction {
	s := t.set
	raw := a.test.predicted(a.answers.Predicted, s.Out)
	queries := m.queries(s.Only(triplets.Test).X, a.test.level)
	p, record := judge(m.Calibration, s, t.grouping, m.distances(a.test.level), queries, raw)
	m.Record = record
	record.Forecast = m.forecast(s, t.grouping, p, raw.Noise, a)

	return p
}

// judge returns the intervals of the test rows, and the record of comparing them with the pairs of these rows. raw is
// the prediction of the test rows by the model. z are the distances of the test rows if the groups are things. If the
// groups have coordinates, judge takes the coordinates instead. queries are the classes of the test rows, or nil.
func judge(c *interval.Calibration, s triplets.Set, g Grouping, z []float64, queries []interval.Query,
	raw triplets.Prediction,
) (*interval.Prediction, *interval.Record) {
	test := s.Only(triplets.Test)
	if g.Z != nil {
		z = lists.Pick(g.Z, s.RowsOf(triplets.Test))
	}

	p := c.Predict(test.X, z, queries, raw)
	r := c.Judge(p, raw.Noise, test.Y1, test.Y2, test.Run)
	r.Outcomes = score.TrustByOutcome(s, p.Mu, p.Total, p.Epistemic, r.Intervals(c.Level))

	return p, &r
}

// Given learns the scale of new groups from p, predictions of all rows, and judges the intervals of the test rows that
// follow from it. Each training row must be predicted by a model that did not see the row's group. The result has no
// calibration if the set has couples, or if the groups do not suffice (Result.Absent then says why).
func (l Learner) Given(ctx context.Context, s triplets.Set, z []float64, p triplets.Prediction) (
	*interval.Result, error,
) {
	if s.Couples {
		return &interval.Result{Absent: couples}, nil
	}

	t := leaveOneOut(s, l.Grouping(z), outsideTraining(s))
	left := LeaveOutRows(s, t.grouping, t.train, t.held, p.Rows(s.Out, s.RowsOf(triplets.Train)))

	c, err := Calibrate(s, t.grouping, t.train, left, l.options(s, t.grouping))
	if err != nil {
		return &interval.Result{Absent: err.Error()}, nil
	}

	_, record := judge(c, s, t.grouping, nil, nil, p.Rows(s.Out, s.RowsOf(triplets.Test)))
	c.Rivals, err = rivals(ctx, t, left, c)
	if err != nil {
		return nil, err
	}

	return &interval.Result{Calibration: c, Record: record}, nil
}
