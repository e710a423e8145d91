package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/train/triplets"
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

// Rows rewrites pairs with one outcome per harmonic, and the group of each.
func (f OrderForm) Rows(d triplets.Set, group []int) (rows triplets.Set, groups []int, err error) {
	if d.Out != f.Harmonics || d.In != f.In {
		panic(fmt.Sprintf("gp: data of %d inputs and %d outcomes for %d inputs and %d harmonics",
			d.In, d.Out, f.In, f.Harmonics))
	}

	rows = triplets.Set{N: d.N * f.Harmonics, In: f.Inputs(), Out: 1, Y1: d.Y1, Y2: d.Y2}
	if rows.X, err = f.X(d.X); err != nil {
		return rows, nil, err
	}

	if d.SetPoints != nil {
		if rows.SetPoints, err = f.X(d.SetPoints); err != nil {
			return rows, nil, err
		}
	}

	rows.Weight = repeat(d.Weight, f.Harmonics)

	return rows, repeat(group, f.Harmonics), nil
}

// repeat repeats each element n times.
func repeat[T any](v []T, n int) (out []T) {
	for _, x := range v {
		out = append(out, slices.Repeat([]T{x}, n)...)
	}
	return out
}

// OrderModel is a Model of the order form that takes and returns rows with one
// outcome per harmonic.
type OrderModel struct {
	Form  OrderForm
	Model *Model
}

// FitOrder is Fit in order form. The columns in o.GroupInputs are those of the
// rewritten rows.
func FitOrder(ctx context.Context, d triplets.Set, f OrderForm, o Options) (*OrderModel, error) {
	r, group, err := f.Rows(d, o.Group)
	if err != nil {
		return nil, err
	}

	o.Group = group
	m, err := Fit(ctx, r, o)
	if err != nil {
		return nil, err
	}

	return &OrderModel{Form: f, Model: m}, nil
}

// Predict is Model.Predict for conditions x (n×Form.In), with results of n rows
// by Form.Harmonics.
func (m *OrderModel) Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error) {
	z, err := m.Form.X(x)
	if err != nil {
		return nil, nil, nil, err
	}

	return m.Model.Predict(ctx, z)
}

// LeaveOut is Model.LeaveOut for rows of all harmonics, with results of rows by
// Form.Harmonics.
func (m *OrderModel) LeaveOut(ctx context.Context, rows []int) (mu, claim, noise []float64, err error) {
	var each []int
	for _, i := range rows {
		for k := range m.Form.Harmonics {
			each = append(each, i*m.Form.Harmonics+k)
		}
	}

	return m.Model.LeaveOut(ctx, each)
}
