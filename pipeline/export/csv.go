package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/pipeline/table"
	"doubletake/train/numbers"
)

// CSV writes a table as comma-separated text (RFC 4180, UTF-8, a header of
// names). Numbers have as many digits as it takes to read them back equal; a
// missing number is an empty field, infinity is INF or -INF. The values of a
// list are separated by spaces. A text that a spreadsheet would take for a formula begins with '.
func CSV(w io.Writer, t *table.Table) error {
	cw := csv.NewWriter(w)

	row := lists.Each(t.Columns, func(c table.Column) string { return c.Name })

	_ = cw.Write(row) // Error returns the first error of any write

	for r := range t.Rows() {
		for i := range t.Columns {
			row[i] = cell(&t.Columns[i], r)
		}

		_ = cw.Write(row)
	}

	cw.Flush()

	return cw.Error()
}

func cell(c *table.Column, r int) string {
	switch {
	case c.Strings != nil:
		return numbers.Harmless(c.Strings[r])
	case c.Ints != nil:
		return strconv.FormatInt(c.Ints[r], 10)
	case c.Bools != nil:
		return strconv.FormatBool(c.Bools[r])
	case c.Lists != nil:
		var b []byte
		for i, v := range c.Lists[r] {
			if i > 0 {
				b = append(b, ' ')
			}
			b = appendNumber(b, float64(v), 32)
		}

		return string(b)
	}

	if v := c.Floats[r]; v == v {
		return string(appendNumber(nil, v, 64))
	}

	return ""
}

// appendNumber writes a number as XML Schema and CSV on the Web do.
func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "INF"...)
	case math.IsInf(v, -1):
		return append(b, "-INF"...)
	}

	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// csvMetadata writes the table's metadata document after the W3C's "CSV on the
// Web": types, units (schema:unitText) and descriptions of the columns, and
// the provenance as notes.
func csvMetadata(w io.Writer, file string, t *table.Table) error {
	type column struct {
		Name        string `json:"titles"`
		Type        string `json:"datatype"`
		Separator   string `json:"separator,omitempty"`
		Unit        string `json:"schema:unitText,omitempty"`
		Description string `json:"dc:description,omitempty"`
	}

	type note struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}

	columns, notes := []column{}, []note{}
	for i := range t.Columns {
		c := &t.Columns[i]
		col := column{Name: c.Name, Type: "double", Unit: c.Unit, Description: c.Description}
		switch {
		case c.Strings != nil:
			col.Type = "string"
		case c.Ints != nil:
			col.Type = "long"
		case c.Bools != nil:
			col.Type = "boolean"
		case c.Lists != nil:
			col.Type, col.Separator = "float", " "
		}

		columns = append(columns, col)
	}

	for _, kv := range t.Meta {
		notes = append(notes, note{kv.Key, kv.Value})
	}

	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)

	return e.Encode(struct {
		Context string         `json:"@context"`
		URL     string         `json:"url"`
		Schema  map[string]any `json:"tableSchema"`
		Notes   []note         `json:"notes"`
	}{"http://www.w3.org/ns/csvw", file, map[string]any{"columns": columns}, notes})
}
