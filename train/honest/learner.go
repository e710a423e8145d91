package honest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/form"
	"doubletake/train/gp"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Learner calibrates predictions of one split by leaving out each of its training groups.
type Learner struct {
	Settings
	Condition string                                    // whose values are the groups
	Names     []string                                  // of the groups; values are places in it; nil: the values
	Within    float64                                   // values that differ by no more belong to one group
	Law       scale.Prior                               // where Settings.Prior is a file
	Represent string                                    // the form of inputs and outcomes: raw, auto or a name; "" is raw
	Dimension func(q triplets.Quantity) form.Dimension  // needed where Represent is not raw
	Rate      func(input string) bool                   // whether effects go with its ratio, as a speed's do; nil: none
	Scatter   func(input string, point float64) float64 // how far values may lie from the middle of a set point; nil: none
	Offsets   []Label                                   // whose names have offsets of their own, of a process
	Rises     *Rises                                    // where Settings.Scale is "ecov"
}

// manyValues is the number of distinct values from which a condition is taken for
// continuous and cut into DefaultBlocks blocks.
const (
	manyValues    = 40
	DefaultBlocks = 8
)

// Grouping assigns the rows to groups, by their values z of the condition.
func (l Learner) Grouping(z []float64) Grouping {
	values := slices.Compact(slices.Sorted(slices.Values(z)))

	blocks := l.Blocks
	if blocks == 0 && !l.Labels && l.Within == 0 && len(values) > manyValues {
		blocks = DefaultBlocks
	}

	switch {
	case blocks > 0:
		// Of the distinct values, as splits with each do: a held-out block is then one of the
		// groups, and other numbers of rows for each value do not move it.
		g, _ := ByBlock(l.Condition, values, blocks).Extend(values, z)
		return g

	case l.Labels:
		return ByLabel(l.Condition, lists.Each(z, func(v float64) string {
			if l.Names != nil {
				return l.Names[int(v)]
			}
			return strconv.FormatFloat(v, 'g', -1, 64)
		}))
	}

	return ByValue(l.Condition, z, l.Within)
}

// ScalePrior is the prior of the scale of new groups. Networks have one of their own: the wide one is
// that of models whose claims are of the size of their errors. So have things, whose offsets a process
// claims. It panics where Settings.Prior is no name
// and Law is not set.
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
		panic(err)
	}

	return p
}

// options are what all calibrations of a split share.
func (l Learner) options(s triplets.Set, g Grouping) Options {
	return Options{
		Base: l.Base, Level: l.Level, Hold: l.Hold, Prior: l.ScalePrior(), InputNames: s.InputNames(),
		FromGroup: fromGroup(s, g), OfThings: l.OfThings(), Rises: l.Rises,
	}
}

// Process fits a process to the training rows, learns the scale of new groups from
// those it leaves out in closed form, and judges the intervals on the test rows. z is
// the condition's value in each row. The prediction is nil where there is no
// calibration.
func (l Learner) Process(ctx context.Context, s triplets.Set, z []float64) (
	m *Model, p *interval.Prediction, err error,
) {
	defer fault.Catch(&err)
	if s.Couples {
		return absent(couples), nil, nil
	}

	g := l.Grouping(z)
	train, held := g.LeaveOneOut(otherThan(s, triplets.Train))
	m, base := l.fitForm(ctx, s, g, train, held)
	if base == nil {
		return absent(m.Absent), nil, nil
	}

	left, _ := leaveOut(ctx, s, g, train, held, m, base)
	m.Hint = l.hint(ctx, s, g, train, held, m)
	m, p = l.finish(ctx, s, g, train, left, m)

	return m, p, nil
}

// leaveOut leaves out each held group in closed form. It returns their rows that were
// predicted, too: of a process of cells not all are.
func leaveOut(ctx context.Context, s triplets.Set, g Grouping, train []int, held []Held, m *Model, base *gp.Mapped) (
	[]LeftOut, []Held,
) {
	rows, places := train, []int(nil)
	if m.Process.Cells() != nil {
		rows, places, held = someLeftOut(s, train, held)
	}

	mu, claim, noise, err := base.LeaveOut(ctx, places)
	fault.Raise(err)

	return LeaveOutRows(s, g, rows, held, mu, claim, noise), held
}

const couples = "the pairs are couples: they measure no error"

// otherThan reports which rows do not belong to a part.
func otherThan(s triplets.Set, p triplets.Part) []bool {
	return lists.Make(s.N, func(i int) bool { return s.Part != nil && s.Part[i] != p })
}

// Retrained calibrates full, which was trained on all rows but the test part, as Process
// does, by models that were trained without one group each.
func (l Learner) Retrained(ctx context.Context, s triplets.Set, g Grouping, full *Model,
	without func(group int) (*Model, error),
) (m *Model, p *interval.Prediction, err error) {
	defer fault.Catch(&err)
	if s.Couples {
		return absent(couples), nil, nil
	}

	train, held := g.LeaveOneOut(lists.Make(s.N, func(i int) bool { return s.Part != nil && s.Part[i] == triplets.Test }))
	var left []LeftOut
	for _, h := range held {
		mu, claim, noise, err := fault.Get(without(h.Group)).Ensemble.Predict(ctx, lists.Rows(s.X, s.In, h.Rows))
		if err != nil {
			return nil, nil, fmt.Errorf("predict left-out group %s: %w", g.Names[h.Group], err)
		}

		left = append(left, NewLeftOut(s, g, h, mu, claim, noise))
	}

	m, p = l.finish(ctx, s, g, train, left, full)

	return m, p, nil
}

// finish calibrates a model that was trained on the rows train, and judges it where a part
// is held out.
func (l Learner) finish(ctx context.Context, s triplets.Set, g Grouping, train []int, left []LeftOut, m *Model) (
	*Model, *interval.Prediction,
) {
	o := l.options(s, g)
	o.Base, o.SawGroups = m.base(), m.Process != nil
	m.Format, m.Version, m.Condition = Format, Version, l.Condition
	m.describe(s, l.Scatter)

	c, err := Calibrate(s, g, train, left, o)
	if err != nil {
		return absent(err.Error()), nil
	}

	c.Rivals = rivals(ctx, s, g, train, left, c)
	c.Representation, c.Hint, c.Things = m.Representation, m.Hint, m.things()
	c.RunsWithout = runsWithout(m.Labels, lists.Rows(s.Run, 1, train))
	m.Calibration, m.Left = c, scaleGroups(left, c)
	if !slices.Contains(s.Part, triplets.Test) {
		return m, nil
	}

	level := levels(m.Labels, l.labels(g), lists.Numbers(s.N), false)
	mu, claim, noise := predictTest(ctx, s, m, level)
	p, record := judge(c, s, g, m.distances(lists.Rows(level, len(m.Labels), s.RowsOf(triplets.Test))), mu, claim, noise)
	m.Record = record
	record.Forecast = m.forecast(ctx, s, g, p, noise, level)

	return m, p
}

// predictTest predicts the rows of the test part, each of their conditions once. level are the levels of the labels of
// all rows.
func predictTest(ctx context.Context, s triplets.Set, m *Model, level []int) (mu, claim, noise []float64) {
	test := s.Of(triplets.Test)
	if len(m.Labels) > 0 {
		return m.predictLevels(ctx, test.X, lists.Rows(level, len(m.Labels), s.RowsOf(triplets.Test)))
	}

	index := map[int]int{}

	var x []float64
	for i, c := range test.Present() {
		index[c] = i
		x = append(x, test.At(c)...)
	}

	mu, claim, noise = m.predictLevels(ctx, x, nil)
	at := lists.Each(test.Condition, func(c int) int { return index[c] })
	return lists.Rows(mu, s.Out, at), lists.Rows(claim, s.Out, at), lists.Rows(noise, s.Out, at)
}

// judge makes the intervals at the test rows and compares them with their pairs.
// z are the distances of things; nil: they are those of the groups.
func judge(c *interval.Calibration, s triplets.Set, g Grouping, z, mu, claim, noise []float64) (*interval.Prediction,
	*interval.Record,
) {
	test := s.Of(triplets.Test)
	if g.Z != nil {
		z = lists.Rows(g.Z, 1, s.RowsOf(triplets.Test))
	}

	p := c.Predict(test.X, z, mu, claim, noise)
	r := c.Judge(p, noise, test.Y1, test.Y2, test.Run)
	r.Outcomes = score.TrustByOutcome(s, p.Mu, p.Total, p.Epistemic, r.Intervals(c.Level))

	return p, &r
}

// Given learns the scale of new groups from predictions of all rows (N×Out) that are at hand, and judges with it
// those of the test rows: those of a training row are by a model that did not see its group.
func (l Learner) Given(ctx context.Context, s triplets.Set, z, mu, claim, noise []float64) (
	_ *interval.Result, err error,
) {
	defer fault.Catch(&err)
	g := l.Grouping(z)
	train, held := g.LeaveOneOut(otherThan(s, triplets.Train))
	of := func(v []float64, p triplets.Part) []float64 { return lists.Rows(v, s.Out, s.RowsOf(p)) }
	left := LeaveOutRows(s, g, train, held, of(mu, triplets.Train), of(claim, triplets.Train), of(noise, triplets.Train))

	c, err := Calibrate(s, g, train, left, l.options(s, g))
	if err != nil {
		return &interval.Result{Absent: err.Error()}, nil
	}

	_, record := judge(c, s, g, nil, of(mu, triplets.Test), of(claim, triplets.Test), of(noise, triplets.Test))
	c.Rivals = rivals(ctx, s, g, train, left, c)

	return &interval.Result{Calibration: c, Record: record}, nil
}
