// Package condition decides what the conditions of a campaign are. It reads numbers as people
// write them, in cells of tables and in names of files, and finds the set points of a condition.
//
// Read reads a cell: a number with a unit, a name, a date, or no value. ReadColumn reads a column
// of cells, which is one of numbers or one of names. Whether 1,234 is a thousand or one and a bit is
// decided by the other cells; where none of them shows it, the column is an error with both
// readings. Numbers are converted to the unit of the header, or to the first one behind a number.
//
// CutNames cuts the names of files that are of one kind into numbers and the texts between them;
// it needs them all to tell a minus from a hyphen. ParseName reads one number, NameNumber is the
// expression that finds it.
//
// A set point is named by the roundest number near the middle of its values: speeds of 2994 … 3008
// 1/min are one set point, 3000 ± 8. SetPointsOf takes a tolerance; Discover finds one where the gaps
// between clusters of values are several times the scatter within them.
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
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// Form is what a cell holds.
type Form uint8

// The forms.
const (
	Missing Form = iota // no value: an empty cell, "n/a", "-"
	Number
	Date // with or without a time of day
	Name // any other text
)

// Cell is what a cell of a table states.
type Cell struct {
	shape
	Unit string // of a number, as written behind it: "°", "m/s"
	// Of a number, by the decimal sign.
	value [2]float64
}

// shape is what a cell shows without its value: there may be millions.
type shape struct {
	Form
	// Of a number, by the decimal sign: whether it can be read so, and whether
	// that takes a single mark, which may be the decimal sign itself, for one between thousands.
	ok       [2]bool
	doubtful [2]bool
	// The text begins with a number: a name like 8x6, which nobody may have meant as one.
	begins bool
}

// Decimal signs.
const (
	Point = '.'
	Comma = ','
)

var signs = [2]byte{Point, Comma}

// missing are the texts that people and programs write for a value that is not there, in lower case.
var missing = strings.Fields("- -- --- – — ? n/a na n.a. nan null none nil k.a. n.d. #n/a #nv #wert! #value! #div/0! " +
	"#bezug! #ref! #name? #num! #zahl!")

var (
	// sign, digits with marks, exponent of the number at the front of a cell
	numeral = regexp.MustCompile(`^([-+−–‑－]?)[ \x{a0}]?(\d[\d.,'’]*(?:[ \x{a0}]\d{3}\b[\d.,]*)*|[.,]\d+)` +
		`(?:([eEdD][-+−]?\d+)|[ \x{a0}]?[·×*x⋅][ \x{a0}]?10(?:\^([-+−]?\d+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?`)
	deviation = regexp.MustCompile(`^[ \x{a0}]*(?:±|\+/-|\+-)[ \x{a0}]*[\d.,]+(?:[eE][-+]?\d+)?`)
	inside    = regexp.MustCompile(`^\(([^()]*(?:±|\+/-|\+-)[^()]*)\)`)
	dates     = regexp.MustCompile(`^(?i)(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|` +
		`(?:19|20)\d{2}[-/.]\d{1,2}[-/.]\d{1,2}|` +
		`\d{1,2}[-. ]{1,2}` + Month + `\.?(?:[- ]\d{2,4})?|` + Month + `\.?[- ]\d{1,4}(?:,? \d{4})?)` +
		`(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?)?$`)
	// a number behind a sign that is not of its value: [5], <5, ~5; digits of other scripts
	wrapped = regexp.MustCompile(`^[\[({<>≤≥~≈=]+ ?[-+]?\d|^\p{Nd}`)
	clocks  = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[apAP][mM])?$`)
)

// plainer makes the blanks of print, which may come between thousands, the usual fixed one, and wide digits narrow.
var plainer = strings.NewReplacer("\u2007", "\u00a0", "\u2009", "\u00a0", "\u202f", "\u00a0", "．", ".", "０", "0",
	"１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9")

// Month is the expression of the name of one, in English or German.
const Month = `(?:jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz?|mrz|apr(?:il)?|ma[yi]|jun[ei]?|jul[yi]?|aug(?:ust)?|` +
	`sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)`

// counted are units of cells that are no units of a dimension.
var counted = map[string]bool{
	"%": true, "‰": true, "dB": true, "dBA": true, "dB(A)": true, "counts": true, "Bl": true, "blades": true,
}

// Read reads a cell. none are further texts for a value that is not there.
func Read(cell string, none ...string) Cell {
	s := strings.Trim(cell, " \t\r\u00a0\u2007\u2009\u202f")
	if slices.ContainsFunc(none, func(m string) bool { return strings.EqualFold(m, s) }) {
		return Cell{}
	}

	if c, ok := plain(s); ok {
		for _, m := range none { // -9999 is -9999.0
			if v, ok := text.Number([]byte(m), Point); ok && v == c.value[0] {
				return Cell{}
			}
		}

		return c
	}

	s = plainer.Replace(strings.TrimPrefix(s, "'")) // the quote is a spreadsheet's mark of a text
	if s == "" || slices.Contains(missing, strings.ToLower(s)) {
		return Cell{}
	}

	if dates.MatchString(s) || clocks.MatchString(s) {
		return Cell{shape: shape{Form: Date}}
	}

	if m := inside.FindStringSubmatch(s); m != nil { // (5 ± 0.1) mm
		s = m[1] + " " + s[len(m[0]):]
	}

	m := numeral.FindStringSubmatch(s)
	if m == nil {
		return Cell{shape: shape{Form: Name, begins: wrapped.MatchString(s)}}
	}

	c := Cell{shape: shape{Form: Number}}
	digits, power, rest := m[1]+m[2], strings.TrimLeft(m[3], "eEdD")+m[4]+m[5], s[len(m[0]):]
	switch {
	case power != "":
		digits += "e" + power
	case strings.TrimSpace(rest) == "k": // 100k
		digits, rest = digits+"e3", ""
	}

	for i, dec := range signs {
		c.value[i], c.doubtful[i], c.ok[i] = text.Typed([]byte(programs.Replace(digits)), dec)
	}

	rest = rest[len(deviation.FindString(rest)):]
	if !c.ok[0] && !c.ok[1] || !c.takeUnit(rest) {
		return Cell{shape: shape{Form: Name, begins: true}}
	}

	return c
}

// plain reads a number without anything but its digits and a point, as most are.
func plain(s string) (Cell, bool) {
	v, ok := text.Number([]byte(s), Point)
	if !ok || math.IsNaN(v) {
		return Cell{}, false
	}

	v += 0 // −0 is 0
	c := Cell{shape: shape{Form: Number, ok: [2]bool{true, true}}, value: [2]float64{v, v}}
	if strings.IndexByte(s, Point) >= 0 {
		c.value[1], c.doubtful[1], c.ok[1] = text.Typed([]byte(s), Comma)
	}

	return c, true
}

// programs makes the signs of print those of programs.
var programs = strings.NewReplacer("−", "-", "–", "-", "‑", "-", "－", "-", "⁻", "-", "⁺", "+", "⁰", "0", "¹", "1",
	"²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")

// takeUnit takes the text behind a number for its unit.
func (c *Cell) takeUnit(s string) bool {
	s = strings.Trim(s, " \t\u00a0")
	if n := len(s); n > 1 && (s[0] == '[' && s[n-1] == ']' || s[0] == '(' && s[n-1] == ')') {
		s = strings.TrimSpace(s[1 : n-1])
	}

	c.Unit = s
	_, err := units.Parse(s)

	return s == "" || counted[s] || err == nil && s != "-" && s != "1"
}

// sign is the index of a decimal sign; that of one not known is the point's.
func sign(dec byte) int { return max(0, slices.Index(signs[:], dec)) }

// Value is the number that a cell is with a decimal sign.
func (c Cell) Value(dec byte) (v float64, ok bool) {
	if c.Form == Missing {
		return math.NaN(), true
	}

	return c.value[sign(dec)], c.ok[sign(dec)]
}

// Column is a column of cells, read: of numbers or of names.
type Column struct {
	Values  []float64 // by row, NaN where a cell states none; nil of a column of names
	Unit    string    // of the values: that of the header, else the first behind a number
	Decimal byte      // sign that the values were read with
	Doubts  []Doubt   // the first of each code
}

// Doubt is a cell that may be meant otherwise.
type Doubt struct {
	Row int
	// of a warning: "thousands", "missing-code", "bare-number", of a column of names "names-with-numbers"
	Code, Text string
}

func (col *Column) doubt(row int, code, format string, args ...any) {
	col.Doubts = append(col.Doubts, Doubt{row, code, fmt.Sprintf(format, args...)})
}

// ColumnOptions tell what the cells of a column do not show themselves.
type ColumnOptions struct {
	Missing []string // further texts for a value that is not there
	Unit    string   // of the header
	Usual   string   // unit of numbers without one where others have one; "": that of the first
	Decimal byte     // sign that is stated; 0: the one that the columns show
	Default byte     // sign where none shows one; 0: not known
	Names   bool     // the cells are names, whatever they look like
	Remarks bool     // a column with both names and numbers is one of names
}

// CellError is a cell that does not fit into its column; the caller knows the file.
type CellError struct {
	Row               int
	Want, Found, Hint string
}

func (e *CellError) Error() string {
	return fmt.Sprintf("row %d: expected %s, found %s", e.Row+1, e.Want, e.Found)
}

// ReadColumn reads a column. Its cells are numbers, in one unit, or all of them are names or dates;
// else the error is a *CellError. The decimal sign is the one that some cell shows for certain,
// else that of the options; a column in which 1,234 may be both is an error.
func ReadColumn(texts []string, o ColumnOptions) (Column, error) {
	cols, errs := ReadColumns(func(int) []string { return texts }, []ColumnOptions{o})
	return cols[0], errs[0]
}

// ReadColumns reads the columns of a table, as ReadColumn does each. The decimal sign that one of numbers shows is
// that of those that show none.
func ReadColumns(texts func(k int) []string, options []ColumnOptions) (cols []Column, errs []error) {
	point, comma := -1, -1
	for k, o := range options {
		if !o.Names {
			p, c := showing(readCells(texts(k), o))
			point, comma = max(point, p), max(comma, c)
		}
	}

	for k, o := range options {
		o.Decimal = cmp.Or(o.Decimal, only(point, comma), o.Default)
		col, err := newColumn(texts(k), o)
		cols, errs = append(cols, col), append(errs, err)
	}

	return cols, errs
}

// readCells reads each cell of a column by itself.
func readCells(texts []string, o ColumnOptions) []shape {
	return lists.Each(texts, func(s string) shape { return Read(s, o.Missing...).shape })
}

// showing are the first cells that can be read with one decimal sign alone, the point or the comma; −1: none.
func showing(cells []shape) (point, comma int) {
	return slices.IndexFunc(cells, func(c shape) bool { return c.ok[0] && !c.ok[1] }),
		slices.IndexFunc(cells, func(c shape) bool { return c.ok[1] && !c.ok[0] })
}

// only is the decimal sign that some cell shows where none shows the other, else 0.
func only(point, comma int) byte {
	if (point >= 0) == (comma >= 0) {
		return 0
	}

	return map[bool]byte{true: Point, false: Comma}[point >= 0]
}

func newColumn(texts []string, o ColumnOptions) (col Column, err error) {
	defer fault.Catch(&err)
	col = Column{Unit: o.Unit}
	if o.Names {
		return col, nil
	}

	cells := readCells(texts, o)
	first := func(is func(c shape) bool) int { return slices.IndexFunc(cells, is) }
	of := func(form Form) int { return first(func(c shape) bool { return c.Form == form }) }
	name, date := of(Name), of(Date)
	switch {
	case of(Number) < 0 && !(date >= 0 && name < 0 && o.measured()) || date < 0 && counters(texts, cells):
		if i := first(func(c shape) bool { return c.begins || c.Form == Number }); i >= 0 {
			col.doubt(i, "names-with-numbers", "%q begins with a number, but is none: the column is one of names", texts[i])
		}

		return col, nil
	case o.Remarks && first(func(c shape) bool { return c.Form == Name && !c.begins }) >= 0:
		return col, nil
	}

	found := func(row int) string { return strconv.Quote(fault.Clip(texts[row])) }
	asOthers := "a number, as in other rows of the column"
	if of(Number) < 0 {
		asOthers = "a number, by the column's header"
	}

	switch hint := "a spreadsheet makes dates of numbers like 1.5 or 3-4: type the cell again as text"; {
	case name >= 0:
		return col, &CellError{name, asOthers, found(name), ""}
	case date >= 0:
		return col, &CellError{date, asOthers, found(date) + ", a date", hint}
	}

	col.findDecimal(texts, cells, o)

	bare := -1
	col.Values = make([]float64, len(texts))
	for i, text := range texts {
		c := Read(text, o.Missing...)
		if col.Values[i], _ = c.Value(col.Decimal); bare < 0 && c.Form == Number && c.Unit == "" {
			bare = i
		}

		if err := col.convert(i, c.Unit, o.Usual); err != nil {
			return col, &CellError{i, err.Error(), found(i), "write all cells of the column in one unit"}
		}
	}

	if i := first(func(c shape) bool { return c.doubtful[sign(col.Decimal)] }); i >= 0 {
		col.doubt(i, "thousands", "%q is read as %g, since the decimal sign is %q", texts[i], col.Values[i], col.Decimal)
	}

	col.FindCode()
	if o.Unit == "" && col.Unit != "" && bare >= 0 {
		col.doubt(bare, "bare-number", "%q states no unit, but other cells do: it is read as %g %s", texts[bare],
			col.Values[bare], col.Unit)
	}

	return col, nil
}

// measured reports whether the header states a unit, but not of time, as no date has.
func (o ColumnOptions) measured() bool {
	unit := cmp.Or(o.Unit, o.Usual)
	u, err := units.Parse(unit)
	time, _ := units.Parse("s")

	return unit != "" && err == nil && u.Dimension != time.Dimension
}

var counter = regexp.MustCompile(`^.{0,6}[0-9][A-Za-z]$`)

// counters reports whether all cells are numbers with a letter, as 1A, 1B, 2A are, which name something.
func counters(texts []string, cells []shape) bool {
	other := func(i int) bool { return cells[i].Form != Missing && !counter.MatchString(texts[i]) }
	return slices.ContainsFunc(cells, func(c shape) bool { return c.begins }) && len(lists.Where(len(texts), other)) == 0
}

// findDecimal finds the decimal sign of the cells. It raises a *CellError.
func (col *Column) findDecimal(texts []string, cells []shape, o ColumnOptions) {
	point, comma := showing(cells)
	col.Decimal = cmp.Or(only(point, comma), o.Decimal, Point)
	switch {
	case point >= 0 && comma >= 0:
		later, as := max(point, comma), min(point, comma)
		fault.Raise(&CellError{
			later, fmt.Sprintf("one decimal sign in a column, as in %q (row %d)", fault.Clip(texts[as]), as+1),
			strconv.Quote(fault.Clip(texts[later])), "",
		})

	case point < 0 && comma < 0 && o.Decimal == 0:
		if i := ambiguous(texts, cells, cmp.Or(o.Unit, o.Usual)); i >= 0 {
			v := Read(texts[i]).value
			fault.Raise(&CellError{
				i, "a number that can be read in one way",
				fmt.Sprintf("%q, which is %v or %v, and no other cell shows which", texts[i], v[1], v[0]),
				"state the decimal sign with log: {decimal: comma} or log: {decimal: point}",
			})
		}
	}
}

// ambiguous is the first cell like 1,234. Without one it is the first like 1.200 if another cell is like 900 (a program
// would write 900.000), or if it would be a shaft speed below 100 1/min; −1: none.
func ambiguous(texts []string, cells []shape, unit string) int {
	rounds, hundreds := -1, false
	for i, c := range cells {
		switch s := texts[i]; {
		case c.doubtful[0]:
			return i
		case rounds < 0 && c.doubtful[1] && strings.HasSuffix(s, "0"):
			rounds = i
		case len(s) == 3 && c.Form == Number && Read(s).value[0] >= 100:
			hundreds = true
		}
	}

	perMinute, _ := units.Parse("1/min")
	of, _ := units.Parse(unit)
	c, err := of.To(perMinute)
	slow := err == nil && c.Identity() && rounds >= 0 && Read(texts[rounds]).value[0] < 100
	if hundreds || slow {
		return rounds
	}

	return -1
}

// FindCode doubts the first of ingest.Codes that is further from all other values than they are from each other.
func (col *Column) FindCode() {
	for _, code := range ingest.Codes {
		at := slices.Index(col.Values, code)
		if at < 0 {
			continue
		}

		others := slices.DeleteFunc(slices.Clone(col.Values), func(v float64) bool { return v == code || v != v })
		if len(others) > 1 && max(slices.Min(others)-code, code-slices.Max(others)) >= slices.Max(others)-slices.Min(others) {
			col.doubt(at, "missing-code", "%v is far from all others: if it is a code for no value, ingest: {missing: [%[1]v]}",
				code)
			return
		}
	}
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
