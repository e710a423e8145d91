package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	textBlock  = 1 << 18 // bytes read at a time
	textSample = 1 << 18 // bytes from which the layout is found out
	maxLine    = 1 << 22 // the longest line that is read
	maxMarks   = 4096    // entries of the line index
	maxColumns = 1 << 16
)

// layout is what was found out about a delimited text.
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
	attrs   []Attribute
	warn    []Warning
}

// mark says where a row begins.
type mark struct {
	off  int64
	line int64
}

// textReader reads delimited text. Opening it goes once over the bytes to
// count rows; samples are parsed when they are read.
//
// Of the time column it looks at the beginning and the end, which give the
// rate; whether its steps are even is for Scan to say.
type textReader struct {
	path   string
	src    io.ReaderAt
	size   int64
	closer io.Closer
	info   Info
	lay    layout

	rows   int64
	marks  []mark // marks[i] is row i·stride
	stride int64
	chans  []int // channel → column
	time   int   // channel of the time, −1 if none

	cur  lineCursor
	row  int64  // the row the cursor stands before
	want []int  // column → destination, −1 if not asked; reused
	soft []bool // columns where a bad cell is NaN, not an error; nil: none
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
			return &DataError{Path: c.path, Place: fmt.Sprintf("line %d", c.line), Found: fmt.Sprintf("a line longer than %d MiB", maxLine>>20), Hint: "is this a table?"}
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
		return &DataError{Path: c.path, Place: fmt.Sprintf("byte %d", c.off), Found: "the file became shorter while it was read", Hint: "is it still being written?"}
	}
	return &DataError{Path: c.path, Place: fmt.Sprintf("byte %d", c.off), Err: fmt.Errorf("read: %w", err)}
}

// skipped reports whether a line holds no row: blank, a comment, or nothing
// but delimiters.
func skipped(line []byte, delim byte) bool {
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

// openText finds out the layout, counts the rows and reads the first and the
// last time.
func openText(path string, src io.ReaderAt, size int64, o Options) (*textReader, error) {
	t := &textReader{path: path, src: src, size: size, time: -1, stride: 1024}
	t.cur = lineCursor{path: path, src: src, size: size}
	lay, err := findLayout(path, src, size, o.Text)
	if err != nil {
		return nil, err
	}
	t.lay = *lay
	if err := t.count(o); err != nil {
		return nil, err
	}
	t.info = Info{Path: path, Format: "text", Encoding: lay.encoding(), Attributes: lay.attrs, Warnings: append(lay.warn, t.info.Warnings...)}
	for col := range lay.cols {
		if !lay.numeric[col] {
			continue
		}
		ch := Channel{Name: lay.names[col], Unit: lay.units[col], RateHz: o.RateHz, Samples: t.rows}
		if lay.heads[col] != "" && lay.heads[col] != ch.Name {
			ch.Attributes = append(ch.Attributes, Attribute{Name: "header", Value: lay.heads[col]})
		}
		t.chans = append(t.chans, col)
		t.info.Channels = append(t.info.Channels, ch)
	}
	t.want = make([]int, lay.cols)
	if err := t.findTime(o); err != nil {
		return nil, err
	}
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
// an incomplete last row if the options say so.
func (t *textReader) count(o Options) error {
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
		if skipped(line, t.lay.delim) {
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
		return &DataError{Path: t.path, Place: fmt.Sprintf("line %d", t.cur.line), Want: "rows of numbers", Found: "no data rows"}
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
func (t *textReader) cutRow(last mark, rows int64, o Options) (bool, error) {
	var end [1]byte
	if _, err := t.src.ReadAt(end[:], t.size-1); err != nil || end[0] == '\n' || rows < 2 {
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
	what := fmt.Sprintf("%s of %d, then the end of the file", plural(int64(n), "column"), t.lay.cols)
	if o.Truncated != "use" {
		return false, &DataError{Path: t.path, Place: fmt.Sprintf("line %d, column %d (%s)", last.line, n+1, t.lay.names[n]), Found: what, Hint: "the last row is cut short; with truncated: use, it is left out"}
	}
	t.info.Warnings = append(t.info.Warnings, Warning{Path: t.path, Code: "truncated", Text: fmt.Sprintf("the last row (line %d) is cut short: it is left out", last.line)})
	return true, nil
}

// timeNames are column names that say that a column holds the time.
var timeNames = map[string]bool{
	"time": true, "t": true, "times": true, "timestamp": true, "time stamp": true, "elapsed": true, "elapsed time": true,
	"time_s": true, "t_s": true, "unix_time": true, "unix time": true, "seconds": true, "zeit": true, "temps": true,
}

// timeUnits gives the seconds in a unit of time.
var timeUnits = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6,
	"ns": 1e-9, "min": 60, "h": 3600,
}

// findTime tells the time column and takes the rate from its ends,
// (n − 1)/(t_last − t_first), unless the first 1024 rows say otherwise by more
// than 2 %.
func (t *textReader) findTime(o Options) error {
	if o.Text.Time != "" {
		ch, err := FindChannel(t.info, o.Text.Time)
		if err != nil {
			return err
		}
		t.time = ch
	} else {
		for i, c := range t.info.Channels {
			if _, known := timeUnits[c.Unit]; known && timeNames[strings.ToLower(c.Name)] {
				t.time = i
				break
			}
		}
	}
	if t.time < 0 {
		return nil
	}
	ch := &t.info.Channels[t.time]
	scale, known := timeUnits[ch.Unit]
	if !known {
		return &DataError{Path: t.path, Place: "column " + ch.Name, Want: "a unit of time", Found: strconv.Quote(ch.Unit)}
	}
	ch.Attributes = append(ch.Attributes, Attribute{Name: "role", Value: "time"})
	if ch.Unit == "" {
		ch.Unit = "s" // Options.Text.Time, or the name, says seconds
	}
	if t.rows < 2 {
		return nil
	}
	var ends [2]float64
	for i, row := range []int64{0, t.rows - 1} {
		if _, err := t.Read([]int{t.time}, row, [][]float64{ends[i : i+1]}); err != nil {
			return err
		}
	}
	rate := float64(t.rows-1) / ((ends[1] - ends[0]) * scale)
	if !finite(rate) || rate <= 0 {
		t.info.Warnings = append(t.info.Warnings, Warning{
			Path: t.path, Code: "clock-useless",
			Text: fmt.Sprintf("column %s goes from %v to %v: it gives no sampling rate", ch.Name, ends[0], ends[1]),
		})
		return nil
	}
	// Where a recording pauses the ends do not tell the rate of what is between:
	// then the beginning does, its own pauses left out.
	head := make([]float64, min(t.rows, 1024))
	if _, err := t.Read([]int{t.time}, 0, [][]float64{head}); err != nil {
		return err
	}
	if local := stepRate(head) / scale; finite(local) && local > 0 && math.Abs(local-rate) > 0.02*local {
		t.info.Warnings = append(t.info.Warnings, Warning{
			Path: t.path, Code: "clock-gaps",
			Text: fmt.Sprintf("column %s: %d rows in %.6g s are %.4g Hz, but steps at the beginning are of %.4g Hz: the recording pauses or changes its rate; %.4g Hz is used",
				ch.Name, t.rows, (ends[1]-ends[0])*scale, rate, local, local),
		})
		rate = local
	}
	// A clock is read, not set: one percent off the nominal rate is no contradiction.
	rate, err := checkRate(t.path, "column "+ch.Name, rate, o.RateHz, 0.01)
	if err != nil {
		return err
	}
	for i := range t.info.Channels {
		t.info.Channels[i].RateHz = rate
	}
	return nil
}

// stepRate is the inverse of the mean step, steps beyond twice the median (and
// backward ones) left out; NaN if there are none.
func stepRate(t []float64) float64 {
	var steps []float64
	for i := 1; i < len(t); i++ {
		if d := t[i] - t[i-1]; d > 0 {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return nan
	}
	sort.Float64s(steps)
	limit := 2 * steps[len(steps)/2]
	sum, n := 0.0, 0
	for _, d := range steps {
		if d <= limit {
			sum += d
			n++
		}
	}
	return float64(n) / sum
}

// IsTime reports whether the channel is the clock of the others.
func (c Channel) IsTime() bool {
	for _, a := range c.Attributes {
		if a.Name == "role" && a.Value == "time" {
			return true
		}
	}
	return false
}

// Info implements Reader.
func (t *textReader) Info() Info { return t.info }

// Close implements Reader.
func (t *textReader) Close() error {
	if t.closer == nil {
		return nil
	}
	return t.closer.Close()
}

// Read implements Reader. It panics if channels and dst do not fit together.
func (t *textReader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := checkRead(len(t.info.Channels), channels, start, dst)
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
			if !skipped(line, t.lay.delim) {
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
			if !skipped(line, t.lay.delim) {
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
func (t *textReader) shrunk(err error) error {
	if err != nil {
		return err
	}
	return &DataError{Path: t.path, Place: fmt.Sprintf("line %d", t.cur.line), Found: "the file changed while it was read", Hint: "is it still being written?"}
}

// parseRow puts the wanted cells of a row into dst[·][at].
func (t *textReader) parseRow(line []byte, dst [][]float64, at int) error {
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
			v, q, ok := scanNumber(line, p, dec)
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
				if v, ok = parseNumber(cell, dec); !ok {
					if t.soft == nil || !t.soft[col] {
						return t.badCell(line, col, cell)
					}
					v = nan
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
		// p now stands at the delimiter or the end of the line.
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
	p, n := 0, len(line)
	for len(dst) <= maxColumns {
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
	if l.cols > 0 && len(dst) == l.cols+1 && len(dst[l.cols]) == 0 {
		dst = dst[:l.cols]
	}
	return dst
}

// ragged describes a row with too few or too many columns.
func (t *textReader) ragged(line []byte) error {
	cells := t.lay.split(nil, line)
	no := t.cur.line - 1
	e := &DataError{Path: t.path, Want: plural(int64(t.lay.cols), "column"), Found: strconv.Itoa(len(cells))}
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
func (t *textReader) badCell(line []byte, col int, cell []byte) error {
	// A short row shows first as an empty cell; say what is really wrong.
	if n := len(t.lay.split(nil, line)); n < t.lay.cols {
		return t.ragged(line)
	}
	return cellError(t.path, t.cur.line-1, col, t.lay.names[col], cell)
}

func cellError(path string, line int64, col int, name string, cell []byte) error {
	e := &DataError{Path: path, Place: fmt.Sprintf("line %d, column %d (%s)", line, col+1, name), Want: "a number", Found: strconv.Quote(clip(string(cell))), Hint: "correct the cell, or delete the row"}
	if len(cell) == 0 {
		e.Found = "an empty cell"
	} else if _, ok := parseNumber(cell, ','); ok {
		e.Hint = "a decimal comma; the other rows seen have decimal points"
	} else if _, ok := parseNumber(cell, '.'); ok {
		e.Hint = "a decimal point; the other rows seen have decimal commas"
	}
	return e
}

// FindChannel returns the index of the channel a user means: by its name as
// it stands, by its name in any letter case, by its header with the unit
// ("Time (s)"), or by its number from 1. An unknown or ambiguous name is a
// *DataError that lists the names there are.
func FindChannel(info Info, name string) (int, error) {
	name = strings.TrimSpace(name)
	names := make([]string, len(info.Channels))
	for i, c := range info.Channels {
		names[i] = c.Name
	}
	header := func(c Channel) string {
		for _, a := range c.Attributes {
			if a.Name == "header" {
				return a.Value
			}
		}
		return ""
	}
	for _, same := range []func(c Channel) bool{
		func(c Channel) bool { return c.Name == name },
		func(c Channel) bool { return strings.EqualFold(c.Name, name) },
		func(c Channel) bool { h := header(c); return h != "" && strings.EqualFold(h, name) },
	} {
		at := -1
		for i, c := range info.Channels {
			if !same(c) {
				continue
			}
			if at >= 0 {
				return 0, &DataError{Path: info.Path, Found: fmt.Sprintf("channels %d and %d are both named %q", at+1, i+1, c.Name), Hint: "name the channel by its number"}
			}
			at = i
		}
		if at >= 0 {
			return at, nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
		return n - 1, nil
	}
	for _, u := range info.Unread {
		if u.Name == name {
			return 0, &DataError{Path: info.Path, Place: u.Name, Found: u.Reason}
		}
	}
	// A path may be cut at its front where only one channel ends so.
	at, n := -1, 0
	for i, c := range info.Channels {
		if rest, ok := strings.CutSuffix(c.Name, name); ok && name != "" && rest != "" && strings.ContainsAny(rest[len(rest)-1:], "/.") {
			at, n = i, n+1
		}
	}
	if n == 1 {
		return at, nil
	}
	e := &DataError{Path: info.Path, Want: fmt.Sprintf("a channel %q", name), Found: "only " + quoteList(names), Hint: "name one of these in the configuration, or correct the header"}
	if near := nearest(name, names, 1); len(near) > 0 && distance(near[0], name) <= 2 && len(name) > 2 {
		e.Hint = fmt.Sprintf("is %q meant?", near[0])
	}
	return 0, e
}

// sampleLine is a line from the head of a file.
type sampleLine struct {
	text []byte
	mark mark
}

// findLayout looks at the head of the file: delimiter, decimal sign, header,
// units, which columns hold numbers.
func findLayout(path string, src io.ReaderAt, size int64, o TextOptions) (*layout, error) {
	head := make([]byte, min(size, textSample))
	n, err := src.ReadAt(head, 0)
	if n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return nil, &DataError{Path: path, Place: "byte 0", Err: fmt.Errorf("read: %w", err)}
	}
	head = head[:n]
	off := int64(0)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		head, off = head[3:], 3
	}
	whole := int64(n) == size
	if i := bytes.IndexByte(head, 0); i >= 0 {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("byte %d", off+int64(i)), Want: "text", Found: "a zero byte", Hint: "this is no text file"}
	}
	if bytes.IndexByte(head, '\n') < 0 && bytes.Count(head, []byte{'\r'}) > 1 {
		return nil, &DataError{Path: path, Place: "line 1", Want: "lines ended by LF or CRLF", Found: "CR alone", Hint: "convert the line ends"}
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
		case skipped(line, ';'): // a line that begins with ';' may still be data
			if t := bytes.TrimSpace(line); len(t) > 0 && len(comments) < 100 && bytes.IndexByte([]byte("#%!/"), t[0]) >= 0 {
				comments = append(comments, sampleLine{line, m})
			}
		default:
			lines = append(lines, sampleLine{line, m})
		}
	}
	if len(lines) == 0 {
		if !whole {
			return nil, &DataError{Path: path, Place: "line 1", Found: fmt.Sprintf("no row within %d KiB", textSample>>10), Hint: "is this a table?"}
		}
		return nil, &DataError{Path: path, Want: "rows of numbers", Found: "no data rows"}
	}
	l, from, ok := chooseDelimiter(lines, o)
	if !ok {
		at := lines[len(lines)-1]
		return nil, &DataError{Path: path, Place: fmt.Sprintf("line %d", at.mark.line), Want: "rows of numbers", Found: fmt.Sprintf("no data rows; the last line looked at is %q", clip(string(at.text))), Hint: "record again, or leave the file out with exclude"}
	}
	if l.cols > maxColumns {
		return nil, &DataError{Path: path, Place: fmt.Sprintf("line %d", lines[0].mark.line), Found: fmt.Sprintf("more than %d columns", maxColumns)}
	}
	if l.delim != ';' { // now lines that begin with ';' are known to be comments
		kept, before := lines[:0:0], 0
		for i, s := range lines {
			if !skipped(s.text, l.delim) {
				kept = append(kept, s)
				if i < from {
					before++
				}
			}
		}
		if len(kept) == 0 {
			return nil, &DataError{Path: path, Want: "rows of numbers", Found: "no data rows"}
		}
		lines, from = kept, min(before, len(kept)-1)
	}
	if err := l.findHeader(path, lines, comments, from, o); err != nil {
		return nil, err
	}
	return l, nil
}

// chooseDelimiter tries every delimiter and decimal sign on the later lines of
// the sample (the first may be header, units, preamble) and takes what makes
// the greatest part of the cells numbers in rows of equal length.
func chooseDelimiter(lines []sampleLine, o TextOptions) (best *layout, from int, ok bool) {
	switch n := len(lines); {
	case n >= 4:
		from = n / 2
	case n >= 2:
		from = 1
	}
	type candidate struct {
		delim, dec byte
		name       string
	}
	score := 0.0
	for _, c := range []candidate{
		{'\t', '.', "tab"},
		{';', '.', "semicolon"},
		{',', '.', "comma"},
		{'\t', ',', "tab"},
		{';', ',', "semicolon"},
		{' ', '.', "blanks"},
		{' ', ',', "blanks"},
	} {
		if o.Delimiter != "" && o.Delimiter != c.name {
			continue
		}
		l := &layout{delim: c.delim, dec: c.dec}
		counts, before := map[int]int{}, map[int]int{}
		rows := make([][][]byte, 0, len(lines)-from)
		for i, s := range lines {
			if skipped(s.text, c.delim) {
				continue
			}
			cells := l.split(nil, s.text)
			for len(cells) > 1 && len(cells[len(cells)-1]) == 0 {
				cells = cells[:len(cells)-1]
			}
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
		if cols > 1 && 2*most < len(rows) {
			continue // prose: hardly two lines have as many words
		}
		numbers, cells := 0, 0
		for _, r := range rows {
			cells += max(len(r), cols)
			if len(r) != cols {
				continue
			}
			for _, cell := range r {
				if _, ok := parseNumber(cell, c.dec); ok {
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

// findHeader tells header, units and preamble from data, and names the columns.
// lines[from:] are the ones the delimiter was chosen by.
func (l *layout) findHeader(path string, lines, comments []sampleLine, from int, o TextOptions) error {
	// A column holds numbers if most of its cells in the later lines do.
	votes := make([]int, l.cols)
	for _, s := range lines[from:] {
		cells := l.split(nil, s.text)
		for i := range min(len(cells), l.cols) {
			if _, ok := parseNumber(cells[i], l.dec); ok {
				votes[i]++
			} else {
				votes[i]--
			}
		}
	}
	numbers := func(cells [][]byte) (good, bad int) {
		for i := range min(len(cells), l.cols) {
			if _, ok := parseNumber(cells[i], l.dec); ok {
				good++
			} else if votes[i] > 0 {
				bad++
			}
		}
		return good, bad
	}
	// Lines without any number come before the data; so does what stands above
	// a header, whatever it holds, as long as it is no row itself.
	data := 0
	for i := range min(from, 100) {
		cells := l.split(nil, lines[i].text)
		good, bad := numbers(cells)
		if good > 0 && bad == 0 && len(cells) == l.cols {
			break
		}
		if good == 0 && len(l.headerCells(lines[i].text)) == l.cols {
			data = i
		}
	}
	for data < len(lines) {
		cells := l.split(nil, lines[data].text)
		good, bad := numbers(cells)
		if good > 0 && (bad == 0 || data > 0 || len(o.Columns) > 0 || len(lines) == 1) {
			break
		}
		if good > 0 && len(cells) != l.cols {
			break // a bad first row, not a header
		}
		data++
		if data == 1 && good > 0 { // "Time,1,2,3": numbers as names
			l.warn = append(l.warn, Warning{
				Path: path, Code: "numeric-header",
				Text: fmt.Sprintf("line %d (%q) is taken as the header, though %d of its %d names are numbers", lines[0].mark.line, clip(string(lines[0].text)), good, l.cols),
			})
			break
		}
	}
	if data >= len(lines) {
		at := lines[len(lines)-1]
		return &DataError{Path: path, Place: fmt.Sprintf("line %d", at.mark.line), Want: "rows of numbers", Found: "no data rows"}
	}
	l.dataOff, l.line = lines[data].mark.off, lines[data].mark.line
	for _, c := range comments {
		if c.mark.line < l.line {
			l.attribute(commentText(c.text))
		}
	}

	// The header is the last of the lines before the data that has as many
	// cells as there are columns; a line after it gives units.
	var head, units [][]byte
	pre := lines[:data]
	split := func(s sampleLine) [][]byte { return l.headerCells(s.text) }
	switch n := len(pre); {
	case n >= 2 && len(split(pre[n-1])) == l.cols && len(split(pre[n-2])) == l.cols && unitsRow(split(pre[n-1])):
		head, units = split(pre[n-2]), split(pre[n-1])
		pre = pre[:n-2]
	case n >= 1 && len(split(pre[n-1])) == l.cols:
		head = split(pre[n-1])
		pre = pre[:n-1]
	case n >= 1 && len(o.Columns) == 0:
		cells := split(pre[n-1])
		if l.delim != ' ' && len(cells) > 1 {
			return &DataError{
				Path: path, Place: fmt.Sprintf("line %d", pre[n-1].mark.line), Want: fmt.Sprintf("a header of %d names, as the rows have columns", l.cols),
				Found: plural(int64(len(cells)), "name"),
			}
		}
		l.warn = append(l.warn, Warning{
			Path: path, Code: "no-header",
			Text: fmt.Sprintf("line %d (%q) is not understood as a header of %s: the columns are numbered", pre[n-1].mark.line, clip(string(pre[n-1].text)), plural(int64(l.cols), "column")),
		})
	}
	for _, s := range pre {
		l.attribute(string(s.text))
	}
	if head == nil && data == 0 && len(o.Columns) == 0 {
		// numpy.savetxt and MATLAB write the header as a comment.
		for i := len(comments) - 1; i >= 0; i-- {
			if comments[i].mark.line >= l.line {
				continue
			}
			text := []byte(commentText(comments[i].text))
			if cells := l.headerCells(text); len(cells) == l.cols && (l.cols > 1 || len(cells[0]) > 0) {
				if good, _ := numbers(cells); good == 0 {
					head = cells
				}
			}
			break
		}
	}
	l.names, l.units, l.heads = make([]string, l.cols), make([]string, l.cols), make([]string, l.cols)
	l.numeric = make([]bool, l.cols)
	if len(o.Columns) > 0 && len(o.Columns) != l.cols {
		return &DataError{Path: path, Place: fmt.Sprintf("line %d", l.line), Want: fmt.Sprintf("%d columns as named in the configuration", len(o.Columns)), Found: strconv.Itoa(l.cols)}
	}
	for i := range l.cols {
		l.names[i] = strconv.Itoa(i + 1)
		if head != nil && len(head[i]) > 0 {
			l.heads[i] = strings.ToValidUTF8(string(head[i]), "\uFFFD")
			l.names[i], l.units[i] = splitUnit(l.heads[i])
		}
		if units != nil {
			if u := strings.Trim(strings.ToValidUTF8(string(units[i]), "\uFFFD"), " []()"); u != "" && u != "-" {
				l.units[i] = u
			}
		}
		if len(o.Columns) > 0 {
			l.names[i], l.heads[i] = o.Columns[i], ""
			if name, unit := splitUnit(o.Columns[i]); unit != "" {
				l.names[i], l.units[i], l.heads[i] = name, unit, o.Columns[i]
			}
		}
	}
	// A column no row of the sample has a number in holds text.
	seen := make([]bool, l.cols)
	for _, s := range lines[data:] {
		cells := l.split(nil, s.text)
		for i := range min(len(cells), l.cols) {
			if _, ok := parseNumber(cells[i], l.dec); ok {
				l.numeric[i] = true
			}
			seen[i] = seen[i] || len(cells[i]) > 0
		}
	}
	any := false
	for i, ok := range l.numeric {
		any = any || ok
		if !ok {
			what := "holds text"
			if !seen[i] {
				what = "is empty"
			}
			l.warn = append(l.warn, Warning{Path: path, Code: "text-column", Text: fmt.Sprintf("column %s %s: it is no channel", l.names[i], what)})
		}
	}
	if !any {
		return &DataError{Path: path, Place: fmt.Sprintf("line %d", l.line), Want: "rows of numbers", Found: strconv.Quote(clip(string(lines[data].text)))}
	}
	return nil
}

// knownUnits are units that make a row below the header a row of units.
var knownUnits = map[string]bool{
	"s": true, "ms": true, "us": true, "µs": true, "min": true, "h": true, "sec": true, "Hz": true, "kHz": true, "1/s": true,
	"N": true, "kN": true, "mN": true, "Nm": true, "N.m": true, "N·m": true, "N*m": true, "N m": true, "lb": true, "lbf": true,
	"Pa": true, "kPa": true, "hPa": true, "mbar": true, "bar": true, "psi": true, "V": true, "mV": true, "A": true, "mA": true, "W": true,
	"m": true, "mm": true, "cm": true, "m/s": true, "m/s2": true, "m/s^2": true, "m/s²": true, "g": true, "kg": true, "kg/m3": true, "kg/m^3": true,
	"deg": true, "°": true, "rad": true, "rad/s": true, "rpm": true, "RPM": true, "1/min": true, "K": true, "°C": true, "degC": true, "C": true,
	"-": true, "%": true, "dB": true, "": true, "counts": true,
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
		l.attrs = append(l.attrs, Attribute{Name: name, Value: value})
	}
}

// commentText is a comment line without its sign.
func commentText(line []byte) string {
	return strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(string(line)), "#%!/;"))
}

// splitUnit takes the unit off a header: "Time (s)", "Fx [N]", "p[Pa]".
func splitUnit(head string) (name, unit string) {
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
