package gp

import (
	"fmt"
	"math"
)

// OrderForm is the form of rotors. Their outcomes are the levels of the first harmonics m = 1, 2, … of the blade
// passing frequency. In this form each harmonic of a condition is a row, and a row has one outcome. Rotor noise depends
// on the shaft order m·n of a tone with n blades: in this form a tone of one rotor teaches another rotor's tone of the
// same order.
//
// The inputs of a row are the columns of the conditions, with the shaft speed replaced by its logarithm, then ln(m·n)
// and m.
type OrderForm struct {
	Columns   int `json:"In"` // of the conditions
	Blades    int // column of the number of blades, which must be positive
	Speed     int // column of the shaft speed, which must be positive
	Harmonics int // number of harmonics
}

// Inputs returns the number of columns of the rewritten rows.
func (f OrderForm) Inputs() int { return f.Columns + 2 }

// X returns the rows of all harmonics of conditions x (n×Columns). Harmonic m of condition i is row
// i·Harmonics + m − 1. It returns an error if the number of blades or the speed of a condition is not positive.
func (f OrderForm) X(x []float64) ([]float64, error) {
	if len(x)%f.Columns != 0 {
		panic(fmt.Sprintf("gp: %d numbers are not rows of %d inputs", len(x), f.Columns))
	}

	z := make([]float64, 0, len(x)/f.Columns*f.Harmonics*f.Inputs())
	for i := 0; i < len(x); i += f.Columns {
		row := x[i : i+f.Columns]
		blades := row[f.Blades]
		speed := row[f.Speed]
		if !(blades > 0) || !(speed > 0) {
			return nil, fmt.Errorf("write row %d in order form: expected positive blades and speed, found %g and %g",
				i/f.Columns, blades, speed)
		}

		for m := 1; m <= f.Harmonics; m++ {
			start := len(z)
			z = append(z, row...)
			z = append(z, math.Log(float64(m)*blades), float64(m))
			z[start+f.Speed] = math.Log(speed)
		}
	}

	return z, nil
}

// Each returns the number of harmonics.
func (f OrderForm) Each() int { return f.Harmonics }

// LnFactors returns nil, because the form does not change levels.
func (OrderForm) LnFactors([]float64) []float64 { return nil }
