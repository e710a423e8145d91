// Package text reads delimited text: columns of numbers separated by commas,
// semicolons, tabs or blanks, with decimal points or commas, with or without a
// header, units and comments. It finds out by itself which. Tables of
// conditions and of pairs are read with it in package ingest/campaign.
package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
)

// Format is delimited text. It is what holds no bytes that text does not.
var Format = ingest.Format{
	Name: "text", Title: "delimited text", Endings: []string{".csv", ".txt", ".dat", ".tsv"},
	Open: func(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
		r, err := Open(src, o)
		if err != nil {
			return nil, err // never a Reader that is not nil
		}

		return r, nil
	},
}

const (
	textBlock  = 1 << 18 // bytes read at a time
	textSample = 1 << 18 // bytes from which the layout is found out
	maxLine    = 1 << 22 // the longest line that is read
	maxMarks   = 4096    // entries of the line index
	maxOneRow  = 64      // numbers without names in a text of one row: more are samples, not channels

	// MaxColumns is the most columns a table may have.
	MaxColumns = 1 << 16
)

// layout is the structure found in a delimited text.
type layout struct {
	delim   byte // ',', ';', '\t' or ' ' for blanks
	dec     byte // '.' or ','
	cols    int
	names   []string // of every column
	units   []string
	heads   []string // as the header writes them
	numeric []bool
	dataOff int64 // of the first line that may hold data
	line    int64 // its number, from 1
	attrs   []ingest.Attribute
	warn    []ingest.Warning
}

// mark is the beginning of a row.
type mark struct {
	off  int64
	line int64
}

// Reader reads delimited text. Opening it goes once over the bytes to
// count rows; samples are parsed when they are read.
//
// Of the time column it reads the beginning and the end, which give the rate;
// whether its steps are even is found when all samples pass.
type Reader struct {
	path string
	src  ingest.Source
	info ingest.Info
	lay  layout

	rows   int64
	marks  []mark // marks[i] is row i·stride
	stride int64
	chans  []int // channel → column
	time   int   // channel of the time, −1 if none

	cur       lineCursor
	row       int64  // the row after the cursor
	want      []int  // column → destination, −1 if not asked; reused
	tolerated []bool // columns where a bad cell is NaN, not an error; nil: none
}

// lineCursor walks over the lines of a file with one buffer.
type lineCursor struct {
	path string
	src  io.ReaderAt
	size int64
	buf  []byte
	lo   int // unread bytes are buf[lo:hi]
	hi   int
	off  int64 // file offset of buf[hi]
	line int64 // number of the line that comes next, from 1
}

func (c *lineCursor) seek(m mark) {
	c.lo, c.hi, c.off, c.line = 0, 0, m.off, m.line
}

// pos is the file offset of the line that comes next.
func (c *lineCursor) pos() int64 { return c.off - int64(c.hi-c.lo) }

// next returns a line without its end; ok is false after the last one. The
// bytes are valid until the next call.
func (c *lineCursor) next() (line []byte, ok bool, err error) {
	seen := 0
	for {
		if i := bytes.IndexByte(c.buf[c.lo+seen:c.hi], '\n'); i >= 0 {
			line = c.buf[c.lo : c.lo+seen+i]
			c.lo += seen + i + 1
			c.line++

			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}

			return line, true, nil
		}

		seen = c.hi - c.lo
		if c.off >= c.size {
			if seen == 0 {
				return nil, false, nil
			}

			line = c.buf[c.lo:c.hi]
			c.lo = c.hi
			c.line++

			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}

			return line, true, nil
		}

		if err := c.fill(); err != nil {
			return nil, false, err
		}
	}
}

// fill moves the unread bytes to the front and reads more behind them.
func (c *lineCursor) fill() error {
	if c.lo > 0 {
		copy(c.buf, c.buf[c.lo:c.hi])
		c.hi -= c.lo
		c.lo = 0
	}

	if c.hi == len(c.buf) {
		if len(c.buf) >= maxLine {
			return &fault.Error{
				Path: c.path, Place: fmt.Sprintf("line %d", c.line),
				Found: fmt.Sprintf("a line longer than %d MiB", maxLine>>20), Hint: "is this a table?",
			}
		}

		n := 2 * len(c.buf)
		if n == 0 {
			n = textBlock
			if c.size < textBlock {
				n = int(c.size) + 1
			}
		}

		c.buf = append(c.buf, make([]byte, n-len(c.buf))...)
	}

	n := min(int64(len(c.buf)-c.hi), c.size-c.off)
	got, err := c.src.ReadAt(c.buf[c.hi:c.hi+int(n)], c.off)
	c.hi += got
	c.off += int64(got)

	if int64(got) == n {
		return nil
	}

	if err == nil || errors.Is(err, io.EOF) {
		return &fault.Error{
			Path: c.path, Place: fmt.Sprintf("byte %d", c.off),
			Found: "the file became shorter while it was read", Hint: "is it still being written?",
		}
	}

	return &fault.Error{Path: c.path, Place: fmt.Sprintf("byte %d", c.off), Err: fmt.Errorf("read: %w", err)}
}

// Skipped reports whether a line holds no row: blank, a comment, or nothing
// but delimiters.
func Skipped(line []byte, delim byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}

	if i == len(line) {
		return true
	}

	c := line[i]
	if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		return false
	}

	switch c {
	case '#', '%', '!':
		return true
	case '/':
		return i+1 < len(line) && line[i+1] == '/'
	case 0x1a: // the end-of-file sign of DOS
		return len(line) == i+1
	case delim:
		for _, c := range line[i:] {
			if c != delim && c != ' ' && c != '\t' {
				return false
			}
		}

		return true

	case ';':
		return true // here the delimiter is another one
	}

	return false
}

// Open finds out the layout, counts the rows and reads the beginning and the
// end of the time column. It parses no other rows: a ragged row, or text in a
// column of numbers, is an error of Read.
func Open(src ingest.Source, o ingest.Options) (*Reader, error) {
	src, err := openUTF16(src)
	if err != nil {
		return nil, err
	}

	t := &Reader{path: src.Path, src: src, time: -1, stride: 1024}
	t.cur = lineCursor{path: src.Path, src: src, size: src.Size}

	lay, err := findLayout(src.Path, src, src.Size, o.Text)
	if err != nil {
		return nil, err
	}

	t.lay = *lay
	if err := t.count(o); err != nil {
		return nil, err
	}

	t.info = ingest.Info{
		Path: src.Path, Format: "text", Encoding: lay.encoding(), Attributes: lay.attrs,
		Warnings: append(lay.warn, t.info.Warnings...),
	}

	for col := range lay.cols {
		if !lay.numeric[col] {
			continue
		}

		ch := ingest.Channel{Name: lay.names[col], Unit: lay.units[col], RateHz: o.RateHz, Samples: t.rows}
		if lay.heads[col] != "" && lay.heads[col] != ch.Name {
			ch.Attributes = append(ch.Attributes, ingest.Attribute{Name: "header", Value: lay.heads[col]})
		}

		t.chans = append(t.chans, col)
		t.info.Channels = append(t.info.Channels, ch)
	}

	if t.rows == 1 && len(t.chans) > maxOneRow && lay.unnamed() {
		return nil, &fault.Error{
			Path: src.Path, Place: fmt.Sprintf("line %d", lay.line), Want: "columns of samples",
			Found: fmt.Sprintf("one row of %d numbers", len(t.chans)),
			Hint:  "a column is a channel: write one number a line, or a header if they are channels of one sample",
		}
	}

	t.want = make([]int, lay.cols)
	if err := t.findTime(o); err != nil {
		return nil, err
	}

	return t, nil
}

// unnamed reports whether no column has a name.
func (l *layout) unnamed() bool {
	for i, n := range l.names {
		if n != strconv.Itoa(i+1) {
			return false
		}
	}

	return true
}

func (l *layout) encoding() string {
	s := map[byte]string{',': "comma", ';': "semicolon", '\t': "tab", ' ': "blank"}[l.delim] + " separated"
	if l.dec == ',' {
		s += ", decimal comma"
	}

	return s
}

// count goes over all lines, notes where every stride-th row begins, and drops
// an incomplete last row if the options allow it.
func (t *Reader) count(o ingest.Options) error {
	t.cur.seek(mark{t.lay.dataOff, t.lay.line})
	var last mark // where the last row begins

	var rows int64
	for {
		m := mark{t.cur.pos(), t.cur.line}

		line, ok, err := t.cur.next()
		if err != nil {
			return err
		}

		if !ok {
			break
		}

		if Skipped(line, t.lay.delim) {
			continue
		}

		if rows%t.stride == 0 {
			if len(t.marks) == maxMarks {
				// Twice the distance, half the marks: memory stays the same.
				for i := range maxMarks / 2 {
					t.marks[i] = t.marks[2*i]
				}

				t.marks = t.marks[:maxMarks/2]
				t.stride *= 2
			}

			if rows%t.stride == 0 {
				t.marks = append(t.marks, m)
			}
		}

		last = m
		rows++
	}

	if rows == 0 {
		return &fault.Error{
			Path: t.path, Place: fmt.Sprintf("line %d", t.cur.line), Want: "rows of numbers",
			Found: "no data rows",
		}
	}

	// A file cut off by a crash ends inside a row, without an end of line.
	cut, err := t.cutRow(last, rows, o)
	if err != nil {
		return err
	}

	if cut {
		rows--
	}

	t.rows = rows
	t.cur.seek(t.marks[0])

	return nil
}

// cutRow refuses, or with Options.Truncated "use" drops, an incomplete last row.
func (t *Reader) cutRow(last mark, rows int64, o ingest.Options) (bool, error) {
	var end [1]byte
	if _, err := t.src.ReadAt(end[:], t.src.Size-1); err != nil || end[0] == '\n' || rows < 2 {
		return false, nil
	}

	t.cur.seek(last)

	line, _, err := t.cur.next()
	if err != nil {
		return false, err
	}

	n := len(t.lay.split(nil, line))
	if n >= t.lay.cols {
		return false, nil
	}

	what := fmt.Sprintf("%s of %d, then the end of the file", fault.Plural(int64(n), "column"), t.lay.cols)
	if o.Truncated != "use" {
		return false, &fault.Error{Path: t.path, Place: fmt.Sprintf("line %d, column %d (%s)", last.line, n+1,
			t.lay.names[n]), Found: what, Hint: "the last row is cut short; with truncated: use, it is left out"}
	}

	t.info.Warnings = append(t.info.Warnings,
		ingest.Warning{
			Path: t.path, Code: "truncated",
			Text: fmt.Sprintf("the last row (line %d) is cut short: it is left out", last.line),
		})

	return true, nil
}

// findTime finds the time column and the rate it gives.
func (t *Reader) findTime(o ingest.Options) error {
	if o.Text.Time != "" {
		ch, err := ingest.FindChannel(t.info, o.Text.Time)
		if err != nil {
			return err
		}

		t.time = ch
	} else {
		for i, c := range t.info.Channels {
			if clock.Named(c.Name, c.Unit) {
				t.time = i
				break
			}
		}
	}

	if t.time < 0 {
		return nil
	}

	ch := &t.info.Channels[t.time]

	now, err := clock.Read(t, t.time, "column")
	if err != nil {
		return err
	}

	clock.Mark(ch)
	warn := func(code, format string, args ...any) {
		t.info.Warnings = append(t.info.Warnings,
			ingest.Warning{Path: t.path, Code: code, Text: fmt.Sprintf(format, args...)})
	}

	switch {
	case t.rows < 2:
		return nil
	case now.RateHz == 0:
		warn("clock-useless", "column %s goes from %v to %v: it gives no sampling rate", ch.Name, now.First, now.Last)
		return nil
	case now.Gaps:
		warn("clock-gaps", "column %s: %d rows in %.6g s are %.4g Hz, but steps at the beginning are of %.4g Hz: the "+
			"recording pauses or changes its rate; %.4g Hz is used",
			ch.Name, t.rows, now.Seconds, now.EndsHz, now.RateHz, now.RateHz)
	}

	// A clock is read, not set: one percent off the nominal rate is no contradiction.
	rate, err := o.Rate(t.path, "column "+ch.Name, now.RateHz, 0.01)
	if err != nil {
		return err
	}

	if now.Doubt != "" && o.RateHz == 0 && o.Text.Time == "" {
		warn("clock-unit", "%s", now.Doubt)
	}

	t.info.Warnings = append(t.info.Warnings, clock.Odd(t.path, "column "+ch.Name, rate)...)
	for i := range t.info.Channels {
		t.info.Channels[i].RateHz = rate
	}

	return nil
}

// Info implements ingest.Reader.
func (t *Reader) Info() ingest.Info { return t.info }

// Close implements ingest.Reader.
func (t *Reader) Close() error {
	return t.src.Close()
}

// Read implements ingest.Reader. It panics if channels and dst do not fit together.
func (t *Reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := ingest.CheckRead(len(t.info.Channels), channels, start, dst)
	if n == 0 {
		return 0, nil
	}

	if start >= t.rows {
		return 0, io.EOF
	}

	if start != t.row {
		if start < t.row || start/t.stride > t.row/t.stride {
			i := start / t.stride
			t.cur.seek(t.marks[i])
			t.row = i * t.stride
		}

		for t.row < start {
			line, ok, err := t.cur.next()
			if err != nil || !ok {
				return 0, t.shrunk(err)
			}

			if !Skipped(line, t.lay.delim) {
				t.row++
			}
		}
	}

	for i := range t.want {
		t.want[i] = -1
	}

	for i, c := range channels {
		t.want[t.chans[c]] = i
	}

	k := 0
	for ; k < n && t.row < t.rows; k++ {
		var line []byte
		for {
			var ok bool

			var err error
			if line, ok, err = t.cur.next(); err != nil || !ok {
				return k, t.shrunk(err)
			}

			if !Skipped(line, t.lay.delim) {
				break
			}
		}

		t.row++

		if err := t.parseRow(line, dst, k); err != nil {
			return k, err
		}
	}

	for i, c := range channels { // a channel asked for twice was parsed once
		if j := t.want[t.chans[c]]; j != i {
			copy(dst[i][:k], dst[j][:k])
		}
	}

	if k < n {
		return k, io.EOF
	}

	return k, nil
}

// shrunk makes sure that the lines that were counted and are gone are an error.
func (t *Reader) shrunk(err error) error {
	if err != nil {
		return err
	}

	return &fault.Error{
		Path: t.path, Place: fmt.Sprintf("line %d", t.cur.line),
		Found: "the file changed while it was read", Hint: "is it still being written?",
	}
}

// parseRow puts the wanted cells of a row into dst[·][at].
func (t *Reader) parseRow(line []byte, dst [][]float64, at int) error {
	l := &t.lay
	delim, dec, n := l.delim, l.dec, len(line)

	p := 0
	for col, w := range t.want {
		for p < n && (line[p] == ' ' || line[p] == '\t' && delim != '\t') {
			p++
		}

		if p == n && delim == ' ' {
			return t.ragged(line)
		}

		if w >= 0 {
			v, q, ok := Scan(line, p, dec)
			if ok {
				for q < n && line[q] == ' ' && delim != ' ' {
					q++
				}

				if ok = q == n || line[q] == delim || delim == ' ' && line[q] == '\t'; ok {
					p = q
				}
			}

			if !ok {
				cell, next := l.cell(line, p)
				if v, ok = l.number(cell); !ok {
					if t.tolerated == nil || !t.tolerated[col] {
						return t.badCell(line, col, cell)
					}
					v = math.NaN()
				}

				p = next
			}

			dst[w][at] = v
		} else {
			if p < n && line[p] != '"' {
				if delim == ' ' {
					for p < n && line[p] != ' ' && line[p] != '\t' {
						p++
					}
				} else if i := bytes.IndexByte(line[p:], delim); i >= 0 {
					p += i
				} else {
					p = n
				}
			} else {
				_, p = l.cell(line, p)
			}
		}

		// p is now at the delimiter or the end of the line.
		if col == len(t.want)-1 {
			break
		}

		if p == n {
			return t.ragged(line)
		}

		p++
	}

	// After the last cell one delimiter and blanks may follow.
	if p < n && line[p] == delim {
		p++
	}

	for p < n {
		if line[p] != ' ' && line[p] != '\t' {
			return t.ragged(line)
		}
		p++
	}

	return nil
}

// number reads a cell. In data that no person has looked at, a mark that may be another decimal
// sign is no mark between thousands.
func (l *layout) number(cell []byte) (float64, bool) {
	if v, ok := Number(cell, l.dec); ok {
		return v, true
	}

	v, doubtful, ok := Typed(cell, l.dec)

	return v, ok && !doubtful
}

// cell returns the text of the cell that begins at p, without blanks and
// quotes, and the index of the delimiter after it (or the end).
func (l *layout) cell(line []byte, p int) (cell []byte, next int) {
	n := len(line)
	if p < n && line[p] == '"' {
		for q := p + 1; q < n; q++ {
			if line[q] != '"' {
				continue
			}

			if q+1 < n && line[q+1] == '"' {
				q++
				continue
			}

			next = q + 1
			for next < n && line[next] != l.delim && !(l.delim == ' ' && line[next] == '\t') {
				next++
			}

			cell = bytes.TrimSpace(line[p+1 : q])
			if bytes.IndexByte(cell, '"') >= 0 {
				cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
			}

			return cell, next
		}
		// The quote never closes: it belongs to the text.
	}

	next = p
	for next < n && line[next] != l.delim && !(l.delim == ' ' && line[next] == '\t') {
		next++
	}

	return bytes.TrimSpace(line[p:next]), next
}

// split appends the cells of a line to dst; an empty cell after a last
// delimiter is left out if it is one more than the columns there are.
func (l *layout) split(dst [][]byte, line []byte) [][]byte {
	if l.delim != ' ' {
		dst = slices.Grow(dst, min(bytes.Count(line, []byte{l.delim}), MaxColumns)+1)
	}

	p, n, first := 0, len(line), len(dst)
	for len(dst)-first <= MaxColumns {
		for p < n && (line[p] == ' ' || line[p] == '\t' && l.delim != '\t') {
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

	if l.cols > 0 && len(dst) == first+l.cols+1 && len(dst[first+l.cols]) == 0 {
		dst = dst[:first+l.cols]
	}

	return dst
}

// Tolerate implements ingest.Tolerant.
func (t *Reader) Tolerate(channels []bool) {
	if channels == nil {
		t.tolerated = nil
		return
	}

	t.tolerated = make([]bool, t.lay.cols)
	for c, ok := range channels {
		t.tolerated[t.chans[c]] = ok
	}
}

// Row is one row of a table.
type Row struct {
	Line   int64     // its number, from 1
	Values []float64 // of the channels asked for; valid until the next row
	r      *Reader
	text   []byte
	cells  *[][]byte
}

// Text returns the cell of a column unchanged.
func (r Row) Text(column int) string {
	*r.cells = r.r.lay.split((*r.cells)[:0], r.text)
	return string((*r.cells)[column])
}

// Rows passes every row, with the numbers of the given channels, to each and
// ends with its first error.
func (t *Reader) Rows(channels []int, each func(Row) error) error {
	for i := range t.want {
		t.want[i] = -1
	}

	for i, c := range channels {
		t.want[t.chans[c]] = i
	}

	row := Row{Values: make([]float64, len(channels)), r: t, cells: new([][]byte)}

	dst := make([][]float64, len(channels))
	for i := range dst {
		dst[i] = row.Values[i : i+1]
	}

	t.cur.seek(t.marks[0])

	for n := int64(0); n < t.rows; {
		line, ok, err := t.cur.next()
		if err != nil || !ok {
			return t.shrunk(err)
		}

		if Skipped(line, t.lay.delim) {
			continue
		}

		n++

		if err := t.parseRow(line, dst, 0); err != nil {
			return err
		}

		row.Line, row.text = t.cur.line-1, line
		if err := each(row); err != nil {
			return err
		}
	}

	t.row = t.rows

	return nil
}

// Columns returns the names of all columns, of numbers and of text, and their
// unchanged headers, "" where there is none.
func (t *Reader) Columns() (names, heads []string) { return t.lay.names, t.lay.heads }

// Column returns the column of a channel, from 0.
func (t *Reader) Column(channel int) int { return t.chans[channel] }

// Cells splits a line as the rows of a table of that many columns are split; 0:
// any number.
func Cells(line []byte, delimiter byte, columns int) [][]byte {
	l := layout{delim: delimiter, dec: '.', cols: columns}
	return l.split(nil, line)
}

// ragged describes a row with too few or too many columns.
func (t *Reader) ragged(line []byte) error {
	cells := t.lay.split(nil, line)
	no := t.cur.line - 1

	e := &fault.Error{Path: t.path, Want: fault.Plural(int64(t.lay.cols), "column"), Found: strconv.Itoa(len(cells))}
	if len(cells) < t.lay.cols {
		e.Place = fmt.Sprintf("line %d, column %d (%s)", no, len(cells)+1, t.lay.names[len(cells)])
		e.Hint = "the row is too short: complete or delete it"
	} else {
		e.Place = fmt.Sprintf("line %d, column %d", no, t.lay.cols+1)
		e.Hint = "the row is too long: correct or delete it"
		if t.lay.delim == ',' && t.lay.dec == '.' {
			e.Hint += "; a decimal comma needs semicolons or tabs between columns"
		}
	}

	return e
}

// badCell describes a cell that is no number.
func (t *Reader) badCell(line []byte, col int, cell []byte) error {
	// A short row shows first as an empty cell; report its length instead.
	if n := len(t.lay.split(nil, line)); n < t.lay.cols {
		return t.ragged(line)
	}
	return cellError(t.path, t.cur.line-1, col, t.lay.names[col], cell)
}

func cellError(path string, line int64, col int, name string, cell []byte) error {
	e := &fault.Error{
		Path: path, Place: fmt.Sprintf("line %d, column %d (%s)", line, col+1, name), Want: "a number",
		Found: strconv.Quote(fault.Clip(string(cell))), Hint: "correct the cell, or delete the row",
	}

	if len(cell) == 0 {
		e.Found = "an empty cell"
	} else if _, ok := Number(cell, ','); ok {
		e.Hint = "a decimal comma; the other rows seen have decimal points"
	} else if _, ok := Number(cell, '.'); ok {
		e.Hint = "a decimal point; the other rows seen have decimal commas"
	}

	return e
}

// sampleLine is a line from the head of a file.
type sampleLine struct {
	text []byte
	mark mark
}

// findLayout looks at the head of the file: delimiter, decimal sign, header,
// units, which columns hold numbers.
func findLayout(path string, src io.ReaderAt, size int64, o ingest.TextOptions) (*layout, error) {
	head := make([]byte, min(size, textSample))
	n, err := src.ReadAt(head, 0)
	if n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{Path: path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}

	head = head[:n]

	off := int64(0)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		head, off = head[3:], 3
	}

	whole := int64(n) == size

	if i := bytes.IndexByte(head, 0); i >= 0 {
		return nil, &fault.Error{
			Path: path, Place: fmt.Sprintf("byte %d", off+int64(i)), Want: "text", Found: "a zero byte",
			Hint: "this is no text file",
		}
	}

	if bytes.IndexByte(head, '\n') < 0 && bytes.Count(head, []byte{'\r'}) > 1 {
		return nil, &fault.Error{
			Path: path, Place: "line 1", Want: "lines ended by LF or CRLF", Found: "CR alone",
			Hint: "convert the line ends",
		}
	}

	var comments, lines []sampleLine
	for no := int64(1); len(head) > 0 && len(lines) < 200; no++ {
		m := mark{off, no}

		line, rest, found := bytes.Cut(head, []byte{'\n'})
		if !found && !whole {
			break // cut off by the sample, not by the file
		}

		off += int64(len(line)) + 1
		head = rest

		line = bytes.TrimSuffix(line, []byte{'\r'})
		switch {
		case Skipped(line, ';'): // a line that begins with ';' may still be data
			if t := bytes.TrimSpace(line); len(t) > 0 && len(comments) < 100 && bytes.IndexByte([]byte("#%!/"), t[0]) >= 0 {
				comments = append(comments, sampleLine{line, m})
			}

		default:
			lines = append(lines, sampleLine{line, m})
		}
	}

	if len(lines) == 0 {
		if !whole {
			return nil, &fault.Error{
				Path: path, Place: "line 1", Found: fmt.Sprintf("no row within %d KiB", textSample>>10),
				Hint: "is this a table?",
			}
		}

		return nil, &fault.Error{Path: path, Want: "rows of numbers", Found: "no data rows"}
	}

	l, from, ok := chooseDelimiter(lines, o)
	if !ok {
		at := lines[len(lines)-1]
		return nil, &fault.Error{
			Path: path, Place: fmt.Sprintf("line %d", at.mark.line), Want: "rows of numbers",
			Found: fmt.Sprintf("no data rows; the last line looked at is %q", fault.Clip(string(at.text))),
			Hint:  "record again, or leave the file out with exclude",
		}
	}

	if l.cols > MaxColumns {
		return nil, &fault.Error{
			Path: path, Place: fmt.Sprintf("line %d", lines[0].mark.line),
			Found: fmt.Sprintf("more than %d columns", MaxColumns),
		}
	}

	if l.delim != ';' { // now lines that begin with ';' are known to be comments
		kept, before := lines[:0:0], 0
		for i, s := range lines {
			if !Skipped(s.text, l.delim) {
				kept = append(kept, s)
				if i < from {
					before++
				}
			}
		}

		if len(kept) == 0 {
			return nil, &fault.Error{Path: path, Want: "rows of numbers", Found: "no data rows"}
		}

		lines, from = kept, min(before, len(kept)-1)
	}

	if err := l.findHeader(path, lines, comments, from, o); err != nil {
		return nil, err
	}

	return l, nil
}

// candidates are the separators and decimal signs there are, the likelier first.
var candidates = []struct {
	delim, dec byte
	name       string
}{
	{'\t', '.', "tab"},
	{';', '.', "semicolon"},
	{',', '.', "comma"},
	{'\t', ',', "tab"},
	{';', ',', "semicolon"},
	{' ', '.', "blanks"},
	{' ', ',', "blanks"},
}

// chooseDelimiter tries every delimiter and decimal sign on the later lines of
// the sample (the first may be header, units, preamble) and takes what makes
// the greatest part of the cells numbers in rows of equal length.
func chooseDelimiter(lines []sampleLine, o ingest.TextOptions) (best *layout, from int, ok bool) {
	switch n := len(lines); {
	case n >= 4:
		from = n / 2
	case n >= 2:
		from = 1
	}

	score := 0.0
	var all [][]byte // the cells of all lines, of one candidate after another
	for _, c := range candidates {
		if o.Delimiter != "" && o.Delimiter != c.name {
			continue
		}

		l := &layout{delim: c.delim, dec: c.dec}
		counts, before := map[int]int{}, map[int]int{}
		rows := make([][][]byte, 0, len(lines)-from)
		all = all[:0]

		width, even, longest := -1, true, 0 // cells with the empty ones at the end, and without
		for i, s := range lines {
			if Skipped(s.text, c.delim) {
				continue
			}

			first := len(all)
			all = l.split(all, s.text)
			cells := all[first:]
			even = even && (width < 0 || len(cells) == width)
			width = len(cells)

			for len(cells) > 1 && len(cells[len(cells)-1]) == 0 {
				cells = cells[:len(cells)-1]
			}

			longest = max(longest, len(cells))

			if i < from {
				before[len(cells)]++
				continue
			}

			rows = append(rows, cells)
			counts[len(cells)]++
		}

		// The most frequent number of cells; the lines before break a tie. The
		// order of the map does not matter, since the comparison is total.
		cols, most := 0, 0
		for k, n := range counts {
			if n > most || n == most && (before[k] > before[cols] || before[k] == before[cols] && k > cols) {
				cols, most = k, n
			}
		}

		// Columns at the end that are empty in every row, but have a name.
		if even = even && longest > cols; even {
			cols = longest
		}

		if cols > 1 && 2*most < len(rows) {
			continue // prose: hardly two lines have as many words
		}

		numbers, cells := 0, 0
		for _, r := range rows {
			cells += max(len(r), cols)

			if len(r) != cols && !even {
				continue
			}

			for _, cell := range r {
				if bytes.IndexByte(cell, ' ') >= 0 {
					continue // many numbers with another delimiter, rather than one
				}

				if _, ok := l.number(cell); ok {
					numbers++
				}
			}
		}

		if numbers == 0 {
			continue
		}

		s := float64(numbers) / float64(cells)

		// One column can always be had; it must not win over a real split.
		if cols == 1 {
			s *= 0.5
		}

		if s > score {
			l.cols = cols
			best, score = l, s
		}
	}

	return best, from, best != nil
}

// header is the search for the header of a text.
type header struct {
	*layout
	path            string
	o               ingest.TextOptions
	lines, comments []sampleLine
	votes           []int // by column: cells with numbers less cells without
	data            int   // index of the first row among lines

	nameCells, unitCells [][]byte // nil: none
	cells                [][]byte // of cut
}

// findHeader finds where the data begin, the names and units of the columns, and
// which of them hold numbers. lines[from:] are the ones the delimiter was chosen by.
func (l *layout) findHeader(path string, lines, comments []sampleLine, from int, o ingest.TextOptions) error {
	// A column holds numbers if most of its cells in the later lines do.
	h := &header{layout: l, path: path, o: o, lines: lines, comments: comments, votes: make([]int, l.cols)}
	for _, s := range lines[from:] {
		cells := h.cut(s.text)
		for i := range min(len(cells), l.cols) {
			if _, ok := l.number(cells[i]); ok {
				h.votes[i]++
			} else {
				h.votes[i]--
			}
		}
	}

	if err := h.findData(from); err != nil {
		return err
	}

	if err := h.findNames(); err != nil {
		return err
	}

	if len(o.Columns) > 0 && len(o.Columns) != l.cols {
		return &fault.Error{
			Path: path, Place: fmt.Sprintf("line %d", l.line),
			Want: fmt.Sprintf("%d columns as named in the configuration", len(o.Columns)), Found: strconv.Itoa(l.cols),
		}
	}

	h.nameColumns()

	return h.findNumeric()
}

// cut returns the cells of a line, valid until the next call.
func (h *header) cut(line []byte) [][]byte {
	h.cells = h.split(h.cells[:0], line)
	return h.cells
}

// numbers counts the cells that are numbers, and those that are not where the
// column's other cells are.
func (h *header) numbers(cells [][]byte) (good, bad int) {
	for i := range min(len(cells), h.cols) {
		if _, ok := h.number(cells[i]); ok {
			good++
		} else if h.votes[i] > 0 {
			bad++
		}
	}

	return good, bad
}

// findData finds the first row; comments before it may be attributes.
func (h *header) findData(from int) error {
	// Lines without any number come before the data; so do all lines above a
	// header that are no rows themselves.
	data := 0
	for i := range min(from, 100) {
		cells := h.cut(h.lines[i].text)
		good, bad := h.numbers(cells)
		if good > 0 && bad == 0 && len(cells) == h.cols {
			break
		}

		if good == 0 && len(h.headerCells(h.lines[i].text)) == h.cols {
			data = i
		}
	}

	for data < len(h.lines) {
		cells := h.cut(h.lines[data].text)
		good, bad := h.numbers(cells)
		if good > 0 && (bad == 0 || data > 0 || len(h.o.Columns) > 0 || len(h.lines) == 1) {
			break
		}

		if good > 0 && len(cells) != h.cols {
			break // a bad first row, not a header
		}

		data++
		if data == 1 && good > 0 { // "Time,1,2,3": numbers as names
			h.warn = append(h.warn, ingest.Warning{
				Path: h.path, Code: "numeric-header",
				Text: fmt.Sprintf("line %d (%q) is taken as the header, though %d of its %d names are numbers",
					h.lines[0].mark.line,
					fault.Clip(string(h.lines[0].text)), good, h.cols),
			})

			break
		}
	}

	if err := h.otherSeparator(data); err != nil {
		return err
	}

	if data >= len(h.lines) {
		at := h.lines[len(h.lines)-1]
		return &fault.Error{
			Path: h.path, Place: fmt.Sprintf("line %d", at.mark.line), Want: "rows of numbers",
			Found: "no data rows",
		}
	}

	h.data = data
	h.dataOff, h.line = h.lines[data].mark.off, h.lines[data].mark.line
	for _, c := range h.comments {
		if c.mark.line < h.line {
			h.attribute(commentText(c.text))
		}
	}

	return nil
}

// otherSeparator refuses lines before the first row that are rows of numbers with
// another separator or decimal sign: as many as there are columns, or two lines.
func (h *header) otherSeparator(data int) error {
	for _, c := range candidates {
		if c.delim == h.delim && c.dec == h.dec {
			continue
		}

		other := &layout{delim: c.delim, dec: c.dec}

		rows := 0
		for _, s := range h.lines[:data] {
			h.cells = other.split(h.cells[:0], s.text)
			cells := h.cells
			if len(cells) < 2 || slices.ContainsFunc(cells, func(b []byte) bool { _, ok := Number(b, c.dec); return !ok }) {
				continue
			}

			if rows++; len(cells) == h.cols || rows == 2 {
				return &fault.Error{
					Path: h.path, Place: fmt.Sprintf("line %d", s.mark.line),
					Want:  "rows that are " + h.encoding(),
					Found: fmt.Sprintf("a row of numbers, %s: %q", other.encoding(), fault.Clip(string(s.text))),
					Hint:  "separate all rows alike, or make it a comment with #",
				}
			}
		}
	}

	return nil
}

// findNames finds the cells of the header and of the units.
func (h *header) findNames() error {
	// The header is the last of the lines before the data that has as many
	// cells as there are columns; a line after it gives units.
	pre := h.lines[:h.data]

	var last, before [][]byte
	if n := len(pre); n >= 1 {
		last = h.headerCells(pre[n-1].text)
		if n >= 2 && len(last) == h.cols && unitsRow(last) {
			before = h.headerCells(pre[n-2].text)
		}
	}

	switch n := len(pre); {
	case before != nil && len(before) == h.cols:
		h.nameCells, h.unitCells = before, last
		pre = pre[:n-2]
	case n >= 1 && len(last) == h.cols:
		h.nameCells = last
		pre = pre[:n-1]
	case n >= 1 && len(h.o.Columns) == 0:
		cells := last
		if h.delim != ' ' && len(cells) > 1 {
			return &fault.Error{
				Path: h.path, Place: fmt.Sprintf("line %d", pre[n-1].mark.line),
				Want:  fmt.Sprintf("a header of %d names, as the rows have columns", h.cols),
				Found: fault.Plural(int64(len(cells)), "name"),
			}
		}

		h.warn = append(h.warn, ingest.Warning{
			Path: h.path, Code: "no-header",
			Text: fmt.Sprintf("line %d (%q) is not understood as a header of %s: the columns are numbered", pre[n-1].mark.line,
				fault.Clip(string(pre[n-1].text)), fault.Plural(int64(h.cols), "column")),
		})
	}

	for _, s := range pre {
		h.attribute(string(s.text))
	}

	if h.nameCells == nil && h.data == 0 && len(h.o.Columns) == 0 {
		// numpy.savetxt and MATLAB write the header as a comment.
		for i := len(h.comments) - 1; i >= 0; i-- {
			if h.comments[i].mark.line >= h.line {
				continue
			}

			text := []byte(commentText(h.comments[i].text))
			if cells := h.headerCells(text); len(cells) == h.cols && (h.cols > 1 || len(cells[0]) > 0) {
				if good, _ := h.numbers(cells); good == 0 {
					h.nameCells = cells
				}
			}

			break
		}
	}

	return nil
}

// nameColumns sets names and units of the columns: numbers, the header, then the
// user's names.
func (h *header) nameColumns() {
	h.names, h.units, h.heads = make([]string, h.cols), make([]string, h.cols), make([]string, h.cols)
	h.numeric = make([]bool, h.cols)
	for i := range h.cols {
		h.names[i] = strconv.Itoa(i + 1)
		if h.nameCells != nil && len(h.nameCells[i]) > 0 {
			h.heads[i] = valid(h.nameCells[i])
			h.names[i], h.units[i] = SplitUnit(h.heads[i])
		}

		if h.unitCells != nil {
			if u := unitOf(valid(h.unitCells[i])); u != "" {
				h.units[i] = u
			}
		}

		if len(h.o.Columns) > 0 {
			h.names[i], h.heads[i] = h.o.Columns[i], ""
			if name, unit := SplitUnit(h.o.Columns[i]); unit != "" {
				h.names[i], h.units[i], h.heads[i] = name, unit, h.o.Columns[i]
			}
		}
	}
}

// namedColumns bounds the columns that are named for holding no numbers, a warning each.
const namedColumns = 20

// findNumeric finds the columns of numbers: those of which some row of the sample
// has one.
func (h *header) findNumeric() error {
	seen := make([]bool, h.cols)
	for _, s := range h.lines[h.data:] {
		cells := h.cut(s.text)
		for i := range min(len(cells), h.cols) {
			if _, ok := h.number(cells[i]); ok {
				h.numeric[i] = true
			}
			seen[i] = seen[i] || len(cells[i]) > 0
		}
	}

	any, none := false, 0
	for i, ok := range h.numeric {
		any = any || ok

		if ok {
			continue
		}

		if none++; none <= namedColumns {
			what := "holds text"
			if !seen[i] {
				what = "is empty"
			}

			h.warn = append(h.warn, ingest.Warning{
				Path: h.path, Code: "text-column", Column: h.names[i],
				Text: fmt.Sprintf("column %s %s: it is no channel", h.names[i], what),
			})
		}
	}

	if more := none - namedColumns; more > 0 {
		h.warn = append(h.warn, ingest.Warning{
			Path: h.path, Code: "text-column",
			Text: fmt.Sprintf("%d more columns hold text or are empty: they are no channels", more),
		})
	}

	if !any {
		return &fault.Error{
			Path: h.path, Place: fmt.Sprintf("line %d", h.line), Want: "rows of numbers",
			Found: strconv.Quote(fault.Clip(string(h.lines[h.data].text))),
		}
	}

	return nil
}

// knownUnits are units that make a row below the header a row of units.
var knownUnits = map[string]bool{
	"s": true, "ms": true, "us": true, "µs": true, "min": true, "h": true, "sec": true, "Hz": true, "kHz": true,
	"1/s": true,
	"N":   true, "kN": true, "mN": true, "Nm": true, "N.m": true, "N·m": true, "N*m": true, "N m": true, "lb": true,
	"lbf": true,
	"Pa":  true, "kPa": true, "hPa": true, "mbar": true, "bar": true, "psi": true, "V": true, "mV": true, "A": true,
	"mA": true, "W": true,
	"m": true, "mm": true, "cm": true, "m/s": true, "m/s2": true, "m/s^2": true, "m/s²": true, "g": true, "kg": true,
	"kg/m3": true, "kg/m^3": true,
	"deg": true, "°": true, "rad": true, "rad/s": true, "rpm": true, "RPM": true, "1/min": true, "K": true, "°C": true,
	"degC": true, "C": true,
	"-": true, "%": true, "dB": true, "": true, "counts": true,
}

// unitOf returns the unit in a cell of a row of units: "[N]", "-".
func unitOf(cell string) string {
	if u := strings.Trim(cell, " []()"); u != "-" {
		return u
	}
	return ""
}

// UnitsBelow returns the units in a row below the header, "" where it has none; nil if the row is
// none of units.
func UnitsBelow(row [][]byte) []string {
	if !unitsRow(row) {
		return nil
	}

	units := make([]string, len(row))
	for i, c := range row {
		units[i] = unitOf(string(c))
	}

	return units
}

// unitsRow reports whether most cells of a row are units.
func unitsRow(cells [][]byte) bool {
	units, filled := 0, 0
	for _, c := range cells {
		s := string(c)
		bare := strings.Trim(s, "[]()")
		if len(bare) > 16 {
			return false
		}

		if knownUnits[bare] || bare != s {
			units++
		}

		if bare != "" {
			filled++
		}
	}

	return filled > 0 && 2*units > len(cells)
}

// headerCells splits a header. Where blanks separate, a unit in brackets
// belongs to the name before it; failing that, the names may be separated by
// tabs or by two and more blanks.
func (l *layout) headerCells(line []byte) [][]byte {
	cells := l.split(nil, line)
	if l.delim != ' ' || len(cells) == l.cols {
		return cells
	}

	var merged [][]byte
	for _, c := range cells {
		if len(merged) > 0 && len(c) > 0 && (c[0] == '(' || c[0] == '[') {
			last := len(merged) - 1
			merged[last] = append(append(bytes.Clone(merged[last]), ' '), c...)
			continue
		}

		merged = append(merged, c)
	}

	if len(merged) == l.cols {
		return merged
	}

	var wide [][]byte
	for _, part := range bytes.Split(bytes.ReplaceAll(line, []byte("\t"), []byte("  ")), []byte("  ")) {
		if part = bytes.TrimSpace(part); len(part) > 0 {
			wide = append(wide, part)
		}
	}

	if len(wide) == l.cols {
		return wide
	}

	return cells
}

// attribute keeps a "key: value" or "key = value" line from before the data.
func (l *layout) attribute(s string) {
	if len(l.attrs) >= 64 || len(s) > 1024 || !utf8.ValidString(s) {
		return
	}

	i := strings.IndexAny(s, ":=")
	if i <= 0 {
		return
	}

	name, value := strings.TrimSpace(s[:i]), strings.Trim(s[i+1:], " \t,;")
	if name != "" && value != "" {
		l.attrs = append(l.attrs, ingest.Attribute{Name: name, Value: value})
	}
}

// commentText is a comment line without its sign.
func commentText(line []byte) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(string(line)), "#%!/;"))
}

// SplitUnit separates the unit from a header: "Time (s)", "Fx [N]", "p[Pa]".
func SplitUnit(head string) (name, unit string) {
	s := strings.TrimSpace(head)
	if s == "" {
		return s, ""
	}

	var open byte
	switch s[len(s)-1] {
	case ']':
		open = '['
	case ')':
		open = '('
	default:
		return s, ""
	}

	i := strings.LastIndexByte(s, open)
	if i <= 0 {
		return s, ""
	}

	name, unit = strings.TrimRight(s[:i], " \t"), strings.TrimSpace(s[i+1:len(s)-1])

	// "f(x)" is a name; with a blank, an underline or square brackets it is a unit.
	if open == '(' && len(name) == i && s[i-1] != '_' {
		switch unit {
		case "s", "ms", "N", "Nm", "V", "mV", "A", "Pa", "Hz", "m", "mm", "m/s", "deg", "rad", "rpm", "K", "°C", "°":
		default:
			return s, ""
		}
	}

	if name = strings.TrimRight(name, "_ "); name == "" {
		return s, ""
	}

	return name, unit
}
