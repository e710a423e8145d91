package text

import (
	"regexp"
	"slices"
	"strings"
)

// knownUnits are units that make a row of the header a row of units. TS and RN are a logger's time stamp and record.
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
	units := 0
	words := 0
	for _, cell := range cells {
		if _, isNumber := Number(cell, '.'); isNumber || len(cell) == 0 {
			continue
		}

		words++
		if isUnit(string(cell)) {
			units++
		}
	}

	return 2*units > words
}

// notUnit matches texts in brackets that are not units: Y[0], rpm (set).
var notUnit = regexp.MustCompile(`(?i)^(\d+|set|soll|ist|act|actual|nom|nominal|meas|measured|gemessen|target|` +
	`cmd|command|commanded|demand|mean|avg|average|std|sd|corr|corrected)$`)

// SplitUnit separates the unit from a header: "Time (s)", "Fx [N]", "p[Pa]".
func SplitUnit(head string) (name, unit string) {
	s := strings.TrimSpace(head)
	if s == "" {
		return s, ""
	}

	bracket := strings.IndexByte(closers, s[len(s)-1])
	if bracket < 0 {
		return splitPlainUnit(s)
	}

	i := strings.LastIndexByte(s, openers[bracket])
	if i <= 0 {
		return s, ""
	}

	name = strings.TrimRight(s[:i], " \t")
	unit = strings.TrimSpace(s[i+1 : len(s)-1])

	// "f(x)" is a name; with a blank, an underline or square brackets it is a unit.
	isAttached := s[i] != '[' && len(name) == i && !strings.ContainsAny(s[i-1:i], "_/")
	mayBeVariable := !slices.Contains(knownUnits, unit) || strings.Contains("-CWgh", unit)
	if isAttached && mayBeVariable {
		return s, ""
	}

	name = strings.TrimRight(name, "_/ ")
	if name == "" || unit != "" && notUnit.MatchString(unit) {
		return s, ""
	}

	return name, unit
}

// splitPlainUnit separates a unit without brackets: Fx/N, Kraft in N, "Force, N", speed m/s.
func splitPlainUnit(s string) (name, unit string) {
	i := strings.LastIndexByte(s, ' ')
	unit = s[i+1:]
	if i > 0 && strings.Contains(unit, "/") && slices.Contains(knownUnits, unit) {
		name = strings.TrimSuffix(strings.TrimSuffix(s[:i], " in"), " en")
		return strings.TrimRight(name, " ,"), unit
	}

	if isUnit(s) {
		return s, ""
	}

	for _, separator := range []string{" in ", " en ", ", ", "/"} {
		name, unit, _ = strings.Cut(s, separator)
		name = strings.TrimSpace(name)
		unit = strings.TrimSpace(unit)

		isSignal := strings.HasSuffix(" "+name, " S")                                   // S/N is a ratio of signal to noise
		isRatio := separator == "/" && (isSignal || strings.Contains("ACKVWghm", unit)) // T/W
		if slices.Contains(knownUnits, unit) && !isRatio && !isUnit(name) {
			return name, unit
		}
	}

	return s, ""
}
