package inspect

import (
	"fmt"
	"math"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/train/numbers"
)

// Table describes a table of this program, an Arrow file.
type Table struct {
	Rows     int       `json:"rows"`
	Columns  []Column  `json:"columns"`
	Metadata []kv.Pair `json:"metadata"` // of the schema

	table *table.Table
}

// Column is a column of a table.
type Column struct {
	Name        string        `json:"name"`
	Type        string        `json:"type"`
	Unit        string        `json:"unit,omitempty"`
	Description string        `json:"description,omitempty"`
	Missing     int           `json:"missing"`  // rows without a number
	Distinct    int           `json:"distinct"` // different values, without missing numbers; 0 for lists
	Min         numbers.Float `json:"min"`
	Max         numbers.Float `json:"max"`
	Mean        numbers.Float `json:"mean"`
	First       []string      `json:"first"`            // the first values
	Values      any           `json:"values,omitempty"` // all of them, see AddValues
}

// inspectTable describes a table.
func inspectTable(t *table.Table) *Table {
	described := &Table{Rows: t.Rows(), Columns: []Column{}, table: t}
	described.Metadata = append([]kv.Pair{}, t.Meta...) // in JSON an empty list, not null
	for i := range t.Columns {
		described.Columns = append(described.Columns, inspectColumn(&t.Columns[i]))
	}

	return described
}

// AddValues adds all values of the columns to the description.
func (t *Table) AddValues() {
	for i := range t.Columns {
		t.Columns[i].Values = valuesOf(&t.table.Columns[i])
	}
}

// valuesOf returns the values of a column for JSON. JSON has no NaN and no infinite numbers: null stands for a missing
// number, and the texts inf and -inf for infinite numbers.
func valuesOf(column *table.Column) any {
	switch {
	case column.Strings != nil:
		return column.Strings
	case column.Bools != nil:
		return column.Bools
	case column.Ints != nil:
		return column.Ints
	case column.Lists != nil:
		lists := make([][]any, len(column.Lists))
		for i, list := range column.Lists {
			lists[i] = make([]any, len(list))
			for k, v := range list {
				lists[i][k] = jsonNumber(float64(v), v)
			}
		}

		return lists
	}

	values := make([]any, len(column.Floats))
	for i, v := range column.Floats {
		values[i] = jsonNumber(v, v)
	}

	return values
}

// jsonNumber returns original, the number v in its own type, if JSON can write it. Otherwise it returns nil, "inf" or
// "-inf".
func jsonNumber(v float64, original any) any {
	switch {
	case math.IsNaN(v):
		return nil
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+"))
	}

	return original
}

// inspectColumn describes a column of a table.
func inspectColumn(column *table.Column) Column {
	described := Column{
		Name: column.Name, Type: typeOf(column), Unit: column.Unit, Description: column.Description,
		Min: numbers.Float(math.NaN()), Max: numbers.Float(math.NaN()), Mean: numbers.Float(math.NaN()),
		First: []string{},
	}

	low := math.Inf(1)
	high := math.Inf(-1)
	sum := 0.0
	count := 0
	for _, v := range numbersOf(column) {
		if math.IsNaN(v) {
			described.Missing++
			continue
		}

		low = min(low, v)
		high = max(high, v)
		sum += v
		count++
	}

	if count > 0 {
		described.Min = numbers.Float(low)
		described.Max = numbers.Float(high)
		described.Mean = numbers.Float(sum / float64(count))
	}

	seen := map[string]bool{}
	for row := range column.Len() {
		short, whole := texts(column, row)
		if row < previewRows {
			described.First = append(described.First, short)
		}

		isMissing := column.Floats != nil && math.IsNaN(column.Floats[row])
		if column.Lists == nil && !isMissing {
			seen[whole] = true
		}
	}

	described.Distinct = len(seen)

	return described
}

// numbersOf returns the values of a column of numbers, and nil for other columns.
func numbersOf(column *table.Column) []float64 {
	if column.Ints == nil {
		return column.Floats
	}

	values := make([]float64, len(column.Ints))
	for i, v := range column.Ints {
		values[i] = float64(v)
	}

	return values
}

// typeOf names the type of a column.
func typeOf(column *table.Column) string {
	switch {
	case column.Strings != nil:
		return "utf8"
	case column.Bools != nil:
		return "bool"
	case column.Lists != nil:
		return "list of float32"
	case column.Ints != nil:
		return "int64"
	}

	return "float64"
}

// texts returns a cell as text twice: short for people, and whole, with all digits.
func texts(column *table.Column, row int) (short, whole string) {
	switch {
	case column.Strings != nil:
		short = column.Strings[row]
	case column.Bools != nil:
		short = fmt.Sprint(column.Bools[row])
	case column.Lists != nil:
		short = fmt.Sprintf("%d values", len(column.Lists[row]))
	case column.Ints != nil:
		short = fmt.Sprint(column.Ints[row])
	default:
		return fault.Digits(column.Floats[row], 6), fmt.Sprint(column.Floats[row])
	}

	return short, short
}
