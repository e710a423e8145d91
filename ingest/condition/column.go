package condition

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/units"
)

// Column is what was read from a column of cells: numbers or names.
type Column struct {
	Values  []float64 // by row, NaN for a cell without a value; nil for a column of names
	Unit    string    // of the values: the unit of the header, otherwise the first behind a number
	Decimal byte      // the decimal sign with which the values were read
	Doubts  []Doubt   // the first doubt of each code
}

// Doubt is a cell that may be meant otherwise.
type Doubt struct {
	Row int
	// Code is the code of a warning: "thousands", "missing-code", "bare-number", or, for a column of names,
	// "names-with-numbers".
	Code string
	Text string // how the cell is read, and why
}

// doubt adds a doubt about the cell in a row.
func (col *Column) doubt(row int, code, format string, args ...any) {
	col.Doubts = append(col.Doubts, Doubt{row, code, fmt.Sprintf(format, args...)})
}

// ColumnOptions tell how to read the cells of a column.
type ColumnOptions struct {
	Missing []string // further texts for a missing value
	Unit    string   // of the header; "": it states none
	Usual   string   // unit into which numbers with units are converted if the header states none; "": the first unit
	Decimal byte     // decimal sign of cells that do not show it; 0: the sign that the columns show
	Default byte     // decimal sign if no column shows it; 0: not known
	Names   bool     // the cells are names, whatever they look like
	Remarks bool     // a column with both names and numbers is a column of names
}

// CellError is the error of a cell that does not fit into its column. The caller adds the file.
type CellError struct {
	Row               int
	Want, Found, Hint string
}

func (e *CellError) Error() string {
	return fmt.Sprintf("row %d: expected %s, found %s", e.Row+1, e.Want, e.Found)
}

// ReadColumn reads a column. All cells must be numbers, in units of one dimension, or all must be names or dates;
// otherwise the error is a *CellError. The decimal sign is the one that some cell shows for certain, otherwise the one
// of the options. A column in which 1,234 may be read with both is an error.
func ReadColumn(texts []string, o ColumnOptions) (Column, error) {
	cols, errs := ReadColumns(func(int) []string { return texts }, []ColumnOptions{o})
	return cols[0], errs[0]
}

// ReadColumns reads the columns of a table, each as ReadColumn does. texts returns the cells of column k. A column
// whose numbers do not show the decimal sign takes it from a column that does. errs has the error of each column, nil
// if it was read.
func ReadColumns(texts func(k int) []string, options []ColumnOptions) (cols []Column, errs []error) {
	someShowPoint := false
	someShowComma := false
	for k, o := range options {
		if !o.Names {
			point, comma := firstShowing(readCells(texts(k), o))
			someShowPoint = someShowPoint || point >= 0
			someShowComma = someShowComma || comma >= 0
		}
	}

	for k, o := range options {
		o.Decimal = cmp.Or(o.Decimal, onlySign(someShowPoint, someShowComma), o.Default)
		col, err := newColumn(texts(k), o)
		cols = append(cols, col)
		errs = append(errs, err)
	}

	return cols, errs
}

// readCells returns the shape of each cell of a column.
func readCells(texts []string, o ColumnOptions) []shape {
	cells := make([]shape, len(texts))
	for i, s := range texts {
		cells[i] = Read(s, o.Missing...).shape
	}

	return cells
}

// firstShowing returns the rows of the first cells that can be read only with a point and only with a comma, or −1.
func firstShowing(cells []shape) (point, comma int) {
	return slices.IndexFunc(cells, func(c shape) bool { return c.ok.point && !c.ok.comma }),
		slices.IndexFunc(cells, func(c shape) bool { return c.ok.comma && !c.ok.point })
}

// onlySign returns the decimal sign that some cell shows if no cell shows the other one, and 0 otherwise.
func onlySign(showsPoint, showsComma bool) byte {
	switch {
	case showsPoint && !showsComma:
		return Point
	case showsComma && !showsPoint:
		return Comma
	}

	return 0
}

// firsts holds the rows of the first cells of several kinds; −1: the column has no cell of the kind. They are the rows
// that errors and doubts name.
type firsts struct {
	number, date, name int // of these forms
	numbered           int // a number, or a name that begins with a number
	plain              int // a name that does not begin with a number
	begins             int // a name that begins with a number
}

// firstsOf returns the first cells of a column by kind.
func firstsOf(cells []shape) firsts {
	first := func(ok func(c shape) bool) int { return slices.IndexFunc(cells, ok) }

	return firsts{
		number:   first(func(c shape) bool { return c.Form == Number }),
		date:     first(func(c shape) bool { return c.Form == Date }),
		name:     first(func(c shape) bool { return c.Form == Name }),
		numbered: first(func(c shape) bool { return c.Form == Number || c.beginsWithNumber }),
		plain:    first(func(c shape) bool { return c.Form == Name && !c.beginsWithNumber }),
		begins:   first(func(c shape) bool { return c.beginsWithNumber }),
	}
}

// newColumn reads a column. o.Decimal is the decimal sign of cells that do not show it; 0: it is not known.
func newColumn(texts []string, o ColumnOptions) (Column, error) {
	col := Column{Unit: o.Unit}
	if o.Names {
		return col, nil
	}

	cells := readCells(texts, o)
	firsts := firstsOf(cells)
	if firsts.areNames(texts, cells, o) {
		if i := firsts.numbered; i >= 0 {
			col.doubt(i, "names-with-numbers", "%q begins with a number, but is none: the column is one of names", texts[i])
		}

		return col, nil
	}

	if o.Remarks && firsts.plain >= 0 {
		return col, nil
	}

	if err := firsts.misfit(texts); err != nil {
		return col, err
	}

	if err := col.findDecimal(texts, cells, o); err != nil {
		return col, err
	}

	bare, err := col.readValues(texts, o)
	if err != nil {
		return col, err
	}

	isDoubtful := func(c shape) bool { return c.doubtful.forSign(col.Decimal) }
	if i := slices.IndexFunc(cells, isDoubtful); i >= 0 {
		col.doubt(i, "thousands", "%q is read as %g, since the decimal sign is %q", texts[i], col.Values[i], col.Decimal)
	}

	col.FindCode()
	if o.Unit == "" && col.Unit != "" && bare >= 0 {
		col.doubt(bare, "bare-number", "%q states no unit, but other cells do: it is read as %g %s", texts[bare],
			col.Values[bare], col.Unit)
	}

	return col, nil
}

// areNames reports whether the cells are names: there are no numbers, or all cells are numbers with a letter. Dates
// alone are names unless the column should have numbers, which a spreadsheet may have made dates.
func (f firsts) areNames(texts []string, cells []shape, o ColumnOptions) bool {
	haveOnlyDates := f.date >= 0 && f.name < 0
	areDatesOfNumbers := haveOnlyDates && o.isMeasured()
	if f.number < 0 && !areDatesOfNumbers {
		return true
	}

	return f.date < 0 && f.begins >= 0 && areCounters(texts, cells)
}

// readValues reads the numbers of the column in one unit. It returns the row of the first number without a unit, or
// −1. The error is a *CellError.
func (col *Column) readValues(texts []string, o ColumnOptions) (bare int, err error) {
	bare = -1
	col.Values = make([]float64, len(texts))
	for i, text := range texts {
		c := Read(text, o.Missing...)
		col.Values[i], _ = c.Value(col.Decimal)
		if bare < 0 && c.Form == Number && c.Unit == "" {
			bare = i
		}

		if err := col.convert(i, c.Unit, o.Usual); err != nil {
			return bare, &CellError{
				Row: i, Want: err.Error(), Found: quoted(text), Hint: "write all cells of the column in one unit",
			}
		}
	}

	return bare, nil
}

// misfit returns the error of the first cell that does not fit into a column of numbers, or nil.
func (f firsts) misfit(texts []string) error {
	want := "a number, as in other rows of the column"
	if f.number < 0 {
		want = "a number, by the column's header"
	}

	switch {
	case f.name >= 0:
		return &CellError{Row: f.name, Want: want, Found: quoted(texts[f.name])}
	case f.date >= 0:
		return &CellError{
			Row: f.date, Want: want, Found: quoted(texts[f.date]) + ", a date",
			Hint: "a spreadsheet makes dates of numbers like 1.5 or 3-4: type the cell again as text",
		}
	}

	return nil
}

// quoted writes a cell in quotes for messages.
func quoted(cell string) string { return strconv.Quote(fault.Clip(cell)) }

// isMeasured reports whether the column should have numbers with a unit. A column of times may have dates.
func (o ColumnOptions) isMeasured() bool {
	unit := cmp.Or(o.Unit, o.Usual)
	u, err := units.Parse(unit)
	time, _ := units.Parse("s")

	return unit != "" && err == nil && u.Dimension != time.Dimension
}

// counterForm matches a number with a letter behind it: 1A.
var counterForm = regexp.MustCompile(`^.{0,6}[0-9][A-Za-z]$`)

// areCounters reports whether all cells are numbers with a letter, such as 1A, 1B, 2A, which are names.
func areCounters(texts []string, cells []shape) bool {
	for i, text := range texts {
		if cells[i].Form != Missing && !counterForm.MatchString(text) {
			return false
		}
	}

	return true
}

// findDecimal sets the decimal sign of the column. It is an error, a *CellError, if cells show both signs, or if a
// cell can be read with both and nothing tells which is meant.
func (col *Column) findDecimal(texts []string, cells []shape, o ColumnOptions) error {
	point, comma := firstShowing(cells)
	showsPoint := point >= 0
	showsComma := comma >= 0
	col.Decimal = cmp.Or(onlySign(showsPoint, showsComma), o.Decimal, Point)
	switch {
	case showsPoint && showsComma:
		first := min(point, comma)
		second := max(point, comma)

		return &CellError{
			Row:   second,
			Want:  fmt.Sprintf("one decimal sign in a column, as in %q (row %d)", fault.Clip(texts[first]), first+1),
			Found: quoted(texts[second]),
		}
	case showsPoint || showsComma || o.Decimal != 0:
		return nil
	}

	i := ambiguous(texts, cells, cmp.Or(o.Unit, o.Usual))
	if i < 0 {
		return nil
	}

	v := Read(texts[i]).value

	return &CellError{
		Row:   i,
		Want:  "a number that can be read in one way",
		Found: fmt.Sprintf("%q, which is %v or %v, and no other cell shows which", texts[i], v.comma, v.point),
		Hint:  "state the decimal sign with log: {decimal: comma} or log: {decimal: point}",
	}
}

// A program writes numbers such as 1.200 with three decimals, and also 900.000. Beside the number 900, 1.200 is 1200.
const (
	threeDigits     = 3
	leastHundreds   = 100 // 099 and 1.5 are not hundreds
	leastShaftSpeed = 100 // 1/min: slower shafts are rare
)

// ambiguous returns the row of the first cell such as 1,234, which can be read in two ways. If there is none, it
// returns the first cell such as 1.200 if people seem to have written it as 1200: another cell is such as 900, or the
// number would be a slow speed of a shaft. It returns −1 if no cell is ambiguous.
func ambiguous(texts []string, cells []shape, unit string) int {
	round := -1
	hasHundreds := false
	for i, c := range cells {
		s := texts[i]
		switch {
		case c.doubtful.point:
			return i
		case round < 0 && c.doubtful.comma && strings.HasSuffix(s, "0"):
			round = i
		case len(s) == threeDigits && c.Form == Number && Read(s).value.point >= leastHundreds:
			hasHundreds = true
		}
	}

	if round < 0 {
		return -1
	}

	isTooSlow := isShaftSpeed(unit) && Read(texts[round]).value.point < leastShaftSpeed
	if hasHundreds || isTooSlow {
		return round
	}

	return -1
}

// isShaftSpeed reports whether a unit is 1/min by any name.
func isShaftSpeed(unit string) bool {
	perMinute, _ := units.Parse("1/min")
	u, _ := units.Parse(unit)
	c, err := u.To(perMinute)

	return err == nil && c.Identity()
}

// FindCode adds a doubt about the first of ingest.Codes, such as -9999, that is further from all other values than
// these are from each other: it may be a code for no value.
func (col *Column) FindCode() {
	for _, code := range ingest.Codes {
		row := slices.Index(col.Values, code)
		if row < 0 {
			continue
		}

		var others []float64
		for _, v := range col.Values {
			if v != code && !math.IsNaN(v) {
				others = append(others, v)
			}
		}

		if len(others) < 2 {
			continue
		}

		least := slices.Min(others)
		greatest := slices.Max(others)
		if max(least-code, code-greatest) >= greatest-least {
			col.doubt(row, "missing-code", "%v is far from all others: if it is a code for no value, ingest: {missing: [%[1]v]}",
				code)
			return
		}
	}
}

// convert converts value i, which has a unit behind it, into the unit of the column. The column takes the unit of its
// first value if the header states none. NaN stays NaN.
func (col *Column) convert(i int, unit, usual string) error {
	if unit == "" || unit == col.Unit {
		return nil
	}

	c, text, err := conversion(unit, cmp.Or(col.Unit, usual, unit))
	switch {
	case col.Unit == "" && (err != nil || c.Identity()):
		col.Unit = unit // as it is written
	case err != nil:
		return fmt.Errorf("a number in %s", col.Unit)
	case !c.Identity():
		col.Unit = text
		col.Values[i] = c.Apply(col.Values[i])
	}

	return nil
}

// conversion returns the conversion of a unit into a target, and the text of the target as package units writes it.
func conversion(unit, target string) (units.Conversion, string, error) {
	t, err := units.Parse(target)
	if err != nil {
		return units.Conversion{}, "", err
	}

	u, err := units.Parse(unit)
	if err != nil {
		return units.Conversion{}, "", err
	}

	c, err := u.To(t)

	return c, t.Text, err
}
