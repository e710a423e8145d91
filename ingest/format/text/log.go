package text

import (
	"bytes"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Log classifies the cells of a table that people typed. The columns of such a table may have no numbers, so that only
// the words of cells show where the header is and where the rows begin.
type Log struct {
	// Header reports whether a cell can only be in the header.
	Header func(cell string) bool
	// Each function of Rows reports whether a cell can only be in a row. They are tried in order. The first function that
	// returns true for some cell of the table finds the first row.
	Rows []func(cell string) bool
	// Number reports whether a cell is a number.
	Number func(cell string) bool
	// Missing reports whether a cell says that a value is missing. A line that begins with such a cell is not a comment,
	// even if the cell begins with #.
	Missing func(cell string) bool
}

// asTyped replaces CR, with which older spreadsheets ended lines, and removes invisible marks, which remain from joined
// files and from web pages.
var asTyped = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "", "\u200b", "")

// Normalise returns a text that people typed, in UTF-8, UTF-16 or Windows-1252, as UTF-8. Its lines end with a line
// feed, and it has no invisible marks.
func Normalise(path string, b []byte) ([]byte, error) {
	b, err := toUTF8(path, b)
	if err != nil {
		return nil, err
	}

	if bytes.ContainsAny(b, "\r\ufeff\u200b") { // otherwise it is not copied
		b = []byte(asTyped.Replace(string(b)))
	}

	return b, nil
}

// OpenLog opens the bytes of a table that people typed, in UTF-8, UTF-16 or Windows-1252. The header is the first line
// with a cell of a header. If no line has one, the header is the nearest line without numbers or units above the first
// row, and if there is none, the first line. Lines before the header are titles, and a line of units may follow it.
// Only lines with # are comments, and a cell in quotes may go on in further lines. The Reader has no channels: Rows
// returns the cells of all columns as texts.
func OpenLog(path string, b []byte, log Log) (*Reader, error) {
	b, err := Normalise(path, b)
	if err != nil {
		return nil, err
	}

	if bytes.IndexByte(b, 0) >= 0 {
		return nil, &fault.Error{Path: path, Found: "binary data", Want: "a table of conditions as CSV"}
	}

	return open(ingest.Source{Path: path, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, ingest.Options{}, &log)
}

const (
	mostTitles = 100 // lines before the header
	mostQuoted = 100 // lines of one cell after its first
)

// findLogLayout finds the layout of a log: the header, the delimiter between columns, and the row of units.
func (t *Reader) findLogLayout(log *Log) (*layout, error) {
	t.layout.log = log

	lines, err := t.logHead()
	if err != nil {
		return nil, err
	}

	if len(lines) == 0 {
		return nil, &fault.Error{Path: t.path, Want: "a header and rows", Found: "only comments"}
	}

	place := log.locateHeader(lines)
	head := place.line
	h := &header{layout: place.layout, path: t.path}

	h.nameCells = h.split(nil, bytes.ReplaceAll(lines[head].text, []byte{'\n'}, []byte{' '}))
	last := len(h.nameCells) - 1
	isUnnamed := last > 0 && len(h.nameCells[last]) == 0
	if isUnnamed && !h.hasCell(lines[head+1:], last) {
		h.nameCells = h.nameCells[:last]
	}

	h.headerLine = lines[head].mark.line
	h.cols = len(h.nameCells)
	if h.cols > maxColumns {
		return nil, errorAt(t.path, h.headerLine, "a table", tooManyColumns, "")
	}

	if head+1 == len(lines) {
		return nil, errorAt(t.path, h.headerLine, "rows below the header", "none", "")
	}

	first := lines[head+1].mark
	if head+2 < len(lines) {
		areUnits := log.takeUnits(h, lines[head+1].text, place.column)
		if areUnits {
			first = lines[head+2].mark
		}
	}

	h.dataOffset = first.offset
	h.dataLine = first.line

	if err := h.nameColumns(); err != nil {
		return nil, err
	}

	return h.layout, nil
}

// hasCell reports whether one of the lines has something in a column, such as a remark.
func (h *header) hasCell(lines []sampleLine, column int) bool {
	for _, line := range lines {
		cells := h.split(nil, line.text)
		if column < len(cells) && len(cells[column]) > 0 {
			return true
		}
	}

	return false
}

// logHead returns the lines that may be titles, the header or units.
func (t *Reader) logHead() ([]sampleLine, error) {
	var lines []sampleLine
	for len(lines) < mostTitles+2 {
		line, ok, err := t.nextRow()
		if err != nil {
			return nil, err
		}

		if !ok {
			break
		}

		lines = append(lines, sampleLine{bytes.Clone(line), t.current})
	}

	return lines, nil
}

// headerPlace is where the header of a log is.
type headerPlace struct {
	layout *layout // of the line of the header or of the first row, whichever was recognised
	line   int     // index of the header
	column int     // of the cell by which the header or the first row was recognised; −1: neither was
}

// locateHeader finds the header among lines. It is a line with a cell that only a header has. If no line has one, it is
// the nearest line above the first row that has no numbers, no units and no sign of a comment, and otherwise the first
// line.
func (g *Log) locateHeader(lines []sampleLine) headerPlace {
	head, column := g.find(lines, g.Header)
	if head >= 0 {
		return headerPlace{layout: g.likelyLayout(lines[head].text), line: head, column: column}
	}

	row := -1
	for i := 0; i < len(g.Rows) && row < 0; i++ {
		row, column = g.find(lines, g.Rows[i])
	}

	l := g.likelyLayout(lines[max(row, 0)].text)
	for i := row - 1; i >= 0; i-- { // rows above may have cells that the functions do not know
		cells := l.split(nil, lines[i].text)
		isComment := bytes.HasPrefix(cells[0], []byte{'#'})
		if !isComment && !g.hasNumber(cells) && !areUnits(cells) {
			return headerPlace{layout: l, line: i, column: column}
		}
	}

	return headerPlace{layout: g.likelyLayout(lines[0].text), line: 0, column: column}
}

// takeUnits takes the line below the header for units, and reports whether it does. Most cells of the line must be
// units, and the cell in the column by which the header or the first row was recognised must not look like a cell of a
// row, such as a path or a pattern of paths.
func (g *Log) takeUnits(h *header, line []byte, column int) bool {
	cells := h.split(nil, line)
	haveUnits := areUnits(cells) || areUnitsBelow(cells)
	if len(cells) != h.cols || !haveUnits || g.hasNumber(cells) {
		return false
	}

	cell := ""
	if column >= 0 && column < len(cells) {
		cell = string(cells[column])
	}

	if strings.ContainsAny(cell, "./*") {
		return false
	}

	for _, isRow := range g.Rows {
		if isRow(cell) {
			return false
		}
	}

	h.unitCells = cells

	return true
}

// hasNumber reports whether a cell is a number.
func (g *Log) hasNumber(cells [][]byte) bool {
	for _, c := range cells {
		if g.Number(string(c)) {
			return true
		}
	}

	return false
}

// likelyLayout returns a layout with the most frequent delimiter of a line. Several blanks in a row are the delimiter
// if the line has no other.
func (g *Log) likelyLayout(line []byte) *layout {
	l := &layout{delim: ',', decimal: '.', log: g}
	for _, c := range []byte{';', '\t'} {
		if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{l.delim}) {
			l.delim = c
		}
	}

	if bytes.IndexByte(line, l.delim) < 0 && bytes.Contains(line, []byte("  ")) {
		l.delim = ' ' // columns of fixed width
	}

	return l
}

// find returns the line and the column of the first cell for which matches returns true, and −1, −1 if there is
// none.
func (g *Log) find(lines []sampleLine, matches func(cell string) bool) (line, column int) {
	for i, s := range lines {
		cells := g.likelyLayout(s.text).split(nil, s.text)
		for k, cell := range cells {
			if matches(string(cell)) {
				return i, k
			}
		}
	}

	return -1, -1
}

// skips reports whether a line has no row.
func (l *layout) skips(line []byte) bool {
	if l.log == nil {
		return hasNoRow(line, l.delim)
	}

	text := bytes.TrimSpace(line)
	if len(text) > 0 && text[0] == '#' {
		cell, _ := l.cell(text, 0)
		return !l.log.Missing(string(cell))
	}

	return len(bytes.Trim(text, string(l.delim)+" \t")) == 0
}

// joinQuotedLines returns a line of a log with the lines in which cells in quotes continue. A quote that does not
// close at the end of a cell belongs to the text of its line.
func (t *Reader) joinQuotedLines(line []byte, l *layout) []byte {
	if l.log == nil || bytes.IndexByte(line, '"') < 0 {
		return line
	}

	for p := 0; p < len(line); p = l.cellEnd(line, p) + 1 {
		for p < len(line)-1 && line[p] == ' ' {
			p++
		}

		if line[p] != '"' || l.isDitto(line, p) {
			continue
		}

		length := len(line)
		nextLine := mark{t.lines.Offset(), t.lines.Line}

		joined, end := t.joinToQuote(line, p)
		isOneLine := t.lines.Line == nextLine.line
		isCell := end >= 0 && (isOneLine || l.endsCell(joined[end+1:]))
		if !isCell {
			t.seek(nextLine)
			return joined[:length]
		}

		line = joined
		p = end
	}

	return line
}

// endsCell reports whether a cell ends where the rest of its line begins, apart from blanks.
func (l *layout) endsCell(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " ")
	return len(rest) == 0 || rest[0] == l.delim
}

// joinToQuote joins a line with the next lines, up to the line that closes the quote at p. It returns the joined lines
// and the index in them of the closing quote, or −1 if no line closes the quote. The caller must use joined instead of
// line, because reading the next lines may overwrite line.
func (t *Reader) joinToQuote(line []byte, p int) (joined []byte, end int) {
	end = closingQuote(line, p)
	for i := 0; i < mostQuoted && end < 0; i++ {
		line = bytes.Clone(line) // reading the next line may replace it
		more, _, err := t.lines.Next()
		if err != nil {
			break
		}

		line = append(line, '\n')
		line = append(line, more...)
		end = closingQuote(line, p)
	}

	return line, end
}
