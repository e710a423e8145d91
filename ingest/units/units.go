// Package units parses units of measurement as files and people write them, and
// converts between units of one dimension.
//
// A unit is a product of symbols with integer powers: "N", "kN", "mN·m", "m/s",
// "kg/m^3", "kg m-3", "1/min". Symbols of the SI take prefixes. The factors of the
// other symbols are exact by definition. The table of symbols names their sources.
// Levels (dB) are not units here.
package units

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dimension has the power of each base quantity. In the SI, the plane angle is a number. Here it is a base quantity of
// its own, so that an angle is not taken for a number.
type Dimension struct {
	Mass, Length, Time, Current, Temperature, Angle int8
}

// String returns the dimension as a product of SI units, "1" for a number.
func (d Dimension) String() string {
	var factors []string
	for _, base := range []struct {
		symbol string
		power  int8
	}{
		{"kg", d.Mass},
		{"m", d.Length},
		{"s", d.Time},
		{"A", d.Current},
		{"K", d.Temperature},
		{"rad", d.Angle},
	} {
		switch {
		case base.power == 1:
			factors = append(factors, base.symbol)
		case base.power != 0:
			factors = append(factors, base.symbol+"^"+strconv.Itoa(int(base.power)))
		}
	}

	if len(factors) == 0 {
		return "1"
	}

	return strings.Join(factors, "·")
}

// times returns the dimension d·e^power. It returns false if a power of the product does not fit an int8.
func (d Dimension) times(e Dimension, power int) (product Dimension, ok bool) {
	product = d
	for _, base := range []struct {
		power *int8 // in the product
		added int8  // in e
	}{
		{&product.Mass, e.Mass},
		{&product.Length, e.Length},
		{&product.Time, e.Time},
		{&product.Current, e.Current},
		{&product.Temperature, e.Temperature},
		{&product.Angle, e.Angle},
	} {
		sum := int(*base.power) + power*int(base.added)
		if sum < math.MinInt8 || sum > math.MaxInt8 {
			return Dimension{}, false
		}

		*base.power = int8(sum)
	}

	return product, true
}

// Unit is a unit of measurement. A value v in this unit is v·Factor + Offset in SI units.
type Unit struct {
	Text      string // as it was written
	Dimension Dimension
	Factor    float64
	Offset    float64 // 0 except for temperature scales
}

// Error is the error of a unit that cannot be used.
type Error struct {
	Text string // the unit as it was written
	Want string // what was expected instead, for people
	Hint string // what to do; may be empty
}

func (e *Error) Error() string {
	text := e.Text
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}

	s := fmt.Sprintf("unit %q: expected %s", text, e.Want)
	if e.Hint != "" {
		s += "; " + e.Hint
	}

	return s
}

// longest is the greatest number of bytes of a unit. A file may state any text as a unit. The parser of products calls
// itself for each bracket, and millions of brackets would overflow the stack, which ends the program.
const longest = 200

// Parse parses a unit. It ignores blanks around it and the brackets of "[N]" and "(N)".
// The empty text, "-" and "1" are the unit of a plain number. A 1 may stand in a product, as in "1/min". Parse refuses
// other numbers, as in "11 N", because a value with a number in its unit would lose this factor. The error is an
// *Error.
func Parse(text string) (Unit, error) {
	u := Unit{Text: text, Factor: 1}

	s := withoutBrackets(withoutBrackets(strings.TrimSpace(text)))
	if s == "" || s == "-" || s == "1" {
		return u, nil
	}

	if sym, ok := symbols[s]; ok { // scales with an offset are only allowed as whole units
		u.Dimension = sym.dim
		u.Factor = sym.factor
		u.Offset = sym.offset

		return u, nil
	}

	p := parser{rest: s}
	if len(s) > longest || !p.product(&u, 1) || p.rest != "" {
		return Unit{}, unknown(text)
	}

	return u, nil
}

// withoutBrackets returns the text in the brackets of "[N]" or "(N)". Text that is not as a whole in one pair of
// brackets, such as "(N)/(m)", remains as it is.
func withoutBrackets(s string) string {
	if s == "" || !isOpening(s[0]) {
		return s
	}

	inner := s[1:]
	depth := 1
	for i := range len(inner) {
		switch {
		case isOpening(inner[i]):
			depth++
		case isClosing(inner[i]):
			depth--
		}

		if depth == 0 && i < len(inner)-1 {
			return s
		}
	}

	if depth != 0 || inner[len(inner)-1] != closingOf(s[0]) {
		return s
	}

	return strings.TrimSpace(inner[:len(inner)-1])
}

func isOpening(c byte) bool { return c == '(' || c == '[' }

func isClosing(c byte) bool { return c == ')' || c == ']' }

// closingOf returns the bracket that closes an opening one.
func closingOf(opening byte) byte {
	if opening == '[' {
		return ']'
	}

	return ')'
}

// unknown returns the error that a text is not a unit.
func unknown(text string) *Error {
	return &Error{
		Text: text, Want: "a unit like N, kN, gf, lbf, N·m, Pa, mbar, psi, m/s, km/h, deg, rad, 1/min, Hz, °C " +
			"or °F",
		Hint: "state the unit in the configuration",
	}
}

// parser parses a product. Its methods return false if the text is not a unit.
type parser struct{ rest string } // the text that is not parsed yet

// product parses factors up to the end of the text or a closing bracket, and multiplies u by them. sign, 1 or −1,
// multiplies their powers: it is −1 in a bracket after a slash.
func (p *parser) product(u *Unit, sign int) bool {
	divide := false // the last character was a slash, which concerns the next factor only
	for first := true; ; first = false {
		p.rest = strings.TrimLeft(p.rest, " \t\u00a0\u2009")
		if p.rest == "" || isClosing(p.rest[0]) {
			return !first && !divide
		}

		r, size := utf8.DecodeRuneInString(p.rest)
		if strings.ContainsRune("·*×⋅.", r) || r == '/' {
			if first || divide {
				return false
			}

			divide = r == '/'

			p.rest = p.rest[size:]
			if !divide && strings.TrimSpace(p.rest) == "" {
				return false
			}

			continue
		}

		factorSign := sign
		if divide {
			factorSign = -sign
			divide = false
		}

		if !p.factor(u, factorSign) {
			return false
		}
	}
}

// factor parses one factor, and multiplies u by it: a symbol with its power, a 1, or a product in brackets. sign
// multiplies its power.
func (p *parser) factor(u *Unit, sign int) bool {
	if isOpening(p.rest[0]) {
		closing := closingOf(p.rest[0])
		p.rest = p.rest[1:]
		if !p.product(u, sign) || p.rest == "" || p.rest[0] != closing {
			return false
		}

		p.rest = p.rest[1:]

		return true
	}

	if p.rest[0] == '1' {
		p.rest = p.rest[1:]
		return p.rest == "" || !strings.ContainsRune("0123456789.,", rune(p.rest[0])) // 11 and 1.1 are other numbers
	}

	afterSymbol := strings.TrimLeftFunc(p.rest, isSymbol)
	sym, ok := lookUp(p.rest[:len(p.rest)-len(afterSymbol)])
	if !ok || sym.offset != 0 {
		return false
	}

	p.rest = afterSymbol
	power, ok := p.power()
	if !ok {
		return false
	}

	power *= sign

	u.Dimension, ok = u.Dimension.times(sym.dim, power)
	if !ok {
		return false
	}

	u.Factor *= math.Pow(sym.factor, float64(power))

	return true
}

// isSymbol reports whether a character may be part of a unit's symbol.
func isSymbol(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune("°µΩ%'\"", r) }

var superscripts = strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4")

// power parses a power, written as ^2, **2, 2, -2 or ². It returns 1 and true if there is none. It returns false if
// the power is not a whole number from −9 to 9, or 0.
func (p *parser) power() (int, bool) {
	s, marked := strings.CutPrefix(p.rest, "^")
	if !marked {
		s, marked = strings.CutPrefix(p.rest, "**")
	}

	end := len(s) - len(strings.TrimLeft(s, "0123456789-⁻⁰¹²³⁴"))
	if end == 0 {
		return 1, !marked
	}

	v, err := strconv.Atoi(superscripts.Replace(s[:end]))
	if err != nil || v == 0 || v < -9 || v > 9 {
		return 0, false
	}

	p.rest = s[end:]

	return v, true
}

// lookUp returns the symbol with that name. The name may have an SI prefix if the symbol takes one.
func lookUp(name string) (symbol, bool) {
	if sym, ok := symbols[name]; ok {
		return sym, true
	}

	for _, prefix := range prefixes {
		base, ok := strings.CutPrefix(name, prefix.text)
		if !ok {
			continue
		}

		if sym, known := symbols[base]; known && sym.prefixed {
			sym.factor *= prefix.factor
			return sym, true
		}
	}

	return symbol{}, false
}

// Conversion converts values from one unit to another: v becomes v·Scale + Shift.
type Conversion struct{ Scale, Shift float64 }

// Apply converts one value.
func (c Conversion) Apply(v float64) float64 { return float64(v*c.Scale) + c.Shift }

// Identity reports whether the conversion leaves every value unchanged.
func (c Conversion) Identity() bool { return c.Scale == 1 && c.Shift == 0 }

// To returns the conversion from u to another unit of the same dimension. The
// error is an *Error that names both units.
func (u Unit) To(target Unit) (Conversion, error) {
	if u.Dimension != target.Dimension {
		return Conversion{}, &Error{
			Text: u.Text,
			Want: fmt.Sprintf("a unit of %s (%s), this one is of %s", target.Text, target.Dimension, u.Dimension),
			Hint: "name the column otherwise, or state its unit in the configuration",
		}
	}

	return Conversion{Scale: u.Factor / target.Factor, Shift: (u.Offset - target.Offset) / target.Factor}, nil
}

// OfName returns the unit at the end of a column's name: "lift_n" is in N, "u_inf_m_s" in
// m/s, "alpha_deg" in degrees, "rpm" and "RPM" in 1/min. ok is false if the name has no unit.
func OfName(name string) (unit Unit, ok bool) {
	const maxWords = 3 // of an ending: "v_per_pa"
	words := strings.Split(strings.ToLower(name), "_")
	for n := min(maxWords, len(words)); n > 0; n-- {
		text, known := endings[strings.Join(words[len(words)-n:], "_")]

		// A whole name counts only if it is also a quantity: a column "n" is not in N.
		isEnding := n < len(words) || wholeNames[words[0]]
		if known && isEnding {
			parsed, err := Parse(text)
			return parsed, err == nil
		}
	}

	return Unit{}, false
}

// NameWith returns the name of a column with the ending of the usual unit of a unit's dimension: "lift" in kN becomes
// "lift_n". It returns "" if the unit is unknown, or if its dimension has no usual unit.
func NameWith(name, unit string) string {
	own, err := Parse(unit)
	if err != nil {
		return ""
	}

	for _, text := range usual {
		target, err := Parse(text)
		if err != nil || target.Dimension != own.Dimension {
			continue
		}

		for _, ending := range slices.Sorted(maps.Keys(endings)) {
			if endings[ending] == text {
				return name + "_" + ending
			}
		}
	}

	return ""
}

// IsLevel reports whether a unit is the unit of a level: "dB re 20 µPa", "dBFS", "dB".
func IsLevel(unit string) bool { return strings.HasPrefix(unit, "dB") }

// Difference returns the unit of the difference between two values in that unit. The difference of levels is in dB,
// whatever their reference is.
func Difference(unit string) string {
	if IsLevel(unit) {
		return "dB"
	}
	return unit
}
