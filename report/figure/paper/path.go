package paper

import (
	"fmt"
	"math"
	"strconv"

	"doubletake/internal/lists"
)

// point is a place in px.
type point struct{ x, y float64 }

// segment is a piece of a path: "M" and "L" to p, "C" to p by the two controls, "Z".
type segment struct {
	kind byte
	c, d point // controls of "C"
	p    point
}

// pen draws a path, in the units of what it draws on.
type pen interface {
	MoveTo(x, y float64)
	LineTo(x, y float64)
	CubicTo(x1, y1, x2, y2, x, y float64)
	ClosePath()
}

// trace draws a path with k units per px.
func trace(to pen, path []segment, k float64) {
	for _, s := range path {
		switch s.kind {
		case 'M':
			to.MoveTo(s.p.x*k, s.p.y*k)
		case 'L':
			to.LineTo(s.p.x*k, s.p.y*k)
		case 'C':
			to.CubicTo(s.c.x*k, s.c.y*k, s.d.x*k, s.d.y*k, s.p.x*k, s.p.y*k)
		case 'Z':
			to.ClosePath()
		}
	}
}

// scaled are lengths with k units per px.
func scaled(lengths []float64, k float64) []float64 {
	return lists.Each(lengths, func(v float64) float64 { return v * k })
}

// segments collects a path, moved by x and y.
type segments struct {
	x, y        float64
	list        []segment
	at, started point // the current point, and where its part of the path began
}

func (s *segments) add(kind byte, p point) {
	s.list = append(s.list, segment{kind: kind, p: point{p.x + s.x, p.y + s.y}})
	if s.at = p; kind == 'M' {
		s.started = p
	}
}

func (s *segments) close() {
	s.list = append(s.list, segment{kind: 'Z'})
	s.at = s.started
}

func (s *segments) rect(x, y, w, h float64) {
	s.add('M', point{x, y})
	s.add('L', point{x + w, y})
	s.add('L', point{x + w, y + h})
	s.add('L', point{x, y + h})
	s.close()
}

// arguments of each command that figure writes.
var arguments = map[byte]int{
	'M': 2, 'm': 2, 'L': 2, 'l': 2, 'H': 1, 'h': 1, 'V': 1, 'v': 1, 'a': 7, 'Z': 0, 'z': 0,
}

// parse reads the commands of a path as figure writes them.
func (s *segments) parse(d string) error {
	for i := 0; i < len(d); {
		command := d[i]
		n, ok := arguments[command]
		if !ok {
			return fmt.Errorf("path command %q", command)
		}

		i++

		var v [7]float64
		for k := range n {
			for i < len(d) && d[i] == ' ' {
				i++
			}

			start := i
			for i < len(d) && (d[i] == '.' || d[i] >= '0' && d[i] <= '9' || d[i] == '-' && i == start) {
				i++
			}

			var err error
			if v[k], err = strconv.ParseFloat(d[start:i], 64); err != nil {
				return fmt.Errorf("path command %c: %w", command, err)
			}
		}

		s.command(command, v)
	}

	return nil
}

func (s *segments) command(c byte, v [7]float64) {
	at := s.at
	switch c {
	case 'M', 'L':
		s.add(c, point{v[0], v[1]})
	case 'm', 'l':
		s.add(c-'a'+'A', point{at.x + v[0], at.y + v[1]})
	case 'H':
		s.add('L', point{v[0], at.y})
	case 'h':
		s.add('L', point{at.x + v[0], at.y})
	case 'V':
		s.add('L', point{at.x, v[0]})
	case 'v':
		s.add('L', point{at.x, at.y + v[0]})
	case 'a':
		s.half(point{at.x + v[5], at.y + v[6]})
	case 'Z', 'z':
		s.close()
	}
}

// half adds the half of a circle that goes left about its middle, as two cubics.
func (s *segments) half(to point) {
	from := s.at
	middle := point{(from.x + to.x) / 2, (from.y + to.y) / 2}
	x, y := from.x-middle.x, from.y-middle.y
	const k = 4.0 / 3 * (math.Sqrt2 - 1) // of a quarter: its end is a radius away from the tangent

	for range 2 { // a quarter takes x, y to y, −x
		s.list = append(s.list, segment{
			kind: 'C',
			c:    point{s.x + middle.x + x + k*y, s.y + middle.y + y - k*x},
			d:    point{s.x + middle.x + y + k*x, s.y + middle.y - x + k*y},
			p:    point{s.x + middle.x + y, s.y + middle.y - x},
		})
		x, y = y, -x
	}

	s.at = to
}
