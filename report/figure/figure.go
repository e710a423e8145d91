// Package figure draws scientific figures as SVG: panels with axes, bands, lines,
// points and error bars, made to be printed.
//
// A Figure is plain data. Draw returns the same bytes for the same figure; the
// file is complete (its style inside, light and dark, light in print), or made
// for a page that has Style once. Every mark carries the
// numbers it was drawn from in the attributes data-x, data-y, data-lo and data-hi
// (a list separated by blanks, "-" where there is no number), and
// CSV returns the same numbers as a table. Texts are escaped; nothing a name
// holds can become markup. What a figure shows, and in which words, is package
// report's.
package figure

import (
	"math"

	"doubletake/internal/lists"
)

// Figure is one picture: panels in a grid, read row by row. Each panel has its
// legend, unless the figure is Shared.
type Figure struct {
	ID      string  // unique in a page: letters, digits, hyphens
	Title   string  // for readers who cannot see it; not drawn
	Desc    string  // description, likewise
	Note    string  // drawn at the foot: what a reader must know even of a figure cut out of its page
	Width   float64 // in px; default 720
	Columns int     // panels side by side; default 1
	Shared  bool    // all panels have the same axes, which are labelled at the outer panels alone, and one legend

	Panels []Panel
}

// Fit returns the figure at a width in px, with as many panels side by side as can be
// read at it.
func (f *Figure) Fit(width float64) *Figure {
	g := *f
	g.Width = width

	least := 200.0
	if f.Shared {
		least = 130
	}

	g.Columns = max(1, min(f.Columns, int((width+gutter)/(least+gutter))))

	return &g
}

// Panel is one pair of axes. Without marks it is left blank.
type Panel struct {
	Title  string // drawn above; "" for none
	X, Y   Axis
	Height float64 // of the plotting area in px; default 0.62 of its width
	Square bool    // the plotting area is as high as it is wide
	Marks  []Mark  // drawn in this order
}

// Axis is one axis. Where Min and Max are equal the range is that of the data,
// widened so that the outermost marks do not touch the frame.
type Axis struct {
	Label    string // with the unit: "angle of attack (deg)"
	Log      bool
	Min, Max float64
	Ticks    []float64 // default: at round numbers
	Zero     bool      // the range found from the data includes 0
}

// Kind is the form of a mark.
type Kind int

// The kinds of marks, and which of their numbers they use.
const (
	Points Kind = iota // X, Y
	Line               // X, Y; NaN interrupts it
	Band               // X, Lo, Hi; NaN interrupts it
	Bars               // X, Y, Lo, Hi: points with error bars
	Span               // Lo, Hi: shading between two values of x, over the whole height
	Rule               // Y: horizontal lines; or X: vertical ones
	Steps              // Lo, Hi on x, Y: horizontal pieces
	Labels             // X, Y, Text: short texts above a point

)

// Mark is one series of numbers.
type Mark struct {
	Kind  Kind
	Name  string // in the legend, and of the series in the data; marks of one name are one entry
	Quiet bool   // not in the legend
	// Class is the role that decides the colour: mean, total, epi, sigma1,
	// sigma2, sigma3, train, test, floor, aux, grey.
	Class  string
	Shape  string // of points: "" round, "ring", "square", "diamond"
	Size   float64
	Dashed bool
	Thin   bool

	X, Y, Lo, Hi []float64
	Text         []string
}

// Point adds a point.
func (m *Mark) Point(x, y float64) { m.X, m.Y = append(m.X, x), append(m.Y, y) }

// Between adds a place of a band.
func (m *Mark) Between(x, lo, hi float64) {
	m.X, m.Lo, m.Hi = append(m.X, x), append(m.Lo, lo), append(m.Hi, hi)
}

// Bar adds a point with a bar of half on either side, where half is a number.
func (m *Mark) Bar(x, y, half float64) {
	if math.IsNaN(half) {
		half = 0
	}

	m.Point(x, y)
	m.Lo, m.Hi = append(m.Lo, y-half), append(m.Hi, y+half)
}

// far is the largest number that can be drawn: differences and products of two
// such stay numbers.
const far = 1e150

// extent widens lo..hi by the finite values of v; beyond far there is no axis
// to draw.
func extent(lo, hi float64, v []float64, log bool) (float64, float64) {
	for _, x := range v {
		if math.IsNaN(x) || math.Abs(x) > far || log && x < 1/far {
			continue
		}
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}

	return lo, hi
}

// ranges returns the panel's axes with their ranges filled in.
func (p *Panel) ranges() (x, y Axis) {
	x, y = p.X, p.Y

	xl, xh, yl, yh := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, m := range p.Marks {
		along, across := [][]float64{m.X}, [][]float64{m.Y}
		switch m.Kind {
		case Span:
			along, across = [][]float64{m.Lo, m.Hi}, nil
		case Steps:
			along = append(along, m.Lo, m.Hi)
		default:
			across = append(across, m.Lo, m.Hi)
		}

		for _, v := range along {
			xl, xh = extent(xl, xh, v, x.Log)
		}

		for _, v := range across {
			yl, yh = extent(yl, yh, v, y.Log)
		}
	}

	x.fill(xl, xh)
	y.fill(yl, yh)

	return x, y
}

// fill sets the range from that of the data where none is given.
func (a *Axis) fill(lo, hi float64) {
	if a.Min != a.Max {
		return
	}

	if a.Zero {
		lo, hi = math.Min(lo, 0), math.Max(hi, 0)
	}

	switch {
	case lo > hi: // nothing to show
		lo, hi = 0, 1
		if a.Log {
			lo, hi = 1, 10
		}

	case a.Log && lo == hi:
		lo, hi = lo/2, hi*2
	case lo == hi:
		w := math.Max(math.Abs(lo)*0.05, 0.5)
		lo, hi = lo-w, hi+w
	case a.Log:
		f := math.Pow(hi/lo, 0.04)
		lo, hi = lo/f, hi*f
	default:
		w := 0.04 * (hi - lo)
		zl, zh := a.Zero && lo == 0, a.Zero && hi == 0

		lo, hi = lo-w, hi+w
		if zl {
			lo = 0
		}

		if zh {
			hi = 0
		}
	}

	a.Min, a.Max = lo, hi
}

// scale maps a value of the axis to pixels between a and b.
type scale struct {
	log      bool
	min, max float64
	a, b     float64
}

func newScale(x Axis, a, b float64) scale { return scale{x.Log, x.Min, x.Max, a, b} }

func (s scale) at(v float64) float64 {
	t := (v - s.min) / (s.max - s.min)
	if s.log {
		t = math.Log(v/s.min) / math.Log(s.max/s.min)
	}

	// Far outside the panel a coordinate is only clipped away; it must stay a
	// number that readers of SVG can hold.
	if math.IsNaN(t) {
		return s.a
	}

	return s.a + math.Max(-50, math.Min(50, t))*(s.b-s.a)
}

// nice returns round numbers within [lo, hi], at most about n of them: steps of
// 1, 2, 2.5 or 5 times a power of ten. It returns nil for an empty or infinite
// range.
func nice(lo, hi float64, n int) []float64 {
	if !(hi > lo) || math.IsInf(hi-lo, 0) || n < 1 {
		return nil
	}

	raw := (hi - lo) / float64(n)
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * p
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*p >= raw*(1-1e-9) {
			step = m * p
			break
		}
	}

	var out []float64

	first := math.Ceil(lo/step - 1e-9)
	for k := 0.0; k <= float64(2*n+2); k++ {
		v := (first + k) * step
		if v > hi+1e-9*step {
			break
		}

		if math.Abs(v) < 1e-9*step {
			v = 0
		}

		out = append(out, v)
	}

	return out
}

// logTicks are decades, with 2 and 5 where there are few of them.
func logTicks(lo, hi float64) []float64 {
	if !(lo > 0) || !(hi > lo) || math.IsInf(hi, 0) {
		return nil
	}

	a, b := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	within := func(mult []float64, every float64) []float64 {
		var out []float64
		for k := a; k <= b; k += every {
			for _, m := range mult {
				if v := m * math.Pow(10, k); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
					out = append(out, v)
				}
			}
		}

		return out
	}

	t := within([]float64{1}, 1)
	switch {
	case len(t) < 3:
		return within([]float64{1, 2, 5}, 1)
	case len(t) > 8:
		return within([]float64{1}, math.Ceil(float64(len(t))/8))
	}

	return t
}

// powers reports whether the ticks of a logarithmic axis are written as powers of
// ten: all of them are, and one is far from 1.
func (a *Axis) powers(ticks []float64) bool {
	if !a.Log || len(ticks) == 0 {
		return false
	}

	for _, t := range ticks {
		if e := math.Log10(t); math.Abs(e-math.Round(e)) > 1e-9 {
			return false
		}
	}

	return ticks[0] < 0.05 || ticks[len(ticks)-1] > 5e4
}

func (a *Axis) ticks(n int) []float64 {
	switch {
	case a.Ticks != nil:
		w := 1e-9 * (a.Max - a.Min)
		return lists.Keep(a.Ticks, func(t float64) bool { return t >= a.Min-w && t <= a.Max+w })

	case a.Log:
		return logTicks(a.Min, a.Max)
	}

	return nice(a.Min, a.Max, n)
}
