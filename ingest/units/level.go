package units

import "strings"

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
