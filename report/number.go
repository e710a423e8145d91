package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// number is a mean and its spread, rounded for people.
type number struct {
	mean string
	std  string // "" when there is none
	exp  int    // both are to be multiplied by 10^exp
	text string // instead of a number: the dash of an undefined one, a word
}

// undefinedText replaces an undefined number; the reason is in the notes.
const undefinedText = "–"

// round writes a value times scale the way the spread allows:
//
//   - the spread gets two significant digits, the mean goes to the same place;
//   - without a spread (one seed) the mean gets three significant digits;
//   - a spread of zero, or one below a millionth of the mean, which is the
//     rounding of a float32 network and no spread, is left out, and the mean gets four;
//   - from a million on, and below 1e-4, both are written with a power of ten.
func round(v score.Value, scale float64) number {
	mean, std := v.Mean*scale, v.Std*scale
	if !v.Defined() || math.IsInf(mean, 0) {
		return number{text: undefinedText}
	}

	if v.N == 1 || std < 0 || math.IsInf(std, 0) {
		std = math.NaN()
	}

	if std < 1e-6*math.Abs(mean) {
		std = 0
	}

	var n number

	size := math.Abs(mean)
	if std > size {
		size = std
	}

	if size != 0 && (size < 1e-4 || size >= 1e6) {
		n.exp = numbers.Exponent(size, 3)
		mean, std = numbers.Shift(mean, -n.exp), numbers.Shift(std, -n.exp)
	}

	switch {
	case math.IsNaN(std):
		n.mean = numbers.Fixed(mean, numbers.Decimals(mean, 3))
	case std == 0:
		n.mean = numbers.Fixed(mean, numbers.Decimals(mean, 4))
	default:
		d := 1 - numbers.Exponent(std, 2)
		n.mean, n.std = numbers.Fixed(mean, d), numbers.Fixed(std, d)
	}

	return n
}

// percent writes a difference in percent with its sign: whole numbers from ten
// on, one decimal below.
func percent(pct float64) number {
	if math.IsNaN(pct) || math.IsInf(pct, 0) {
		return number{text: undefinedText}
	}

	d := 0
	if math.Abs(pct) < 9.95 {
		d = 1
	}

	s := numbers.Fixed(pct, d)
	if math.Abs(pct) >= 1e6 {
		s = strconv.FormatFloat(pct, 'e', 1, 64)
	}

	if pct > 0 {
		s = "+" + s
	}

	return number{text: s + " %"}
}

// twoDigits writes a standard error times scale: two significant digits, and
// no spread of its own.
func twoDigits(v score.Value, scale float64) number {
	if !v.Defined() {
		return number{text: undefinedText}
	}

	v.Std = math.NaN()
	n := round(v, scale)
	if n.text == "" {
		m := numbers.Shift(v.Mean*scale, -n.exp)
		n.mean = numbers.Fixed(m, numbers.Decimals(m, 2))
	}

	return n
}

// plain writes a number on one line: "0.9910 ± 0.0012", "(1.20 ± 0.30)e+08".
func (n number) plain() string {
	left, right := n.parts()
	return left + right
}

func (n number) String() string { return n.plain() }

// Minus is plain with a true minus sign.
func (n number) Minus() string { return strings.ReplaceAll(n.plain(), "-", "−") }

// parts splits plain before " ±", so that a column can be aligned there.
func (n number) parts() (left, right string) {
	switch {
	case n.text != "":
		return n.text, ""
	case n.exp != 0 && n.std != "":
		return "(" + n.mean, " ± " + n.std + fmt.Sprintf(")e%+d", n.exp)
	case n.exp != 0:
		return n.mean + fmt.Sprintf("e%+d", n.exp), ""
	case n.std != "":
		return n.mean, " ± " + n.std
	}

	return n.mean, ""
}

// tex writes the number in LaTeX's mathematics.
func (n number) tex() string {
	switch {
	case n.text == undefinedText:
		return "--"
	case n.mean == "":
		return texEscape(texFit(n.text, texWords))
	}

	s := n.mean
	if n.std != "" {
		s += ` \pm ` + n.std
	}

	if n.exp != 0 {
		if n.std != "" {
			s = "(" + s + ")"
		}
		s += ` \times 10^{` + strconv.Itoa(n.exp) + `}`
	}

	return "$" + s + "$"
}
