package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// point is a place in px.
type point struct{ x, y float64 }

// segment is a piece of a path. Coordinates are absolute.
type segment struct {
	kind               byte  // 'M', 'L', 'C' or 'Z' of SVG
	control1, control2 point // the control points of 'C', a cubic Bézier curve
	end                point // of all kinds but 'Z'
}

// pen draws a path in the units of a canvas: points of a PDF, dots of a picture.
type pen interface {
	MoveTo(x, y float64)
	LineTo(x, y float64)
	CubicTo(x1, y1, x2, y2, x, y float64)
	ClosePath()
}

// trace draws a path with a pen. scale is the number of the pen's units per px.
func trace(p pen, path []segment, scale float64) {
	for _, s := range path {
		x := s.end.x * scale
		y := s.end.y * scale
		switch s.kind {
		case 'M':
			p.MoveTo(x, y)
		case 'L':
			p.LineTo(x, y)
		case 'C':
			p.CubicTo(s.control1.x*scale, s.control1.y*scale, s.control2.x*scale, s.control2.y*scale, x, y)
		case 'Z':
			p.ClosePath()
		}
	}
}

// scaled returns lengths in px times scale.
func scaled(lengths []float64, scale float64) []float64 {
	var products []float64
	for _, length := range lengths {
		products = append(products, length*scale)
	}

	return products
}

// pathBuilder collects the segments of a path. It moves all of them by x and y; the points below are not moved.
type pathBuilder struct {
	x, y     float64
	segments []segment
	current  point // where the last segment ended
	start    point // where the current part of the path began; 'Z' returns to it
}

// add adds a segment of kind 'M' or 'L'.
func (b *pathBuilder) add(kind byte, end point) {
	b.segments = append(b.segments, segment{kind: kind, end: point{end.x + b.x, end.y + b.y}})
	b.current = end
	if kind == 'M' {
		b.start = end
	}
}

// closePath adds a segment of kind 'Z'.
func (b *pathBuilder) closePath() {
	b.segments = append(b.segments, segment{kind: 'Z'})
	b.current = b.start
}

// rectangle adds a rectangle with the upper left corner x, y.
func (b *pathBuilder) rectangle(x, y, w, h float64) {
	b.add('M', point{x, y})
	b.add('L', point{x + w, y})
	b.add('L', point{x + w, y + h})
	b.add('L', point{x, y + h})
	b.closePath()
}

// arguments has the number of arguments of each command that package figure writes.
var arguments = map[byte]int{
	'M': 2, 'm': 2, 'L': 2, 'l': 2, 'H': 1, 'h': 1, 'V': 1, 'v': 1, 'a': 7, 'Z': 0, 'z': 0,
}

// parse adds the segments of a path that package figure wrote. It returns an error if it does not know a command, or if
// an argument is not a number.
func (b *pathBuilder) parse(path string) error {
	for path != "" {
		command := path[0]
		count, ok := arguments[command]
		if !ok {
			return fmt.Errorf("path command %q", command)
		}

		path = path[1:]

		var values [7]float64
		for k := range count {
			argument := ""
			argument, path = cutNumber(strings.TrimLeft(path, " "))
			value, err := strconv.ParseFloat(argument, 64)
			if err != nil {
				return fmt.Errorf("path command %c: %w", command, err)
			}

			values[k] = value
		}

		b.command(command, values)
	}

	return nil
}

// cutNumber returns the number at the beginning of a path, "" if there is none, and the rest of the path.
func cutNumber(path string) (number, rest string) {
	end := 0
	if strings.HasPrefix(path, "-") {
		end = 1
	}

	for end < len(path) && strings.IndexByte(".0123456789", path[end]) >= 0 {
		end++
	}

	return path[:end], path[end:]
}

// command adds the segments of a command with its arguments. Lower-case commands are relative to the current point.
func (b *pathBuilder) command(command byte, values [7]float64) {
	start := b.current
	switch command {
	case 'M', 'L':
		b.add(command, point{values[0], values[1]})
	case 'm':
		b.add('M', point{start.x + values[0], start.y + values[1]})
	case 'l':
		b.add('L', point{start.x + values[0], start.y + values[1]})
	case 'H':
		b.add('L', point{values[0], start.y})
	case 'h':
		b.add('L', point{start.x + values[0], start.y})
	case 'V':
		b.add('L', point{start.x, values[0]})
	case 'v':
		b.add('L', point{start.x, start.y + values[0]})
	case 'a': // package figure draws half circles only, so the end is enough
		b.halfCircle(point{start.x + values[5], start.y + values[6]})
	case 'Z', 'z':
		b.closePath()
	}
}

// halfCircle adds half a circle from the current point to end, anticlockwise on paper, as two cubic Bézier curves.
func (b *pathBuilder) halfCircle(end point) {
	start := b.current
	middle := point{(start.x + end.x) / 2, (start.y + end.y) / 2}
	x := start.x - middle.x // of the radius to the beginning of a quarter
	y := start.y - middle.y

	// The distance, in radii, of a control point from its end of a quarter, along the tangent. With it the middle of the
	// curve lies on the circle.
	const k = 4.0 / 3 * (math.Sqrt2 - 1)

	for range 2 { // a quarter turns the radius from x, y to y, −x
		b.segments = append(b.segments, segment{
			kind:     'C',
			control1: point{b.x + middle.x + x + k*y, b.y + middle.y + y - k*x},
			control2: point{b.x + middle.x + y + k*x, b.y + middle.y - x + k*y},
			end:      point{b.x + middle.x + y, b.y + middle.y - x},
		})
		x, y = y, -x
	}

	b.current = end
}
