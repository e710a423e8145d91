package paper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

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
	if c.faces, err = faces(); err == nil {
		err = p.draw(c, &p.root, 0, 0, false)
	}
	if err == nil {
		err = c.err
	}
	if err != nil {
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

// faces are the regular and the bold font.
var faces = sync.OnceValues(func() (out [2]*sfnt.Font, err error) {
	for i, b := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		if out[i], err = sfnt.Parse(b); err != nil {
			return out, fmt.Errorf("read font: %w", err)
		}
	}
	return out, nil
})

// picture is an image of k dots per px.
type picture struct {
	*gg.Context
	k      float64
	faces  [2]*sfnt.Font
	buffer sfnt.Buffer
	err    error
}

func (c *picture) clip(s shape) {
	if s.r > 0 {
		c.DrawCircle(s.x*c.k, s.y*c.k, s.r*c.k)
	} else {
		c.DrawRectangle(s.x*c.k, s.y*c.k, s.w*c.k, s.h*c.k)
	}
	c.Clip()
}

func (c *picture) unclip() { c.ResetClip() }

func (c *picture) path(p []segment, paint figure.Paint) {
	c.ClearPath()
	for _, s := range p {
		k := c.k
		switch s.kind {
		case 'M':
			c.MoveTo(s.p.x*k, s.p.y*k)
		case 'L':
			c.LineTo(s.p.x*k, s.p.y*k)
		case 'C':
			c.CubicTo(s.c.x*k, s.c.y*k, s.d.x*k, s.d.y*k, s.p.x*k, s.p.y*k)
		case 'Z':
			c.ClosePath()
		}
	}
	if r, g, b, ok := rgb(paint.Fill); ok {
		c.SetRGBA255(r, g, b, int(math.Round(255*paint.Opacity)))
		c.FillPreserve()
	}
	if r, g, b, ok := rgb(paint.Stroke); ok {
		c.SetRGB255(r, g, b)
		c.SetLineWidth(paint.Width * c.k)
		var dash []float64
		for _, v := range paint.Dash {
			dash = append(dash, v*c.k)
		}
		c.SetDash(dash...)
		c.StrokePreserve()
	}
	c.ClearPath()
}

// text fills the outlines of letters, which may be upright and need no hints.
func (c *picture) text(t text) {
	face := c.faces[0]
	if t.bold {
		face = c.faces[1]
	}
	width := 0.0
	for _, r := range t.runs {
		width += c.letters(face, r, nil)
	}
	along := -t.anchor * width
	var list []segment
	for _, r := range t.runs {
		along += c.letters(face, r, func(s segment) {
			place := func(p point) point {
				x, y := along+p.x, p.y-r.shift*fontSize/pointsPerPx
				if t.upright {
					x, y = y, -x
				}
				return point{t.x + x, t.y + y}
			}
			list = append(list, segment{s.kind, place(s.c), place(s.d), place(s.p)})
		})
	}
	c.path(list, figure.Paint{Fill: t.colour, Opacity: 1})
}

// letters gives the outlines of a run's letters, px from its beginning, and returns
// its width.
func (c *picture) letters(face *sfnt.Font, r run, give func(segment)) float64 {
	const unit = 4096 // outlines are asked for at a large size, to lose nothing
	size := r.size * fontSize / pointsPerPx / unit / 64
	at := 0.0
	for _, letter := range r.text {
		glyph, err := face.GlyphIndex(&c.buffer, letter)
		if err != nil {
			c.err = err
			return at
		}
		advance, err := face.GlyphAdvance(&c.buffer, glyph, fixed.I(unit), font.HintingNone)
		if err != nil {
			c.err = err
			return at
		}
		if give != nil {
			outlines, err := face.LoadGlyph(&c.buffer, glyph, fixed.I(unit), nil)
			if err != nil {
				c.err = err
				return at
			}
			outline(outlines, func(p fixed.Point26_6) point {
				return point{at + float64(p.X)*size, float64(p.Y) * size}
			}, give)
		}
		at += float64(advance) * size
	}
	return at
}

// outline gives the closed curves of a letter as segments.
func outline(list sfnt.Segments, at func(fixed.Point26_6) point, give func(segment)) {
	var from point
	open := false
	for _, s := range list {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				give(segment{kind: 'Z'})
			}
			from, open = at(s.Args[0]), true
			give(segment{kind: 'M', p: from})
		case sfnt.SegmentOpLineTo:
			from = at(s.Args[0])
			give(segment{kind: 'L', p: from})
		case sfnt.SegmentOpQuadTo:
			q, to := at(s.Args[0]), at(s.Args[1])
			third := func(a point) point { return point{a.x + (q.x-a.x)*2/3, a.y + (q.y-a.y)*2/3} }
			give(segment{'C', third(from), third(to), to})
			from = to
		case sfnt.SegmentOpCubeTo:
			from = at(s.Args[2])
			give(segment{'C', at(s.Args[0]), at(s.Args[1]), from})
		}
	}
	if open {
		give(segment{kind: 'Z'})
	}
}
