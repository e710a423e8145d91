package text

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
)

// This file recognises the rows between the names and the data: units, positions of taps, and rows that are neither. A
// row whose cells are of another kind than all cells below is no sample, whatever its numbers are.

// cellKind is what the form of a cell shows it to be.
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

// kind returns what the form of a cell shows it to be.
func (h *header) kind(cell []byte) cellKind {
	switch {
	case len(cell) == 0 || slices.Contains(missingSigns, strings.ToLower(string(cell))):
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

// secondRow is what a line between the names and the data is.
type secondRow int

const (
	rowOfData      secondRow = iota
	rowOfUnits               // and, of columns with numbers in it, positions
	rowOfPositions           // with a label or nothing in front
	rowUnknown               // it differs from all rows below, and nobody knows what it is
)

// positionLabel matches the label in front of positions: x/c, y [mm], Position, theta.
var positionLabel = regexp.MustCompile(`(?i)^(?:[xyzrst]|x/?c|[xyzrs][/_]?[cbrdlhs]|xi|eta|pos(?:ition)?s?|` +
	`loc(?:ation)?s?|` +
	`coord(?:inate)?s?|station|chord|span|radius|ort|lage|theta|phi|angle|tap|height|depth|distance|abstand)` +
	`(?:[ _]?[\[(<{].*|[ _:=].*)?$`)

// secondRow returns what line number row is, which has numbers. Only a line below another can be a row of units or
// positions.
func (h *header) secondRow(row int) secondRow {
	line := h.lines[row].text
	if row == 0 || len(h.cut(line)) != h.cols || matchRate(string(line)) != nil || !h.meetsData(row+1) {
		return rowOfData
	}

	cells := slices.Clone(h.cut(line)) // cut uses its buffer again

	below := h.kindsBelow(row + 1)
	odd := 0     // words above numbers
	numbers := 0 // numbers above numbers
	hasUnit := false
	for i, cell := range cells {
		switch kind := h.kind(cell); {
		case below[i] != numberCell:
		case kind == wordCell:
			odd++
			hasUnit = hasUnit || isSureUnit(string(cell))
		case kind == numberCell:
			numbers++
		}
	}

	isFirstOdd := below[0] == numberCell && h.kind(cells[0]) == wordCell
	isFirstEmpty := len(cells[0]) == 0 && below[0] != emptyCell && h.isFilledBelow(row+1, 0)
	switch {
	case odd == 0 && isFirstEmpty && h.isWholeBelow(row+1) && h.hasNamesAbove(row):
		return rowOfPositions
	case odd == 0:
		return rowOfData
	case areUnitsBelow(cells):
		return rowOfUnits
	case isFirstOdd && odd == 1 && positionLabel.Match(cells[0]) && h.hasNamesAbove(row):
		return rowOfPositions
	case isFirstOdd && odd == 1 && h.isSetting(cells):
		return rowOfData // findFirstRow takes it for a setting
	case isFirstOdd || hasUnit || odd > numbers:
		return rowUnknown
	}

	return rowOfData // a bad cell, which reading its column reports
}

// meetsData reports whether line number row is a row of data, or one of units or positions above such a row.
func (h *header) meetsData(row int) bool {
	if row >= len(h.lines) {
		return false
	}

	cells := h.cut(h.lines[row].text)
	numbers, _ := h.countNumbers(cells)
	isUnits := numbers == 0 && areUnitsBelow(cells)

	return len(cells) == h.cols && (numbers > 0 || isUnits && h.meetsData(row+1))
}

// kindsBelow returns for each column the kind of all its filled cells from line number row on, and wordCell if there
// are several kinds.
func (h *header) kindsBelow(row int) []cellKind {
	kinds := make([]cellKind, h.cols)
	for _, line := range h.lines[row:] {
		cells := h.cut(line.text)
		if len(cells) != h.cols || h.isOfUnits(cells) {
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

// isOfUnits reports whether cells are a row of units, of which at least one is no number.
func (h *header) isOfUnits(cells [][]byte) bool {
	numbers, others := h.countNumbers(cells)
	return others > numbers && areUnitsBelow(cells)
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
		"begin the line with # if it is a remark, correct it if it is a sample, or write units as [N] and [-]")
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
			if label := string(row.cells[0]); unitsRow < 0 && isLength(label) {
				h.warnf("second-row", "", "line %d (%q): %s is taken for the unit of the positions behind it, not of the "+
					"first column", line.mark.line, fault.Clip(string(line.text)), label)
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

			// A sign that touches a word makes the word no unit. Alone the sign may stand for the first column's unit.
			isMarked := len(cells[0]) == 0 || !strings.ContainsAny(string(cells[0][:1]), "#%!") || len(cells[0]) == 1
			if isMarked && areUnitsBelow(cells) {
				h.unitCells = cells
			}
		}
	}
}

// unitsRow returns the index of the row with the most units, or −1 if none has units. A unit of length or none in
// front of positions is theirs.
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
		isOfPositions := words == 1 && h.hasPositions(row.cells) && (isLength(label) || isNoUnit(label))
		if words > most && areUnitsBelow(row.cells) && !isOfPositions {
			best = i
			most = words
		}
	}

	return best
}

// isLength reports whether a cell is a unit of lengths: that of the positions behind it.
func isLength(cell string) bool {
	u, err := units.Parse(cell)
	return err == nil && u.Dimension == units.Dimension{Length: 1}
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

// takePositions takes the numbers of a row below the names for the positions of their columns. A row of units has a 1
// for numbers without a unit.
func (h *header) takePositions(cells [][]byte) {
	if len(cells) != h.cols {
		return
	}

	unit := ""
	if isLength(string(cells[0])) {
		unit = " " + string(cells[0])
	}

	positions := make([]string, h.cols)
	isPosition := false
	for i, cell := range cells {
		v, ok := h.number(cell)
		if !ok {
			v, ok = Number(cell, ',')
		}

		if !ok {
			continue
		}

		positions[i] = strconv.FormatFloat(v, 'g', -1, 64) + unit
		isPosition = isPosition || v != 1
	}

	if isPosition {
		h.positions = positions
	}
}

// processing are words by which loggers say how they made a value of samples.
var processing = strings.Fields("avg average mean smp sample std sd min max tot total raw inst rms med")

// describesProcessing reports whether all words of a row are of processing, or all cells number the columns.
func describesProcessing(cells [][]byte) bool {
	if numbersColumns(cells) {
		return true
	}

	for _, cell := range cells {
		if len(cell) > 0 && !slices.Contains(processing, strings.ToLower(string(cell))) {
			return false
		}
	}

	return true
}

// noUnits are cells of a row of units that say that a column has none.
var noUnits = strings.Fields("/ - -- --- – — * . # _ n/a none 1 No No. Nr Nr. no no. nr nr. adim dimensionless " +
	"unitless [] () [-] (-) [/] (/) <-> text string bool")

// isNoUnit reports whether a cell says that a column has no unit.
func isNoUnit(cell string) bool { return slices.Contains(noUnits, cell) }

// aliases are units as people write them in rows of units, in lower case without blanks, points and underlines.
var aliases = map[string]string{
	"degrc": "°C", "degrf": "°F", "gradc": "°C", "grdc": "°C", "°c": "°C", "degcelsius": "°C", "degc": "°C",
	"degreesc": "°C", "degreec": "°C", "degf": "°F", "oc": "°C", "degree": "deg", "degrees": "deg", "degr": "deg",
	"deg": "deg", "grad": "deg", "mtr": "m", "sec": "s", "msec": "ms", "usec": "us", "volt": "V", "volts": "V",
	"amp": "A", "amps": "A", "newton": "N", "newtons": "N", "pascal": "Pa", "kelvin": "K", "degk": "K", "watt": "W",
	"hertz": "Hz", "u/min": "1/min", "rev/min": "1/min", "min-1": "1/min", "meter": "m", "metre": "m", "m/sec": "m/s",
	"meter/s": "m/s",
}

// withoutMarks removes blanks, points, underlines and brackets.
var withoutMarks = strings.NewReplacer(" ", "", ".", "", "_", "", "[", "", "]", "", "(", "", ")", "")

// aliasOf returns the unit that a cell writes in another way, or "".
func aliasOf(cell string) string {
	return aliases[withoutMarks.Replace(strings.ToLower(cell))]
}

var (
	// clockForm matches the form of dates and times: H:M:S, hh:mm:ss.fff, dd.mm.yyyy.
	clockForm = regexp.MustCompile(`(?i)^[\[(]?[hmsdyjtf]{1,4}(?:[:./ T-][hmsdyjtf]{1,6}){1,6}[\])]?$`)
	// ratioForm matches a length that is divided by another: x/c, r/R, %c.
	ratioForm = regexp.MustCompile(`(?i)^[\[(]?(?:[xyzrs]/[cbrdlhs]|%? ?(?:of )?(?:chord|span)|% ?c)[\])]?$`)
)

// isSureUnit reports whether a cell is a unit and hardly a name.
func isSureUnit(cell string) bool {
	isClock := clockForm.MatchString(cell) && strings.Contains(cell, ":")
	return isUnit(cell) && !isNoUnit(cell) || aliasOf(cell) != "" || isClock
}

// mayBeUnit reports whether a cell can be a unit where it stands below a name.
func mayBeUnit(cell string) bool {
	if isSureUnit(cell) || isNoUnit(cell) || clockForm.MatchString(cell) || ratioForm.MatchString(cell) {
		return true
	}

	_, err := units.Parse(cell)

	return err == nil
}

// areUnitsBelow reports whether a row below the names has units: most of its words are, and one is for sure, or all say
// that there is no unit.
func areUnitsBelow(cells [][]byte) bool {
	sure := 0
	possible := 0
	none := 0
	words := 0
	for _, cell := range cells {
		if isAnyNumber(cell) || len(cell) == 0 {
			continue
		}

		unit := string(bytes.TrimSpace(cell))
		words++
		switch {
		case isNoUnit(unit):
			none++
			possible++
		case isSureUnit(unit):
			sure++
			possible++
		case mayBeUnit(unit):
			possible++
		}
	}

	isWithoutUnits := none > 0 && none == words

	return isWithoutUnits || sure > 0 && 2*possible > words
}

// unitBelow returns the unit in a cell of a row of units, in the usual spelling.
func unitBelow(cell string) string {
	if isNoUnit(cell) || ratioForm.MatchString(cell) {
		return ""
	}

	return cmp.Or(aliasOf(cell), unitOf(cell))
}

// namesAreUnits reports whether cells that name the columns are nothing but units: each is then the unit of its column
// too. A single letter may be a quantity, such as a speed V.
func namesAreUnits(cells [][]byte) bool {
	const shortest = 2 // letters of a unit that is no quantity
	for _, cell := range cells {
		if len(cell) < shortest || !isSureUnit(string(cell)) {
			return false
		}
	}

	return len(cells) > 1
}

// areHardlyNames reports whether a row has nothing but units and positions, and not only single letters, which might
// name quantities.
func (h *header) areHardlyNames(cells [][]byte) bool {
	if h.isPositions(cells) {
		return true
	}

	isSure := false
	for _, cell := range cells {
		unit := string(cell)
		switch {
		case len(cell) == 0:
		case isAnyNumber(cell):
			isSure = true
		case !mayBeUnit(unit):
			return false
		case isNoUnit(unit), ratioForm.MatchString(unit), len(cell) > 1 && isSureUnit(unit):
			isSure = true
		}
	}

	return isSure
}
