package text

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"doubletake/ingest/units"
)

// This file recognises cells and rows of units, in the spellings of loggers and of people.

// knownUnits are cells that are units wherever they stand in a header. TS and RN are a logger's time stamp and record.
var knownUnits = strings.Fields("s ms us µs ns min h sec Hz kHz 1/s N kN mN Nm N.m N·m N⋅m N*m lb lbf kgf gf Pa " +
	"kPa hPa mbar bar psi mmH2O V mV A mA W m mm cm m/s m/s2 m/s^2 m/s² g kg kg/m3 kg/m^3 deg ° rad rad/s rpm RPM " +
	"1/min U/min tr/min km/h K °C degC C - % dB counts TS RN hh:mm:ss dd.mm.yyyy yyyy-mm-dd")

// unitsAsWords are units that are written as words. A sequence is the number of a sample and has no unit.
var unitsAsWords = map[string]string{
	"volt": "V", "volts": "V", "ampere": "A", "amperes": "A", "second": "s", "seconds": "s", "-": "",
	"sequence": "", "newton": "N", "newtons": "N", "pascal": "Pa", "pascals": "Pa", "degree": "deg", "degrees": "deg",
}

// mostUnit is the number of bytes of a cell in brackets, with them, that may be a unit.
const mostUnit = 18

// unitOf returns the unit in a cell of a row of units: N of "[N]", "" of "-".
func unitOf(cell string) string {
	if isInBrackets(cell) {
		cell = strings.TrimSpace(cell[1 : len(cell)-1])
	}

	if unit, ok := unitsAsWords[strings.ToLower(cell)]; ok {
		return unit
	}

	return cell
}

// openers and closers are the brackets around units, in the same order.
const (
	openers = "[({<"
	closers = "])}>"
)

// isInBrackets reports whether a cell is enclosed by one pair of brackets: "[N]", not "Fx (N)".
func isInBrackets(cell string) bool {
	n := len(cell)
	if n < 2 {
		return false
	}

	bracket := strings.IndexByte(openers, cell[0])

	return bracket >= 0 && cell[n-1] == closers[bracket] && strings.LastIndexByte(cell, cell[0]) == 0
}

// isUnit reports whether a cell can be nothing but a unit.
func isUnit(cell string) bool {
	_, isWord := unitsAsWords[strings.ToLower(cell)]
	if isWord || slices.Contains(knownUnits, cell) || cell == "N m" {
		return true
	}

	return isInBrackets(cell) && len(cell) <= mostUnit
}

// areUnits reports whether most words of a row are units. Numbers and empty cells do not count.
func areUnits(cells [][]byte) bool {
	count := 0
	words := 0
	for _, cell := range cells {
		if _, isNumber := Number(cell, '.'); isNumber || len(cell) == 0 {
			continue
		}

		words++
		if isUnit(string(cell)) {
			count++
		}
	}

	return 2*count > words
}

// noUnits are cells of a row of units that say that a column has none.
var noUnits = strings.Fields("/ - -- --- – — * . # _ n/a none 1 No No. Nr Nr. no no. nr nr. adim dimensionless " +
	"unitless [] () [-] (-) [/] (/) <-> text string bool")

// isNoUnit reports whether a cell says that a column has no unit.
func isNoUnit(cell string) bool { return slices.Contains(noUnits, cell) }

// aliases are units as people write them in rows of units, in lower case without blanks, points and underlines.
var aliases = map[string]string{
	"degrc": "°C", "degrf": "°F", "gradc": "°C", "grdc": "°C", "°c": "°C", "degcelsius": "°C", "degc": "°C",
	"degreesc": "°C", "degreec": "°C", "degf": "°F", "oc": "°C", "degree": "deg", "degrees": "deg", "degr": "deg",
	"deg": "deg", "grad": "deg", "mtr": "m", "sec": "s", "msec": "ms", "usec": "us", "volt": "V", "volts": "V",
	"amp": "A", "amps": "A", "newton": "N", "newtons": "N", "pascal": "Pa", "kelvin": "K", "degk": "K", "watt": "W",
	"hertz": "Hz", "u/min": "1/min", "rev/min": "1/min", "min-1": "1/min", "meter": "m", "metre": "m", "m/sec": "m/s",
	"meter/s": "m/s",
}

// withoutMarks removes blanks, points, underlines and brackets.
var withoutMarks = strings.NewReplacer(" ", "", ".", "", "_", "", "[", "", "]", "", "(", "", ")", "")

// aliasOf returns the unit that a cell writes in another way, or "".
func aliasOf(cell string) string {
	return aliases[withoutMarks.Replace(strings.ToLower(cell))]
}

var (
	// clockForm matches the form of dates and times: H:M:S, hh:mm:ss.fff, dd.mm.yyyy.
	clockForm = regexp.MustCompile(`(?i)^[\[(]?[hmsdyjtf]{1,4}(?:[:./ T-][hmsdyjtf]{1,6}){1,6}[\])]?$`)
	// ratioForm matches a length that is divided by another: x/c, r/R, %c.
	ratioForm = regexp.MustCompile(`(?i)^[\[(]?(?:[xyzrs]/[cbrdlhs]|%? ?(?:of )?(?:chord|span)|% ?c)[\])]?$`)
)

// isSureUnit reports whether a cell is a unit and hardly a name.
func isSureUnit(cell string) bool {
	isKnown := isUnit(cell) && !isNoUnit(cell)
	isClock := clockForm.MatchString(cell) && strings.Contains(cell, ":")

	return isKnown || aliasOf(cell) != "" || isClock
}

// mayBeUnit reports whether a cell below a name can be a unit.
func mayBeUnit(cell string) bool {
	hasForm := clockForm.MatchString(cell) || ratioForm.MatchString(cell)
	if hasForm || isSureUnit(cell) || isNoUnit(cell) {
		return true
	}

	_, err := units.Parse(cell)

	return err == nil
}

// areUnitsBelow reports whether a row below the names has units: most of its words may be units and one is a unit for
// sure, or none of its words has a unit, as in "/", "x/c", and one says so. Numbers and empty cells do not count.
func areUnitsBelow(cells [][]byte) bool {
	sure := 0
	possible := 0
	none := 0
	ratios := 0
	words := 0
	for _, cell := range cells {
		if isAnyNumber(cell) || len(cell) == 0 {
			continue
		}

		unit := string(bytes.TrimSpace(cell))
		words++
		switch {
		case isNoUnit(unit):
			none++
			possible++
		case isSureUnit(unit):
			sure++
			possible++
		case ratioForm.MatchString(unit):
			ratios++
			possible++
		case mayBeUnit(unit):
			possible++
		}
	}

	isWithoutUnits := none > 0 && none+ratios == words

	return isWithoutUnits || sure > 0 && 2*possible > words
}

// unitBelow returns the unit in a cell of a row of units in the usual spelling, and "" if the column has no unit.
func unitBelow(cell string) string {
	if isNoUnit(cell) || ratioForm.MatchString(cell) {
		return ""
	}

	return cmp.Or(aliasOf(cell), unitOf(cell))
}

// namesAreUnits reports whether all cells that name the columns are units: each is then the unit of its column, too. A
// cell of a single letter may be a quantity, such as a speed V, so that namesAreUnits returns false.
func namesAreUnits(cells [][]byte) bool {
	const shortest = 2 // letters of a unit that is not a quantity, too
	for _, cell := range cells {
		if len(cell) < shortest || !isSureUnit(string(cell)) {
			return false
		}
	}

	return len(cells) > 1
}

// isLength reports whether a cell is a unit of lengths.
func isLength(cell string) bool {
	unit, err := units.Parse(cell)
	return err == nil && unit.Dimension == units.Dimension{Length: 1}
}
