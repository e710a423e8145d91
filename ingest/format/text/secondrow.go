package text

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
)

// This file recognises the rows between the names and the data: units, positions of taps, and rows that are neither. A
// row whose cells are of another kind than all cells below them is not a sample, even if it has numbers. unitcells.go
// recognises the cells of units.

// cellKind is the kind of a cell, as far as its form shows it.
type cellKind uint8

const (
	emptyCell  cellKind = iota // or a sign that a value is missing
	numberCell                 // or a number with its unit
	timeCell                   // a date or a time of the day
	wordCell
)

// missingSigns are cells of rows of data that have no value. In a row of units, some of these say that a column has no
// unit (noUnits).
var missingSigns = []string{"-", "--", "---", "n/a", "na", "nan", "null", "none", "#n/a", "?"}

// kind returns the kind of a cell.
func (h *header) kind(cell []byte) cellKind {
	switch {
	case isMissing(cell):
		return emptyCell
	case isAnyNumber(cell) || h.isNumber(cell) || h.isQuantity(cell):
		return numberCell
	case timestamp.Match(cell) || timeOfDay.Match(cell):
		return timeCell
	case notFinite.Match(cell):
		return emptyCell
	default:
		return wordCell
	}
}

// isAnyNumber reports whether a cell is a number with either decimal sign: a header may have another than the rows.
func isAnyNumber(cell []byte) bool {
	_, hasPoint := Number(cell, '.')
	_, hasComma := Number(cell, ',')

	return hasPoint || hasComma
}

// notFinite matches numbers that are not finite, as Windows and others write them.
var notFinite = regexp.MustCompile(`(?i)^[-+]?(?:\d*\.?#(?:q?nan|ind|inf)\w*|inf|infinity|nan(?:[qs]|\(.*\))?|1\.#.*)$`)

// rowKind is the kind of a line with numbers below the names.
type rowKind int

const (
	rowOfData      rowKind = iota
	rowOfUnits             // its numbers, if any, are positions of their columns
	rowOfPositions         // with a label or nothing in front
	rowUnknown             // it differs from all rows below, and it is not clear that it has units or positions
)

// positionLabel matches the label in front of positions: x/c, y [mm], Position, theta.
var positionLabel = regexp.MustCompile(`(?i)^(?:[xyzrst]|x/?c|[xyzrs][/_]?[cbrdlhs]|xi|eta|pos(?:ition)?s?|` +
	`loc(?:ation)?s?|` +
	`coord(?:inate)?s?|station|chord|span|radius|ort|lage|theta|phi|angle|tap|height|depth|distance|abstand)` +
	`(?:[ _]?[\[(<{].*|[ _:=].*)?$`)

// kindOfRow returns the kind of line number row, which has numbers. Only a line below another one, and right above the
// data, can be a row of units or positions.
func (h *header) kindOfRow(row int) rowKind {
	line := h.lines[row].text
	cells := slices.Clone(h.cut(line)) // cut uses its buffer again
	mayBeHeader := row > 0 && len(cells) == h.cols
	if !mayBeHeader || matchRate(string(line)) != nil || !h.meetsData(row+1) {
		return rowOfData
	}

	below := h.kindsBelow(row + 1)
	found := h.countAboveNumbers(cells, below)
	if found.words == 0 {
		if below[0] == emptyCell {
			return rowOfData
		}

		return h.kindOfUnlabelled(row)
	}

	beginsWithWord := below[0] == numberCell && h.kind(cells[0]) == wordCell
	hasOnlyLabel := beginsWithWord && found.words == 1
	switch {
	case h.hasMissingValues(cells, found):
		return rowOfData
	case areUnitsBelow(cells):
		return rowOfUnits
	case hasOnlyLabel && positionLabel.Match(cells[0]) && h.hasNamesAbove(row):
		return rowOfPositions
	case hasOnlyLabel && h.isSetting(cells):
		return rowOfData // findFirstRow takes it for a setting
	case beginsWithWord || found.hasUnit || found.words > found.numbers:
		return rowUnknown
	}

	return rowOfData // a bad cell, which reading its column reports
}

// aboveNumbers counts the cells of a row in columns whose cells below are numbers.
type aboveNumbers struct {
	words   int
	numbers int
	hasUnit bool // one of the words is a unit without doubt
}

// countAboveNumbers counts the cells of a row that are above numbers. below has the kind of each column below the row.
func (h *header) countAboveNumbers(cells [][]byte, below []cellKind) aboveNumbers {
	var found aboveNumbers
	for i, cell := range cells {
		if below[i] != numberCell {
			continue
		}

		switch h.kind(cell) {
		case wordCell:
			found.words++
			found.hasUnit = found.hasUnit || isSureUnit(string(cell))
		case numberCell:
			found.numbers++
		}
	}

	return found
}

// hasMissingValues reports whether a row is a sample that begins with a number, and whose words are signs for missing
// values: 0.5,1.2,* or 0.5,.,. are samples. A row of units may have such signs, too, but its numbers are 1.
func (h *header) hasMissingValues(cells [][]byte, found aboveNumbers) bool {
	isSample := h.kind(cells[0]) == numberCell && !found.hasUnit
	return isSample && areUnitsBelow(cells) && !areOnes(cells)
}

// areOnes reports whether all numbers of a row are 1: in a row of units, a 1 says that a column has no unit.
func areOnes(cells [][]byte) bool {
	return !slices.ContainsFunc(cells, func(cell []byte) bool { return isAnyNumber(cell) && string(cell) != "1" })
}

// mostUnlabelled is the number of rows without a label that may be positions: one for each coordinate.
const mostUnlabelled = 3

// kindOfUnlabelled returns the kind of line number row, whose filled cells are numbers. A row whose first cell is empty
// has positions if it is below names, and if no later cell of the sample is empty. If a few rows begin with an empty
// cell, they may be positions or samples, and are unknown.
func (h *header) kindOfUnlabelled(row int) rowKind {
	end := row
	for end < len(h.lines) && len(h.cut(h.lines[end].text)[0]) == 0 {
		end++
	}

	count := end - row
	mayBePositions := count > 0 && h.isWholeBelow(end) && h.hasNamesAbove(row)
	switch {
	case !mayBePositions || count > mostUnlabelled:
		return rowOfData
	case count > 1:
		return rowUnknown
	}

	return rowOfPositions
}

// meetsData reports whether line number row is a row of data, or one of units or positions above such a row.
func (h *header) meetsData(row int) bool {
	if row >= len(h.lines) {
		return false
	}

	cells := h.cut(h.lines[row].text)
	numbers, _ := h.countNumbers(cells)
	isUnits := numbers == 0 && areUnitsBelow(cells)

	isOfHeader := isUnits && h.meetsData(row+1)

	return len(cells) == h.cols && (numbers > 0 || isOfHeader)
}

// kindsBelow returns for each column the kind of all its filled cells from line number row on, and wordCell if there
// are several kinds. It leaves out rows of units, and positions with a label.
func (h *header) kindsBelow(row int) []cellKind {
	kinds := make([]cellKind, h.cols)
	for _, line := range h.lines[row:] {
		cells := h.cut(line.text)
		if len(cells) != h.cols || h.isOfUnits(cells) || h.isLabelled(cells) {
			continue
		}

		for i, cell := range cells {
			kind := h.kind(cell)
			switch {
			case kind == emptyCell:
			case kinds[i] == emptyCell:
				kinds[i] = kind
			case kinds[i] != kind:
				kinds[i] = wordCell
			}
		}
	}

	return kinds
}

// isOfUnits reports whether cells are a row of units with fewer numbers than other cells.
func (h *header) isOfUnits(cells [][]byte) bool {
	numbers, others := h.countNumbers(cells)
	return others > numbers && areUnitsBelow(cells)
}

// isLabelled reports whether cells are positions behind a label: their name, their unit, or a sign that they have none.
func (h *header) isLabelled(cells [][]byte) bool {
	label := string(cells[0])
	isSign := isNoUnit(label) && !isAnyNumber(cells[0])
	isLabel := positionLabel.MatchString(label) || isLength(label) || isSign

	return isLabel && h.hasPositions(cells)
}

// isFilledBelow reports whether all rows from line number row on have a cell in a column.
func (h *header) isFilledBelow(row, col int) bool {
	for _, line := range h.lines[row:] {
		cells := h.cut(line.text)
		if col >= len(cells) || len(cells[col]) == 0 {
			return false
		}
	}

	return true
}

// isWholeBelow reports whether the rows from line number row on have no empty cells: no logger that leaves cells empty
// wrote them.
func (h *header) isWholeBelow(row int) bool {
	for col := range h.cols {
		if !h.isFilledBelow(row, col) {
			return false
		}
	}

	return row < len(h.lines)
}

// hasNamesAbove reports whether a line above line number row has words for most columns.
func (h *header) hasNamesAbove(row int) bool {
	for _, line := range h.lines[:row] {
		words := 0
		cells := h.headerCells(line.text)
		for _, cell := range cells {
			if h.kind(cell) == wordCell {
				words++
			}
		}

		if len(cells) == h.cols && 2*words > h.cols {
			return true
		}
	}

	return false
}

// unknownRowError returns the error of a row that is neither data nor units nor positions.
func (h *header) unknownRowError(row int) error {
	line := h.lines[row]
	below := h.kindsBelow(row + 1)
	found := strconv.Quote(fault.Clip(string(line.text)))
	place := fmt.Sprintf("line %d", line.mark.line)
	for i, cell := range h.cut(line.text) {
		if below[i] == numberCell && h.kind(cell) == wordCell {
			place = fmt.Sprintf("line %d, column %d", line.mark.line, i+1)
			found = fmt.Sprintf("%q above numbers", fault.Clip(string(cell)))

			break
		}
	}

	return fault.At(h.path, place, "a row of data, of units, or of positions", found,
		"begin the line with # if it is a remark, correct it if it is a sample, or write units as [N] and [-], and "+
			"positions behind a label such as x/c")
}

// takeRowsBelow takes units and positions from the rows between the names and the data. It warns of rows that are
// neither. It empties the texts of the lines that it takes.
func (h *header) takeRowsBelow(above []sampleLine, rows []headerRow) {
	unitsRow := h.unitsRow(rows)
	if unitsRow >= 0 && h.unitCells == nil {
		h.unitCells = rows[unitsRow].cells
	}

	for i, row := range slices.Backward(rows) {
		line := above[row.line]
		switch {
		case i == unitsRow || h.hasPositions(row.cells):
			if unitsRow < 0 {
				h.warnOfLabel(line, row.cells)
			}

			h.takePositions(row.cells)
			above[row.line].text = nil
		case !areUnitsBelow(row.cells) && !describesProcessing(row.cells):
			h.warnf("second-row", "", "line %d (%q) stands between the names and the data and is not understood as "+
				"units or positions: nothing is taken from it", line.mark.line, fault.Clip(string(line.text)))
		}
	}
}

// takeCommentedUnits takes the units from a comment between the names, in a line of their own, and the data: "# s N" or
// "% kN kN", whose sign may be the unit of the first column.
func (h *header) takeCommentedUnits(namesLine int64) {
	for _, comment := range h.comments {
		isBetween := comment.mark.line > namesLine && comment.mark.line < h.dataLine
		if !isBetween {
			continue
		}

		for _, text := range [][]byte{comment.text, []byte(commentText(comment.text))} {
			cells := h.headerCells(text)
			if h.unitCells != nil || len(cells) != h.cols {
				continue
			}

			// A word that begins with the sign of a comment is not a unit. A sign alone may be the unit of the first column.
			first := cells[0]
			isGlued := len(first) > 1 && strings.ContainsAny(string(first[:1]), "#%!")
			if !isGlued && areUnitsBelow(cells) {
				h.unitCells = cells
			}
		}
	}
}

// warnOfLabel warns of a row of positions that begins with a length. The length may be the unit of the first column. If
// all positions are 1, they may also say that the other columns have no unit: then nothing is taken from the row.
func (h *header) warnOfLabel(line sampleLine, cells [][]byte) {
	label := string(cells[0])
	if !isLength(label) {
		return
	}

	text := fault.Clip(string(line.text))
	if areOnes(cells) {
		h.warnf("second-row", "", "line %d (%q): %s is the unit of the first column or of positions: it is taken for "+
			"neither (write units as [%s] and [-])", line.mark.line, text, label, label)

		return
	}

	h.warnf("second-row", "", "line %d (%q): %s is taken for the unit of the positions behind it, not of the first column",
		line.mark.line, text, label)
}

// unitsRow returns the index of the row with the most units, or −1 if none has units. A row of positions may begin with
// their unit, or with a sign that they have none: it is not a row of units.
func (h *header) unitsRow(rows []headerRow) int {
	best := -1
	most := 0
	for i, row := range rows {
		words := 0
		for _, cell := range row.cells {
			if len(cell) > 0 && !isAnyNumber(cell) {
				words++
			}
		}

		label := string(row.cells[0])
		isLabel := isLength(label) || isNoUnit(label)
		isOfPositions := words == 1 && isLabel && h.hasPositions(row.cells)
		if words > most && areUnitsBelow(row.cells) && !isOfPositions {
			best = i
			most = words
		}
	}

	return best
}

// hasPositions reports whether a row has numbers, and at most a label beside them.
func (h *header) hasPositions(cells [][]byte) bool {
	numbers := 0
	words := 0
	for _, cell := range cells {
		switch h.kind(cell) {
		case numberCell:
			numbers++
		case wordCell:
			words++
		}
	}

	return numbers > 0 && words <= 1
}

// isPositions reports whether a row has positions behind a label.
func (h *header) isPositions(cells [][]byte) bool {
	return len(cells) == h.cols && positionLabel.Match(cells[0]) && h.hasPositions(cells)
}

// takePositions takes the numbers of a row below the names for the positions of their columns. Positions of a further
// row, such as y below x, are added to them. It takes nothing if all numbers are 1, unless the row names the
// coordinate: in a row of units, a 1 says that a column has no unit.
func (h *header) takePositions(cells [][]byte) {
	if len(cells) != h.cols {
		return
	}

	unit := ""
	if isLength(string(cells[0])) {
		unit = " " + string(cells[0])
	}

	positions := make([]string, h.cols)
	isPosition := h.isPositions(cells) && !isSureUnit(string(cells[0])) // also if all positions are 1
	for i, cell := range cells {
		v, ok := h.number(cell)
		if !ok { // a header may have another decimal sign than the rows
			v, ok = Number(cell, ',')
		}

		if !ok {
			v, ok = Number(cell, '.')
		}

		if !ok {
			continue
		}

		positions[i] = strconv.FormatFloat(v, 'g', -1, 64) + unit
		isPosition = isPosition || v != 1
	}

	switch {
	case !isPosition:
	case h.positions == nil:
		h.positions = positions
	default:
		for i, position := range positions {
			h.positions[i] = strings.Trim(h.positions[i]+", "+position, ", ")
		}
	}
}

// processing are words by which loggers say how they computed a value from samples.
var processing = strings.Fields("avg average mean smp sample std sd min max tot total raw inst rms med")

// describesProcessing reports whether all cells of a row are words of processing or empty, or number the columns.
func describesProcessing(cells [][]byte) bool {
	if areColumnNumbers(cells) {
		return true
	}

	for _, cell := range cells {
		if len(cell) > 0 && !slices.Contains(processing, strings.ToLower(string(cell))) {
			return false
		}
	}

	return true
}
