package units

import (
	"math"
	"strconv"
)

// Named is the conversion of a quantity to the unit that its name states.
type Named struct {
	Conversion
	Unit string // after the conversion
	From string // the unit before; "" where nothing is converted
}

// ToName returns how values of the column name, stated in a unit, become values in
// the unit that the name states: "lift_n" stated in kN is multiplied by 1000.
// Nothing is converted, and the stated unit stays, where the name states no unit,
// where none is stated, or where both are the same. An unknown unit, or one of
// another dimension, is an *Error.
func ToName(name, stated string) (Named, error) {
	as := Named{Conversion: Conversion{Scale: 1}, Unit: stated}

	to, ok := OfName(name)
	if stated == "" || !ok {
		return as, nil
	}

	from, err := Parse(stated)
	if err != nil {
		return as, err
	}

	if from.Dimension == number && len(to.Text) == 1 && to.Dimension != number {
		return as, nil // "c_n [-]" is a coefficient, not a force
	}

	if to.Text == "in" && from.Dimension != to.Dimension {
		return as, nil // "T_in [°C]" is one of an inlet
	}

	c, err := from.To(to)
	if err != nil {
		return as, err
	}

	if math.Abs(c.Scale-1) < 1e-15 && c.Shift == 0 || c.Identity() {
		return as, nil
	}

	return Named{Conversion: c, Unit: to.Text, From: stated}, nil
}

// Convert converts values in place.
func (n Named) Convert(v []float64) {
	if n.From != "" { // −0 stays −0
		for i, x := range v {
			v[i] = n.Apply(x)
		}
	}
}

// String describes the conversion for people: "converted from kN, × 1000"; "" where
// nothing is converted.
func (n Named) String() string {
	if n.From == "" {
		return ""
	}
	return "converted from " + n.From + ", " + n.Formula()
}

// Formula writes the conversion: "× 1000", "× 0.5555555556 − 17.77777778".
func (n Named) Formula() string {
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
	s := "× " + g(n.Scale)
	switch {
	case n.Shift > 0:
		s += " + " + g(n.Shift)
	case n.Shift < 0:
		s += " − " + g(-n.Shift)
	}

	return s
}

// coherent are the units that a dimension is shown in.
var coherent = []string{"N", "Pa", "N·m", "m/s", "m", "kg", "s", "deg", "1/s", "°C", "V", "A", "W"}

// Coherent returns the conversion of a unit to the usual one of its dimension: kN to
// N, rad to deg. ok is false for units that are unknown, usual already, or of
// another dimension.
func Coherent(stated string) (n Named, ok bool) {
	from, err := Parse(stated)
	if err != nil || from.Dimension == number {
		return n, false
	}

	for _, text := range coherent {
		to, err := Parse(text)
		if err != nil || to.Dimension != from.Dimension {
			continue
		}

		c, err := from.To(to)
		if err != nil || math.Abs(c.Scale-1) < 1e-15 && c.Shift == 0 {
			return n, false
		}

		return Named{Conversion: c, Unit: text, From: stated}, true
	}

	return n, false
}
