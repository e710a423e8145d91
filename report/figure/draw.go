package figure

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options adapt the SVG to its surroundings.
type Options struct {
	Inline bool // in a page with Style: no style inside, label and not title
	Digits int  // significant digits of the data attributes; 0: as many as read back to the same bits

	Millimetres float64 // width of a file on paper; 0: as many px as it is wide
}

// markup is SVG that is written as it is.
type markup string

// svg puts arguments into markup: numbers as coordinates, texts escaped.
func svg(format string, args ...any) markup {
	for i, a := range args {
		switch v := a.(type) {
		case float64:
			args[i] = px(v)
		case string:
			args[i] = Escape(v)
		}
	}

	return markup(fmt.Sprintf(format, args...))
}

// drawing collects the bytes of one figure.
type drawing struct {
	b bytes.Buffer
	f *Figure
	o Options
}

const (
	defaultWidth = 720.0
	gutter       = 14.0
	fontSize     = 11.0 // of all texts
	lineHeight   = 16.0 // from one line of text to the next
)

func (d *drawing) put(format string, args ...any) { d.write(svg(format, args...)) }

func (d *drawing) write(m markup) { d.b.WriteString(string(m)) }

// Draw returns the figure as SVG.
func Draw(f *Figure, o Options) []byte {
	d := &drawing{f: f, o: o}

	w := cmp.Or(f.Width, defaultWidth)

	legend, top := markup(""), 0.0
	if f.Shared {
		legend, top = d.legend(f.Panels, 4, 12, w)
	}

	boxes, height := d.grid(w, top)
	if f.Note != "" {
		height += 14
	}

	d.put(`<svg xmlns="http://www.w3.org/2000/svg" class="dtf" id="%v" viewBox="0 0 %v %v"`, f.ID,
		w, height)

	if o.Inline {
		if w < defaultWidth { // no larger than it is drawn
			d.put(` style="max-width:%vpx"`, w)
		}
		d.put(` role="img" aria-label="%v">`, strings.TrimSpace(f.Title+". "+f.Desc))
	} else {
		wide, high := px(w), px(height)
		if o.Millimetres > 0 {
			k := o.Millimetres / w
			wide, high = fmt.Sprintf("%.2fmm", k*w), fmt.Sprintf("%.2fmm", k*height)
		}

		d.put(` width="%v" height="%v" role="img" aria-labelledby="%v-t %v-d">`, wide, high, f.ID, f.ID)
		d.put(`<title id="%v-t">%v</title><desc id="%v-d">%v</desc>`, f.ID, f.Title, f.ID, f.Desc)
		d.b.WriteString("\n<style>\n" + standalone() + "</style>\n")
		d.put(`<rect class="back" width="%v" height="%v"/>`, w, height)
	}

	d.write("\n" + legend)

	for i := range f.Panels {
		if !f.Panels[i].blank() {
			d.cartesian(i, boxes[i])
		}
	}

	if f.Note != "" {
		d.text(4, height-4, "note", "", shorten(f.Note, int(w/5.4)))
	}

	d.b.WriteString("</svg>\n")

	return d.b.Bytes()
}

// box is the place of a panel: its corner, its size, and its plotting area.
type box struct {
	x, y, width, height      float64
	left, top, right, bottom float64 // of the plotting area, from the corner
	showX, showY             bool    // the axis has numbers and a label
	legend                   markup
}

func (p *Panel) blank() bool { return len(p.Marks) == 0 && p.Title == "" }

// grid lays the panels out in rows below top and returns the height of all.
func (d *drawing) grid(w, top float64) (boxes []box, height float64) {
	f := d.f
	columns := max(1, f.Columns)
	cell := (w - gutter*float64(columns-1)) / float64(columns)

	// Panels above one another have their vertical axes in one line.
	left := make([]float64, columns)
	for i := range f.Panels {
		if p := &f.Panels[i]; !p.blank() {
			left[i%columns] = math.Max(left[i%columns], leftMargin(p, cell))
		}
	}

	widths := slices.Repeat([]float64{cell}, columns)
	if f.Shared && left[0] > 0 { // the plotting areas share what the first panel's numbers leave
		plot := (w - left[0] - 8 - float64(columns-1)*(gutter+8)) / float64(columns)
		for k := 1; k < columns; k++ {
			left[k], widths[k] = 0, plot+8
		}

		widths[0] = left[0] + plot + 8
	}

	y := top
	for i := 0; i < len(f.Panels); i += columns {
		x, head, row := 0.0, 0.0, 0.0

		end := min(i+columns, len(f.Panels))
		for k := i; k < end; k++ {
			p := &f.Panels[k]

			b := box{x: x, y: y, width: widths[k-i], top: 8}
			if p.Title != "" {
				b.top += lineHeight
			}

			if !f.Shared {
				var h float64
				if b.legend, h = d.legend(f.Panels[k:k+1], 4, b.top+5, b.width); h > 0 {
					b.top += h + 2
				}
			}

			b.showX, b.showY = !f.Shared || k+columns >= len(f.Panels), !f.Shared || k == i
			boxes, head, x = append(boxes, b), math.Max(head, b.top), x+b.width+gutter
		}

		for k := i; k < end; k++ {
			b := &boxes[k]
			b.top = head
			b.place(&f.Panels[k], left[k-i])

			if !f.Panels[k].blank() {
				row = math.Max(row, b.height)
			}
		}

		y += row + 6
	}

	return boxes, math.Max(y, 20)
}

// leftMargin is the room for the numbers and the label of the vertical axis of a
// panel so many px wide.
func leftMargin(p *Panel, width float64) float64 {
	_, y := p.ranges()
	ticks := y.ticks(9)

	labels := 0.0
	for _, t := range ticks {
		labels = math.Max(labels, textWidth(tickText(t, y.powers(ticks)), fontSize))
	}

	if y.Label != "" {
		labels += 4 + 14*float64(len(labelLines(y.Label, p.plotHeight(width-60))))
	}

	return labels + 10
}

// plotHeight is the height of the plotting area where it is so many px wide.
func (p *Panel) plotHeight(width float64) float64 {
	switch {
	case p.Square:
		return width
	case p.Height == 0:
		return 0.62 * width
	}

	return math.Min(p.Height, math.Max(70, width))
}

// labelLines is an axis's label in one line, or in two with the unit in the second
// where one does not fit.
func labelLines(s string, room float64) []string {
	if s == "" {
		return nil
	}

	if at := strings.LastIndex(s, " ("); textWidth(s, fontSize) > room && at > 0 {
		return []string{fitted(s[:at], room), fitted(s[at+1:], room)}
	}

	return []string{fitted(s, room)}
}

// fitted cuts the middle out of a text until it is no wider than room, or has eight
// characters.
func fitted(s string, room float64) string {
	const most = 400 // more do not fit into any figure
	for n := min(utf8.RuneCountInString(s), most); ; n-- {
		if short := shorten(s, n); n <= 8 || textWidth(short, fontSize) <= room {
			return short
		}
	}
}

// place sets the plotting area of a panel whose head ends at top.
func (b *box) place(p *Panel, left float64) {
	b.left, b.right = left, b.width-8
	b.bottom = b.top + p.plotHeight(b.right-b.left)
	b.height = b.bottom + 8
	if b.showX {
		b.height += 12
		if n := len(labelLines(p.X.Label, b.right-b.left+16)); n > 0 {
			b.height += 4 + 14*float64(n)
		}
	}
}

func tickText(v float64, power bool) string {
	if power {
		return "10" + superscript(int(math.Round(math.Log10(v))))
	}

	return number(v)
}

// number writes a tick's number: no trailing zeros, a true minus sign, powers
// of ten beyond a million and below a ten-thousandth.
func number(v float64) string {
	if v == 0 {
		return "0"
	}

	var s string
	if a := math.Abs(v); a >= 1e6 || a < 1e-4 {
		s = strconv.FormatFloat(v, 'e', -1, 64)
		if m, e, ok := strings.Cut(s, "e"); ok {
			if len(m) > 6 {
				m = strconv.FormatFloat(v/math.Pow(10, math.Floor(math.Log10(a))), 'f', 2, 64)
			}

			n, _ := strconv.Atoi(e)
			s = m + "·10" + superscript(n)
			if m == "1" {
				s = "10" + superscript(n)
			}
		}
	} else {
		s = strconv.FormatFloat(v, 'g', 6, 64)
	}

	return strings.Replace(s, "-", "−", 1)
}

func superscript(n int) string {
	r := strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹")
	return r.Replace(strconv.Itoa(n))
}

// panel opens a panel's group and its clipping area.
func (d *drawing) panel(i int, b box, attributes markup) {
	d.put(`<g class="panel" transform="translate(%v %v)" data-panel="%v"%v>`+"\n", b.x, b.y, d.f.Panels[i].Title,
		attributes)
}

func (d *drawing) text(x, y float64, class, anchor, s string) { d.write(text(x, y, class, anchor, s)) }

// upright writes an axis's label, which reads upwards, at a distance from the left.
func (d *drawing) upright(x float64, b box, s string) {
	d.put(`<text transform="translate(%v %v) rotate(-90)" text-anchor="middle">%v</text>`+"\n", x, (b.top+b.bottom)/2, s)
}

func text(x, y float64, class, anchor, s string) markup {
	if s == "" {
		return ""
	}

	m := svg(`<text x="%v" y="%v"`, x, y)
	if class != "" {
		m += svg(` class="%v"`, class)
	}

	if anchor != "" {
		m += svg(` text-anchor="%v"`, anchor)
	}

	return m + svg(">%v</text>\n", s)
}

func (d *drawing) cartesian(i int, b box) {
	p := &d.f.Panels[i]
	x, y := p.ranges()
	sx, sy := newScale(x, b.left, b.right), newScale(y, b.bottom, b.top)
	d.panel(i, b, svg(` data-xscale="%v" data-yscale="%v" data-xlabel="%v" data-ylabel="%v"`, sx, sy, x.Label, y.Label))
	d.text(b.left, 15, "title", "", fitted(p.Title, (b.width-b.left)/1.06))
	d.write(b.legend)
	clip := fmt.Sprintf("%s-c%d", d.f.ID, i)
	d.put(`<clipPath id="%v"><rect x="%v" y="%v" width="%v" height="%v"/></clipPath>`+"\n", clip, b.left, b.top,
		b.right-b.left, b.bottom-b.top)

	// Shading lies below the grid, everything else above it.
	d.marks(p, clip, true, sx, sy)

	grid, numbers := d.numbers(x, y, sx, sy, b)
	if grid != "" {
		d.put(`<path class="grid" d="%v"/>`+"\n", grid)
	}

	d.marks(p, clip, false, sx, sy)
	d.put(`<path class="axis" d="M%v %vV%vH%v"/>`+"\n", b.left, b.top, b.bottom, b.right)
	d.write(numbers)

	if b.showX {
		for k, l := range labelLines(x.Label, b.right-b.left+16) {
			d.text((b.left+b.right)/2, b.bottom+33+14*float64(k), "", "middle", l)
		}
	}

	if b.showY {
		for k, l := range labelLines(y.Label, b.bottom-b.top+10) {
			d.upright(11+14*float64(k), b, l)
		}
	}

	d.b.WriteString("</g>\n")
}

// numbers are the lines of the grid and the numbers at the axes.
func (d *drawing) numbers(x, y Axis, sx, sy scale, b box) (grid, numbers markup) {
	wide := math.Max(textWidth(number(round3(x.Min)), fontSize), textWidth(number(round3(x.Max)), fontSize))
	xt := x.ticks(max(2, int((b.right-b.left)/math.Max(40, wide+14))))
	power := x.powers(xt)

	until := math.Inf(-1) // where the number before ends
	for _, t := range xt {
		label := tickText(t, power)
		half := textWidth(label, fontSize) / 2
		at := max(half, min(sx.at(t), b.width-half)) // the first and the last stay on the paper
		grid += svg("M%v %vV%v", sx.at(t), b.top, b.bottom)

		if !b.showX || at-half < until {
			continue
		}

		until = at + half + 2
		numbers += text(at, b.bottom+15, "tick", "middle", label)
	}

	yt := y.ticks(max(3, min(9, int((b.bottom-b.top)/26))))
	power = y.powers(yt)
	for _, t := range yt {
		v := sy.at(t)
		grid += svg("M%v %vH%v", b.left, v, b.right)

		if b.showY {
			numbers += text(b.left-6, v+3.6, "tick", "end", tickText(t, power))
		}
	}

	return grid, numbers
}

// round3 rounds to three significant digits.
func round3(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}

	return r
}

func circle(x, y, r float64) markup {
	return svg("M%v %va%v %v 0 1 0 %v 0a%v %v 0 1 0 %v 0", x-r, y, r, r, 2*r, r, r, -2*r)
}

// marks draws the panel's marks; below: those that lie under the grid.
func (d *drawing) marks(p *Panel, clip string, below bool, sx, sy scale) {
	d.put(`<g clip-path="url(#%v)">`+"\n", clip)

	for k := range p.Marks {
		m := &p.Marks[k]
		if (m.Kind == Span) != below {
			continue
		}

		d.mark(m, sx, sy)
	}

	d.b.WriteString("</g>\n")

	for k := range p.Marks { // labels may be outside
		if m := &p.Marks[k]; !below && m.Kind == Labels {
			d.put(`<g class="mark" data-series="%v"%v>`, m.Name, d.data(m))

			for i := range m.X {
				if i < len(m.Text) {
					d.text(sx.at(m.X[i]), math.Max(sy.b+9, sy.at(m.Y[i])-5), "lab "+m.Class, "middle", shorten(m.Text[i], 24))
				}
			}

			d.b.WriteString("</g>\n")
		}
	}
}

func finite(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

// drawable reports whether the numbers can be drawn.
func drawable(v ...float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.Abs(x) > far })
}

// pen draws the paths of one mark: at places numbers on paper, ok tells which can be
// placed.
type pen struct {
	d      *drawing
	m      *Mark
	sx, sy scale
}

func (n *pen) at(x, y float64) (float64, float64) { return n.sx.at(x), n.sy.at(y) }

func (n *pen) ok(x, y float64) bool {
	return drawable(x, y) && !(n.sx.log && x <= 0) && !(n.sy.log && y <= 0)
}

// path writes a path, if it is not empty.
func (n *pen) path(class string, s markup) {
	if s != "" {
		n.d.put(`<path class="%v" d="%v"/>`, class, s)
	}
}

// lineClass is the class of the mark's lines.
func (m *Mark) lineClass() string {
	line := "line " + m.Class
	if m.Dashed {
		line += " dashed"
	}

	if m.Thin {
		line += " thin"
	}

	return line
}

func (d *drawing) mark(m *Mark, sx, sy scale) {
	if m.Kind == Labels {
		return
	}

	n := &pen{d, m, sx, sy}
	d.put(`<g class="mark" data-series="%v" data-kind="%v"%v>`, m.Name, kindNames[m.Kind], d.data(m))

	switch m.Kind {
	case Points:
		n.path(m.pointClass(), n.points())
	case Bars:
		n.bars()
	case Line:
		n.path(m.lineClass(), n.polyline(m.X, m.Y))
	case Band:
		n.band()
	case Span:
		for i := range m.Lo {
			a, b := sx.at(m.Lo[i]), sx.at(m.Hi[i])
			n.path("band "+m.Class, svg("M%v %vH%vV%vH%vZ", a, sy.a, b, sy.b, a))
		}

	case Rule:
		var s markup
		for _, v := range m.Y {
			s += svg("M%v %vH%v", sx.a, sy.at(v), sx.b)
		}

		for _, v := range m.X {
			s += svg("M%v %vV%v", sx.at(v), sy.a, sy.b)
		}

		n.path(m.lineClass(), s)

	case Steps:
		var s markup
		for i := range m.Y {
			if n.ok(m.Lo[i], m.Y[i]) && n.ok(m.Hi[i], m.Y[i]) {
				s += svg("M%v %vH%v", sx.at(m.Lo[i]), sy.at(m.Y[i]), sx.at(m.Hi[i]))
			}
		}

		n.path(m.lineClass(), s)

	}

	d.b.WriteString("</g>\n")
}

// bars draws points with a bar from Lo to Hi.
func (n *pen) bars() {
	m := n.m

	var s strings.Builder
	for i := range m.X {
		if n.ok(m.X[i], m.Lo[i]) && n.ok(m.X[i], m.Hi[i]) {
			x, a := n.at(m.X[i], m.Lo[i])
			_, b := n.at(m.X[i], m.Hi[i])
			s.WriteString(string(svg("M%v %vV%vM%v %vh6m-6 0M%v %vh6", x, a, b, x-3, a, x-3, b)))
		}
	}

	n.path("bar "+m.Class, markup(s.String()))
	n.path(m.pointClass(), n.points())
}

// band fills between Lo and Hi, each stretch of numbers that can be drawn.
func (n *pen) band() {
	m := n.m

	var s markup
	for i := 0; i < len(m.X); {
		if !n.ok(m.X[i], m.Lo[i]) || !drawable(m.Hi[i]) {
			i++
			continue
		}

		j := i
		for j < len(m.X) && n.ok(m.X[j], m.Lo[j]) && drawable(m.Hi[j]) {
			j++
		}

		back, low := slices.Clone(m.X[i:j]), slices.Clone(m.Lo[i:j])
		slices.Reverse(back)
		slices.Reverse(low)
		s += n.polyline(m.X[i:j], m.Hi[i:j]) + "L" + n.polyline(back, low)[1:] + "Z"
		i = j
	}

	n.path("band "+m.Class, s)
}

var kindNames = [...]string{"points", "line", "band", "bars", "span", "rule", "steps", "labels"}

// polyline joins the points.
func (n *pen) polyline(xs, ys []float64) markup {
	var s strings.Builder

	pen := "M"
	for i := range xs {
		if !n.ok(xs[i], ys[i]) {
			pen = "M"
			continue
		}

		x, y := n.at(xs[i], ys[i])
		s.WriteString(pen + px(x) + " " + px(y))
		pen = "L"
	}

	return markup(s.String())
}

func (m *Mark) pointClass() string {
	c := cmp.Or(m.Class, "mean")

	if m.Shape == "ring" {
		return "ring " + c
	}

	return "dot " + c
}

// points are one path of all points' outlines.
func (n *pen) points() markup {
	m := n.m

	var s strings.Builder
	for i := range m.X {
		if n.ok(m.X[i], m.Y[i]) {
			x, y := n.at(m.X[i], m.Y[i])
			s.WriteString(string(outline(m.Shape, x, y, m.radius())))
		}
	}

	return markup(s.String())
}

func (m *Mark) radius() float64 { return cmp.Or(m.Size, 2.4) }

func outline(shape string, x, y, r float64) markup {
	switch shape {
	case "square":
		return svg("M%v %vh%vv%vh%vz", x-r*.9, y-r*.9, 1.8*r, 1.8*r, -1.8*r)
	case "diamond":
		d := 1.3 * r
		return svg("M%v %vl%v %vl%v %vl%v %vz", x-d, y, d, -d, d, d, -d, d)
	}

	return circle(x, y, r)
}

// data writes the mark's numbers as attributes.
func (d *drawing) data(m *Mark) markup {
	digits := cmp.Or(d.o.Digits, -1)

	var b strings.Builder
	for _, list := range []struct {
		name   string
		values []float64
	}{{"x", m.X}, {"y", m.Y}, {"lo", m.Lo}, {"hi", m.Hi}} {
		if len(list.values) == 0 {
			continue
		}

		numbers := make([]string, len(list.values))
		for i, v := range list.values {
			if numbers[i] = "-"; finite(v) {
				numbers[i] = strconv.FormatFloat(v, 'g', digits, 64)
			}
		}

		b.WriteString(" data-" + list.name + `="` + strings.Join(numbers, " ") + `"`)
	}

	return markup(b.String())
}

func (s scale) String() string {
	kind := "lin"
	if s.log {
		kind = "log"
	}

	f := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }

	return strings.Join([]string{kind, f(s.min), f(s.max), px(s.a), px(s.b)}, " ")
}

// px writes a coordinate to a tenth of a pixel: at the width of a page, a
// fiftieth of a millimetre.
func px(v float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}

	return s
}

// legend lays the entries of some panels out in rows, from a place to a width.
func (d *drawing) legend(panels []Panel, left, y, width float64) (out markup, height float64) {
	seen := map[string]bool{"": true}
	x, first := left, y
	put := func(name string, swatch func(x, y float64) markup) {
		if seen[name] {
			return
		}

		if len(seen) == 1 {
			out = `<g class="legend">` + "\n"
		}

		seen[name] = true
		name = fitted(name, width-left-30)
		w := 28 + textWidth(name, fontSize)
		if x > left && x+w > width {
			x, y = left, y+lineHeight
		}

		out += swatch(x, y) + text(x+27, y+4, "", "", name)
		x += w + 14
	}

	for i := range panels {
		for k := range panels[i].Marks {
			m := &panels[i].Marks[k]
			if !m.Quiet && m.Kind != Labels {
				put(m.Name, func(x, y float64) markup { return swatch(m, x, y) })
			}
		}
	}

	if len(seen) == 1 {
		return "", 0
	}

	return out + "</g>\n", y - first + lineHeight
}

func swatch(m *Mark, x, y float64) markup {
	switch m.Kind {
	case Band, Span:
		return svg(`<rect class="band %v" x="%v" y="%v" width="22" height="10"/>`, m.Class, x, y-5)
	case Points:
		return svg(`<path class="%v" d="%v"/>`, m.pointClass(), outline(m.Shape, x+11, y, math.Max(m.Size, 2.6)))
	case Bars:
		return svg(`<path class="bar %v" d="M%v %vv12m-3 0h6m-6 -12h6"/>`, m.Class, x+11, y-6) +
			svg(`<path class="%v" d="%v"/>`, m.pointClass(), outline(m.Shape, x+11, y, 2.6))
	}

	return svg(`<path class="%v" d="M%v %vh22"/>`, m.lineClass(), x, y)
}

// textWidth estimates the width of a text in a sans serif of that size; no font
// is asked, so that the same figure is drawn everywhere.
func textWidth(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		w += runeWidth(r)
	}

	return w * size
}

// runeWidth is the width of a character, in sizes of the font.
func runeWidth(r rune) float64 {
	switch {
	case strings.ContainsRune("iljI.,:;'|!()[] ", r):
		return 0.3
	case strings.ContainsRune("mwMW", r):
		return 0.85
	case unicode.IsUpper(r):
		return 0.68
	case unicode.In(r, unicode.Mn):
		return 0
	case r > 0x2e80:
		return 1
	default:
		return 0.56
	}
}

// shorten cuts the middle out of a text longer than n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n || n < 2 {
		return s
	}

	r := []rune(s)
	tail := (n - 1) / 3

	return string(r[:n-1-tail]) + "…" + string(r[len(r)-tail:])
}

// Escape makes a text safe in XML and HTML, as text and as an attribute in
// double quotes, with the characters that Printable gives.
func Escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		return Printable(r)
	}, s))
}

// Printable returns the character to write for r in XML and HTML: "�" for one that
// XML forbids or that turns the direction of the text around, a space for other
// line breaks than "\n", r itself otherwise.
func Printable(r rune) rune {
	switch {
	case r == '\t' || r == '\n':
		return r
	case r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
		return ' '
	case r == 0x200c || r == 0x200d || r == 0x2068 || r == 0x2069: // joiners, isolates
		return r
	case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == utf8.RuneError ||
		r&0xfffe == 0xfffe:
		return utf8.RuneError
	}

	return r
}

// CSV returns the numbers behind the figure, one row per point of each mark;
// numbers read back to the same bits, absent ones are empty.
func (f *Figure) CSV() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	put := func(row ...string) {
		if err := w.Write(row); err != nil {
			panic("figure: write to memory: " + err.Error())
		}
	}

	put("panel", "series", "x_quantity", "y_quantity", "x", "y", "lo", "hi", "z", "z_quantity", "text")

	for i := range f.Panels {
		p := &f.Panels[i]
		for k := range p.Marks {
			m := &p.Marks[k]
			n := max(len(m.X), len(m.Y), len(m.Lo))
			get := func(v []float64, i int) string {
				if i >= len(v) || !finite(v[i]) {
					return ""
				}
				return strconv.FormatFloat(v[i], 'g', -1, 64)
			}

			for j := range n {
				text := ""
				if j < len(m.Text) {
					text = m.Text[j]
				}

				put(plain(p.Title), plain(m.Name), plain(p.X.Label), plain(p.Y.Label), get(m.X, j), get(m.Y, j), get(m.Lo, j),
					get(m.Hi, j), "", "", plain(text)) // nothing has a z any more; scripts count columns
			}
		}
	}

	w.Flush()

	return b.Bytes()
}

// plain keeps a text from being taken for a formula by a spreadsheet.
func plain(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
