package pairs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
	"doubletake/ingest/units"
)

// maxRows is the greatest number of rows of a table of numbers. The table is in memory.
const maxRows = 5_000_000

// Cells is a table of numbers that the user gives, such as predictions.
type Cells struct {
	*campaign.Cells
	Path  string
	Notes []string // about units that Numbers could not compare
}

// ReadCells reads a table: a text, a Parquet file or, if the name ends in .arrow, a table of a run. It returns an error
// if the table has no rows, or two columns with the same name.
func ReadCells(path string) (*Cells, error) {
	cells, err := readAny(path)
	if err != nil {
		return nil, tableFault(path, err)
	}

	if cells.Rows == 0 || cells.Rows > maxRows { // campaign.ReadCells reads none if there are too many
		return nil, &fault.Error{Path: path, Want: fmt.Sprintf("1 to %d rows", maxRows), Found: "none, or more"}
	}

	for i, name := range cells.Columns {
		if slices.Contains(cells.Columns[:i], name) {
			return nil, &fault.Error{Path: path, Want: "one column " + name, Found: "two", Hint: "rename one of them"}
		}
	}

	return &Cells{Cells: cells, Path: path}, nil
}

// readAny reads a table in any format. It reads no rows if a text has more than maxRows.
func readAny(path string) (*campaign.Cells, error) {
	_, err := os.Stat(path)
	if err == nil && filepath.Ext(path) == ".arrow" {
		return readArrow(path)
	}

	return campaign.ReadCells(path, maxRows)
}

// readArrow reads the columns of an Arrow table whose cells are texts, numbers, or true and false.
func readArrow(path string) (*campaign.Cells, error) {
	t, err := table.ReadVerified(path)
	if err != nil {
		return nil, err
	}

	t.Columns = slices.DeleteFunc(t.Columns, func(c table.Column) bool { return c.Lists != nil })

	var names, units []string
	for _, column := range t.Columns {
		names = append(names, column.Name)
		units = append(units, column.Unit)
	}

	cell := func(row, column int) string { return cellText(&t.Columns[column], row) }

	return campaign.NewCells(path, names, units, t.Rows(), cell), nil
}

// cellText returns the text of a row of a column without lists, which is "" if there is no number.
func cellText(column *table.Column, row int) string {
	switch {
	case column.Strings != nil:
		return column.Strings[row]
	case column.Ints != nil:
		return strconv.FormatInt(column.Ints[row], 10)
	case column.Bools != nil:
		return strconv.FormatBool(column.Bools[row])
	case math.IsNaN(column.Floats[row]):
		return ""
	}

	return strconv.FormatFloat(column.Floats[row], 'g', -1, 64)
}

// tableFault returns an error of a reader of recordings in the words of a table. The hint that a file may be excluded
// does not fit a table.
func tableFault(path string, err error) error {
	var e *fault.Error
	if errors.As(err, &e) && strings.Contains(e.Hint, "exclude") {
		return fault.At(path, e.Place, "rows of numbers", e.Found, "")
	}

	return fault.In(path, err)
}

// Has reports whether there is a column with this name.
func (c *Cells) Has(name string) bool { return slices.Contains(c.Columns, name) }

// Text returns a cell of a column, without spaces around it.
func (c *Cells) Text(row int, name string) string {
	return strings.TrimSpace(c.Cells.Text(row, slices.Index(c.Columns, name)))
}

// Fault returns an error at a cell of a column.
func (c *Cells) Fault(row int, name, want string) error {
	return fault.At(c.Path, fmt.Sprintf("row %d, column %s", row+1, name), want, strconv.Quote(c.Text(row, name)), "")
}

// Kind says what the numbers of a column are, which decides how they are converted to another unit.
type Kind int

const (
	// Values are values of a quantity.
	Values Kind = iota
	// Bounds are values that may be infinite.
	Bounds
	// Differences are differences of values. A conversion does not shift them: a temperature of 20 °C is 293.15 K, but a
	// rise by 20 °C is a rise by 20 K.
	Differences
	// Variances are in a unit squared.
	Variances
)

// Numbers returns the cells of a column, converted to a unit. An empty cell is NaN. If the header states no unit, the
// cells are taken to be in the wanted unit. If unit is "" and the header states a unit, Numbers converts nothing and
// adds a note.
func (c *Cells) Numbers(name, unit string, kind Kind) ([]float64, error) {
	if !c.Has(name) {
		return nil, &fault.Error{
			Path: c.Path, Want: "a column " + name,
			Found: strings.Join(c.Columns, ", ") + spelling.DidYouMean(name, c.Columns),
		}
	}

	stated := c.Units[name]
	conversion, err := conversionOf(stated, unit, kind)
	if err != nil {
		return nil, fault.At(c.Path, "column "+name, "a unit that becomes "+unit, stated,
			"correct the header, or convert the numbers")
	}

	const noUnits = "1-–" // headers write each of these for no unit
	if unit == "" && stated != "" && !strings.Contains(noUnits, stated) {
		note := fmt.Sprintf("column %s of %s is in %s, and nothing states a unit to compare: taken as it is", name, c.Path,
			stated)
		if !slices.Contains(c.Notes, note) {
			c.Notes = append(c.Notes, note)
		}
	}

	hasComma := c.hasCommaDecimals(name)
	numbers := make([]float64, c.Rows)
	for i := range numbers {
		number, err := parseCell(c.Text(i, name), hasComma)
		if err != nil || math.IsInf(number, 0) && kind != Bounds {
			return nil, c.Fault(i, name, "a number")
		}

		numbers[i] = conversion.Apply(number) + 0 // −0 + 0 is 0
	}

	return numbers, nil
}

// parseCell returns the number of a cell, or NaN if the cell is empty or says that there is no number.
func parseCell(text string, hasComma bool) (float64, error) {
	if hasComma {
		text = strings.Replace(text, ",", ".", 1)
	}

	switch strings.ToLower(text) {
	case "", "nan", "null", "none":
		return math.NaN(), nil
	}

	return strconv.ParseFloat(text, 64)
}

// hasCommaDecimals reports whether a number of a column has a decimal comma.
func (c *Cells) hasCommaDecimals(name string) bool {
	for i := range c.Rows {
		if hasCommaDecimal(c.Text(i, name)) {
			return true
		}
	}

	return false
}

// hasCommaDecimal reports whether a number certainly has a decimal comma. A comma before three digits may separate
// thousands: 1,200 may be 1200, but 0,200 may not.
func hasCommaDecimal(text string) bool {
	const thousandsDigits = 3
	whole, fraction, found := strings.Cut(text, ",")
	if !found || strings.Contains(text, ".") {
		return false
	}

	return len(fraction) != thousandsDigits || strings.Trim(whole, "+-") == "0"
}

// conversionOf returns the conversion of numbers of a kind from the unit that a header states to another unit. It
// returns the conversion that changes nothing if one of the units is "", or if both are units of levels. It returns an
// error for levels whose references differ.
func conversionOf(stated, unit string, kind Kind) (units.Conversion, error) {
	if stated == "" || unit == "" {
		return units.Conversion{Scale: 1}, nil
	}

	base := stated // the unit, not squared
	if kind == Variances {
		var isSquare bool
		base, isSquare = strings.CutSuffix(strings.ReplaceAll(stated, "^2", "²"), "²")
		if !isSquare {
			return units.Conversion{}, errors.New("variances have a unit squared")
		}

		base = strings.Trim(base, "()")
	}

	areLevels := units.IsLevel(base) && units.IsLevel(unit)
	dependsOnReference := kind == Values || kind == Bounds
	if areLevels && dependsOnReference && !mayShareReference(base, unit) {
		return units.Conversion{}, errors.New("the levels have different references")
	}

	if base == unit || areLevels {
		return units.Conversion{Scale: 1}, nil
	}

	source, err := units.Parse(base)
	if err != nil {
		return units.Conversion{}, err
	}

	target, err := units.Parse(unit)
	if err != nil {
		return units.Conversion{}, err
	}

	conversion, err := source.To(target)
	switch kind {
	case Differences:
		conversion.Shift = 0
	case Variances:
		conversion = units.Conversion{Scale: conversion.Scale * conversion.Scale}
	}

	return conversion, err
}
