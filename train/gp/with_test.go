package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"doubletake/internal/must"
)

// conditioned is the model with more conditions, factorised anew: the same hyperparameters,
// scales and noise, and any outcomes.
func (m *Model) conditioned(t *testing.T, x, pairs []float64) *Model {
	t.Helper()

	r, in := *m, len(m.Columns)
	z := m.standardise(x)
	r.X, r.Y, r.Spread = slices.Clone(m.X), slices.Clone(m.Y), slices.Clone(m.Spread)
	for i, n := range pairs {
		row := z[i*in : (i+1)*in]
		r.n++
		r.X = append(r.X, row...)

		for j := range m.Outcomes {
			r.Y, r.Spread = append(r.Y, float64(i%3)-1), append(r.Spread, m.Noise[j].at(row)/(2*n))
		}
	}

	r.factorise(context.Background())

	return &r
}

// Witness: the process factorised anew with the added conditions and arbitrary outcomes.
func TestClaimWithAgainstRefactorising(t *testing.T) {
	ctx := context.Background()
	m := mustFit(t, rotor(1, 2), Options{GroupInputs: []int{0, 2}, Workers: 2})

	var added, pairs, x []float64
	for k := range 70 { // more than one block of the factor
		added = append(added, 6, float64(k)/10, math.Log(6)+float64(k)/45, 7)
		pairs = append(pairs, 1+float64(k%3))
		x = append(x, 6-float64(k%2), float64(k)/10+0.05, math.Log(6)+float64(k)/45, 7)
	}

	counts := []int{0, 13, 70, 1}

	got := must.Get(m.ClaimWith(ctx, added, pairs, counts, x, nil))(t)

	for i, n := range counts {
		_, want, _, err := m.conditioned(t, added[:4*n], pairs[:n]).Predict(ctx, x)
		must.Do(t, err)

		near(t, "claim", got[i], want, 1e-9)
	}

	if mean(got[1]) > 0.9*mean(got[0]) || mean(got[2]) > mean(got[1]) {
		t.Errorf("claims %v, with 13 conditions %v, with 70 %v", mean(got[0]), mean(got[1]), mean(got[2]))
	}
}

// The same in order form: each condition is a row for each harmonic.
func TestClaimWithInOrderForm(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 4)
	f := OrderForm{In: 2, Blades: 0, Speed: 1, Harmonics: 4}
	m := must.Get(FitForm(ctx, d, f, Options{GroupInputs: []int{0}, Group: d.Run}))(t)

	added, pairs, x := []float64{6, 3, 6, 4, 3, 3.5}, []float64{1, 2, 1}, []float64{6, 3.2, 2, 5}
	got := must.Get(m.ClaimWith(ctx, added, pairs, []int{3}, x, nil))(t)

	rows := must.Get(f.X(append(added, x...)))(t)

	at := 3 * 4 * f.Inputs()
	_, want, _, err := m.Model.conditioned(t, rows[:at], repeat(pairs, 4, 1)).Predict(ctx, rows[at:])
	must.Do(t, err)

	near(t, "claim", got[0], want, 1e-9)
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
