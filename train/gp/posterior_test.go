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
	"gonum.org/v1/gonum/floats"
)

// Conditions are measured together and one after another, and condition 9 twice. Witness: ClaimWith, which
// TestClaimWithAgainstRefactorising compares with processes that are factorised anew.
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
		m         process
		outcomes  int
		condition func(k int) []float64
	}{
		{plain, plain.Outcomes, func(k int) []float64 {
			return []float64{6 - float64(k%2), float64(k) / 10, math.Log(6) + float64(k)/45, 7}
		}},
		{orders, 4, func(k int) []float64 { return []float64{float64(2 + k%4), 3 + float64(k)/7} }},
	} {
		var x, added []float64
		for k := range 30 {
			x = append(x, c.condition(k)...)
		}

		measured := []int{4, 9, 20, 9}
		for _, k := range measured {
			added = append(added, c.condition(k)...)
		}

		want, err := c.m.ClaimWith(ctx, Added{X: added, Pairs: []float64{3, 3, 3, 3}, Counts: []int{0, 2, 4}, At: x})
		require.NoError(t, err)

		p, err := c.m.Posterior(ctx, x, 3, Levels{})
		require.NoError(t, err)

		weight := make([]float64, 30*c.outcomes)
		for k := range weight {
			weight[k] = 1 / float64(1+k%7)
		}

		near(t, "claim", p.Claims(), want[0], 1e-9)

		untouched := p.Clone()
		gains, err := p.Gains([][]int{measured[:2]}, weight)
		require.NoError(t, err)

		near(t, "gain", gains, []float64{floats.Dot(weight, want[0]) - floats.Dot(weight, want[1])}, 1e-9)

		require.NoError(t, p.Measure(measured[:2]))
		near(t, "claim with 2", p.Claims(), want[1], 1e-9)

		require.NoError(t, p.Measure(measured[2:3]))
		require.NoError(t, p.Measure(measured[3:]))
		near(t, "claim with 4", p.Claims(), want[2], 1e-9)
		near(t, "claim of the clone", untouched.Claims(), want[0], 1e-9)
	}
}

// Half of the conditions of rotor have two rows, the others one. Expected: the median number of pairs of a condition,
// the larger of two, which is twice the weight of a row.
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

// sessionCase is a case of testdata/session.json: mountings without and with curves of their own. The hyperparameters
// have the names of testdata/session.py.
type sessionCase struct {
	X, Asked      [][]float64 // measured conditions, and conditions that are asked for
	Y             []float64   // measured means
	Local         []float64   // local scales of the errors at what is asked for
	Levels        [][]int     // levels of each measured condition
	Spread        []float64   // noise variance of the mean of each measured condition
	S             []float64   // deviation of the offsets of each label
	C, A1, A2     float64     // constant, and the amplitudes of both kernels
	B             float64     // deviation of the curves of mountings
	W             []float64   // slopes
	L1, L2        []float64   // lengths in both kernels
	Nugget, Pairs float64
	Steps         []int       // conditions that are measured one after another
	Claims        [][]float64 // of the conditions that are asked for: before the first step, and after each
}

// What is asked for stays the outcome in any new mounting, while a session measures in one new mounting, in one that
// has a name, and in another new one. Days are new each time. Witness: testdata/session.py, by numpy.
func TestPosteriorOfSession(t *testing.T) {
	var cases map[string]sessionCase
	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/session.json"), &cases))
	require.Len(t, cases, 2)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { c.compare(t) })
	}
}

func (c sessionCase) compare(t *testing.T) {
	t.Helper()

	ctx := context.Background()
	h := Hyper{
		Constant: c.C, Linear: c.W, Amplitude: c.A1, Length: c.L1, Shared: c.A2, Lengths: c.L2, Nugget: c.Nugget, Own: c.B,
	}
	data := labelledRows{
		x: slices.Concat(c.X...), y: c.Y, spread: c.Spread, group: make([]int, len(c.X)),
		level: slices.Concat(c.Levels...),
	}
	m := data.model([]int{2, 3}, h, []deviations{{s: c.S}})
	if c.B > 0 {
		m.Curves = 1
	}

	require.NoError(t, m.factorise(ctx, keptRead))

	const unnamed, named = 9, 7 // levels of mountings
	levels := Levels{
		Asked:    []int{EachNew, EachNew, EachNew, EachNew, EachNew, EachNew, named, EachNew},
		Measured: []int{unnamed, EachNew, unnamed, EachNew, unnamed, EachNew, named, EachNew},
	}
	p, err := m.Posterior(ctx, slices.Concat(c.Asked...), c.Pairs, levels)
	require.NoError(t, err)

	near(t, "claims", p.Claims(), c.Claims[0], 1e-9)
	near(t, "local scales", p.LocalScales(), c.Local, 1e-8)

	weight := []float64{1, 0.5, 2, 0.25}
	for k, condition := range c.Steps {
		if k == len(c.Steps)-1 {
			p.Renew(0, unnamed) // the last step is in another mounting
		}

		gains, err := p.Gains([][]int{{condition}}, weight)
		require.NoError(t, err)
		require.NoError(t, p.Measure([]int{condition}))

		want := 0.0
		for i, w := range weight {
			want += w * (c.Claims[k][i] - c.Claims[k+1][i])
		}

		near(t, "gain", gains, []float64{want}, 1e-8)
		near(t, "claims after a step", p.Claims(), c.Claims[k+1], 1e-9)
	}
}
