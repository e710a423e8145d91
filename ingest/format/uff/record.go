package uff

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/text"
)

// record is a dataset 58: a function of an abscissa, as points.
type record struct {
	offset int64 // of the line with its number in the file
	binary bool  // a dataset 58b; otherwise the numbers are text
	bytes  int64 // bytes of binary data by the header; 0 if not stated
	little bool  // binary data are little-endian

	id       [5]string // the lines that identify the function
	function int       // type of the function, an index of functions
	entity   string    // name of the entity of the response
	dof, ref string    // node and direction of the response and of the reference, such as "12+Z"; "" if not stated
	label    string    // quantity of the ordinate
	unit     string    // unit of the ordinate

	double  bool    // numbers of 8 bytes or of 20 columns; otherwise of 4 bytes or 13 columns
	complex bool    // an ordinate is two numbers
	even    bool    // the abscissa has even steps and is not stored
	points  int64   // number of points
	inc     float64 // step of the abscissa, in axisUnit, if it is even
	incText string  // inc as written

	axis     int    // type of the abscissa, such as timeAxis; 0 if unknown
	axisUnit string // unit of the abscissa

	plane arrays.Plane // gives access to the numbers: the values of a point are its channels
}

// values returns how many numbers a point has: the abscissa if its steps are uneven, and one or two for the ordinate.
func (d *record) values() int {
	n := 1
	if d.complex {
		n++
	}

	if !d.even {
		n++
	}

	return n
}

// fields cuts a line into fields of the given widths and removes the blanks around them. The last field is the rest of
// the line. The text NONE becomes "".
func fields(line string, widths ...int) []string {
	columns := make([]string, len(widths))
	for i, width := range widths {
		width = min(width, len(line))
		if i == len(widths)-1 {
			width = len(line)
		}

		columns[i] = raw.Text([]byte(line[:width]))
		if strings.EqualFold(columns[i], "NONE") {
			columns[i] = ""
		}

		line = line[width:]
	}

	return columns
}

// function reads a dataset 58 and appends it to the records. line is the line with the dataset's number, and offset
// where that line begins.
func (f *file) function(line []byte, offset int64) error {
	d := &record{offset: offset, binary: len(line) > 6 && line[6]|0x20 == 'b'}

	rows := headerLines
	if d.binary {
		n, err := f.binaryHeader(d, string(line[7:]))
		if err != nil {
			return err
		}

		rows = n
	}

	header, err := f.headerRows(rows)
	if err != nil {
		return err
	}

	if err := f.header(d, header); err != nil {
		return err
	}

	f.records = append(f.records, d)

	if d.binary {
		return f.binary(d)
	}

	return f.text(d)
}

// binaryHeader reads the rest of the line with the number of a dataset 58b: the byte order (1 is little-endian, 2 is
// big-endian), the format of floats, the number of lines of the header, and the number of bytes of the data.
// binaryHeader returns the number of lines of the header.
func (f *file) binaryHeader(d *record, line string) (int, error) {
	columns := fields(line, 6, 6, 12, 12, 1)
	order := columns[0]
	format := columns[1]

	d.little = order == "1"
	if order != "1" && order != "2" {
		return 0, f.src.Fault(d.offset+7, "a byte order of 1 or 2", strconv.Quote(order), raw.Damaged)
	}

	if format != "2" {
		known := map[string]string{"1": "DEC VMS", "3": "IBM 5/370"}
		found := strings.TrimSpace(format + " " + known[format])

		return 0, f.src.Fault(d.offset+13, "floats of IEEE 754 (2)", found, "export it as text")
	}

	d.bytes, _ = strconv.ParseInt(columns[3], 10, 64) // 0, which is "not stated", for other texts

	n, err := strconv.Atoi(columns[2])
	isPlausible := err == nil && n >= headerLines && n < 100
	if !isPlausible {
		return headerLines, nil
	}

	return n, nil
}

// headerRows returns the next n lines, cut to 200 bytes.
func (f *file) headerRows(n int) ([]string, error) {
	rows := make([]string, n)
	for i := range rows {
		line, begin, err := f.lines.Next()
		if errors.Is(err, io.EOF) {
			return nil, f.src.Fault(begin, fmt.Sprintf("%d lines of a dataset's header", n), "the end of the file",
				raw.Damaged)
		}

		if err != nil {
			return nil, err
		}

		rows[i] = string(line[:min(len(line), 200)])
	}

	return rows, nil
}

// headerError returns the error of a line of a header, counted from 1 as in the specification.
func (f *file) headerError(d *record, line int, want, found string) error {
	place := fmt.Sprintf("byte %d: line %d of the dataset's header", d.offset, line)
	return fault.At(f.src.Path, place, want, strconv.Quote(found), raw.Damaged)
}

// header reads the lines of a header into d. Lines 1 to 5 identify the function, line 6 has its type and its degrees of
// freedom, line 7 the form of the data, line 8 the abscissa, line 9 the ordinate and line 10 the denominator of the
// ordinate. rows counts the lines from 0.
func (f *file) header(d *record, rows []string) error {
	for i := range d.id {
		d.id[i] = fields(rows[i], 200)[0]
	}

	columns := fields(rows[5], 5, 10, 5, 10, 11, 10, 4, 11, 10, 4)

	function, err := strconv.Atoi(columns[0])
	if err != nil {
		return f.headerError(d, 6, "a type of function", columns[0])
	}

	d.function = function
	d.entity = columns[4]
	d.dof = dof(columns[5], columns[6])
	d.ref = dof(columns[8], columns[9])

	if err := f.form(d, rows[6]); err != nil {
		return err
	}

	axis := fields(rows[7], 10, 5, 5, 5, 21, 21)
	d.axis, _ = strconv.Atoi(axis[0]) // 0, an unknown type, for other texts
	d.axisUnit = axis[5]

	ordinate := fields(rows[8], 10, 5, 5, 5, 21, 21)
	denominator := fields(rows[9], 10, 5, 5, 5, 21, 21)
	d.label = ordinate[4]
	d.unit = ordinate[5]
	if d.unit != "" && denominator[5] != "" {
		d.unit += "/(" + denominator[5] + ")"
	}

	return nil
}

// form reads line 7 of a header, which states the form of the data: the type of the ordinate (2 and 4 are real, 5 and
// 6 complex; 4 and 6 are of double precision), the number of points, the spacing of the abscissa (0 is uneven, 1 is
// even), its first value and its increment.
func (f *file) form(d *record, row string) error {
	const line = 7

	columns := fields(row, 10, 10, 10, 13, 13, 13)
	if free := strings.Fields(row); len(free) == 6 { // some writers do not keep to the widths
		columns = free
	}

	kind, err := strconv.Atoi(columns[0])
	isKnown := kind == 2 || kind >= 4 && kind <= 6
	if err != nil || !isKnown {
		return f.headerError(d, line, "an ordinate of type 2, 4, 5 or 6", columns[0])
	}

	d.double = kind == 4 || kind == 6
	d.complex = kind >= 5

	points, err := strconv.ParseInt(columns[1], 10, 64)
	if err != nil || points < 1 {
		return f.headerError(d, line, "at least one point", columns[1])
	}

	d.points = points

	switch columns[2] {
	case "0":
	case "1":
		d.even = true
	default:
		return f.headerError(d, line, "a spacing of 0 (uneven) or 1 (even)", columns[2])
	}

	increment, ok := text.Fortran([]byte(columns[4]), '.')
	if valid := ok && increment > 0 && !math.IsInf(increment, 0); d.even && !valid {
		return f.headerError(d, line, "an increment above zero", columns[4])
	}

	d.inc = increment
	d.incText = columns[4]

	return nil
}

// dof returns a node and a direction as "12+Z". Directions are 1 to 3 for translations along X, Y and Z and 4 to 6 for
// rotations, negative in the other sense; 0 is a scalar, which has none. dof returns "" if there is no node.
func dof(node, direction string) string {
	if node == "" || node == "0" {
		return ""
	}

	n, _ := strconv.Atoi(direction) // 0 for other texts

	names := []string{"", "X", "Y", "Z", "RX", "RY", "RZ"}
	switch {
	case n > 0 && n < len(names):
		return node + "+" + names[n]
	case n < 0 && -n < len(names):
		return node + "-" + names[-n]
	}

	return node
}
