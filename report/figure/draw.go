package figure

import (
	"bytes"
	"encoding/csv"
	"fmt"
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

// drawing collects the bytes of one figure.
type drawing struct {
	b bytes.Buffer
	f *Figure
	o Options
}

const (
	defaultWidth = 720.0
	gutter       = 14.0
	heatClasses  = 7
	fontSize     = 11.0 // of all texts
	lineHeight   = 16.0 // from one line of text to the next
)

// Draw returns the figure as SVG.
func Draw(f *Figure, o Options) []byte {
	d := &drawing{f: f, o: o}
	w := f.Width
	if w == 0 {
		w = defaultWidth
	}
	legend, top := "", 0.0
	if f.Shared {
		legend, top = d.legend(f.Panels, 4, 12, w)
	}
	boxes, height := d.grid(w, top)
	if f.Note != "" {
		height += 14
	}
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" class="dtf" id="%s" viewBox="0 0 %s %s"`, Escape(f.ID),
		px(w), px(height))
	if o.Inline {
		if w < defaultWidth { // no larger than it is drawn
			fmt.Fprintf(&d.b, ` style="max-width:%spx"`, px(w))
		}
		fmt.Fprintf(&d.b, ` role="img" aria-label="%s">`, Escape(strings.TrimSpace(f.Title+". "+f.Desc)))
	} else {
		wide, high := px(w), px(height)
		if o.Millimetres > 0 {
			k := o.Millimetres / w
			wide, high = fmt.Sprintf("%.2fmm", k*w), fmt.Sprintf("%.2fmm", k*height)
		}
		fmt.Fprintf(&d.b,
			` width="%s" height="%s" role="img" aria-labelledby="%s-t %s-d">`+
				`<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
			wide, high, Escape(f.ID), Escape(f.ID), Escape(f.ID), Escape(f.Title), Escape(f.ID), Escape(f.Desc))
		d.b.WriteString("\n<style>\n" + standalone() + "</style>\n")
		fmt.Fprintf(&d.b, `<rect class="back" width="%s" height="%s"/>`, px(w), px(height))
	}
	d.b.WriteString("\n" + legend)
	for i := range f.Panels {
		switch {
		case f.Panels[i].blank():
		case f.Panels[i].Polar:
			d.polar(i, boxes[i])
		default:
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
	legend                   string
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
		if p := &f.Panels[i]; !p.Polar && !p.blank() {
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
		labels = math.Max(labels, textWidth(y.tickText(t, y.powers(ticks)), fontSize))
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
	r := []rune(s)
	sum := make([]float64, len(r)+1) // widths of the first characters
	for i, c := range r {
		sum[i+1] = sum[i] + runeWidth(c)
	}
	n := len(r)
	for width := sum[n]; n > 8 && width*fontSize > room+1e-6; { // but for rounding
		n--
		tail := (n - 1) / 3 // as shorten has it
		width = sum[n-1-tail] + runeWidth('…') + sum[len(r)] - sum[len(r)-tail]
	}
	for s = shorten(s, n); n > 8 && textWidth(s, fontSize) > room; s = shorten(s, n) {
		n--
	}
	return s
}

// place sets the plotting area of a panel whose head ends at top.
func (b *box) place(p *Panel, left float64) {
	if p.Polar {
		b.height = b.top + polarHeight(p, b.width) + 10
		return
	}
	b.left, b.right = left, b.width-8
	if p.ZLabel != "" {
		b.right -= keyWidth(p)
	}
	b.bottom = b.top + p.plotHeight(b.right-b.left)
	b.height = b.bottom + 8
	if b.showX {
		b.height += 12
		if n := len(labelLines(p.X.Label, b.right-b.left+16)); n > 0 {
			b.height += 4 + 14*float64(n)
		}
	}
}

func (a *Axis) tickText(v float64, power bool) string {
	if a.Names != nil {
		for k, t := range a.Ticks {
			if t == v && k < len(a.Names) {
				return shorten(a.Names[k], 24)
			}
		}
		return ""
	}
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
func (d *drawing) panel(i int, b box, attributes string) {
	fmt.Fprintf(&d.b, `<g class="panel" transform="translate(%s %s)" data-panel="%s"%s>`, px(b.x), px(b.y),
		Escape(d.f.Panels[i].Title), attributes)
	d.b.WriteByte('\n')
}

func (d *drawing) text(x, y float64, class, anchor, s string) {
	if s == "" {
		return
	}
	fmt.Fprintf(&d.b, `<text x="%s" y="%s"`, px(x), px(y))
	if class != "" {
		fmt.Fprintf(&d.b, ` class="%s"`, class)
	}
	if anchor != "" {
		fmt.Fprintf(&d.b, ` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(&d.b, ">%s</text>\n", Escape(s))
}

func (d *drawing) cartesian(i int, b box) {
	p := &d.f.Panels[i]
	x, y := p.ranges()
	sx, sy := newScale(x, b.left, b.right), newScale(y, b.bottom, b.top)
	d.panel(i, b, fmt.Sprintf(` data-xscale="%s" data-yscale="%s" data-xlabel="%s" data-ylabel="%s"`, sx, sy,
		Escape(x.Label), Escape(y.Label)))
	d.text(b.left, 15, "title", "", fitted(p.Title, (b.width-b.left)/1.06))
	d.b.WriteString(b.legend)
	clip := fmt.Sprintf("%s-c%d", d.f.ID, i)
	fmt.Fprintf(&d.b, `<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>`, Escape(clip),
		px(b.left), px(b.top), px(b.right-b.left), px(b.bottom-b.top))
	d.b.WriteByte('\n')
	// Shading lies below the grid, everything else above it.
	d.marks(p, clip, true, sx, sy, nil)
	grid, numbers := d.numbers(x, y, sx, sy, b)
	if grid != "" && p.ZLabel == "" { // cells show their own grid
		fmt.Fprintf(&d.b, `<path class="grid" d="%s"/>`+"\n", grid)
	}
	d.marks(p, clip, false, sx, sy, nil)
	fmt.Fprintf(&d.b, `<path class="axis" d="M%s %sV%sH%s"/>`+"\n", px(b.left), px(b.top), px(b.bottom), px(b.right))
	d.b.WriteString(numbers)
	if b.showX {
		for k, l := range labelLines(x.Label, b.right-b.left+16) {
			d.text((b.left+b.right)/2, b.bottom+33+14*float64(k), "", "middle", l)
		}
	}
	if b.showY {
		for k, l := range labelLines(y.Label, b.bottom-b.top+10) {
			fmt.Fprintf(&d.b, `<text transform="translate(%s %s) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
				px(11+14*float64(k)), px((b.top+b.bottom)/2), Escape(l))
		}
	}
	if p.ZLabel != "" {
		d.key(p, b)
	}
	d.b.WriteString("</g>\n")
}

// numbers are the lines of the grid and the numbers at the axes.
func (d *drawing) numbers(x, y Axis, sx, sy scale, b box) (grid, numbers string) {
	wide := math.Max(textWidth(number(round3(x.Min)), fontSize), textWidth(number(round3(x.Max)), fontSize))
	xt := x.ticks(max(2, int((b.right-b.left)/math.Max(40, wide+14))))
	power := x.powers(xt)
	until := math.Inf(-1) // where the number before ends
	for _, t := range xt {
		v := px(sx.at(t))
		grid += "M" + v + " " + px(b.top) + "V" + px(b.bottom)
		label := x.tickText(t, power)
		half := textWidth(label, fontSize) / 2
		at := math.Min(sx.at(t), b.width-half) // the last one stays on the paper
		if !b.showX || at-half < until {
			continue
		}
		until = at + half + 2
		numbers += fmt.Sprintf(`<text x="%s" y="%s" class="tick" text-anchor="middle">%s</text>`+"\n", px(at),
			px(b.bottom+15), Escape(label))
	}
	yt := y.ticks(max(3, min(9, int((b.bottom-b.top)/26))))
	power = y.powers(yt)
	for _, t := range yt {
		v := sy.at(t)
		grid += "M" + px(b.left) + " " + px(v) + "H" + px(b.right)
		if b.showY {
			numbers += fmt.Sprintf(`<text x="%s" y="%s" class="tick" text-anchor="end">%s</text>`+"\n", px(b.left-6),
				px(v+3.6), Escape(y.tickText(t, power)))
		}
	}
	return grid, numbers
}

// edges are those of the classes of colours.
func (p *Panel) edges() []float64 { return classes(p.ZMin, p.ZMax, heatClasses) }

// edgeText is the number at an edge of the classes, with as many decimals as the others.
func edgeText(edges []float64, v float64) string {
	decimals := 0
	for _, e := range edges {
		text := number(round3(e))
		if strings.ContainsRune(text, '·') || strings.Contains(text, "10⁻") {
			return number(round3(v))
		}
		if _, tail, ok := strings.Cut(text, "."); ok {
			decimals = max(decimals, len(tail))
		}
	}
	if v == 0 {
		return "0"
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−", 1)
}

// shade is the colour of class k of n: the palette is used from end to end.
func shade(k, n int) int {
	if n < 2 {
		return heatClasses / 2
	}
	return int(math.Round(float64(k*(heatClasses-1)) / float64(n-1)))
}

// keyWidth is the room that the scale of colours takes to the right of a panel:
// a gap, the colours, their numbers, its label.
func keyWidth(p *Panel) float64 {
	numbers := 0.0
	edges := p.edges()
	for _, v := range edges {
		numbers = math.Max(numbers, textWidth(edgeText(edges, v), fontSize))
	}
	return 14 + 15 + numbers + 4 + 13
}

// key draws the scale of the cells' colours.
func (d *drawing) key(p *Panel, b box) {
	edges := p.edges()
	n := len(edges) - 1
	x, h := b.right+14, (b.bottom-b.top)/float64(n)
	for k := range n {
		fmt.Fprintf(&d.b, `<rect class="h%d" x="%s" y="%s" width="11" height="%s"/>`, shade(k, n), px(x),
			px(b.bottom-float64(k+1)*h), px(h))
	}
	d.b.WriteByte('\n')
	for k, v := range edges {
		d.text(x+15, b.bottom-float64(k)*h+3.6, "tick", "", edgeText(edges, v))
	}
	fmt.Fprintf(&d.b, `<text transform="translate(%s %s) rotate(-90)" text-anchor="middle">%s</text>`+"\n", px(b.width-3),
		px((b.top+b.bottom)/2), Escape(fitted(p.ZLabel, b.bottom-b.top+10)))
}

// round3 rounds to three significant digits.
func round3(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// polarPlace maps angle and radius to pixels.
type polarPlace struct {
	cx, cy float64
	r      scale
}

func (q polarPlace) at(theta, radius float64) (float64, float64) {
	r := math.Max(0, q.r.at(radius))
	s, c := math.Sincos(math.Mod(theta, 360) * math.Pi / 180)
	return q.cx + r*c, q.cy - r*s
}

// polarSpan are the angles drawn, and how far the plotting area reaches above and
// below its centre, in radii.
func polarSpan(p *Panel) (lo, hi, up, down float64) {
	x, _ := p.ranges()
	if !p.Half {
		return -180, 180, 1, 1
	}
	lo, hi = math.Max(-90, x.Min), math.Min(90, x.Max)
	return lo, hi, math.Max(0.3, math.Sin(hi*math.Pi/180)), math.Max(0.3, -math.Sin(lo*math.Pi/180))
}

func polarHeight(p *Panel, width float64) float64 {
	_, _, up, down := polarSpan(p)
	h := polarRadius(p, width)*(up+down) + 34
	if p.Y.Label != "" {
		h += 16
	}
	return h
}

func polarRadius(p *Panel, width float64) float64 {
	if p.Half {
		return math.Min(width-80, 170)
	}
	return width/2 - 30
}

func (d *drawing) polar(i int, b box) {
	p := &d.f.Panels[i]
	x, y := p.ranges()
	radius := polarRadius(p, b.width)
	lo, hi, up, _ := polarSpan(p)
	q := polarPlace{cx: b.width / 2, cy: b.top + 18 + radius*up, r: newScale(y, 0, radius)}
	if p.Half {
		q.cx = (b.width - radius) / 2
	}
	d.panel(i, b, fmt.Sprintf(` data-polar="%s %s" data-yscale="%s" data-xlabel="%s" data-ylabel="%s"`, px(q.cx),
		px(q.cy), q.r, Escape(x.Label), Escape(y.Label)))
	d.text(b.width/2, 15, "title", "middle", fitted(p.Title, b.width/1.06))
	d.b.WriteString(b.legend)
	clip := fmt.Sprintf("%s-c%d", d.f.ID, i)
	fmt.Fprintf(&d.b, `<clipPath id="%s"><circle cx="%s" cy="%s" r="%s"/></clipPath>`+"\n", Escape(clip), px(q.cx),
		px(q.cy), px(radius))
	grid, ticks := "", ""
	rt := y.ticks(4)
	for _, t := range rt {
		if r := q.r.at(t); r > 0.5 && r <= radius+0.5 {
			grid += p.arc(q, r, lo, hi)
		}
	}
	for _, t := range polarTicks(lo, hi, p.Half) {
		ax, ay := q.at(t, y.Min)
		bx, by := q.at(t, y.Max)
		grid += fmt.Sprintf("M%s %sL%s %s", px(ax), px(ay), px(bx), px(by))
		s, c := math.Sincos(t * math.Pi / 180)
		anchor := "start"
		switch {
		case math.Abs(c) < 0.2:
			anchor = "middle"
		case c < 0:
			anchor = "end"
		}
		ticks += fmt.Sprintf(`<text x="%s" y="%s" class="tick" text-anchor="%s">%s°</text>`+"\n", px(q.cx+(radius+4)*c),
			px(q.cy-(radius+5)*s+3.6), anchor, Escape(number(t)))
	}
	fmt.Fprintf(&d.b, `<path class="grid" d="%s"/>`+"\n", grid)
	d.marks(p, clip, true, scale{}, scale{}, &q)
	d.marks(p, clip, false, scale{}, scale{}, &q)
	d.b.WriteString(ticks)
	// Radius labels are at the lower end of the half disk, or at −75°.
	at := -75.0
	if p.Half {
		at = lo
	}
	s, c := math.Sincos(at * math.Pi / 180)
	for _, t := range rt {
		if r := q.r.at(t); r >= 0 && r <= radius+0.5 {
			anchor, dx, dy := "", 2.0, 0.0
			if p.Half {
				anchor, dx, dy = "end", -4, 8
			}
			d.text(q.cx+r*c+dx, q.cy-r*s+dy, "tick", anchor, number(t))
		}
	}
	d.text(b.width/2, b.height-4, "note", "middle", fitted(y.Label, b.width))
	d.b.WriteString("</g>\n")
}

// arc is the circle of a radius, or the part of it between two angles.
func (p *Panel) arc(q polarPlace, r, lo, hi float64) string {
	if !p.Half {
		return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 %s 0", px(q.cx-r), px(q.cy), px(r), px(r), px(2*r), px(r),
			px(r), px(-2*r))
	}
	s0, c0 := math.Sincos(lo * math.Pi / 180)
	s1, c1 := math.Sincos(hi * math.Pi / 180)
	return fmt.Sprintf("M%s %sA%s %s 0 0 0 %s %s", px(q.cx+r*c0), px(q.cy-r*s0), px(r), px(r), px(q.cx+r*c1),
		px(q.cy-r*s1))
}

func polarTicks(lo, hi float64, half bool) []float64 {
	var out []float64
	for t := -180.0; t <= 180; t += 30 {
		if t >= lo-1e-9 && t <= hi+1e-9 && (half || t > -180) {
			out = append(out, t)
		}
	}
	return out
}

// marks draws the panel's marks; below: those that lie under the grid.
func (d *drawing) marks(p *Panel, clip string, below bool, sx, sy scale, q *polarPlace) {
	fmt.Fprintf(&d.b, `<g clip-path="url(#%s)">`+"\n", Escape(clip))
	for k := range p.Marks {
		m := &p.Marks[k]
		if (m.Kind == Span || m.Kind == Cells) != below || m.Kind == Edge {
			continue
		}
		d.mark(p, m, sx, sy, q)
	}
	d.b.WriteString("</g>\n")
	for k := range p.Marks { // labels and marks at the edge may be outside
		if m := &p.Marks[k]; !below && m.Kind == Edge {
			d.mark(p, m, sx, sy, q)
		}
		if m := &p.Marks[k]; !below && m.Kind == Labels {
			fmt.Fprintf(&d.b, `<g class="mark" data-series="%s"%s>`, Escape(m.Name), d.data(m))
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
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// drawable reports whether the numbers can be drawn.
func drawable(v ...float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.Abs(x) > far {
			return false
		}
	}
	return true
}

// pen draws the paths of one mark: at places numbers on paper, ok tells which can be
// placed.
type pen struct {
	d      *drawing
	m      *Mark
	sx, sy scale
	polar  bool
	at     func(x, y float64) (float64, float64)
}

func (n *pen) ok(x, y float64) bool {
	return drawable(x, y) && !(n.sx.log && x <= 0) && !(n.sy.log && y <= 0)
}

// path writes a path, if it is not empty.
func (n *pen) path(class, s string) {
	if s != "" {
		fmt.Fprintf(&n.d.b, `<path class="%s" d="%s"/>`, class, s)
	}
}

// line is the class of the mark's lines.
func (n *pen) line() string {
	line := "line " + n.m.Class
	if n.m.Dashed {
		line += " dashed"
	}
	if n.m.Thin {
		line += " thin"
	}
	return line
}

func (d *drawing) mark(p *Panel, m *Mark, sx, sy scale, q *polarPlace) {
	if m.Kind == Labels {
		return
	}
	n := &pen{d: d, m: m, sx: sx, sy: sy, polar: q != nil}
	n.at = func(x, y float64) (float64, float64) { return sx.at(x), sy.at(y) }
	if q != nil {
		n.at = q.at
	}
	fmt.Fprintf(&d.b, `<g class="mark" data-series="%s" data-kind="%s"%s>`, Escape(m.Name), kindNames[m.Kind], d.data(m))
	switch m.Kind {
	case Points:
		outlines := m.points(n.at, n.ok)
		if m.Class == "measured" { // on cells of any colour
			n.path("halo", outlines)
		}
		n.path(m.pointClass(), outlines)
	case Bars:
		n.bars()
	case Line:
		n.path(n.line(), d.polyline(m.X, m.Y, n.at, n.ok, n.polar))
	case Band:
		n.band()
	case Span:
		for i := range m.Lo {
			a, b := sx.at(m.Lo[i]), sx.at(m.Hi[i])
			n.path("band "+m.Class, fmt.Sprintf("M%s %sH%sV%sH%sZ", px(a), px(sy.a), px(b), px(sy.b), px(a)))
		}
	case Rule:
		s := ""
		for _, v := range m.Y {
			s += fmt.Sprintf("M%s %sH%s", px(sx.a), px(sy.at(v)), px(sx.b))
		}
		for _, v := range m.X {
			s += fmt.Sprintf("M%s %sV%s", px(sx.at(v)), px(sy.a), px(sy.b))
		}
		n.path(n.line(), s)
	case Steps:
		var s strings.Builder
		for i := range m.Y {
			if n.ok(m.Lo[i], m.Y[i]) && n.ok(m.Hi[i], m.Y[i]) {
				fmt.Fprintf(&s, "M%s %sH%s", px(sx.at(m.Lo[i])), px(sy.at(m.Y[i])), px(sx.at(m.Hi[i])))
			}
		}
		n.path(n.line(), s.String())
	case Cells:
		n.cells(p.edges())
	case Edge:
		n.edge(q)
	}
	d.b.WriteString("</g>\n")
}

// edge draws marks just inside the lower or the left edge, or at the rim. What lies
// beyond the ends of that edge is marked at them.
func (n *pen) edge(q *polarPlace) {
	var s strings.Builder
	put := func(x, y float64) { s.WriteString(outline(n.m.Shape, x, y, n.m.radius())) }
	along := func(c scale, v float64) float64 {
		if c.log && v <= 0 {
			return c.a
		}
		return math.Max(math.Min(c.a, c.b), math.Min(math.Max(c.a, c.b), c.at(v)))
	}
	for _, v := range n.m.X {
		switch {
		case !drawable(v):
		case q != nil:
			put(q.at(v, q.r.max))
		default:
			put(along(n.sx, v), n.sy.a-6)
		}
	}
	for _, v := range n.m.Y {
		if drawable(v) {
			put(n.sx.a+6, along(n.sy, v))
		}
	}
	n.path(n.m.pointClass(), s.String())
}

// bars draws points with a bar from Lo to Hi.
func (n *pen) bars() {
	m := n.m
	var s strings.Builder
	for i := range m.X {
		if n.ok(m.X[i], m.Lo[i]) && n.ok(m.X[i], m.Hi[i]) {
			x, a := n.at(m.X[i], m.Lo[i])
			_, b := n.at(m.X[i], m.Hi[i])
			fmt.Fprintf(&s, "M%s %sV%sM%s %sh6m-6 0M%s %sh6", px(x), px(a), px(b), px(x-3), px(a), px(x-3), px(b))
		}
	}
	n.path("bar "+m.Class, s.String())
	n.path(m.pointClass(), m.points(n.at, n.ok))
}

// band fills between Lo and Hi, each stretch of numbers that can be drawn.
func (n *pen) band() {
	m := n.m
	var s strings.Builder
	for i := 0; i < len(m.X); {
		if !n.ok(m.X[i], m.Lo[i]) || !drawable(m.Hi[i]) {
			i++
			continue
		}
		j := i
		for j < len(m.X) && n.ok(m.X[j], m.Lo[j]) && drawable(m.Hi[j]) {
			j++
		}
		up := n.d.polyline(m.X[i:j], m.Hi[i:j], n.at, n.ok, n.polar)
		down := n.d.polyline(reversed(m.X[i:j]), reversed(m.Lo[i:j]), n.at, n.ok, n.polar)
		s.WriteString(up + "L" + strings.TrimPrefix(down, "M") + "Z")
		i = j
	}
	n.path("band "+m.Class, s.String())
}

// cells draws rectangles, in one path for each class of colours, and hatches those
// without a number.
func (n *pen) cells(edges []float64) {
	m, sx, sy := n.m, n.sx, n.sy
	last := len(edges) - 1
	by := make([]strings.Builder, last)
	var none, hatch strings.Builder
	for i := range m.X {
		a, b := sx.at(m.X[i]-m.DX/2), sx.at(m.X[i]+m.DX/2)
		t, u := sy.at(m.Y[i]+m.DY/2), sy.at(m.Y[i]-m.DY/2)
		rect := fmt.Sprintf("M%s %sH%sV%sH%sZ", px(a), px(t), px(b), px(u), px(a))
		if !finite(m.Z[i]) {
			none.WriteString(rect)
			hatched(&hatch, a, t, b, u)
			continue
		}
		k := int(float64(last) * (m.Z[i] - edges[0]) / (edges[last] - edges[0]))
		by[max(0, min(last-1, k))].WriteString(rect)
	}
	n.path("hn", none.String())
	n.path("hatch", hatch.String())
	for k := range by {
		n.path(fmt.Sprintf("h%d", shade(k, last)), by[k].String())
	}
}

// hatched writes the lines x + y = 5k inside a rectangle, which go on in the next one.
func hatched(s *strings.Builder, left, top, right, bottom float64) {
	const step = 5
	if !(right-left < 1e4 && bottom-top < 1e4) {
		return
	}
	for k := math.Ceil((left + top) / step); k*step < right+bottom; k++ {
		x, y := math.Max(left, k*step-bottom), math.Min(right, k*step-top)
		if y > x {
			fmt.Fprintf(s, "M%s %sL%s %s", px(x), px(k*step-x), px(y), px(k*step-y))
		}
	}
}

var kindNames = [...]string{"points", "line", "band", "bars", "span", "rule", "steps", "cells", "labels", "edge"}

func reversed(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[len(v)-1-i] = x
	}
	return out
}

// polyline joins the points; in polar panels a straight piece in angle and
// radius is a curve on paper.
func (d *drawing) polyline(xs, ys []float64, at func(x, y float64) (float64, float64), ok func(x, y float64) bool,
	polar bool,
) string {
	var s strings.Builder
	pen := "M"
	for i := range xs {
		if !ok(xs[i], ys[i]) {
			pen = "M"
			continue
		}
		if polar && pen == "L" {
			n := int(math.Min(144, math.Ceil(math.Abs(xs[i]-xs[i-1])/2.5)))
			for k := 1; k < n; k++ {
				t := float64(k) / float64(n)
				x, y := at(xs[i-1]+t*(xs[i]-xs[i-1]), ys[i-1]+t*(ys[i]-ys[i-1]))
				s.WriteString("L" + px(x) + " " + px(y))
			}
		}
		x, y := at(xs[i], ys[i])
		s.WriteString(pen + px(x) + " " + px(y))
		pen = "L"
	}
	return s.String()
}

func (m *Mark) pointClass() string {
	c := m.Class
	if c == "" {
		c = "mean"
	}
	switch m.Shape {
	case "ring", "cross":
		if c == "measured" {
			return c
		}
		return "ring " + c
	}
	return "dot " + c
}

// points are one path of all points' outlines.
func (m *Mark) points(at func(x, y float64) (float64, float64), ok func(x, y float64) bool) string {
	var s strings.Builder
	for i := range m.X {
		if !ok(m.X[i], m.Y[i]) {
			continue
		}
		x, y := at(m.X[i], m.Y[i])
		s.WriteString(outline(m.Shape, x, y, m.radius()))
	}
	return s.String()
}

func (m *Mark) radius() float64 {
	if m.Size == 0 {
		return 2.4
	}
	return m.Size
}

func outline(shape string, x, y, r float64) string {
	switch shape {
	case "square":
		return fmt.Sprintf("M%s %sh%sv%sh%sz", px(x-r*.9), px(y-r*.9), px(1.8*r), px(1.8*r), px(-1.8*r))
	case "diamond":
		return fmt.Sprintf("M%s %sl%s %sl%s %sl%s %sz", px(x-1.3*r), px(y), px(1.3*r), px(-1.3*r), px(1.3*r), px(1.3*r),
			px(-1.3*r), px(1.3*r))
	case "cross":
		return fmt.Sprintf("M%s %sl%s %sm0 %sl%s %s", px(x-r), px(y-r), px(2*r), px(2*r), px(-2*r), px(-2*r), px(2*r))
	}
	return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 %s 0", px(x-r), px(y), px(r), px(r), px(2*r), px(r), px(r),
		px(-2*r))
}

// data writes the mark's numbers as attributes.
func (d *drawing) data(m *Mark) string {
	var b strings.Builder
	list := func(name string, v []float64) {
		if len(v) == 0 {
			return
		}
		b.WriteString(" data-" + name + `="`)
		for i, x := range v {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(d.value(x))
		}
		b.WriteByte('"')
	}
	list("x", m.X)
	list("y", m.Y)
	list("lo", m.Lo)
	list("hi", m.Hi)
	list("z", m.Z)
	return b.String()
}

func (d *drawing) value(v float64) string {
	if !finite(v) {
		return "-"
	}
	digits := d.o.Digits
	if digits == 0 {
		digits = -1
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
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
func (d *drawing) legend(panels []Panel, left, y, width float64) (svg string, height float64) {
	var b strings.Builder
	seen := map[string]bool{"": true}
	x, first := left, y
	put := func(name string, swatch func(x, y float64) string) {
		if seen[name] {
			return
		}
		if len(seen) == 1 {
			b.WriteString(`<g class="legend">` + "\n")
		}
		seen[name] = true
		name = fitted(name, width-left-30)
		w := 28 + textWidth(name, fontSize)
		if x > left && x+w > width {
			x, y = left, y+lineHeight
		}
		b.WriteString(swatch(x, y))
		fmt.Fprintf(&b, `<text x="%s" y="%s">%s</text>`+"\n", px(x+27), px(y+4), Escape(name))
		x += w + 14
	}
	for i := range panels {
		for k := range panels[i].Marks {
			m := &panels[i].Marks[k]
			if !m.Quiet && m.Kind != Labels {
				put(m.Name, func(x, y float64) string { return swatch(m, x, y) })
			}
			if m.None != "" && slices.ContainsFunc(m.Z, math.IsNaN) {
				put(m.None, hatchedSwatch)
			}
		}
	}
	if len(seen) == 1 {
		return "", 0
	}
	b.WriteString("</g>\n")
	return b.String(), y - first + lineHeight
}

func hatchedSwatch(x, y float64) string {
	var s strings.Builder
	hatched(&s, x, y-5, x+22, y+5)
	return fmt.Sprintf(`<rect class="hn" x="%s" y="%s" width="22" height="10"/><path class="hatch" d="%s"/>`, px(x),
		px(y-5), s.String())
}

func swatch(m *Mark, x, y float64) string {
	class := "line " + m.Class
	if m.Dashed {
		class += " dashed"
	}
	if m.Thin {
		class += " thin"
	}
	switch m.Kind {
	case Band, Span:
		return fmt.Sprintf(`<rect class="band %s" x="%s" y="%s" width="22" height="10"/>`, m.Class, px(x), px(y-5))
	case Points, Edge:
		return fmt.Sprintf(`<path class="%s" d="%s"/>`, m.pointClass(), outline(m.Shape, x+11, y, math.Max(m.Size, 2.6)))
	case Bars:
		return fmt.Sprintf(`<path class="bar %s" d="M%s %sv12m-3 0h6m-6 -12h6"/><path class="%s" d="%s"/>`, m.Class,
			px(x+11), px(y-6), m.pointClass(), outline(m.Shape, x+11, y, 2.6))
	}
	return fmt.Sprintf(`<path class="%s" d="M%s %sh22"/>`, class, px(x), px(y))
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
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		default:
			b.WriteRune(Printable(r))
		}
	}
	return b.String()
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
				z := ""
				if m.Kind == Cells {
					z = p.ZLabel
				}
				put(plain(p.Title), plain(m.Name), plain(p.X.Label), plain(p.Y.Label), get(m.X, j), get(m.Y, j), get(m.Lo, j),
					get(m.Hi, j), get(m.Z, j), plain(z), plain(text))
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
