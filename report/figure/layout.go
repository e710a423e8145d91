package figure

import (
	"math"
	"slices"
	"strings"
)

// This file places the panels of a figure: grid divides the figure into rows and columns, and returns the box of each
// panel. Lengths are in px.

// box is the place of a panel.
type box struct {
	x, y, width, height      float64 // corner of the panel on the figure, and its size
	left, top, right, bottom float64 // edges of the plotting area, from the corner of the panel
	showX, showY             bool    // the axis has numbers and a label
	legend                   markup  // "" if the panel has no legend of its own
}

// isBlank reports whether nothing is drawn in the panel.
func (p *Panel) isBlank() bool { return len(p.Marks) == 0 && p.Title == "" }

// grid places the panels in rows, of which the first begins at top. It returns a box for each panel, and the place
// where the last row with the gap below it ends, which is at least leastHeight. All plotting areas of a row begin below
// the highest head of its panels, so that grid first finds the heads of a row.
func (d *drawing) grid(width, top float64) (boxes []box, height float64) {
	figure := d.figure
	columns := d.columns(width)

	y := top
	for i := 0; i < len(figure.Panels); i += len(columns) {
		x := 0.0
		head := 0.0 // height of the highest head of the row
		rowHeight := 0.0

		end := min(i+len(columns), len(figure.Panels))
		for k := i; k < end; k++ {
			b := d.headBox(k, x, y, columns[k-i].width)
			b.showX = !figure.Shared || k+len(columns) >= len(figure.Panels)
			b.showY = !figure.Shared || k == i
			boxes = append(boxes, b)
			head = math.Max(head, b.top)
			x += b.width + gutter
		}

		for k := i; k < end; k++ {
			b := &boxes[k]
			b.top = head
			b.placePlot(&figure.Panels[k], columns[k-i].left)

			if !figure.Panels[k].isBlank() {
				rowHeight = math.Max(rowHeight, b.height)
			}
		}

		y += rowHeight + rowGap
	}

	return boxes, math.Max(y, leastHeight)
}

// Lengths of panels.
const (
	rightMargin = 8.0  // right of a plotting area
	labelLine   = 14.0 // from one line of an axis's label to the next
	rowGap      = 6.0  // below a row of panels
	leastHeight = 20.0 // of all panels, also if nothing is drawn in them
)

// gridColumn is the width of a column of panels, and the margin left of their plotting areas.
type gridColumn struct{ width, left float64 }

// columns divides the width among the columns of panels. If the panels share their axes, the first column is wider,
// because it has the numbers, and all plotting areas have the same width.
func (d *drawing) columns(width float64) []gridColumn {
	figure := d.figure
	count := max(1, figure.Columns)
	cell := (width - gutter*float64(count-1)) / float64(count)
	columns := slices.Repeat([]gridColumn{{width: cell}}, count)

	// Panels of a column have the same margin, so that their vertical axes are in one line.
	for i := range figure.Panels {
		if panel := &figure.Panels[i]; !panel.isBlank() {
			column := &columns[i%count]
			column.left = math.Max(column.left, leftMargin(panel, cell))
		}
	}

	left := columns[0].left
	if figure.Shared && left > 0 {
		plot := (width - left - rightMargin - float64(count-1)*(gutter+rightMargin)) / float64(count)
		for k := range columns {
			columns[k] = gridColumn{width: plot + rightMargin}
		}

		columns[0] = gridColumn{width: left + plot + rightMargin, left: left}
	}

	return columns
}

// headBox returns the box of panel k with its corner, its width, its legend, and the upper edge of the plotting area,
// which is below the title and the legend. placePlot sets the other fields.
func (d *drawing) headBox(k int, x, y, width float64) box {
	b := box{x: x, y: y, width: width, top: 8}
	if d.figure.Panels[k].Title != "" {
		b.top += lineHeight
	}

	if d.figure.Shared {
		return b
	}

	legend, height := d.legend(d.figure.Panels[k:k+1], 4, b.top+5, b.width)
	b.legend = legend
	if height > 0 {
		b.top += height + 2
	}

	return b
}

// leftMargin returns the room that the numbers and the label of the vertical axis need, in
// a panel with the given width.
func leftMargin(panel *Panel, width float64) float64 {
	const usual = 60 // largest margins of most panels, to estimate the least height
	least := panel.plotHeight(width - usual)
	most := panel.plotHeight(width)
	_, y := panel.ranges()

	room := 0.0
	for count := yTicks(least); count <= yTicks(most); count++ { // the number of digits varies with the number of ticks
		ticks := y.ticks(count)
		for _, tick := range ticks {
			room = math.Max(room, textWidth(tickText(tick, y.powers(ticks))))
		}
	}

	if y.Label != "" {
		room += 4 + labelLine*float64(len(labelLines(y.Label, least)))
	}

	return room + 10
}

// yTicks returns about how many ticks a vertical axis of the given height has: from 3 to 9.
func yTicks(height float64) int {
	const distance = 26 // from one tick to the next, px
	return max(3, min(9, int(height/distance)))
}

// plotHeight returns the height of the plotting area for its width.
func (p *Panel) plotHeight(width float64) float64 {
	switch {
	case p.Square:
		return width
	case p.Height == 0:
		return 0.62 * width
	}

	return math.Min(p.Height, math.Max(70, width))
}

// labelLines returns the lines of an axis's label: one if it fits into room, and otherwise the name and the unit. It
// returns nil if label is "".
func labelLines(label string, room float64) []string {
	if label == "" {
		return nil
	}

	if place := strings.LastIndex(label, " ("); textWidth(label) > room && place > 0 {
		return []string{fittedText(label[:place], room), fittedText(label[place+1:], room)}
	}

	return []string{fittedText(label, room)}
}

// placePlot sets the edges of the plotting area, whose top is already set, and the height of the panel. left is the
// margin on the left.
func (b *box) placePlot(panel *Panel, left float64) {
	b.left = left
	b.right = b.width - rightMargin
	b.bottom = b.top + panel.plotHeight(b.right-b.left)
	b.height = b.bottom + 8
	if b.showX {
		b.height += 12
		if lines := len(labelLines(panel.X.Label, b.right-b.left+16)); lines > 0 {
			b.height += 4 + labelLine*float64(lines)
		}
	}
}
