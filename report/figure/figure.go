// Package figure draws scientific figures as SVG: panels with axes, bands, lines,
// points and error bars, made to be printed.
//
// A Figure is plain data. Draw returns an SVG, the same bytes for the same figure: a
// complete file with its style inside, or an element of a page that has Style once.
// Every mark carries the numbers it was drawn from in the attributes data-x, data-y,
// data-lo and data-hi (a list separated by blanks, "-" for a number that is not
// finite), and CSV returns the same numbers as a table. Texts are escaped, so that
// nothing in a name can become markup. Package report decides the contents and the
// words of a figure.
//
// figure.go has the data, and the ranges and ticks of axes; layout.go places panels;
// draw.go, marks.go and legend.go draw them; style.go has colours and styles; text.go
// writes texts and numbers.
package figure

import (
	"math"
)

// Figure is one picture: panels in a grid, read row by row. Each panel has its
// legend, unless the figure is Shared.
type Figure struct {
	ID      string  // unique in a page: letters, digits, hyphens
	Title   string  // for readers who cannot see the figure; not drawn
	Desc    string  // description for the same readers; not drawn
	Note    string  // drawn at the foot, for readers of a figure that was cut out of its page; "" for none
	Width   float64 // in px; 0: 720
	Columns int     // number of panels side by side; 0: 1
	Shared  bool    // all panels have the same axes, which only the outer panels label, and one legend

	Panels []Panel
}

// Fit returns a copy of the figure for a width in px. It has fewer panels side by side if
// they would be too narrow to be read.
func (f *Figure) Fit(width float64) *Figure {
	fitted := *f
	fitted.Width = width

	narrowest := 200.0 // readable width of a panel, px
	if f.Shared {
		narrowest = 130 // most panels have no numbers and labels on the left
	}

	fitted.Columns = max(1, min(f.Columns, int((width+gutter)/(narrowest+gutter))))

	return &fitted
}

// Panel is one pair of axes. Without marks it is left blank.
type Panel struct {
	Title  string // drawn above; "" for none
	X, Y   Axis
	Height float64 // of the plotting area in px; 0: 0.62 of its width
	Square bool    // the plotting area is as high as it is wide
	Marks  []Mark  // drawn in this order
}

// Axis is one axis. If Min and Max are equal, the range is the range of the data,
// widened so that the outermost marks do not touch the frame.
type Axis struct {
	Label    string    // with the unit: "angle of attack (deg)"
	Log      bool      // logarithmic
	Min, Max float64   // the range; equal numbers: the range of the data
	Ticks    []float64 // nil: at round numbers
	Zero     bool      // the range of the data is extended to 0
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
	Name  string // in the legend and in the data; marks with the same name share an entry of the legend
	Quiet bool   // not in the legend
	// Class is the role that decides the colour: mean, total, epi, sigma1,
	// sigma2, sigma3, train, test, floor, aux, grey.
	Class  string
	Shape  string  // of points: "" round, "ring", "square", "diamond", "bound": a ring with an arrow downwards
	Size   float64 // radius of points in px; 0: 2.4
	Dashed bool    // of lines
	Thin   bool    // of lines

	X, Y, Lo, Hi []float64 // lists that Kind uses have the same length

	// Text has the texts of Labels. Of Points it has the name of the source of each point, such as a run, which a page
	// shows to a reader who points there, or nil if there are no names.
	Text []string
}

// Point adds a point.
func (m *Mark) Point(x, y float64) {
	m.X = append(m.X, x)
	m.Y = append(m.Y, y)
}

// NamedPoint adds a point with the name of its source. A mark has a name for each of its points, or for none.
func (m *Mark) NamedPoint(x, y float64, name string) {
	m.Point(x, y)
	m.Text = append(m.Text, name)
}

// Between adds a point of a band, or a piece of other marks that use Lo and Hi.
func (m *Mark) Between(x, lo, hi float64) {
	m.X = append(m.X, x)
	m.Lo = append(m.Lo, lo)
	m.Hi = append(m.Hi, hi)
}

// Bar adds a point with a bar of the given half length on either side. If half is NaN there is no bar.
func (m *Mark) Bar(x, y, half float64) {
	if math.IsNaN(half) {
		half = 0
	}

	m.Point(x, y)
	m.Lo = append(m.Lo, y-half)
	m.Hi = append(m.Hi, y+half)
}

// far is the largest number that can be drawn: differences and products of two such
// numbers stay finite.
const far = 1e150

// extent returns the range low to high, widened by values. It ignores values that cannot
// be drawn, and on a logarithmic axis values that are not positive.
func extent(low, high float64, values []float64, log bool) (lowest, highest float64) {
	for _, value := range values {
		isTooSmall := log && value < 1/far // or not positive
		if !drawable(value) || isTooSmall {
			continue
		}

		low = math.Min(low, value)
		high = math.Max(high, value)
	}

	return low, high
}

// ranges returns the panel's axes with their ranges filled in.
func (p *Panel) ranges() (x, y Axis) {
	x = p.X
	y = p.Y

	xLow := math.Inf(1)
	xHigh := math.Inf(-1)
	yLow := math.Inf(1)
	yHigh := math.Inf(-1)
	for _, mark := range p.Marks {
		along := [][]float64{mark.X}
		across := [][]float64{mark.Y}
		switch mark.Kind {
		case Span:
			along = [][]float64{mark.Lo, mark.Hi}
			across = nil
		case Steps:
			along = append(along, mark.Lo, mark.Hi)
		default:
			across = append(across, mark.Lo, mark.Hi)
		}

		for _, values := range along {
			xLow, xHigh = extent(xLow, xHigh, values, x.Log)
		}

		for _, values := range across {
			yLow, yHigh = extent(yLow, yHigh, values, y.Log)
		}
	}

	x.fill(xLow, xHigh)
	y.fill(yLow, yHigh)

	return x, y
}

// fill sets the range of the axis from the range of the data, with a margin, unless the axis has a range. If there are
// no data, low is greater than high.
func (a *Axis) fill(low, high float64) {
	if a.Min != a.Max {
		return
	}

	if a.Zero {
		low = math.Min(low, 0)
		high = math.Max(high, 0)
	}

	switch {
	case low > high: // nothing to show
		low = 0
		high = 1
		if a.Log {
			low = 1
			high = 10
		}

	case a.Log && low == high:
		low /= 2
		high *= 2
	case low == high:
		margin := math.Max(math.Abs(low)*0.05, 0.5)
		low -= margin
		high += margin
	case a.Log:
		factor := math.Pow(high/low, 0.04)
		low /= factor
		high *= factor
	default:
		margin := 0.04 * (high - low)
		beginsAtZero := a.Zero && low == 0
		endsAtZero := a.Zero && high == 0

		low -= margin
		high += margin
		if beginsAtZero {
			low = 0
		}

		if endsAtZero {
			high = 0
		}
	}

	a.Min = low
	a.Max = high
}

// scale maps values of an axis to places on the figure.
type scale struct {
	log        bool
	min, max   float64 // range of the values
	start, end float64 // places of min and max, px from the corner of the panel
}

func newScale(axis Axis, start, end float64) scale {
	return scale{axis.Log, axis.Min, axis.Max, start, end}
}

// has reports whether a value has a place: it can be drawn, and on a logarithmic axis it is positive.
func (s scale) has(value float64) bool { return drawable(value) && (value > 0 || !s.log) }

// place returns the place of a value, px. It returns start if the value has none.
func (s scale) place(value float64) float64 {
	share := (value - s.min) / (s.max - s.min)
	if s.log {
		share = math.Log(value/s.min) / math.Log(s.max/s.min)
	}

	if math.IsNaN(share) {
		return s.start
	}

	// Far outside the panel everything is clipped, but coordinates must stay numbers that
	// readers of SVG can process.
	return s.start + math.Max(-50, math.Min(50, share))*(s.end-s.start)
}

// roundTicks returns round numbers from low to high, at most about n of them, in steps of
// 1, 2, 2.5 or 5 times a power of ten. It returns nil if the range is empty or infinite.
func roundTicks(low, high float64, n int) []float64 {
	if !(high > low) || math.IsInf(high-low, 0) || n < 1 {
		return nil
	}

	rawStep := (high - low) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rawStep)))
	step := 10 * power
	for _, multiple := range []float64{1, 2, 2.5, 5} {
		if multiple*power >= rawStep*(1-1e-9) {
			step = multiple * power
			break
		}
	}

	var ticks []float64

	first := math.Ceil(low/step - 1e-9)
	for k := 0.0; k <= float64(2*n+2); k++ {
		tick := (first + k) * step
		if tick > high+1e-9*step {
			break
		}

		if math.Abs(tick) < 1e-9*step {
			tick = 0
		}

		ticks = append(ticks, tick)
	}

	return ticks
}

// logTicks returns the powers of ten from low to high. If there are few, it adds 2 and 5 times each power; if there are
// many, it leaves some out. It returns nil if the range is empty, infinite or not positive.
func logTicks(low, high float64) []float64 {
	if !(low > 0) || !(high > low) || math.IsInf(high, 0) {
		return nil
	}

	decades := decadeTicks(low, high, []float64{1}, 1)
	switch {
	case len(decades) < 3:
		return decadeTicks(low, high, []float64{1, 2, 5}, 1)
	case len(decades) > 8:
		return decadeTicks(low, high, []float64{1}, math.Ceil(float64(len(decades))/8))
	}

	return decades
}

// decadeTicks returns the given multiples of every n-th power of ten, as far as they are from low to high.
func decadeTicks(low, high float64, multiples []float64, n float64) []float64 {
	var ticks []float64
	last := math.Ceil(math.Log10(high))
	for k := math.Floor(math.Log10(low)); k <= last; k += n {
		for _, multiple := range multiples {
			tick := multiple * math.Pow(10, k)
			if tick >= low*(1-1e-9) && tick <= high*(1+1e-9) {
				ticks = append(ticks, tick)
			}
		}
	}

	return ticks
}

// powers reports whether the ticks of an axis are written as powers of ten. They are if
// the axis is logarithmic, all ticks are powers of ten, and one is far from 1.
func (a *Axis) powers(ticks []float64) bool {
	if !a.Log || len(ticks) == 0 {
		return false
	}

	for _, tick := range ticks {
		if exponent := math.Log10(tick); math.Abs(exponent-math.Round(exponent)) > 1e-9 {
			return false
		}
	}

	return ticks[0] < 0.05 || ticks[len(ticks)-1] > 5e4
}

// ticks returns the values of the axis that have a tick, about n at most unless Ticks gives them, or unless more are
// needed so that there are two.
func (a *Axis) ticks(n int) []float64 {
	switch {
	case a.Ticks != nil:
		tolerance := 1e-9 * (a.Max - a.Min)
		var inside []float64
		for _, tick := range a.Ticks {
			if tick >= a.Min-tolerance && tick <= a.Max+tolerance {
				inside = append(inside, tick)
			}
		}

		return inside

	case a.Log:
		return logTicks(a.Min, a.Max)
	}

	const fewest = 2 // a single number shows no scale
	ticks := roundTicks(a.Min, a.Max, n)
	for more := n + 1; len(ticks) < fewest && more <= 2*n; more++ {
		ticks = roundTicks(a.Min, a.Max, more)
	}

	return ticks
}
