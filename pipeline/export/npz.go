package export

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
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
		return npyArray(z, c.Name, "<i8", []int{n}, 8, n, func(b []byte, i int) []byte {
			return binary.LittleEndian.AppendUint64(b, uint64(c.Ints[i]))
		})
	case c.Bools != nil:
		return npyArray(z, c.Name, "|b1", []int{n}, 1, n, func(b []byte, i int) []byte {
			if c.Bools[i] {
				return append(b, 1)
			}
			return append(b, 0)
		})
	case c.Lists != nil:
		return npyLists(z, c)
	}
	return npyArray(z, c.Name, "<f8", []int{n}, 8, n, func(b []byte, i int) []byte {
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Floats[i]))
	})
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
	return npyArray(z, c.Name, fmt.Sprintf("<U%d", longest), []int{len(c.Strings)}, 4*longest, len(c.Strings),
		func(b []byte, i int) []byte {
			end := len(b) + 4*longest
			for _, r := range c.Strings[i] {
				b = binary.LittleEndian.AppendUint32(b, uint32(r))
			}
			for len(b) < end {
				b = append(b, 0)
			}
			return b
		})
}

func npyLists(z *zip.Writer, c *table.Column) error {
	values := func(b []byte, i int) []byte {
		for _, v := range c.Lists[i] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	if n, ok := equalLengths(c.Lists); ok {
		return npyArray(z, c.Name, "<f4", []int{len(c.Lists), n}, 4*n, len(c.Lists), values)
	}
	offsets := make([]int, 1, len(c.Lists)+1)
	for _, l := range c.Lists {
		offsets = append(offsets, offsets[len(offsets)-1]+len(l))
	}
	total := offsets[len(c.Lists)]
	if err := npyArray(z, c.Name, "<f4", []int{total}, 0, len(c.Lists), values); err != nil {
		return err
	}
	return npyArray(z, c.Name+"_offsets", "<i8", []int{len(offsets)}, 8, len(offsets), func(b []byte, i int) []byte {
		return binary.LittleEndian.AppendUint64(b, uint64(offsets[i]))
	})
}

// npyArray adds an array, format version 1.0 or, with a name beyond Latin-1, the
// same with nothing else changed: names are the archive's, not the array's.
// add appends element i of n, of about size bytes.
func npyArray(z *zip.Writer, name, descr string, shape []int, size, n int, add func(b []byte, i int) []byte) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return err
	}
	dims := ""
	for _, d := range shape {
		dims += fmt.Sprintf("%d, ", d)
	}
	if len(shape) > 1 {
		dims = strings.TrimSuffix(dims, ", ")
	} else {
		dims = strings.TrimSuffix(dims, " ")
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	b = append(make([]byte, 0, 1<<16+size), b...)
	for i := range n {
		b = add(b, i)
		if len(b) >= 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err = w.Write(b)
	return err
}
