// Package lvm reads LabVIEW's measurement files (.lvm): text with a header that
// states units, increments and the decimal sign. Segments of the same channels are
// read one after the other.
package lvm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
)

const magic = "LabVIEW Measurement"

// Format is LVM.
var Format = ingest.Format{
	Name: "lvm", Title: "LVM", Endings: []string{".lvm"}, Attributes: true, Magic: []string{magic}, Open: open,
}

const (
	maxLine = 1 << 16
	every   = 256 // lines between two marks
	damaged = "is the file damaged? copy it again, or leave it out with exclude"
	endMark = "***End_of_Header***"
)

// segment is a header of channels.
type segment struct {
	at    int64
	keys  map[string][]string
	names []string // of the columns
}

// value returns the value of a key that stands above a column.
func (s *segment) value(key string, column int) string {
	if v := s.keys[key]; column < len(v) {
		return v[column]
	}
	return ""
}

// same reports whether two segments hold the same channels.
func (s *segment) same(t *segment) bool {
	return slices.Equal(s.names, t.names) && slices.Equal(s.keys["Delta_X"], t.keys["Delta_X"]) &&
		slices.Equal(s.keys["Y_Unit_Label"], t.keys["Y_Unit_Label"])
}

// mark is a line of numbers and how many rows lie before it.
type mark struct{ at, row int64 }

// file is a file while it is looked through, and its rows.
type file struct {
	src       ingest.Source
	o         ingest.Options
	in        *lines.Reader
	separator []byte
	decimal   byte
	header    map[string]string
	first     *segment
	current   *segment
	start     int64 // row of its first
	segments  int
	marks     []mark
	rows      int64
	filled    []bool // columns that hold something
	warnings  []ingest.Warning
	told      bool // the rate's digits
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f := &file{
		src: src, o: o, in: lines.New(src, maxLine), separator: []byte("\t"), decimal: '.', header: map[string]string{},
	}
	if err := f.scan(); err != nil {
		return nil, err
	}

	if f.first == nil || f.rows == 0 {
		return nil, f.src.Fault(f.in.At(), "a segment of numbers", "the end of the file", damaged)
	}

	return f.reader()
}

// cells cuts a line at the separators.
func (f *file) cells(b []byte) []string {
	var out []string
	for i, c := range bytes.Split(b, f.separator) {
		if i >= 1<<14 {
			break
		}
		out = append(out, raw.Text(c))
	}

	return out
}

// next is the next line, which must fit.
func (f *file) next() ([]byte, int64, error) {
	b, at, err := f.in.Next()
	if err == nil && len(b) >= maxLine-1 {
		err = f.src.Fault(at, fmt.Sprintf("lines of less than %d bytes", maxLine), "a longer one", damaged)
	}

	return b, at, err
}

// scan reads the headers and finds the rows.
func (f *file) scan() error {
	b, at, err := f.next()
	if err != nil || !bytes.HasPrefix(b, []byte(magic)) {
		return errors.Join(notEOF(err), f.src.Fault(at, strconv.Quote(magic), "another line", "this is no LVM file"))
	}

	if bytes.HasPrefix(b, []byte(magic+",")) {
		f.separator = []byte(",")
	}

	if err := f.readHeader(); err != nil {
		return err
	}

	switch f.header["X_Columns"] {
	case "", "No", "One", "Multi":
	default:
		return f.src.Fault(0, "X_Columns No, One or Multi", f.header["X_Columns"], damaged)
	}

	for {
		b, at, err := f.next()
		if errors.Is(err, io.EOF) {
			return f.complete()
		}

		if err != nil {
			return err
		}

		if blank(b, f.separator) {
			continue
		}

		if first := f.cells(b)[0]; f.first == nil || letters(first) {
			f.in.Go(at)
			if err := f.readSegment(); err != nil {
				return err
			}
		} else {
			f.in.Go(at)
		}

		if err := f.readRows(); err != nil {
			return err
		}
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// letters reports whether a cell begins as a key of a header does.
func letters(s string) bool {
	return s != "" && (s[0] == '*' || s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z') && !strings.EqualFold(s, "NaN") &&
		!strings.HasPrefix(strings.ToLower(s), "inf")
}

// blank reports whether a line holds nothing but separators. The first column of a
// row is empty where there is no X column, but not the others.
func blank(b, separator []byte) bool {
	return len(bytes.Trim(b, string(separator)+" ")) == 0
}

// readHeader reads the header of the file.
func (f *file) readHeader() error {
	for {
		b, at, err := f.next()
		if errors.Is(err, io.EOF) {
			return f.src.Fault(at, endMark, "the end of the file", damaged)
		}

		if err != nil {
			return err
		}

		c := f.cells(b)
		if c[0] == endMark {
			return nil
		}

		if len(c) < 2 || len(f.header) > 256 {
			continue
		}

		f.header[c[0]] = c[1]
		switch {
		case c[0] == "Separator" && c[1] == "Comma":
			f.separator = []byte(",")
		case c[0] == "Decimal_Separator" && c[1] == ",":
			f.decimal = ','
		}
	}
}

// readSegment reads the header of a segment and the line of its channels' names.
func (f *file) readSegment() error {
	s := &segment{at: f.in.At(), keys: map[string][]string{}}

	special := false
	for ended := false; ; {
		b, at, err := f.next()
		if errors.Is(err, io.EOF) {
			if f.first != nil {
				return nil // text after the last segment
			}
			return f.src.Fault(at, "a line that begins with X_Value", "the end of the file", damaged)
		}

		if err != nil {
			return err
		}

		c := f.cells(b)
		switch {
		case c[0] == "***Start_Special***":
			special = true
		case c[0] == "***End_Special***":
			special = false
		case special:
		case c[0] == endMark:
			ended = true
		case ended:
			s.names = c

			if err := f.complete(); err != nil {
				return err
			}

			if f.first == nil {
				f.first, f.filled = s, make([]bool, len(c))
			}

			if !s.same(f.first) {
				return f.src.Fault(s.at, "segments of the same channels", "one of other channels, units or increments",
					"save one segment a file")
			}

			f.segments++
			f.current, f.start = s, f.rows

			return nil

		case len(s.keys) < 256:
			s.keys[c[0]] = c
		}
	}
}

// complete checks that the current segment has as many rows as it claims.
func (f *file) complete() error {
	if f.current == nil || f.header["Multi_Headings"] != "Yes" {
		return nil // one header for all that follows it
	}

	claimed := int64(0)
	for _, c := range f.current.keys["Samples"] {
		if n, err := strconv.ParseInt(c, 10, 64); err == nil {
			claimed = max(claimed, n)
		}
	}

	if f.rows-f.start >= claimed {
		return nil
	}

	found := fmt.Sprintf("the header claims %d samples, there are %d", claimed, f.rows-f.start)
	if f.o.Truncated != "use" {
		return f.src.Fault(f.current.at, "", found, "copy the file again, or use the samples there are with truncated: use")
	}

	f.warnings = append(f.warnings, ingest.Warning{
		Path: f.src.Path, Code: "truncated", Text: found + ": these are used",
	})

	return nil
}

// readRows finds the rows up to a blank line.
func (f *file) readRows() error {
	for n := 0; ; n++ {
		b, at, err := f.next()
		if errors.Is(err, io.EOF) || err == nil && blank(b, f.separator) {
			return nil
		}

		if err != nil {
			return err
		}

		if n%every == 0 {
			f.marks = append(f.marks, mark{at, f.rows})
		}

		f.rows++

		for i := range f.filled {
			var cell []byte
			cell, b, _ = bytes.Cut(b, f.separator)
			f.filled[i] = f.filled[i] || len(cell) > 0
		}
	}
}

// reader makes channels of the columns.
func (f *file) reader() (ingest.Reader, error) {
	s := f.first

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
		r.Warn("segments", fmt.Sprintf("%d segments are read one after the other: pauses between them are not seen",
			f.segments))
	}

	group := ""
	for i, name := range s.names {
		switch {
		case i == 0 && f.header["X_Columns"] != "One" && f.header["X_Columns"] != "Multi":
			continue // there is no X column
		case name == "Comment" && i == len(s.names)-1:
			continue
		case !f.filled[i]:
			r.Unread(name, false, "an empty column")
			continue
		}

		a := arrays.Array{Name: name, Dims: []int64{f.rows}, Plane: f, First: i, Unit: s.value("Y_Unit_Label", i)}
		if name == "X_Value" {
			if f.header["X_Columns"] == "Multi" && i+1 < len(s.names) {
				group = s.names[i+1]
			}

			a.Plane, a.Unit = &alone{f}, s.value("X_Unit_Label", max(1, i))
			a.Name = strings.ToLower(s.value("X_Dimension", max(1, i)))
			if a.Name == "" {
				a.Name = "time"
			}

			if a.Name == "time" && a.Unit == "" {
				a.Unit = "s"
			}

			if group != "" {
				a.Name = group + "/" + a.Name
			}
		} else if f.header["X_Columns"] != "One" && f.header["X_Columns"] != "Multi" {
			unit, known := clock.Seconds(s.value("X_Unit_Label", i))
			if d := s.value("X_Dimension", i); known && (d == "" || d == "Time") {
				a.RateHz = f.rate(s.value("Delta_X", i), unit, r, name)
			}
		}

		a.Group = group
		if err := r.Add(a); err != nil {
			return nil, err
		}
	}

	return r, r.Finish(f.o)
}

// rate is the rate of an increment in units of so many seconds. Increments have few digits: a
// configured rate within them is taken.
func (f *file) rate(delta string, unit float64, r *arrays.Reader, name string) float64 {
	inc, ok := lines.Number([]byte(delta), f.decimal)
	if !ok || !(inc > 0) || math.IsInf(inc, 0) {
		return 0
	}

	hz, low, high := lines.Rate(inc, delta, unit)
	if o := f.o.RateHz; o >= low && o <= high {
		return o
	}

	if math.Floor(high) > math.Ceil(low) && !f.told { // several integer rates
		f.told = true
		r.Warn("rate-digits", fmt.Sprintf("channel %s: Delta_X is %s: the rate is %.6g to %.6g Hz, %.6g Hz is used; "+
			"rate_hz gives it exactly", name, delta, low, high, hz))
	}

	return hz
}

// alone is the columns of a file by themselves: a clock has a plane of its own.
type alone struct{ *file }

// Read implements arrays.Plane: row after row from the last mark before start.
func (f *file) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := min(int64(len(dst[0])), max(0, f.rows-start))

	column := make([][]float64, len(f.filled))
	for j, c := range channels {
		if column[c] == nil {
			column[c] = dst[j]
		}
	}

	i, _ := slices.BinarySearchFunc(f.marks, start, func(m mark, row int64) int { return int(min(max(m.row-row, -1), 1)) })
	if i == len(f.marks) || f.marks[i].row > start {
		i--
	}

	for row := f.marks[i].row; row < start+n; row++ {
		if i < len(f.marks) && f.marks[i].row == row {
			f.in.Go(f.marks[i].at)
			i++
		}

		b, at, err := f.next()
		if err != nil {
			return 0, errors.Join(notEOF(err), f.src.Fault(at, "a row of numbers", "the end of the file",
				"is the file still being written?"))
		}

		if row < start {
			continue
		}

		if err := f.parse(b, at, column, row-start); err != nil {
			return 0, err
		}
	}

	for j, c := range channels {
		copy(dst[j], column[c])
	}

	if n < int64(len(dst[0])) {
		return int(n), io.EOF
	}

	return int(n), nil
}

// parse puts the numbers of a row into the columns that are wanted; an empty cell
// is NaN.
func (f *file) parse(b []byte, at int64, column [][]float64, k int64) error {
	for i, x := range column {
		cell, rest, more := bytes.Cut(b, f.separator)
		if x != nil {
			if cell = bytes.TrimSpace(cell); len(cell) == 0 {
				x[k] = math.NaN()
			} else if v, ok := lines.Number(cell, f.decimal); ok {
				x[k] = v
			} else {
				return &fault.Error{
					Path: f.src.Path, Place: fmt.Sprintf("byte %d, column %d", at, i+1), Want: "a number",
					Found: strconv.Quote(fault.Clip(string(cell))), Hint: damaged,
				}
			}
		}

		if b = rest; !more {
			b = nil
		}
	}

	return nil
}
