// Package paper writes figures as PDF and PNG, for papers that take no SVG.
//
// It draws the SVG of package figure again, mark by mark: what a page, a PDF and a
// picture show is one description. Texts are set in Liberation Sans, which is part of
// the program, so that equal figures give equal bytes on every machine. It reads
// figure's own SVG only, not that of others.
package paper

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
)

// points of a letter's size per px: texts are 11 px, and 8 pt on paper.
const pointsPerPx = 8.0 / 11

// Width returns the width in px of a figure that is so many millimetres wide on paper.
func Width(mm float64) float64 { return mm / 25.4 * 72 / pointsPerPx }

// canvas is what a figure is drawn on: coordinates in px from the upper left.
type canvas interface {
	clip(s shape)
	unclip()
	path(p []segment, paint figure.Paint)
	text(t text)
}

// shape is a rectangle.
type shape struct{ x, y, w, h float64 }

// text is one line. It begins, ends or has its middle at x, y on its base line, and
// runs upwards where it is upright.
type text struct {
	x, y    float64
	anchor  float64 // share of its width left of x
	upright bool
	bold    bool
	colour  string
	runs    []run
}

// run is a part of a text: raised or lowered ones are smaller.
type run struct {
	text  string
	shift float64 // upwards, in sizes of the text
	size  float64 // of the letters, in that of the text
}

// element is one of an SVG.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e *element) attr(name string) string {
	a, _ := lists.Find(e.Attrs, func(a xml.Attr) bool { return a.Name.Local == name })
	return a.Value
}

func (e *element) number(name string) float64 {
	v, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil {
		return 0
	}

	return v
}

// page is a parsed figure.
type page struct {
	root          element
	width, height float64 // px
	title, desc   string
	clips         map[string]shape
}

func parse(f *figure.Figure) (*page, error) {
	p := &page{clips: map[string]shape{}, title: f.Title, desc: f.Desc}
	if err := xml.NewDecoder(bytes.NewReader(figure.Draw(f, figure.Options{}))).Decode(&p.root); err != nil {
		return nil, fmt.Errorf("read figure: %w", err)
	}

	if _, err := fmt.Sscanf(p.root.attr("viewBox"), "0 0 %g %g", &p.width, &p.height); err != nil {
		return nil, fmt.Errorf("read size of figure: %w", err)
	}

	return p, nil
}

// draw draws an element and those in it, moved by x and y.
func (p *page) draw(c canvas, e *element, x, y float64, legend bool) error {
	classes := strings.Fields(e.attr("class"))
	switch e.XMLName.Local {
	case "title", "desc", "style":
		return nil

	case "clipPath":
		if len(e.Children) != 1 {
			return fmt.Errorf("clipPath of %d elements", len(e.Children))
		}

		s := &e.Children[0]
		p.clips[e.attr("id")] = shape{x + s.number("x"), y + s.number("y"), s.number("width"), s.number("height")}

		return nil

	case "rect":
		s := segments{x: x, y: y}
		s.rect(e.number("x"), e.number("y"), e.number("width"), e.number("height"))
		c.path(s.list, figure.PaintOf("rect", classes, legend))

	case "path":
		s := segments{x: x, y: y}
		if err := s.parse(e.attr("d")); err != nil {
			return err
		}

		c.path(s.list, figure.PaintOf("path", classes, legend))

	case "text":
		paint := figure.PaintOf("text", classes, legend)
		t := text{
			x: x + e.number("x"), y: y + e.number("y"), bold: paint.Bold, colour: paint.Fill, runs: runs(e.Text),
			anchor: map[string]float64{"middle": 0.5, "end": 1}[e.attr("text-anchor")],
		}

		if m := e.attr("transform"); m != "" {
			var dx, dy, angle float64
			if _, err := fmt.Sscanf(m, "translate(%g %g) rotate(%g)", &dx, &dy, &angle); err != nil || angle != -90 {
				return fmt.Errorf("transform %q of a text", m)
			}

			t.x, t.y, t.upright = x+dx, y+dy, true
		}

		c.text(t)

	case "svg", "g":
		if m := e.attr("transform"); m != "" {
			var dx, dy float64
			if _, err := fmt.Sscanf(m, "translate(%g %g)", &dx, &dy); err != nil {
				return fmt.Errorf("transform %q: %w", m, err)
			}

			x, y = x+dx, y+dy
		}

		if id := strings.TrimSuffix(strings.TrimPrefix(e.attr("clip-path"), "url(#"), ")"); id != "" {
			c.clip(p.clips[id])
			defer c.unclip()
		}

		for i := range e.Children {
			if err := p.draw(c, &e.Children[i], x, y, legend || e.attr("class") == "legend"); err != nil {
				return err
			}
		}

	default:
		return fmt.Errorf("element %s", e.XMLName.Local)
	}

	return nil
}

// runs splits a text at digits above and below the line, which the font lacks in part.
func runs(s string) []run {
	const raised, lowered, plain = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "₋₀₁₂₃₄₅₆₇₈₉", "−0123456789"
	of := func(set string, r rune) int {
		if i := strings.IndexRune(set, r); i >= 0 {
			return len([]rune(set[:i]))
		}
		return -1
	}

	var out []run
	for _, r := range s {
		n := run{string(r), 0, 1}
		if k := of(raised, r); k >= 0 {
			n = run{string([]rune(plain)[k]), 0.36, 0.68}
		} else if k := of(lowered, r); k >= 0 {
			n = run{string([]rune(plain)[k]), -0.15, 0.68}
		}

		if k := len(out) - 1; k >= 0 && out[k].shift == n.shift {
			out[k].text += n.text
		} else {
			out = append(out, n)
		}
	}

	return out
}
