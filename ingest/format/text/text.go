// Package text reads delimited text: columns of numbers separated by commas,
// semicolons, tabs or blanks, with decimal points or commas, with or without a
// header, units and comments. It recognises the form from the content. Package
// ingest/campaign uses it to read tables of conditions and of pairs.
package text

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/lines"
)

// Format is delimited text. It reads files without binary bytes.
var Format = ingest.Format{
	Name: "text", Title: "delimited text", Endings: []string{".csv", ".txt", ".dat", ".tsv"},
	Open: func(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
		r, err := openRecording(src, o)
		switch {
		case err != nil:
			return nil, err // a nil *Reader would be an ingest.Reader that is not nil
		case len(r.info.Channels) == 0:
			return nil, errorAt(src.Path, r.layout.dataLine, "rows of numbers", "numbers with units behind them",
				"state units in the header")
		}

		return r, nil
	},
}

const (
	maxLine    = 1 << 22 // bytes of the longest line that is read
	maxMarks   = 4096    // entries of the index of rows
	firstMarks = 1024    // rows between two entries; more in a text of more than firstMarks·maxMarks rows
	maxOneRow  = 64      // numbers without names in a text of one row: more are samples, not channels
)

// mark is the beginning of a row.
type mark struct {
	offset int64 // in bytes
	line   int64 // the number of the line, from 1
}

// Reader reads delimited text. Opening it finds the layout at the head of the file (findLayout) and goes once over the
// bytes to count the rows; samples are parsed when they are read.
//
// Opening also reads the beginning and the end of the time column, which give the rate. Package ingest/stats checks
// whether the steps of the time are even when it reads all samples.
type Reader struct {
	path   string
	src    ingest.Source
	info   ingest.Info
	layout layout

	rows        int64
	marks       []mark // marks[i] is row i·stride
	stride      int64
	columnOf    []int // of each channel
	timeChannel int   // the channel with the time; −1: none

	lines        *lines.Reader
	current      mark   // the beginning of the row that was read last
	nextIndex    int64  // of the row that nextRow returns
	destinations []int  // for each column the index in dst, −1 if it is not asked for
	tolerated    []bool // for each column, whether a bad cell is NaN rather than an error

	sparse      []*sparseColumn // for each channel; nil for one with a sample in each row, or if no channel is sparse
	heldColumns []*sparseColumn // for each column; nil for one that is not held, or if no channel is sparse
	cells       [][]byte        // of a row, used again
}

// Open finds out the layout, counts the rows and reads the beginning and the
// end of the time column. It parses no other rows: a ragged row, or text in a
// column of numbers, is an error of Read.
func Open(src ingest.Source, o ingest.Options) (*Reader, error) { return open(src, o, nil) }

// openRecording opens a recording. Open opens a table, in which an empty cell is a value that is missing; in a
// recording it may be the rest between two samples of a slower channel.
func openRecording(src ingest.Source, o ingest.Options) (*Reader, error) {
	t, err := Open(src, o)
	if err != nil {
		return nil, err
	}

	if err := t.refuseSummaries(); err != nil {
		return nil, err
	}

	if err := t.findSparse(o.Together); err != nil {
		return nil, err
	}

	return t, nil
}

// open opens a text that a program wrote, or, if log is not nil, a table that people typed.
func open(src ingest.Source, o ingest.Options, log *Log) (*Reader, error) {
	src, err := openUTF16(src)
	if err != nil {
		return nil, err
	}

	var warnings []ingest.Warning
	if log == nil {
		src, o, warnings, err = openLabelled(src, o)
		if err != nil {
			return nil, err
		}
	}

	t := &Reader{
		path: src.Path, src: src, timeChannel: -1, stride: firstMarks, lines: lines.New(src, maxLine, lines.RefuseLong),
	}

	if err := t.setLayout(o.Text, log); err != nil {
		return nil, err
	}

	if err := t.countRows(o); err != nil {
		return nil, err
	}

	if err := t.describe(o, warnings); err != nil {
		return nil, err
	}

	if err := t.refuseOneRow(o.Text); err != nil {
		return nil, err
	}

	t.destinations = make([]int, t.layout.cols)
	t.tolerated = make([]bool, t.layout.cols)
	t.chooseTimeForms()

	if err := t.findTime(o); err != nil {
		return nil, err
	}

	return t, nil
}

// setLayout finds the layout of the text, or, if log is not nil, of a table that people typed.
func (t *Reader) setLayout(o ingest.TextOptions, log *Log) error {
	var found *layout
	var err error
	if log != nil {
		found, err = t.findLogLayout(log)
	} else {
		found, err = findLayout(t.src, o)
	}

	if err != nil {
		return err
	}

	t.layout = *found

	return nil
}

// describe sets the description of the file, with a channel for each column of numbers. It puts warnings before those
// of the layout and of the rows.
func (t *Reader) describe(o ingest.Options, warnings []ingest.Warning) error {
	for i := range t.layout.warnings {
		t.layout.warnings[i].Path = t.path
	}

	t.info = ingest.Info{
		Path: t.path, Format: "text", Encoding: t.layout.encoding(), Attributes: t.layout.attributes,
		Warnings: slices.Concat(warnings, t.layout.warnings, t.info.Warnings),
	}

	rate, err := o.Rate(t.path, "header", t.layout.rateHz, rateTolerance)
	if err != nil {
		return err
	}

	t.addChannels(rate)

	return nil
}

// refuseOneRow returns an error if the text is one row of many numbers without names: these are samples, not channels.
func (t *Reader) refuseOneRow(o ingest.TextOptions) error {
	hasNames := len(o.Columns) > 0 || strings.Join(t.layout.heads, "") != ""
	if t.rows != 1 || len(t.columnOf) <= maxOneRow || hasNames {
		return nil
	}

	return errorAt(t.path, t.layout.dataLine, "columns of samples", fmt.Sprintf("one row of %d numbers", len(t.columnOf)),
		"a column is a channel: write one number a line, or a header if they are channels of one sample")
}

// errorAt returns an error at a line.
func errorAt(path string, line int64, want, found, hint string) error {
	return &fault.Error{Path: path, Place: fmt.Sprintf("line %d", line), Want: want, Found: found, Hint: hint}
}

func (t *Reader) warnf(code, format string, args ...any) {
	t.info.Warnings = append(t.info.Warnings,
		ingest.Warning{Path: t.path, Code: code, Text: fmt.Sprintf(format, args...)})
}

// addChannels adds a channel for each column of numbers.
func (t *Reader) addChannels(rateHz float64) {
	for col := range t.layout.cols {
		if !t.layout.numeric[col] {
			continue
		}

		ch := ingest.Channel{
			Name: t.layout.names[col], Unit: t.layout.units[col], RateHz: rateHz, Samples: t.rows,
		}
		if head := t.layout.heads[col]; head != "" && head != ch.Name {
			ch.Attributes = append(ch.Attributes, ingest.Attribute{Name: "header", Value: head})
		}

		if t.layout.positions != nil && t.layout.positions[col] != "" {
			ch.Attributes = append(ch.Attributes, ingest.Attribute{Name: "position", Value: t.layout.positions[col]})
		}

		t.columnOf = append(t.columnOf, col)
		t.info.Channels = append(t.info.Channels, ch)
	}
}

// countRows goes over all lines, keeps where every stride-th row begins, and drops an incomplete last row if the
// options allow it.
func (t *Reader) countRows(o ingest.Options) error {
	t.seek(mark{t.layout.dataOffset, t.layout.dataLine})
	var latest []mark // of the last rows, at most cutRows; row i is at i modulo cutRows
	for {
		_, ok, err := t.nextRow()
		if err != nil {
			return err
		}

		if !ok {
			break
		}

		if len(latest) < cutRows {
			latest = append(latest, t.current)
		} else {
			latest[t.rows%cutRows] = t.current
		}

		t.markRow()
		t.rows++
	}

	if t.rows == 0 {
		return errorAt(t.path, t.lines.Line, "rows of numbers", "no data rows", "")
	}

	if len(latest) == cutRows {
		oldest := t.rows % cutRows
		latest = slices.Concat(latest[oldest:], latest[:oldest])
	}

	isCutShort, err := t.isCutShort(latest, o)
	if err != nil {
		return err
	}

	if isCutShort {
		t.rows--
	}

	t.seek(t.marks[0])

	return nil
}

// markRow marks the current row, number rows, if it is a stride-th row.
func (t *Reader) markRow() {
	if t.rows%t.stride != 0 {
		return
	}

	if len(t.marks) == maxMarks {
		// Twice the distance, half the marks: memory stays the same.
		for i := range maxMarks / 2 {
			t.marks[i] = t.marks[2*i]
		}

		t.marks = t.marks[:maxMarks/2]
		t.stride *= 2
	}

	if t.rows%t.stride == 0 {
		t.marks = append(t.marks, t.current)
	}
}

// isCutShort reports whether the last row is incomplete, as in a file that a crash cut off: it has no end of line, and
// too few cells or a last number that is cut. latest are the marks of the last rows. With Options.Truncated "use",
// isCutShort also warns that the row is left out, which the caller does. Otherwise such a row is an error.
func (t *Reader) isCutShort(latest []mark, o ingest.Options) (bool, error) {
	if len(latest) < 2 || t.layout.log != nil {
		return false, nil
	}

	hasEnd, err := lines.HasLastLineEnd(t.src)
	if err != nil || hasEnd {
		return false, err
	}

	cut, err := t.findCut(latest)
	if err != nil || cut == nil {
		return false, err
	}

	if o.Truncated != "use" {
		return false, cut
	}

	t.warnf("truncated", "the last row (line %d) is cut short: it is left out", latest[len(latest)-1].line)

	return true, nil
}

// findCut returns the error that tells where the last row is cut short, and nil if it has all cells and its last number
// is whole.
func (t *Reader) findCut(latest []mark) (*fault.Error, error) {
	last := latest[len(latest)-1]

	cells, err := t.cellsAt(last)
	if err != nil {
		return nil, err
	}

	column := len(cells)
	found := ""
	switch {
	case len(cells) < t.layout.cols:
		column++ // the first that is missing
		found = fmt.Sprintf("%s of %d", fault.Plural(int64(len(cells)), "column"), t.layout.cols)
	case len(cells) == t.layout.cols:
		if t.lines.Offset() < t.src.Size { // a line that is no row follows, so that this row is whole
			return nil, nil
		}

		number := string(cells[len(cells)-1])
		isCut, err := t.isCutNumber(number, latest[:len(latest)-1])
		if err != nil || !isCut {
			return nil, err
		}

		found = fmt.Sprintf("%q, which is shorter than the numbers above", number)
	default:
		return nil, nil
	}

	return &fault.Error{
		Path:  t.path,
		Place: fmt.Sprintf("line %d, column %d (%s)", last.line, column, t.layout.names[column-1]),
		Found: found + ", then the end of the file",
		Hint:  "the last row is cut short; truncated: use under ingest leaves it out",
	}, nil
}

// cellsAt returns the cells of a row.
func (t *Reader) cellsAt(row mark) ([][]byte, error) {
	t.seek(row)

	line, _, err := t.lines.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}

	return t.layout.split(nil, line), nil
}

// A program that writes numbers in one format, such as %.6f or %e, writes equally many characters behind the decimal
// sign. If the last number of a file has fewer, it is cut: 1.234 may have been 1.23456e-05. A program that leaves out
// zeros at the end, as %g does, writes fewer characters in one number of ten, so that 50 numbers with equally many are
// hardly of such a program.
const (
	cutRows     = 51 // the last row and the rows with which isCutNumber compares it
	cutDecimals = 4  // fewest characters behind the decimal sign by which a format is recognised
)

// isCutNumber reports whether number, the last of the file, has fewer characters behind the decimal sign than the last
// numbers of all rows before it, which have equally many.
func (t *Reader) isCutNumber(number string, before []mark) (bool, error) {
	if len(before) < cutRows-1 {
		return false, nil
	}

	format := -1 // characters behind the decimal sign of the rows before
	for _, row := range before {
		cells, err := t.cellsAt(row)
		if err != nil {
			return false, err
		}

		last := cells[len(cells)-1]
		_, isNumber := t.layout.number(last)
		decimals := t.countDecimals(string(last))
		if !isNumber || decimals < cutDecimals || format >= 0 && decimals != format {
			return false, nil
		}

		format = decimals
	}

	return t.countDecimals(number) < format, nil
}

// countDecimals returns the number of characters behind the decimal sign of a number.
func (t *Reader) countDecimals(number string) int {
	_, decimals, _ := strings.Cut(number, string(t.layout.decimal))
	return len(decimals)
}

// Info implements ingest.Reader.
func (t *Reader) Info() ingest.Info { return t.info }

// Close implements ingest.Reader.
func (t *Reader) Close() error { return t.src.Close() }

// Tolerate implements ingest.Tolerant.
func (t *Reader) Tolerate(channels []bool) {
	t.tolerated = make([]bool, t.layout.cols)
	for c, ok := range channels {
		t.tolerated[t.columnOf[c]] = ok
	}
}

// Read implements ingest.Reader. It panics if channels and dst do not fit together. If the channels differ in length,
// the shortest of them is the end of the recording.
func (t *Reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := ingest.CheckRead(len(t.info.Channels), channels, start, dst)
	if n == 0 {
		return 0, nil
	}

	least := n
	for _, group := range t.groupByRows(channels) {
		groupChannels := make([]int, len(group))
		groupDst := make([][]float64, len(group))
		for i, k := range group {
			groupChannels[i] = channels[k]
			groupDst[i] = dst[k]
		}

		read, err := t.readGroup(groupChannels, start, groupDst)
		if err != nil && !errors.Is(err, io.EOF) {
			return read, err
		}

		least = min(least, read)
	}

	if least < n {
		return least, io.EOF
	}

	return n, nil
}

// readGroup reads channels that have samples in the same rows as Read does.
func (t *Reader) readGroup(channels []int, start int64, dst [][]float64) (int, error) {
	if sparse := t.ownSamples(channels[0]); sparse != nil {
		return t.readSparse(sparse, channels, start, dst)
	}

	return t.readRows(channels, start, dst)
}

// readRows reads channels with a sample in each row as Read does.
func (t *Reader) readRows(channels []int, start int64, dst [][]float64) (int, error) {
	if start >= t.rows {
		return 0, io.EOF
	}

	held := t.heldAmong(channels)
	if err := t.findLast(held, start); err != nil {
		return 0, err
	}

	if err := t.seekRow(start); err != nil {
		return 0, err
	}

	t.setDestinations(channels)

	n := len(dst[0])
	k := 0
	for ; k < n && t.nextIndex < t.rows; k++ {
		line, err := t.mustNextRow()
		if err != nil {
			return k, err
		}

		t.nextIndex++
		for _, sparse := range held {
			sparse.nextRow = t.nextIndex
		}

		if err := t.parseRow(line, dst, k); err != nil {
			return k, err
		}
	}

	t.copyRepeated(channels, dst, k)
	if k < n {
		return k, io.EOF
	}

	return k, nil
}

// copyRepeated copies the samples of channels that are asked for twice, because parseRow fills one destination only.
func (t *Reader) copyRepeated(channels []int, dst [][]float64, samples int) {
	for i, c := range channels {
		if j := t.destinations[t.columnOf[c]]; j != i {
			copy(dst[i][:samples], dst[j][:samples])
		}
	}
}

// Rows calls each for every row in order, with the number of its first line, from 1, and with the unchanged cells of
// all columns. The cells are valid until the next row. Rows also puts the samples of channels into dst.
func (t *Reader) Rows(channels []int, dst [][]float64, each func(line int64, cells [][]byte)) error {
	t.setDestinations(channels)
	t.seek(t.marks[0])

	var cells [][]byte
	for k := range int(t.rows) {
		line, err := t.mustNextRow()
		if err != nil {
			return err
		}

		if err := t.parseRow(line, dst, k); err != nil {
			return err
		}

		if !utf8.Valid(line) {
			text, err := Western(t.path, fmt.Sprintf("line %d", t.current.line), line)
			if err != nil {
				return err
			}

			line = []byte(text)
		}

		cells = t.layout.split(cells[:0], line)
		each(t.current.line, cells)
	}

	t.nextIndex = t.rows

	return nil
}

// Columns returns the names of all columns, of numbers and of text, and their
// unchanged headers, "" for a column without one.
func (t *Reader) Columns() (names, heads []string) { return t.layout.names, t.layout.heads }

// Column returns the column of a channel, from 0.
func (t *Reader) Column(channel int) int { return t.columnOf[channel] }

// Header returns the line of a header that people typed, and the units of all columns, "" for an unknown unit.
func (t *Reader) Header() (line int64, units []string) { return t.layout.headerLine, t.layout.units }

// Size returns the numbers of rows and of bytes.
func (t *Reader) Size() (rows, bytes int64) { return t.rows, t.src.Size }
