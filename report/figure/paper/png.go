package paper

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"

	"doubletake/report/figure"
)

// Limits of the resolution of pictures, dots per inch.
const (
	MinDPI = 30
	MaxDPI = 2400
)

// PNG returns the figure as a picture with a resolution in dots per inch, which the
// picture states, so that programs place it in its size.
func PNG(f *figure.Figure, dpi float64) ([]byte, error) {
	p, err := parse(f)
	if err != nil {
		return nil, err
	}

	if !(dpi >= MinDPI && dpi <= MaxDPI) {
		return nil, fmt.Errorf("draw figure: %g dots per inch, expected %d to %d", dpi, MinDPI, MaxDPI)
	}

	k := pointsPerPx / 72 * dpi
	c := &picture{Context: gg.NewContext(int(math.Round(p.width*k)), int(math.Round(p.height*k))), k: k}
	c.SetLineJoin(gg.LineJoinRound)
	c.SetLineCap(gg.LineCapButt)

	if c.fonts, err = fonts(); err == nil {
		err = p.draw(c, &p.root, 0, 0, false)
	}

	if err = cmp.Or(err, c.err); err != nil {
		return nil, fmt.Errorf("draw figure: %w", err)
	}

	var b bytes.Buffer
	if err := c.EncodePNG(&b); err != nil {
		return nil, fmt.Errorf("write PNG: %w", err)
	}

	return withResolution(b.Bytes(), dpi), nil
}

// withResolution inserts a pHYs chunk after the header, which takes 33 bytes.
func withResolution(png []byte, dpi float64) []byte {
	const header = 33
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	perMetre := uint32(math.Round(dpi / 0.0254))
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // the unit is the metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))

	return bytes.Join([][]byte{png[:header], chunk, png[header:]}, nil)
}

// fonts are the regular and the bold one.
var fonts = sync.OnceValues(func() (out [2]*opentype.Font, err error) {
	for i, b := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		if out[i], err = opentype.Parse(b); err != nil {
			return out, fmt.Errorf("read font: %w", err)
		}
	}

	return out, nil
})

// picture is an image of k dots per px.
type picture struct {
	*gg.Context
	k     float64
	fonts [2]*opentype.Font
	err   error
}

// face is a font for letters of a size on paper, in that of other texts. Letters may be
// upright and need no hints.
func (c *picture) face(bold bool, size float64) font.Face {
	f := c.fonts[0]
	if bold {
		f = c.fonts[1]
	}

	o := &opentype.FaceOptions{Size: size * fontSize / pointsPerPx * c.k, DPI: 72, Hinting: font.HintingNone}
	face, err := opentype.NewFace(f, o)
	c.err = errors.Join(c.err, err)

	return face
}

func (c *picture) clip(s shape) {
	c.DrawRectangle(s.x*c.k, s.y*c.k, s.w*c.k, s.h*c.k)
	c.Clip()
}

func (c *picture) unclip() { c.ResetClip() }

func (c *picture) path(p []segment, paint figure.Paint) {
	c.ClearPath()
	trace(c, p, c.k)

	if r, g, b, ok := rgb(paint.Fill); ok {
		c.SetRGBA255(r, g, b, int(math.Round(255*paint.Opacity)))
		c.FillPreserve()
	}

	if r, g, b, ok := rgb(paint.Stroke); ok {
		c.SetRGB255(r, g, b)
		c.SetLineWidth(paint.Width * c.k)
		c.SetDash(scaled(paint.Dash, c.k)...)
		c.StrokePreserve()
	}

	c.ClearPath()
}

func (c *picture) text(t text) {
	width := 0.0
	for _, r := range t.runs {
		width += float64(font.MeasureString(c.face(t.bold, r.size), r.text)) / 64
	}

	c.Push()
	defer c.Pop()
	r, g, b, _ := rgb(t.colour)
	c.SetRGB255(r, g, b)

	x, y := t.x*c.k, t.y*c.k
	if t.upright {
		c.RotateAbout(-math.Pi/2, x, y)
	}

	x -= t.anchor * width
	for _, r := range t.runs {
		face := c.face(t.bold, r.size)
		c.SetFontFace(face)
		c.DrawString(r.text, x, y-r.shift*fontSize/pointsPerPx*c.k)
		x += float64(font.MeasureString(face, r.text)) / 64
	}
}
