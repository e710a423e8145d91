package figure

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// This file draws a figure: Draw writes the frame of the SVG and draws each panel (drawPanel), which draws its grid,
// its marks (drawMark) and its axes. A markPen turns the numbers of a mark into paths.

// Options adapt the SVG to its surroundings.
type Options struct {
	Inline bool // the SVG is part of a page that has Style, so it has no style of its own
	Digits int  // significant digits of the data attributes; 0: as many as read back to the same bits

	// Names numbers the names of points, whose numbers Draw then writes into the attribute data-name. If Names is nil,
	// Draw leaves the names out.
	Names *Names

	Millimetres float64 // width of a file on paper; 0: as many px as the figure is wide
}

// Names numbers texts, so that a page with many figures has each text once. The zero value has no texts yet.
type Names struct {
	list   []string
	number map[string]int
}

// Number returns the number of a text: its place in List, at which Number adds a new text.
func (n *Names) Number(text string) int {
	if number, ok := n.number[text]; ok {
		return number
	}

	if n.number == nil {
		n.number = map[string]int{}
	}

	n.number[text] = len(n.list)
	n.list = append(n.list, text)

	return n.number[text]
}

// List returns the texts in the order of their numbers.
func (n *Names) List() []string { return n.list }

// markup is SVG that is written as it is.
type markup string

// svg formats markup. It writes arguments that are float64 as coordinates, and escapes arguments that are strings.
// Arguments that are markup stay as they are.
func svg(format string, args ...any) markup {
	texts := make([]any, len(args))
	for i, argument := range args {
		switch value := argument.(type) {
		case float64:
			texts[i] = px(value)
		case string:
			texts[i] = Escape(value)
		default:
			texts[i] = argument
		}
	}

	return markup(fmt.Sprintf(format, texts...))
}

// drawing collects the bytes of one figure.
type drawing struct {
	b       bytes.Buffer
	figure  *Figure
	options Options
}

// Lengths in px.
const (
	defaultWidth = 720.0
	gutter       = 14.0 // between panels side by side
	fontSize     = 11.0 // of all texts
	lineHeight   = 16.0 // from one line of text to the next
	noteLetter   = 5.4  // mean width of a letter of a note
	titleWidth   = 1.06 // width of a title, which is bold, relative to the same text that is not
)

// put writes markup that svg formats.
func (d *drawing) put(format string, args ...any) { d.write(svg(format, args...)) }

// write writes markup.
func (d *drawing) write(m markup) { d.b.WriteString(string(m)) }

// Draw returns the figure as SVG.
func Draw(f *Figure, options Options) []byte {
	d := &drawing{figure: f, options: options}
	width := cmp.Or(f.Width, defaultWidth)

	legend := markup("")
	top := 0.0
	if f.Shared {
		legend, top = d.legend(f.Panels, 4, 12, width)
	}

	boxes, height := d.grid(width, top)
	if f.Note != "" {
		height += 14
	}

	d.put(`<svg xmlns="http://www.w3.org/2000/svg" class="dtf" id="%v" viewBox="0 0 %v %v"`, f.ID,
		width, height)

	if options.Inline {
		d.inlineHead(width)
	} else {
		d.fileHead(width, height)
	}

	d.write("\n" + legend)

	for i := range f.Panels {
		if !f.Panels[i].isBlank() {
			d.drawPanel(i, boxes[i])
		}
	}

	if f.Note != "" {
		d.writeText(4, height-4, "note", "", shorten(f.Note, int(width/noteLetter)))
	}

	d.b.WriteString("</svg>\n")

	return d.b.Bytes()
}

// inlineHead completes the first tag of a figure in a page. The page draws a narrow figure no larger than its width.
func (d *drawing) inlineHead(width float64) {
	if width < defaultWidth {
		d.put(` style="max-width:%vpx"`, width)
	}

	d.put(` role="img" aria-label="%v">`, strings.TrimSpace(d.figure.Title+". "+d.figure.Desc))
}

// fileHead completes the first tag of a file, and writes the title, the style and the background.
func (d *drawing) fileHead(width, height float64) {
	f := d.figure
	fileWidth := px(width)
	fileHeight := px(height)
	if d.options.Millimetres > 0 {
		fileWidth = fmt.Sprintf("%.2fmm", d.options.Millimetres)
		fileHeight = fmt.Sprintf("%.2fmm", d.options.Millimetres/width*height)
	}

	d.put(` width="%v" height="%v" role="img" aria-labelledby="%v-t %v-d">`, fileWidth, fileHeight, f.ID, f.ID)
	d.put(`<title id="%v-t">%v</title><desc id="%v-d">%v</desc>`, f.ID, f.Title, f.ID, f.Desc)
	d.b.WriteString("\n<style>\n" + standalone() + "</style>\n")
	d.put(`<rect class="back" width="%v" height="%v"/>`, width, height)
}

// openPanel opens the group of panel i, from whose corner the coordinates of the panel count.
func (d *drawing) openPanel(i int, b box, attributes markup) {
	d.put(`<g class="panel" transform="translate(%v %v)" data-panel="%v"%v>`+"\n", b.x, b.y, d.figure.Panels[i].Title,
		attributes)
}

// writeText writes a text element.
func (d *drawing) writeText(x, y float64, class, anchor, content string) {
	d.write(textElement(x, y, class, anchor, content))
}

// writeUpright writes the label of the vertical axis, which reads upwards, at x px from the left of the panel.
func (d *drawing) writeUpright(x float64, b box, label string) {
	y := (b.top + b.bottom) / 2
	d.put(`<text transform="translate(%v %v) rotate(-90)" text-anchor="middle">%v</text>`+"\n", x, y, label)
}

// textElement returns a text element at a point of its base line. class and anchor are "" if the element has none.
// textElement returns "" if content is "".
func textElement(x, y float64, class, anchor, content string) markup {
	if content == "" {
		return ""
	}

	element := svg(`<text x="%v" y="%v"`, x, y)
	if class != "" {
		element += svg(` class="%v"`, class)
	}

	if anchor != "" {
		element += svg(` text-anchor="%v"`, anchor)
	}

	return element + svg(">%v</text>\n", content)
}

// panelAxes are the axes of a panel with their scales on the figure.
type panelAxes struct {
	x, y           Axis
	xScale, yScale scale
}

// drawPanel draws panel i into its box.
func (d *drawing) drawPanel(i int, b box) {
	panel := &d.figure.Panels[i]
	x, y := panel.ranges()
	axes := panelAxes{x, y, newScale(x, b.left, b.right), newScale(y, b.bottom, b.top)}

	d.openPanel(i, b, svg(` data-xscale="%v" data-yscale="%v" data-xlabel="%v" data-ylabel="%v"`, axes.xScale, axes.yScale,
		x.Label, y.Label))
	d.writeText(b.left, 15, "title", "", fittedText(panel.Title, (b.width-b.left)/titleWidth))
	d.write(b.legend)
	clip := fmt.Sprintf("%s-c%d", d.figure.ID, i)
	d.put(`<clipPath id="%v"><rect x="%v" y="%v" width="%v" height="%v"/></clipPath>`+"\n", clip, b.left, b.top,
		b.right-b.left, b.bottom-b.top)

	// Spans are drawn first, so that they lie below the grid. All other marks lie above it.
	d.drawMarks(panel, clip, true, axes)

	xGrid, xNumbers := axes.xNumbers(b)
	yGrid, yNumbers := axes.yNumbers(b)
	if grid := xGrid + yGrid; grid != "" {
		d.put(`<path class="grid" d="%v"/>`+"\n", grid)
	}

	d.drawMarks(panel, clip, false, axes)
	d.drawLabels(panel, axes)
	d.put(`<path class="axis" d="M%v %vV%vH%v"/>`+"\n", b.left, b.top, b.bottom, b.right)
	d.write(xNumbers + yNumbers)

	if b.showX {
		for k, line := range labelLines(x.Label, b.right-b.left+16) {
			d.writeText((b.left+b.right)/2, b.bottom+33+labelLine*float64(k), "", "middle", line)
		}
	}

	if b.showY {
		for k, line := range labelLines(y.Label, b.bottom-b.top+10) {
			d.writeUpright(11+labelLine*float64(k), b, line)
		}
	}

	d.b.WriteString("</g>\n")
}

// xNumbers draws the vertical lines of the grid, and the numbers below the panel. It leaves out numbers that would
// overlap the number before.
func (a *panelAxes) xNumbers(b box) (grid, numbers markup) {
	widest := math.Max(textWidth(tickNumber(round3(a.x.Min))), textWidth(tickNumber(round3(a.x.Max))))
	ticks := a.x.ticks(max(2, int((b.right-b.left)/math.Max(40, widest+14))))
	power := a.x.powers(ticks)

	end := math.Inf(-1) // right end of the number before, with a gap
	for _, tick := range ticks {
		position := a.xScale.place(tick)
		grid += svg("M%v %vV%v", position, b.top, b.bottom)

		label := tickText(tick, power)
		half := textWidth(label) / 2
		centre := max(half, min(position, b.width-half)) // the first and the last stay on the paper
		if !b.showX || centre-half < end {
			continue
		}

		const between = 10 // numbers, px
		end = centre + half + between
		numbers += textElement(centre, b.bottom+15, "tick", "middle", label)
	}

	return grid, numbers
}

// yNumbers draws the horizontal lines of the grid and the numbers on the left of the panel.
func (a *panelAxes) yNumbers(b box) (grid, numbers markup) {
	ticks := a.y.ticks(yTicks(b.bottom - b.top))
	power := a.y.powers(ticks)
	for _, tick := range ticks {
		position := a.yScale.place(tick)
		grid += svg("M%v %vH%v", b.left, position, b.right)

		if b.showY {
			numbers += textElement(b.left-6, position+3.6, "tick", "end", tickText(tick, power))
		}
	}

	return grid, numbers
}

// round3 rounds to three significant digits.
func round3(value float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64)
	if err != nil {
		return value
	}

	return rounded
}

// drawMarks draws the marks of the panel that lie below the grid, if below is true, or the marks above the grid.
func (d *drawing) drawMarks(panel *Panel, clip string, below bool, axes panelAxes) {
	d.put(`<g clip-path="url(#%v)">`+"\n", clip)

	for k := range panel.Marks {
		mark := &panel.Marks[k]
		if (mark.Kind == Span) == below {
			d.drawMark(mark, axes)
		}
	}

	d.b.WriteString("</g>\n")
}

// drawLabels writes the labels of the panel, without labels of points that have no place. Labels are not clipped to the
// plotting area, but stay below its upper edge.
func (d *drawing) drawLabels(panel *Panel, axes panelAxes) {
	for k := range panel.Marks {
		mark := &panel.Marks[k]
		if mark.Kind != Labels {
			continue
		}

		d.put(`<g class="mark" data-series="%v"%v>`, mark.Name, d.dataAttributes(mark))

		for i := range min(len(mark.X), len(mark.Y), len(mark.Text)) {
			if !axes.xScale.has(mark.X[i]) || !axes.yScale.has(mark.Y[i]) {
				continue
			}

			y := math.Max(axes.yScale.end+9, axes.yScale.place(mark.Y[i])-5)
			d.writeText(axes.xScale.place(mark.X[i]), y, "lab "+mark.Class, "middle", shorten(mark.Text[i], 24))
		}

		d.b.WriteString("</g>\n")
	}
}

// String returns the scale as an attribute of a panel: "lin" or "log", the range, and the places of its ends.
func (s scale) String() string {
	kind := "lin"
	if s.log {
		kind = "log"
	}

	low := strconv.FormatFloat(s.min, 'g', 9, 64)
	high := strconv.FormatFloat(s.max, 'g', 9, 64)

	return strings.Join([]string{kind, low, high, px(s.start), px(s.end)}, " ")
}

// px writes a coordinate with one decimal. A tenth of a pixel is a fiftieth of a millimetre
// if the figure is as wide as a page.
func px(coordinate float64) string {
	text := strings.TrimSuffix(strconv.FormatFloat(coordinate, 'f', 1, 64), ".0")
	if text == "-0" {
		return "0"
	}

	return text
}
