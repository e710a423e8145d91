package gp

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"doubletake/internal/testfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Witness: ClaimWith, which is compared with factorising anew. Conditions are measured together,
// one after another, and one twice.
func TestPosteriorAgainstClaimWith(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 4)
	form := OrderForm{Columns: 2, Blades: 0, Speed: 1, Harmonics: 4}
	orders, err := FitForm(ctx, d, form, Options{GroupInputs: []int{0}, Group: d.Run})
	require.NoError(t, err)

	type process interface {
		ClaimWith(ctx context.Context, o Added) ([][]float64, error)
		Posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error)
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

		want, err := c.m.ClaimWith(ctx, Added{X: added, Pairs: []float64{3, 3, 3, 3}, Counts: []int{0, 2, 4}, At: x})
		require.NoError(t, err)

		p, err := c.m.Posterior(ctx, x, 3, Levels{})
		require.NoError(t, err)

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
		gain, err := p.Gain(measured[:2], weight)
		require.NoError(t, err)

		near(t, "gain", []float64{gain}, []float64{sum(want[0]) - sum(want[1])}, 1e-9)

		for i, some := range [][]int{measured[:2], measured[2:3], measured[3:]} {
			require.NoError(t, p.Measure(some))

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

		assert.Equal(t, 2*pairs, mustFit(t, d, Options{}).Pairs(), "pairs")
	}
}

// sessionCase is testdata/session.json.
type sessionCase struct {
	X, Asked         [][]float64
	Levels           [][]int
	S, Spread, W     []float64
	L1, L2           []float64
	C, A1, A2, Pairs float64
	Nugget           float64
	Steps            []int
	Claims           [][]float64 // what is asked for: before the first step, and after each
}

// What is asked for stays the outcome in any new mounting, while a session measures in one new mounting, in one that
// has a name, and in another new one. Days are new each time. Witness: testdata/session.py, by numpy.
func TestPosteriorOfSession(t *testing.T) {
	ctx := context.Background()
	var c sessionCase
	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/session.json"), &c))

	h := Hyper{
		Constant: c.C, Linear: c.W, Amplitude: c.A1, Length: c.L1, Shared: c.A2, Lengths: c.L2, Nugget: c.Nugget,
	}
	rows := len(c.X)
	group := make([]int, rows)
	y := make([]float64, rows)
	grid := []deviations{{s: c.S}}
	level := slices.Concat(c.Levels...)
	m := things(slices.Concat(c.X...), y, c.Spread, 2, []int{1}, group, level, []int{2, 3}, h, grid)
	require.NoError(t, m.factorise(ctx))

	const unnamed, named = 9, 7 // levels of mountings
	levels := Levels{
		Asked:    []int{EachNew, EachNew, EachNew, EachNew, EachNew, EachNew, named, EachNew},
		Measured: []int{unnamed, EachNew, unnamed, EachNew, unnamed, EachNew, named, EachNew},
	}
	p, err := m.Posterior(ctx, slices.Concat(c.Asked...), c.Pairs, levels)
	require.NoError(t, err)

	near(t, "claims", p.Claims(), c.Claims[0], 1e-9)

	weight := []float64{1, 0.5, 2, 0.25}
	for k, condition := range c.Steps {
		if k == len(c.Steps)-1 {
			p.Renew(0, unnamed) // the last step is in another mounting
		}

		gain, err := p.Gain([]int{condition}, weight)
		require.NoError(t, err)
		require.NoError(t, p.Measure([]int{condition}))

		want := 0.0
		for i, w := range weight {
			want += w * (c.Claims[k][i] - c.Claims[k+1][i])
		}

		near(t, "gain", []float64{gain}, []float64{want}, 1e-8)
		near(t, "claims after a step", p.Claims(), c.Claims[k+1], 1e-9)
	}
}
