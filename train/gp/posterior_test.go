package gp

import (
	"context"
	"math"
	"testing"

	"doubletake/internal/must"
)

// Witness: ClaimWith, which is compared with factorising anew. Conditions are measured together,
// one after another, and one twice.
func TestPosteriorAgainstClaimWith(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 4)
	form := OrderForm{In: 2, Blades: 0, Speed: 1, Harmonics: 4}
	orders := must.Get(FitForm(ctx, d, form, Options{GroupInputs: []int{0}, Group: d.Run}))(t)

	type process interface {
		ClaimWith(ctx context.Context, added, pairs []float64, counts []int, x []float64, level []int) ([][]float64, error)
		Posterior(ctx context.Context, x []float64, pairs float64, level []int) (*Posterior, error)
	}

	plain := mustFit(t, rotor(1, 2), Options{GroupInputs: []int{0, 2}, Workers: 2})
	for _, c := range []struct {
		m       process
		in, out int
		row     func(k int) []float64
	}{
		{plain, 4, plain.Outcomes, func(k int) []float64 {
			return []float64{6 - float64(k%2), float64(k) / 10, math.Log(6) + float64(k)/45, 7}
		}},
		{orders, 2, 4, func(k int) []float64 { return []float64{float64(2 + k%4), 3 + float64(k)/7} }},
	} {
		var x, added []float64
		for k := range 30 {
			x = append(x, c.row(k)...)
		}

		measured := []int{4, 9, 20, 9}
		for _, k := range measured {
			added = append(added, c.row(k)...)
		}

		want := must.Get(c.m.ClaimWith(ctx, added, []float64{3, 3, 3, 3}, []int{0, 2, 4}, x, nil))(t)

		p := must.Get(c.m.Posterior(ctx, x, 3, nil))(t)

		weight := make([]float64, 30*c.out)
		for k := range weight {
			weight[k] = 1 / float64(1+k%7)
		}

		sum := func(claims []float64) (s float64) {
			for k, v := range claims {
				s += weight[k] * v
			}
			return s
		}

		near(t, "claim", p.Claims(), want[0], 1e-9)

		untouched := p.Clone()
		gain := must.Get(p.Gain(measured[:2], weight))(t)

		near(t, "gain", []float64{gain}, []float64{sum(want[0]) - sum(want[1])}, 1e-9)

		for i, some := range [][]int{measured[:2], measured[2:3], measured[3:]} {
			must.Do(t, p.Measure(some))

			if i == 0 {
				near(t, "claim with 2", p.Claims(), want[1], 1e-9)
			}
		}

		near(t, "claim with 4", p.Claims(), want[2], 1e-9)
		near(t, "claim of the clone", untouched.Claims(), want[0], 1e-9)
	}
}

// A condition is measured by as many pairs as the data say; those of rotor have two rows each.
func TestPairs(t *testing.T) {
	d := rotor(1, 2)
	for _, pairs := range []float64{1, 3} {
		d.Weight = make([]float64, d.N)
		for i := range d.Weight {
			d.Weight[i] = pairs
		}

		must.Equal(t, mustFit(t, d, Options{}).Pairs(), 2*pairs, "pairs")
	}
}
