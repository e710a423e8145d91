package campaign

import (
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// Texts are the cells of a table, whose rows have equally many, one behind the other.
type Texts struct {
	Rows    int
	path    string
	lines   []int // of the rows
	columns int
	all     strings.Builder
	from    []int    // of each row, in all
	ends    []uint32 // of each cell, behind the beginning of its row
}

// readTexts reads all cells of a table.
func readTexts(r *text.Reader) *Texts {
	names, _ := r.Columns()
	n, size := r.Size()
	rows := int(n)

	t := &Texts{path: r.Info().Path, columns: len(names), from: make([]int, 0, rows), lines: make([]int, 0, rows)}
	t.ends = make([]uint32, 0, min(rows*t.columns, int(size)+t.columns)) // a cell has a delimiter
	t.all.Grow(int(size))
	fault.Raise(r.Rows(t.add))

	return t
}

// add adds a row.
func (t *Texts) add(line int64, cells [][]byte) {
	t.from, t.lines = append(t.from, t.all.Len()), append(t.lines, int(line))
	n := 0
	for _, c := range cells {
		t.all.Write(c)
		n += len(c)
		t.ends = append(t.ends, uint32(n))
	}

	t.Rows++
}

// Text returns a cell.
func (t *Texts) Text(row, column int) string {
	begin, ends := uint32(0), t.ends[row*t.columns:][:t.columns]
	if column > 0 {
		begin = ends[column-1]
	}

	return t.all.String()[t.from[row]:][begin:ends[column]]
}

// Column appends the cells of a column to dst.
func (t *Texts) Column(dst []string, column int) []string {
	dst = slices.Grow(dst, t.Rows)
	for k := range t.Rows {
		dst = append(dst, t.Text(k, column))
	}

	return dst
}
