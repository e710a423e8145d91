package paper

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"

	"doubletake/report/figure"
)

// fontSize of all texts, pt.
const fontSize = 8

// PDF returns the figure as a PDF of one page, as large as the figure, with its fonts.
func PDF(f *figure.Figure) ([]byte, error) {
	p, err := parse(f)
	if err != nil {
		return nil, err
	}

	d := fpdf.NewCustom(&fpdf.InitType{
		UnitStr: "pt", Size: fpdf.SizeType{Wd: p.width * pointsPerPx, Ht: p.height * pointsPerPx},
	})
	d.SetCatalogSort(true) // equal figures give equal files
	epoch := time.Unix(0, 0).UTC()
	d.SetCreationDate(epoch)
	d.SetModificationDate(epoch)
	d.SetTitle(p.title, true)
	d.SetSubject(p.desc, true)
	d.SetCreator("doubletake", true)
	d.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	d.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	d.SetMargins(0, 0, 0)
	d.SetAutoPageBreak(false, 0)
	d.AddPage()
	d.SetLineJoinStyle("round")

	if err := p.draw(sheet{d}, &p.root, 0, 0, false); err != nil {
		return nil, fmt.Errorf("draw figure: %w", err)
	}

	var b bytes.Buffer
	if err := d.Output(&b); err != nil {
		return nil, fmt.Errorf("write PDF: %w", err)
	}

	return b.Bytes(), nil
}

// sheet is a page of a PDF.
type sheet struct{ *fpdf.Fpdf }

func (s sheet) clip(c shape) {
	const k = pointsPerPx
	s.ClipRect(c.x*k, c.y*k, c.w*k, c.h*k, false)
}

func (s sheet) unclip() { s.ClipEnd() }

// CubicTo implements pen.
func (s sheet) CubicTo(x1, y1, x2, y2, x, y float64) { s.CurveBezierCubicTo(x1, y1, x2, y2, x, y) }

func (s sheet) path(p []segment, paint figure.Paint) {
	style := ""
	if r, g, b, ok := rgb(paint.Fill); ok {
		s.SetFillColor(r, g, b)
		style = "F"
	}

	if r, g, b, ok := rgb(paint.Stroke); ok {
		s.SetDrawColor(r, g, b)
		s.SetLineWidth(paint.Width * pointsPerPx)
		s.SetDashPattern(scaled(paint.Dash, pointsPerPx), 0)
		style += "D"
	}

	if style == "" || len(p) == 0 {
		return
	}

	s.SetAlpha(paint.Opacity, "Normal")
	trace(s, p, pointsPerPx)
	s.DrawPath(style)
}

func (s sheet) text(t text) {
	weight := ""
	if t.bold {
		weight = "B"
	}

	width := 0.0
	s.SetFont("sans", weight, fontSize)

	for i := range t.runs {
		t.runs[i].text = strings.Map(basic, t.runs[i].text)
	}

	for _, r := range t.runs {
		width += s.GetStringWidth(r.text) * r.size
	}

	r, g, b, _ := rgb(t.colour)
	s.SetTextColor(r, g, b)
	s.SetAlpha(1, "Normal")

	x, y := t.x*pointsPerPx, t.y*pointsPerPx
	if t.upright {
		s.TransformBegin()
		s.TransformRotate(90, x, y)
		defer s.TransformEnd()
	}

	x -= t.anchor * width
	for _, r := range t.runs {
		s.SetFont("sans", weight, fontSize*r.size)
		s.Text(x, y-fontSize*r.shift, r.text)
		x += s.GetStringWidth(r.text)
	}
}

// basic replaces characters beyond U+FFFF, which fpdf cannot place.
func basic(r rune) rune {
	if r > 0xffff {
		return '\uFFFD'
	}
	return r
}

// rgb reads "#rrggbb"; ok is false for none.
func rgb(s string) (r, g, b int, ok bool) {
	_, err := fmt.Sscanf(s, "#%02x%02x%02x", &r, &g, &b)
	return r, g, b, err == nil
}
