package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// header is the search for the header of a text with a known number of columns. findHeader finds the first row, the
// rate and the attributes above it, and the cells of names and units. nameColumns and findNumeric fill in the layout
// from these.
type header struct {
	*layout     // the result, which the search fills in
	path        string
	options     ingest.TextOptions
	lines       []sampleLine // from the head of the file: rows and lines of the header
	comments    []sampleLine
	sampleBegin int // index of the first line by which the delimiter was chosen

	votes    []int // for each column of the later lines, the number of cells with a number minus the number of others
	hasUnits bool  // the numbers have units behind them
	firstRow int   // index of the first line that is a row

	nameCells [][]byte // names of the columns; nil: there are none
	unitCells [][]byte // units of the columns; nil: there are none
	buffer    [][]byte // the cells that cut returns
}

// findHeader finds the first row, and the cells of the names and units of the columns.
func (h *header) findHeader() error {
	h.vote()
	if slices.Max(h.votes) <= 0 {
		h.hasUnits = true
		h.vote()
	}

	if err := h.findFirstRow(); err != nil {
		return err
	}

	return h.findNames()
}

func (h *header) warnf(code, column, format string, args ...any) {
	h.warnings = append(h.warnings,
		ingest.Warning{Path: h.path, Code: code, Column: column, Text: fmt.Sprintf(format, args...)})
}

// cut returns the cells of a line, valid until the next call.
func (h *header) cut(line []byte) [][]byte {
	h.buffer = h.split(h.buffer[:0], line)
	return h.buffer
}

// vote finds the columns of numbers: most of their cells in the later lines are numbers.
func (h *header) vote() {
	h.votes = make([]int, h.cols)
	for _, s := range h.lines[h.sampleBegin:] {
		cells := h.cut(s.text)
		for i := range min(len(cells), h.cols) {
			if h.isNumber(cells[i]) {
				h.votes[i]++
			} else {
				h.votes[i]--
			}
		}
	}
}

func (h *header) isNumber(cell []byte) bool {
	_, ok := h.number(cell)
	return ok || h.hasUnits && h.isQuantity(cell)
}

// countNumbers counts the numbers of a line in columns of numbers, and the other cells in these columns. If no column
// is of numbers, it counts all numbers.
func (h *header) countNumbers(cells [][]byte) (numbers, others int) {
	noneVoted := slices.Max(h.votes) <= 0
	for i := range min(len(cells), h.cols) {
		isNumber := h.isNumber(cells[i])
		switch {
		case isNumber && (noneVoted || h.votes[i] > 0):
			numbers++
		case !isNumber && h.votes[i] > 0:
			others++
		}
	}

	return numbers, others
}

// areColumnNumbers reports whether a row numbers the columns: 1, 2, 3.
func areColumnNumbers(cells [][]byte) bool {
	for i, c := range cells {
		if string(c) != strconv.Itoa(i+1) {
			return false
		}
	}

	return len(cells) > 1
}

var (
	// firstWord matches a cell that begins with a word and is not a missing value.
	firstWord = regexp.MustCompile(`(?i)^(?:\pL[\pL ]{2}|[xyz]0$)`)
	// timestamp matches a date or a time.
	timestamp = regexp.MustCompile(`^\d+[-/.:]\d+[-/.:][-/.:,\dT ]+(?: [AP]M|Z)?$`)
)

// isSetting reports whether a line with numbers is a setting of the header, such as Increment,1e-3: it begins with a
// word, and no row does.
func (h *header) isSetting(cells [][]byte) bool {
	if len(cells) < 2 || !firstWord.Match(cells[0]) || h.isBeside() {
		return false
	}

	for _, s := range h.lines[h.sampleBegin:] {
		first, _ := h.cell(bytes.TrimLeft(s.text, " "), 0)
		if len(first) > 0 && !h.isNumber(first) && !timestamp.Match(first) {
			return false
		}
	}

	return true
}

// findFirstRow finds the first row. It takes attributes and the rate from the comments before it.
func (h *header) findFirstRow() error {
	row, err := h.firstRowFrom(h.skipNames())
	if err != nil {
		return err
	}

	if err := h.refuseOtherSeparator(row); err != nil {
		return err
	}

	if row == len(h.lines) {
		return errorAt(h.path, h.lines[len(h.lines)-1].mark.line, "rows of numbers", "a header but no data rows", "")
	}

	h.firstRow = row
	h.dataOffset = h.lines[row].mark.offset
	h.dataLine = h.lines[row].mark.line
	for _, c := range h.comments {
		if c.mark.line < h.dataLine {
			h.keepAttribute(commentText(c.text))
			h.takeRate(commentText(c.text), c.mark.line)
		}
	}

	return nil
}

// firstRowFrom returns the index of the first line, from index begin on, that is a row. It returns the number of lines
// if all lines are of the header.
func (h *header) firstRowFrom(begin int) (int, error) {
	for i := begin; i < len(h.lines); i++ {
		kind, err := h.kindOfLine(i)
		if err != nil {
			return 0, err
		}

		switch kind {
		case firstRowLine:
			return i, nil
		case lastHeaderLine:
			return i + 1, nil
		}
	}

	return len(h.lines), nil
}

// lineKind says what a line is if all lines before it are of the header.
type lineKind int

const (
	headerLine     lineKind = iota // it is of the header, and the next line may be, too
	lastHeaderLine                 // it is the last line of the header
	firstRowLine                   // it is the first row
)

// kindOfLine returns the kind of the line with an index. It keeps a row of units or positions with numbers in headRows,
// and warns of other lines of the header that have numbers.
func (h *header) kindOfLine(index int) (lineKind, error) {
	line := h.lines[index]
	numbers, others := h.countNumbers(h.cut(line.text))
	if numbers == 0 {
		return headerLine, nil
	}

	switch h.kindOfRow(index) {
	case rowUnknown:
		return 0, h.unknownRowError(index)
	case rowOfUnits, rowOfPositions:
		h.headRows = append(h.headRows, bytes.Clone(line.text))
		return headerLine, nil
	}

	cells := h.cut(line.text) // again, because kindOfRow cut other lines
	if index > 0 && h.isSetting(cells) {
		h.warnf("header-row", "", "line %d (%q) is taken for one of the header", line.mark.line,
			fault.Clip(string(line.text)))
		return headerLine, nil
	}

	if h.isFirstRow(index, others, len(cells)) {
		return firstRowLine, nil
	}

	// "Time,1,2,3": numbers as names. Only the first line comes here.
	h.warnf("numeric-header", "", "line %d (%q) is taken as the header, though %d of its %d names are numbers",
		line.mark.line, fault.Clip(string(line.text)), numbers, h.cols)

	return lastHeaderLine, nil
}

// mostSkipped is the number of lines that skipNames looks at.
const mostSkipped = 100

// skipNames returns the index of the first line that may be the first row: the last line without numbers that has a
// cell for each column and comes before all rows. Such a line is a header, and the lines above a header cannot be rows.
func (h *header) skipNames() int {
	last := 0
	for i := range min(h.sampleBegin, mostSkipped) {
		cells := h.cut(h.lines[i].text)
		numbers, others := h.countNumbers(cells)
		isRow := numbers > 0 && others == 0 && len(cells) == h.cols
		if isRow && !areColumnNumbers(cells) && !h.isSetting(cells) {
			break
		}

		if numbers == 0 && len(h.headerCells(h.lines[i].text)) == h.cols {
			last = i
		}
	}

	return last
}

// isFirstRow reports whether line number row, which has numbers, is the first row rather than a header. others is the
// number of its cells that should be numbers and are not, cells is the number of its cells. Only the first line of a
// text can be a header of numbers; with a wrong number of cells it is a bad row.
func (h *header) isFirstRow(row, others, cells int) bool {
	isTop := row == 0 && len(h.lines) > 1
	mayBeHeader := isTop && others > 0 && len(h.options.Columns) == 0

	return !mayBeHeader || cells != h.cols
}

// refuseOtherSeparator returns an error if lines before the first row are rows of numbers with another delimiter or
// decimal sign: a line with a number for each column, or two lines of numbers.
func (h *header) refuseOtherSeparator(firstRow int) error {
	for _, pair := range separators {
		if pair.delim == h.delim && pair.decimal == h.decimal {
			continue
		}

		other := &layout{delim: pair.delim, decimal: pair.decimal}

		rows := 0
		for _, s := range h.lines[:firstRow] {
			h.buffer = other.split(h.buffer[:0], s.text)
			cells := h.buffer
			isOfHeader := pair.delim == h.delim && (areColumnNumbers(cells) || h.isSetting(cells))
			if len(cells) < 2 || isOfHeader || !areNumbers(cells, pair.decimal) {
				continue
			}

			rows++
			if len(cells) == h.cols || rows == 2 {
				found := fmt.Sprintf("a row of numbers, %s: %q", other.encoding(), fault.Clip(string(s.text)))
				return errorAt(h.path, s.mark.line, "rows that are "+h.encoding(), found,
					"separate all rows alike, or make it a comment with #")
			}
		}
	}

	return nil
}

// areNumbers reports whether all cells are numbers with a decimal sign.
func areNumbers(cells [][]byte, decimal byte) bool {
	for _, cell := range cells {
		if _, ok := Number(cell, decimal); !ok {
			return false
		}
	}

	return true
}

// Limits of the attributes that are kept from the lines before the data.
const (
	mostAttributes = 64
	mostAttribute  = 1024 // bytes of an attribute with its name
)

// nextStatement matches the separator and the name of a further statement in a line: "AoA: 5 deg - Uinf: 11 m/s".
var nextStatement = regexp.MustCompile(`(?:\s+-\s+|\s*[,;|]\s+|\t+|\s{2,})\pL[^:=,;|\t]{0,40}[:=]`)

// keepAttribute keeps the statements "key: value" or "key = value" of a line from before the data.
func (l *layout) keepAttribute(s string) {
	if len(s) > mostAttribute || !utf8.ValidString(s) {
		return
	}

	first := strings.IndexAny(s, ":=") + 1
	begin := 0
	for _, next := range nextStatement.FindAllStringIndex(s[first:], -1) {
		l.keepStatement(s[begin : first+next[0]])
		begin = first + next[0]
	}

	l.keepStatement(s[begin:])
}

// keepStatement keeps a text "key: value" or "key = value", which separators may surround.
func (l *layout) keepStatement(s string) {
	s = strings.TrimLeft(s, " \t,;|-")
	i := strings.IndexAny(s, ":=")
	if i <= 0 || len(l.attributes) >= mostAttributes {
		return
	}

	name := strings.TrimSpace(s[:i])
	value := strings.Trim(s[i+1:], " \t,;|")
	if name != "" && value != "" {
		l.attributes = append(l.attributes, ingest.Attribute{Name: name, Value: value})
	}
}

// commentText returns a comment line without its sign.
func commentText(line []byte) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(string(line)), "#%!/;"))
}
