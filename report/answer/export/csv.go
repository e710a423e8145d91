package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"doubletake/ingest/table"
	"doubletake/train/numbers"
)

// CSV writes a table as comma-separated text in UTF-8, with a header of names. Fields are quoted as in RFC 4180, but
// lines end with LF alone. Numbers have as many digits as are needed to read them back equal. A missing number is an
// empty field, or NaN within a list, and infinity is INF or -INF. Spaces separate the values of a list. A text that a
// spreadsheet would take for a formula gets ' in front.
func CSV(w io.Writer, t *table.Table) error {
	writer := csv.NewWriter(w)

	fields := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		fields[i] = column.Name
	}

	_ = writer.Write(fields) // Error returns the first error of all writes

	for row := range t.Rows() {
		for i := range t.Columns {
			fields[i] = cell(&t.Columns[i], row)
		}

		if len(fields) == 1 && fields[0] == "" { // csv writes an empty line for it, which readers skip
			if err := writeQuoted(w, writer); err != nil {
				return err
			}

			continue
		}

		_ = writer.Write(fields)
	}

	writer.Flush()
	if err := writer.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}

	return nil
}

// writeQuoted writes a row of a single empty field, in quotes, after the rows that the writer of w still keeps.
func writeQuoted(w io.Writer, writer *csv.Writer) error {
	writer.Flush()
	if err := writer.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}

	if _, err := io.WriteString(w, "\"\"\n"); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}

	return nil
}

// cell returns the text of a row of a column.
func cell(column *table.Column, row int) string {
	switch {
	case column.Strings != nil:
		return numbers.Harmless(column.Strings[row])
	case column.Ints != nil:
		return strconv.FormatInt(column.Ints[row], 10)
	case column.Bools != nil:
		return strconv.FormatBool(column.Bools[row])
	case column.Lists != nil:
		var b []byte
		for i, v := range column.Lists[row] {
			if i > 0 {
				b = append(b, ' ')
			}
			b = appendNumber(b, float64(v), 32)
		}

		return string(b)
	}

	value := column.Floats[row]
	if math.IsNaN(value) {
		return ""
	}

	return string(appendNumber(nil, value, 64))
}

// appendNumber appends a number of 32 or 64 bits, written as in XML Schema and CSV on the Web.
func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "INF"...)
	case math.IsInf(v, -1):
		return append(b, "-INF"...)
	}

	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// csvMetadata writes the metadata document of a table after the W3C's "CSV on the Web". It has the types, the units
// (schema:unitText) and the descriptions of the columns. The table's metadata, which says how it was made, are notes.
// file is the name of the CSV file.
func csvMetadata(w io.Writer, file string, t *table.Table) error {
	doc := csvDocument{
		Context: "http://www.w3.org/ns/csvw", URL: file, Schema: csvSchema{[]csvColumn{}}, Notes: []csvNote{},
	}
	for i := range t.Columns {
		doc.Schema.Columns = append(doc.Schema.Columns, describe(&t.Columns[i]))
	}

	for _, pair := range t.Meta {
		doc.Notes = append(doc.Notes, csvNote{pair.Key, pair.Value})
	}

	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)

	return encoder.Encode(doc)
}

// csvDocument is a metadata document.
type csvDocument struct {
	Context string    `json:"@context"`
	URL     string    `json:"url"`
	Schema  csvSchema `json:"tableSchema"`
	Notes   []csvNote `json:"notes"`
}

// csvSchema is the schema in a metadata document.
type csvSchema struct {
	Columns []csvColumn `json:"columns"`
}

// csvColumn describes a column in a metadata document.
type csvColumn struct {
	Name        string `json:"titles"`
	Type        string `json:"datatype"`
	Separator   string `json:"separator,omitempty"`
	Unit        string `json:"schema:unitText,omitempty"`
	Description string `json:"dc:description,omitempty"`
}

// csvNote is a note in a metadata document.
type csvNote struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// describe returns the description of a column.
func describe(column *table.Column) csvColumn {
	description := csvColumn{Name: column.Name, Type: "double", Unit: column.Unit, Description: column.Description}
	switch {
	case column.Strings != nil:
		description.Type = "string"
	case column.Ints != nil:
		description.Type = "long"
	case column.Bools != nil:
		description.Type = "boolean"
	case column.Lists != nil:
		description.Type = "float"
		description.Separator = " "
	}

	return description
}
