package gp

import (
	"fmt"
	"math"
)

// OrderForm rewrites the levels of a rotor's first harmonics of the blade
// passing frequency, one outcome each, as one row per harmonic with one outcome.
// Rotor noise depends on the shaft order m·n of a tone with n blades: in this
// form a tone of one rotor teaches another rotor's tone of the same order.
//
// The inputs of a row are the columns of the conditions, with the shaft speed
// replaced by its logarithm, then ln(m·n) and m.
type OrderForm struct {
	In            int // columns of the conditions
	Blades, Speed int // columns of the number of blades and of the shaft speed, both positive
	Harmonics     int
}

// Inputs is the number of columns of the rewritten rows.
func (f OrderForm) Inputs() int { return f.In + 2 }

// X returns the rows of all harmonics of conditions x (n×In): harmonic m of row
// i is row i·Harmonics + m − 1, so that a column of results is the row-major
// matrix of rows by harmonics.
func (f OrderForm) X(x []float64) ([]float64, error) {
	if len(x)%f.In != 0 {
		panic(fmt.Sprintf("gp: %d numbers are not rows of %d inputs", len(x), f.In))
	}

	out := make([]float64, 0, len(x)/f.In*f.Harmonics*f.Inputs())
	for i := 0; i < len(x); i += f.In {
		row := x[i : i+f.In]
		n, speed := row[f.Blades], row[f.Speed]
		if !(n > 0) || !(speed > 0) {
			return nil, fmt.Errorf("write row %d in order form: expected positive blades and speed, found %g and %g",
				i/f.In, n, speed)
		}

		for m := 1; m <= f.Harmonics; m++ {
			at := len(out)
			out = append(append(out, row...), math.Log(float64(m)*n), float64(m))
			out[at+f.Speed] = math.Log(speed)
		}
	}

	return out, nil
}

// Each is the number of harmonics.
func (f OrderForm) Each() int { return f.Harmonics }

// LnFactors is nil: levels stay.
func (OrderForm) LnFactors([]float64) []float64 { return nil }
