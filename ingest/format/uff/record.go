package uff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
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
func (f *file) function(b []byte, at int64, binary bool) error {
	d := &record{at: at, binary: binary}

	n := headerLines
	if binary {
		p := fields(string(b[7:]), 6, 6, 12, 12, 1)
		d.little = p[0] == "1"

		if p[0] != "1" && p[0] != "2" {
			return f.src.Fault(at+7, "a byte order of 1 or 2", strconv.Quote(p[0]), damaged)
		}

		if p[1] != "2" {
			known := map[string]string{"1": "DEC VMS", "3": "IBM 5/370"}
			return f.src.Fault(at+13, "floats of IEEE 754 (2)", strings.TrimSpace(p[1]+" "+known[p[1]]), "export it as text")
		}

		if v, err := strconv.Atoi(p[2]); err == nil && v >= headerLines && v < 100 {
			n = v
		}

		d.bytes, _ = strconv.ParseInt(p[3], 10, 64)
	}

	header := make([]string, n)
	for i := range header {
		b, _, err := f.in.Next()
		if errors.Is(err, io.EOF) {
			return f.src.Fault(f.in.At(), fmt.Sprintf("%d lines of a dataset's header", n), "the end of the file", damaged)
		}

		if err != nil {
			return err
		}

		header[i] = string(b[:min(len(b), 200)])
	}

	if err := f.header(d, header); err != nil {
		return err
	}

	f.records = append(f.records, d)
	if binary {
		return f.binary(d)
	}

	return f.text(d)
}

// header reads the eleven lines of a header.
func (f *file) header(d *record, text []string) error {
	fail := func(line int, want, found string) error {
		return &fault.Error{
			Path: f.src.Path, Place: fmt.Sprintf("byte %d: line %d of the dataset's header", d.at, line), Want: want,
			Found: strconv.Quote(found), Hint: damaged,
		}
	}

	for i := range d.id {
		d.id[i] = fields(text[i], 200)[0]
	}

	p := fields(text[5], 5, 10, 5, 10, 11, 10, 4, 11, 10, 4)

	var err error
	if d.function, err = strconv.Atoi(p[0]); err != nil {
		return fail(6, "a type of function", p[0])
	}

	d.entity, d.dof, d.ref = p[4], dof(p[5], p[6]), dof(p[8], p[9])

	form := fields(text[6], 10, 10, 10, 13, 13, 13)
	if free := strings.Fields(text[6]); len(free) == 6 {
		form = free
	}

	kind, err1 := strconv.Atoi(form[0])

	points, err2 := strconv.ParseInt(form[1], 10, 64)
	switch {
	case err1 != nil || kind != 2 && (kind < 4 || kind > 6):
		return fail(7, "an ordinate of type 2, 4, 5 or 6", form[0])
	case err2 != nil || points < 1:
		return fail(7, "at least one point", form[1])
	case form[2] != "0" && form[2] != "1":
		return fail(7, "a spacing of 0 (uneven) or 1 (even)", form[2])
	}

	d.points, d.double, d.complex, d.even = points, kind == 4 || kind == 6, kind >= 5, form[2] == "1"

	var ok bool
	if d.inc, ok = lines.Number([]byte(form[4]), '.'); d.even && (!ok || !(d.inc > 0) || math.IsInf(d.inc, 0)) {
		return fail(7, "an increment above zero", form[4])
	}

	d.incText = form[4]
	axis := fields(text[7], 10, 5, 5, 5, 21, 21)
	d.axis, _ = strconv.Atoi(axis[0])
	d.axisUnit = axis[5]
	y, over := fields(text[8], 10, 5, 5, 5, 21, 21), fields(text[9], 10, 5, 5, 5, 21, 21)
	d.label, d.unit = y[4], y[5]
	if d.unit != "" && over[5] != "" {
		d.unit += "/(" + over[5] + ")"
	}

	return nil
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

// truncated reports a record with fewer points than its header claims.
func (f *file) truncated(d *record, points int64) error {
	found := fmt.Sprintf("the header claims %d points, there are %d", d.points, points)
	if points == 0 || f.o.Truncated != "use" {
		hint := "copy the file again, or use the points there are with truncated: use"
		if points == 0 {
			hint = damaged
		}

		return &fault.Error{
			Path: f.src.Path, Place: fmt.Sprintf("byte %d: dataset 58", d.at), Found: found, Hint: hint,
		}
	}

	d.points = points
	f.warn = append(f.warn, ingest.Warning{Path: f.src.Path, Code: "truncated", Text: fmt.Sprintf(
		"dataset 58 at byte %d: %s: these are used", d.at, found)})

	return nil
}

// binary finds the end of binary data, which begin at f.in.At(). The number of bytes in
// the header may be wrong, and a line may end before the delimiter.
func (f *file) binary(d *record) error {
	at, size := f.in.At(), int64(4)
	if d.double {
		size = 8
	}

	frame := size * int64(d.values())
	if d.points > math.MaxInt64/frame {
		return f.truncated(d, 0)
	}

	want := d.points * frame

	if mixed := frame - 4; d.double && !d.even && d.bytes == d.points*mixed {
		return f.src.Fault(d.at, "numbers of one size", "binary points of 4 and 8 bytes", "export it as text")
	}

	for _, n := range []int64{want, d.bytes} {
		if n <= 0 || n > f.src.Size-at {
			continue
		}

		if next, ok := f.delimited(at + n); ok {
			if n < want {
				if err := f.truncated(d, n/frame); err != nil {
					return err
				}
			}

			f.binaryPlane(d, at)
			f.in.Go(next)

			return nil
		}
	}

	left := f.src.Size - at
	if left <= want {
		if left < want {
			if err := f.truncated(d, left/frame); err != nil {
				return err
			}
		}

		f.binaryPlane(d, at)
		f.in.Go(f.src.Size)

		return nil
	}

	return f.src.Fault(at+want, `a delimiter ("    -1") after the numbers`, "other bytes", damaged)
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
	widths []int  // of the fields of a line
	marks  []mark // every so many lines
	end    int64  // byte after the last line
}

// mark is where a line begins and the number of values before it.
type mark struct{ at, values int64 }

// widths are those of a full line.
func (d *record) widths() []int {
	repeat := func(n int, w ...int) (out []int) {
		for range n {
			out = append(out, w...)
		}
		return out
	}

	switch {
	case !d.double:
		return repeat(6, 13)
	case d.even:
		return repeat(4, 20)
	case d.complex:
		return repeat(1, 13, 20, 20)
	}

	return repeat(2, 13, 20)
}

// count is the number of fields of a line that hold something.
func (l *decimals) count(b []byte) int64 {
	b = trimRight(b)

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
func (f *file) text(d *record) error {
	l := &decimals{f: f, d: d, widths: d.widths()}

	if d.points > math.MaxInt64/4 {
		return f.truncated(d, 0)
	}

	values, k := int64(0), int64(d.values())
	for n := 0; ; n++ {
		b, at, err := f.in.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}

		l.end = at
		if err != nil || ends(b) {
			break
		}

		if n%every == 0 {
			l.marks = append(l.marks, mark{at, values})
		}

		values += l.count(b)
	}

	if values/k < d.points {
		if err := f.truncated(d, values/k); err != nil {
			return err
		}
	}

	d.plane = l

	return nil
}

// Read implements arrays.Plane.
func (l *decimals) Read(channels []int, start int64, dst [][]float64) (int, error) {
	k := int64(l.d.values())
	n := int(min(int64(len(dst[0])), max(0, l.d.points-start)))
	from, to := start*k, (start+int64(n))*k

	i := len(l.marks) - 1
	for lo, hi := 0, len(l.marks); lo < hi; { // the last mark at or before from
		if m := (lo + hi) / 2; l.marks[m].values <= from {
			i, lo = m, m+1
		} else {
			hi = m
		}
	}

	to64 := make([][]float64, k) // by value of a point
	for j, c := range channels {
		if to64[c] == nil {
			to64[c] = dst[j]
		}
	}

	if n > 0 {
		l.f.in.Go(l.marks[i].at)
	}

	for at := l.marks[i].values; at < to; {
		b, begin, err := l.f.in.Next()
		if err != nil || begin >= l.end {
			return 0, errors.Join(err, l.f.src.Fault(begin, "numbers", "the end of the dataset",
				"is the file still being written?"))
		}

		if at, err = l.parse(b, begin, at, from, to, to64); err != nil {
			return 0, err
		}
	}

	for j, c := range channels {
		copy(dst[j], to64[c])
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// parse puts the values from … to of a line, whose first is value at, into dst. It
// returns the number of the value after the line's last.
func (l *decimals) parse(b []byte, begin, at, from, to int64, dst [][]float64) (int64, error) {
	b = trimRight(b)
	k, offset := int64(len(dst)), 0
	part, point := at%k, at/k-from/k
	for _, w := range l.widths {
		if offset >= len(b) {
			break
		}

		end := min(len(b), offset+w)
		if at >= from && at < to && dst[part] != nil {
			v, ok := lines.Number(trimLeft(trimRight(b[offset:end])), '.')
			if !ok {
				return at, &fault.Error{
					Path: l.f.src.Path, Place: fmt.Sprintf("byte %d", begin+int64(offset)),
					Want:  fmt.Sprintf("a number in %d columns", w),
					Found: strconv.Quote(fault.Clip(string(b[offset:end]))), Hint: damaged,
				}
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

	return at, nil
}

// trimRight and trimLeft cut blanks off. They are faster than package bytes, which
// knows every blank of Unicode.
func trimRight(b []byte) []byte {
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }
