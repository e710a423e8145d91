package gp

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected: proportional shares by hand, whose sum is the number of cells.
func TestQuota(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		cells int
		want  []int
	}{
		{[]int{60, 30, 10}, 10, []int{6, 3, 1}},
		{[]int{50, 30, 20}, 7, []int{4, 2, 1}}, // 3.5, 2.1, 1.4
		{[]int{10, 10, 10}, 7, []int{3, 2, 2}}, // equal remainders: the first
		{[]int{1, 1, 98}, 10, []int{1, 1, 8}},  // 0.1, 0.1, 9.8
		{[]int{1, 1, 1, 1, 96}, 5, slices.Repeat([]int{1}, 5)},
	} {
		assert.Equal(t, c.want, quota(c.sizes, c.cells), "%d cells of %v", c.cells, c.sizes)
	}
}

// Expected by hand: the mean of 0, 1, 10, 12, 30 is 10.6, so that the first centres are 10, 30 and 0. They move to the
// means 11, 30 and 0.5 of their points, to which the same points are nearest.
func TestNearestCentres(t *testing.T) {
	assert.Equal(t, []int{2, 2, 0, 0, 1}, nearestCentres([]float64{0, 1, 10, 12, 30}, 1, 3))

	// The first centre is 2. The points 0 and 4 are equally far from it: the lower index becomes the second centre.
	assert.Equal(t, []int{1, 0, 0}, nearestCentres([]float64{0, 2, 4}, 1, 2))
}

// Expected by hand: 0 and 3 become one cell, with the weights 1/(0.75 + 0.25) = 1 and 1/(0.25 + 0.25) = 2. Their
// weighted means are 2 for the input and 3 for the outcome, with the variance 1/3. 100 is a cell alone, with the
// variance 1.75 + 0.25.
func TestAverageGroup(t *testing.T) {
	m := &Model{
		Data: Data{
			Outcomes: 1, Columns: []int{0}, X: []float64{0, 3, 100}, Y: []float64{1, 4, 7}, Spread: []float64{0.75, 0.25, 1.75},
			Hyper: []Hyper{{Length: []float64{2}, Nugget: 0.5}},
		},
		group: []int{5, 5, 5},
	}

	c := m.averageGroup(0, []int{0, 1, 2}, 2)
	near(t, "inputs", c.X, []float64{2, 100}, 1e-15)
	near(t, "means", c.Y, []float64{3, 7}, 1e-15)
	near(t, "variances", c.Variance, []float64{1.0 / 3, 2}, 1e-15)

	assert.Equal(t, []int{5, 5}, c.group, "groups")
}

// Witness: the process conditioned on the cells of the other groups alone, at the rows of
// the group.
func TestLeaveOutCellsAgainstRefit(t *testing.T) {
	ctx := context.Background()
	d := rotor(1, 2)
	m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, MaxRows: 30, Workers: 2})
	require.Equal(t, &Cells{Rows: 56, Cells: 30, Largest: 14.0 / 8}, m.Cells())

	p, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)

	for g := range 4 {
		r := *m
		r.Averages = nil
		for _, c := range m.Averages {
			var less Averages
			for k, h := range c.group {
				if h != g {
					less.X = append(less.X, c.X[3*k:3*k+3]...)
					less.Y = append(less.Y, c.Y[k])
					less.Variance = append(less.Variance, c.Variance[k])
				}
			}

			r.Averages = append(r.Averages, less)
		}

		require.NoError(t, r.factorise(ctx, keptRead))

		var rows []int
		for i, h := range d.Run {
			if h == g {
				rows = append(rows, i)
			}
		}

		got, err := r.Predict(ctx, lists.Rows(d.X, 4, rows))
		require.NoError(t, err)

		near(t, "mean", lists.Rows(p.Mu, 2, rows), got.Mu, 1e-9)
		near(t, "variance", lists.Rows(p.Claim, 2, rows), got.Claim, 1e-9)
		near(t, "noise", lists.Rows(p.Noise, 2, rows), got.Noise, 1e-12)

		some, err := m.LeaveOut(ctx, rows[3:7])
		require.NoError(t, err)

		near(t, "mean of some rows", some.Mu, lists.Rows(p.Mu, 2, rows[3:7]), 1e-12)
	}
}

// The model has the same bytes for any number of workers, and the same predictions after storing. With as many cells as
// conditions nothing is averaged.
func TestCellsDeterministicAndStored(t *testing.T) {
	ctx := context.Background()
	d := rotor(3, 2)
	query := []float64{2.5, 3.3, 1.1, 7, 9, -2, 2.4, 7}
	var first []byte             // stored form by one worker
	var want triplets.Prediction // by one worker
	var wantLeft []float64       // means of the left-out rows by one worker
	for _, workers := range []int{1, 2, 5} {
		m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, MaxRows: 25, Workers: workers, HyperRows: 40})
		p, err := m.Predict(ctx, query)
		require.NoError(t, err)

		left, err := m.LeaveOut(ctx, nil)
		require.NoError(t, err)

		b, err := json.Marshal(m)
		require.NoError(t, err)

		if first == nil {
			first = b
			want = p
			wantLeft = left.Mu
		}

		require.Equal(t, string(first), string(b), "stored form by %d workers", workers)
		require.Equal(t, want, p, "predictions by %d workers", workers)
		require.Equal(t, wantLeft, left.Mu, "left-out rows by %d workers", workers)
		assert.Equal(t, 1., m.Pairs(), "pairs")
	}

	var back Model
	require.NoError(t, json.Unmarshal(first, &back))

	p, err := back.Predict(ctx, query)
	require.NoError(t, err)
	assert.Equal(t, want, p, "predictions of the stored model")
	assert.Equal(t, &Cells{Rows: 56, Cells: 25, Largest: 2}, back.Cells(), "cells of the stored model")
	assert.Equal(t, 56, back.Conditions(), "conditions of the stored model")
	assert.Equal(t, 1., back.Pairs(), "pairs of the stored model")

	exact := mustFit(t, d, Options{MaxRows: 56, HyperRows: 40})
	b, err := json.Marshal(exact)
	require.NoError(t, err)
	assert.Nil(t, exact.Cells(), "cells, of as many as conditions")
	assert.NotContains(t, string(b), `"cells"`, "stored form of a model without cells")
}

// Expected: an error that names the damage of a stored model of cells.
func TestDamagedCellsAreRefused(t *testing.T) {
	b, err := json.Marshal(mustFit(t, rotor(3, 2), Options{GroupInputs: []int{0, 2}, MaxRows: 25, HyperRows: 40}))
	require.NoError(t, err)

	good := string(b)
	for _, c := range []struct{ old, damaged, words string }{
		{`"variance":[`, `"variance":[1,`, "expected slices for 3 inputs and 2 outcomes"},
		{`"averaged":`, `"other":`, "version 1, found"},
		{`"cells":[{`, `"cells":[{},{`, "expected slices for 3 inputs and 2 outcomes"},
		{`"spread":[]`, `"spread":[1]`, "expected slices for 3 inputs and 2 outcomes"},
		{`"version":2`, `"version":1`, "version 2, found"},
	} {
		bad := strings.Replace(good, c.old, c.damaged, 1)
		require.NotEqual(t, good, bad, "%s is in the stored model", c.old)
		assert.ErrorContains(t, json.Unmarshal([]byte(bad), new(Model)), c.words, c.damaged)
	}
}

// 600 conditions of a smooth function become 120 cells. Expected: means within a tenth of a deviation, and claims
// within 3 %. Witness: the process of all conditions, with the same hyperparameters.
func TestCellsAgainstAllConditions(t *testing.T) {
	ctx := context.Background()

	d := triplets.Set{In: 2, Out: 1}
	for g := range 3 {
		for k := range 200 {
			x := 6 * math.Mod(float64(k)*0.6180339887, 1)
			y := math.Sin(x) + 0.3*float64(g)*x
			noise := 0.1 * math.Sin(float64(97*k+31*g))
			d.X = append(d.X, float64(g), x)
			d.Run = append(d.Run, g)
			d.N++
			d.Y1 = append(d.Y1, y+noise)
			d.Y2 = append(d.Y2, y-noise)
		}
	}

	query := []float64{0.5, 2.2, 3, 1.5, 1, 4.4}
	o := Options{GroupInputs: []int{0}, HyperRows: 100}
	p, err := mustFit(t, d, o).Predict(ctx, query)
	require.NoError(t, err)

	o.MaxRows = 120
	got, err := mustFit(t, d, o).Predict(ctx, query)
	require.NoError(t, err)

	for i := range p.Mu {
		assert.InDelta(t, p.Mu[i], got.Mu[i], 0.1*math.Sqrt(p.Claim[i]), "mean %d", i)
		assert.InEpsilon(t, p.Claim[i], got.Claim[i], 0.03, "claim %d", i)
	}
}

// With many outcomes, most are searched from the results of a few. Expected: the same result for any number of
// workers, and objectives that are larger than those of full searches by 0.5 nats at most. Witness: the full search
// of each outcome alone.
func TestManyOutcomes(t *testing.T) {
	d := rotor(5, manyOutcomes+1)
	o := Options{GroupInputs: []int{0, 2}, HyperRows: 40, Workers: 2}
	all := mustFit(t, d, o).Hyper
	o.Workers = 1

	require.Equal(t, all, mustFit(t, d, o).Hyper, "hyperparameters by one worker, and by two")

	for j, h := range all {
		one := d
		one.Out = 1
		one.Y1 = nil
		one.Y2 = nil
		for i := range d.N {
			one.Y1 = append(one.Y1, d.Y1[i*d.Out+j])
			one.Y2 = append(one.Y2, d.Y2[i*d.Out+j])
		}

		full := mustFit(t, one, o).Hyper[0]
		assert.LessOrEqual(t, h.Objective, full.Objective+0.5, "objective of outcome %d", j)
	}
}

// Any JSON is read as a model that predicts, or refused.
func FuzzUnmarshal(f *testing.F) {
	ctx := context.Background()

	few := rotor(3, 1).Select([]int{0, 1, 3, 4, 6, 7, 30, 31, 33, 34})
	for _, limit := range []int{0, 6} {
		b, err := json.Marshal(mustFit(f, few, Options{GroupInputs: []int{0, 2}, MaxRows: limit, HyperRows: 20}))
		require.NoError(f, err)

		f.Add(b)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		var m Model
		if len(b) > 1<<13 || json.Unmarshal(b, &m) != nil || m.Inputs > 1000 {
			return
		}

		p, err := m.Predict(ctx, make([]float64, m.Inputs))
		require.NoError(t, err)
		assert.Len(t, p.Mu, m.Outcomes, "means")
		assert.Len(t, p.Claim, m.Outcomes, "claims")
		assert.Len(t, p.Noise, m.Outcomes, "noise variances")
	})
}
