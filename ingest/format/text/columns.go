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
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// nameColumns sets the names and units of the columns: the user's names, otherwise the cells of the header, otherwise
// numbers. It takes the rate from the cell below the name "increment".
func (h *header) nameColumns() error {
	byUser := len(h.options.Columns)
	if byUser != 0 && byUser != h.cols {
		return errorAt(h.path, h.dataLine, fmt.Sprintf("%d columns as named in the configuration", byUser),
			strconv.Itoa(h.cols), "")
	}

	h.names = make([]string, h.cols)
	h.units = make([]string, h.cols)
	h.heads = make([]string, h.cols)
	h.numeric = make([]bool, h.cols)
	h.timeForms = make([][]timeForm, h.cols)
	h.takeIncrement()

	for i := range h.cols {
		if err := h.nameColumn(i); err != nil {
			return err
		}
	}

	h.keepHeadsOfEqualNames()

	return nil
}

// takeIncrement takes the rate from the step of time in the units below the name "increment". Files of Rigol have it
// there, behind the last column.
func (h *header) takeIncrement() {
	for i, cell := range h.unitCells {
		if i >= len(h.nameCells) || !strings.EqualFold(string(h.nameCells[i]), increment) {
			continue
		}

		if step, ok := h.number(cell); ok && step > 0 {
			h.rateHz = 1 / step
		}
	}
}

// nameColumn sets the name, the unit and the header of column i.
func (h *header) nameColumn(i int) error {
	h.names[i] = strconv.Itoa(i + 1)
	if h.nameCells != nil && len(h.nameCells[i]) > 0 {
		head, err := h.toUTF8(h.nameCells[i])
		if err != nil {
			return err
		}

		h.heads[i] = head
		h.names[i], h.units[i] = SplitUnit(head)
	}

	if h.unitCells != nil {
		unit, err := h.toUTF8(h.unitCells[i])
		if err != nil {
			return err
		}

		if !isAnyNumber(h.unitCells[i]) {
			h.units[i] = cmp.Or(unitBelow(unit), h.units[i])
		}
	}

	if len(h.options.Columns) == 0 {
		return nil
	}

	h.names[i] = h.options.Columns[i]
	h.heads[i] = ""
	if name, unit := SplitUnit(h.options.Columns[i]); unit != "" {
		h.names[i] = name
		h.units[i] = unit
		h.heads[i] = h.options.Columns[i]
	}

	return nil
}

// keepHeadsOfEqualNames keeps the whole headers as names of columns that would have equal names without the texts that
// were taken for units: Cp (x/c=0.5), Cp (x/c=0.6).
func (h *header) keepHeadsOfEqualNames() {
	areNumbered := h.nameCells == nil && len(h.options.Columns) == 0
	if areNumbered {
		return // no two names are equal, and there may be thousands of columns
	}

	for _, same := range lists.Alike(h.names) {
		if len(same) < 2 {
			continue
		}

		for _, i := range same {
			isShortened := h.heads[i] != "" && h.heads[i] != h.names[i]
			if isShortened && !slices.Contains(knownUnits, h.units[i]) {
				h.names[i] = h.heads[i]
				h.units[i] = ""
			}
		}
	}
}

// toUTF8 returns a cell of the header as UTF-8. If the user names the columns, the encoding of the header does not
// matter.
func (h *header) toUTF8(cell []byte) (string, error) {
	if len(h.options.Columns) > 0 {
		return raw.Decoded(cell), nil
	}

	number := int64(0)
	for _, line := range slices.Concat(h.lines, h.comments) {
		if bytes.Contains(line.text, cell) {
			number = line.mark.line
			break
		}
	}

	return Western(h.path, fmt.Sprintf("line %d", number), cell)
}

// Older Tektronix oscilloscopes write the header beside the rows: its keys and values are in the first columns, and the
// time and the samples in the columns behind them.
const (
	besideKey    = "Record Length" // begins such a text
	besideTime   = 3               // the column of the time
	besideSample = 4               // the column of the samples
)

// isBeside reports whether the header stands beside the rows.
func (h *header) isBeside() bool {
	begin := bytes.TrimLeft(h.lines[0].text, `"`)
	return h.cols > besideSample && len(h.options.Columns) == 0 && bytes.HasPrefix(begin, []byte(besideKey))
}

// readBeside reads a header beside the rows, and returns the number of columns that it takes. It returns 0 if the
// header is above the rows.
func (h *header) readBeside() (columns int, err error) {
	if !h.isBeside() {
		return 0, nil
	}

	h.names[besideTime] = "time"
	h.units[besideTime] = "s"

	for _, s := range h.lines[h.firstRow:] {
		cells := h.cut(s.text)
		if len(cells) < 2 { // a ragged row, which Read reports
			continue
		}

		switch string(cells[0]) {
		case "Source":
			h.names[besideSample], err = h.toUTF8(cells[1])
		case "Vertical Units":
			h.units[besideSample], err = h.toUTF8(cells[1])
		}

		if err != nil {
			return 0, err
		}

		h.keepAttribute(raw.Decoded(cells[0]) + ": " + raw.Decoded(cells[1]))
	}

	return besideTime, nil
}

// mostWarned is the number of columns without numbers that are named in a warning each.
const mostWarned = 20

// countFilled finds the columns with a number in some row of the sample, and counts the filled cells of each column.
func (h *header) countFilled() {
	h.filled = make([]uint8, h.cols) // a count is at most sampleLines
	h.looked = len(h.lines) - h.firstRow
	for _, s := range h.lines[h.firstRow:] {
		cells := h.cut(s.text)
		for i := range min(len(cells), h.cols) {
			_, ok := h.number(cells[i])
			h.numeric[i] = h.numeric[i] || ok
			if !isMissing(cells[i]) {
				h.filled[i]++
			}
		}
	}
}

// findNumeric finds the columns of numbers, which have a number in some row of the sample, and a column of times of the
// day. It warns of the other columns.
func (h *header) findNumeric() error {
	beside, err := h.readBeside()
	if err != nil {
		return err
	}

	h.countFilled()

	texts := 0 // columns without numbers that were warned of
	more := 0  // further columns without numbers
	for i, hasNumber := range h.numeric {
		h.numeric[i] = hasNumber && i >= beside
		if hasNumber || i < beside {
			continue
		}

		if texts == mostWarned {
			more++
			continue
		}

		isFilled := h.filled[i] > 0
		hasTimes := isFilled && h.beginsWithTime(i)
		if hasTimes {
			h.numeric[i] = h.takeClock(i)
		}

		if h.numeric[i] {
			continue
		}

		texts++

		content := "holds text"
		switch {
		case !isFilled:
			content = "is empty"
		case hasTimes:
			content = "holds text (times, of which no rate is taken)"
		}

		h.warnf("text-column", h.names[i], "column %s %s: it is no channel", h.names[i], content)
	}

	if more > 0 {
		h.warnf("text-column", "", "%d more columns hold text or are empty: they are no channels", more)
	}

	if texts+more == h.cols && !h.hasUnits {
		found := strconv.Quote(fault.Clip(string(h.lines[h.firstRow].text)))
		return errorAt(h.path, h.dataLine, "rows of numbers", found, "")
	}

	return nil
}

var timeOfDay = regexp.MustCompile(`(?:\b|\dT)\d\d?:\d\d(:\d\d|\b)`)

// beginsWithTime reports whether the first cell of a column contains a time of the day.
func (h *header) beginsWithTime(col int) bool {
	cells := h.cut(h.lines[h.firstRow].text)
	return col < len(cells) && timeOfDay.Match(cells[col])
}
