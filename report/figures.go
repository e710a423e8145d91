package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doubletake/report/figure"
)

// FigureFile is one figure as files: a complete SVG, and its numbers as CSV.
type FigureFile struct {
	File     string // name without extension, safe in any file system
	SVG, CSV []byte
}

// plot is a figure with its caption.
type plot struct {
	kind, split string
	file        string // name without extension, made by add
	heading     string
	caption     string
	fig         *figure.Figure
	page        bool // also on the page; the others are files only

	// Of the figure that shows held-out values before and after calibration: the width of the
	// intervals over the spread of the outcome.
	spread float64
}

// amount is how much of the data is drawn.
type amount struct {
	points  int // of one series, beyond which an even selection is drawn
	every   int // of the points of a curve, one in so many
	numbers int // of the models' answers held in the page for exploring
}

// Files have all points that can be distinguished.
var inFiles = amount{points: 1500, every: 1}

// On the page as much as keeps it below pageBytes: the first that does.
var onPage = []amount{{110, 1, 270_000}, {80, 2, 180_000}, {50, 3, 90_000}, {30, 4, 40_000}}

// pageBytes is what a page should not exceed.
const pageBytes = 3_000_000

// Figures returns the experiment's figures as files, in the order of the page.
func Figures(d *Detail) []FigureFile {
	return filesOf(plots(d, inFiles))
}

func filesOf(list []plot) []FigureFile {
	var out []FigureFile
	for _, p := range list {
		out = append(out, FigureFile{File: p.file, SVG: figure.Draw(p.fig, figure.Options{}), CSV: p.fig.CSV()})
	}

	return out
}

func plots(d *Detail, of amount) []plot {
	return (&maker{d: d, limit: of.points, every: of.every}).plots()
}

func (m *maker) plots() []plot {
	d := m.d
	for i := range d.Splits {
		m.split(&d.Splits[i])
	}

	m.calibrations()
	m.spectrum()
	m.levels()
	m.drift()

	return m.out
}

type maker struct {
	d     *Detail
	limit int
	every int
	polar bool   // directivities are polar
	only  string // the split of figures; "": all, which have it in their names
	out   []plot
	used  map[string]bool
}

// add finishes a figure: names, note, simulated in the title.
func (m *maker) add(p plot) {
	if m.only != "" && p.split != m.only {
		return
	}

	name := p.kind
	if p.split != "" && m.only == "" {
		name = p.split + "-" + name
	}

	p.file = fileName(name)

	if m.used == nil {
		m.used = map[string]bool{}
	}

	for k, base := 2, p.file; m.used[p.file]; k++ {
		p.file = base + "-" + strconv.Itoa(k)
	}

	m.used[p.file] = true
	p.fig.ID = "f-" + fileName(m.d.Experiment.Name) + "-" + p.file
	title := clean(m.d.Experiment.Name) + ": " + p.heading
	if m.d.Experiment.Data != "" && m.d.Experiment.Data != "measured" {
		title = strings.ToUpper(m.d.Experiment.Data[:1]) + clean(m.d.Experiment.Data[1:]) + " data, " + title
		p.heading += " (" + clean(m.d.Experiment.Data) + " data)"
		p.fig.Note = strings.ToUpper(m.d.Experiment.Data[:1]) + clean(m.d.Experiment.Data[1:]) + " data."
	}

	if p.split != "" {
		title += ", split " + clean(p.split)
	}

	p.fig.Title, p.fig.Desc = title, p.caption
	m.out = append(m.out, p)
}

// fileName keeps letters, digits, hyphens, dots and underscores of any script's
// ASCII part; the rest becomes a hyphen. Long names are cut.
func fileName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_') || r == '.' && b.Len() > 0 ||
			r == '=' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}

		if b.Len() >= 100 {
			break
		}
	}

	out := strings.Trim(b.String(), "-.")
	if out == "" {
		return "x"
	}

	return strings.ReplaceAll(out, "=", "-")
}

// data is the kind of the outcomes, as figures name it.
func (d *Detail) data() string { return cmp.Or(clean(d.Experiment.Data), "measured") }

func (d *Detail) in() int  { return len(d.Inputs) }
func (d *Detail) dim() int { return len(d.Outcomes) }
func (d *Detail) conditions() int {
	if d.in() == 0 {
		return 0
	}
	return len(d.X) / d.in()
}
func (d *Detail) x(c, k int) float64 { return d.X[c*d.in()+k] }

// values are the distinct values of input k, ascending.
func (d *Detail) values(k int) []float64 {
	var v []float64
	for c := range d.conditions() {
		v = append(v, d.x(c, k))
	}

	slices.Sort(v)

	return slices.Compact(v)
}

// spot is a place of figures over an angle: conditions that agree in some inputs.
type spot struct {
	at []float64 // inputs of the first of them
	cs []int
}

// spots groups conditions that agree in the fixed inputs, in the order of these.
func (d *Detail) spots(cs, fixed []int) []*spot {
	compare := func(a, b int) int {
		for _, k := range fixed {
			if o := cmp.Compare(d.x(a, k), d.x(b, k)); o != 0 {
				return o
			}
		}

		return 0
	}

	var out []*spot

	var last *spot
	for _, c := range slices.SortedStableFunc(slices.Values(cs), compare) {
		if last == nil || compare(last.cs[0], c) != 0 {
			last = &spot{at: d.X[c*d.in() : (c+1)*d.in()]}
			out = append(out, last)
		}

		last.cs = append(last.cs, c)
	}

	return out
}

// sorted are conditions in order of an input.
func (d *Detail) sorted(cs []int, by int) []int {
	return slices.SortedStableFunc(slices.Values(cs), func(a, b int) int { return cmp.Compare(d.x(a, by), d.x(b, by)) })
}

// answers are means over seeds, one for each condition and outcome.
type answers struct{ mu, va, co []float64 }

func (s *SplitDetail) answers() (a answers) {
	for k, seed := range s.Seeds {
		if k == 0 {
			n := len(seed.Mu)
			a = answers{make([]float64, n), make([]float64, n), make([]float64, n)}
		}

		for i := range seed.Mu {
			a.mu[i] += seed.Mu[i] / float64(len(s.Seeds))
			a.va[i] += seed.Var[i] / float64(len(s.Seeds))
			a.co[i] += seed.Cov[i] / float64(len(s.Seeds))
		}
	}

	return a
}

// known are the marks that have points.
func known(marks ...figure.Mark) []figure.Mark {
	return slices.DeleteFunc(marks, func(m figure.Mark) bool { return len(m.X)+len(m.Y) == 0 })
}

// zero is a line at 0.
func zero() figure.Mark {
	return figure.Mark{Kind: figure.Rule, Class: "grey", Y: []float64{0}, Thin: true}
}

// heldOut splits conditions, or rows by their conditions, into those trained on and
// those held out.
func (s *SplitDetail) heldOut(n int, condition func(i int) int) (of [2][]int) {
	for i := range n {
		part := 0
		if s.Test[condition(i)] {
			part = 1
		}

		of[part] = append(of[part], i)
	}

	return of
}

func root(v float64) float64 { return math.Sqrt(math.Max(v, 0)) }

// epistemic is √C, NaN where C ≤ 0: there is no interval then.
func epistemic(c float64) float64 {
	if c <= 0 {
		return math.NaN()
	}
	return math.Sqrt(c)
}

// aleatoric is what remains of the total deviation: √(σ² − C); where C ≤ 0 all
// of it, where C > σ² NaN.
func aleatoric(v, c float64) float64 {
	if c > v {
		return math.NaN()
	}
	return math.Sqrt(v - math.Max(0, c))
}

// thin picks at most n of a list, evenly.
func thin[T any](list []T, n int) []T {
	if len(list) <= n || n < 1 {
		return list
	}

	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}

	return out
}

func (m *maker) split(s *SplitDetail) {
	if len(s.Seeds) == 0 {
		return
	}

	if angle := m.d.angle(); angle >= 0 {
		m.directivities(s, angle)
	}

	if len(s.Profiles) > 0 {
		m.profiles(s)
	}

	m.bandLevels(s)
	m.maps(s)
	m.calibration(s)
	m.parity(s)
	m.training(s)
}

func number6(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', 6, 64), "-", "−", 1)
}

// place writes the values of some inputs.
func place(q []Quantity, at []float64, which []int) string {
	var s []string
	for _, k := range which {
		if q[k].Name == "blades" {
			s = append(s, number6(at[k])+" blades")
			continue
		}

		t := q[k].Word() + " " + number6(at[k])
		if q[k].Word() == q[k].Name { // no words
			t = q[k].Name + " = " + number6(at[k])
		}

		if q[k].Unit != "" {
			t += " " + clean(q[k].Unit)
		}

		s = append(s, t)
	}

	return strings.Join(s, ", ")
}

// placeOf writes the inputs of a condition.
func (d *Detail) placeOf(c int) string {
	return place(d.Inputs, d.X[c*d.in():(c+1)*d.in()], others(d.in()))
}

func others(n int, but ...int) []int {
	var out []int
	for k := range n {
		if !slices.Contains(but, k) {
			out = append(out, k)
		}
	}

	return out
}

// curve is one outcome of a profile, means over the seeds.
type curve struct {
	grid, mu, va, co []float64
	seeds            [][]float64 // C of each
	noise            []float64   // that simulated data were made with; nil where it is not known
}

// curve takes one in so many points of the grid, and its end.
func (p *Profile) curve(outcome, dim, every int) curve {
	var at []int
	for i := range p.Grid {
		if i%max(every, 1) == 0 || i == len(p.Grid)-1 {
			at = append(at, i)
		}
	}

	column := func(v []float64, width, of int) []float64 {
		if v == nil {
			return nil
		}

		out := make([]float64, len(at))
		for k, i := range at {
			out[k] = v[i*width+of]
		}

		return out
	}

	mean := func(seeds [][]float64) []float64 {
		out := make([]float64, len(at))
		for _, v := range seeds {
			for k, y := range column(v, dim, outcome) {
				out[k] += 1 / float64(len(seeds)) * y
			}
		}

		return out
	}

	c := curve{
		grid: column(p.Grid, 1, 0), mu: mean(p.Mu), va: mean(p.Var), co: mean(p.Cov),
		noise: column(p.TrueSigma, dim, outcome),
	}

	for _, v := range p.Cov {
		c.seeds = append(c.seeds, column(v, dim, outcome))
	}

	return c
}

// The deviations at point i.
func (c curve) total(i int) float64     { return root(c.va[i]) }
func (c curve) aleatoric(i int) float64 { return aleatoric(c.va[i], c.co[i]) }
func (c curve) epistemic(i int) float64 { return epistemic(c.co[i]) }

// band is the mean ± half.
func (c curve) band(name, class string, half func(i int) float64) figure.Mark {
	b := figure.Mark{Kind: figure.Band, Name: name, Class: class}
	for i, x := range c.grid {
		b.Between(x, c.mu[i]-half(i), c.mu[i]+half(i))
	}

	return b
}

func (c curve) line(name, class string, dashed bool, y func(i int) float64) figure.Mark {
	mk := figure.Mark{Kind: figure.Line, Name: name, Class: class, Dashed: dashed, X: c.grid}
	for i := range c.grid {
		mk.Y = append(mk.Y, y(i))
	}

	return mk
}

// trainedOn marks the ranges trained on; nil where nothing was.
func (p *Profile) trainedOn() []figure.Mark {
	span := figure.Mark{Kind: figure.Span, Name: "range trained on", Class: "span"}
	for _, t := range p.Trained {
		span.Lo, span.Hi = append(span.Lo, t[0]), append(span.Hi, t[1])
	}

	if span.Lo == nil {
		return nil
	}

	return []figure.Mark{span}
}

// profiles draws outcomes along one input: bands above, deviations in the middle,
// covariance below.
func (m *maker) profiles(s *SplitDetail) {
	d := m.d
	for outcome := range d.Outcomes {
		var above, middle, below []figure.Panel
		for i := range s.Profiles {
			up, spread, down := m.profile(s, &s.Profiles[i], outcome)
			above, middle, below = append(above, up), append(middle, spread), append(below, down)
		}

		sameRange(above, 0.03, 0.03)
		sameRange(middle, 0, 0.05)
		sameRange(below, 0.05, 0.05)
		along := d.Inputs[s.Profiles[0].Input].Word()
		caption := text("figure-profile", map[string]any{
			"What": d.Outcomes[outcome].Word(), "Along": along, "Data": d.data(), "Seeds": len(s.Seeds),
			"Selected": d.AllRows > len(d.Cond) || len(d.Cond) > m.limit, "Couples": d.Experiment.Couples,
		})

		m.add(plot{
			kind: "profile-" + d.Outcomes[outcome].Name, split: s.Name,
			heading: d.Outcomes[outcome].Word() + " along " + along, caption: caption,
			fig: &figure.Figure{
				Columns: len(s.Profiles), Width: 720, Panels: slices.Concat(above, middle, below),
			},
			page: outcome < 2,
		})
	}
}

// profile returns the three panels of one profile and outcome.
func (m *maker) profile(s *SplitDetail, p *Profile, outcome int) (up, spread, down figure.Panel) {
	c := p.curve(outcome, m.d.dim(), m.every)
	q := m.d.Outcomes[outcome]
	x := figure.Axis{Label: m.d.Inputs[p.Input].Axis(), Min: c.grid[0], Max: c.grid[len(c.grid)-1]}
	bands := []figure.Mark{
		c.band("μ ± 3σ", "sigma3", func(i int) float64 { return 3 * c.total(i) }),
		c.band("μ ± 2σ", "sigma2", func(i int) float64 { return 2 * c.total(i) }),
		c.band("μ ± σ", "sigma1", c.total),
		c.band("μ ± 2√C, epistemic", "epi", func(i int) float64 { return 2 * c.epistemic(i) }),
	}
	mean := figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean", X: c.grid, Y: c.mu}
	up = figure.Panel{
		X: x, Y: figure.Axis{Label: q.Axis()}, Height: 240,
		Marks: slices.Concat(p.trainedOn(), bands, m.pairs(s, p, outcome), []figure.Mark{mean}),
	}

	spread = figure.Panel{
		X: x, Y: figure.Axis{Label: in("deviation", q.difference()), Zero: true}, Height: 110,
		Marks: append(p.trainedOn(),
			c.line("σ, total", "mean", false, c.total),
			c.line("√(σ² − C), aleatoric", "floor", true, c.aleatoric),
			c.line("√C, epistemic", "epi", false, c.epistemic)),
	}
	if c.noise != nil {
		spread.Marks = append(spread.Marks, figure.Mark{
			Kind: figure.Line, Name: "noise the data were made with", Class: "aux", Dashed: true, X: c.grid, Y: c.noise,
		})
	}

	up.Title = place(m.d.Inputs, p.At, others(m.d.in(), p.Input))
	if up.Title != "" && p.HeldOut {
		up.Title += ", held out"
	}

	down = figure.Panel{
		X: up.X, Y: figure.Axis{Label: in("covariance C", q.square())}, Height: 100,
		Marks: append(p.trainedOn(), zero()),
	}

	for _, of := range c.seeds {
		down.Marks = append(down.Marks, figure.Mark{
			Kind: figure.Line, Name: "C of each seed", Class: "epi", Thin: true, X: c.grid, Y: of,
		})
	}

	down.Marks = append(down.Marks, figure.Mark{
		Kind: figure.Line, Name: "C, mean over seeds", Class: "aux", X: c.grid, Y: c.co,
	})

	return up, spread, down
}

// pairs are the outcomes on a profile, y1 and y2.
func (m *maker) pairs(s *SplitDetail, p *Profile, outcome int) []figure.Mark {
	d := m.d
	marks := []figure.Mark{
		{Kind: figure.Points, Name: d.data() + ", trained on", Class: "train", Size: 1.5},
		{Kind: figure.Points, Name: d.data() + ", held out", Class: "test", Size: 1.5},
	}

	for k, list := range s.heldOut(len(d.Cond), func(i int) int { return d.Cond[i] }) {
		list = slices.DeleteFunc(list, func(i int) bool { return !d.at(d.Cond[i], p.At, p.Input) })
		for _, i := range thin(list, 2*m.limit) {
			j, x := i*d.dim()+outcome, d.x(d.Cond[i], p.Input)
			marks[k].Point(x, d.Y1[j])
			marks[k].Point(x, d.Y2[j])
		}
	}

	return known(marks...)
}

// at reports whether a condition has the inputs of a place, but for some.
func (d *Detail) at(c int, place []float64, but ...int) bool {
	return !slices.ContainsFunc(others(d.in(), but...), func(k int) bool { return d.x(c, k) != place[k] })
}
