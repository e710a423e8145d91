package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// seek makes the line at a mark the next.
func (t *Reader) seek(m mark) {
	t.lines.GoTo(m.offset)
	t.lines.Line = m.line
}

// seekRow makes a row the next. It starts from the last mark before the row, unless the reader already is between that
// mark and the row.
func (t *Reader) seekRow(row int64) error {
	if row < t.nextIndex || row/t.stride > t.nextIndex/t.stride {
		i := row / t.stride
		t.seek(t.marks[i])
		t.nextIndex = i * t.stride
	}

	for ; t.nextIndex < row; t.nextIndex++ {
		if _, err := t.mustNextRow(); err != nil {
			return err
		}
	}

	return nil
}

// nextRow returns the line of the next row, with the lines in which cells of a log continue. It returns false at the
// end.
func (t *Reader) nextRow() (line []byte, ok bool, err error) {
	for {
		t.current = mark{t.lines.Offset(), t.lines.Line}

		line, _, err = t.lines.Next()
		if errors.Is(err, io.EOF) {
			return nil, false, nil
		}

		if err != nil {
			return nil, false, err
		}

		l := &t.layout
		if l.delim == 0 { // not known yet
			l = l.log.likelyLayout(line)
		}

		line = t.joinQuotedLines(line, l)
		if !l.skips(line) {
			return line, true, nil
		}
	}
}

// mustNextRow returns the next row, which was counted when the file was opened. It is an error if the row is gone.
func (t *Reader) mustNextRow() ([]byte, error) {
	line, ok, err := t.nextRow()
	if err != nil {
		return nil, err
	}

	if !ok {
		return nil, t.src.Fault(t.current.offset, "", "the file changed while it was read", "is it still being written?")
	}

	return line, nil
}

// setDestinations makes parseRow put the channels into dst[0], dst[1], …
func (t *Reader) setDestinations(channels []int) {
	for i := range t.destinations {
		t.destinations[i] = -1
	}

	for i, c := range channels {
		t.destinations[t.columnOf[c]] = i
	}
}

// parseRow puts the cells of a row into dst[·][k], as destinations say. It checks the number of cells, but does not
// read the cells that have no destination.
func (t *Reader) parseRow(line []byte, dst [][]float64, k int) error {
	l := &t.layout
	for _, head := range l.headRows {
		if bytes.Equal(line, head) {
			return errorAt(t.path, t.current.line, "a row of data", "the row of units or positions again",
				"the file has several parts: split it, or delete the headers between them")
		}
	}

	delim := l.delim
	n := len(line)

	p := 0
	for col, destination := range t.destinations {
		for p < n && isBlank(line[p], delim) {
			p++
		}

		if p == n && delim == ' ' {
			return t.raggedError(line)
		}

		if destination < 0 {
			_, p = l.cell(line, p)
		} else {
			v, next, ok := l.plainNumber(line, p)
			if !ok {
				var err error
				v, next, err = t.parseOtherCell(line, p, col)
				if err != nil {
					return err
				}
			}

			dst[destination][k] = v
			p = next
			t.holdValue(col, v)
		}

		// p is now at the delimiter or the end of the line.
		if col == len(t.destinations)-1 {
			break
		}

		if p == n {
			return t.raggedError(line)
		}

		p++
	}

	for ; p < n; p++ { // after the last column, only empty cells may follow
		isEmpty := line[p] == ' ' || line[p] == '\t' || line[p] == delim
		if !isEmpty {
			return t.raggedError(line)
		}
	}

	return nil
}

// holdValue keeps the value of a column that repeats its last value in empty cells.
func (t *Reader) holdValue(col int, v float64) {
	if t.heldColumns != nil && t.heldColumns[col] != nil {
		t.heldColumns[col].last = v
	}
}

// parseOtherCell reads the cell at p of a row, which is not a plain number. It returns the index of the delimiter after
// the cell, or of the end of the line. A cell that is not a number either is NaN in a column that tolerates this, and
// an error in others.
func (t *Reader) parseOtherCell(line []byte, p, col int) (v float64, next int, err error) {
	cell, next := t.layout.cell(line, p)
	if t.heldColumns != nil && t.heldColumns[col] != nil && isMissing(cell) {
		return t.heldColumns[col].last, next, nil
	}

	v, ok := t.layout.value(cell, col)
	if !ok && !t.tolerated[col] {
		return 0, 0, t.badCellError(line, col, cell)
	}

	return v, next, nil
}

// raggedError returns the error of a row that has too few or too many columns. It returns nil for other rows.
func (t *Reader) raggedError(line []byte) error {
	cells := t.layout.split(nil, line)
	have := len(cells)
	if have == t.layout.cols { // all further cells are pairs of quotes with nothing between them
		return nil
	}

	place := fmt.Sprintf("line %d, column %d", t.current.line, min(have, t.layout.cols)+1)
	hint := ""
	switch {
	case have > t.layout.cols:
		hint = t.layout.longRowHint(cells)
	case bytes.Count(line, []byte{'"'})%2 > 0:
		hint = "if a cell in quotes goes over several lines, write it in one"
	default:
		hint = "the row is too short: complete or delete it"
		if have == 1 {
			hint += "; write a heading as a column of the rows below it"
		}
	}

	if have < t.layout.cols {
		place += fmt.Sprintf(" (%s)", t.layout.names[have])
	}

	return fault.At(t.path, place, fault.Plural(int64(t.layout.cols), "column"), strconv.Itoa(have), hint)
}

// longRowHint says what to do about a row with more cells than there are columns.
func (l *layout) longRowHint(cells [][]byte) string {
	text := slices.IndexFunc(cells[l.cols:], func(cell []byte) bool {
		_, isNumber := l.number(cell)
		return !isNumber && !isMissing(cell)
	})

	switch {
	case text >= 0:
		hint := fmt.Sprintf("the row is too long: %q behind the columns is text: if it is a remark, delete it, or give "+
			"remarks a column in all rows", fault.Clip(string(cells[l.cols+text])))
		if l.delim != ' ' && !l.numeric[l.cols-1] {
			hint += fmt.Sprintf(", and put a remark that contains the separator %q in quotes", l.delim)
		}

		return hint
	case l.delim == ',' && l.decimal == '.':
		return "the row is too long: correct or delete it; a decimal comma needs semicolons or tabs between columns"
	}

	return "the row is too long: correct or delete it"
}

// badCellError returns the error of a cell that is not a number. If the row has too few or too many cells, it returns
// the error of the row, because the missing cells of a short row are read as empty cells.
func (t *Reader) badCellError(line []byte, col int, cell []byte) error {
	if err := t.raggedError(line); err != nil {
		return err
	}

	place := fmt.Sprintf("line %d, column %d (%s)", t.current.line, col+1, t.layout.names[col])
	want := "a number"
	if forms := t.layout.timeForms[col]; len(forms) > 0 {
		want = "a time in the form of " + forms[0].example
	}

	e := fault.At(t.path, place, want, strconv.Quote(fault.Clip(string(cell))), "correct the cell, or delete the row")

	_, isWithComma := Number(cell, ',')
	_, isWithPoint := Number(cell, '.')
	switch {
	case len(cell) == 0 && t.layout.isSparse(col):
		e.Found = "an empty cell"
		e.Hint = fmt.Sprintf("column %s is filled in %d of the first %d rows only: it is read at a rate of its own if "+
			"they are even and the rate of the rows is known, by a column of time or rate_hz; otherwise write the rows that "+
			"have it into files of their own", t.layout.names[col], t.layout.filled[col], t.layout.looked)
	case len(cell) == 0:
		e.Found = "an empty cell"
	case isWithComma:
		e.Hint = "a decimal comma; the other rows seen have decimal points"
	case isWithPoint:
		e.Hint = "a decimal point; the other rows seen have decimal commas"
	}

	return e
}
