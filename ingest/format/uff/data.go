package uff

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
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/text"
)

// checkPoints compares the number of points of a record that are in the file with the number that the header states. If
// there are fewer, it reduces d.points and adds a warning, or returns an error, depending on the options.
func (f *file) checkPoints(d *record, points int64) error {
	if points >= d.points {
		return nil
	}

	found := fmt.Sprintf("the header of dataset 58 at byte %d claims %d points, there are %d", d.offset, d.points, points)
	warnings, err := raw.Short(f.src, f.o, d.offset, found, "points", points > 0)
	if err != nil {
		return err
	}

	f.warnings = append(f.warnings, warnings...)
	d.points = points

	return nil
}

// binary finds the end of binary data, which begin at f.lines.Offset(), and goes behind them. The header states the
// number of points and the number of bytes, and either may be wrong. binary takes the end that follows from the number
// of points if a delimiter lies there, and otherwise the end that follows from the number of bytes. If neither end has
// a delimiter, the data must reach to the end of the file.
func (f *file) binary(d *record) error {
	start := f.lines.Offset()
	size := int64(4)
	if d.double {
		size = 8
	}

	frame := size * int64(d.values())
	if d.points > math.MaxInt64/frame {
		if err := f.checkPoints(d, 0); err != nil {
			return err
		}
	}

	want := d.points * frame // bytes
	isUneven := d.double && !d.even
	hasSingleAbscissa := isUneven && d.bytes == d.points*(frame-4) // the abscissae have 4 bytes, the ordinates 8
	if hasSingleAbscissa {
		return f.src.Fault(d.offset, "numbers of one size", "binary points of 4 and 8 bytes", "export it as text")
	}

	for _, n := range []int64{want, d.bytes} {
		if n <= 0 || n > f.src.Size-start {
			continue
		}

		if next, ok := f.delimited(start + n); ok {
			return f.endBinary(d, start, n/frame, next)
		}
	}

	left := f.src.Size - start
	if left > want {
		return f.src.Fault(start+want, `a delimiter ("    -1") after the numbers`, "other bytes", raw.Damaged)
	}

	return f.endBinary(d, start, left/frame, f.src.Size)
}

// endBinary ends a record whose numbers begin at offset start. points is the number of its points in the file, and next
// the offset of the next line, to which it goes.
func (f *file) endBinary(d *record, start, points, next int64) error {
	if err := f.checkPoints(d, points); err != nil {
		return err
	}

	f.binaryPlane(d, start)
	f.lines.GoTo(next)

	return nil
}

// maxPadding is the number of bytes between binary data and a delimiter that may be line ends, blanks or zeros.
const maxPadding = 16

// delimited reports whether there is a delimiter at an offset, possibly behind padding. It returns the offset of the
// next line.
func (f *file) delimited(offset int64) (next int64, ok bool) {
	b := make([]byte, min(96, f.src.Size-offset)) // room for padding and a line with blanks behind the delimiter
	if n, err := f.src.ReadAt(b, offset); n < len(b) && err != nil {
		return 0, false
	}

	i := bytes.Index(b, []byte("-1"))
	if i < 0 || i > maxPadding || strings.Trim(string(b[:i]), " \r\n\x00") != "" {
		return 0, false
	}

	rest := b[i+2:]
	j := bytes.IndexByte(rest, '\n')
	if j < 0 {
		j = len(rest) - 1
	}

	if len(bytes.TrimSpace(rest[:j+1])) > 0 {
		return 0, false
	}

	return offset + int64(i+2+j+1), true
}

// markStride is the number of lines between two marks of a record in text.
const markStride = 64

// decimals gives access to the numbers of a record in text. It implements arrays.Plane.
type decimals struct {
	f      *file
	d      *record
	widths []int        // columns of the numbers of a line
	marks  []lines.Mark // of every markStride-th line; Row is the number of the line's first value in the record, from 0
	end    int64        // offset in the file behind the last line
}

// widths returns the number of columns of each number in a full line. An abscissa always takes 13 columns.
func (d *record) widths() []int {
	switch {
	case !d.double:
		return slices.Repeat([]int{13}, 6)
	case d.even:
		return slices.Repeat([]int{20}, 4)
	case d.complex:
		return []int{13, 20, 20}
	}

	return []int{13, 20, 13, 20}
}

// count returns the number of values in a line: the fields up to the last that is not blank. isWhole reports whether
// the last value has all its columns.
func (l *decimals) count(line []byte) (n int64, isWhole bool) {
	line = bytes.TrimRight(line, blanks)

	end := 0
	for _, width := range l.widths {
		if end >= len(line) {
			break
		}

		end += width
		n++
	}

	return n, len(line) >= end
}

// text counts the numbers of a record in text, which begin at f.lines.Offset(), and goes behind the delimiter after
// them.
func (f *file) text(d *record) error {
	l := &decimals{f: f, d: d, widths: d.widths()}
	if d.points > math.MaxInt64/4 {
		if err := f.checkPoints(d, 0); err != nil {
			return err
		}
	}

	values := int64(0)
	isWhole := true // the last number has all its columns
	for n := 0; ; n++ {
		line, begin, err := f.lines.Next()
		isEOF := errors.Is(err, io.EOF)
		if err != nil && !isEOF {
			return err
		}

		l.end = begin
		if isEOF && !isWhole { // the file may end within the last number
			hasEnd, err := lines.HasLastLineEnd(f.src)
			if err != nil {
				return err
			}

			if !hasEnd {
				values--
			}
		}

		if isEOF || isDelimiter(line) {
			break
		}

		if n%markStride == 0 {
			l.marks = append(l.marks, lines.Mark{Offset: begin, Row: values})
		}

		var count int64
		count, isWhole = l.count(line)
		values += count
	}

	d.plane = l

	return f.checkPoints(d, values/int64(d.values()))
}

// Read implements arrays.Plane. Channel c is the c-th value of each point.
func (l *decimals) Read(channels []int, start int64, dst [][]float64) error {
	k := int64(l.d.values())
	wanted := points{first: start * k, end: (start + int64(len(dst[0]))) * k, dst: make([][]float64, k)}
	for j, c := range channels {
		if wanted.dst[c] == nil {
			wanted.dst[c] = dst[j]
		}
	}

	mark := l.marks[lines.LastMark(l.marks, wanted.first)]
	l.f.lines.GoTo(mark.Offset)

	for next := mark.Row; next < wanted.end; {
		line, begin, err := l.f.lines.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}

		if err != nil || begin >= l.end {
			return l.f.src.Fault(begin, "numbers", "the end of the dataset", "is the file still being written?")
		}

		next, err = l.parse(line, begin, next, wanted)
		if err != nil {
			return err
		}
	}

	for j, c := range channels {
		copy(dst[j], wanted.dst[c])
	}

	return nil
}

// points is a range of points that is wanted. Their values are numbered through the record.
type points struct {
	first int64       // number of the first value that is wanted, which begins a point
	end   int64       // number behind the last value that is wanted
	dst   [][]float64 // where each value of a point goes, by point; nil if it is not wanted
}

// parse writes the wanted values of a line into wanted.dst. The line begins at offset begin, and its first value has
// the number next. parse returns the number of the first value of the next line.
func (l *decimals) parse(line []byte, begin, next int64, wanted points) (int64, error) {
	line = bytes.TrimRight(line, blanks)
	k := int64(len(wanted.dst))
	part := next % k                 // which value of its point the next value is
	point := next/k - wanted.first/k // index in dst of its point
	column := 0                      // index in line of the next value
	for _, width := range l.widths {
		if column >= len(line) {
			break
		}

		end := min(len(line), column+width)
		if next >= wanted.first && next < wanted.end && wanted.dst[part] != nil {
			v, ok := text.Fortran(bytes.Trim(line[column:end], blanks), '.')
			if !ok {
				return 0, l.f.src.Fault(begin+int64(column), fmt.Sprintf("a number in %d columns", width),
					strconv.Quote(fault.Clip(string(line[column:end]))), raw.Damaged)
			}

			wanted.dst[part][point] = v
		}

		next++
		column = end

		part++
		if part == k {
			part = 0
			point++
		}
	}

	return next, nil
}

// binaryPlane sets the plane of a record whose binary numbers begin at an offset. The file closes it.
func (f *file) binaryPlane(d *record, offset int64) {
	kind := raw.F32
	if d.double {
		kind = raw.F64
	}

	k := d.values()
	src := f.src
	src.Closer = nil
	p := raw.New(src, ingest.Info{Path: f.src.Path, Channels: make([]ingest.Channel, k)}, raw.Layout{
		Offset: offset, Frames: d.points, Channels: k, Kind: kind, BigEndian: !d.little, Scale: 1,
	})
	f.closers = append(f.closers, p)
	d.plane = arrays.PlaneOf(p)
}
