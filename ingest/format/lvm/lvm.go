// Package lvm reads LabVIEW's measurement files (.lvm), which are text (National Instruments, "Specification for the
// LabVIEW Measurement File"). A file has a header of keys and values, then one or more segments. A segment is a header
// with a value for each column (names, units, time increments), and rows of numbers up to a blank line. If the segments
// have the same channels, they are read as one recording, one after the other.
//
// open reads all headers and counts the rows, but does not parse them; it marks where rows begin. Read (rows.go) goes
// to a mark and parses rows.
package lvm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/text"
)

const magic = "LabVIEW Measurement"

// Format is LVM.
var Format = ingest.Format{
	Name: "lvm", Title: "LVM", Endings: []string{".lvm"}, Attributes: true, Magic: []string{magic}, Open: open,
}

const (
	maxLine  = 1 << 16 // longest line, in bytes
	maxCells = 1 << 14 // most cells of a line; the last contains the rest of the line
	maxKeys  = 256     // keys of a header that are kept
	stride   = 256     // rows between two marks
	endMark  = "***End_of_Header***"
)

// segment is the header of a segment.
type segment struct {
	begin int64               // offset in the file
	keys  map[string][]string // the cells of each line, by the first cell: the values of a key above the columns
	names []string            // names of the columns
}

// value returns the value of a key above a column, and "" if there is none.
func (s *segment) value(key string, column int) string {
	if v := s.keys[key]; column < len(v) {
		return v[column]
	}
	return ""
}

// hasChannelsOf reports whether a segment has the same channels as another: the same names, increments and units.
func (s *segment) hasChannelsOf(other *segment) bool {
	return slices.Equal(s.names, other.names) &&
		slices.Equal(s.keys["Delta_X"], other.keys["Delta_X"]) &&
		slices.Equal(s.keys["Y_Unit_Label"], other.keys["Y_Unit_Label"])
}

// file is an LVM file. It is the plane of its columns.
type file struct {
	src       ingest.Source
	o         ingest.Options
	lines     *lines.Reader
	separator []byte // between cells: a tab or a comma
	decimal   byte   // decimal sign: a point or a comma
	header    map[string]string

	first    *segment     // nil before the first segment
	current  *segment     // the segment that is being read; nil before the first
	start    int64        // number of the first row of current
	segments int          // number of segments
	marks    []lines.Mark // of every stride-th row of each block of rows
	rows     int64        // number of rows
	blocks   int64        // number of blocks of rows
	ends     []int64      // for each column, the number of the row behind its last cell that is not empty
	partial  []int64      // for each column, the number of blocks whose last rows it does not fill

	warnings     []ingest.Warning
	warnedDigits bool // a warning about the digits of an increment was given
}

// open reads the headers and finds the rows.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{
		src: src, o: o, lines: lines.New(src, maxLine, lines.RefuseLong), separator: []byte("\t"), decimal: '.',
		header: map[string]string{},
	}

	if err := f.scan(); err != nil {
		return nil, err
	}

	if f.first == nil || f.rows == 0 {
		return nil, f.src.Fault(f.lines.Offset(), "a segment of numbers", "the end of the file", raw.Damaged)
	}

	return f.reader()
}

// cells returns the cells of a line, without blanks.
func (f *file) cells(line []byte) []string {
	fields := bytes.SplitN(line, f.separator, maxCells)
	cells := make([]string, len(fields))
	for i, field := range fields {
		cells[i] = raw.Text(field)
	}

	return cells
}

// next returns the next line and its offset in the file. At the end of the file it returns an error that says what was
// wanted instead.
func (f *file) next(want, hint string) (line []byte, begin int64, err error) {
	line, begin, err = f.lines.Next()
	if errors.Is(err, io.EOF) {
		return nil, begin, f.src.Fault(begin, want, "the end of the file", hint)
	}

	return line, begin, err
}

// scan reads the header of the file, and the segments.
func (f *file) scan() error {
	line, begin, err := f.lines.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	if !bytes.HasPrefix(line, []byte(magic)) {
		return f.src.Fault(begin, strconv.Quote(magic), "another line", "this is no LVM file")
	}

	if bytes.HasPrefix(line, []byte(magic+",")) {
		f.separator = []byte(",")
	}

	if err := f.readHeader(); err != nil {
		return err
	}

	columns := f.header["X_Columns"]
	if !slices.Contains([]string{"", "No", "One", "Multi"}, columns) {
		return f.src.Fault(0, "X_Columns No, One or Multi", columns, raw.Damaged)
	}

	for {
		line, begin, err := f.lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return err
		}

		if isBlank(line, f.separator) {
			continue
		}

		f.lines.GoTo(begin)

		if f.first == nil || isKey(f.cells(line)[0]) {
			if err := f.readSegment(); err != nil {
				return err
			}
		}

		if err := f.readRows(); err != nil {
			return err
		}
	}

	return f.complete()
}

// isKey reports whether a cell is a key of a header: it begins with a letter or a star and is not NaN or Inf.
func isKey(cell string) bool {
	if cell == "" {
		return false
	}

	lower := cell[0] | 0x20
	isLetter := lower >= 'a' && lower <= 'z'
	isNumber := strings.EqualFold(cell, "NaN") || strings.HasPrefix(strings.ToLower(cell), "inf")

	return (cell[0] == '*' || isLetter) && !isNumber
}

// isBlank reports whether a line contains only separators and blanks. A row without an X column is not blank: its first
// cell is empty, and its other cells are not.
func isBlank(b, separator []byte) bool {
	return len(bytes.Trim(b, string(separator)+" ")) == 0
}

// readHeader reads the header of the file, up to its end mark.
func (f *file) readHeader() error {
	for {
		line, _, err := f.next(endMark, raw.Damaged)
		if err != nil {
			return err
		}

		cells := f.cells(line)
		if cells[0] == endMark {
			return nil
		}

		if len(cells) < 2 || len(f.header) > maxKeys {
			continue
		}

		f.header[cells[0]] = cells[1]
		switch {
		case cells[0] == "Separator" && cells[1] == "Comma":
			f.separator = []byte(",")
		case cells[0] == "Decimal_Separator" && cells[1] == ",":
			f.decimal = ','
		}
	}
}

// readSegment reads the header of a segment, and the line with the names of its columns behind the end mark. If the
// file ends before these names, readSegment returns an error for the first segment. For a later segment it returns nil,
// because text behind the last segment is ignored.
func (f *file) readSegment() error {
	s := &segment{begin: f.lines.Offset(), keys: map[string][]string{}}

	isSpecial := false    // the line is in a block that LabVIEW marks as special, which is skipped
	isBehindMark := false // the line is behind the end mark
	for {
		line, begin, err := f.lines.Next()
		isEOF := errors.Is(err, io.EOF)
		switch {
		case isEOF && f.first != nil:
			return nil
		case isEOF:
			return f.src.Fault(begin, "a line that begins with X_Value", "the end of the file", raw.Damaged)
		case err != nil:
			return err
		}

		cells := f.cells(line)
		switch {
		case cells[0] == "***Start_Special***":
			isSpecial = true
		case cells[0] == "***End_Special***":
			isSpecial = false
		case isSpecial:
		case cells[0] == endMark:
			isBehindMark = true
		case isBehindMark:
			if _, err := text.Western(f.src.Path, fmt.Sprintf("byte %d", begin), line); err != nil {
				return err
			}

			s.names = cells

			return f.beginSegment(s)
		case len(s.keys) < maxKeys:
			s.keys[cells[0]] = cells
		}
	}
}

// beginSegment makes s the current segment. It returns an error if s has other channels than the first segment.
func (f *file) beginSegment(s *segment) error {
	if err := f.complete(); err != nil {
		return err
	}

	if f.first == nil {
		f.first = s
		f.ends = make([]int64, len(s.names))
		f.partial = make([]int64, len(s.names))
	}

	if !s.hasChannelsOf(f.first) {
		return f.src.Fault(s.begin, "segments of the same channels", "one of other channels, units or increments",
			"save one segment a file")
	}

	f.segments++
	f.current = s
	f.start = f.rows

	return nil
}

// complete checks that the current segment has as many rows as its header states. If it has fewer, complete returns an
// error or adds a warning, depending on the options.
func (f *file) complete() error {
	if f.current == nil {
		return nil
	}

	stated := f.statedRows()
	rows := f.rows - f.start
	if rows >= stated {
		return nil
	}

	warnings, err := raw.Short(f.src, f.o, f.current.begin, fmt.Sprintf(
		"the header claims %d samples, there are %d", stated, rows), "samples", f.rows > 0)
	f.warnings = append(f.warnings, warnings...)

	return err
}

// statedRows returns the number of rows that the header of the current segment states, and 0 if it states none: if all
// segments share one header, it does not state the rows of this segment.
func (f *file) statedRows() int64 {
	if f.header["Multi_Headings"] != "Yes" {
		return 0
	}

	stated := int64(0)
	for _, cell := range f.current.keys["Samples"] {
		if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
			stated = max(stated, n)
		}
	}

	return stated
}

// readRows counts the rows of a block, up to a blank line or the end of the file, marks some of them, and notes where
// the cells of each column end. It leaves out a last row that is cut short.
func (f *file) readRows() error {
	var last, before rowForm // of the last row, and of the row before it
	var lastBegin int64      // offset of the last row
	ends := slices.Clone(f.ends)

	for n := 0; ; n++ {
		line, begin, err := f.lines.Next()
		isEOF := errors.Is(err, io.EOF)
		if err != nil && !isEOF {
			return err
		}

		if isEOF && n > 0 {
			isCut, err := f.isCutShort(lastBegin, last, before)
			if err != nil {
				return err
			}

			if isCut {
				f.rows--
				f.ends = ends
				n--
			}
		}

		if isEOF || isBlank(line, f.separator) {
			f.endBlock(n)
			return nil
		}

		if n%stride == 0 {
			f.marks = append(f.marks, lines.Mark{Offset: begin, Row: f.rows})
		}

		before = last
		last = f.formOf(line)
		if n > 0 && last.decimals == before.decimals {
			last.alike = before.alike + 1
		}

		lastBegin = begin
		copy(ends, f.ends)

		f.rows++

		for i := range f.ends {
			var cell []byte
			cell, line, _ = bytes.Cut(line, f.separator)
			if len(cell) > 0 {
				f.ends[i] = f.rows
			}
		}
	}
}

// rowForm is the form of a row. LabVIEW writes all rows of a segment in one form.
type rowForm struct {
	cells    int
	decimals int  // characters behind the decimal sign of the last cell
	isEmpty  bool // the last cell is empty
	alike    int  // rows right before this one with equally many decimals
}

// A last number with fewer decimals is cut only if all rows before it, or the last alikeRows of them, have equally many
// decimals, at least formatDecimals: programs other than LabVIEW may leave out zeros.
const (
	alikeRows      = 50
	fewestRows     = 4
	formatDecimals = 4
)

// isOfFormat reports whether the row of a number, with the rows right before it, shows a fixed number of decimals.
func (r rowForm) isOfFormat(number int64) bool {
	isAlike := int64(r.alike) >= min(number, alikeRows)
	return isAlike && number >= fewestRows && r.decimals >= formatDecimals
}

// formOf returns the form of a row.
func (f *file) formOf(line []byte) rowForm {
	form := rowForm{cells: bytes.Count(line, f.separator) + 1}
	lastCell := line[bytes.LastIndex(line, f.separator)+1:]
	form.isEmpty = len(lastCell) == 0
	if i := bytes.IndexByte(lastCell, f.decimal); i >= 0 {
		form.decimals = len(lastCell) - i - 1
	}

	return form
}

// isCutShort reports whether the last row of the file, which begins at an offset, is cut short: it does not end with a
// line feed, and it is shorter than the row before or comes before the last row that the header states. If the header
// states no rows, isCutShort returns an error or adds a warning, depending on the options.
func (f *file) isCutShort(begin int64, last, before rowForm) (bool, error) {
	hasEnd, err := lines.HasLastLineEnd(f.src)
	if err != nil || hasEnd {
		return false, err
	}

	rows := f.rows - f.start
	stated := f.statedRows()
	hasEnded := last.isEmpty && f.statedSamples(len(f.ends)-1) < rows // the last channel, before the row
	hasFewer := !hasEnded && last.decimals < before.decimals && before.isOfFormat(rows-2)
	isShorter := last.cells < before.cells || hasFewer
	if rows >= stated && !isShorter {
		return false, nil
	}

	if rows <= stated {
		return true, nil // complete says how many rows are there without this one
	}

	warnings, err := raw.Short(f.src, f.o, begin, "the last row is shorter than the row before, and has no line end",
		"whole rows", f.rows > 1)
	f.warnings = append(f.warnings, warnings...)

	return true, err
}

// statedSamples returns the number of samples that the header states for a column, or the largest number if it states
// none.
func (f *file) statedSamples(column int) int64 {
	n, err := strconv.ParseInt(f.first.value("Samples", column), 10, 64)
	if err != nil {
		return math.MaxInt64
	}

	return n
}

// endBlock counts a block of n rows that ends, and the columns that do not fill its last rows.
func (f *file) endBlock(n int) {
	if n == 0 {
		return
	}

	f.blocks++
	for i, end := range f.ends {
		if end > 0 && end < f.rows {
			f.partial[i]++
		}
	}
}

// samples returns the number of a column's samples. LabVIEW writes channels of different rates side by side, each with
// its own number of samples, and leaves the cells behind them empty. A column whose last cells are missing for another
// reason has all rows.
func (f *file) samples(column int) int64 {
	stated := f.first.value("Samples", column)
	if f.blocks == 1 && stated == strconv.FormatInt(f.ends[column], 10) {
		return f.ends[column]
	}

	return f.rows
}

// reader returns a reader whose channels are the columns.
func (f *file) reader() (ingest.Reader, error) {
	encoding := "LVM, separated by tabs"
	if f.separator[0] == ',' {
		encoding = "LVM, separated by commas"
	}

	r := arrays.New(ingest.Info{Path: f.src.Path, Format: "lvm", Encoding: encoding, Warnings: f.warnings}, f.src)
	for _, key := range []string{"Date", "Time", "Operator", "Description", "Project"} {
		if v := f.header[key]; v != "" {
			r.Attribute(key, v)
		}
	}

	if f.segments > 1 {
		r.Warn(ingest.Warn("", "segments", "%d segments are read one after the other: pauses between them are not seen",
			f.segments))
	}

	if err := f.addColumns(r); err != nil {
		return nil, err
	}

	if err := r.Finish(f.o); err != nil {
		return nil, err
	}

	return r, nil
}

// addColumns adds the columns that are not empty to a reader, according to the key X_Columns of the header. "One" means
// that the first column is the X value of all others. "Multi" means that each column has an X column before it, and
// both form a group with the name of the column. With any other value, the first column is empty and the header states
// the increments.
func (f *file) addColumns(r *arrays.Reader) error {
	names := f.first.names
	multi := f.header["X_Columns"] == "Multi"
	hasX := multi || f.header["X_Columns"] == "One"
	group := ""

	for i, name := range names {
		switch {
		case i == 0 && !hasX:
			continue
		case name == "Comment" && i == len(names)-1:
			continue
		case f.ends[i] == 0:
			r.Unread(name, false, "an empty column")
			continue
		case f.blocks > 1 && f.partial[i] == f.blocks:
			r.Unread(name, true, "fewer samples than others in each segment: save one segment a file, or one rate a file")
			continue
		}

		owner := i // the column whose number of samples the header states
		if multi && name == "X_Value" {
			owner = min(i+1, len(names)-1)
		}

		a := arrays.Array{
			Name: name, Dims: []int64{f.samples(owner)}, Plane: f, First: i, Unit: f.first.value("Y_Unit_Label", i),
		}

		switch {
		case name == "X_Value":
			if multi && i+1 < len(names) {
				group = names[i+1]
			}

			a.Plane = &alone{f} // a clock must have a plane of its own
			a.Name, a.Unit = f.clock(i)
			if group != "" {
				a.Name = group + "/" + a.Name
			}
		case !hasX || f.samples(i) < f.rows: // the X column has the steps of the longer channels
			unit, known := clock.Seconds(f.first.value("X_Unit_Label", i))
			if d := f.first.value("X_Dimension", i); known && (d == "" || d == "Time") {
				a.RateHz = f.rate(f.first.value("Delta_X", i), unit, r, name)
			}
		}

		a.Group = group
		if err := r.Add(a); err != nil {
			return err
		}
	}

	return nil
}

// clock returns the name and the unit of an X column: "time" in s if the header does not say otherwise.
func (f *file) clock(column int) (name, unit string) {
	unit = f.first.value("X_Unit_Label", max(1, column))
	name = cmp.Or(strings.ToLower(f.first.value("X_Dimension", max(1, column))), "time")
	if name == "time" {
		unit = cmp.Or(unit, "s")
	}

	return name, unit
}

// rate returns the sampling rate in Hz of the column with a name, and 0 if it has none. delta is the column's time
// increment as written in the file; its unit is unit seconds. Increments have few digits, so a range of rates fits the
// text. If the rate of the options is in this range, rate returns it. Otherwise it returns the rate that lines.Rate
// finds, and warns, once a file, if several whole numbers are in the range.
func (f *file) rate(delta string, unit float64, r *arrays.Reader, name string) float64 {
	inc, ok := text.Fortran([]byte(delta), f.decimal)
	if !ok || !(inc > 0) || math.IsInf(inc, 0) { // NaN is not above 0 either
		return 0
	}

	hz, low, high := lines.Rate(inc, delta, unit)
	if f.o.RateHz >= low && f.o.RateHz <= high {
		return f.o.RateHz
	}

	severalWhole := math.Floor(high) > math.Ceil(low)
	if severalWhole && !f.warnedDigits {
		f.warnedDigits = true
		r.Warn(ingest.Warn("", "rate-digits", "channel %s: Delta_X is %s: the rate is %.6g to %.6g Hz, "+
			"%.6g Hz is used; rate_hz gives it exactly", name, delta, low, high, hz))
	}

	return hz
}
