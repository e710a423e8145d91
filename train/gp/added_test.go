package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// conditioned returns the model with more conditions, factorised anew. Hyperparameters, scales and noise are the
// same; the outcomes of the conditions are arbitrary, since variances do not depend on them.
func (m *Model) conditioned(t *testing.T, x, pairs []float64) *Model {
	t.Helper()

	r := *m
	columns := len(m.Columns)
	z := m.standardise(x)
	r.X = slices.Clone(m.X)
	r.Y = slices.Clone(m.Y)
	r.Spread = slices.Clone(m.Spread)
	for i, n := range pairs {
		row := z[i*columns : (i+1)*columns]
		r.n++
		r.X = append(r.X, row...)

		for j := range m.Outcomes {
			r.Y = append(r.Y, float64(i%3)-1)
			r.Spread = append(r.Spread, m.Noise[j].variance(row)/(2*n))
		}
	}

	require.NoError(t, r.factorise(context.Background(), keptRead))

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

	got, err := m.ClaimWith(ctx, Added{X: added, Pairs: pairs, Counts: counts, At: x})
	require.NoError(t, err)

	for i, n := range counts {
		p, err := m.conditioned(t, added[:4*n], pairs[:n]).Predict(ctx, x)
		require.NoError(t, err)

		near(t, "claim", got[i], p.Claim, 1e-9)
	}

	assert.Less(t, stat.Mean(got[1], nil), 0.9*stat.Mean(got[0], nil), "mean claim with 13 conditions, and without")
	assert.Less(t, stat.Mean(got[2], nil), stat.Mean(got[1], nil), "mean claim with 70 conditions, and with 13")
}

// In order form each added condition is one row for each harmonic. Witness: the process of rows, factorised anew with
// the rows of the added conditions.
func TestClaimWithInOrderForm(t *testing.T) {
	ctx := context.Background()
	d, _ := tones(2, 3, 6, 4)
	f := OrderForm{Columns: 2, Blades: 0, Speed: 1, Harmonics: 4}
	m, err := FitForm(ctx, d, f, Options{GroupInputs: []int{0}, Group: d.Run})
	require.NoError(t, err)

	added := []float64{6, 3, 6, 4, 3, 3.5}
	pairs := []float64{1, 2, 1}
	x := []float64{6, 3.2, 2, 5}
	got, err := m.ClaimWith(ctx, Added{X: added, Pairs: pairs, Counts: []int{3}, At: x})
	require.NoError(t, err)

	rows, err := f.X(append(added, x...))
	require.NoError(t, err)

	measured := 3 * 4 * f.Inputs() // numbers of the rows of the added conditions
	p, err := m.Model.conditioned(t, rows[:measured], repeat(pairs, 4, 1)).Predict(ctx, rows[measured:])
	require.NoError(t, err)

	near(t, "claim", got[0], p.Claim, 1e-9)
}
