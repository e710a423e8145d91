package campaign

import (
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/text"
	"doubletake/internal/lists"
)

// readResults reads columns of numbers and of names from a table of results, in two steps: first all columns as a
// program prints them, then the columns of numbers that may be written by people. It skips columns that
// are not in the table, because the file gives one value for all rows.
//
// readResults returns the table and warnings. The table has no cells if programs wrote all numbers, since it may have
// millions of rows.
func readResults(reader *text.Reader, options TableOptions, columns []*typedColumn) (*Cells, []ingest.Warning, error) {
	var own []*typedColumn
	for _, column := range columns {
		if !column.isOfFile() {
			own = append(own, column)
		}
	}

	table, err := readPrinted(reader, own)
	if err != nil {
		return nil, nil, err
	}

	writing := writingOf(reader.Info())
	byPeople, byPrograms := lists.Split(own, func(column *typedColumn) bool {
		return !column.isName && mayBeOfPeople(column.Values, writing)
	})
	r := cellOptions{
		ColumnOptions: condition.ColumnOptions{Decimal: options.Decimal}, names: options.Names, codes: options.codes(),
		hint: "correct the cell; name the column under things where its cells are names",
	}

	var warnings []ingest.Warning
	for _, column := range byPrograms {
		column.FindCode()
		warnings = append(warnings, table.warnOfDoubts(column, r.codes)...)
	}

	if len(byPeople) == 0 {
		return table, warnings, nil
	}

	if writing == pointsOnly {
		r.Default = condition.Point
	}

	table = newCells(reader)
	if err := table.read(reader); err != nil {
		return nil, nil, err
	}

	typed, err := table.readTyped(byPeople, r)
	if err != nil {
		return nil, nil, err
	}

	return table, append(warnings, typed...), nil
}

// readPrinted reads columns of names, and columns of numbers as programs print them. Values stay nil in columns that
// are not numbers for a program. The table that it returns has no cells.
func readPrinted(reader *text.Reader, columns []*typedColumn) (*Cells, error) {
	info := reader.Info()
	_, heads := reader.Columns()
	rows, _ := reader.Size()
	channelOf := map[int]int{} // by column
	for ch := range info.Channels {
		if _, isKnown := channelOf[reader.Column(ch)]; !isKnown {
			channelOf[reader.Column(ch)] = ch
		}
	}

	var names []*typedColumn
	var channels []int
	var values [][]float64
	for _, column := range columns {
		ch, isNumber := channelOf[column.index]
		switch {
		case column.isName:
			column.texts = make([]string, 0, rows)
			names = append(names, column)
		case isNumber:
			column.Unit = info.Channels[ch].Unit
			column.Values = make([]float64, rows)
			channels = append(channels, ch)
			values = append(values, column.Values)
		default:
			_, column.Unit = text.SplitUnit(heads[column.index])
			column.remarks = true
		}
	}

	reader.Tolerate(slices.Repeat([]bool{true}, len(info.Channels)))
	kept := keptNames{}
	table := newCells(reader)
	table.Rows = int(rows)
	err := reader.Rows(channels, values, func(line int64, cells [][]byte) {
		table.lineOf = append(table.lineOf, int(line))
		for _, column := range names {
			column.texts = append(column.texts, kept.keep(cells[column.index]))
		}
	})
	if err != nil {
		return nil, err
	}

	return table, nil
}

// numberWriting tells how a text file may write its numbers.
type numberWriting int

const (
	pointsOnly        numberWriting = iota // with decimal points
	decimalCommas                          // with decimal commas
	pointsOrThousands                      // with points, which may be decimal points or part thousands
)

// writingOf returns how a file may write its numbers. Points between semicolons may part thousands, since people whose
// decimal sign is the comma separate by semicolons.
func writingOf(info ingest.Info) numberWriting {
	switch {
	case strings.HasSuffix(info.Encoding, "decimal comma"):
		return decimalCommas
	case strings.HasPrefix(info.Encoding, "semicolon"):
		return pointsOrThousands
	}

	return pointsOnly
}

// mayBeOfPeople reports whether people may have written the numbers of a column. values are the numbers as a program
// reads them, NaN for a cell that is not one; nil if the column is not of numbers for a program.
func mayBeOfPeople(values []float64, writing numberWriting) bool {
	if values == nil || writing == decimalCommas || slices.ContainsFunc(values, math.IsNaN) {
		return true
	}

	return writing == pointsOrThousands && slices.ContainsFunc(values, hasThreeDigits)
}

// hasThreeDigits reports whether v is a whole number of three digits: beside 900 the number 1.200 may be 1200.
func hasThreeDigits(v float64) bool { return v >= 100 && v < 1000 && v == math.Trunc(v) }
