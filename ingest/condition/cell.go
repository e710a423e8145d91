// Package condition decides what the conditions of a campaign are. A condition is what people set before they measured:
// a number, such as a speed, or a name, such as the name of a propeller. The package reads conditions as people write
// them, in cells of tables and in names of files, combines what several sources state (Merge), and groups rows of equal
// conditions (Groups).
//
// Read reads a cell: a number with a unit, a name, a date, or no value. ReadColumn reads a column of cells, which
// contains either numbers or names. The other cells decide whether 1,234 is a thousand or one and a bit; if none of
// them shows it, ReadColumn returns an error with both readings. Numbers are converted to the unit of the header, or to
// the first unit behind a number.
//
// CutNames cuts the names of files that are of one kind into numbers and the texts between them; it needs all names to
// tell a minus from a hyphen. ParseName reads one number, which the expression NameNumber finds.
//
// A set point is a value that people set, about which the measured values scatter. Its name is the roundest number near
// the middle of its values: speeds of 2994 … 3008 1/min are one set point, 3000 ± 8. SetPointsOf finds the set points
// with a tolerance. Discover finds the tolerance too, if the gaps between clusters of values are several times the
// scatter within them.
package condition

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
)

// Form is the kind of a cell's content.
type Form uint8

// The forms.
const (
	Missing Form = iota // no value: an empty cell, "n/a", "-"
	Number              // with or without a unit
	Date                // with or without a time of day, or a time of day alone
	Name                // any other text
)

// Cell is what was read from a cell of a table.
type Cell struct {
	shape
	Unit  string          // of a number, as written behind it: "°", "m/s"
	value bySign[float64] // of a number
}

// shape is what a cell shows without its value. It is small, since there may be millions.
type shape struct {
	Form
	ok               bySign[bool] // of a number: whether it can be read with this decimal sign
	doubtful         bySign[bool] // of a number: this reading takes its only mark for a mark between thousands: 1,234
	beginsWithNumber bool         // of a name: it begins with a number, as 8x6, so that it may be meant as a number
}

// bySign holds something for each decimal sign that the number in a cell may have.
type bySign[T any] struct{ point, comma T }

// forSign returns the element of a decimal sign. An unknown sign, 0, counts as a point.
func (b bySign[T]) forSign(dec byte) T {
	if dec == Comma {
		return b.comma
	}

	return b.point
}

// Decimal signs.
const (
	Point = '.'
	Comma = ','
)

// missing are the texts that people and programs write for a missing value, in lower case.
var missing = strings.Fields(
	"- -- --- – — ? n/a na n.a. nan null none nil k.a. n.d. #n/a #nv #wert! #value! #div/0! " +
		"#bezug! #ref! #name? #num! #zahl!")

var (
	// numberAtFront matches a number at the front of a cell. Its groups are the sign, the digits with their marks, and the
	// exponent in one of three forms: e5, ×10^5 or ×10⁵.
	numberAtFront = regexp.MustCompile(
		`^([-+−–‑－]?)[ \x{a0}]?(\d[\d.,'’]*(?:[ \x{a0}]\d{3}\b[\d.,]*)*|[.,]\d+)` +
			`(?:([eEdD][-+−]?\d+)|` +
			`[ \x{a0}]?[·×*x⋅][ \x{a0}]?10(?:\^([-+−]?\d+)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?`)

	// deviation matches a deviation behind a number: ± 0.1. deviationInside matches a number with a deviation in
	// parentheses, its group.
	deviation       = regexp.MustCompile(`^[ \x{a0}]*(?:±|\+/-|\+-)[ \x{a0}]*[\d.,]+(?:[eE][-+]?\d+)?`)
	deviationInside = regexp.MustCompile(`^\(([^()]*(?:±|\+/-|\+-)[^()]*)\)`)

	dateForm = regexp.MustCompile(`^(?i)(?:\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|` +
		`(?:19|20)\d{2}[-/.]\d{1,2}[-/.]\d{1,2}|` +
		`\d{1,2}[-. ]{1,2}` + vocabulary.Month + `\.?(?:[- ]\d{2,4})?|` + vocabulary.Month + `\.?[- ]\d{1,4}(?:,? \d{4})?)` +
		`(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?)?$`)
	timeForm = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[apAP][mM])?$`)

	// signedOrForeign matches texts that begin with a number that cannot be read: a number behind a sign that is not of
	// its value, as [5], <5 and ~5, or digits of other scripts.
	signedOrForeign = regexp.MustCompile(`^[\[({<>≤≥~≈=]+ ?[-+]?\d|^\p{Nd}`)
)

// plainBlanks replaces the blanks of print, which may come between thousands, by the usual fixed blank, and wide
// digits by narrow ones.
var plainBlanks = strings.NewReplacer("\u2007", "\u00a0", "\u2009", "\u00a0", "\u202f", "\u00a0",
	"．", ".", "０", "0", "１", "1", "２", "2", "３", "3", "４", "4",
	"５", "5", "６", "6", "７", "7", "８", "8", "９", "9")

// otherUnits are units of cells that package units does not know.
var otherUnits = map[string]bool{
	"%": true, "‰": true, "dB": true, "dBA": true, "dB(A)": true, "counts": true, "Bl": true, "blades": true,
}

// Read reads a cell. none are further texts for a missing value; numbers among them mean every writing of the number.
func Read(cell string, none ...string) Cell {
	s := strings.Trim(cell, " \t\r\u00a0\u2007\u2009\u202f")
	for _, m := range none {
		if strings.EqualFold(m, s) {
			return Cell{}
		}
	}

	if c, ok := readPlain(s); ok {
		for _, m := range none { // -9999 is -9999.0
			if v, ok := text.Number([]byte(m), Point); ok && v == c.value.point {
				return Cell{}
			}
		}

		return c
	}

	s = plainBlanks.Replace(strings.TrimPrefix(s, "'")) // the quote is a spreadsheet's mark of a text
	if s == "" || slices.Contains(missing, strings.ToLower(s)) {
		return Cell{}
	}

	if dateForm.MatchString(s) || timeForm.MatchString(s) {
		return Cell{shape: shape{Form: Date}}
	}

	if m := deviationInside.FindStringSubmatch(s); m != nil { // (5 ± 0.1) mm
		s = m[1] + " " + s[len(m[0]):]
	}

	m := numberAtFront.FindStringSubmatch(s)
	if m == nil {
		return Cell{shape: shape{Form: Name, beginsWithNumber: signedOrForeign.MatchString(s)}}
	}

	digits := m[1] + m[2]
	exponent := strings.TrimLeft(m[3], "eEdD") + m[4] + m[5]
	rest := s[len(m[0]):]
	switch {
	case exponent != "":
		digits += "e" + exponent
	case strings.TrimSpace(rest) == "k": // 100k
		digits += "e3"
		rest = ""
	}

	c := Cell{shape: shape{Form: Number}}
	number := []byte(asPrograms.Replace(digits))
	c.value.point, c.doubtful.point, c.ok.point = text.Typed(number, Point)
	c.value.comma, c.doubtful.comma, c.ok.comma = text.Typed(number, Comma)

	rest = rest[len(deviation.FindString(rest)):]
	name := Cell{shape: shape{Form: Name, beginsWithNumber: true}}
	isNumber := c.ok.point || c.ok.comma
	if !isNumber {
		return name
	}

	isUnit := c.takeUnit(rest)
	if !isUnit {
		return name
	}

	return c
}

// readPlain reads a cell that is nothing but a number with a point or without, as most are. It returns false for
// others.
func readPlain(s string) (Cell, bool) {
	v, ok := text.Number([]byte(s), Point)
	if !ok || math.IsNaN(v) {
		return Cell{}, false
	}

	v += 0 // −0 is 0
	c := Cell{shape: shape{Form: Number, ok: bySign[bool]{true, true}}, value: bySign[float64]{v, v}}
	if strings.IndexByte(s, Point) >= 0 {
		c.value.comma, c.doubtful.comma, c.ok.comma = text.Typed([]byte(s), Comma)
	}

	return c, true
}

// asPrograms replaces the signs and digits of print by those that programs write.
var asPrograms = strings.NewReplacer(
	"−", "-", "–", "-", "‑", "-", "－", "-", "⁻", "-", "⁺", "+",
	"⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")

// takeUnit takes the text behind a number for its unit, and reports whether it is one. No text is one too.
func (c *Cell) takeUnit(s string) bool {
	s = strings.Trim(s, " \t\u00a0")
	if enclosed(s, '[', ']') || enclosed(s, '(', ')') {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}

	c.Unit = s
	if s == "" || otherUnits[s] {
		return true
	}

	_, err := units.Parse(s)
	isNoUnit := s == "-" || s == "1" // units of numbers without a dimension, which nobody writes behind a number

	return err == nil && !isNoUnit
}

// enclosed reports whether a text begins and ends with a pair of brackets.
func enclosed(s string, opening, closing byte) bool {
	return len(s) > 1 && s[0] == opening && s[len(s)-1] == closing
}

// Value returns the number in a cell, read with a decimal sign, and whether it can be read so. It returns NaN and true
// for a missing value.
func (c Cell) Value(dec byte) (v float64, ok bool) {
	if c.Form == Missing {
		return math.NaN(), true
	}

	return c.value.forSign(dec), c.ok.forSign(dec)
}
