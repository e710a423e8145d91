package filename

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
)

// Piece is one place of a name: a number with the word before it and the unit behind it, a text, a date or a time of
// day. A token is a piece of one of these alone. Places are offsets in bytes in the name without its ending.
type Piece struct {
	Kind       Kind
	Key        string // the word before a number; Read returns the name of the condition instead; "": none
	Unit       string // the unit behind a number; "": none
	Text       string // as written, with the sign of a number but without the word and the unit
	Begin      int    // offset of the beginning, with the word
	End        int    // offset of the end, with the unit
	TextBegin  int    // offset of the beginning of text
	TextEnd    int    // offset of the end of text
	MayBeMinus bool   // the hyphen before the number may be a minus
}

// Kind is the kind of a piece.
type Kind byte

// Kinds of pieces.
const (
	Separator Kind = iota // characters between other tokens; Read returns none
	Number
	Word // a text, such as wingA
	Date
	Clock // a time of day, or a time in seconds since 1970
)

// Copy is the key of numbers and words that tell copies, or repeats, of one name apart.
const Copy = "copy"

// Unnamed is the condition of a number without a word and without a unit.
const Unnamed = "condition"

var (
	// AllDigits matches whole numbers without a sign.
	AllDigits = regexp.MustCompile(`^\d+$`)
	// AmbiguousMark matches numbers whose mark may be of decimals or of thousands: 4.500.
	AmbiguousMark = regexp.MustCompile(`^[1-9]\d{0,2}[.,]\d{3}$`)
)

// IsUnnamed reports whether the piece of a name is a number that has neither a known word nor a unit.
func (p Piece) IsUnnamed(name string) bool {
	if p.Kind != Number || p.Unit != "" || p.Key == Copy {
		return false
	}

	return !vocabulary.IsKnown(strings.TrimRight(name[p.Begin:p.TextBegin], " _-=."))
}

// Value returns the value of a number, with the factor of a unit such as k. Three decimals of a speed of a shaft are
// thousands: nobody sets 6.000 rpm.
func (p Piece) Value() float64 {
	value, _ := condition.ParseName(p.Text)
	if factor, multiplies := vocabulary.Multipliers[p.Unit]; multiplies {
		value *= factor
	}

	if (p.Key == "rpm" || p.Key == "n") && AmbiguousMark.MatchString(p.Text) {
		value *= 1000
	}

	return value
}

// isDayOfMonth reports whether a number with a word is a day: May3. Short names of months that are other words too do
// not count in any letter case: sep may be a separation.
func (p Piece) isDayOfMonth() bool {
	if p.Kind != Number || p.Unit != "" || len(p.Text) > 2 {
		return false
	}

	isOtherWord := slices.Contains([]string{"sep", "dec", "mar"}, strings.ToLower(p.Key))

	return vocabulary.Months.MatchString(p.Key) && !isOtherWord
}

// newTextPiece returns the part of a name from begin to end as a text.
func newTextPiece(name string, begin, end int) Piece {
	return Piece{Kind: Word, Text: name[begin:end], Begin: begin, TextBegin: begin, TextEnd: end, End: end}
}

// isQuantity reports whether a number has a unit that names its quantity, so that it does not count anything. A single
// letter may be a part of a count.
func (p Piece) isQuantity() bool {
	unit, _ := vocabulary.UnitOf(p.Unit)
	return len(p.Unit) > 1 && unit.Condition != ""
}

// condition returns the name of the condition of a number.
func (p Piece) condition() string {
	word := strings.ToLower(p.Key)
	unit, _ := vocabulary.UnitOf(p.Unit)
	standard := vocabulary.StandardNames[word]
	switch {
	case word == "":
		return cmp.Or(unit.Condition, Unnamed)
	case standard != "" && strings.HasSuffix(standard, unit.Ending):
		return standard
	case word == "n" && unit.Ending == "rpm":
		return "rpm"
	case unit.Ending != "" && !strings.HasSuffix(word, unit.Ending):
		return word + "_" + unit.Ending
	}

	return word
}

// IsThing reports whether a number is part of the name of a thing: NACA0012, wing2, HQ5040. A number behind a word of
// things has few digits, and a number behind a word in upper case has many.
func (p Piece) IsThing() bool {
	if !AllDigits.MatchString(p.Text) || p.Unit != "" {
		return false
	}

	switch {
	case condition.Series.MatchString(p.Key):
		return true
	case vocabulary.Things.MatchString(p.Key) && len(p.Text) < 3:
		return true
	}

	return vocabulary.Type.MatchString(p.Key) && !vocabulary.IsKnown(p.Key) && len(p.Text) > 2
}
