// Package paper writes figures as PDF and PNG, for papers that take no SVG.
//
// PDF and PNG let package figure draw the SVG, parse it, and draw each of its elements
// on a canvas: a PDF or a picture. So a page, a PDF and a picture show the same figure.
// Texts are set in Liberation Sans, which is part of the program, so that equal figures
// give equal bytes on every machine. The package reads the SVG of package figure only,
// not the SVG of other programs.
package paper

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/report/figure"
)

// pointsPerPx is the size of a px on paper in points: texts have 11 px in the SVG, and 8 pt on paper.
const pointsPerPx = 8.0 / 11

// Width returns the width in px of a figure with the given width in millimetres on paper.
func Width(mm float64) float64 { return mm / 25.4 * 72 / pointsPerPx }

// canvas draws the parts of a figure. Coordinates are in px from the upper left.
type canvas interface {
	clip(area rectangle) // until unclip, nothing is drawn outside of the area
	unclip()
	path(outline []segment, paint figure.Paint)
	text(line textLine) error
}

// rectangle is the upper left corner of an area, and its width and height.
type rectangle struct{ x, y, w, h float64 }

// textLine is a text of one line. It is placed by a point on its base line.
type textLine struct {
	x, y    float64
	anchor  float64 // share of the text's width that is before the point: 0, 0.5 or 1
	upright bool    // the text runs upwards
	bold    bool
	colour  string // "#rrggbb"
	runs    []run
}

// run is a part of a line whose letters have one size. Letters above and below the line are smaller.
type run struct {
	text  string
	shift float64 // upwards, in sizes of the text
	size  float64 // size of the letters, in sizes of the text
}

// element is an element of an SVG.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

// attr returns the value of an attribute, or "" if the element does not have it.
func (e *element) attr(name string) string {
	for _, attribute := range e.Attrs {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}

	return ""
}

// number returns the value of an attribute as a number, or 0 if it is not one.
func (e *element) number(name string) float64 {
	value, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil {
		return 0
	}

	return value
}

// page is a parsed figure.
type page struct {
	root          element
	width, height float64 // px
	title, desc   string
	clips         map[string]rectangle // by ID; draw adds them as it meets them
}

// parse draws a figure as SVG and reads it.
func parse(fig *figure.Figure) (*page, error) {
	p := &page{clips: map[string]rectangle{}, title: fig.Title, desc: fig.Desc}
	if err := xml.NewDecoder(bytes.NewReader(figure.Draw(fig, figure.Options{}))).Decode(&p.root); err != nil {
		return nil, fmt.Errorf("read figure: %w", err)
	}

	if _, err := fmt.Sscanf(p.root.attr("viewBox"), "0 0 %g %g", &p.width, &p.height); err != nil {
		return nil, fmt.Errorf("read size of figure: %w", err)
	}

	return p, nil
}

// origin is the place on the canvas from which the coordinates of an element are counted.
type origin struct {
	x, y   float64
	legend bool // the element is in a legend
}

// draw draws an element and its children. It returns an error if package figure wrote an element that draw does not
// know.
func (p *page) draw(c canvas, e *element, base origin) error {
	classes := strings.Fields(e.attr("class"))
	switch e.XMLName.Local {
	case "title", "desc", "style":
		return nil

	case "clipPath":
		return p.addClip(e, base)

	case "rect":
		outline := pathBuilder{x: base.x, y: base.y}
		outline.rectangle(e.number("x"), e.number("y"), e.number("width"), e.number("height"))
		c.path(outline.segments, figure.PaintOf("rect", classes, base.legend))

		return nil

	case "path":
		outline := pathBuilder{x: base.x, y: base.y}
		if err := outline.parse(e.attr("d")); err != nil {
			return err
		}

		c.path(outline.segments, figure.PaintOf("path", classes, base.legend))

		return nil

	case "text":
		line, err := newTextLine(e, base, figure.PaintOf("text", classes, base.legend))
		if err != nil {
			return err
		}

		return c.text(line)

	case "svg", "g":
		return p.drawGroup(c, e, base)
	}

	return fmt.Errorf("element %s", e.XMLName.Local)
}

// addClip keeps the rectangle of a clipPath, to which later groups refer by its ID.
func (p *page) addClip(e *element, base origin) error {
	if len(e.Children) != 1 {
		return fmt.Errorf("clipPath of %d elements", len(e.Children))
	}

	rect := &e.Children[0]
	p.clips[e.attr("id")] = rectangle{
		base.x + rect.number("x"), base.y + rect.number("y"), rect.number("width"), rect.number("height"),
	}

	return nil
}

// newTextLine reads a text element. The only transform that it knows is the one of texts that run upwards. It returns
// an error for another transform, and for a colour that is not "#rrggbb".
func newTextLine(e *element, base origin, paint figure.Paint) (textLine, error) {
	line := textLine{
		x: base.x + e.number("x"), y: base.y + e.number("y"), bold: paint.Bold, colour: paint.Fill, runs: runs(e.Text),
	}

	if _, _, _, ok := rgb(line.colour); !ok {
		return textLine{}, fmt.Errorf("colour %q of a text", line.colour)
	}

	switch e.attr("text-anchor") {
	case "middle":
		line.anchor = 0.5
	case "end":
		line.anchor = 1
	}

	transform := e.attr("transform")
	if transform == "" {
		return line, nil
	}

	var dx, dy, angle float64
	_, err := fmt.Sscanf(transform, "translate(%g %g) rotate(%g)", &dx, &dy, &angle)
	if err != nil || angle != -90 {
		return textLine{}, fmt.Errorf("transform %q of a text", transform)
	}

	line.x = base.x + dx
	line.y = base.y + dy
	line.upright = true

	return line, nil
}

// drawGroup draws the children of a group, moved and clipped as the group asks.
func (p *page) drawGroup(c canvas, e *element, base origin) error {
	if transform := e.attr("transform"); transform != "" {
		var dx, dy float64
		if _, err := fmt.Sscanf(transform, "translate(%g %g)", &dx, &dy); err != nil {
			return fmt.Errorf("transform %q: %w", transform, err)
		}

		base.x += dx
		base.y += dy
	}

	if id := strings.TrimSuffix(strings.TrimPrefix(e.attr("clip-path"), "url(#"), ")"); id != "" {
		c.clip(p.clips[id])
		defer c.unclip()
	}

	base.legend = base.legend || e.attr("class") == "legend"
	for i := range e.Children {
		if err := p.draw(c, &e.Children[i], base); err != nil {
			return err
		}
	}

	return nil
}

// Characters above and below the line. The font lacks some of them, so the character of digits with the same index is
// drawn smaller in their place.
var (
	raised  = []rune("⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
	lowered = []rune("₋₀₁₂₃₄₅₆₇₈₉")
	digits  = []rune("−0123456789")
)

// newRun returns a run of one character. Characters of raised and lowered are drawn as digits.
func newRun(r rune) run {
	const smaller = 0.68 // size of letters above and below the line
	if k := slices.Index(raised, r); k >= 0 {
		return run{text: string(digits[k]), shift: 0.36, size: smaller}
	}

	if k := slices.Index(lowered, r); k >= 0 {
		return run{text: string(digits[k]), shift: -0.15, size: smaller}
	}

	return run{text: string(r), shift: 0, size: 1}
}

// runs splits a text into runs of characters on, above and below the line.
func runs(text string) []run {
	var list []run
	for _, r := range text {
		next := newRun(r)
		last := len(list) - 1
		if last >= 0 && list[last].shift == next.shift {
			list[last].text += next.text
			continue
		}

		list = append(list, next)
	}

	return list
}
