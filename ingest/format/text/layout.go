package text

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
)

// maxColumns is the greatest number of columns that a table may have.
const (
	maxColumns     = 1 << 16
	tooManyColumns = "more than 65536 columns"
)

// layout is the structure of a delimited text.
type layout struct {
	delim   byte // ',', ';', '\t' or ' ' for blanks; 0: not known yet
	decimal byte // '.' or ','
	cols    int  // number of columns; 0: not known yet

	// Each of these has one element for each column.
	names     []string
	units     []string
	heads     []string     // the unchanged header of the column; "": it has none
	numeric   []bool       // the column is a channel
	positions []string     // from rows below the names, "" for a column without a position; nil: no such row exists
	filled    []uint8      // number of filled cells among the rows looked at
	timeForms [][]timeForm // how to read a column of times, one form after chooseTimeForms; nil: it has no times

	looked   int      // number of rows looked at for filled
	headRows [][]byte // header rows with numbers, of units or positions; if one is repeated among the data, it is not data

	dataOffset int64   // offset in the file of the first line that may be a row, in bytes
	dataLine   int64   // number of that line, from 1
	rateHz     float64 // from the header; 0: the header has no rate
	attributes []ingest.Attribute
	warnings   []ingest.Warning

	log        *Log  // nil: a program wrote the text
	headerLine int64 // the number of the line of the header of a log
}

// hasNoRow reports whether a line of a text with a delimiter is blank, a comment, or nothing but delimiters.
func hasNoRow(line []byte, delim byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}

	line = line[i:]
	if len(line) == 0 {
		return true
	}

	switch line[0] {
	case '#', '%', '!':
		return true
	case '/':
		return len(line) > 1 && line[1] == '/'
	case 0x1a: // the end-of-file sign of DOS
		return len(line) == 1
	case delim, '"':
		return len(bytes.Trim(line, string(delim)+" \t\"")) == 0
	}

	return line[0] == ';' // if semicolons are not the delimiter
}

// isSparse reports whether a column is filled in at most three of four rows: loggers write channels of lower rates with
// empty cells between the samples.
func (l *layout) isSparse(col int) bool { return l.filled != nil && 4*int(l.filled[col]) <= 3*l.looked }

// encoding describes the layout for people.
func (l *layout) encoding() string {
	name := ""
	switch l.delim {
	case ',':
		name = "comma"
	case ';':
		name = "semicolon"
	case '\t':
		name = "tab"
	case ' ':
		name = "blank"
	}

	name += " separated"
	if l.decimal == ',' {
		name += ", decimal comma"
	}

	return name
}

// plainNumber reads the cell at p if it is nothing but a plain number. It returns the index of the delimiter after the
// cell, or of the end of the line.
func (l *layout) plainNumber(line []byte, p int) (v float64, next int, ok bool) {
	if l.delim == l.decimal { // the numbers are in quotes
		return 0, 0, false
	}

	v, q, ok := Scan(line, p, l.decimal)
	if !ok {
		return 0, 0, false
	}

	for q < len(line) && line[q] == ' ' && l.delim != ' ' {
		q++
	}

	if q == len(line) {
		return v, q, true
	}

	isDelimiter := line[q] == l.delim || l.delim == ' ' && line[q] == '\t'

	return v, q, isDelimiter
}

// value reads a cell of a column as a number or a time of the day, and returns NaN and false if it is neither.
func (l *layout) value(cell []byte, col int) (float64, bool) {
	if v, ok := l.number(cell); ok {
		return v, true
	}

	if forms := l.timeForms[col]; len(forms) > 0 {
		if v, ok := forms[0].seconds(cell); ok {
			return v, true
		}
	}

	return math.NaN(), false
}

// number reads a cell as a number. It returns false for a doubtful number, such as 1.234 in a text with decimal commas:
// its point may separate thousands or be a decimal sign, and no user confirms which.
func (l *layout) number(cell []byte) (float64, bool) {
	if v, ok := Number(cell, l.decimal); ok {
		return v, true
	}

	v, doubtful, ok := Typed(cell, l.decimal)

	return v, ok && !doubtful
}

// isQuantity reports whether a cell is a number with a unit behind it, as people write it: 36 km/h.
func (l *layout) isQuantity(cell []byte) bool {
	i := bytes.LastIndexAny(cell, "0123456789") + 1
	unit := strings.TrimSpace(string(cell[i:]))
	_, ok := l.number(cell[:i])

	return ok && slices.Contains(knownUnits, unit)
}

// cell returns the text of the cell that begins at p, without blanks and quotes around it. It returns the index of the
// delimiter after the cell, or of the end of the line.
func (l *layout) cell(line []byte, p int) (cell []byte, next int) {
	if p < len(line) && line[p] == '"' && !l.isDitto(line, p) {
		// A quote that never closes belongs to the text.
		if q := closingQuote(line, p); q >= 0 {
			cell = bytes.TrimSpace(line[p+1 : q])
			if bytes.IndexByte(cell, '"') >= 0 {
				cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
			}

			return cell, l.cellEnd(line, q+1)
		}
	}

	next = l.cellEnd(line, p)

	return bytes.TrimSpace(line[p:next]), next
}

// isDitto reports whether a quote is a whole cell, which repeats the cell above. If commas separate the cells, the
// quote may open a text such as ", left".
func (l *layout) isDitto(line []byte, p int) bool {
	mayRepeat := l.delim == '\t' || l.delim == ';'
	isWholeCell := p+1 == len(line) || line[p+1] == l.delim

	return mayRepeat && isWholeCell
}

// closingQuote returns the index of the quote that closes the quote at p, and −1 if none does. Two quotes in a row
// are a quote in the text.
func closingQuote(line []byte, p int) int {
	for q := p + 1; q < len(line); q++ {
		switch {
		case line[q] != '"':
		case q+1 < len(line) && line[q+1] == '"':
			q++
		default:
			return q
		}
	}

	return -1
}

// cellEnd returns the index of the next delimiter from p on, or of the end of the line.
func (l *layout) cellEnd(line []byte, p int) int {
	i := bytes.IndexByte(line[p:], l.delim)
	if l.delim == ' ' {
		i = bytes.IndexAny(line[p:], " \t")
	}

	if i < 0 {
		return len(line)
	}

	return p + i
}

// isBlank reports whether a character may stand around a cell without belonging to it. A tab may, unless it is the
// delimiter.
func isBlank(c, delim byte) bool { return c == ' ' || c == '\t' && delim != '\t' }

// split appends the cells of a line to dst, at most maxColumns+1. It leaves out empty cells at the end if there are
// more cells than columns.
func (l *layout) split(dst [][]byte, line []byte) [][]byte {
	if l.delim != ' ' {
		dst = slices.Grow(dst, min(bytes.Count(line, []byte{l.delim}), maxColumns)+1)
	}

	p := 0
	n := len(line)
	first := len(dst)
	for len(dst)-first <= maxColumns {
		for p < n && isBlank(line[p], l.delim) {
			p++
		}

		if p == n && l.delim == ' ' {
			break
		}

		cell, next := l.cell(line, p)
		dst = append(dst, cell)

		if next >= n {
			break
		}

		p = next + 1
	}

	for l.cols > 0 && len(dst) > first+l.cols && len(dst[len(dst)-1]) == 0 {
		dst = dst[:len(dst)-1]
	}

	return dst
}
