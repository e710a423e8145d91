package parquet

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
)

// clean replaces the characters that would end a cell of a table.
var clean = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ", `"`, "'")

// Text returns the columns of numbers and texts of a file as a table: a line with the names, and a line for each row,
// with cells separated by tabs. A missing value is an empty cell. Package ingest/campaign reads tables of pairs from
// it.
func Text(src ingest.Source) ([]byte, error) {
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}

	var columns []*column
	rowBytes := int64(0) // bytes of a row in memory, without the texts
	for _, c := range f.columns {
		if c.unread != "" {
			continue
		}

		columns = append(columns, c)
		rowBytes += 8
		if c.kind == format.ByteArray {
			rowBytes += 8
		}
	}

	var b bytes.Buffer
	writeHeader(&b, columns)

	// The text needs its own limit: a word of a dictionary may be in every row.
	mostBytes := maxTable + 2*src.Size
	mostText := maxTable/2 + 4*src.Size
	begin := int64(0) // number of the first row of the row group
	for g, end := range f.ends {
		place := fmt.Sprintf("row group %d", g+1)
		if n := (end - begin) * rowBytes; n > mostBytes {
			return nil, f.fault(place, fmt.Sprintf("columns of at most %d bytes", mostBytes), strconv.FormatInt(n, 10),
				"write it with smaller row groups, and the columns that are needed")
		}

		for _, c := range columns {
			if err := f.load(c, g); err != nil {
				return nil, err
			}
		}

		for k := range end - begin {
			writeRow(&b, columns, k)
			if int64(b.Len()) > mostText {
				return nil, f.fault(place, fmt.Sprintf("a table of at most %d bytes of text", mostText), "more",
					"export the columns that are needed")
			}
		}

		begin = end
	}

	return b.Bytes(), nil
}

// writeHeader writes a line with the names of columns and their units.
func writeHeader(b *bytes.Buffer, columns []*column) {
	for i, c := range columns {
		if i > 0 {
			b.WriteByte('\t')
		}

		b.WriteString(clean.Replace(c.name))

		if c.unit != "" {
			b.WriteString(" (" + clean.Replace(c.unit) + ")")
		}
	}

	b.WriteByte('\n')
}

// writeRow writes a line with row k of the row group that is in memory.
func writeRow(b *bytes.Buffer, columns []*column, k int64) {
	for i, c := range columns {
		if i > 0 {
			b.WriteByte('\t')
		}

		if c.kind == format.ByteArray {
			b.WriteString(clean.Replace(c.texts[k]))
		} else if v := c.numbers[k]; !math.IsNaN(v) {
			b.WriteString(arrays.Number(v))
		}
	}

	b.WriteByte('\n')
}
