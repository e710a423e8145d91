package export

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"doubletake/ingest/fault"
	"doubletake/pipeline/table"
)

// NPZ writes a table as an archive of NumPy arrays, one a column: float64, int64,
// bool, and text as str of the length of the longest. Lists of equal length
// are a float32 array of two axes; others are all values in one array NAME and
// the positions where each row begins, and the last ends, in NAME_offsets. The
// member metadata.json has units, descriptions and the table's metadata.
func NPZ(w io.Writer, t *table.Table) error {
	z := zip.NewWriter(w)
	for i := range t.Columns {
		c := &t.Columns[i]
		if err := npyColumn(z, c); err != nil {
			return err
		}
	}

	m, err := z.CreateHeader(&zip.FileHeader{Name: "metadata.json", Method: zip.Deflate})
	if err != nil {
		return err
	}

	e := json.NewEncoder(m)
	e.SetEscapeHTML(false)

	if err := e.Encode(describe(t)); err != nil {
		return err
	}

	return z.Close()
}

func npyColumn(z *zip.Writer, c *table.Column) error {
	n := c.Len()
	switch {
	case c.Strings != nil:
		return npyStrings(z, c)
	case c.Ints != nil:
		return npyArray(z, c.Name, "<i8", littleEndian(c.Ints), n)
	case c.Bools != nil:
		return npyArray(z, c.Name, "|b1", littleEndian(c.Bools), n)
	case c.Lists != nil:
		return npyLists(z, c)
	}

	return npyArray(z, c.Name, "<f8", littleEndian(c.Floats), n)
}

func npyStrings(z *zip.Writer, c *table.Column) error {
	longest := 1
	for i, s := range c.Strings {
		if strings.HasSuffix(s, "\x00") {
			return &fault.Error{
				Place: fmt.Sprintf("column %s, row %d", c.Name, i+1), Want: "a text that does not end with a zero byte",
				Found: fmt.Sprintf("%q", s), Hint: "NumPy drops zeros at the end of a text; export as parquet",
			}
		}

		longest = max(longest, utf8.RuneCountInString(s))
	}

	characters := make([]rune, longest*len(c.Strings))
	for i, s := range c.Strings {
		copy(characters[i*longest:], []rune(s))
	}

	return npyArray(z, c.Name, fmt.Sprintf("<U%d", longest), littleEndian(characters), len(c.Strings))
}

func npyLists(z *zip.Writer, c *table.Column) error {
	values := slices.Concat(c.Lists...)
	if n, ok := equalLengths(c.Lists); ok {
		return npyArray(z, c.Name, "<f4", littleEndian(values), len(c.Lists), n)
	}

	offsets := []int64{0}

	end := int64(0)
	for _, l := range c.Lists {
		end += int64(len(l))
		offsets = append(offsets, end)
	}

	return errors.Join(npyArray(z, c.Name, "<f4", littleEndian(values), len(values)),
		npyArray(z, c.Name+"_offsets", "<i8", littleEndian(offsets), len(offsets)))
}

// npyArray adds an array of NumPy's format version 1.0. A name beyond Latin-1 is the
// archive's, not the array's.
func npyArray(z *zip.Writer, name, descr string, data []byte, shape ...int) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return err
	}

	dims := fmt.Sprintf("%d,", shape[0])
	if len(shape) > 1 {
		dims += fmt.Sprintf(" %d", shape[1])
	}

	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"

	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	if _, err := w.Write(append(b, head...)); err != nil {
		return err
	}

	_, err = w.Write(data)

	return err
}
