// Package judge judges the predictions of any other program by pairs, with the functions that judge
// our own (docs/judge.md): the measured error of the mean, the intervals as stated, and those that
// the program's own left-out predictions teach. It fits no model.
package judge

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/pairs"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// Options say what is judged by which pairs.
type Options struct {
	Predictions string  // a table of predictions
	Against     string  // an experiment or its folder, a triplets.arrow, or a table of pairs
	Split       string  // of the experiment: only what it holds out is judged; "": all that is predicted
	Groups      string  // column with the group that a prediction was trained without; "": none
	Level       float64 // of the intervals
}

// smallClaim stands for an epistemic variance that is not stated, in units of the outcomes' variance.
// The scale of new groups raises claims to the errors of the left-out groups.
const smallClaim = 1e-6

// maxGroups of which each is judged by all others take a minute.
const maxGroups = 100

// Judge returns the judgement as an experiment without networks: a split, or one for each group.
func Judge(ctx context.Context, o Options) (e report.Experiment, err error) {
	defer fault.Catch(&err)
	cells := fault.Get(pairs.ReadCells(o.Predictions))
	if o.Groups != "" && !cells.Has(o.Groups) {
		return e, &config.UsageError{Text: fmt.Sprintf("--groups: %s has no column %q, but %s%s", cells.Path, o.Groups,
			strings.Join(cells.Columns, ", "), spelling.DidYouMean(o.Groups, cells.Columns))}
	}

	a := against{Pairs: fault.Get(pairs.Open(o.Against, "", cells.Columns))}
	if o.Split != "" {
		fault.Raise(a.readSplit(o.Split))
	}

	m := fault.Get(cells.Match(a.Pairs, a.inputs()))
	p := &predictions{cells, m.Of}
	e = report.Experiment{
		Name: filepath.Base(p.Path) + " against " + a.Name, Data: a.Get("data"), Pairs: a.Get("pairs"),
		Inputs: m.Conditions, Outcomes: m.Outcomes, Triplets: a.Rows(), Warnings: m.Notes,
	}

	set := fault.Get(a.set(m))
	g, notes := p.read(set, o)
	e.Warnings = slices.Concat(e.Warnings, notes, cells.Notes)
	if left := p.unused(plan.Outcomes(a.Table)); left != nil {
		e.Warnings = append(e.Warnings, "not used: "+pairs.Some(left, len(left))+"; columns of an outcome are NAME, "+
			"NAME_low and NAME_high, or NAME_sd")
	}

	e.OutcomeUnits = lists.Each(set.Outcomes, func(q triplets.Quantity) string { return q.Unit })
	e.Runs = len(set.Runs)

	return e, g.splits(ctx, a, &e)
}

// predictions are the cells of the user's table, and the row of each pair in it.
type predictions struct {
	*pairs.Cells
	of []int // −1: none
}

// given are the predictions at the pairs of set, N×Out in own units, NaN where there are none.
type given struct {
	triplets.Set
	Options
	answers  triplets.Answers // means, variances of one measurement, epistemic ones as Cov; nil: not stated
	mid      []float64        // of the stated intervals, and their half widths; nil: none
	half     []float64
	group    []string // without which each was trained; "": none
	trained  []bool   // whether the table calls a row trained on
	has      []bool   // all that the table states
	unstated bool     // nothing but means
	open     bool     // some bounds are infinite
}

// column reads the columns of a suffix at the pairs, N×Out; nil where an outcome has none.
func (p *predictions) column(s triplets.Set, suffix string) []float64 {
	out := make([]float64, s.N*s.Out)
	deviation, kind := strings.HasPrefix(suffix, "_sd"), pairs.Variances
	switch {
	case deviation || suffix == "_delta":
		kind = pairs.Differences
	case suffix == "":
		kind = pairs.Values
	case suffix == "_low" || suffix == "_high":
		kind = pairs.Bounds
	}

	for j, q := range s.Outcomes {
		name := q.Name + suffix
		if suffix == "" {
			name = p.Mean(q.Name)
		}

		if !p.Has(name) {
			return nil
		}

		v := fault.Get(p.Numbers(name, q.Unit, kind))
		fault.Unless(slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) }), fault.At(p.Path, "column "+name,
			"numbers", "none in "+fault.Plural(int64(len(v)), "row"), "fill it or leave it out"))
		if row := slices.IndexFunc(v, func(x float64) bool { return x < 0 }); deviation && row >= 0 {
			fault.Raise(p.Fault(row, name, "a deviation that is not negative"))
		}

		for i, row := range p.of {
			out[i*s.Out+j] = math.NaN()
			if row >= 0 {
				out[i*s.Out+j] = v[row]
			}
		}
	}

	return out
}

// suffixes of an outcome's columns.
var suffixes = append([]string{"", "_low", "_high", "_epistemic", "_sd", "_sd_epistemic", "_sd_noise"},
	lists.Each(triplets.AnswerColumns[1:], func(c triplets.AnswerColumn) string { return c.Suffix })...)

// unused are the columns that are called as an outcome with another suffix, such as y_std.
func (p *predictions) unused(outcomes []string) (left []string) {
	known := append(suffixes, "_mu", "_1", "_2", "_sd_claimed", "_largest_left_out", "_no_interval", "_before_measuring")
	for _, name := range p.Columns {
		for _, o := range outcomes {
			if n := len(o); len(name) >= n && strings.EqualFold(name[:n], o) && (len(name) == n || name[n] == '_') &&
				(name[:n] != o || !slices.Contains(known, name[n:])) && !slices.Contains(outcomes, name) {
				left = append(left, name)
			}
		}
	}

	return left
}

// read reads the columns of the outcomes.
func (p *predictions) read(s triplets.Set, o Options) (g *given, notes []string) {
	g = &given{Set: s, Options: o, group: make([]string, s.N), trained: make([]bool, s.N), has: make([]bool, s.N)}

	list := map[string][]float64{}
	for _, suffix := range suffixes {
		list[suffix] = p.column(s, suffix)
		for _, q := range s.Outcomes {
			if suffix != "" && list[suffix] == nil && p.Has(q.Name+suffix) {
				notes = append(notes, q.Name+suffix+" is not judged: not all outcomes have such a column")
			}
		}
	}

	if (list["_low"] == nil) != (list["_high"] == nil) {
		notes = append(notes, "no interval: low and high belong together")
	}

	for _, c := range triplets.AnswerColumns {
		*c.Field(&g.answers) = list[c.Suffix]
	}

	g.answers.Mu = list[""]
	g.open = g.close(list["_low"], -1)+g.close(list["_high"], 1) > 0
	g.variances(list)

	if k := slices.IndexFunc(g.half, func(h float64) bool { return h < 0 }); k >= 0 {
		row, name := p.of[k/s.Out], s.Outcomes[k%s.Out].Name
		fault.Raise(p.Fault(row, name+"_low", "at most "+name+"_high"))
	}

	for i, row := range p.of {
		if row < 0 {
			continue
		}

		g.has[i] = true
		for _, v := range [][]float64{g.answers.Mu, g.answers.Var, g.answers.Cov, g.half} {
			g.has[i] = g.has[i] && (v == nil || !slices.ContainsFunc(v[i*s.Out:(i+1)*s.Out], math.IsNaN))
		}

		g.trained[i] = p.Has("set") && p.Text(row, "set") != "test"
		if o.Groups != "" {
			g.group[i] = p.Text(row, o.Groups)
		}
	}

	return g, notes
}

// farAway, of the largest number, is where an infinite bound is taken to be, so that an interval has a middle.
const farAway = 1e5

// close replaces the infinite bounds of a side, and returns how many there are.
func (g *given) close(bounds []float64, side int) (n int) {
	for k, v := range bounds {
		if math.IsInf(v, side) {
			n++
			bounds[k] = float64(side) * farAway * max(math.Abs(g.Y1[k]), math.Abs(g.Y2[k]), math.Abs(g.answers.Mu[k]))
		}
	}

	return n
}

// variances sets what is stated of the uncertainty.
func (g *given) variances(list map[string][]float64) {
	each := func(f func(v ...float64) float64, of ...[]float64) []float64 {
		if slices.ContainsFunc(of, func(l []float64) bool { return l == nil }) {
			return nil
		}

		return lists.Make(len(g.answers.Mu), func(k int) float64 {
			return f(lists.Each(of, func(l []float64) float64 { return l[k] })...)
		})
	}
	first := func(of ...[]float64) []float64 {
		return append(lists.Keep(of, func(l []float64) bool { return l != nil }), nil)[0]
	}
	squares := func(v ...float64) (sum float64) {
		for _, x := range v {
			sum += x * x
		}
		return sum
	}

	g.mid = each(func(v ...float64) float64 { return (v[0] + v[1]) / 2 }, list["_low"], list["_high"])
	g.half = each(func(v ...float64) float64 { return (v[1] - v[0]) / 2 }, list["_low"], list["_high"])
	z := math.Sqrt2 * math.Erfinv(g.Level)
	g.answers.Cov = first(list["_cov"], list["_epistemic"], each(squares, list["_sd_epistemic"]))
	g.answers.Var = first(list["_var"], each(squares, list["_sd"]),
		each(squares, list["_sd_epistemic"], list["_sd_noise"]),
		each(func(v ...float64) float64 { return v[0] * v[0] / (z * z) }, g.half))
	g.unstated = g.answers.Var == nil && g.answers.Cov == nil
}

// splits judges the predictions for the held-out part, or for each group by the others.
func (g *given) splits(ctx context.Context, a against, e *report.Experiment) error {
	missing := g.parts(a)
	if len(missing) > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%s not predicted, or without an interval that others have: %s",
			fault.Plural(int64(len(missing)), "condition"), pairs.Some(missing, len(missing))))
	}

	add := func(name, held string) (err error) {
		s := g.judge(name, held)
		if g.Groups != "" && slices.Contains(g.Part, triplets.Train) {
			s.Honest, err = g.learn(ctx)
		}

		e.Splits = append(e.Splits, s)

		return err
	}

	if slices.Contains(g.Part, triplets.Test) {
		switch {
		case a.split != nil:
			return add(g.Split, a.split.Get("held_out"))
		case g.Groups != "":
			return add("others", "rows without "+g.Groups)
		}

		return add("all", "all predicted pairs")
	}

	groups := lists.Keep(slices.Compact(slices.Sorted(slices.Values(g.group))), func(n string) bool { return n != "" })
	if g.Groups == "" {
		return &fault.Error{
			Path: g.Predictions, Want: "predictions of pairs that were not trained on", Found: "none",
			Hint: "are they those of the split's training part, or rows whose set is train?",
		}
	}

	if len(groups) < 2 || len(groups) > maxGroups {
		return &fault.Error{
			Path: g.Predictions, Place: "column " + g.Groups, Found: strconv.Itoa(len(groups)),
			Want: fmt.Sprintf("2 to %d groups, each without its predictions in a training", maxGroups),
			Hint: "more can be judged by a split, or with rows without a group",
		}
	}

	left := g.Part
	for _, name := range append([]string{""}, groups...) { // all as stated, then each by the others
		g.Part = slices.Clone(left)
		for i, p := range left {
			if p == triplets.Train && (name == "" || g.group[i] == name) {
				g.Part[i] = triplets.Test
			}
		}

		split, held := g.Groups+"="+name, g.Groups+" = "+name
		if name == "" {
			split, held = "all", "all predicted pairs"
		} else {
			train := g.Of(triplets.Train)
			g.Scale = train.OutcomeScale()
		}

		if err := add(split, held); err != nil {
			return err
		}
	}

	return nil
}

// parts says which pairs are judged, and from which is learned: left-out predictions, or without groups
// what a split trains on. It returns the conditions that lack a prediction.
func (g *given) parts(a against) (missing []string) {
	g.Part = slices.Repeat([]triplets.Part{triplets.Neither}, g.N)
	seen := map[int]bool{}
	for i := range g.Part {
		test := g.has[i] && !g.trained[i] && g.group[i] == ""
		train := g.has[i] && g.trained[i]
		if a.split != nil {
			test, train = a.split.Column("set").Strings[i] == triplets.Test.String(),
				a.split.Column("set").Strings[i] == triplets.Train.String()
		}

		if g.Groups != "" {
			train = g.has[i] && g.group[i] != "" && !test
		}

		switch {
		case test && g.has[i]:
			g.Part[i] = triplets.Test
		case train:
			g.Part[i] = triplets.Train
		}

		if !g.has[i] && (test || a.split == nil) && !seen[g.Condition[i]] {
			seen[g.Condition[i]] = true
			missing = append(missing, g.words(i))
		}
	}

	rows := g.Of(triplets.Train)
	if rows.N == 0 {
		rows = g.Of(triplets.Test)
	}

	switch {
	case a.split != nil:
		g.Scale = triplets.Scale{Mean: floats(a.split, "outcome_mean", g.Set), Std: floats(a.split, "outcome_std", g.Set)}
	case rows.N > 0:
		g.Scale = rows.OutcomeScale()
	}

	return missing
}

// words are the inputs of a row.
func (g *given) words(i int) string {
	return strings.Join(lists.Make(g.In, func(k int) string {
		return g.Inputs[k].Name + " " + strconv.FormatFloat(g.X[i*g.In+k], 'g', 6, 64)
	}), ", ")
}

// judge judges the test part of g.
func (g *given) judge(name, held string) report.Split {
	sp := report.Split{Name: name, HeldOut: held}
	test := reportstage.Judged(g.Set, g.answers, triplets.Test)
	sp.Test = reportstage.OverSeeds([]score.Summary{score.Summarise(test)}, g.Outcomes)

	rows, of := g.answers.Rows(g.RowsOf(triplets.Test), g.Out), g.Of(triplets.Test)
	total := rows.Var
	if total == nil {
		total = slices.Repeat([]float64{math.NaN()}, len(rows.Mu))
	}

	intervals := score.Claimed(total, g.Level)
	mid := rows.Mu
	if g.half != nil {
		stated := triplets.Answers{Mu: g.mid, Var: g.half}.Rows(g.RowsOf(triplets.Test), g.Out)
		mid = stated.Mu
		intervals = &score.Intervals{Level: g.Level, Mid: mid, Half: stated.Var, At: intervals.At}
	}

	sp.Network = score.TrustByOutcome(g.Set, rows.Mu, total, rows.Cov, intervals)
	for j := range sp.Network {
		if g.open { // widths are then no numbers
			sp.Network[j].Half, sp.Network[j].ClaimedSigma = math.Inf(1), math.NaN()
		}
	}

	sp.Methods = []report.Compared{{Method: report.AsStated}}
	if rows.Var != nil && !g.open {
		level := &interval.Calibration{Level: g.Level, Deviation: g.Scale.Std}
		values := score.OverSeeds([]score.Numbers{score.Judge(test, test.Var, test.Cov).Numbers})
		sp.Methods[0].Values = append(values, score.Keyed{
			Key: report.IntervalScore, Value: score.Mean([]float64{level.Against(mid, intervals.Half, of.Y1, of.Y2).Score}),
		})
	}

	return sp
}

// learn makes intervals of the left-out predictions, and judges them on the test part.
func (g *given) learn(ctx context.Context) (*interval.Result, error) {
	names := slices.Clone(g.group)
	slices.Sort(names)
	names = slices.Compact(names)

	z := make([]float64, g.N)
	for i, n := range g.group {
		at, _ := slices.BinarySearch(names, n)
		z[i] = float64(at)
	}

	l := honest.Learner{Settings: honest.DefaultSettings(), Condition: g.Groups, Names: names}
	l.Base, l.Labels, l.Level = "given", true, g.Level
	claim, noise := g.parted()

	r, err := l.Given(ctx, g.Set, z, g.answers.Mu, claim, noise)
	if err == nil && r.Record != nil && g.unstated { // what smallClaim gives means nothing
		nan := math.NaN()
		r.Record.RatioBefore, r.Record.Before = nan, interval.Interval{Coverage: nan, Width: nan, Score: nan}
	}

	return r, err
}

// parted are the epistemic variances and the noise. What is not stated is completed by the pairs that are
// learned from: their noise, and the rest of the variance.
func (g *given) parted() (claim, noise []float64) {
	train := g.Of(triplets.Train)
	scale := train.OutcomeScale()

	pairs := make([]float64, g.Out)
	for k, y := range train.Y1 {
		d := y - train.Y2[k]
		pairs[k%g.Out] += d * d / 2 / float64(train.N)
	}

	for k := range g.answers.Mu {
		n := pairs[k%g.Out]
		c := smallClaim * scale.Std[k%g.Out] * scale.Std[k%g.Out]
		switch {
		case g.answers.Cov != nil:
			c = max(g.answers.Cov[k], 0)
		case g.answers.Var != nil:
			c = max(g.answers.Var[k]-n, 0)
		}

		if g.answers.Var != nil {
			n = g.answers.Var[k] - c
		}

		claim, noise = append(claim, c), append(noise, n)
	}

	return claim, noise
}

// floats are the numbers of the set's outcomes in the metadata of a table.
func floats(t *table.Table, key string, s triplets.Set) []float64 {
	names, values := strings.Split(t.Get("outcomes"), ","), strings.Split(t.Get(key), ",")

	out := make([]float64, s.Out)
	for j, q := range s.Outcomes {
		i := slices.Index(names, q.Name)
		if i < 0 || i >= len(values) {
			out[j] = math.NaN()
			continue
		}

		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			v = math.NaN()
		}

		out[j] = v
	}

	return out
}
