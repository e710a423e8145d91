package text

import (
	"bytes"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Log tells what the cells of a table that people typed mean, whose columns may hold no numbers.
type Log struct {
	Header  func(cell string) bool   // only the header has such a cell
	Rows    []func(cell string) bool // only rows have: the first kind that any has shows where they begin
	Number  func(cell string) bool
	Missing func(cell string) bool // no value: a line that begins so with # is no comment
}

// asTyped takes out marks that nobody sees, of joined files and web pages; CR alone ended lines of older spreadsheets.
var asTyped = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "", "\u200b", "")

// OpenLog opens the bytes of a table that people typed, in UTF-8, UTF-16 or Windows-1252. Its header
// is the first line with a cell of one, else the nearest line without numbers or units above the
// first row, else the first line. Lines before it are titles, and one of units may follow. Only
// lines with # are comments, and a cell in quotes may go on in further lines. All columns are of
// text: see Rows.
func OpenLog(path string, b []byte, log Log) (_ *Reader, err error) {
	defer fault.Catch(&err)

	b = toUTF8(path, b)
	if bytes.ContainsAny(b, "\r\ufeff\u200b") { // else it is not copied
		b = []byte(asTyped.Replace(string(b)))
	}

	if bytes.IndexByte(b, 0) >= 0 {
		return nil, &fault.Error{Path: path, Found: "binary data", Want: "a table of conditions as CSV"}
	}

	return open(ingest.Source{Path: path, ReaderAt: bytes.NewReader(b), Size: int64(len(b))}, ingest.Options{}, &log)
}

const (
	mostTitles = 100 // lines that may come before the header
	mostQuoted = 100 // lines of one cell
)

// findHeader finds the header, what is between columns, and the row of units.
func (t *Reader) findHeader(g *Log) *layout {
	t.lay.log = g
	var lines []sampleLine
	for len(lines) < mostTitles+2 {
		line, ok := t.next()
		if !ok {
			break
		}

		lines = append(lines, sampleLine{bytes.Clone(line), t.at})
	}

	fault.Unless(len(lines) > 0, &fault.Error{Path: t.path, Want: "a header and rows", Found: "only comments"})

	head, col := g.first(lines, g.Header)
	row := -1
	for i := 0; i < len(g.Rows) && head < 0 && row < 0; i++ {
		row, col = g.first(lines, g.Rows[i])
	}

	h := &header{layout: g.usual(lines[max(head, row, 0)].text), path: t.path}
	for i := row - 1; i >= 0 && head < 0; i-- { // over rows that those kinds do not know, and units
		cells := h.cut(lines[i].text)
		if !bytes.HasPrefix(cells[0], []byte{'#'}) && !g.counts(cells) && !unitsRow(cells) {
			head = i
		}
	}

	if head < 0 {
		head, h.layout = 0, g.usual(lines[0].text)
	}

	h.nameCells = h.split(nil, bytes.ReplaceAll(lines[head].text, []byte{'\n'}, []byte{' '}))
	if n := len(h.nameCells) - 1; n > 0 && len(h.nameCells[n]) == 0 {
		h.nameCells = h.nameCells[:n]
	}

	h.head = lines[head].mark.line
	h.cols = len(h.nameCells)
	unless(h.cols <= maxColumns, t.path, h.head, "a table", tooMany, "")
	unless(head+1 < len(lines), t.path, h.head, "rows below the header", "none", "")

	first := lines[head+1].mark
	if head+2 < len(lines) && g.units(h, lines[head+1].text, col) {
		first = lines[head+2].mark
	}

	h.dataOff, h.line = first.off, first.line

	h.nameColumns()
	return h.layout
}

// units takes a line below the header that is one of units and, in the column that shows rows, of none.
func (g *Log) units(h *header, line []byte, col int) bool {
	cells := h.split(nil, line)
	if len(cells) != h.cols || !unitsRow(cells) || g.counts(cells) {
		return false
	}

	cell := ""
	if col >= 0 && col < len(cells) {
		cell = string(cells[col])
	}

	row := func(is func(string) bool) bool { return is(cell) }
	if strings.ContainsAny(cell, "./*") || slices.ContainsFunc(g.Rows, row) {
		return false
	}

	h.unitCells = cells

	return true
}

// counts reports whether a cell is a number.
func (g *Log) counts(cells [][]byte) bool {
	return slices.ContainsFunc(cells, func(c []byte) bool { return g.Number(string(c)) })
}

// usual is the layout by the delimiter that a line holds most of.
func (g *Log) usual(line []byte) *layout {
	l := &layout{delim: ',', dec: '.', log: g}
	for _, c := range []byte{';', '\t'} {
		if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{l.delim}) {
			l.delim = c
		}
	}

	if bytes.IndexByte(line, l.delim) < 0 && bytes.Contains(line, []byte("  ")) {
		l.delim = ' ' // of fixed width
	}

	return l
}

// first finds the first cell that holds shows, −1 if none is.
func (g *Log) first(lines []sampleLine, holds func(cell string) bool) (line, column int) {
	for i, s := range lines {
		cells := g.usual(s.text).split(nil, s.text)
		if k := slices.IndexFunc(cells, func(c []byte) bool { return holds(string(c)) }); k >= 0 {
			return i, k
		}
	}

	return -1, -1
}

// skipped reports whether a line holds no row.
func (l *layout) skipped(line []byte) bool {
	if l.log == nil {
		return skipped(line, l.delim)
	}

	text := bytes.TrimSpace(line)
	if len(text) > 0 && text[0] == '#' {
		cell, _ := l.cell(text, 0)
		return !l.log.Missing(string(cell))
	}

	return len(bytes.Trim(text, string(l.delim)+" \t")) == 0
}

// whole adds the lines that cells in quotes go on in. A quote that does not close at the end of a cell
// belongs to the text of its line.
func (t *Reader) whole(line []byte, l *layout) []byte {
	if l.log == nil || bytes.IndexByte(line, '"') < 0 {
		return line
	}

	for p := 0; p < len(line); p = l.end(line, p) + 1 {
		for p < len(line)-1 && line[p] == ' ' {
			p++
		}

		if line[p] != '"' || l.ditto(line, p) {
			continue
		}

		q, n, after := closing(line, p), len(line), mark{t.in.At(), t.in.Line}
		for i := 0; i < mostQuoted && q < 0; i++ {
			line = bytes.Clone(line) // the next may replace it
			more, _, err := t.in.Next()
			if err != nil {
				break
			}

			line = append(append(line, '\n'), more...)
			q = closing(line, p)
		}

		rest := bytes.TrimLeft(line[q+1:], " ")
		if q < 0 || t.in.Line > after.line && len(rest) > 0 && rest[0] != l.delim {
			t.seek(after)
			return line[:n]
		}

		p = q
	}

	return line
}

// ditto reports whether a quote is a whole cell, for the one above. Where commas separate, it may open ", left".
func (l *layout) ditto(line []byte, p int) bool {
	return (l.delim == '\t' || l.delim == ';') && (p+1 == len(line) || line[p+1] == l.delim)
}

// closing returns the index of the quote that closes the one at p, −1 if none does.
func closing(line []byte, p int) int {
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
