package figure

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file draws marks: a markPen turns the numbers of a mark into paths.

// markPen turns the numbers of one mark into paths, and writes them to the drawing.
type markPen struct {
	drawing        *drawing
	mark           *Mark
	xScale, yScale scale
}

// finite reports whether a number is neither infinite nor NaN.
func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// drawable reports whether a number can be drawn. It returns false for NaN.
func drawable(value float64) bool { return math.Abs(value) <= far }

// place returns the place of a point on the figure, px.
func (n *markPen) place(x, y float64) (left, top float64) {
	return n.xScale.place(x), n.yScale.place(y)
}

// canPlace reports whether a point has a place on both axes.
func (n *markPen) canPlace(x, y float64) bool { return n.xScale.has(x) && n.yScale.has(y) }

// writePath writes a path of the given class. It writes nothing if the path is empty.
func (n *markPen) writePath(class string, path markup) {
	if path != "" {
		n.drawing.put(`<path class="%v" d="%v"/>`, class, path)
	}
}

// lineClass returns the CSS classes of the mark's lines.
func (m *Mark) lineClass() string {
	line := "line " + m.Class
	if m.Dashed {
		line += " dashed"
	}

	if m.Thin {
		line += " thin"
	}

	return line
}

// drawMark draws a mark. It draws nothing for Labels, which drawLabels writes.
func (d *drawing) drawMark(mark *Mark, axes panelAxes) {
	if mark.Kind == Labels {
		return
	}

	pen := &markPen{d, mark, axes.xScale, axes.yScale}
	d.put(`<g class="mark" data-series="%v" data-kind="%v"%v>`, mark.Name, kindNames[mark.Kind], d.dataAttributes(mark))

	switch mark.Kind {
	case Points:
		pen.writePath(mark.pointClass(), pen.points())
	case Bars:
		pen.bars()
	case Line:
		pen.writePath(mark.lineClass(), pen.polyline(mark.X, mark.Y))
	case Band:
		pen.band()
	case Span:
		pen.spans()
	case Rule:
		pen.writePath(mark.lineClass(), pen.rules())
	case Steps:
		pen.writePath(mark.lineClass(), pen.steps())
	}

	d.b.WriteString("</g>\n")
}

// spans shades between two values of x, over the whole height. A span may begin or end outside of the panel, at an
// infinite value, but it is left out if an end is NaN.
func (n *markPen) spans() {
	mark := n.mark
	for i := range mark.Lo {
		if math.IsNaN(mark.Lo[i]) || math.IsNaN(mark.Hi[i]) {
			continue
		}

		left := n.xScale.place(mark.Lo[i])
		right := n.xScale.place(mark.Hi[i])
		n.writePath("band "+mark.Class, svg("M%v %vH%vV%vH%vZ", left, n.yScale.start, right, n.yScale.end, left))
	}
}

// rules draws horizontal lines at Y and vertical lines at X. It leaves out values that have no place.
func (n *markPen) rules() markup {
	var path markup
	for _, y := range n.mark.Y {
		if n.yScale.has(y) {
			path += svg("M%v %vH%v", n.xScale.start, n.yScale.place(y), n.xScale.end)
		}
	}

	for _, x := range n.mark.X {
		if n.xScale.has(x) {
			path += svg("M%v %vV%v", n.xScale.place(x), n.yScale.start, n.yScale.end)
		}
	}

	return path
}

// steps draws horizontal lines from Lo to Hi at the height Y.
func (n *markPen) steps() markup {
	mark := n.mark
	var path markup
	for i, y := range mark.Y {
		if n.canPlace(mark.Lo[i], y) && n.canPlace(mark.Hi[i], y) {
			path += svg("M%v %vH%v", n.xScale.place(mark.Lo[i]), n.yScale.place(y), n.xScale.place(mark.Hi[i]))
		}
	}

	return path
}

// bars draws points with a bar from Lo to Hi, and a short line across both ends of the bar.
func (n *markPen) bars() {
	mark := n.mark

	var path strings.Builder
	for i := range mark.X {
		if n.canPlace(mark.X[i], mark.Lo[i]) && n.canPlace(mark.X[i], mark.Hi[i]) {
			const half = 3 // half the length of the lines across, px
			x, low := n.place(mark.X[i], mark.Lo[i])
			_, high := n.place(mark.X[i], mark.Hi[i])
			path.WriteString(string(svg("M%v %vV%vM%v %vh6m-6 0M%v %vh6", x, low, high, x-half, low, x-half, high)))
		}
	}

	n.writePath("bar "+mark.Class, markup(path.String()))
	n.writePath(mark.pointClass(), n.points())
}

// band fills the area between Lo and Hi. A point that cannot be placed interrupts the area.
func (n *markPen) band() {
	mark := n.mark

	var path markup
	for i := 0; i < len(mark.X); {
		if !n.inBand(i) {
			i++
			continue
		}

		end := i // one after the last point of the area
		for end < len(mark.X) && n.inBand(end) {
			end++
		}

		path += n.area(i, end)
		i = end
	}

	n.writePath("band "+mark.Class, path)
}

// inBand reports whether point i can be part of a band.
func (n *markPen) inBand(i int) bool {
	return n.canPlace(n.mark.X[i], n.mark.Lo[i]) && drawable(n.mark.Hi[i])
}

// area returns the outline of a band from point first to point end−1: along Hi, and back along Lo.
func (n *markPen) area(first, end int) markup {
	back := slices.Clone(n.mark.X[first:end])
	low := slices.Clone(n.mark.Lo[first:end])
	slices.Reverse(back)
	slices.Reverse(low)
	there := n.polyline(n.mark.X[first:end], n.mark.Hi[first:end])
	andBack := n.polyline(back, low)[1:] // without its "M": the outline is one line

	return there + "L" + andBack + "Z"
}

// kindNames has the names of the kinds of marks in the attribute data-kind, in the order of Kind.
var kindNames = [...]string{"points", "line", "band", "bars", "span", "rule", "steps", "labels"}

// polyline joins points by lines. A point that cannot be placed interrupts the line.
func (n *markPen) polyline(xs, ys []float64) markup {
	var path strings.Builder

	command := "M"
	for i := range xs {
		if !n.canPlace(xs[i], ys[i]) {
			command = "M"
			continue
		}

		x, y := n.place(xs[i], ys[i])
		path.WriteString(command + px(x) + " " + px(y))
		command = "L"
	}

	return markup(path.String())
}

// pointClass returns the CSS classes of the mark's points.
func (m *Mark) pointClass() string {
	class := cmp.Or(m.Class, "mean")

	if m.Shape == "ring" || m.Shape == "bound" {
		return "ring " + class
	}

	return "dot " + class
}

// points returns one path with the outlines of all points.
func (n *markPen) points() markup {
	mark := n.mark

	var path strings.Builder
	for i := range mark.X {
		if n.canPlace(mark.X[i], mark.Y[i]) {
			x, y := n.place(mark.X[i], mark.Y[i])
			path.WriteString(string(outline(mark.Shape, x, y, mark.radius())))
		}
	}

	return markup(path.String())
}

// radius returns the radius of the mark's points in px.
func (m *Mark) radius() float64 { return cmp.Or(m.Size, 2.4) }

// outline returns a point of the given shape and radius about x, y. Shapes have about the same area.
func outline(shape string, x, y, r float64) markup {
	switch shape {
	case "square":
		return svg("M%v %vh%vv%vh%vz", x-r*.9, y-r*.9, 1.8*r, 1.8*r, -1.8*r)
	case "diamond":
		half := 1.3 * r
		return svg("M%v %vl%v %vl%v %vl%v %vz", x-half, y, half, -half, half, half, -half, half)
	case "bound":
		const arrow = 4.5 // length of the arrow, px
		return circle(x, y, r) + svg("M%v %vv%vm-1.6 -1.8l1.6 1.8l1.6 -1.8", x, y+r, arrow)
	}

	return circle(x, y, r)
}

// circle returns a circle about x, y as two half circles.
func circle(x, y, r float64) markup {
	return svg("M%v %va%v %v 0 1 0 %v 0a%v %v 0 1 0 %v 0", x-r, y, r, r, 2*r, r, r, -2*r)
}

// dataAttributes returns the attributes with the mark's numbers: data-x, data-y, data-lo and data-hi, and data-name if
// the options number names. It leaves out empty lists, and writes "-" for numbers that are not finite.
func (d *drawing) dataAttributes(mark *Mark) markup {
	digits := cmp.Or(d.options.Digits, -1)

	var attributes strings.Builder
	for _, list := range []struct {
		name   string
		values []float64
	}{{"x", mark.X}, {"y", mark.Y}, {"lo", mark.Lo}, {"hi", mark.Hi}} {
		if len(list.values) == 0 {
			continue
		}

		numbers := make([]string, len(list.values))
		for i, value := range list.values {
			numbers[i] = "-"
			if finite(value) {
				numbers[i] = strconv.FormatFloat(value, 'g', digits, 64)
			}
		}

		attributes.WriteString(" data-" + list.name + `="` + strings.Join(numbers, " ") + `"`)
	}

	if mark.Kind == Points && d.options.Names != nil && len(mark.Text) > 0 {
		numbers := make([]string, len(mark.Text))
		for i, name := range mark.Text {
			numbers[i] = strconv.Itoa(d.options.Names.Number(name))
		}

		attributes.WriteString(` data-name="` + strings.Join(numbers, " ") + `"`)
	}

	return markup(attributes.String())
}
