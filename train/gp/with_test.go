package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"doubletake/train/triplets"
)

// conditioned is the model with more conditions, factorised anew: the same hyperparameters,
// scales and noise, and any outcomes.
func (m *Model) conditioned(t *testing.T, x, pairs []float64) *Model {
	t.Helper()

	r, in := *m, len(m.columns)
	z := m.standardise(x)
	r.x, r.y, r.spread = slices.Clone(m.x), slices.Clone(m.y), slices.Clone(m.spread)
	for i, n := range pairs {
		row := z[i*in : (i+1)*in]
		r.n++
		r.x = append(r.x, row...)

		for j := range m.out {
			r.y, r.spread = append(r.y, float64(i%3)-1), append(r.spread, m.noise[j].at(row)/(2*n))
		}
	}

	if err := r.factorise(context.Background()); err != nil {
		t.Fatal(err)
	}

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

	got, err := m.ClaimWith(ctx, added, pairs, counts, x)
	if err != nil {
		t.Fatal(err)
	}

	for i, n := range counts {
		_, want, _, err := m.conditioned(t, added[:4*n], pairs[:n]).Predict(ctx, x)
		if err != nil {
			t.Fatal(err)
		}

		near(t, "claim", got[i], want, 1e-9)
	}

	if mean(got[1]) > 0.9*mean(got[0]) || mean(got[2]) > mean(got[1]) {
		t.Errorf("claims %v, with 13 conditions %v, with 70 %v", mean(got[0]), mean(got[1]), mean(got[2]))
	}
}

// Witness: the order form fitted to all rows, its hyperparameters, scales and noise
// replaced by those of the model that did not see the last ones.
func TestClaimWithInOrderForm(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 4)
	f := OrderForm{In: 2, Blades: 0, Speed: 1, Harmonics: 4}
	part := func(from, to int) triplets.Set {
		return triplets.Set{
			N: to - from, In: 2, Out: 4, X: d.X[2*from : 2*to], Y1: d.Y1[4*from : 4*to], Y2: d.Y2[4*from : 4*to],
			Run: d.Run[from:to],
		}
	}

	fit := func(d triplets.Set) *OrderModel {
		m, err := FitOrder(ctx, d, f, Options{GroupInputs: []int{0}, Group: d.Run})
		if err != nil {
			t.Fatal(err)
		}

		return m
	}

	const known, measured = 30, 33
	m, full := fit(part(0, known)), fit(part(0, measured))
	x := d.X[2*measured:]

	got, err := m.ClaimWith(ctx, d.X[2*known:2*measured], []float64{1, 1, 1}, []int{3}, x)
	if err != nil {
		t.Fatal(err)
	}

	r, o := full.Model, m.Model
	own := make([]float64, 0, len(r.x)) // inputs in their own units
	for i := range r.n {
		for k := range r.columns {
			own = append(own, r.x[i*len(r.columns)+k]*r.scale.xStd[k]+r.scale.xMean[k])
		}
	}

	r.hyper, r.noise, r.scale, r.x = o.hyper, o.noise, o.scale, o.standardise(own)
	for i := range r.n {
		r.spread[i] = r.noise[0].at(r.x[i*len(r.columns):(i+1)*len(r.columns)]) / 2
	}

	if err := r.factorise(ctx); err != nil {
		t.Fatal(err)
	}

	_, want, _, err := full.Predict(ctx, x)
	if err != nil {
		t.Fatal(err)
	}

	near(t, "claim", got[0], want, 1e-9)
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}
