package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// undefined is a number that is not known.
var undefined = math.NaN()

// number is a cell of a table: a mean with its spread, rounded for people, or a text.
type number struct {
	mean string // digits; "" if the cell has a text
	std  string // digits of the spread; "" if there is none
	exp  int    // mean and std are to be multiplied by 10^exp
	text string // instead of a number: a word, or the dash of an undefined number

	grade score.Grade // that the text names, which a terminal colours; "" for other cells
}

// undefinedText stands in place of an undefined number. The notes give the reason.
const undefinedText = "–"

// round writes a value times scale with the digits that the spread allows:
//
//   - The spread has two significant digits, and the mean ends at the same decimal.
//   - Without a spread (one seed) the mean has three significant digits.
//   - A spread of zero, or below a millionth of the mean, is left out, and the mean has four significant
//     digits. So small a spread is the rounding of a float32 network.
//   - From a million on, and below 1e-4, both are written with a power of ten.
func round(value score.Value, scale float64) number {
	mean := value.Mean * scale
	std := value.Std * scale
	if !value.Defined() || math.IsInf(mean, 0) {
		return number{text: undefinedText}
	}

	if value.N == 1 || std < 0 || math.IsInf(std, 0) {
		std = math.NaN()
	}

	if std < 1e-6*math.Abs(mean) {
		std = 0
	}

	var cell number

	size := math.Abs(mean)
	if std > size { // false if std is NaN
		size = std
	}

	if size != 0 && (size < 1e-4 || size >= 1e6) {
		cell.exp = numbers.Exponent(size, 3)
		mean = numbers.Shift(mean, -cell.exp)
		std = numbers.Shift(std, -cell.exp)
	}

	switch {
	case math.IsNaN(std):
		cell.mean = numbers.Fixed(mean, numbers.Decimals(mean, 3))
	case std == 0:
		cell.mean = numbers.Fixed(mean, numbers.Decimals(mean, 4))
	default:
		decimals := 1 - numbers.Exponent(std, 2)
		cell.mean = numbers.Fixed(mean, decimals)
		cell.std = numbers.Fixed(std, decimals)
	}

	return cell
}

// percentCell writes a difference in percent with its sign. From 10 % on it has no decimals, below it has one.
func percentCell(pct float64) number {
	if math.IsNaN(pct) || math.IsInf(pct, 0) {
		return number{text: undefinedText}
	}

	decimals := 0
	if math.Abs(pct) < 9.95 {
		decimals = 1
	}

	text := numbers.Fixed(pct, decimals)
	if math.Abs(pct) >= 1e6 {
		text = strconv.FormatFloat(pct, 'e', 1, 64)
	}

	if pct > 0 {
		text = "+" + text
	}

	return number{text: text + " %"}
}

// twoDigits writes a value times scale, such as a standard error, with two significant digits and without its spread.
func twoDigits(value score.Value, scale float64) number {
	if !value.Defined() {
		return number{text: undefinedText}
	}

	value.Std = math.NaN()
	cell := round(value, scale)
	if cell.text == "" {
		mean := numbers.Shift(value.Mean*scale, -cell.exp)
		cell.mean = numbers.Fixed(mean, numbers.Decimals(mean, 2))
	}

	return cell
}

// plain writes a number on one line: "0.9910 ± 0.0012", "(1.20 ± 0.30)e+08".
func (n number) plain() string {
	left, right := n.splitAtSpread()
	return left + right
}

func (n number) String() string { return n.plain() }

// Minus writes the number like plain, but with a true minus sign. The template of the page calls it.
func (n number) Minus() string { return strings.ReplaceAll(n.plain(), "-", "−") }

// splitAtSpread returns the text of plain in two parts, the second of which begins with " ±", so that the numbers of a
// column can be aligned there. The second part is "" if the number has no spread.
func (n number) splitAtSpread() (left, right string) {
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

// tex writes the number as a formula of LaTeX.
func (n number) tex() string {
	switch {
	case n.text == undefinedText:
		return "--"
	case n.mean == "":
		return texEscape(texFit(n.text, texWords))
	}

	formula := n.mean
	if n.std != "" {
		formula += ` \pm ` + n.std
	}

	if n.exp != 0 {
		if n.std != "" {
			formula = "(" + formula + ")"
		}
		formula += ` \times 10^{` + strconv.Itoa(n.exp) + `}`
	}

	return "$" + formula + "$"
}
