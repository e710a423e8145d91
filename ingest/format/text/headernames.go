package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
)

// findNames finds the cells of the names and of the units of the columns among the lines above the data. If there are
// no lines above the data, it searches the comments, as numpy.savetxt and MATLAB write the header as a comment. Lines
// that neither name the columns nor give units become attributes. If no line names the columns, findNames warns; it
// returns an error if the line right above the data has another number of names than the data have columns.
func (h *header) findNames() error {
	above := h.linesAbove()
	fromComments := h.firstRow == 0
	if fromComments && len(h.options.Columns) == 0 {
		for _, c := range h.comments {
			if c.mark.line < h.dataLine && matchRate(commentText(c.text)) == nil {
				above = append(above, sampleLine{[]byte(commentText(c.text)), c.mark})
			}
		}
	}

	h.takeKeyedUnits(above)
	h.takeNames(above)
	if !fromComments && h.nameCells != nil && len(above) > 0 {
		h.takeCommentedUnits(above[0].mark.line)
	}

	if fromComments {
		return nil
	}

	for _, s := range above {
		h.keepAttribute(string(s.text))
	}

	if h.nameCells != nil || len(h.options.Columns) > 0 {
		return nil
	}

	last := h.lines[h.firstRow-1]
	cells := h.headerCells(last.text)
	if h.delim != ' ' && len(cells) > 1 && len(cells) != h.cols {
		return errorAt(h.path, last.mark.line, fmt.Sprintf("a header of %d names, as the rows have columns", h.cols),
			fault.Plural(int64(len(cells)), "name"), "correct it, or name the columns with text: {columns: […]}")
	}

	h.warnf("no-header", "", "line %d (%q) is not understood as a header of %s: the columns are numbered", last.mark.line,
		fault.Clip(string(last.text)), fault.Plural(int64(h.cols), "column"))

	return nil
}

// takeNames takes the names of the columns from the first source that has them. There may be none.
func (h *header) takeNames(above []sampleLine) {
	sources := []func(above []sampleLine) bool{
		h.takeListedNames, h.takeHeaderRow, h.takeOtherSeparator, h.takeNamesBesideNumbers,
	}
	for _, take := range sources {
		if take(above) {
			return
		}
	}
}

// linesAbove returns the lines above the data that may name the columns. It takes the rate from all lines above the
// data.
func (h *header) linesAbove() []sampleLine {
	above := make([]sampleLine, 0, h.firstRow)
	for _, line := range h.lines[:h.firstRow] {
		cells := h.cut(line.text)
		h.takeRate(string(line.text), line.mark.line)

		if h.hasTooFewUnits(line.text) {
			h.warnf("no-header", "", "line %d (%q) has a unit for %d of %d columns: none is taken", line.mark.line,
				fault.Clip(string(line.text)), len(h.headerCells(line.text)), h.cols)
			continue
		}

		if !areColumnNumbers(cells) && !h.isDecimalSetting(line.text, cells) {
			above = append(above, line)
		}
	}

	return above
}

// isDecimalSetting reports whether a line, cut into cells, is a setting with a decimal point rather than a row of units
// or positions.
func (h *header) isDecimalSetting(line []byte, cells [][]byte) bool {
	numbers, _ := h.countNumbers(cells)
	hasFraction := numbers > 0 && bytes.IndexByte(line, '.') > 0
	isBelowNames := h.isPositions(cells) || areUnitsBelow(cells)

	return hasFraction && !isBelowNames && h.isSetting(cells)
}

// hasTooFewUnits reports whether a line has units, but not for all columns. If blanks separate the cells, it is not
// known which columns have the units.
func (h *header) hasTooFewUnits(line []byte) bool {
	cells := h.headerCells(line)
	hasUnits := areUnits(cells) || areUnitsBelow(cells)

	return h.delim == ' ' && len(cells) != h.cols && hasUnits
}

// headerRow is a line that may name the columns.
type headerRow struct {
	cells   [][]byte
	line    int     // its index among the lines above the data
	penalty float64 // of its score, for its distance from the data
}

// namesTime reports whether the first cell names the time.
func (r headerRow) namesTime() bool {
	_, ok := clock.Named(SplitUnit(raw.Decoded(r.cells[0])))
	return ok
}

// rowKey is the kind of the key that begins a line in headers of oscilloscopes.
type rowKey int

const (
	noKey      rowKey = iota
	keyOfNames        // TraceName
	keyOfUnits        // VUnit
	keyOfFile         // any other key: it is about the whole file
)

// keyLine matches a key. Its first group is a key of names, its second a key of units. Both are empty for keys of the
// whole file.
var keyLine = regexp.MustCompile(`(?i)^(?:((?:trace ?)?name|channel|source|waveform)|((?:v|vertical )?units?)|` +
	`h(?:orizontal )?units?|.*:) ?:?$`)

// rowKey returns the kind of the key in the first cell of a line. A line without cells, whose last cell ends with a
// colon, or whose cells are separated by blanks, has no key.
func (h *header) rowKey(cells [][]byte) rowKey {
	if len(cells) == 0 {
		return noKey // an empty comment
	}

	endsWithColon := bytes.HasSuffix(cells[len(cells)-1], []byte{':'})
	if h.delim == ' ' || endsWithColon {
		return noKey
	}

	m := keyLine.FindSubmatch(cells[0])
	switch {
	case m == nil:
		return noKey
	case m[1] != nil:
		return keyOfNames
	case m[2] != nil:
		return keyOfUnits
	}

	return keyOfFile
}

// increment is the name of the column of the step of time in files of Rigol.
const increment = "increment"

// takeKeyedUnits takes the units from the first line with a key of units.
func (h *header) takeKeyedUnits(above []sampleLine) {
	for _, line := range above {
		cells := h.headerCells(line.text)
		if h.rowKey(cells) != keyOfUnits {
			continue
		}

		units := h.behindKey(cells)
		if len(units) != h.cols {
			continue
		}

		h.unitCells = slices.Clone(units)
		if len(units) == len(cells) {
			h.unitCells[0] = nil // the key is in the place of the first unit
		}

		return
	}
}

// behindKey returns the cells of a line with a key that belong to columns. The key has its own cell if the line has one
// cell more than there are columns.
func (h *header) behindKey(cells [][]byte) [][]byte {
	if len(cells) == h.cols+1 {
		return cells[1:]
	}

	return cells
}

// headerRows returns the lines above the data that may name the columns, the nearest first. These are the lines with a
// key of names, and the lines without a key between which and the data all lines are of the header.
func (h *header) headerRows(above []sampleLine) []headerRow {
	headerWidth := h.headerWidth(above)
	fromComments := h.firstRow == 0
	isNear := true // all lines between this line and the data are of the header

	var rows []headerRow
	for i, line := range slices.Backward(above) {
		cells := h.headerCells(line.text)
		key := h.rowKey(cells)
		if key == keyOfUnits || key == keyOfFile {
			isNear = false
			continue
		}

		row := headerRow{cells: cells, line: i, penalty: lineFarther * float64(len(rows))}
		if key == keyOfNames {
			row.cells = h.behindKey(cells)
			row.penalty = 0
		}

		fits := len(row.cells) == h.cols
		if !fits && len(cells) != headerWidth {
			isNear = false
		}

		numbers, _ := h.countNumbers(cells)
		if fromComments && h.describesFile(line.text, numbers) {
			isNear = false
		}

		isKeyed := key == keyOfNames && fits
		isNearest := key == noKey && isNear
		if isKeyed || isNearest {
			rows = append(rows, row)
		}
	}

	return rows
}

// headerWidth returns the number of cells of a header. It is the number of columns, but for files of Rigol, which have
// X,CH1,Start,Increment above Sequence,Volt,0,1e-6 and rows of two cells.
func (h *header) headerWidth(above []sampleLine) int {
	width := h.cols
	for _, line := range above {
		cells := h.headerCells(line.text)
		if len(cells) == h.cols+2 && strings.EqualFold(string(cells[h.cols+1]), increment) {
			width = len(cells)
		}
	}

	return width
}

// describesFile reports whether a comment is about the file rather than its columns. numbers is the number of its cells
// with numbers.
func (h *header) describesFile(comment []byte, numbers int) bool {
	isKeyAndValue := h.cols == 1 && bytes.ContainsAny(comment, ":=")
	return numbers > 0 || len(comment) == 0 || isKeyAndValue
}

// takeHeaderRow takes the names from the row that names the columns best, and the units from the row above or below it.
// It empties the texts of the lines that it takes, and reports whether a row names the columns.
func (h *header) takeHeaderRow(above []sampleLine) bool {
	rows := h.headerRows(above)
	fillFirstCells(rows)

	best := h.bestNames(rows)
	if best < 0 {
		return false
	}

	h.nameCells = rows[best].cells
	above[rows[best].line].text = nil
	h.fillNames(rows[best+1:])
	h.takeRowsBelow(above, rows[:best])
	if next := best + 1; h.unitCells == nil && next < len(rows) && areUnits(rows[next].cells) {
		h.unitCells = rows[next].cells
		above[rows[next].line].text = nil
	}

	if h.unitCells == nil && namesAreUnits(h.nameCells) {
		h.unitCells = h.nameCells
	}

	return true
}

// fillFirstCells fills the empty first cell of a row with the first cell of the row above if that names the time:
// Time,Balance is above ,Fx.
func fillFirstCells(rows []headerRow) {
	for i := range len(rows) - 1 {
		cells := rows[i].cells
		isWithoutFirst := len(cells[0]) == 0 && !areUnits(cells) && !areSerialNumbers(cells)
		if isWithoutFirst && rows[i+1].namesTime() {
			cells[0] = rows[i+1].cells[0]
		}
	}
}

// fillNames fills empty names with the cells of the rows above the names: t,Balance,Wind is above t,Fx, with an empty
// third cell.
func (h *header) fillNames(rowsAbove []headerRow) {
	for _, row := range rowsAbove {
		if areUnits(row.cells) || len(row.cells) != h.cols {
			continue
		}

		for i, cell := range row.cells { // the row of names may have more cells, in files of Rigol
			if len(h.nameCells[i]) == 0 {
				h.nameCells[i] = cell
			}
		}
	}
}

// Scores of the lines above the data. A name of its own in every column gives 1.
const (
	nameEmpty   = 0.4  // of a cell without name
	nameUnit    = 0.7  // of a unit or a number as a name
	nameAgain   = 0.5  // factor of a name that occurs again
	lineFarther = 0.2  // is taken off for each line that is nearer to the data
	unitsFollow = 0.05 // is added if units follow
	unitsBelow  = 0.01 // at most, of a row of nothing but units and positions below names: less than of any names
	nearestTime = 0.25 // is added to the nearest line that begins with the time
)

// bestNames returns the index of the row that names the columns best, or −1 if there are none.
func (h *header) bestNames(rows []headerRow) int {
	best := -1
	highest := 0.0
	foundTime := false
	for i, row := range rows {
		score := h.nameScore(row.cells) - row.penalty
		isNameRow := func(other headerRow) bool { return !h.areHardlyNames(other.cells) }
		if h.areHardlyNames(row.cells) && slices.ContainsFunc(rows[i+1:], isNameRow) {
			score = min(score, unitsBelow)
		}

		if row.namesTime() && !foundTime { // AI0,AI1 are below Time,Fx
			score += nearestTime
			foundTime = true
		}

		if followers := h.countFollowers(rows[:i]); followers > 0 {
			score += lineFarther*float64(followers) + unitsFollow
		}

		if score > highest {
			best = i
			highest = score
		}
	}

	return best
}

// countFollowers returns the number of rows right below a row that have units or positions. rows are the rows below it,
// the nearest to the data first.
func (h *header) countFollowers(rows []headerRow) int {
	count := 0
	for _, row := range slices.Backward(rows) {
		if !areUnitsBelow(row.cells) && !h.hasPositions(row.cells) {
			break
		}

		count++
	}

	return count
}

// serialNumber matches the serial number of a sensor: SN1234, S/N 1234.
var serialNumber = regexp.MustCompile(`(?i)^(?:s/?n|ser(?:ial)?)[ .:#_-]*\d{2,}$`)

// areSerialNumbers reports whether the filled cells of a row are serial numbers.
func areSerialNumbers(cells [][]byte) bool {
	return !slices.ContainsFunc(cells, func(cell []byte) bool { return len(cell) > 0 && !serialNumber.Match(cell) })
}

// nameScore returns how well cells name the columns, at most 1.
func (h *header) nameScore(cells [][]byte) float64 {
	sum := 0.0
	seen := map[string]bool{}
	for _, cell := range cells {
		name := string(cell)
		score := 1.0
		switch {
		case name == "":
			score = nameEmpty
		case isAnyNumber(cell), timestamp.Match(cell), serialNumber.Match(cell):
			score = nameUnit
		case isSureUnit(name), isNoUnit(name):
			score = nameUnit
		}

		if name != "" && seen[name] {
			score *= nameAgain
		}

		seen[name] = true
		sum += score
	}

	return sum / float64(len(cells))
}

var (
	listLine = regexp.MustCompile(`(?i)^\s*(?:variables|columns|channels|fields)\s*[=:](.*)`)
	listItem = regexp.MustCompile(`"[^"]*"|[^\s,;"]+`)
)

// otherNames are the separators of a header whose rows are separated in another way, with their words.
var otherNames = []struct {
	delim byte
	word  string
}{{',', "commas"}, {';', "semicolons"}, {'\t', "tabs"}}

// takeOtherSeparator takes the names from the line right above the data if it is separated in another way than the
// rows, such as Z[mm],p[Pa] above rows with tabs, and reports whether it is. Each name must be one word with a unit at
// most: a title is not names.
func (h *header) takeOtherSeparator(above []sampleLine) bool {
	if len(above) == 0 || h.cols < 2 {
		return false
	}

	last := &above[len(above)-1]
	for _, other := range otherNames {
		names := (&layout{delim: other.delim, decimal: '.'}).split(nil, last.text)
		isTitle := slices.ContainsFunc(names, func(name []byte) bool { return !isOneName(name) })
		if other.delim == h.delim || len(names) != h.cols || isTitle {
			continue
		}

		h.warnf("header-separator", "", "line %d (%q) is separated by %s and the rows are not: it is taken for their header",
			last.mark.line, fault.Clip(string(last.text)), other.word)
		h.nameCells = names
		last.text = nil

		return true
	}

	return false
}

// takeNamesBesideNumbers takes the names from the line right above the data if it has one name less than there are
// columns and the first column numbers the rows from 1, as R writes tables: that column has no name. It reports whether
// there are such names.
func (h *header) takeNamesBesideNumbers(above []sampleLine) bool {
	if len(above) == 0 || h.cols < 2 {
		return false
	}

	last := &above[len(above)-1]
	names := h.split(nil, last.text)
	hasOther := slices.ContainsFunc(names, func(name []byte) bool { return !isOneName(name) })
	if len(names) != h.cols-1 || hasOther || !h.numbersRows() {
		return false
	}

	h.nameCells = append([][]byte{nil}, names...)
	last.text = nil

	return true
}

// numbersRows reports whether the first column counts at least two rows from 1.
func (h *header) numbersRows() bool {
	rows := h.lines[h.firstRow:]
	for i, line := range rows {
		cells := h.cut(line.text)
		if len(cells) == 0 || string(cells[0]) != strconv.Itoa(i+1) {
			return false
		}
	}

	return len(rows) > 1
}

// isOneName reports whether a cell is one word that is not a number, with a unit at most.
func isOneName(cell []byte) bool {
	name, _ := SplitUnit(raw.Decoded(cell))
	return name != "" && !isAnyNumber(cell) && !strings.ContainsAny(name, " \t:=")
}

// takeListedNames takes the names from the first line that lists them, and reports whether one does.
func (h *header) takeListedNames(above []sampleLine) bool {
	for i := range above {
		h.nameCells = h.listedNames(above[i:])
		if h.nameCells != nil {
			return true
		}
	}

	return false
}

// listedNames returns the names that the first line lists, with the names in quotes on the lines below it, as Tecplot's
// VARIABLES = "x", "y". It returns nil unless there is one for each column.
func (h *header) listedNames(lines []sampleLine) [][]byte {
	m := listLine.FindSubmatch(lines[0].text)
	if m == nil {
		return nil
	}

	text := slices.Clone(m[1])
	for i := 1; i < len(lines) && bytes.HasPrefix(lines[i].text, []byte{'"'}); i++ {
		text = append(text, ' ')
		text = append(text, lines[i].text...)
	}

	names := listItem.FindAll(text, -1)
	if len(names) != h.cols || h.cols < 2 {
		return nil
	}

	for i, name := range names {
		names[i] = bytes.Trim(name, `"`)
	}

	return names
}

// blankForms match names that blanks separate but that contain blanks too: in brackets; in and before brackets; single
// ones.
var blankForms = []*regexp.Regexp{
	regexp.MustCompile(`(?:[\[(][^\])]*[\])]|[^\s\[(])+`),
	regexp.MustCompile(`(?:\s*[\[(][^\])]*[\])]|[^\s\[(])+`),
	regexp.MustCompile(`\S+(?: \S+)*`),
}

// headerCells splits a line of a header. If blanks separate the names, the names may contain some: the form of names
// that gives one for each column is taken.
func (l *layout) headerCells(line []byte) [][]byte {
	cells := l.split(nil, line)
	for n := len(cells); n > l.cols && l.cols > 0 && bytes.IndexByte(cells[n-1], '=') >= 0; n-- {
		cells = cells[:n-1] // Rigol: t0 = 0, tInc = 1e-6
	}

	if l.delim != ' ' || len(cells) == l.cols {
		return cells
	}

	for _, form := range blankForms {
		if names := form.FindAll(line, -1); len(names) == l.cols {
			return names
		}
	}

	return cells
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
