// Package lvm reads LabVIEW's measurement files (.lvm): text with a header that
// states units, increments and the decimal sign. Segments of the same channels are
// read one after the other.
package lvm

import (
	"bytes"
	"cmp"
	"fmt"
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
	"doubletake/ingest/format/text"
	"doubletake/internal/lists"
)

const magic = "LabVIEW Measurement"

// Format is LVM.
var Format = ingest.Format{
	Name: "lvm", Title: "LVM", Endings: []string{".lvm"}, Attributes: true, Magic: []string{magic}, Open: open,
}

const (
	maxLine = 1 << 16
	every   = 256 // lines between two marks
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
	marks     []lines.Mark
	rows      int64
	filled    []bool // columns that hold something
	warnings  []ingest.Warning
	told      bool // the rate's digits
}

func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	f := &file{
		src: src, o: o, in: lines.New(src, maxLine, false), separator: []byte("\t"), decimal: '.',
		header: map[string]string{},
	}
	f.scan()
	f.src.Unless(f.first != nil && f.rows > 0, f.in.At(), "a segment of numbers", "the end of the file", raw.Damaged)

	return f.reader(), nil
}

// cells cuts a line at the separators.
func (f *file) cells(b []byte) []string {
	return lists.Each(bytes.SplitN(b, f.separator, 1<<14), raw.Text)
}

// scan reads the headers and finds the rows.
func (f *file) scan() {
	b, at, _ := f.in.More()
	f.src.Unless(bytes.HasPrefix(b, []byte(magic)), at, strconv.Quote(magic), "another line", "this is no LVM file")

	if bytes.HasPrefix(b, []byte(magic+",")) {
		f.separator = []byte(",")
	}

	f.readHeader()

	columns := f.header["X_Columns"]
	f.src.Unless(slices.Contains([]string{"", "No", "One", "Multi"}, columns), 0, "X_Columns No, One or Multi", columns,
		raw.Damaged)

	for {
		b, at, ok := f.in.More()
		if !ok {
			break
		}

		if blank(b, f.separator) {
			continue
		}

		f.in.Go(at)

		if f.first == nil || letters(f.cells(b)[0]) {
			f.readSegment()
		}

		f.readRows()
	}

	f.complete()
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
func (f *file) readHeader() {
	for {
		b, at, ok := f.in.More()
		f.src.Unless(ok, at, endMark, "the end of the file", raw.Damaged)

		c := f.cells(b)
		if c[0] == endMark {
			return
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
func (f *file) readSegment() {
	s := &segment{at: f.in.At(), keys: map[string][]string{}}

	special := false
	for ended := false; ; {
		b, at, ok := f.in.More()
		if !ok && f.first != nil {
			return // text after the last segment
		}

		f.src.Unless(ok, at, "a line that begins with X_Value", "the end of the file", raw.Damaged)

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
			text.Western(f.src.Path, fmt.Sprintf("byte %d", at), b)

			s.names = c

			f.complete()

			if f.first == nil {
				f.first, f.filled = s, make([]bool, len(c))
			}

			f.src.Unless(s.same(f.first), s.at, "segments of the same channels",
				"one of other channels, units or increments", "save one segment a file")

			f.segments++
			f.current, f.start = s, f.rows

			return

		case len(s.keys) < 256:
			s.keys[c[0]] = c
		}
	}
}

// complete checks that the current segment has as many rows as it claims.
func (f *file) complete() {
	if f.current == nil || f.header["Multi_Headings"] != "Yes" {
		return // one header for all that follows it
	}

	claimed := int64(0)
	for _, c := range f.current.keys["Samples"] {
		if n, err := strconv.ParseInt(c, 10, 64); err == nil {
			claimed = max(claimed, n)
		}
	}

	if n := f.rows - f.start; n < claimed {
		f.warnings = append(f.warnings, fault.Get(raw.Short(f.src, f.o, f.current.at, fmt.Sprintf(
			"the header claims %d samples, there are %d", claimed, n), "samples", true))...)
	}
}

// readRows finds the rows up to a blank line.
func (f *file) readRows() {
	for n := 0; ; n++ {
		b, at, ok := f.in.More()
		if !ok || blank(b, f.separator) {
			return
		}

		if n%every == 0 {
			f.marks = append(f.marks, lines.Mark{At: at, Row: f.rows})
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
func (f *file) reader() ingest.Reader {
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
		r.Warn(ingest.Warn("", "segments", "%d segments are read one after the other: pauses between them are not seen",
			f.segments))
	}

	group, columns := "", f.header["X_Columns"] == "One" || f.header["X_Columns"] == "Multi"
	for i, name := range s.names {
		switch {
		case i == 0 && !columns:
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
			a.Name = cmp.Or(strings.ToLower(s.value("X_Dimension", max(1, i))), "time")
			if a.Name == "time" {
				a.Unit = cmp.Or(a.Unit, "s")
			}

			if group != "" {
				a.Name = group + "/" + a.Name
			}
		} else if !columns {
			unit, known := clock.Seconds(s.value("X_Unit_Label", i))
			if d := s.value("X_Dimension", i); known && (d == "" || d == "Time") {
				a.RateHz = f.rate(s.value("Delta_X", i), unit, r, name)
			}
		}

		a.Group = group
		fault.Raise(r.Add(a))
	}

	fault.Raise(r.Finish(f.o))

	return r
}

// rate is the rate of an increment in units of so many seconds. Increments have few digits: a
// configured rate within them is taken.
func (f *file) rate(delta string, unit float64, r *arrays.Reader, name string) float64 {
	inc, ok := text.Fortran([]byte(delta), f.decimal)
	if !ok || !(inc > 0) || math.IsInf(inc, 0) {
		return 0
	}

	hz, low, high := lines.Rate(inc, delta, unit)
	if o := f.o.RateHz; o >= low && o <= high {
		return o
	}

	if math.Floor(high) > math.Ceil(low) && !f.told { // several integer rates
		f.told = true
		r.Warn(ingest.Warn("", "rate-digits", "channel %s: Delta_X is %s: the rate is %.6g to %.6g Hz, "+
			"%.6g Hz is used; rate_hz gives it exactly", name, delta, low, high, hz))
	}

	return hz
}

// alone is the columns of a file by themselves: a clock has a plane of its own.
type alone struct{ *file }

// Read implements arrays.Plane: row after row from the last mark before start.
func (f *file) Read(channels []int, start int64, dst [][]float64) (err error) {
	defer fault.Catch(&err)

	column := make([][]float64, len(f.filled))
	for j, c := range channels {
		if column[c] == nil {
			column[c] = dst[j]
		}
	}

	i := lines.Before(f.marks, start)
	for row := f.marks[i].Row; row < start+int64(len(dst[0])); row++ {
		if i < len(f.marks) && f.marks[i].Row == row {
			f.in.Go(f.marks[i].At)
			i++
		}

		b, at, ok := f.in.More()
		f.src.Unless(ok, at, "a row of numbers", "the end of the file", "is the file still being written?")

		if row >= start {
			f.parse(b, at, column, row-start)
		}
	}

	for j, c := range channels {
		copy(dst[j], column[c])
	}

	return nil
}

// parse puts the numbers of a row into the columns that are wanted; an empty cell
// is NaN.
func (f *file) parse(b []byte, at int64, column [][]float64, k int64) {
	for i, x := range column {
		cell, rest, more := bytes.Cut(b, f.separator)
		if x != nil {
			if cell = bytes.TrimSpace(cell); len(cell) == 0 {
				x[k] = math.NaN()
			} else if v, ok := text.Fortran(cell, f.decimal); ok {
				x[k] = v
			} else {
				fault.Raise(fault.At(f.src.Path, fmt.Sprintf("byte %d, column %d", at, i+1), "a number",
					strconv.Quote(fault.Clip(string(cell))), raw.Damaged))
			}
		}

		if b = rest; !more {
			b = nil
		}
	}
}
