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
	"golang.org/x/image/font/opentype"

	"doubletake/report/figure"
)

// Limits of the resolution of pictures, dots per inch.
const (
	MinDPI = 30
	MaxDPI = 2400
)

// PNG returns the figure as a picture. dpi is its resolution in dots per inch, from MinDPI to MaxDPI. The picture
// contains its resolution, so that programs show it in its size.
func PNG(f *figure.Figure, dpi float64) ([]byte, error) {
	parsed, err := parse(f)
	if err != nil {
		return nil, err
	}

	if !(dpi >= MinDPI && dpi <= MaxDPI) {
		return nil, fmt.Errorf("draw figure: %g dots per inch, expected %d to %d", dpi, MinDPI, MaxDPI)
	}

	scale := pointsPerPx / 72 * dpi
	width := int(math.Round(parsed.width * scale))
	height := int(math.Round(parsed.height * scale))
	c := &picture{Context: gg.NewContext(width, height), scale: scale, faces: map[faceKey]font.Face{}}
	c.SetLineJoin(gg.LineJoinRound)
	c.SetLineCap(gg.LineCapButt)

	c.fonts, err = fonts()
	if err != nil {
		return nil, fmt.Errorf("draw figure: %w", err)
	}

	if err := parsed.draw(c, &parsed.root, origin{}); err != nil {
		return nil, fmt.Errorf("draw figure: %w", err)
	}

	var document bytes.Buffer
	if err := c.EncodePNG(&document); err != nil {
		return nil, fmt.Errorf("write PNG: %w", err)
	}

	return withResolution(document.Bytes(), dpi), nil
}

// withResolution returns a PNG with the resolution in a chunk of its own, pHYs, after the header.
func withResolution(png []byte, dpi float64) []byte {
	const header = 33 // bytes of the signature and of the first chunk
	const size = 9    // bytes of the chunk's data: two numbers and the unit
	chunk := binary.BigEndian.AppendUint32(nil, size)
	chunk = append(chunk, "pHYs"...)
	perMetre := uint32(math.Round(dpi / 0.0254))
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1)                                                    // the unit is the metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:])) // of all but the size

	return bytes.Join([][]byte{png[:header], chunk, png[header:]}, nil)
}

// fontSet is the regular and the bold font.
type fontSet struct{ regular, bold *opentype.Font }

// fonts returns the fonts. It parses them at the first call.
var fonts = sync.OnceValues(func() (fontSet, error) {
	regular, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		return fontSet{}, fmt.Errorf("read font: %w", err)
	}

	bold, err := opentype.Parse(liberationsansbold.TTF)
	if err != nil {
		return fontSet{}, fmt.Errorf("read font: %w", err)
	}

	return fontSet{regular, bold}, nil
})

// picture is an image. It implements canvas, on which a figure is drawn, and pen, which traces its outlines. Its unit
// is the dot.
type picture struct {
	*gg.Context
	scale float64 // dots per px
	fonts fontSet
	faces map[faceKey]font.Face // that face has made
}

// faceKey names a font in a size.
type faceKey struct {
	bold bool
	size float64 // in sizes of the text
}

// face returns the font for a run of letters. size is the size of the run in sizes of the text. The font has no hints,
// which help horizontal texts only, because texts may run upwards.
func (c *picture) face(bold bool, size float64) (font.Face, error) {
	if known := c.faces[faceKey{bold, size}]; known != nil {
		return known, nil
	}

	letters := c.fonts.regular
	if bold {
		letters = c.fonts.bold
	}

	// At 72 dots per inch a point is a dot, so Size is in dots.
	options := &opentype.FaceOptions{Size: size * fontSize / pointsPerPx * c.scale, DPI: 72, Hinting: font.HintingNone}
	face, err := opentype.NewFace(letters, options)
	if err != nil {
		return nil, fmt.Errorf("scale font: %w", err)
	}

	c.faces[faceKey{bold, size}] = face

	return face, nil
}

func (c *picture) clip(area rectangle) {
	c.DrawRectangle(area.x*c.scale, area.y*c.scale, area.w*c.scale, area.h*c.scale)
	c.Clip()
}

func (c *picture) unclip() { c.ResetClip() }

func (c *picture) path(outline []segment, paint figure.Paint) {
	c.ClearPath()
	trace(c, outline, c.scale)

	if red, green, blue, ok := rgb(paint.Fill); ok {
		c.SetRGBA255(red, green, blue, int(math.Round(255*paint.Opacity)))
		c.FillPreserve()
	}

	if red, green, blue, ok := rgb(paint.Stroke); ok {
		c.SetRGB255(red, green, blue)
		c.SetLineWidth(paint.Width * c.scale)
		c.SetDash(scaled(paint.Dash, c.scale)...)
		c.StrokePreserve()
	}

	c.ClearPath()
}

func (c *picture) text(line textLine) error {
	faces := make([]font.Face, len(line.runs))
	widths := make([]float64, len(line.runs)) // in dots
	total := 0.0
	for i, piece := range line.runs {
		face, err := c.face(line.bold, piece.size)
		if err != nil {
			return err
		}

		faces[i] = face
		widths[i] = float64(font.MeasureString(face, piece.text)) / 64 // the font measures in 64ths of a dot
		total += widths[i]
	}

	c.Push()
	defer c.Pop()
	red, green, blue, _ := rgb(line.colour)
	c.SetRGB255(red, green, blue)

	x := line.x * c.scale
	y := line.y * c.scale
	if line.upright {
		c.RotateAbout(-math.Pi/2, x, y)
	}

	x -= line.anchor * total
	for i, piece := range line.runs {
		c.SetFontFace(faces[i])
		c.DrawString(piece.text, x, y-piece.shift*fontSize/pointsPerPx*c.scale)
		x += widths[i]
	}

	return nil
}
