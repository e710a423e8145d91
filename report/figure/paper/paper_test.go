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

	if n := strings.Count(page, "W n"); n != 2 { // below the grid, and above it
		t.Errorf("clipped %d times", n)
	}

	if !strings.Contains(page, "/GS") { // the band is translucent
		t.Error("no transparency")
	}
}

// The picture has as many dots as its width takes, states its resolution, has the
// colours of the palette at places worked out by hand, and nothing outside the panel.
func TestPNG(t *testing.T) {
	b, err := PNG(small(), 300)
	require.NoError(t, err)

	i, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)

	if w := i.Bounds().Dx(); w != 992 { // 84 mm/25.4·300 = 992.1
		t.Errorf("%d dots wide", w)
	}

	at := bytes.Index(b, []byte("pHYs"))
	if at < 0 || binary.BigEndian.Uint32(b[at+4:]) != 11811 || b[at+12] != 1 { // 300/0.0254
		t.Error("no resolution of 300 dpi")
	}

	// The plotting area, in px, from the SVG's own scales.
	svg := string(figure.Draw(small(), figure.Options{}))
	var x0, x1, y0, y1, top float64
	m := regexp.MustCompile(`data-xscale="lin 0 2 ([\d.]+) ([\d.]+)" data-yscale="lin 0 1 ([\d.]+) ([\d.]+)"`).
		FindStringSubmatch(svg)

	shift := regexp.MustCompile(`class="panel" transform="translate\(0 ([\d.]+)\)`).FindStringSubmatch(svg)
	_, err = fmt.Sscan(strings.Join(append(m[1:], shift[1]), " "), &x0, &x1, &y0, &y1, &top)
	require.NoError(t, err)

	dot := func(x, y float64) color.RGBA {
		k := 300.0 / 72 * 8 / 11
		r, g, b, a := i.At(int((x0+x*(x1-x0))*k), int((top+y0+y*(y1-y0))*k)).RGBA()
		return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
	}

	if c := dot(0.25, 0.9); c != (color.RGBA{0xbc, 0xd3, 0xe6, 0xff}) { // of total
		t.Errorf("the lower band is %v", c)
	}

	// The floor's #00735c at 22 % on it: 0xe6·0.78 + 0x5c·0.22 = 199.6, 0xbc·0.78 = 146.6.
	if c := dot(0.1, 0.3); math.Abs(float64(c.B)-199.6) > 1.5 || math.Abs(float64(c.R)-146.6) > 1.5 {
		t.Errorf("the upper band is %v", c)
	}

	assert.Equal(t, color.RGBA{255, 255, 255, 255}, dot(0.05, 1.06), "above the panel")

	if again, err := PNG(small(), 300); err != nil || !bytes.Equal(b, again) {
		t.Error("two pictures of one figure differ")
	}

	if _, err := PNG(small(), 1e9); err == nil {
		t.Error("no limit of dots")
	}
}

// Letters have ink: 2 mm of a text at its place is darker than paper, upright ones too.
func TestLetters(t *testing.T) {
	b, err := PNG(small(), 200)
	require.NoError(t, err)

	i, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)

	k := 200.0 / 72 * 8 / 11
	ink := func(r image.Rectangle) (n int) {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if g, _, _, _ := i.At(x, y).RGBA(); g < 0x8000 {
					n++
				}
			}
		}

		return n
	}

	h := float64(i.Bounds().Dy()) / k

	// The note begins at 4 px, 4 px above the lower end; the axis's label is upright at 11 px.
	if n := ink(image.Rect(int(4*k), int((h-13)*k), int(60*k), int((h-3)*k))); n < 100 {
		t.Errorf("the note has %d dark dots", n)
	}

	if n := ink(image.Rect(int(2*k), int(20*k), int(12*k), int(h*k)-30)); n < 10 {
		t.Errorf("the label of the axis has %d dark dots", n)
	}
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
		for _, shape := range []string{"", "ring", "square", "diamond"} {
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

// Characters beyond U+FFFF have no place in the PDF's font; the file is made all the
// same.
func TestPDFBeyondBasic(t *testing.T) {
	f := small()
	f.Panels[0].Title = "Lp 🚀"
	if b, err := PDF(f); err != nil || !bytes.HasPrefix(b, []byte("%PDF-")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
