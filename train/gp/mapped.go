package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// A Form writes conditions as the rows that a process sees, and its outcomes back in their own units.
type Form interface {
	// X returns the rows of conditions, Each for each: a column of results is then the row-major matrix
	// of conditions by rows.
	X(x []float64) ([]float64, error)
	Each() int
	// LnFactors returns ln of each outcome over the process's at conditions x; nil: they are the same.
	LnFactors(x []float64) []float64
}

// Mapped is a Model of a form that takes and returns conditions.
type Mapped struct {
	Form  Form
	Model *Model
	x     []float64 // training conditions; nil after reading a stored model
}

// FitForm is Fit in a form. The columns in o are those of the form's rows.
func FitForm(ctx context.Context, d triplets.Set, f Form, o Options) (_ *Mapped, err error) {
	defer fault.Catch(&err)
	o.Group, o.Level = repeat(o.Group, f.Each(), 1), repeat(o.Level, f.Each(), len(o.Labels))

	return &Mapped{Form: f, Model: fault.Get(Fit(ctx, rowsIn(f, d), o)), x: d.X}, nil
}

// rowsIn rewrites pairs in a form.
func rowsIn(f Form, d triplets.Set) (r triplets.Set) {
	each := f.Each()
	if d.Out%each != 0 {
		panic(fmt.Sprintf("gp: data of %d outcomes for %d rows of each condition", d.Out, each))
	}

	r = triplets.Set{N: d.N * each, Out: d.Out / each, Y1: d.Y1, Y2: d.Y2, Weight: repeat(d.Weight, each, 1)}
	r.Alone = repeat(d.Alone, each, 1)
	r.X = fault.Get(f.X(d.X))

	r.In = len(r.X) / max(r.N, 1)
	if d.SetPoints != nil {
		r.SetPoints = fault.Get(f.X(d.SetPoints))
	}

	if factors := f.LnFactors(d.X); factors != nil {
		r.Y1, r.Y2 = slices.Clone(d.Y1), slices.Clone(d.Y2)
		for k, l := range factors {
			r.Y1[k] *= math.Exp(-l)
			r.Y2[k] *= math.Exp(-l)
		}
	}

	return r
}

// repeat repeats each row of so many elements n times.
func repeat[T any](v []T, n, width int) (out []T) {
	for i := 0; i < len(v); i += width {
		out = append(out, slices.Repeat(v[i:i+width], n)...)
	}
	return out
}

// back maps predictions at conditions x from the form to the outcomes' own units, in place.
func (m *Mapped) back(x, mu, claim, noise []float64) {
	for k, l := range m.Form.LnFactors(x) {
		mu[k] *= math.Exp(l)
		claim[k] *= math.Exp(2 * l)
		noise[k] *= math.Exp(2 * l)
	}
}

// PredictLevels is Model.PredictLevels at conditions x.
func (m *Mapped) PredictLevels(ctx context.Context, x []float64, level []int) (mu, claim, noise []float64, err error) {
	z, err := m.Form.X(x)
	if err != nil {
		return nil, nil, nil, err
	}

	level = repeat(level, m.Form.Each(), len(m.Model.Labels))
	if mu, claim, noise, err = m.Model.PredictLevels(ctx, z, level); err == nil {
		m.back(x, mu, claim, noise)
	}

	return mu, claim, noise, err
}

// LeaveOut is Model.LeaveOut for training conditions (nil: all).
func (m *Mapped) LeaveOut(ctx context.Context, rows []int) (mu, claim, noise []float64, err error) {
	x, each := m.x, []int(nil)
	if rows != nil {
		n := m.Form.Each()
		x = lists.Rows(m.x, len(m.x)*n/len(m.Model.condition), rows)
		for _, i := range rows {
			for k := range n {
				each = append(each, i*n+k)
			}
		}
	}

	if mu, claim, noise, err = m.Model.LeaveOut(ctx, each); err == nil {
		m.back(x, mu, claim, noise)
	}

	return mu, claim, noise, err
}

// ClaimWith is Model.ClaimWith for conditions.
func (m *Mapped) ClaimWith(ctx context.Context, added, pairs []float64, counts []int, x []float64, level []int,
) (_ [][]float64, err error) {
	defer fault.Catch(&err)
	a, z, each := fault.Get(m.Form.X(added)), fault.Get(m.Form.X(x)), m.Form.Each()
	rows := lists.Each(counts, func(n int) int { return n * each })
	claims, err := m.Model.ClaimWith(ctx, a, repeat(pairs, each, 1), rows, z, repeat(level, each, len(m.Model.Labels)))
	for k, l := range m.Form.LnFactors(x) {
		for _, c := range claims {
			c[k] *= math.Exp(2 * l)
		}
	}

	return claims, err
}

// Posterior is Model.Posterior for conditions, with variances of the process's outcomes.
func (m *Mapped) Posterior(ctx context.Context, x []float64, pairs float64, level []int) (*Posterior, error) {
	z, err := m.Form.X(x)
	if err != nil {
		return nil, err
	}

	p, err := m.Model.Posterior(ctx, z, pairs, repeat(level, m.Form.Each(), len(m.Model.Labels)))
	if err == nil {
		p.rows = m.Form.Each()
		p.conditions /= p.rows
	}

	return p, err
}

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
