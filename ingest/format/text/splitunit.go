package text

import (
	"regexp"
	"slices"
	"strings"
)

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

	// "f(x)" is a name. A blank or an underline before the brackets, or square brackets, make their content a unit.
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

// LastPart returns the last part of the path of a channel with its unit: "U (m/s)" of "Log/U (m/s)". A slash or a point
// in the unit does not separate parts.
func LastPart(channel string) string {
	return channel[strings.LastIndexAny(beforeUnit(channel), "/.")+1:]
}

// beforeUnit returns a name up to the brackets at its end, or up to a known unit behind a blank.
func beforeUnit(name string) string {
	name = strings.TrimRight(name, " \t")
	if name == "" {
		return name
	}

	bracket := strings.IndexByte(closers, name[len(name)-1])
	if bracket >= 0 {
		if i := strings.LastIndexByte(name, openers[bracket]); i > 0 {
			return beforeUnit(name[:i]) // there may be two: "U [m/s] (mean)"
		}
	}

	if i := strings.LastIndexByte(name, ' '); i > 0 && slices.Contains(knownUnits, name[i+1:]) {
		return name[:i]
	}

	return name
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
