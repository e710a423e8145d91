package uff

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/text"
)

// fields cuts a line into columns of those widths, without blanks. "NONE" is empty.
func fields(line string, widths ...int) []string {
	out := make([]string, len(widths))
	for i, w := range widths {
		w = min(w, len(line))
		if i == len(widths)-1 {
			w = len(line)
		}

		out[i] = raw.Text([]byte(line[:w]))
		if strings.EqualFold(out[i], "NONE") {
			out[i] = ""
		}

		line = line[w:]
	}

	return out
}

// function reads a dataset 58 whose line of number b begins at at.
func (f *file) function(b []byte, at int64, binary bool) {
	d := &record{at: at, binary: binary}

	n := headerLines
	if binary {
		p := fields(string(b[7:]), 6, 6, 12, 12, 1)
		d.little = p[0] == "1"
		f.src.Unless(p[0] == "1" || p[0] == "2", at+7, "a byte order of 1 or 2", strconv.Quote(p[0]), raw.Damaged)

		known := map[string]string{"1": "DEC VMS", "3": "IBM 5/370"}
		f.src.Unless(p[1] == "2", at+13, "floats of IEEE 754 (2)", strings.TrimSpace(p[1]+" "+known[p[1]]),
			"export it as text")

		if v, err := strconv.Atoi(p[2]); err == nil && v >= headerLines && v < 100 {
			n = v
		}

		d.bytes, _ = strconv.ParseInt(p[3], 10, 64)
	}

	header := make([]string, n)
	for i := range header {
		b, at, ok := f.in.More()
		f.src.Unless(ok, at, fmt.Sprintf("%d lines of a dataset's header", n), "the end of the file", raw.Damaged)
		header[i] = string(b[:min(len(b), 200)])
	}

	f.header(d, header)
	f.records = append(f.records, d)

	if binary {
		f.binary(d)
	} else {
		f.text(d)
	}
}

// header reads the eleven lines of a header.
func (f *file) header(d *record, rows []string) {
	unless := func(ok bool, line int, want, found string) {
		if !ok {
			place := fmt.Sprintf("byte %d: line %d of the dataset's header", d.at, line)
			fault.Raise(fault.At(f.src.Path, place, want, strconv.Quote(found), raw.Damaged))
		}
	}

	for i := range d.id {
		d.id[i] = fields(rows[i], 200)[0]
	}

	p := fields(rows[5], 5, 10, 5, 10, 11, 10, 4, 11, 10, 4)

	var err error
	d.function, err = strconv.Atoi(p[0])
	unless(err == nil, 6, "a type of function", p[0])
	d.entity, d.dof, d.ref = p[4], dof(p[5], p[6]), dof(p[8], p[9])

	form := fields(rows[6], 10, 10, 10, 13, 13, 13)
	if free := strings.Fields(rows[6]); len(free) == 6 {
		form = free
	}

	kind, err := strconv.Atoi(form[0])
	unless(err == nil && (kind == 2 || kind >= 4 && kind <= 6), 7, "an ordinate of type 2, 4, 5 or 6", form[0])
	d.points, err = strconv.ParseInt(form[1], 10, 64)
	unless(err == nil && d.points >= 1, 7, "at least one point", form[1])
	unless(form[2] == "0" || form[2] == "1", 7, "a spacing of 0 (uneven) or 1 (even)", form[2])
	d.double, d.complex, d.even = kind == 4 || kind == 6, kind >= 5, form[2] == "1"

	var ok bool
	d.inc, ok = text.Fortran([]byte(form[4]), '.')
	unless(!d.even || ok && d.inc > 0 && !math.IsInf(d.inc, 0), 7, "an increment above zero", form[4])
	d.incText = form[4]

	axis := fields(rows[7], 10, 5, 5, 5, 21, 21)
	d.axis, _ = strconv.Atoi(axis[0])
	d.axisUnit = axis[5]

	y, over := fields(rows[8], 10, 5, 5, 5, 21, 21), fields(rows[9], 10, 5, 5, 5, 21, 21)
	d.label, d.unit = y[4], y[5]

	if d.unit != "" && over[5] != "" {
		d.unit += "/(" + over[5] + ")"
	}
}

// dof is a node and a direction, "12+Z"; empty where there is no node.
func dof(node, direction string) string {
	if node == "" || node == "0" {
		return ""
	}

	n, _ := strconv.Atoi(direction)

	names := []string{"", "X", "Y", "Z", "RX", "RY", "RZ"}
	switch {
	case n > 0 && n < len(names):
		return node + "+" + names[n]
	case n < 0 && -n < len(names):
		return node + "-" + names[-n]
	}

	return node
}

// have settles what is done with a record of which there are fewer points than its header claims.
func (f *file) have(d *record, points int64) {
	if points < d.points {
		f.warn = append(f.warn, fault.Get(raw.Short(f.src, f.o, d.at, fmt.Sprintf(
			"the header of dataset 58 at byte %d claims %d points, there are %d", d.at, d.points, points), "points",
			points > 0))...)
		d.points = points
	}
}

// binary finds the end of binary data, which begin at f.in.At(). The number of bytes in
// the header may be wrong, and a line may end before the delimiter.
func (f *file) binary(d *record) {
	at, size := f.in.At(), int64(4)
	if d.double {
		size = 8
	}

	frame := size * int64(d.values())
	if d.points > math.MaxInt64/frame {
		f.have(d, 0)
	}

	want := d.points * frame
	f.src.Unless(!d.double || d.even || d.bytes != d.points*(frame-4), d.at, "numbers of one size",
		"binary points of 4 and 8 bytes", "export it as text")

	for _, n := range []int64{want, d.bytes} {
		if n <= 0 || n > f.src.Size-at {
			continue
		}

		if next, ok := f.delimited(at + n); ok {
			f.have(d, n/frame)
			f.binaryPlane(d, at)
			f.in.Go(next)

			return
		}
	}

	left := f.src.Size - at
	f.src.Unless(left <= want, at+want, `a delimiter ("    -1") after the numbers`, "other bytes", raw.Damaged)
	f.have(d, left/frame)
	f.binaryPlane(d, at)
	f.in.Go(f.src.Size)
}

// delimited reports whether a delimiter is at a byte, after line ends and padding
// at most, and returns where the next line begins.
func (f *file) delimited(at int64) (int64, bool) {
	b := make([]byte, min(96, f.src.Size-at))
	if n, err := f.src.ReadAt(b, at); n < len(b) && err != nil {
		return 0, false
	}

	i := bytes.Index(b, []byte("-1"))
	if i < 0 || i > 16 || strings.Trim(string(b[:i]), " \r\n\x00") != "" {
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

	return at + int64(i+2+j+1), true
}

// every is how many lines lie between two marks of a record in text.
const every = 64

// decimals is the numbers of a record in text. It implements arrays.Plane.
type decimals struct {
	f      *file
	d      *record
	widths []int        // of the fields of a line
	marks  []lines.Mark // of values, every so many lines
	end    int64        // byte after the last line
}

// widths are those of a full line.
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

// count is the number of fields of a line that hold something.
func (l *decimals) count(b []byte) int64 {
	b = bytes.TrimRight(b, blanks)

	n, end := int64(0), 0
	for _, w := range l.widths {
		if end >= len(b) {
			break
		}

		end += w
		n++
	}

	return n
}

// text finds the end of numbers in text, which begin at f.in.At().
func (f *file) text(d *record) {
	l := &decimals{f: f, d: d, widths: d.widths()}
	if d.points > math.MaxInt64/4 {
		f.have(d, 0)
	}

	values, k := int64(0), int64(d.values())

	for n := 0; ; n++ {
		b, at, ok := f.in.More()
		if l.end = at; !ok || ends(b) {
			break
		}

		if n%every == 0 {
			l.marks = append(l.marks, lines.Mark{At: at, Row: values})
		}

		values += l.count(b)
	}

	f.have(d, values/k)
	d.plane = l
}

// Read implements arrays.Plane.
func (l *decimals) Read(channels []int, start int64, dst [][]float64) (err error) {
	defer fault.Catch(&err)

	k := int64(l.d.values())
	from, to := start*k, (start+int64(len(dst[0])))*k
	mark := l.marks[lines.Before(l.marks, from)]

	to64 := make([][]float64, k) // by value of a point
	for j, c := range channels {
		if to64[c] == nil {
			to64[c] = dst[j]
		}
	}

	l.f.in.Go(mark.At)

	for at := mark.Row; at < to; {
		b, begin, ok := l.f.in.More()
		l.f.src.Unless(ok && begin < l.end, begin, "numbers", "the end of the dataset", "is the file still being written?")
		at = l.parse(b, begin, at, from, to, to64)
	}

	for j, c := range channels {
		copy(dst[j], to64[c])
	}

	return nil
}

// parse puts the values from … to of a line, whose first is value at, into dst. It
// returns the number of the value after the line's last.
func (l *decimals) parse(b []byte, begin, at, from, to int64, dst [][]float64) int64 {
	b = bytes.TrimRight(b, blanks)
	k, offset := int64(len(dst)), 0
	part, point := at%k, at/k-from/k
	for _, w := range l.widths {
		if offset >= len(b) {
			break
		}

		end := min(len(b), offset+w)
		if at >= from && at < to && dst[part] != nil {
			v, ok := text.Fortran(bytes.Trim(b[offset:end], blanks), '.')
			if !ok {
				fault.Raise(l.f.src.Fault(begin+int64(offset), fmt.Sprintf("a number in %d columns", w),
					strconv.Quote(fault.Clip(string(b[offset:end]))), raw.Damaged))
			}

			dst[part][point] = v
		}

		at++
		offset = end

		if part++; part == k {
			part = 0
			point++
		}
	}

	return at
}
