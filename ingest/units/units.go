// Package units parses units of measurement as files and people write them, and
// converts between units of one dimension.
//
// A unit is a product of symbols with integer powers: "N", "kN", "mN·m", "m/s",
// "kg/m^3", "kg m-3", "1/min". Symbols of the SI take prefixes. The factors of the
// other symbols are exact by definition, with their sources in the table of
// symbols. Levels (dB) and counts are no units here.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dimension holds the powers of mass, length, time, current, temperature and
// plane angle. The angle is kept apart, though the SI calls it a number, so that
// radians are not taken for degrees.
type Dimension [6]int8

var baseSymbols = [6]string{"kg", "m", "s", "A", "K", "rad"}

// String returns the dimension as a product of SI units, "1" for a number.
func (d Dimension) String() string {
	var out []string
	for i, p := range d {
		switch {
		case p == 1:
			out = append(out, baseSymbols[i])
		case p != 0:
			out = append(out, baseSymbols[i]+"^"+strconv.Itoa(int(p)))
		}
	}

	if len(out) == 0 {
		return "1"
	}

	return strings.Join(out, "·")
}

// Unit is a unit of measurement: a value v in it is v·Factor + Offset in SI units.
type Unit struct {
	Text      string // as it was written
	Dimension Dimension
	Factor    float64
	Offset    float64 // of temperature scales only
}

// Error reports a unit that cannot be used.
type Error struct {
	Text string // the unit
	Want string // the expected value
	Hint string // what to do; may be empty
}

func (e *Error) Error() string {
	s := fmt.Sprintf("unit %q: expected %s", e.Text, e.Want)
	if e.Hint != "" {
		s += "; " + e.Hint
	}

	return s
}

// Parse reads a unit. Blanks around it and the brackets of "[N]" and "(N)" are
// ignored; the empty text, "-" and "1" are the unit of a number. The error is an
// *Error.
func Parse(text string) (Unit, error) {
	u := Unit{Text: text, Factor: 1}

	s := strings.TrimSpace(text)
	for _, b := range []string{"[]", "()"} {
		if len(s) > 1 && s[0] == b[0] && s[len(s)-1] == b[1] {
			s = strings.TrimSpace(s[1 : len(s)-1])
		}
	}

	if s == "" || s == "-" || s == "1" {
		return u, nil
	}

	if sym, ok := symbols[s]; ok { // also the scales with an offset, which take no power
		u.Dimension, u.Factor, u.Offset = sym.dim, sym.factor, sym.offset
		return u, nil
	}

	p := parser{rest: s}
	if !p.product(&u, 1) || p.rest != "" {
		return Unit{}, unknown(text)
	}

	return u, nil
}

func unknown(text string) *Error {
	return &Error{
		Text: text, Want: "a unit like N, kN, gf, lbf, N·m, Pa, mbar, psi, m/s, km/h, deg, rad, 1/min, Hz, °C " +
			"or °F",
		Hint: "state the unit in the configuration",
	}
}

// parser reads a product from the front of rest.
type parser struct{ rest string }

// product reads factors up to the end or a closing bracket. sign is the power's
// sign of all of them.
func (p *parser) product(u *Unit, sign int) bool {
	divide := false
	for first := true; ; first = false {
		p.rest = strings.TrimLeft(p.rest, " \t\u00a0\u2009")
		if p.rest == "" || p.rest[0] == ')' {
			return !first && !divide
		}

		r, n := utf8.DecodeRuneInString(p.rest)
		if strings.ContainsRune("·*×⋅.", r) || r == '/' {
			if first || divide {
				return false
			}

			divide = r == '/'

			p.rest = p.rest[n:]
			if !divide && strings.TrimSpace(p.rest) == "" {
				return false
			}

			continue
		}

		s := sign
		if divide {
			s, divide = -sign, false
		}

		if !p.factor(u, s) {
			return false
		}
	}
}

// factor reads one symbol with its power, a 1, or a product in brackets.
func (p *parser) factor(u *Unit, sign int) bool {
	if p.rest[0] == '(' {
		p.rest = p.rest[1:]
		if !p.product(u, sign) || p.rest == "" {
			return false
		}

		p.rest = p.rest[1:]

		return true
	}

	if p.rest[0] == '1' {
		p.rest = p.rest[1:]
		return true
	}

	end := strings.IndexFunc(p.rest, func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!strings.ContainsRune("°µΩ%'\"", r)
	})

	if end < 0 {
		end = len(p.rest)
	}

	sym, ok := lookUp(p.rest[:end])
	if !ok || sym.offset != 0 {
		return false
	}

	p.rest = p.rest[end:]
	power, ok := p.power()
	if !ok {
		return false
	}

	power *= sign
	for i := range u.Dimension {
		d := int(u.Dimension[i]) + power*int(sym.dim[i])
		if d != int(int8(d)) {
			return false
		}

		u.Dimension[i] = int8(d)
	}

	u.Factor *= math.Pow(sym.factor, float64(power))

	return true
}

var superscripts = strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4")

// power reads ^2, **2, 2, -2 or ², 1 where there is none.
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

// lookUp finds a symbol, with an SI prefix where the symbol takes one.
func lookUp(name string) (symbol, bool) {
	if s, ok := symbols[name]; ok {
		return s, true
	}

	for _, p := range prefixes {
		if base, ok := strings.CutPrefix(name, p.text); ok {
			if s, ok := symbols[base]; ok && s.prefixed {
				s.factor *= p.factor
				return s, true
			}
		}
	}

	return symbol{}, false
}

// Conversion turns values in one unit into another: v·Scale + Shift.
type Conversion struct{ Scale, Shift float64 }

// Apply converts one value.
func (c Conversion) Apply(v float64) float64 { return float64(v*c.Scale) + c.Shift }

// Identity reports whether the conversion leaves every value as it is.
func (c Conversion) Identity() bool { return c.Scale == 1 && c.Shift == 0 }

// To returns the conversion from u to another unit of the same dimension. The
// error is an *Error that names both units.
func (u Unit) To(to Unit) (Conversion, error) {
	if u.Dimension != to.Dimension {
		return Conversion{}, &Error{
			Text: u.Text, Want: fmt.Sprintf("a unit of %s (%s), this one is of %s", to.Text, to.Dimension, u.Dimension),
			Hint: "name the column otherwise, or state its unit in the configuration",
		}
	}

	return Conversion{Scale: u.Factor / to.Factor, Shift: (u.Offset - to.Offset) / to.Factor}, nil
}

// OfName returns the unit that the end of a column's name states: "lift_n" is in N,
// "u_inf_m_s" in m/s, "alpha_deg" in degrees, "rpm" in 1/min. ok is false for names
// that state none.
func OfName(name string) (u Unit, ok bool) {
	words := strings.Split(strings.ToLower(name), "_")
	for n := min(3, len(words)); n > 0; n-- {
		text, known := endings[strings.Join(words[len(words)-n:], "_")]

		// A name of one word is a unit only where it is also a quantity.
		if known && (n < len(words) || wholeNames[name]) {
			u, err := Parse(text)
			return u, err == nil
		}
	}

	return Unit{}, false
}

// IsLevel reports whether a unit is that of a level: "dB re 20 µPa", "dBFS", "dB".
func IsLevel(unit string) bool { return strings.HasPrefix(unit, "dB") }

// Difference is the unit of a difference of two values in that unit: levels relative to
// anything differ by dB.
func Difference(unit string) string {
	if IsLevel(unit) {
		return "dB"
	}
	return unit
}
