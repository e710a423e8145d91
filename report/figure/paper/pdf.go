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

// fontSize is the size of all texts, pt.
const fontSize = 8

// PDF returns the figure as a PDF of one page, as large as the figure, with its fonts.
func PDF(f *figure.Figure) ([]byte, error) {
	parsed, err := parse(f)
	if err != nil {
		return nil, err
	}

	pdf := fpdf.NewCustom(&fpdf.InitType{
		UnitStr: "pt", Size: fpdf.SizeType{Wd: parsed.width * pointsPerPx, Ht: parsed.height * pointsPerPx},
	})
	pdf.SetCatalogSort(true) // equal figures give equal files
	epoch := time.Unix(0, 0).UTC()
	pdf.SetCreationDate(epoch)
	pdf.SetModificationDate(epoch)
	pdf.SetTitle(parsed.title, true)
	pdf.SetSubject(parsed.desc, true)
	pdf.SetCreator("doubletake", true)
	pdf.AddUTF8FontFromBytes("sans", "", liberationsansregular.TTF)
	pdf.AddUTF8FontFromBytes("sans", "B", liberationsansbold.TTF)
	pdf.SetMargins(0, 0, 0)
	pdf.SetAutoPageBreak(false, 0)
	pdf.AddPage()
	pdf.SetLineJoinStyle("round")

	if err := parsed.draw(sheet{pdf}, &parsed.root, origin{}); err != nil {
		return nil, fmt.Errorf("draw figure: %w", err)
	}

	var document bytes.Buffer
	if err := pdf.Output(&document); err != nil {
		return nil, fmt.Errorf("write PDF: %w", err)
	}

	return document.Bytes(), nil
}

// sheet is a page of a PDF. It implements canvas, on which a figure is drawn, and pen, which traces its outlines. Its
// unit is the point. fpdf keeps errors for its Output.
type sheet struct{ *fpdf.Fpdf }

func (s sheet) clip(area rectangle) {
	const k = pointsPerPx
	s.ClipRect(area.x*k, area.y*k, area.w*k, area.h*k, false)
}

func (s sheet) unclip() { s.ClipEnd() }

// CubicTo implements pen.
func (s sheet) CubicTo(x1, y1, x2, y2, x, y float64) { s.CurveBezierCubicTo(x1, y1, x2, y2, x, y) }

func (s sheet) path(outline []segment, paint figure.Paint) {
	if len(outline) == 0 {
		return
	}

	if red, green, blue, ok := rgb(paint.Fill); ok {
		s.SetFillColor(red, green, blue)
		s.SetAlpha(paint.Opacity, "Normal")
		trace(s, outline, pointsPerPx)
		s.DrawPath("F") // fills the path
	}

	if red, green, blue, ok := rgb(paint.Stroke); ok {
		s.SetDrawColor(red, green, blue)
		s.SetLineWidth(paint.Width * pointsPerPx)
		s.SetDashPattern(scaled(paint.Dash, pointsPerPx), 0)
		s.SetAlpha(1, "Normal")
		trace(s, outline, pointsPerPx)
		s.DrawPath("D") // draws its outline
	}
}

func (s sheet) text(line textLine) error {
	weight := ""
	if line.bold {
		weight = "B"
	}

	width := 0.0
	s.SetFont("sans", weight, fontSize)

	for _, piece := range line.runs {
		width += s.GetStringWidth(basicText(piece.text)) * piece.size
	}

	red, green, blue, _ := rgb(line.colour)
	s.SetTextColor(red, green, blue)
	s.SetAlpha(1, "Normal")

	x := line.x * pointsPerPx
	y := line.y * pointsPerPx
	if line.upright {
		s.TransformBegin()
		s.TransformRotate(90, x, y)
		defer s.TransformEnd()
	}

	x -= line.anchor * width
	for _, piece := range line.runs {
		letters := basicText(piece.text)
		s.SetFont("sans", weight, fontSize*piece.size)
		s.Text(x, y-fontSize*piece.shift, letters)
		x += s.GetStringWidth(letters)
	}

	return nil
}

// basicText returns a text with "�" for characters beyond U+FFFF, which fpdf cannot place.
func basicText(text string) string {
	basic := func(r rune) rune {
		if r > 0xffff {
			return '\uFFFD'
		}
		return r
	}

	return strings.Map(basic, text)
}

// rgb returns the parts of a colour "#rrggbb", from 0 to 255. ok is false if the text is not a colour.
func rgb(colour string) (red, green, blue int, ok bool) {
	_, err := fmt.Sscanf(colour, "#%02x%02x%02x", &red, &green, &blue)
	return red, green, blue, err == nil
}
