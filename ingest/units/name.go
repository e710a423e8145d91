package units

import (
	"math"
	"strconv"
)

// Named is the conversion of a column to another unit, with the names of both units.
type Named struct {
	Conversion
	Unit     string // after the conversion
	Original string // before the conversion; "" if nothing is converted
}

// ToName returns the conversion of the values of a column from the stated unit to the
// unit in the column's name: "lift_n" stated in kN is multiplied by 1000. Nothing is
// converted if the name contains no unit, if no unit is stated, or if both are the
// same. An unknown unit, or a unit of another dimension, is an *Error.
func ToName(name, stated string) (Named, error) {
	unchanged := Named{Conversion: Conversion{Scale: 1}, Unit: stated}

	target, ok := OfName(name)
	if stated == "" || !ok {
		return unchanged, nil
	}

	source, err := Parse(stated)
	if err != nil {
		return unchanged, err
	}

	if source.Dimension == number && len(target.Text) == 1 && target.Dimension != number {
		return unchanged, nil // "c_n [-]" is a coefficient, not a force
	}

	if target.Text == "in" && source.Dimension != target.Dimension {
		return unchanged, nil // "T_in [°C]" is the temperature of an inlet
	}

	conversion, err := source.To(target)
	if err != nil {
		return unchanged, err
	}

	if conversion.negligible() {
		return unchanged, nil
	}

	return Named{Conversion: conversion, Unit: target.Text, Original: stated}, nil
}

// negligible reports whether the conversion leaves every value unchanged, except for rounding.
func (c Conversion) negligible() bool { return math.Abs(c.Scale-1) < 1e-15 && c.Shift == 0 }

// Convert converts values in place.
func (n Named) Convert(v []float64) {
	if n.Original != "" { // otherwise even −0 stays as it is
		for i, x := range v {
			v[i] = n.Apply(x)
		}
	}
}

// String describes the conversion for people: "converted from kN, × 1000". It returns "" if nothing is converted.
func (n Named) String() string {
	if n.Original == "" {
		return ""
	}
	return "converted from " + n.Original + ", " + n.Formula()
}

// Formula returns the conversion for people: "× 1000", "× 0.5555555556 − 17.77777778".
func (n Named) Formula() string {
	s := "× " + tenDigits(n.Scale)
	switch {
	case n.Shift > 0:
		s += " + " + tenDigits(n.Shift)
	case n.Shift < 0:
		s += " − " + tenDigits(-n.Shift)
	}

	return s
}

// tenDigits returns v with up to ten digits.
func tenDigits(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

// usual lists the usual unit of each dimension.
var usual = []string{"N", "Pa", "N·m", "m/s", "m", "kg", "s", "deg", "1/s", "°C", "V", "A", "W"}

// Coherent returns the conversion of a unit to the usual unit of its dimension: kN to N, rad to deg. ok is
// false if the unit is unknown or already the usual one, or if its dimension has no usual unit.
func Coherent(stated string) (conversion Named, ok bool) {
	source, err := Parse(stated)
	if err != nil || source.Dimension == number {
		return Named{}, false
	}

	for _, text := range usual {
		target, err := Parse(text)
		if err != nil || target.Dimension != source.Dimension {
			continue
		}

		c, err := source.To(target)
		if err != nil || c.negligible() {
			return Named{}, false
		}

		return Named{Conversion: c, Unit: text, Original: stated}, true
	}

	return Named{}, false
}
