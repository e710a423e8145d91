package paper

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/report/figure"
)

// small is a figure of 84 mm with areas of known place and colour, a line that leaves
// the panel, and letters that the font has and has not.
func small() *figure.Figure {
	return &figure.Figure{
		ID: "f", Title: "Simulated data, small", Note: "Simulated data.", Width: Width(84),
		Panels: []figure.Panel{{
			Title: "√C ≤ 0, 10⁻⁹", X: figure.Axis{Label: "θ (deg)", Min: 0, Max: 2}, Height: 100,
			Y: figure.Axis{Label: "σ² L₁", Min: 0, Max: 1},
			Marks: []figure.Mark{
				{Kind: figure.Band, Name: "t", Class: "total", X: []float64{0, 1}, Lo: []float64{0, 0}, Hi: []float64{1, 1}},
				{Kind: figure.Line, Name: "l", Class: "mean", X: []float64{0, 2}, Y: []float64{-3, 4}},
				{Kind: figure.Band, Name: "b", Class: "floor", X: []float64{0, 1}, Lo: []float64{0, 0}, Hi: []float64{1, 0}},
			},
		}},
	}
}

// A width in mm and 8 pt for 11 px: 84 mm are 238.11 pt or 327.40 px.
func TestWidth(t *testing.T) {
	assert.InDelta(t, 84/25.4*72*11/8, Width(84), 1e-9, "px")
}

// streams are the decompressed streams of a PDF.
func streams(t *testing.T, pdf []byte) (out []string) {
	t.Helper()

	for _, part := range bytes.Split(pdf, []byte("\nstream\n"))[1:] {
		r, err := zlib.NewReader(bytes.NewReader(part))
		if err != nil {
			continue // a font's table
		}

		b, err := io.ReadAll(r)
		require.NoError(t, err)

		out = append(out, string(b))
	}

	return out
}

// The PDF is one page of 84 mm, has no date of its making, sets every text in 8 pt (in
// 0.68 of it above and below the line), embeds its fonts, clips the panel, and is the
// same every time.
func TestPDF(t *testing.T) {
	b, err := PDF(small())
	require.NoError(t, err)

	for range 3 {
		if again, err := PDF(small()); err != nil || !bytes.Equal(b, again) {
			t.Fatal("two PDFs of one figure differ")
		}
	}

	box := regexp.MustCompile(`/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]`).FindSubmatch(b)
	require.NotNil(t, box, "page %s", box)
	assert.Equal(t, "238.11", string(box[1]), "page %s", box)

	for _, d := range regexp.MustCompile(`/(?:CreationDate|ModDate) \(([^)]*)\)`).FindAllSubmatch(b, -1) {
		assert.True(t, strings.HasPrefix(string(d[1]), "D:19700101"), "dated %s", d[1])
	}

	assert.Equal(t, 2, bytes.Count(b, []byte("/FontFile2")), "fonts in it")

	page := streams(t, b)[0]

	sizes := map[string]int{}
	for _, m := range regexp.MustCompile(`/F\S+ ([\d.]+) Tf`).FindAllStringSubmatch(page, -1) {
		sizes[m[1]]++
	}

	require.Len(t, sizes, 2, "sizes of text %v", sizes)
	require.GreaterOrEqual(t, sizes["8.00"], 8, "sizes of text %v", sizes)
	assert.Equal(t, 3, sizes["5.44"], "sizes of text %v", sizes)

	assert.Equal(t, 2, strings.Count(page, "W n"), "clips: below the grid, and above it")

	if !strings.Contains(page, "/GS") { // the band is translucent
		t.Error("no transparency")
	}
}

// decoded is the picture of the small figure.
type decoded struct {
	file    []byte
	picture image.Image
	scale   float64 // dots per px
}

// pictureOf returns the picture of the small figure with a resolution in dots per inch.
func pictureOf(t *testing.T, dpi float64) decoded {
	t.Helper()

	file, err := PNG(small(), dpi)
	require.NoError(t, err)

	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)

	return decoded{file, picture, dpi / 72 * 8 / 11}
}

// colourAt returns the colour at a place in px.
func (d decoded) colourAt(x, y float64) color.RGBA {
	r, g, b, a := d.picture.At(int(x*d.scale), int(y*d.scale)).RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

// plotArea is the plotting area of the small figure in px, by the scales in its SVG.
type plotArea struct{ left, right, bottom, top float64 }

// plotAreaOf reads the plotting area of the small figure.
func plotAreaOf(t *testing.T) plotArea {
	t.Helper()

	svg := string(figure.Draw(small(), figure.Options{}))
	ends := regexp.MustCompile(`data-xscale="lin 0 2 ([\d.]+) ([\d.]+)" data-yscale="lin 0 1 ([\d.]+) ([\d.]+)"`).
		FindStringSubmatch(svg)
	corner := regexp.MustCompile(`class="panel" transform="translate\(0 ([\d.]+)\)`).FindStringSubmatch(svg)
	require.Len(t, ends, 5)
	require.Len(t, corner, 2)

	var area plotArea
	var y float64 // of the panel, from which the scales count
	numbers := strings.Join(append(ends[1:], corner[1]), " ")
	_, err := fmt.Sscan(numbers, &area.left, &area.right, &area.bottom, &area.top, &y)
	require.NoError(t, err)

	return plotArea{area.left, area.right, area.bottom + y, area.top + y}
}

// place returns the place in px of a point, as shares of the area from its left and lower edge.
func (a plotArea) place(x, y float64) (left, top float64) {
	return a.left + x*(a.right-a.left), a.bottom + y*(a.top-a.bottom)
}

// The picture has as many dots as its width takes, 84 mm/25.4·300 = 992.1, and states its resolution, 300/0.0254 dots
// per metre. It is the same every time, and a resolution beyond the limit is refused.
func TestPNG(t *testing.T) {
	d := pictureOf(t, 300)
	assert.Equal(t, 992, d.picture.Bounds().Dx(), "dots")

	chunk := bytes.Index(d.file, []byte("pHYs"))
	require.Positive(t, chunk)
	assert.Equal(t, uint32(11811), binary.BigEndian.Uint32(d.file[chunk+4:]), "dots per metre")
	assert.Equal(t, byte(1), d.file[chunk+12], "the unit is the metre")

	assert.Equal(t, d.file, pictureOf(t, 300).file)

	_, err := PNG(small(), 1e9)
	assert.ErrorContains(t, err, "dots per inch")
}

// The picture has the colours of the palette at places worked out by hand, and nothing outside of the panel.
func TestColours(t *testing.T) {
	d := pictureOf(t, 300)
	area := plotAreaOf(t)
	assert.Equal(t, color.RGBA{0xbc, 0xd3, 0xe6, 0xff}, d.colourAt(area.place(0.25, 0.9)), "the lower band, of total")

	// The floor's #00735c at 22 % on it: 0xbc·0.78 = 146.6, 0xe6·0.78 + 0x5c·0.22 = 199.6.
	upper := d.colourAt(area.place(0.1, 0.3))
	assert.InDelta(t, 146.6, upper.R, 1.5, "red of the upper band")
	assert.InDelta(t, 199.6, upper.B, 1.5, "blue of the upper band")

	assert.Equal(t, color.RGBA{255, 255, 255, 255}, d.colourAt(area.place(0.05, 1.06)), "above the panel")
}

// darkDots counts the dark dots in a rectangle, in px.
func (d decoded) darkDots(left, top, right, bottom float64) int {
	count := 0
	for y := int(top * d.scale); y < int(bottom*d.scale); y++ {
		for x := int(left * d.scale); x < int(right*d.scale); x++ {
			if d.colourAt((float64(x)+0.5)/d.scale, (float64(y)+0.5)/d.scale).R < 0x80 {
				count++
			}
		}
	}

	return count
}

// Letters have ink: the place of a text is darker than paper, that of an upright one too. The note begins at 4 px, 4 px
// above the lower end; the axis's label is upright at 11 px.
func TestLetters(t *testing.T) {
	d := pictureOf(t, 200)
	height := float64(d.picture.Bounds().Dy()) / d.scale
	assert.GreaterOrEqual(t, d.darkDots(4, height-13, 60, height-3), 100, "dark dots of the note")
	assert.GreaterOrEqual(t, d.darkDots(2, 20, 12, height-30/d.scale), 10, "dark dots of the axis's label")
}

// The curves of a circle stay within 0.03 % of its radius; expected by the known error
// of a quarter circle as a cubic, 0.027 %. A half circle ends where SVG says.
func TestArc(t *testing.T) {
	var s pathBuilder
	require.NoError(t, s.parse("M-10 0a10 10 0 1 0 20 0a10 10 0 1 0 -20 0"))

	from := point{-10, 0}
	for _, g := range s.segments[1:] {
		for u := 0.0; u <= 1; u += 0.1 {
			v := 1 - u
			x := v*v*v*from.x + 3*v*v*u*g.control1.x + 3*v*u*u*g.control2.x + u*u*u*g.end.x

			y := v*v*v*from.y + 3*v*v*u*g.control1.y + 3*v*u*u*g.control2.y + u*u*u*g.end.y
			assert.InDelta(t, 10, math.Hypot(x, y), 0.003, "radius")
		}

		from = g.end
	}

	require.Len(t, s.segments, 5, "%d pieces, ends at %v", len(s.segments), from)
	assert.InDelta(t, 10, s.segments[1].end.y, 1e-9, "sweep 0 from the left goes down first")
	assert.InDelta(t, 10, s.segments[2].end.x, 1e-9, "end of the half circle")
	assert.LessOrEqual(t, math.Hypot(from.x+10, from.y), 1e-9, "%d pieces, ends at %v", len(s.segments), from)

	for _, bad := range []string{"Q1 2 3 4", "M1", "L a", "M1 2 3"} {
		if err := new(pathBuilder).parse(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// Every element and command of figure's drawings is known: all kinds of marks, and names
// that would be markup.
func TestEveryMark(t *testing.T) {
	x := []float64{-60, 0, 60}

	p := figure.Panel{Title: "v̂ \"", X: figure.Axis{Label: "x"}, Y: figure.Axis{Label: "y"}}
	for k := figure.Points; k <= figure.Labels; k++ {
		for _, shape := range []string{"", "ring", "square", "diamond", "bound"} {
			p.Marks = append(p.Marks, figure.Mark{
				Kind: k, Name: fmt.Sprint("k", k, shape), Class: "mean", Shape: shape, Dashed: true, X: x, Y: []float64{1, 2, 3},
				Lo: []float64{0, 1, math.NaN()}, Hi: []float64{2, 3, math.NaN()}, Text: []string{"a", "", "b"},
			})
		}
	}

	f := &figure.Figure{ID: "e", Note: "<x> & y", Panels: []figure.Panel{p}}
	_, err := PDF(f)
	require.NoError(t, err)

	_, err = PNG(f, 60)
	require.NoError(t, err)
}

func ExamplePDF() {
	f := &figure.Figure{ID: "sine", Title: "A sine", Width: Width(84), Panels: []figure.Panel{{
		X: figure.Axis{Label: "x (rad)"}, Y: figure.Axis{Label: "sin x"},
		Marks: []figure.Mark{
			{Kind: figure.Line, Class: "mean", X: []float64{0, 1, 2, 3}, Y: []float64{0, 0.84, 0.91, 0.14}},
		},
	}}}

	b, err := PDF(f)
	fmt.Println(string(b[:5]), err)
	// Output: %PDF- <nil>
}

// A paint has an opacity of its filling, and outlines are opaque. Expected in the commands of a PDF: the filling (f) in
// the graphics state of the opacity, and then the outline (S) in an opaque one.
func TestOpacityOfOutlines(t *testing.T) {
	pdf := fpdf.New("P", "pt", "A4", "")
	pdf.SetCompression(false)
	pdf.AddPage()

	var outline pathBuilder
	outline.rectangle(10, 10, 20, 20)
	sheet{pdf}.path(outline.segments, figure.Paint{Fill: "#ff0000", Stroke: "#0000ff", Opacity: 0.5, Width: 1})

	var b bytes.Buffer
	require.NoError(t, pdf.Output(&b))

	drawing, _, _ := strings.Cut(b.String(), "endstream")
	commands := strings.Fields(drawing)
	state := map[string]string{} // by command: the graphics state in which it draws
	current := ""
	for i, command := range commands {
		switch command {
		case "gs":
			current = commands[i-1]
		case "f", "S":
			state[command] = current
		}
	}

	opacity := func(name string) string { // "/GS1 5 0 R" refers to "5 0 obj", which has "/ca 0.500"
		number := regexp.MustCompile(name + ` (\d+) 0 R`).FindStringSubmatch(b.String())
		require.NotNil(t, number, name)

		object := regexp.MustCompile(`(?s)\n` + number[1] + ` 0 obj.*?/ca ([0-9.]+)`).FindStringSubmatch(b.String())
		require.NotNil(t, object, name)

		return object[1]
	}
	assert.Equal(t, "0.500", opacity(state["f"]))
	assert.Equal(t, "1.000", opacity(state["S"]))
}

// A text without a colour is refused, and is not drawn in black.
func TestTextWithoutColour(t *testing.T) {
	_, err := newTextLine(&element{}, origin{}, figure.Paint{Fill: "red"})
	assert.ErrorContains(t, err, `colour "red" of a text`)
}

// Characters beyond U+FFFF have no place in the PDF's font; the file is made all the same.
func TestPDFBeyondBasic(t *testing.T) {
	f := small()
	f.Panels[0].Title = "Lp 🚀"
	b, err := PDF(f)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(b, []byte("%PDF-")), "%.20q", b)
}
