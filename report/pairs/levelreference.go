package pairs

import (
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/units"
)

// mayShareReference reports whether levels in two units may have the same reference. It returns false only if both
// units state a reference, such as "dB re 1 µPa" and "dB re 20 µPa", and the references differ.
func mayShareReference(first, second string) bool {
	a := levelReference(first)
	b := levelReference(second)
	if a == "" || b == "" || a == b {
		return true
	}

	sizeA, unitA, okA := parseReference(a)
	sizeB, unitB, okB := parseReference(b)
	if !okA || !okB {
		return false
	}

	conversion, err := unitA.To(unitB)
	const slack = 1e-9 // for the rounding of the conversion

	return err == nil && math.Abs(sizeA*conversion.Scale/sizeB-1) <= slack
}

// levelReference returns the reference in the unit of a level: "20 µPa" in "dB re 20 µPa", and "full scale" in "dBFS".
// It returns "" if the unit states no reference, as "dB" and "dB(A)".
func levelReference(unit string) string {
	if strings.HasPrefix(unit, "dBFS") {
		return "full scale"
	}

	_, reference, _ := strings.Cut(unit, " re ")

	return strings.TrimSpace(reference)
}

// parseReference returns the number and the unit of a reference such as "20 µPa" or "2e-5 Pa". ok is false if the text
// does not begin with a positive number, or if the unit is not known.
func parseReference(text string) (size float64, unit units.Unit, ok bool) {
	end := strings.LastIndexAny(text, "0123456789") + 1 // the number ends with a digit
	size, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	if err != nil || !(size > 0) {
		return 0, units.Unit{}, false
	}

	unit, err = units.Parse(strings.TrimSpace(text[end:]))

	return size, unit, err == nil
}
