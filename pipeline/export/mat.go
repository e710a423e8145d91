package export

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"doubletake/ingest/fault"
	"doubletake/pipeline/table"
)

// Classes and data types of MATLAB's "MAT-File Format", level 5.
const (
	mxCell, mxStruct, mxChar, mxDouble, mxSingle, mxUint8, mxInt64 = 1, 2, 4, 6, 7, 9, 14

	miInt8, miUint8, miInt32, miUint32, miSingle, miDouble, miInt64, miMatrix, miUTF8 = 1, 2, 5, 6, 7, 9, 12, 14, 16
)

// maxName is the length of the longest name of a variable in MATLAB.
const maxName = 63

// MAT writes a table as a MAT-file of level 5 (save -v6), one variable a column:
// double, int64 and logical columns, text as a cell of char. Lists of equal
// length are a single matrix, a row each; others a cell of rows. The struct
// columns has the cells variable, name, unit and description, the struct
// metadata the cells key and value. Names that MATLAB does not allow are
// changed; columns has both. A column of 2 GiB and more is an error.
func MAT(w io.Writer, t *table.Table) error {
	head := make([]byte, 128)
	copy(head, fmt.Sprintf("%-116s", "MATLAB 5.0 MAT-file, written by doubletake"))
	copy(head[124:], "\x00\x01IM")

	if _, err := w.Write(head); err != nil {
		return err
	}

	used := map[string]bool{"columns": true, "metadata": true}

	var about [4][]string
	for i := range t.Columns {
		c := &t.Columns[i]
		name := variable(c.Name, used)
		b := matColumn(name, c)
		if len(b) > math.MaxInt32 {
			return &fault.Error{
				Place: "column " + c.Name, Want: "less than 2 GiB, the most a variable of a MAT-file of level 5 holds",
				Found: fmt.Sprintf("%d bytes", len(b)), Hint: "export as parquet",
			}
		}

		if _, err := w.Write(b); err != nil {
			return err
		}

		for k, s := range []string{name, c.Name, c.Unit, c.Description} {
			about[k] = append(about[k], s)
		}
	}

	var keys, values []string
	for _, kv := range t.Meta {
		keys, values = append(keys, kv.Key), append(values, kv.Value)
	}

	b := matStruct("columns", []string{"variable", "name", "unit", "description"}, matStrings("", about[0]),
		matStrings("", about[1]), matStrings("", about[2]), matStrings("", about[3]))
	b = append(b, matStruct("metadata", []string{"key", "value"}, matStrings("", keys), matStrings("", values))...)
	_, err := w.Write(b)

	return err
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_]`)

// variable makes a name of a variable that is not used yet of a column's.
func variable(column string, used map[string]bool) string {
	whole := notInName.ReplaceAllString(column, "_")
	switch {
	case whole == "" || whole[0] == '_':
		whole = "x" + whole
	case whole[0] <= '9':
		whole = "x_" + whole
	}

	name := whole[:min(len(whole), maxName)]
	for i := 2; used[name]; i++ {
		end := "_" + strconv.Itoa(i)
		name = whole[:min(len(whole), maxName-len(end))] + end
	}

	used[name] = true

	return name
}

func matColumn(name string, c *table.Column) []byte {
	n := c.Len()
	switch {
	case c.Strings != nil:
		return matStrings(name, c.Strings)
	case c.Ints != nil:
		return matArray(name, mxInt64, miInt64, n, 1, littleEndian(c.Ints))
	case c.Bools != nil:
		return matArray(name, mxUint8|0x200, miUint8, n, 1, littleEndian(c.Bools))
	case c.Lists != nil:
		return matLists(name, c.Lists)
	}

	return matArray(name, mxDouble, miDouble, n, 1, littleEndian(c.Floats))
}

func matLists(name string, lists [][]float32) []byte {
	if n, ok := equalLengths(lists); ok {
		columns := make([]float32, 0, n*len(lists))
		for j := range n {
			for _, l := range lists {
				columns = append(columns, l[j])
			}
		}

		return matArray(name, mxSingle, miSingle, len(lists), n, littleEndian(columns))
	}

	var rows []byte
	for _, l := range lists {
		rows = append(rows, matArray("", mxSingle, miSingle, 1, len(l), littleEndian(l))...)
	}

	return matParts(name, mxCell, len(lists), 1, rows)
}

// matStrings is a cell of row vectors of char.
func matStrings(name string, list []string) []byte {
	var b []byte
	for _, s := range list {
		n := utf8.RuneCountInString(s)
		b = append(b, matArray("", mxChar, miUTF8, min(n, 1), n, []byte(s))...)
	}

	return matParts(name, mxCell, len(list), 1, b)
}

// matStruct is a struct of one element with these fields.
func matStruct(name string, fields []string, values ...[]byte) []byte {
	const length = 32
	b := matElement(miInt32, []byte{length, 0, 0, 0})

	names := make([]byte, length*len(fields))
	for i, f := range fields {
		copy(names[i*length:], f)
	}

	b = append(b, matElement(miInt8, names)...)
	for _, v := range values {
		b = append(b, v...)
	}

	return matParts(name, mxStruct, 1, 1, b)
}

func matArray(name string, class uint32, kind, rows, columns int, data []byte) []byte {
	return matParts(name, class, rows, columns, matElement(kind, data))
}

// matParts is an array whose parts follow its name.
func matParts(name string, class uint32, rows, columns int, parts []byte) []byte {
	b := matElement(miUint32, littleEndian([]uint32{class, 0}))
	b = append(b, matElement(miInt32, littleEndian([]int32{int32(rows), int32(columns)}))...)
	b = append(b, matElement(miInt8, []byte(name))...)
	return matElement(miMatrix, append(b, parts...))
}

// matElement is data behind its type and length, padded to eight bytes.
func matElement(kind int, data []byte) []byte {
	b := append(littleEndian([]uint32{uint32(kind), uint32(len(data))}), data...)
	return append(b, make([]byte, -len(data)&7)...)
}
