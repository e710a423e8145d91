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
	"math"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
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
		`\d{1,2}[-. ]{1,2}` + month + `\.?(?:[- ]\d{2,4})?|` + month + `\.?[- ]\d{1,4}(?:,? \d{4})?)` +
		`(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[ap]m)?(?:Z|[+-]\d{2}:?\d{2})?)?$`)
	// a number behind a sign that is not of its value: [5], <5, ~5; digits of other scripts
	wrapped = regexp.MustCompile(`^[\[({<>≤≥~≈=]+ ?[-+]?\d|^\p{Nd}`)
	clocks  = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[apAP][mM])?$`)
)

// plainer makes the blanks of print, which may come between thousands, the usual fixed one, and wide digits narrow.
var plainer = strings.NewReplacer("\u2007", "\u00a0", "\u2009", "\u00a0", "\u202f", "\u00a0", "．", ".", "０", "0",
	"１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9")

// month is the name of one, in English or German.
const month = `(?:jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|märz?|mrz|apr(?:il)?|ma[yi]|jun[ei]?|jul[yi]?|aug(?:ust)?|` +
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
	digits, rest := number(m), s[len(m[0]):]
	if strings.TrimSpace(rest) == "k" && m[3]+m[4]+m[5] == "" { // 100k
		digits, rest = digits+"e3", ""
	}

	for i, dec := range signs {
		c.value[i], c.doubtful[i], c.ok[i] = text.Typed([]byte(digits), dec)
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

// number is the number of a match of numeral, with the signs of programs.
func number(m []string) string {
	s := m[1] + m[2]
	if power := strings.TrimLeft(m[3], "eEdD") + m[4] + m[5]; power != "" {
		s += "e" + power
	}

	return programs.Replace(s)
}

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

// sign is the index of a decimal sign.
func sign(dec byte) int {
	if dec == Comma {
		return 1
	}
	return 0
}

// Value is the number that a cell is with a decimal sign.
func (c Cell) Value(dec byte) (v float64, ok bool) {
	if c.Form == Missing {
		return math.NaN(), true
	}

	return c.value[sign(dec)], c.Form == Number && c.ok[sign(dec)]
}

// Shows is the decimal sign that the cell has for certain, 0 of one that either could be.
func (c shape) Shows() byte {
	switch {
	case c.Form != Number || c.ok[0] == c.ok[1]:
		return 0
	case c.ok[0]:
		return Point
	}

	return Comma
}
