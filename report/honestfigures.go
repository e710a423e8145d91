package report

import (
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
)

// Intervals are a calibrated model's means and half widths of its intervals, of their Level
// and of 68 %, at the conditions of a Detail (conditions × outcomes, own units), NaN where it was not asked.
type Intervals struct {
	Mu, Half, Half68 []float64
	Level            float64
}

// plainLevel is levelText for names of series, which CSV files have too.
func plainLevel(level float64) string { return strings.ReplaceAll(levelText(level), "\u00a0", " ") }

func (s Split) calibrated() bool { return s.Honest != nil && s.Honest.Absent == "" }

// heldOutLevels draws the outcomes at the middle place of the held-out conditions: all with their intervals, then,
// where there is a calibration, the one with the widest interval by the network and by the calibrated model.
func (m *maker) heldOutLevels(s *SplitDetail) {
	d, dim := m.d, m.d.dim()
	if s.Calibrated == nil && (len(s.Seeds) == 0 || d.angle() >= 0) { // directivities have the network's
		return
	}

	interval, level := s.interval()
	asked := lists.Where(len(s.Test), func(c int) bool {
		mu, _, _ := interval(c * dim)
		return s.Test[c] && !math.IsNaN(mu)
	})

	along := d.along(asked)
	if along < 0 {
		return
	}

	fixed := others(d.in(), along)
	spots := d.spots(asked, fixed)
	conditions := d.sorted(spots[len(spots)/2].cs, along)
	panel := func(outcome int, title string, at claim, level float64) figure.Panel {
		p := figure.Panel{
			Title: title, X: figure.Axis{Label: d.Inputs[along].Label()}, Height: 260,
			Y: figure.Axis{Label: d.Outcomes[outcome].Label()},
		}
		p.Marks, _ = m.over(along, s, conditions, outcome, at, level)

		return p
	}

	where := ""
	if text := place(d.Inputs, spots[len(spots)/2].at, fixed); text != "" {
		where = ", " + text
	}

	all := &figure.Figure{Columns: min(3, dim), Width: 720}
	for k, q := range d.Outcomes {
		p := panel(k, q.Word(), interval, level)
		p.Height = 200

		for i := range p.Marks {
			p.Marks[i].Quiet = k > 0 // the first panel names them
		}

		all.Panels = append(all.Panels, p)
	}

	widest, spread := d.widest(s.Name)
	outcomes := plot{
		kind: "honest-outcomes", split: s.Name, fig: all, page: true, spread: spread,
		heading: "Held-out outcomes with their calibrated intervals" + where, caption: text("figure-outcomes", true),
	}

	if s.Calibrated == nil {
		outcomes.kind, outcomes.heading = "outcomes", "Held-out outcomes with the network's intervals"+where
		outcomes.caption = text("figure-outcomes", false)
		m.add(outcomes)

		return
	}

	if dim > 1 {
		m.add(outcomes)
	}

	network := *s
	network.Calibrated = nil

	alone, of := network.interval()
	f := &figure.Figure{Columns: 2, Width: 720, Panels: []figure.Panel{
		panel(widest, "Network alone, its own intervals", alone, of),
		panel(widest, "Calibrated model", interval, level),
	}}
	sameRange(f.Panels, 0.04)

	m.add(plot{
		kind: "honest-levels", split: s.Name, fig: f, page: true, spread: spread,
		heading: "Held-out " + d.Outcomes[widest].Word() + " before and after" + where,
		caption: text("figure-levels", dim > 1),
	})
}

// rises draws by how much the errors of left-out and of held-out groups exceed the claims, over the rise of E|cov|, of
// which at least three are known.
func (m *maker) rises() {
	left := figure.Mark{Kind: figure.Points, Name: "left-out groups", Class: "train", Shape: "ring", Size: 2.6}
	held := figure.Mark{Kind: figure.Points, Name: "held-out groups", Class: "test", Size: 3}
	add := func(k *figure.Mark, rise, ratio float64) {
		if rise > 0 && ratio > 0 && !math.IsInf(rise*ratio, 0) {
			k.Point(math.Log(rise), math.Log(ratio))
		}
	}

	for _, s := range m.d.Experiment.Splits {
		for _, g := range s.leftOut() {
			add(&left, *g.Rise, g.E/g.Claim)
		}

		if s.calibrated() && s.Honest.Record != nil {
			add(&held, s.rise(), s.Honest.Record.RatioBefore)
		}
	}

	if len(left.X)+len(held.X) < 3 {
		return
	}

	m.add(plot{
		kind: "honest-rises", page: true, heading: "Errors over claims and the rise of E|cov|",
		caption: text("figure-rises", nil),
		fig: &figure.Figure{Width: 420, Columns: 1, Panels: []figure.Panel{{
			X:     figure.Axis{Label: "ρ = ln(E|cov| over that of the training)"},
			Y:     figure.Axis{Label: "ln(e/v̂)"},
			Marks: append([]figure.Mark{zero()}, known(left, held)...), Height: 260,
		}}},
	})
}

// variance draws of what the variance of each outcome consists: between the names of things and occasions, with the
// ends of their central 95 %, from run to run, and noise.
func (m *maker) variance(s *SplitDetail) {
	split, _ := lists.Find(m.d.Experiment.Splits, func(e Split) bool { return e.Name == s.Name })
	if !split.calibrated() || len(split.Honest.Calibration.Things) == 0 {
		return
	}

	things := split.Honest.Calibration.Things

	names := figure.Mark{Kind: figure.Labels}
	ends := figure.Mark{Kind: figure.Bars, Name: "95 % of the share between", Class: "mean", Size: 2}
	runs := figure.Mark{Kind: figure.Band, Name: "from run to run", Class: "sigma3"}
	noise := figure.Mark{Kind: figure.Band, Name: "noise", Class: "train"}
	var between []figure.Mark
	for i, b := range things[0].Between {
		between = append(between, figure.Mark{
			Kind: figure.Band, Name: "between " + clean(b.Label), Class: []string{"sigma1", "epi", "floor"}[i%3],
		})
	}

	for k, t := range things {
		x, at := float64(k), 0.0
		add := func(m *figure.Mark, share float64) {
			for _, edge := range []float64{-0.3, 0.3, math.NaN()} {
				m.Between(x+edge, 100*at, 100*(at+share))
			}
			at += share
		}

		for i, b := range t.Between {
			ends.Point(x+0.1*float64(2*i-len(between)+1), 100*(at+b.Share))
			ends.Lo, ends.Hi = append(ends.Lo, 100*(at+b.Low)), append(ends.Hi, 100*(at+b.High))
			add(&between[i], b.Share)
		}

		add(&runs, t.Runs)
		add(&noise, t.Noise)
		names.Point(x, 101)
		names.Text = append(names.Text, clean(t.Outcome))
	}

	m.add(plot{
		kind: "honest-variance", split: s.Name, page: true, heading: "Where the variance of the outcomes is",
		caption: text("figure-variance", nil), fig: &figure.Figure{Width: 720, Panels: []figure.Panel{{
			X: figure.Axis{Min: -0.6, Max: float64(len(things)) - 0.4, Ticks: []float64{}}, Height: 200,
			Y:     figure.Axis{Label: "share of the variance (%)", Max: 112, Ticks: []float64{0, 25, 50, 75, 100}},
			Marks: slices.Concat(between, []figure.Mark{runs, noise, ends, names}),
		}}},
	})
}

// claim is the mean and the half widths of the interval of its level and of that of 68 % of a value.
type claim func(k int) (mu, half, half68 float64)

// over draws an outcome over an input, at conditions in the order of it: what is claimed, the pairs, and another
// program's predictions. held reports whether some of the conditions are held out.
func (m *maker) over(input int, s *SplitDetail, cs []int, outcome int, at claim, level float64) (
	marks []figure.Mark, held bool,
) {
	d := m.d
	total := figure.Mark{Kind: figure.Band, Name: plainLevel(level) + " interval", Class: "total"}
	inner := figure.Mark{Kind: figure.Band, Name: "68 % interval", Class: "sigma1"}
	mean := figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean"}
	train := figure.Mark{Kind: figure.Points, Name: "pairs, trained on", Class: "train", Shape: "ring", Size: 2.3}
	test := figure.Mark{Kind: figure.Points, Name: "pairs, held out", Class: "test", Shape: "ring", Size: 2.3}
	other := figure.Mark{Kind: figure.Line, Name: clean(s.ReferenceName), Class: "epi", Dashed: true}

	for _, c := range cs {
		x, k := d.x(c, input), c*d.dim()+outcome
		if y, half, half68 := at(k); !math.IsNaN(y) {
			total.Between(x, y-half, y+half)
			inner.Between(x, y-half68, y+half68)
			mean.Point(x, y)
		}

		if s.Reference != nil && s.Test[c] {
			other.Point(x, s.Reference[k])
		}

		pairs := &train
		if s.Test[c] {
			pairs, held = &test, true
		}

		for _, i := range thin(m.rowsOf(c), 8) {
			pairs.Point(x, d.Y1[i*d.dim()+outcome])
			pairs.Point(x, d.Y2[i*d.dim()+outcome])
		}
	}

	return known(total, inner, mean, train, test, other), held
}

// rowsOf are the triplets of a condition.
func (m *maker) rowsOf(c int) []int {
	if m.rows == nil {
		m.rows = make([][]int, m.d.conditions())
		for i, c := range m.d.Cond {
			m.rows[c] = append(m.rows[c], i)
		}
	}

	return m.rows[c]
}

// interval is that of the calibrated model at what is held out, without one that of the network, and its level.
func (s *SplitDetail) interval() (at claim, level float64) {
	if s.Calibrated != nil {
		return s.Calibrated.at, s.Calibrated.Level
	}

	means, variance := s.answers()

	return func(k int) (mu, half, half68 float64) { return means[k], 1.96 * root(variance[k]), root(variance[k]) }, 0.95
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

// sameRange gives panels the same range of y, with a share of it beyond the lowest and the
// highest mark.
func sameRange(panels []figure.Panel, beyond float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, k := range p.Marks {
			for _, v := range slices.Concat(k.Y, k.Lo, k.Hi) {
				if !math.IsNaN(v) {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}

	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return
	}

	for i := range panels {
		panels[i].Y.Min, panels[i].Y.Max = lo-beyond*(hi-lo), hi+beyond*(hi-lo)
	}
}
