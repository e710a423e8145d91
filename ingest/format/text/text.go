// Package text reads delimited text: columns of numbers separated by commas,
// semicolons, tabs or blanks, with decimal points or commas, with or without a
// header, units and comments. It finds out by itself which. Tables of
// conditions and of pairs are read with it in package ingest/campaign.
package text

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// Format is delimited text. It is what holds no bytes that text does not.
var Format = ingest.Format{
	Name: "text", Title: "delimited text", Endings: []string{".csv", ".txt", ".dat", ".tsv"},
	Open: func(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
		r, err := Open(src, o)
		switch {
		case err != nil:
			return nil, err // never a Reader that is not nil
		case len(r.info.Channels) == 0:
			return nil, atLine(src.Path, r.lay.line, "rows of numbers", "numbers with units behind them",
				"state units in the header")
		}

		return r, nil
	},
}

const (
	textSample = 1 << 18 // bytes from which the layout is found out
	maxLine    = 1 << 22 // the longest line that is read
	maxMarks   = 4096    // entries of the line index
	maxOneRow  = 64      // numbers without names in a text of one row: more are samples, not channels
	maxColumns = 1 << 16 // the most columns a table may have
	tooMany    = "more than 65536 columns"
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
	clocks  []string // of columns that hold times of the day: their layout as package time has it, "" of others
	dataOff int64    // of the first line that may hold data
	line    int64    // its number, from 1
	rate    float64  // in Hz, 0 where the header does not state it
	log     *Log     // nil: a program wrote it
	head    int64    // the line of its header
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

	in        *lines.Reader
	at        mark   // of the row that was read last
	row       int64  // the row after the cursor
	want      []int  // column → destination, −1 if not asked; reused
	tolerated []bool // columns where a bad cell is NaN, not an error
}

// skipped reports whether a line holds no row: blank, a comment, or nothing
// but delimiters.
func skipped(line []byte, delim byte) bool {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}

	if line = line[i:]; len(line) == 0 {
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

	return line[0] == ';' // here the delimiter is another one
}

// Open finds out the layout, counts the rows and reads the beginning and the
// end of the time column. It parses no other rows: a ragged row, or text in a
// column of numbers, is an error of Read.
func Open(src ingest.Source, o ingest.Options) (*Reader, error) { return open(src, o, nil) }

func open(src ingest.Source, o ingest.Options, log *Log) (_ *Reader, err error) {
	defer fault.Catch(&err)

	src = openUTF16(src)

	t := &Reader{path: src.Path, src: src, time: -1, stride: 1024, in: lines.New(src, maxLine, false)}

	var lay *layout
	if log != nil {
		lay = t.findHeader(log)
	} else {
		lay = findLayout(src, o.Text)
	}

	t.lay = *lay
	t.count(o)
	for i := range lay.warn {
		lay.warn[i].Path = src.Path
	}

	t.info = ingest.Info{
		Path: src.Path, Format: "text", Encoding: lay.encoding(), Attributes: lay.attrs,
		Warnings: append(lay.warn, t.info.Warnings...),
	}

	rate := fault.Get(o.Rate(src.Path, "header", lay.rate, 0.01))
	for col := range lay.cols {
		if !lay.numeric[col] {
			continue
		}

		ch := ingest.Channel{Name: lay.names[col], Unit: lay.units[col], RateHz: rate, Samples: t.rows}
		if lay.heads[col] != "" && lay.heads[col] != ch.Name {
			ch.Attributes = append(ch.Attributes, ingest.Attribute{Name: "header", Value: lay.heads[col]})
		}

		t.chans = append(t.chans, col)
		t.info.Channels = append(t.info.Channels, ch)
	}

	if t.rows == 1 && len(t.chans) > maxOneRow && len(o.Text.Columns) == 0 && strings.Join(lay.heads, "") == "" {
		return nil, atLine(src.Path, lay.line, "columns of samples", fmt.Sprintf("one row of %d numbers", len(t.chans)),
			"a column is a channel: write one number a line, or a header if they are channels of one sample")
	}

	t.want, t.tolerated = make([]int, lay.cols), make([]bool, lay.cols)
	t.findTime(o)

	return t, nil
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
func (t *Reader) count(o ingest.Options) {
	t.seek(mark{t.lay.dataOff, t.lay.line})
	var last mark // where the last row begins

	var rows int64
	for {
		if _, ok := t.next(); !ok {
			break
		}

		if rows%t.stride == 0 && len(t.marks) == maxMarks {
			// Twice the distance, half the marks: memory stays the same.
			for i := range maxMarks / 2 {
				t.marks[i] = t.marks[2*i]
			}

			t.marks = t.marks[:maxMarks/2]
			t.stride *= 2
		}

		if rows%t.stride == 0 {
			t.marks = append(t.marks, t.at)
		}

		last = t.at
		rows++
	}

	unless(rows > 0, t.path, t.in.Line, "rows of numbers", "no data rows", "")

	// A file cut off by a crash ends inside a row, without an end of line.
	if t.cutRow(last, rows, o) {
		rows--
	}

	t.rows = rows
	t.seek(t.marks[0])
}

// cutRow refuses, or with Options.Truncated "use" drops, an incomplete last row.
func (t *Reader) cutRow(last mark, rows int64, o ingest.Options) bool {
	var end [1]byte
	if _, err := t.src.ReadAt(end[:], t.src.Size-1); err != nil || end[0] == '\n' || rows < 2 || t.lay.log != nil {
		return false
	}

	t.seek(last)

	line, _, _ := t.in.More()

	n := len(t.lay.split(nil, line))
	if n >= t.lay.cols {
		return false
	}

	what := fmt.Sprintf("%s of %d, then the end of the file", fault.Plural(int64(n), "column"), t.lay.cols)
	fault.Unless(o.Truncated == "use", &fault.Error{
		Path: t.path, Place: fmt.Sprintf("line %d, column %d (%s)", last.line, n+1, t.lay.names[n]), Found: what,
		Hint: "the last row is cut short; with truncated: use, it is left out",
	})

	t.warnf("truncated", "the last row (line %d) is cut short: it is left out", last.line)

	return true
}

func (t *Reader) warnf(code, format string, args ...any) {
	t.info.Warnings = append(t.info.Warnings, ingest.Warning{Path: t.path, Code: code, Text: fmt.Sprintf(format, args...)})
}

// findTime finds the time column and the rate it gives.
func (t *Reader) findTime(o ingest.Options) {
	if o.Text.Time != "" {
		t.time = fault.Get(ingest.FindChannel(t.info, o.Text.Time))
	} else {
		all := lists.Numbers(len(t.chans))

		var warns []ingest.Warning
		t.time, warns = clock.Find(t, all, func(c int) []string { return []string{t.info.Channels[c].Name} })
		if t.time < 0 {
			t.time = slices.IndexFunc(t.chans, func(col int) bool { return t.lay.clocks[col] != "" })
		}

		t.info.Warnings = append(t.info.Warnings, warns...)
		if stated := t.lay.rate; t.time < 0 && stated > 0 { // a first column of such steps is the time, by any name
			if now, err := clock.Read(t, 0, "column"); err == nil && math.Abs(now.RateHz-stated) <= 1e-3*stated {
				t.time = 0
			}
		}
	}

	if t.time < 0 {
		return
	}

	ch := &t.info.Channels[t.time]

	now := fault.Get(clock.Read(t, t.time, "column"))

	clock.Mark(ch)
	switch {
	case t.rows < 2:
		return
	case now.RateHz == 0:
		t.warnf("clock-useless", "column %s goes from %v to %v: it gives no sampling rate", ch.Name, now.First, now.Last)
		return
	case now.Gaps:
		t.warnf("clock-gaps", "column %s: %d rows in %.6g s are %.4g Hz, but steps at the beginning are of %.4g Hz: the "+
			"recording pauses or changes its rate; %.4g Hz is used",
			ch.Name, t.rows, now.Seconds, now.EndsHz, now.RateHz, now.RateHz)
	}

	// A clock is read, not set: one percent off the nominal rate is no contradiction.
	rate := fault.Get(o.Rate(t.path, "column "+ch.Name, now.RateHz, 0.01))

	switch stated := t.lay.rate; {
	case stated == 0 || o.RateHz > 0:
	case now.Doubt != "" && slices.ContainsFunc([]float64{1e3, 1e6}, func(ms float64) bool {
		return math.Abs(ms*rate-stated) <= 0.02*stated
	}):
		rate, now.Doubt = stated, ""
	case math.Abs(rate-stated) > 0.02*stated:
		t.warnf("rates-contradict", "the header states a rate of %g Hz, the steps of column %s give %.6g Hz: %[3]g Hz is "+
			"used; correct the wrong one", stated, ch.Name, rate)
	}

	if now.Doubt != "" && o.RateHz == 0 && o.Text.Time == "" {
		t.warnf("clock-unit", "%s", now.Doubt)
	}

	t.info.Warnings = append(t.info.Warnings, clock.Odd(t.path, "column "+ch.Name, rate)...)
	for i := range t.info.Channels {
		t.info.Channels[i].RateHz = rate
	}
}

// Info implements ingest.Reader.
func (t *Reader) Info() ingest.Info { return t.info }

// Close implements ingest.Reader.
func (t *Reader) Close() error { return t.src.Close() }

// Read implements ingest.Reader. It panics if channels and dst do not fit together.
func (t *Reader) Read(channels []int, start int64, dst [][]float64) (k int, err error) {
	defer fault.Catch(&err)

	n := ingest.CheckRead(len(t.info.Channels), channels, start, dst)
	if n == 0 {
		return 0, nil
	}

	if start >= t.rows {
		return 0, io.EOF
	}

	if start < t.row || start/t.stride > t.row/t.stride {
		i := start / t.stride
		t.seek(t.marks[i])
		t.row = i * t.stride
	}

	for ; t.row < start; t.row++ {
		t.counted()
	}

	t.ask(channels)

	for ; k < n && t.row < t.rows; k++ {
		line := t.counted()
		t.row++
		t.parseRow(line, dst, k)
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

// ask notes that parseRow is to put the channels into dst[0], dst[1] …
func (t *Reader) ask(channels []int) {
	for i := range t.want {
		t.want[i] = -1
	}

	for i, c := range channels {
		t.want[t.chans[c]] = i
	}
}

func (t *Reader) seek(m mark) {
	t.in.Go(m.off)
	t.in.Line = m.line
}

// next returns the line of the next row; ok is false at the end.
func (t *Reader) next() (line []byte, ok bool) {
	for {
		t.at = mark{t.in.At(), t.in.Line}

		line, _, ok = t.in.More()

		l := &t.lay
		if l.delim == 0 { // not known yet
			l = l.log.usual(line)
		}

		if line = t.whole(line, l); !ok || !l.skipped(line) {
			return line, ok
		}
	}
}

// counted is next of a row that was counted: that it is gone is an error.
func (t *Reader) counted() []byte {
	line, ok := t.next()
	t.src.Unless(ok, t.at.off, "", "the file changed while it was read", "is it still being written?")

	return line
}

// parseRow puts the wanted cells of a row into dst[·][at].
func (t *Reader) parseRow(line []byte, dst [][]float64, at int) {
	l := &t.lay
	delim, dec, n := l.delim, l.dec, len(line)

	p := 0
	for col, w := range t.want {
		for p < n && (line[p] == ' ' || line[p] == '\t' && delim != '\t') {
			p++
		}

		if p == n && delim == ' ' {
			t.ragged(line)
			return
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
				if v, ok = l.number(cell); !ok && l.clocks[col] != "" {
					v, ok = timeOf(l.clocks[col], cell)
				}

				if !ok {
					if !t.tolerated[col] {
						t.badCell(line, col, cell)
						return
					}
					v = math.NaN()
				}

				p = next
			}

			dst[w][at] = v
		} else {
			_, p = l.cell(line, p)
		}

		// p is now at the delimiter or the end of the line.
		if col == len(t.want)-1 {
			break
		}

		if p == n {
			t.ragged(line)
			return
		}

		p++
	}

	for ; p < n; p++ { // after the last cell empty ones may follow
		if line[p] != ' ' && line[p] != '\t' && line[p] != delim {
			t.ragged(line)
			return
		}
	}
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

// measured reports whether a cell is a number with a unit behind it, as people write it: 36 km/h.
func (l *layout) measured(cell []byte) bool {
	i := bytes.LastIndexAny(cell, "0123456789") + 1
	unit := strings.TrimSpace(string(cell[i:]))
	_, ok := l.number(cell[:i])

	return ok && slices.Contains(knownUnits, unit)
}

// cell returns the text of the cell that begins at p, without blanks and
// quotes, and the index of the delimiter after it (or the end).
func (l *layout) cell(line []byte, p int) (cell []byte, next int) {
	n := len(line)
	if p < n && line[p] == '"' && !l.ditto(line, p) {
		if q := closing(line, p); q >= 0 {
			cell = bytes.TrimSpace(line[p+1 : q])
			if bytes.IndexByte(cell, '"') >= 0 {
				cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
			}

			return cell, l.end(line, q+1)
		}
		// The quote never closes: it belongs to the text.
	}

	next = l.end(line, p)

	return bytes.TrimSpace(line[p:next]), next
}

// end returns the index of the next delimiter from p on, or the end.
func (l *layout) end(line []byte, p int) int {
	i := bytes.IndexByte(line[p:], l.delim)
	if l.delim == ' ' {
		i = bytes.IndexAny(line[p:], " \t")
	}

	if i < 0 {
		return len(line)
	}

	return p + i
}

// split appends the cells of a line to dst; empty cells at the end are left
// out where they are more than the columns there are.
func (l *layout) split(dst [][]byte, line []byte) [][]byte {
	if l.delim != ' ' {
		dst = slices.Grow(dst, min(bytes.Count(line, []byte{l.delim}), maxColumns)+1)
	}

	p, n, first := 0, len(line), len(dst)
	for len(dst)-first <= maxColumns {
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

	for l.cols > 0 && len(dst) > first+l.cols && len(dst[len(dst)-1]) == 0 {
		dst = dst[:len(dst)-1]
	}

	return dst
}

// Tolerate implements ingest.Tolerant.
func (t *Reader) Tolerate(channels []bool) {
	t.tolerated = make([]bool, t.lay.cols)
	for c, ok := range channels {
		t.tolerated[t.chans[c]] = ok
	}
}

// Rows passes the cells of every row, unchanged, and the number of its first line, from 1, to each. They are valid
// until the next row. It puts the numbers of channels into dst.
func (t *Reader) Rows(channels []int, dst [][]float64, each func(line int64, cells [][]byte)) (err error) {
	defer fault.Catch(&err)

	t.ask(channels)
	t.seek(t.marks[0])

	var cells [][]byte
	for k := range int(t.rows) {
		line := t.counted()
		if t.parseRow(line, dst, k); !utf8.Valid(line) {
			line = []byte(Western(t.path, fmt.Sprintf("line %d", t.at.line), line))
		}

		cells = t.lay.split(cells[:0], line)
		each(t.at.line, cells)
	}

	t.row = t.rows

	return nil
}

// Columns returns the names of all columns, of numbers and of text, and their
// unchanged headers, "" where there is none.
func (t *Reader) Columns() (names, heads []string) { return t.lay.names, t.lay.heads }

// Column returns the column of a channel, from 0.
func (t *Reader) Column(channel int) int { return t.chans[channel] }

// Header returns the line of a header that people typed, and the units of all columns, "" where none is stated.
func (t *Reader) Header() (line int64, units []string) { return t.lay.head, t.lay.units }

// Size returns the numbers of rows and of bytes.
func (t *Reader) Size() (rows, bytes int64) { return t.rows, t.src.Size }

// ragged raises the error of a row if it has too few or too many columns.
func (t *Reader) ragged(line []byte) {
	cells := t.lay.split(nil, line)
	if len(cells) == t.lay.cols { // more are empty, in quotes
		return
	}

	e := &fault.Error{Path: t.path, Want: fault.Plural(int64(t.lay.cols), "column"), Found: strconv.Itoa(len(cells))}
	if e.Place = fmt.Sprintf("line %d, column %d", t.at.line, min(len(cells), t.lay.cols)+1); len(cells) < t.lay.cols {
		e.Place += fmt.Sprintf(" (%s)", t.lay.names[len(cells)])
		e.Hint = "the row is too short: complete or delete it"
		if bytes.Count(line, []byte{'"'})%2 > 0 {
			e.Hint = "if a cell in quotes goes over several lines, write it in one"
		} else if len(cells) == 1 {
			e.Hint += "; write a heading as a column of the rows below it"
		}
	} else {
		e.Hint = "the row is too long: correct or delete it"
		if t.lay.delim == ',' && t.lay.dec == '.' {
			e.Hint += "; a decimal comma needs semicolons or tabs between columns"
		}
	}

	fault.Raise(e)
}

// badCell raises the error of a cell that is no number.
func (t *Reader) badCell(line []byte, col int, cell []byte) {
	t.ragged(line) // a short row shows first as an empty cell

	e := fault.At(t.path, fmt.Sprintf("line %d, column %d (%s)", t.at.line, col+1, t.lay.names[col]), "a number",
		strconv.Quote(fault.Clip(string(cell))), "correct the cell, or delete the row")

	if len(cell) == 0 {
		e.Found = "an empty cell"
	} else if _, ok := Number(cell, ','); ok {
		e.Hint = "a decimal comma; the other rows seen have decimal points"
	} else if _, ok := Number(cell, '.'); ok {
		e.Hint = "a decimal point; the other rows seen have decimal commas"
	}

	fault.Raise(e)
}

// drawnLine matches a row of dashes, in a comment or not.
var drawnLine = regexp.MustCompile(`^[#%!/]*[-=_+|:;,\s]*[-=_]{2}[-=_+|:;,\s]*$`)

// sampleLine is a line from the head of a file.
type sampleLine struct {
	text []byte
	mark mark
}

// findLayout looks at the head of the file: delimiter, decimal sign, header,
// units, which columns hold numbers.
func findLayout(src ingest.Source, o ingest.TextOptions) *layout {
	path := src.Path
	head := make([]byte, min(src.Size, textSample))

	n, err := src.ReadAt(head, 0)
	fault.Unless(n == len(head) || err == nil || errors.Is(err, io.EOF),
		&fault.Error{Path: path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)})

	head = head[:n]
	off := int64(0)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		head, off = head[3:], 3
	}

	whole := int64(n) == src.Size
	zero := bytes.IndexByte(head, 0)
	src.Unless(zero < 0, off+int64(zero), "text", "a zero byte", "this is no text file")
	unless(bytes.IndexByte(head, '\n') >= 0 || bytes.Count(head, []byte{'\r'}) <= 1, path, 1, "lines ended by LF or CRLF",
		"CR alone", "convert the line ends")

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
		case drawnLine.Match(line):
		case skipped(line, ';'): // a line that begins with ';' may still be data
			if t := bytes.TrimSpace(line); len(t) > 0 && len(comments) < 100 && bytes.IndexByte([]byte("#%!/"), t[0]) >= 0 {
				comments = append(comments, sampleLine{line, m})
			}

		default:
			lines = append(lines, sampleLine{line, m})
		}
	}

	unless(len(lines) > 0 || whole, path, 1, "", fmt.Sprintf("no row within %d KiB", textSample>>10), "is this a table?")

	fault.Unless(len(lines) > 0, &fault.Error{Path: path, Want: "rows of numbers", Found: "no data rows"})

	l, from, widths := chooseSeparator(lines, o)
	if l == nil {
		at := lines[len(lines)-1]
		found := fmt.Sprintf("no data rows; the last line looked at is %q", fault.Clip(string(at.text)))

		fault.Raise(atLine(path, at.mark.line, "rows of numbers", found, "record again, or leave the file out with exclude"))
	}

	unless(widths[0] <= maxColumns, path, lines[0].mark.line, "a table", tooMany, "")

	// Now lines that begin with ';' are known to be comments.
	none := func(s sampleLine) bool { return skipped(s.text, l.delim) }
	before := slices.DeleteFunc(slices.Clone(lines[:from]), none)
	lines, from = slices.Concat(before, slices.DeleteFunc(lines[from:], none)), len(before)

	for i, cols := range widths { // the first whose columns have names, else the last
		one := *l
		one.cols = cols
		h := &header{layout: &one, path: path, o: o, lines: lines, comments: comments, from: from}

		if err := fault.Try(func() { h.find() }); err == nil && h.nameCells != nil || i == len(widths)-1 {
			fault.Raise(err)
			h.nameColumns()
			h.findNumeric()

			return &one
		}
	}

	return l
}

// unless raises an error at a line, unless ok.
func unless(ok bool, path string, line int64, want, found, hint string) {
	fault.Unless(ok, atLine(path, line, want, found, hint))
}

// atLine returns an error at a line.
func atLine(path string, line int64, want, found, hint string) error {
	return &fault.Error{Path: path, Place: fmt.Sprintf("line %d", line), Want: want, Found: found, Hint: hint}
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
	{',', ',', "comma"}, // in quotes
}

// chooseSeparator tries every separator and decimal sign on the later lines of the sample,
// lines[from:] (the first may be header, units, preamble), and takes the one with the highest
// share of numbers among the cells; nil if none has any. widths are the numbers of columns there
// may be.
func chooseSeparator(lines []sampleLine, o ingest.TextOptions) (best *layout, from int, widths []int) {
	from = len(lines) / 2
	score := 0.0
	var cells [][]byte // of one candidate after another
	without := func(s sampleLine) bool { return bytes.IndexByte(s.text, ';') < 0 }
	semicolons := !slices.ContainsFunc(lines[from:], without) // then commas are of numbers
	for _, c := range candidates {
		if o.Delimiter != "" && o.Delimiter != c.name || o.Delimiter == "" && c.delim == ',' && semicolons {
			continue
		}

		l := &layout{delim: c.delim, dec: c.dec}

		var s float64
		var w []int
		if s, w, cells = l.score(lines, from, cells[:0]); s > score {
			best, score, widths = l, s, w
		}
	}

	return best, from, widths
}

// score returns the share of numbers among the cells of lines[from:], in rows of equal length, and the
// numbers of columns there may be: with the cells that are empty in most rows but may have names, and
// without. all is space for the cells of all lines.
func (l *layout) score(lines []sampleLine, from int, all [][]byte) (float64, []int, [][]byte) {
	type row struct {
		cells [][]byte // without the empty ones at the end
		width int      // with them
		later bool     // one of lines[from:]
	}

	rows, later := make([]row, 0, len(lines)), 0
	filled, widths := map[int]int{}, map[int]int{} // cells → later rows with as many

	before, even := map[int]int{}, true // the same of the lines before
	for i, s := range lines {
		if skipped(s.text, l.delim) {
			continue
		}

		first := len(all)
		all = l.split(all, s.text)
		r := row{all[first:], len(all) - first, i >= from}
		for len(r.cells) > 1 && len(r.cells[len(r.cells)-1]) == 0 {
			r.cells = r.cells[:len(r.cells)-1]
		}

		if r.later {
			filled[len(r.cells)]++
			widths[r.width]++
			later++
		} else {
			before[len(r.cells)]++
		}

		even = even && (len(rows) == 0 || r.width == rows[0].width)
		rows = append(rows, r)
	}

	cols, width := mostFrequent(filled, before), mostFrequent(widths, nil)
	if cols > 1 && 2*filled[cols] < later {
		return 0, nil, all // prose: hardly two lines have as many words
	}

	longest := cols
	for _, r := range rows {
		if r.width == width && later-widths[width] <= max(1, later/10) {
			longest = max(longest, len(r.cells))
		}
	}

	out := []int{longest, cols}
	if longest == cols || even {
		out, cols = out[:1], longest
	}

	numbers, cells := 0, 0
	for _, r := range rows {
		if !r.later {
			continue
		}

		cells += len(r.cells)
		if !even {
			cells += max(cols-len(r.cells), 0)
		}

		for _, cell := range r.cells {
			switch _, ok := l.number(cell); {
			case len(cell) == 0, !ok && stamp.Match(cell):
				cells-- // it may be with any separator
			case len(r.cells) != cols && !even, bytes.IndexByte(cell, ' ') >= 0 && !l.measured(cell):
				// with a blank: many numbers with another separator, rather than one
			case ok || l.measured(cell):
				numbers++
			}
		}
	}

	score := float64(numbers) / float64(max(cells, 1))
	if cols == 1 {
		score *= 0.5 // one column can always be had; it must not win over a real split
	}

	return score, out, all
}

// mostFrequent returns the key with the highest count; tie breaks ties, then the greatest key does.
func mostFrequent(counts, tie map[int]int) (best int) {
	for k, n := range counts {
		if n > counts[best] || n == counts[best] && (tie[k] > tie[best] || tie[k] == tie[best] && k > best) {
			best = k
		}
	}

	return best
}

// header is the search for the header of a text of that many columns.
type header struct {
	*layout
	path            string
	o               ingest.TextOptions
	lines, comments []sampleLine
	votes           []int // by column: cells with numbers less cells without
	typed           bool  // the numbers have units behind them
	from, data      int   // indices among lines: of the first by which the separator was chosen, and of the first row

	nameCells, unitCells [][]byte // nil: none
	cells                [][]byte // of cut
}

// find finds where the data begin, and the names and units of the columns. lines[from:] are
// the ones the separator was chosen by.
func (h *header) find() {
	if h.vote(); slices.Max(h.votes) <= 0 {
		h.typed = true
		h.vote()
	}

	h.findData()

	h.findNames()
}

// counting reports whether a row numbers the columns: 1, 2, 3.
func counting(cells [][]byte) bool {
	for i, c := range cells {
		if string(c) != strconv.Itoa(i+1) {
			return false
		}
	}

	return len(cells) > 1
}

// label reports whether a row with numbers belongs to the header: it begins with a word, as Increment,1e-3, where
// no row does.
func (h *header) label(cells [][]byte) bool {
	other := func(s sampleLine) bool {
		first, _ := h.cell(bytes.TrimLeft(s.text, " "), 0)
		return len(first) > 0 && !h.isNumber(first) && !stamp.Match(first)
	}

	return len(cells) > 1 && word.Match(cells[0]) && !h.beside() && !slices.ContainsFunc(h.lines[h.from:], other)
}

// word matches a cell that begins with one and is no missing value.
var word = regexp.MustCompile(`(?i)^(?:\pL[\pL ]{2}|[xyz]0$)`)

// vote finds the columns of numbers: most of their cells in the later lines are some.
func (h *header) vote() {
	h.votes = make([]int, h.cols)
	for _, s := range h.lines[h.from:] {
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
	return ok || h.typed && h.measured(cell)
}

func (h *header) warnf(code, column, format string, args ...any) {
	h.warn = append(h.warn,
		ingest.Warning{Path: h.path, Code: code, Column: column, Text: fmt.Sprintf(format, args...)})
}

// cut returns the cells of a line, valid until the next call.
func (h *header) cut(line []byte) [][]byte {
	h.cells = h.split(h.cells[:0], line)
	return h.cells
}

// numbers counts the cells that are numbers, and those that are not, where the
// column's other cells are numbers.
func (h *header) numbers(cells [][]byte) (good, bad int) {
	none := slices.Max(h.votes) <= 0
	for i := range min(len(cells), h.cols) {
		switch ok := h.isNumber(cells[i]); {
		case ok && (none || h.votes[i] > 0):
			good++
		case !ok && h.votes[i] > 0:
			bad++
		}
	}

	return good, bad
}

// findData finds the first row; comments before it may be attributes.
func (h *header) findData() {
	// Lines without any number come before the data; so do all lines above a
	// header that are no rows themselves.
	data := 0
	for i := range min(h.from, 100) {
		cells := h.cut(h.lines[i].text)
		good, bad := h.numbers(cells)
		if good > 0 && bad == 0 && len(cells) == h.cols && !counting(cells) && !h.label(cells) {
			break
		}

		if good == 0 && len(h.headerCells(h.lines[i].text)) == h.cols {
			data = i
		}
	}

	for data < len(h.lines) {
		cells := h.cut(h.lines[data].text)
		good, bad := h.numbers(cells)
		if s := h.lines[data]; good > 0 && data > 0 && h.label(cells) {
			h.warnf("header-row", "", "line %d (%q) is taken for one of the header", s.mark.line, fault.Clip(string(s.text)))
			data++

			continue
		}

		if good > 0 && (bad == 0 || data > 0 || len(h.o.Columns) > 0 || len(h.lines) == 1) {
			break
		}

		if good > 0 && len(cells) != h.cols {
			break // a bad first row, not a header
		}

		data++
		if data == 1 && good > 0 { // "Time,1,2,3": numbers as names
			h.warnf("numeric-header", "", "line %d (%q) is taken as the header, though %d of its %d names are numbers",
				h.lines[0].mark.line, fault.Clip(string(h.lines[0].text)), good, h.cols)
			break
		}
	}

	h.otherSeparator(data)

	unless(data < len(h.lines), h.path, h.lines[len(h.lines)-1].mark.line, "rows of numbers", "no data rows", "")

	h.data = data
	h.dataOff, h.line = h.lines[data].mark.off, h.lines[data].mark.line
	for _, c := range h.comments {
		if c.mark.line < h.line {
			h.attribute(commentText(c.text))
			h.stateRate(commentText(c.text), c.mark.line)
		}
	}
}

// otherSeparator refuses lines before the first row that are rows of numbers with
// another separator or decimal sign: as many as there are columns, or two lines.
func (h *header) otherSeparator(data int) {
	for _, c := range candidates {
		if c.delim == h.delim && c.dec == h.dec {
			continue
		}

		other := &layout{delim: c.delim, dec: c.dec}

		rows := 0
		for _, s := range h.lines[:data] {
			h.cells = other.split(h.cells[:0], s.text)
			cells := h.cells
			if len(cells) < 2 || c.delim == h.delim && (counting(cells) || h.label(cells)) ||
				slices.ContainsFunc(cells, func(b []byte) bool { _, ok := Number(b, c.dec); return !ok }) {
				continue
			}

			if rows++; len(cells) == h.cols || rows == 2 {
				found := fmt.Sprintf("a row of numbers, %s: %q", other.encoding(), fault.Clip(string(s.text)))
				fault.Raise(atLine(h.path, s.mark.line, "rows that are "+h.encoding(), found,
					"separate all rows alike, or make it a comment with #"))
			}
		}
	}
}

// findNames finds the cells of the header and of the units: of the lines right above the data with
// a cell for each column, those that name the columns best. Where no lines are above the data,
// comments are: numpy.savetxt and MATLAB write the header as one.
func (h *header) findNames() {
	above, comments := slices.DeleteFunc(slices.Clone(h.lines[:h.data]), func(s sampleLine) bool {
		cells := h.cut(s.text)
		good, _ := h.numbers(cells)
		h.stateRate(string(s.text), s.mark.line)

		return counting(cells) || h.fewUnits(s) || good > 0 && bytes.IndexByte(s.text, '.') > 0 && h.label(cells)
	}), h.data == 0
	if comments && len(h.o.Columns) == 0 {
		for _, c := range h.comments {
			if c.mark.line < h.line && rateIn(commentText(c.text)) == nil {
				above = append(above[:len(above):len(above)], sampleLine{[]byte(commentText(c.text)), c.mark})
			}
		}
	}

	wide := h.cols
	for _, s := range above { // Rigol: X,CH1,Start,Increment above Sequence,Volt,0,1e-6 and rows of two cells
		if cells := h.headerCells(s.text); len(cells) == h.cols+2 && strings.EqualFold(string(cells[h.cols+1]), "increment") {
			wide = len(cells)
		}
	}

	var rows []headerRow // the nearest first
	near := true
	for i, s := range slices.Backward(above) {
		cells := h.headerCells(s.text)
		good, _ := h.numbers(cells)
		row := headerRow{cells, i, lineFarther * float64(len(rows))}
		key := keyed.FindSubmatch(cells[0])
		if h.delim == ' ' || bytes.HasSuffix(cells[len(cells)-1], []byte{':'}) {
			key = nil
		} else if key != nil && len(cells) == h.cols+1 { // no column is below the keys
			row.cells = cells[1:]
		}

		fits := len(row.cells) == h.cols
		of := good > 0 || len(s.text) == 0 || h.cols == 1 && bytes.ContainsAny(s.text, ":=") // the file, in a comment
		near = near && (key == nil || key[1] != nil) && (fits || len(cells) == wide) && !(comments && of)
		switch {
		case key == nil && near:
			rows = append(rows, row)
		case key == nil || !fits:
		case key[1] != nil:
			row.far = 0
			rows = append(rows, row)
		case key[2] != nil:
			cells[0], h.unitCells = nil, row.cells
		}
	}

	for i := range above {
		if h.nameCells = h.listed(above[i:]); h.nameCells != nil {
			rows = nil
			break
		}
	}

	names, best, timed := -1, 0.0, false
	for i, row := range rows {
		if i+1 < len(rows) && len(row.cells[0]) == 0 && !unitsRow(row.cells) && rows[i+1].timed() {
			row.cells[0] = rows[i+1].cells[0] // Time,Balance is above ,Fx
		}

		score := h.naming(row.cells) - row.far
		if row.timed() && !timed { // AI0,AI1 are below Time,Fx
			score, timed = score+nearestTime, true
		}

		if i > 0 && unitsRow(rows[i-1].cells) {
			score += lineFarther + unitsFollow
		}

		if score > best {
			names, best = i, score
		}
	}

	if names >= 0 {
		h.nameCells, above[rows[names].at].text = rows[names].cells, nil
		for _, row := range lists.Keep(rows[names+1:], func(r headerRow) bool { return !unitsRow(r.cells) }) {
			for i, cell := range h.nameCells { // t,Balance,Wind is above t,Fx,
				if len(cell) == 0 && len(row.cells) == h.cols {
					h.nameCells[i] = row.cells[i]
				}
			}
		}

		for _, i := range []int{names + 1, names - 1} { // units are above the names, or below
			if i >= 0 && i < len(rows) && unitsRow(rows[i].cells) {
				h.unitCells, above[rows[i].at].text = rows[i].cells, nil
			}
		}
	}

	if comments {
		return
	}

	for _, s := range above {
		h.attribute(string(s.text))
	}

	if h.nameCells != nil || len(h.o.Columns) > 0 {
		return
	}

	last := h.lines[h.data-1]
	cells := h.headerCells(last.text)
	unless(h.delim == ' ' || len(cells) <= 1 || len(cells) == h.cols, h.path, last.mark.line,
		fmt.Sprintf("a header of %d names, as the rows have columns", h.cols), fault.Plural(int64(len(cells)), "name"),
		"correct it, or name the columns with text: {columns: […]}")

	h.warnf("no-header", "", "line %d (%q) is not understood as a header of %s: the columns are numbered", last.mark.line,
		fault.Clip(string(last.text)), fault.Plural(int64(h.cols), "column"))
}

// fewUnits reports whether a line has units of some columns, nobody knows of which.
func (h *header) fewUnits(s sampleLine) bool {
	cells := h.headerCells(s.text)
	are := h.delim == ' ' && len(cells) != h.cols && unitsRow(cells)
	if are {
		h.warnf("no-header", "", "line %d (%q) has a unit for %d of %d columns: none is taken", s.mark.line,
			fault.Clip(string(s.text)), len(cells), h.cols)
	}

	return are
}

// headerRow is a line that may name the columns.
type headerRow struct {
	cells [][]byte
	at    int     // its place among the lines above the data
	far   float64 // what its distance from the data takes off its score
}

// timed reports whether the first cell names the time.
func (r headerRow) timed() bool {
	_, is := clock.Named(SplitUnit(raw.Latin1(r.cells[0])))
	return is
}

// keyed matches the key that begins a line of names or units in headers of oscilloscopes: TraceName, VUnit.
// Others are of the file.
var keyed = regexp.MustCompile(`(?i)^(?:((?:trace ?)?name|channel|source|waveform)|((?:v|vertical )?units?)|` +
	`h(?:orizontal )?units?|.*:) ?:?$`)

var (
	list = regexp.MustCompile(`(?i)^\s*(?:variables|columns|channels|fields)\s*[=:](.*)`)
	item = regexp.MustCompile(`"[^"]*"|[^\s,;"]+`)
	// stamp matches a date or a time.
	stamp = regexp.MustCompile(`^\d+[-/.:]\d+[-/.:][-/.:,\dT ]+(?: [AP]M|Z)?$`)
)

// listed returns the names that a line lists, and those below it that begin with quotes, as Tecplot's
// VARIABLES = "x", "y"; nil unless there is one for each column.
func (h *header) listed(lines []sampleLine) [][]byte {
	m := list.FindSubmatch(lines[0].text)
	if m == nil {
		return nil
	}

	text := slices.Clone(m[1])
	for i := 1; i < len(lines) && lines[i].text[0] == '"'; i++ {
		text = append(append(text, ' '), lines[i].text...)
	}

	names := lists.Each(item.FindAll(text, -1), func(name []byte) []byte { return bytes.Trim(name, `"`) })
	if len(names) != h.cols || h.cols < 2 {
		return nil
	}

	return names
}

// Scores of the lines above the data, of 1 for a name of its own in every column.
const (
	nameEmpty   = 0.4  // a cell without name
	nameUnit    = 0.7  // a unit or a number as a name
	lineFarther = 0.2  // is taken off for each line that is nearer to the data
	unitsFollow = 0.05 // is added where units follow
	nearestTime = 0.25 // is added to the nearest line that begins with the time
)

// naming returns how well cells name the columns, at most 1. A name that occurs again counts half.
func (h *header) naming(cells [][]byte) float64 {
	sum, seen := 0.0, map[string]bool{}
	for _, c := range cells {
		v, s := 1.0, string(c)
		if _, number := h.number(c); number || isUnit(s) || stamp.Match(c) {
			v = nameUnit
		}

		if s == "" {
			v = nameEmpty
		} else if seen[s] {
			v /= 2
		}

		seen[s] = true
		sum += v
	}

	return sum / float64(len(cells))
}

// nameColumns sets names and units of the columns: numbers, the header, then the
// user's names.
func (h *header) nameColumns() {
	n := len(h.o.Columns)
	unless(n == 0 || n == h.cols, h.path, h.line, fmt.Sprintf("%d columns as named in the configuration", n),
		strconv.Itoa(h.cols), "")

	h.names, h.units, h.heads = make([]string, h.cols), make([]string, h.cols), make([]string, h.cols)
	h.numeric, h.clocks = make([]bool, h.cols), make([]string, h.cols)
	for i, cell := range h.unitCells {
		step, ok := h.number(cell)
		if ok && step > 0 && i < len(h.nameCells) && strings.EqualFold(string(h.nameCells[i]), "increment") {
			h.rate = 1 / step
		}
	}

	for i := range h.cols {
		h.names[i] = strconv.Itoa(i + 1)
		if h.nameCells != nil && len(h.nameCells[i]) > 0 {
			h.heads[i] = h.western(h.nameCells[i])
			h.names[i], h.units[i] = SplitUnit(h.heads[i])
		}

		if h.unitCells != nil {
			h.units[i] = cmp.Or(unitOf(h.western(h.unitCells[i])), h.units[i])
		}

		if len(h.o.Columns) > 0 {
			h.names[i], h.heads[i] = h.o.Columns[i], ""
			if name, unit := SplitUnit(h.o.Columns[i]); unit != "" {
				h.names[i], h.units[i], h.heads[i] = name, unit, h.o.Columns[i]
			}
		}
	}

	for _, same := range lists.Alike(h.names) { // Cp (x/c=0.5), Cp (x/c=0.6)
		for _, i := range same {
			other := h.heads[i] != "" && h.heads[i] != h.names[i]
			if other && len(same) > 1 && !slices.Contains(knownUnits, h.units[i]) {
				h.names[i], h.units[i] = h.heads[i], ""
			}
		}
	}
}

// western returns a cell of the header as UTF-8; where the user names the columns, whatever its encoding.
func (h *header) western(cell []byte) string {
	if len(h.o.Columns) > 0 {
		return raw.Latin1(cell)
	}

	from := func(s sampleLine) bool { return bytes.Contains(s.text, cell) }
	line, _ := lists.Find(slices.Concat(h.lines, h.comments), from)

	return Western(h.path, fmt.Sprintf("line %d", line.mark.line), cell)
}

// timeOfDay matches a time of the day.
var timeOfDay = regexp.MustCompile(`\b\d\d?:\d\d(:\d\d|\b)`)

// dates and times are how cells write them, as package time has it: a fraction of the second may follow.
var (
	dates = []string{
		"", "2006-1-2 ", "2006-1-2T", "2006/1/2 ", "2.1.2006 ", "2.1.06 ", "1/2/2006 ", "2/1/2006 ", "2-Jan-2006 ",
	}
	times = []string{"15:04:05", "15:04:05Z07:00", "3:04:05 PM"}
)

// timeOf reads a time of the day, in s since the year or, without a date, the day began.
func timeOf(layout string, cell []byte) (float64, bool) {
	t, err := time.Parse(layout, string(cell))
	return t.Sub(time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)).Seconds(), err == nil
}

// findClock takes a column of text for the time where all its cells are times of the day, each later than
// the one before, and no column of numbers is the time.
func (h *header) findClock(col int) bool {
	for i, numeric := range h.numeric {
		if _, is := clock.Named(h.names[i], h.units[i]); is && numeric || h.clocks[i] != "" {
			return false
		}
	}

	later := func(layout string) bool {
		last := math.Inf(-1)
		for _, s := range h.lines[h.data:] {
			cells := h.cut(s.text)
			if len(cells) <= col {
				continue
			}

			now, ok := timeOf(layout, cells[col])
			if !ok || now <= last {
				return false
			}

			last = now
		}

		return true
	}

	for _, d := range dates {
		for _, t := range times {
			if later(d + t) {
				h.clocks[col], h.units[col] = d+t, "s"
				return true
			}
		}
	}

	return false
}

// namedColumns bounds the columns that are named for holding no numbers, a warning each.
const namedColumns = 20

// beside reports whether the header stands in the first columns beside the rows, as older Tektronix oscilloscopes
// write it.
func (h *header) beside() bool {
	return h.cols >= 5 && len(h.o.Columns) == 0 &&
		bytes.HasPrefix(bytes.TrimLeft(h.lines[0].text, `"`), []byte("Record Length"))
}

// headBeside reads that header. It returns the number of its columns.
func (h *header) headBeside() (columns int) {
	if !h.beside() {
		return 0
	}

	h.names[3], h.units[3] = "time", "s"
	at := map[string]*string{"Source": &h.names[4], "Vertical Units": &h.units[4]}

	for _, s := range h.lines[h.data:] {
		cells := h.cut(s.text)
		if to := at[string(cells[0])]; to != nil {
			*to = h.western(cells[1])
		}

		h.attribute(raw.Latin1(cells[0]) + ": " + raw.Latin1(cells[1]))
	}

	return 3
}

// findNumeric finds the columns of numbers: those of which some row of the sample
// has one.
func (h *header) findNumeric() {
	seen, beside := make([]bool, h.cols), h.headBeside()
	for _, s := range h.lines[h.data:] {
		cells := h.cut(s.text)
		for i := range min(len(cells), h.cols) {
			_, ok := h.number(cells[i])
			h.numeric[i] = h.numeric[i] || ok
			seen[i] = seen[i] || len(cells[i]) > 0
		}
	}

	none := 0
	for i, ok := range h.numeric {
		h.numeric[i] = ok && i >= beside
		if ok || i < beside {
			continue
		}

		if none++; none <= namedColumns {
			what := "holds text"
			if !seen[i] {
				what = "is empty"
			} else if cells := h.cut(h.lines[h.data].text); i < len(cells) && timeOfDay.Match(cells[i]) {
				if h.numeric[i] = h.findClock(i); h.numeric[i] {
					none--
					continue
				}

				what = "holds text (times, of which no rate is taken)"
			}

			h.warnf("text-column", h.names[i], "column %s %s: it is no channel", h.names[i], what)
		}
	}

	if more := none - namedColumns; more > 0 {
		h.warnf("text-column", "", "%d more columns hold text or are empty: they are no channels", more)
	}

	unless(none < h.cols || h.typed, h.path, h.line, "rows of numbers",
		strconv.Quote(fault.Clip(string(h.lines[h.data].text))), "")
}

// knownUnits are units that make a row below the header a row of units; TS and RN are a logger's
// time stamp and record.
var knownUnits = strings.Fields("s ms us µs ns min h sec Hz kHz 1/s N kN mN Nm N.m N·m N⋅m N*m lb lbf kgf gf Pa " +
	"kPa hPa mbar bar psi mmH2O V mV A mA W m mm cm m/s m/s2 m/s^2 m/s² g kg kg/m3 kg/m^3 deg ° rad rad/s rpm RPM " +
	"1/min U/min tr/min km/h K °C degC C - % dB counts TS RN hh:mm:ss dd.mm.yyyy yyyy-mm-dd")

// unitWords are units that are written as words; a sequence is a number of the sample.
var unitWords = map[string]string{
	"volt": "V", "volts": "V", "ampere": "A", "amperes": "A", "second": "s", "seconds": "s", "-": "",
	"sequence": "", "newton": "N", "newtons": "N", "pascal": "Pa", "pascals": "Pa", "degree": "deg", "degrees": "deg",
}

// unitOf returns the unit in a cell of a row of units: "[N]", "-".
func unitOf(cell string) string {
	if bracketed(cell) {
		cell = strings.TrimSpace(cell[1 : len(cell)-1])
	}

	if u, ok := unitWords[strings.ToLower(cell)]; ok {
		return u
	}

	return cell
}

// Brackets about units.
const openers, closers = "[({<", "])}>"

// bracketed reports whether a cell is one pair of brackets and what is in it: "[N]", not "Fx (N)".
func bracketed(cell string) bool {
	n := len(cell)
	k := strings.IndexByte(openers, (cell + " ")[0])
	return n > 1 && k >= 0 && cell[n-1] == closers[k] && strings.LastIndexByte(cell, cell[0]) == 0
}

// isUnit reports whether a cell can be nothing but a unit.
func isUnit(cell string) bool {
	_, word := unitWords[strings.ToLower(cell)]
	return word || slices.Contains(knownUnits, cell) || cell == "N m" || bracketed(cell) && len(cell) <= 18
}

// unitsRow reports whether most words of a row are units.
func unitsRow(cells [][]byte) bool {
	more := 0 // units than other words
	for _, c := range cells {
		if _, number := Number(c, '.'); number || len(c) == 0 {
			continue
		}

		if more--; isUnit(string(c)) {
			more += 2
		}
	}

	return more > 0
}

// spaced are the forms of names that blanks separate: with blanks in brackets, before them as well, and single ones.
var spaced = []*regexp.Regexp{
	regexp.MustCompile(`(?:[\[(][^\])]*[\])]|[^\s\[(])+`),
	regexp.MustCompile(`(?:\s*[\[(][^\])]*[\])]|[^\s\[(])+`),
	regexp.MustCompile(`\S+(?: \S+)*`),
}

// headerCells splits a header. Where blanks separate, the names may hold some.
func (l *layout) headerCells(line []byte) [][]byte {
	cells := l.split(nil, line)
	for n := len(cells); n > l.cols && l.cols > 0 && bytes.IndexByte(cells[n-1], '=') >= 0; n-- {
		cells = cells[:n-1] // Rigol: t0 = 0, tInc = 1e-6
	}

	for i := 0; i < len(spaced) && l.delim == ' ' && len(cells) != l.cols; i++ {
		if names := spaced[i].FindAll(line, -1); len(names) == l.cols {
			return names
		}
	}

	return cells
}

// attribute keeps a "key: value" or "key = value" line from before the data.
func (l *layout) attribute(s string) {
	i := strings.IndexAny(s, ":=")
	if len(l.attrs) >= 64 || len(s) > 1024 || !utf8.ValidString(s) || i <= 0 {
		return
	}

	name, value := strings.TrimSpace(s[:i]), strings.Trim(s[i+1:], " \t,;")
	if name != "" && value != "" {
		l.attrs = append(l.attrs, ingest.Attribute{Name: name, Value: value})
	}
}

// stated matches a rate or a step of time in a header: fs = 1000 Hz, Sample Interval,CH1:1e-6, Abtastrate [kHz]: 51,2.
var stated = regexp.MustCompile(`(?i)(?:^|[,;\t])[\s"]*(?:(f_?s|sampl(?:e|es|ing)?[ _-]?(?:rate|freq\.?|frequency)|` +
	`samples per sec(?:ond)?|(?:scan|acquisition|daq|mess|abtast)[ _-]?(?:rate|frequenz)|fr[ée]quence d.échantillonnage|` +
	`frecuencia de muestreo|frequenza di campionamento)|dt|delta[ _]?t|Δt|[tx]_?inc(?:rement)?|` +
	`(?:sampl(?:e|ing)[ _-]?|time[ _-]?|abtast)(?:intervall?|periode?))` + stateUnit +
	`[\s"]*[:=,;\s][\s":=,;]*(?:CH\d+:)?` + stateNumber + stateUnit + `[\s"]*(?:$|[,;\t(#])`)

// sampled matches a rate without the words of stated: sampled at 51.2 kHz, 51200 S/s.
var sampled = regexp.MustCompile(`(?i)(?:(?:^rate|sampled|acquired|recorded)(?: at)?[\s:=]+` +
	stateNumber + `\s*([kM]?Hz)|(?:^|[\s(:=])` +
	stateNumber + `\s*([kM]?(?:Sa?/s|samples/s(?:ec(?:ond)?)?)))[\s"]*(?:$|[,;\t)#])`)

const (
	stateNumber = `(\d{1,3}(?: \d{3})+|[\d.']+(?:,\d+)?(?:e[-+]?\d+)?)`
	stateUnit   = `[\s",;_([]*([kM]?(?:Hz|Sa?/s|sps|samples/s(?:ec(?:ond)?)?)|(?:[mµμu]?s|sec|seconds)\b)?[\s)\]]*`
)

// rateIn returns the submatches of stated in a line with a rate, nil of another.
func rateIn(line string) []string {
	if m := sampled.FindStringSubmatch(line); m != nil && !strings.Contains(strings.ToLower(line), "max") {
		line = "fs=" + m[1] + m[2] + m[3] + m[4]
	}

	return stated.FindStringSubmatch(line)
}

// stateRate takes the rate that a line of the header states, unless it can be read in two ways.
func (h *header) stateRate(text string, line int64) {
	m := rateIn(text)
	if m == nil {
		return
	}

	v, doubtful, ok := Typed([]byte(m[3]), h.dec)
	german, mark, isGerman := Typed([]byte(m[3]), ',')
	if !ok { // 51.200,00 above whole numbers
		v, doubtful, ok = german, mark, isGerman
	}

	if first, second, _ := strings.Cut(m[3], ","); first == second && len(first) > 3 { // 1000,1000: of two channels
		v, ok = Number([]byte(first), '.')
	}

	unit := strings.ToLower(cmp.Or(m[4], m[2]))
	s, period := clock.Seconds(unit)
	scale := map[byte]float64{'k': 1e3, 'm': 1e6}[(unit + " ")[0]]
	point := func(s sampleLine) bool { return bytes.IndexByte(s.text, '.') >= 0 }
	other := 0.0 // its other reading
	switch {
	case period && unit != "" || unit == "" && m[1] == "":
		if v = 1 / (v * s); math.Abs(v-math.Round(v)) < 1e-9*v {
			v = math.Round(v)
		}

	case scale > 0:
		if v *= scale; doubtful {
			v /= 1e3 // 51.200 kHz
		}

	case h.dec == '.' && (doubtful && unit == "" || mark && !slices.ContainsFunc(h.lines[h.from:], point)):
		other = german
	}

	switch {
	case !ok || !(v > 0) || math.IsInf(v, 0):
	case other > 0:
		h.warnf("odd-rate", "", "line %d: %q may be %g Hz or %g Hz: it is not used; state rate_hz", line,
			fault.Clip(text), min(v, other), max(v, other))
	case h.rate == 0:
		h.rate = v
	case math.Abs(v-h.rate) > 1e-3*v:
		h.warnf("rates-contradict", "", "the header states two rates, %g Hz and %g Hz: the first is used", h.rate, v)
	}
}

// commentText is a comment line without its sign.
func commentText(line []byte) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(string(line)), "#%!/;"))
}

// noUnit matches what brackets hold besides: Y[0], rpm (set).
var noUnit = regexp.MustCompile(`(?i)^(\d+|set|soll|ist|act|actual|nom|nominal|meas|measured|gemessen|target|` +
	`cmd|command|commanded|demand|mean|avg|average|std|sd|corr|corrected)$`)

// SplitUnit separates the unit from a header: "Time (s)", "Fx [N]", "p[Pa]".
func SplitUnit(head string) (name, unit string) {
	s := strings.TrimSpace(head)
	if s == "" {
		return s, ""
	}

	k := strings.IndexByte(closers, s[len(s)-1])
	if k < 0 { // Fx/N, Kraft in N, "Force, N", speed m/s
		i := strings.LastIndexByte(s, ' ')
		if unit = s[i+1:]; i > 0 && strings.Contains(unit, "/") && slices.Contains(knownUnits, unit) {
			return strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(s[:i], " in"), " en"), " ,"), unit
		}

		for _, sep := range []string{" in ", " en ", ", ", "/"} {
			name, unit, _ := strings.Cut(s, sep)
			name, unit = strings.TrimSpace(name), strings.TrimSpace(unit)

			ratio := sep == "/" && (strings.Contains("ACKVWghm", unit) || strings.HasSuffix(" "+name, " S")) // T/W, S/N
			if slices.Contains(knownUnits, unit) && !isUnit(s) && !isUnit(name) && !ratio {
				return name, unit
			}
		}

		return s, ""
	}

	i := strings.LastIndexByte(s, openers[k])
	if i <= 0 {
		return s, ""
	}

	name, unit = strings.TrimRight(s[:i], " \t"), strings.TrimSpace(s[i+1:len(s)-1])

	// "f(x)" is a name; with a blank, an underline or square brackets it is a unit.
	if s[i] != '[' && len(name) == i && !strings.ContainsAny(s[i-1:i], "_/") &&
		(!slices.Contains(knownUnits, unit) || strings.Contains("-CWgh", unit)) {
		return s, ""
	}

	if name = strings.TrimRight(name, "_/ "); name == "" || unit != "" && noUnit.MatchString(unit) {
		return s, ""
	}

	return name, unit
}
