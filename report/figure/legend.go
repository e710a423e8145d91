package figure

import (
	"math"
)

// legend returns the legend of some panels, in rows from left to width below y, and its height. It returns "" and 0 if
// no mark has a name for the legend.
func (d *drawing) legend(panels []Panel, left, y, width float64) (legend markup, height float64) {
	entries := legendEntries(panels)
	if len(entries) == 0 {
		return "", 0
	}

	legend = `<g class="legend">` + "\n"
	x := left
	first := y // middle of the first row; y is the middle of the current row
	for _, mark := range entries {
		name := fittedText(mark.Name, width-left-30)
		entryWidth := 28 + textWidth(name)
		if x > left && x+entryWidth > width {
			x = left
			y += lineHeight
		}

		legend += swatch(mark, x, y) + textElement(x+27, y+4, "", "", name)
		x += entryWidth + 14
	}

	return legend + "</g>\n", y - first + lineHeight
}

// legendEntries returns the first mark of each name, without marks that are quiet or have no name.
func legendEntries(panels []Panel) []*Mark {
	var entries []*Mark
	seen := map[string]bool{"": true}
	for i := range panels {
		for k := range panels[i].Marks {
			mark := &panels[i].Marks[k]
			if mark.Quiet || mark.Kind == Labels || seen[mark.Name] {
				continue
			}

			seen[mark.Name] = true
			entries = append(entries, mark)
		}
	}

	return entries
}

// swatch draws the sample of a mark in the legend, 22 px wide, with its left end at x and its middle at the height y.
func swatch(mark *Mark, x, y float64) markup {
	switch mark.Kind {
	case Band, Span:
		return svg(`<rect class="band %v" x="%v" y="%v" width="22" height="10"/>`, mark.Class, x, y-5)
	case Points:
		return svg(`<path class="%v" d="%v"/>`, mark.pointClass(), outline(mark.Shape, x+11, y, math.Max(mark.Size, 2.6)))
	case Bars:
		return svg(`<path class="bar %v" d="M%v %vv12m-3 0h6m-6 -12h6"/>`, mark.Class, x+11, y-6) +
			svg(`<path class="%v" d="%v"/>`, mark.pointClass(), outline(mark.Shape, x+11, y, 2.6))
	}

	return svg(`<path class="%v" d="M%v %vh22"/>`, mark.lineClass(), x, y)
}
