package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"doubletake/report/figure"
	"doubletake/train/honest/interval"
)

// Intervals are a calibrated model's means and half widths of its intervals, of their Level
// and of 68 %, at the conditions of a Detail (conditions × outcomes, own units), NaN where it was not asked.
type Intervals struct {
	Mu, Half, Half68 []float64
	Level            float64
}

func (s Split) calibrated() bool { return s.Honest != nil && s.Honest.Absent == "" }

// calibrations are the figures of the calibrated intervals: over all splits what the
// models claim, then for each split its left-out groups and its levels over the angle.
func (m *maker) calibrations() {
	var splits []Split
	for _, s := range m.d.Experiment.Splits {
		if s.calibrated() {
			splits = append(splits, s)
		}
	}

	if len(splits) == 0 {
		return
	}

	m.claims(splits)
	m.coverage(splits)

	for _, s := range splits {
		m.leftOut(s)
	}

	for i := range m.d.Splits {
		if m.d.Splits[i].Calibrated != nil {
			m.heldOutLevels(&m.d.Splits[i])
		}
	}
}

// claim is what one model claimed on one held-out set.
type claim struct {
	model           string
	ratio           float64 // Σe/Σv̂
	coverage, width float64 // of the interval; width over the data's own spread
}

// claimsOf lists the models of a split: the network, those compared with it, the
// calibrated one before and after its calibration, and none.
func claimsOf(s Split) []claim {
	r, nan := s.Honest.Record, math.NaN()
	network := claim{model: "network, C", ratio: nan, coverage: nan, width: nan}
	if v := s.Test.Get("sum_e_ratio"); v.Defined() {
		network.ratio = v.Mean
	}

	for i, t := range s.Network {
		if i == 0 {
			network.coverage, network.width = 0, 0
		}

		network.coverage += t.Inside / float64(len(s.Network))
		network.width += t.WidthOverSpread / float64(len(s.Network))
	}

	list := []claim{network}
	for _, c := range s.Methods {
		if v := c.Get("sum_e_ratio"); v.Defined() && c.Method != "pair" {
			list = append(list, claim{c.Method, v.Mean, nan, nan})
		}
	}

	return append(list,
		claim{
			"calibrated model, before", r.RatioBefore, r.Before.Coverage, r.Before.Width / r.ModelFree.Width,
		},
		claim{"calibrated model, after", r.RatioAfter, r.After.Coverage, r.WidthOverSpread},
		claim{"mean ± 1.96 deviations, no model", nan, r.ModelFree.Coverage, 1})
}

// claims draws, for every model and held-out set, the squared error over the claimed
// variance, and the coverage of the intervals against their width.
func (m *maker) claims(splits []Split) {
	n := float64(len(splits))
	names, ticks := make([]string, len(splits)), make([]float64, len(splits))
	index := map[string]int{}
	var ratio, cover []figure.Mark
	compared := []string{"sigma1", "sigma2", "sigma3", "aux"}
	fixed := map[string]figure.Mark{
		"network, C":                       {Class: "test", Shape: "square"},
		"calibrated model, before":         {Class: "mean", Shape: "ring"},
		"calibrated model, after":          {Class: "mean"},
		"mean ± 1.96 deviations, no model": {Class: "grey", Shape: "diamond"},
	}

	missing := 0
	for i, s := range splits {
		names[i], ticks[i] = clean(s.Name), float64(i+1)
		for _, c := range claimsOf(s) {
			k, known := index[c.model]
			if !known {
				k = len(ratio)
				index[c.model] = k
				mark, ok := fixed[c.model]
				if !ok {
					mark = figure.Mark{Class: compared[k%len(compared)], Shape: "ring"}
				}

				mark.Kind, mark.Name, mark.Size = figure.Points, clean(c.model), 4
				if len(splits) > mostNamed {
					mark.Size = 2.5
				}

				ratio, cover = append(ratio, mark), append(cover, mark)
			}

			if c.ratio > 0 {
				ratio[k].Point(ticks[i], c.ratio)
			} else if !math.IsNaN(c.ratio) {
				missing++
			}

			if !math.IsNaN(c.coverage) && !math.IsNaN(c.width) {
				cover[k].Point(c.width, c.coverage)
			}
		}
	}

	ends := []float64{0.5, n + 0.5}
	factor := figure.Mark{
		Kind: figure.Band, Name: "½ to 2", Class: "floor", X: ends, Lo: []float64{0.5, 0.5}, Hi: []float64{2, 2},
	}
	one := figure.Mark{Kind: figure.Rule, Name: "as large as claimed", Class: "grey", Dashed: true, Y: []float64{1}}
	asked := splits[0].Honest.Calibration.Asked
	level := figure.Mark{Kind: figure.Rule, Name: plainLevel(asked), Class: "grey", Dashed: true, Y: []float64{asked}}
	f := &figure.Figure{Columns: 2, Width: 720, Panels: []figure.Panel{
		{
			Title: "Squared error over claimed variance", Height: 270,
			X:     figure.Axis{Label: "held-out set", Min: 0.5, Max: n + 0.5, Ticks: ticks, Names: names},
			Y:     figure.Axis{Label: "Σe/Σv̂", Log: true},
			Marks: append([]figure.Mark{factor, one}, known(ratio...)...),
		},
		{
			Title: "Intervals", Height: 270,
			X:     figure.Axis{Label: "mean width / the data's own spread", Zero: true},
			Y:     figure.Axis{Label: "share of held-out values inside", Max: 1.04, Ticks: []float64{0, .2, .4, .6, .8, asked}},
			Marks: append([]figure.Mark{level}, known(cover...)...),
		},
	}}

	caption := text("figure-claims", missing)
	m.add(plot{kind: "honest-claims", heading: "Claims on the held-out sets", caption: caption, fig: f, page: true})
}

// plainLevel is levelText for names of series, which CSV files have too.
func plainLevel(level float64) string { return strings.ReplaceAll(levelText(level), "\u00a0", " ") }

// mostNamed is the number of held-out sets that a legend names.
const mostNamed = 12

// coverage draws the share of held-out values inside the calibrated intervals over their
// level.
func (m *maker) coverage(splits []Split) {
	level := figure.Mark{Kind: figure.Line, Name: "as promised", Class: "grey", Dashed: true}
	marks := []figure.Mark{level}
	classes := []string{"mean", "test", "sigma1", "sigma2", "sigma3", "aux"}
	shapes := []string{"", "ring", "square", "diamond"}
	for i, s := range splits {
		mark := figure.Mark{
			Kind: figure.Points, Name: clean(s.Name), Class: classes[i%len(classes)],
			Shape: shapes[i/len(classes)%len(shapes)], Size: 4,
		}
		if len(splits) > mostNamed {
			mark.Name, mark.Class, mark.Shape, mark.Size = "held-out sets", "test", "ring", 2.5
		}

		for k, l := range interval.Levels {
			mark.Point(l, s.Honest.Record.At[k])
		}

		if i > 0 && len(splits) > mostNamed {
			marks[1].X, marks[1].Y = append(marks[1].X, mark.X...), append(marks[1].Y, mark.Y...)
		} else {
			marks = append(marks, mark)
		}
	}

	for _, l := range interval.Levels {
		marks[0].Point(l, l)
	}

	f := &figure.Figure{Width: 440, Panels: []figure.Panel{{
		X:      figure.Axis{Label: "level of the interval", Min: 0.6, Max: 1.02, Ticks: interval.Levels[:]},
		Y:      figure.Axis{Label: "share of held-out values inside", Max: 1.02},
		Marks:  marks,
		Height: 250,
	}}}
	m.add(plot{
		kind: "honest-coverage", heading: "Intervals at four levels", caption: text("figure-coverage", nil), fig: f,
		page: true,
	})
}

// leftOut draws the errors of the left-out groups over their distance, with what the
// calibration takes for them, and the error of the held-out set.
func (m *maker) leftOut(s Split) {
	c, r := s.Honest.Calibration, s.Honest.Record
	groups := slices.Clone(c.Groups)
	slices.SortStableFunc(groups, func(a, b interval.GroupResult) int { return cmp.Compare(a.Distance, b.Distance) })

	fit := figure.Mark{Kind: figure.Points, Name: "expected by the other groups", Class: "mean", Shape: "diamond", Size: 4}
	e := figure.Mark{Kind: figure.Bars, Name: "left-out training groups, e ± SE", Class: "train", Size: 4}

	names := figure.Mark{Kind: figure.Labels, Quiet: true, Class: "grey"}
	for _, l := range groups {
		e.Bar(l.Distance, l.E, l.Error())
		fit.Point(l.Distance, l.Variance)
		names.Point(l.Distance, e.Hi[len(e.Hi)-1])
		names.Text = append(names.Text, clean(l.Name))
	}

	test := figure.Mark{Kind: figure.Bars, Name: "held-out set, e ± SE", Class: "test", Shape: "ring", Size: 5}
	test.Bar(r.Distance, r.E, r.ESE)

	fit.Point(r.Distance, r.Epistemic)

	marks := []figure.Mark{fit, e, test}
	if len(groups) <= 12 && c.Kind != interval.Blocks { // names of blocks are too long to be drawn
		marks = append(marks, names)
	}

	f := &figure.Figure{Width: 440, Panels: []figure.Panel{{
		X: figure.Axis{Label: "distance d to the training groups", Zero: true},
		Y: figure.Axis{Label: "squared error e (standardised)", Zero: true}, Marks: marks, Height: 250,
	}}}

	sameRange(f.Panels, 0.04, 0.1) // with room for the names above the bars
	m.add(plot{
		kind: "honest-left-out", split: s.Name, page: true, fig: f,
		heading: "Left-out groups of " + clean(c.Condition) + ", " + clean(s.HeldOut) + " held out",
		caption: text("figure-left-out", clean(s.HeldOut)),
	})
}

// heldOutLevels draws the outcomes at the middle place of the held-out conditions: the one
// with the widest interval by the network and by the calibrated model, then all by the
// calibrated model.
func (m *maker) heldOutLevels(s *SplitDetail) {
	d, dim := m.d, m.d.dim()

	var asked []int
	for c, held := range s.Test {
		if held && !math.IsNaN(s.Calibrated.Mu[c*dim]) {
			asked = append(asked, c)
		}
	}

	along := d.along(asked)
	if along < 0 {
		return
	}

	fixed := others(d.in(), along)
	spots := d.spots(asked, fixed)
	p := &heldOut{s: s, along: along, conditions: d.sorted(spots[len(spots)/2].cs, along)}
	where := ""
	if text := place(d.Inputs, spots[len(spots)/2].at, fixed); text != "" {
		where = ", " + text
	}

	widest, spread := d.widest(s.Name)
	a := s.answers()
	f := &figure.Figure{Columns: 2, Width: 720, Panels: []figure.Panel{
		p.panel(m, widest, "Network alone, its own intervals", func(k int) (y, half, half68 float64) {
			return a.mu[k], 1.96 * root(a.va[k]), root(a.va[k])
		}, 0.95),
		p.panel(m, widest, "Calibrated model", s.Calibrated.at, s.Calibrated.Level),
	}}

	sameRange(f.Panels, 0.04, 0.04)
	m.add(plot{
		kind: "honest-levels", split: s.Name, fig: f, page: true, spread: spread,
		heading: "Held-out " + d.Outcomes[widest].Word() + " before and after" + where,
		caption: text("figure-levels", dim > 1),
	})

	if dim < 2 {
		return
	}

	all := &figure.Figure{Columns: min(3, dim), Width: 720}
	for k, q := range d.Outcomes {
		panel := p.panel(m, k, q.Word(), s.Calibrated.at, s.Calibrated.Level)
		panel.Height = 160
		for i := range panel.Marks {
			panel.Marks[i].Quiet = k > 0 // the first panel names them
		}

		all.Panels = append(all.Panels, panel)
	}

	m.add(plot{
		kind: "honest-outcomes", split: s.Name, fig: all, page: true,
		heading: "Held-out outcomes with their calibrated intervals" + where, caption: text("figure-outcomes", nil),
	})
}

// heldOut is a place of held-out conditions, along one input.
type heldOut struct {
	s          *SplitDetail
	along      int
	conditions []int
}

// panel draws an outcome with the intervals that at returns.
func (p *heldOut) panel(
	m *maker, outcome int, title string, at func(k int) (y, half, half68 float64), level float64,
) figure.Panel {
	d, dim := m.d, m.d.dim()
	b := figure.Mark{Kind: figure.Band, Name: plainLevel(level) + " interval", Class: "total"}
	inner := figure.Mark{Kind: figure.Band, Name: "68 % interval", Class: "sigma1"}
	l := figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean"}
	v := figure.Mark{Kind: figure.Points, Name: "values, held out", Class: "test", Shape: "ring", Size: 2.3}

	for _, c := range p.conditions {
		x := d.x(c, p.along)
		y, half, half68 := at(c*dim + outcome)
		b.Between(x, y-half, y+half)
		inner.Between(x, y-half68, y+half68)
		l.Point(x, y)
	}

	rows := slices.DeleteFunc(others(len(d.Cond)), func(i int) bool { return !slices.Contains(p.conditions, d.Cond[i]) })
	for _, i := range thin(rows, 2*m.limit) {
		x, k := d.x(d.Cond[i], p.along), i*dim+outcome
		v.Point(x, d.Y1[k])
		v.Point(x, d.Y2[k])
	}

	return figure.Panel{
		Title: title, X: figure.Axis{Label: d.Inputs[p.along].Label()},
		Y: figure.Axis{Label: d.Outcomes[outcome].Label()}, Marks: []figure.Mark{b, inner, l, v}, Height: 260,
	}
}

// at is the interval of a value.
func (c *Intervals) at(k int) (mu, half, half68 float64) { return c.Mu[k], c.Half[k], c.Half68[k] }

// along is the input that figures of some conditions run along: the angle of radiation, or
// the one with the most values; −1 where all have one.
func (d *Detail) along(cs []int) int {
	best, most := -1, 1
	for k := range d.Inputs {
		values := map[float64]bool{}
		for _, c := range cs {
			values[d.x(c, k)] = true
		}

		n := len(values)
		if k == d.angle() && n > 1 {
			return k
		}

		if n > most {
			best, most = k, n
		}
	}

	return best
}

// widest is the outcome whose calibrated interval of a split is widest, and its width over
// the spread of the outcome in training.
func (d *Detail) widest(split string) (outcome int, spread float64) {
	for _, s := range d.Experiment.Splits {
		if s.Name != split || !s.calibrated() {
			continue
		}

		for _, t := range s.Honest.Record.Outcomes {
			k := slices.IndexFunc(d.Outcomes, func(q Quantity) bool { return q.Name == t.Outcome })
			if k >= 0 && t.WidthOverSpread > spread {
				outcome, spread = k, t.WidthOverSpread
			}
		}
	}

	return outcome, spread
}

// sameRange gives panels the same range of y, with shares of it below the lowest and
// above the highest mark.
func sameRange(panels []figure.Panel, below, above float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, k := range p.Marks {
			if k.Kind == figure.Span {
				continue
			}

			for _, v := range slices.Concat(k.Y, k.Lo, k.Hi) {
				if !math.IsNaN(v) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}

	if len(panels) > 0 && panels[0].Y.Zero && lo >= 0 {
		lo, below = 0, 0
	}

	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return
	}

	for i := range panels {
		panels[i].Y.Min, panels[i].Y.Max = lo-below*(hi-lo), hi+above*(hi-lo)
	}
}
