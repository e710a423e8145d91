package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"doubletake/internal/lists"
	"doubletake/report/figure"
	"doubletake/report/figure/paper"
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

// filePoints of one series are in files: all that can be distinguished. Of more an even selection is.
const filePoints = 1500

// onPage are points of a series, and the models' answers held in the page for exploring: the first that keeps it below
// pageBytes.
var onPage = []struct{ points, answers int }{{110, 270_000}, {80, 180_000}, {50, 90_000}, {30, 40_000}}

// pageBytes is what a page should not exceed.
const pageBytes = 3_000_000

// Figures returns the experiment's figures as files, in the order of the page.
func Figures(d *Detail) []FigureFile {
	return lists.Each(plots(d, filePoints, ""), func(p plot) FigureFile {
		return FigureFile{File: p.file, SVG: figure.Draw(p.fig, figure.Options{}), CSV: p.fig.CSV()}
	})
}

// plots are the figures, with so many points of a series; of one split alone where it is named.
func plots(d *Detail, points int, split string) []plot {
	m := &maker{d: d, limit: points, only: split, used: map[string]bool{}}
	for i := range d.Splits {
		m.heldOutLevels(&d.Splits[i])
		m.variance(&d.Splits[i])
		m.split(&d.Splits[i])
	}

	m.rises()
	m.spectrum()
	m.levels()

	return m.out
}

type maker struct {
	d     *Detail
	limit int
	only  string // the split of figures; "": all, which have it in their names
	out   []plot
	used  map[string]bool
	rows  [][]int // by condition, for rowsOf
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
	if d.in() == 0 { // all triplets are of one
		return min(1, len(d.Cond))
	}
	return len(d.X) / d.in()
}
func (d *Detail) x(c, k int) float64 { return d.X[c*d.in()+k] }

// values are the distinct values of input k, ascending.
func (d *Detail) values(k int) []float64 {
	v := lists.Column(d.X, d.in(), k)
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

// answers are means over seeds of μ and σ², one for each condition and outcome.
func (s *SplitDetail) answers() (mu, variance []float64) {
	for k, seed := range s.Seeds {
		if k == 0 {
			mu, variance = make([]float64, len(seed.Mu)), make([]float64, len(seed.Mu))
		}

		for i := range seed.Mu {
			mu[i] += seed.Mu[i] / float64(len(s.Seeds))
			variance[i] += seed.Var[i] / float64(len(s.Seeds))
		}
	}

	return mu, variance
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

// thin picks at most n of a list, evenly.
func thin[T any](list []T, n int) []T {
	if len(list) <= n || n < 1 {
		return list
	}

	return lists.Make(n, func(i int) T { return list[i*len(list)/n] })
}

func (m *maker) split(s *SplitDetail) {
	if len(s.Seeds) == 0 {
		return
	}

	if angle := m.d.angle(); angle >= 0 {
		m.directivities(s, angle)
	}

	m.bandLevels(s)
	m.calibration(s)
	m.parity(s)
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
	return lists.Where(n, func(k int) bool { return !slices.Contains(but, k) })
}

// PlotOptions adapt a figure to the place it is drawn for.
type PlotOptions struct {
	Format string  // "svg", "pdf" or "png"
	WidthM float64 // on paper, m
	DPI    float64 // of a PNG
}

// PlotFormats are those of a figure.
func PlotFormats() []string { return []string{"svg", "pdf", "png"} }

// Plots are the figures of some experiments, as Plot draws them.
type Plots struct{ list []plot }

// NewPlots makes the figures of one experiment, of one split alone where it is named.
func NewPlots(d *Detail, split string) *Plots { return &Plots{plots(d, filePoints, split)} }

// Names lists the figures.
func (p *Plots) Names() []string {
	return lists.Each(p.list, func(f plot) string { return f.file })
}

// Kinds are the kinds of the figures, in the order of Names: parity, directivity.
func (p *Plots) Kinds() []string {
	return lists.Each(p.list, func(f plot) string { return strings.Split(f.kind, "-")[0] })
}

// Draw returns a figure in one of the formats: texts of 8 pt at any width.
func (p *Plots) Draw(name string, o PlotOptions) ([]byte, error) {
	found, ok := lists.Find(p.list, func(f plot) bool { return f.file == name })
	if !ok {
		return nil, fmt.Errorf("there is no figure %q", name)
	}

	mm := 1e3 * o.WidthM
	f := found.fig.Fit(paper.Width(mm))

	switch o.Format {
	case "svg":
		return figure.Draw(f, figure.Options{Millimetres: mm}), nil
	case "pdf":
		return paper.PDF(f)
	case "png":
		return paper.PNG(f, o.DPI)
	}

	return nil, fmt.Errorf("format %q is none of %s", o.Format, strings.Join(PlotFormats(), ", "))
}
