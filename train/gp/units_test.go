package gp

import (
	"context"
	"testing"

	"doubletake/internal/lists"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Some units are groups, and others are lists of rows that overlap. Witness: for units that are groups, LeaveOut; for
// other units, the process that is conditioned anew without the conditions of the unit.
func TestLeaveOutUnits(t *testing.T) {
	d := rotor(1, 2)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, Workers: 2})

	groups := lists.Alike(d.Run)
	byGroup, err := m.LeaveOut(context.Background(), nil)
	require.NoError(t, err)

	left, err := m.LeaveOutUnits(context.Background(), groups)
	require.NoError(t, err)

	for g, rows := range groups {
		near(t, "mean", left[g].Mu, lists.Rows(byGroup.Mu, 2, rows), 1e-12)
		near(t, "variance", left[g].Claim, lists.Rows(byGroup.Claim, 2, rows), 1e-12)
	}

	units := [][]int{{0}, {3, 4, 5, 20}, {5, 20, 31}}
	left, err = m.LeaveOutUnits(context.Background(), units)
	require.NoError(t, err)

	for u, rows := range units {
		rest := withoutConditions(t, m, rows)
		got, err := rest.Predict(context.Background(), lists.Rows(d.X, d.In, rows))
		require.NoError(t, err)

		near(t, "mean", left[u].Mu, got.Mu, 1e-8)
		near(t, "variance", left[u].Claim, got.Claim, 1e-8)
		near(t, "noise", left[u].Noise, got.Noise, 1e-12)
	}
}

// withoutConditions returns m conditioned anew, without the conditions of the given rows. Hyperparameters, scales and
// noise stay the same.
func withoutConditions(t *testing.T, m *Model, rows []int) *Model {
	t.Helper()

	left := map[int]bool{}
	for _, i := range rows {
		left[m.condition[i]] = true
	}

	var kept []int
	for k := range m.n {
		if !left[k] {
			kept = append(kept, k)
		}
	}

	rest := *m
	rest.n = len(kept)
	rest.X = lists.Rows(m.X, len(m.Columns), kept)
	rest.Y = lists.Rows(m.Y, m.Outcomes, kept)
	rest.Spread = lists.Rows(m.Spread, m.Outcomes, kept)
	rest.process = nil
	require.NoError(t, rest.factorise(context.Background(), keptRead))

	return &rest
}

// Expected: a list of rows has the same prediction if its block is taken from the inverse, if the process is solved for
// it alone, and if it is solved for it together with other lists; with labels too.
func TestLeaveOutInThreeWays(t *testing.T) {
	d := rotor(1, 2)
	labelled := Options{Workers: 1, Labels: []int{4}, Level: d.Run}
	for name, o := range map[string]Options{"plain": {Workers: 1}, "labels": labelled} {
		m := mustFit(t, d, o)
		for j := range m.Outcomes {
			p := m.process[j]
			inv := p.inverse()
			left := [][]int{{0}, {m.n - 1}, {3, 4, 20}, {1, 30, 31, 32, 50}}
			batch, err := p.withoutEach(left)
			require.NoError(t, err, name)

			for k, rows := range left {
				alone, err := p.without(rows)
				require.NoError(t, err, name)

				fromInverse, err := p.withoutBy(inv, rows)
				require.NoError(t, err, name)

				difference, variance := alone.errors()
				byInverse, varianceByInverse := fromInverse.errors()
				byBatch, varianceByBatch := batch[k].errors()
				near(t, "difference by a batch, "+name, byBatch, difference, 1e-8)
				near(t, "variance by a batch, "+name, varianceByBatch, variance, 1e-8)
				near(t, "difference, "+name, byInverse, difference, 1e-8)
				near(t, "variance, "+name, varianceByInverse, variance, 1e-8)
			}
		}
	}
}

// Lists of rows are divided into batches of 128 rows at most in order of their first rows; a longer list is a batch of
// its own. Expected values: worked out by hand.
func TestBatches(t *testing.T) {
	long := lists.Numbers(130)
	assert.Equal(t, [][]int{{1, 2, 0}}, batchesOf([][]int{{7, 9}, {0}, {3, 5, 6}}))
	assert.Equal(t, [][]int{{1}, {0, 2}}, batchesOf([][]int{{7}, long, {8}}))
	assert.Len(t, batchesOf(singles(1024)), 8)
}

// singles returns n lists of one row each.
func singles(n int) [][]int {
	var list [][]int
	for i := range n {
		list = append(list, []int{i})
	}

	return list
}
