package lvm

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/lines"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/text"
)

// alone is a plane of its own for a column that contains the time. The other columns share the plane file, and
// arrays.Reader recognises a clock only if its plane has one channel.
type alone struct{ *file }

// Read implements arrays.Plane. A channel is a column. Read parses row after row, from the last mark at or before
// start on. Every block of rows begins with a mark: Read goes to it to skip the header or the blank line before the
// block.
func (f *file) Read(channels []int, start int64, dst [][]float64) error {
	columns := make([][]float64, len(f.ends)) // the slice of dst that each column fills first; nil if not wanted
	for j, c := range channels {
		if columns[c] == nil {
			columns[c] = dst[j]
		}
	}

	i := lines.LastMark(f.marks, start) // index of the next mark to go to
	for row := f.marks[i].Row; row < start+int64(len(dst[0])); row++ {
		if i < len(f.marks) && f.marks[i].Row == row {
			f.lines.GoTo(f.marks[i].Offset)
			i++
		}

		line, begin, err := f.next("a row of numbers", "is the file still being written?")
		if err != nil {
			return err
		}

		if row < start {
			continue
		}

		if err := f.parse(line, begin, columns, row-start); err != nil {
			return err
		}
	}

	for j, c := range channels { // a column may be wanted twice
		copy(dst[j], columns[c])
	}

	return nil
}

// parse writes the numbers of a row into element k of the columns that are wanted. The row begins at offset begin.
func (f *file) parse(line []byte, begin int64, columns [][]float64, k int64) error {
	for i, x := range columns {
		cell, rest, _ := bytes.Cut(line, f.separator) // an empty cell if the row is too short
		if x != nil {
			v, ok := f.number(cell)
			if !ok {
				return fault.At(f.src.Path, fmt.Sprintf("byte %d, column %d", begin, i+1), "a number",
					strconv.Quote(fault.Clip(string(bytes.TrimSpace(cell)))), raw.Damaged)
			}

			x[k] = v
		}

		line = rest
	}

	return nil
}

// number returns the number in a cell, and NaN for an empty cell. It returns false for other text.
func (f *file) number(cell []byte) (float64, bool) {
	cell = bytes.TrimSpace(cell)
	if len(cell) == 0 {
		return math.NaN(), true
	}

	return text.Fortran(cell, f.decimal)
}
