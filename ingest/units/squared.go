package units

import "strings"

// Squared returns the unit of a variance.
func Squared(unit string) string {
	switch {
	case unit == "":
		return ""
	case strings.ContainsAny(unit, " /·"):
		return "(" + unit + ")²"
	}

	return unit + "²"
}
