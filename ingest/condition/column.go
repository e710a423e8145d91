package condition

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
)

// Column is a column of cells, read: of numbers or of names.
type Column struct {
	Values  []float64 // by row, NaN where a cell states none; nil of a column of names
	Unit    string    // of the values: that of the header, else the first behind a number
	Decimal byte      // sign that the values were read with

	// Thousands is the first row whose one mark was read as one between thousands, since other
	// cells show the decimal sign; −1: none.
	Thousands int
	Code      int // first row that Code finds; −1: none
	// Bare is the first row without a unit where only other cells state one; −1: none.
	Bare int
	// Numeric is, of a column of names, the first row that begins with a number and is no date: a
	// name like 8x6, which gives a warning; −1: none.
	Numeric int
}

// ColumnOptions tell what the cells of a column do not show themselves.
type ColumnOptions struct {
	Missing []string // further texts for a value that is not there
	Unit    string   // of the header
	Usual   string   // unit of numbers without one where others have one; "": that of the first
	Decimal byte     // sign that the user states, or other columns show; 0: not known
	Names   bool     // the cells are names, whatever they look like
}

// CellError is a cell that does not fit into its column; the caller knows the file.
type CellError struct {
	Row               int
	Want, Found, Hint string
}

func (e *CellError) Error() string {
	return fmt.Sprintf("row %d: expected %s, found %s", e.Row+1, e.Want, e.Found)
}

// Cells are what the cells of a column show, each read by itself: rows of the first that have something; −1: none.
type Cells struct {
	form             [Name + 1]int // by Form
	points, commas   int           // one decimal sign for certain
	ambiguous        int           // 1,234; or 1.200 beside 900, where a program would write 900.000
	numeric, letters int           // text that begins with a number, and text that begins with none
	counters         bool          // numbers with a letter, as 1A, 1B, 2A are, name something
}

// Named reports whether some cell begins with no number, so that the column may be one of remarks.
func (c Cells) Named() bool { return c.letters >= 0 }

// Shown is the decimal sign that the cells of one column or several show, 0 where they show none or both.
func Shown(columns ...Cells) (dec byte) {
	points := slices.ContainsFunc(columns, func(c Cells) bool { return c.points >= 0 })
	commas := slices.ContainsFunc(columns, func(c Cells) bool { return c.commas >= 0 })
	switch {
	case points == commas:
		return 0
	case points:
		return Point
	}

	return Comma
}

// ReadCells reads each cell of a column by itself.
func ReadCells(texts []string, none ...string) Cells {
	all := Cells{form: [...]int{-1, -1, -1, -1}, points: -1, commas: -1, ambiguous: -1, numeric: -1, letters: -1}
	others, counters := false, true
	rounds, hundreds := -1, false
	for i, s := range texts {
		c := Read(s, none...)
		first := func(of *int, is bool) {
			if is && *of < 0 {
				*of = i
			}
		}

		first(&all.form[c.Form], true)
		first(&all.points, c.Shows() == Point)
		first(&all.commas, c.Shows() == Comma)
		first(&all.ambiguous, c.doubtful[sign(Point)])
		first(&rounds, c.doubtful[sign(Comma)] && strings.HasSuffix(s, "0"))
		hundreds = hundreds || len(s) == 3 && c.Form == Number && c.value[0] >= 100
		first(&all.numeric, c.begins || c.Form == Number)
		first(&all.letters, c.Form == Name && !c.begins)

		n := len(s)
		switch {
		case c.Form == Missing:
		case n < 2 || n > 8 || s[n-1] < 'A' || s[n-2] < '0' || s[n-2] > '9':
			counters = false
		default:
			others = others || c.begins
		}
	}

	all.counters = counters && others
	if all.ambiguous < 0 && hundreds {
		all.ambiguous = rounds
	}

	return all
}

// ReadColumn reads a column. Its cells are numbers, in one unit, or all of them are names or dates;
// else the error is a *CellError. The decimal sign is the one that some cell shows for certain,
// else that of the options; a column in which 1,234 may be both is an error.
func ReadColumn(texts []string, o ColumnOptions) (Column, error) {
	return NewColumn(texts, ReadCells(texts, o.Missing...), o)
}

// NewColumn is ReadColumn of cells that ReadCells has read.
func NewColumn(texts []string, cells Cells, o ColumnOptions) (Column, error) {
	col := Column{Unit: o.Unit, Thousands: -1, Code: -1, Bare: -1, Numeric: -1}
	name, date := cells.form[Name], cells.form[Date]

	if o.Names || cells.form[Number] < 0 || date < 0 && cells.counters {
		if !o.Names {
			col.Numeric = cells.numeric
		}

		return col, nil
	}

	found := func(row int) string { return strconv.Quote(fault.Clip(texts[row])) }
	const asOthers = "a number, as in other rows of the column"
	switch hint := "a spreadsheet makes dates of numbers like 1.5 or 3-4: type the cell again as text"; {
	case name >= 0:
		return col, &CellError{name, asOthers, found(name), ""}
	case date >= 0:
		return col, &CellError{date, asOthers, found(date) + ", a date", hint}
	}

	if err := col.findDecimal(texts, cells, o); err != nil {
		return col, err
	}

	bare := -1
	col.Values = make([]float64, len(texts))
	for i, text := range texts {
		c := Read(text, o.Missing...)
		col.Values[i], _ = c.Value(col.Decimal)
		if col.Thousands < 0 && c.doubtful[sign(col.Decimal)] {
			col.Thousands = i
		}

		if bare < 0 && c.Form == Number && c.Unit == "" {
			bare = i
		}

		if err := col.convert(i, c.Unit, o.Usual); err != nil {
			return col, &CellError{i, err.Error(), found(i), "write all cells of the column in one unit"}
		}
	}

	if o.Unit == "" && col.Unit != "" {
		col.Bare = bare
	}

	col.Code = Code(col.Values)

	return col, nil
}

// findDecimal finds the decimal sign of the cells.
func (col *Column) findDecimal(texts []string, cells Cells, o ColumnOptions) error {
	switch point, comma := cells.points, cells.commas; {
	case point >= 0 && comma >= 0:
		later, as := max(point, comma), min(point, comma)
		return &CellError{
			later, fmt.Sprintf("one decimal sign in a column, as in %q (row %d)", fault.Clip(texts[as]), as+1),
			strconv.Quote(fault.Clip(texts[later])), "",
		}

	case point >= 0:
		col.Decimal = Point
	case comma >= 0:
		col.Decimal = Comma
	case o.Decimal != 0:
		col.Decimal = o.Decimal
	case cells.ambiguous >= 0:
		i := cells.ambiguous
		c := Read(texts[i], o.Missing...)

		return &CellError{
			i, "a number that can be read in one way",
			fmt.Sprintf("%q, which is %v or %v, and no other cell shows which", texts[i], c.value[1], c.value[0]),
			"state the decimal sign with log: {decimal: comma} or log: {decimal: point}",
		}

	default:
		col.Decimal = Point
	}

	return nil
}

// Code returns the index of the first of ingest.Codes that is further from all other values than they are from
// each other, −1 if none is.
func Code(values []float64) int {
	for _, code := range ingest.Codes {
		at := slices.Index(values, code)
		if at < 0 {
			continue
		}

		others := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v == code || v != v })
		if len(others) > 1 && max(slices.Min(others)-code, code-slices.Max(others)) >= slices.Max(others)-slices.Min(others) {
			return at
		}
	}

	return -1
}

// convert turns value i, in a unit behind it, into the column's.
func (col *Column) convert(i int, unit, usual string) error {
	if unit == "" || unit == col.Unit {
		return nil
	}

	to, err1 := units.Parse(cmp.Or(col.Unit, usual, unit))
	from, err2 := units.Parse(unit)
	c, err := from.To(to)

	switch err = cmp.Or(err1, err2, err); {
	case col.Unit == "" && (err != nil || c.Identity()):
		col.Unit = unit // as it is written
	case err != nil:
		return fmt.Errorf("a number in %s", col.Unit)
	case !c.Identity(): // NaN stays NaN
		col.Unit, col.Values[i] = to.Text, c.Apply(col.Values[i])
	}

	return nil
}
