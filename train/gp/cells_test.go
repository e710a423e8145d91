package gp

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Witness: proportional shares by hand; the sum is the number of cells.
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

// By hand: the mean of 0, 1, 10, 12, 30 is 10.6, so that the centres are 10, 30, 0; the
// second step finds the means 11, 30, 0.5 and the same points.
func TestNearestCentres(t *testing.T) {
	assert.Equal(t, []int{2, 2, 0, 0, 1}, nearestCentres([]float64{0, 1, 10, 12, 30}, 1, 3))

	// 0 and 4 are as far from the centre 2; the lower index is taken.
	assert.Equal(t, []int{1, 0, 0}, nearestCentres([]float64{0, 2, 4}, 1, 2))
}

// By hand: weights 1/(0.75 + 0.25) and 1/(0.25 + 0.25) give W = 3.
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
	if c := m.Cells(); c == nil || c.Rows != 56 || c.Cells != 30 || c.Largest != 14.0/8 {
		t.Fatalf("%+v", c)
	}

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

		require.NoError(t, r.factorise(ctx))

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

// The same bytes for any number of workers, and after storing. With as many cells as
// conditions nothing is averaged.
func TestCellsDeterministicAndStored(t *testing.T) {
	ctx := context.Background()
	d := rotor(3, 2)
	query := []float64{2.5, 3.3, 1.1, 7, 9, -2, 2.4, 7}
	var first []byte

	var want []float64
	for _, w := range []int{1, 2, 5} {
		m := mustFit(t, d, Options{GroupInputs: []int{0, 2}, MaxRows: 25, Workers: w, HyperRows: 40})
		p, err := m.Predict(ctx, query)
		require.NoError(t, err)

		left, err := m.LeaveOut(ctx, nil)
		require.NoError(t, err)

		b, err := json.Marshal(m)
		require.NoError(t, err)

		all := slices.Concat(p.Mu, p.Claim, p.Noise, left.Mu, left.Claim)
		if first == nil {
			first = b
			want = all
		}

		require.Equal(t, first, b, "%d workers give another result", w)
		assert.Equal(t, want, all, "%d workers give another result", w)
	}

	var back Model
	require.NoError(t, json.Unmarshal(first, &back))

	p, err := back.Predict(ctx, query)
	require.NoError(t, err)

	if !slices.Equal(slices.Concat(p.Mu, p.Claim, p.Noise), want[:12]) || *back.Cells() != (Cells{56, 25, 2}) ||
		back.Conditions() != 56 {
		t.Errorf("the stored model predicts something else, or describes other cells: %+v", back.Cells())
	}

	exact := mustFit(t, d, Options{MaxRows: 56, HyperRows: 40})
	if b, err := json.Marshal(exact); err != nil || exact.Cells() != nil || bytes.Contains(b, []byte(`"cells"`)) {
		t.Errorf("%+v, %v: cells of as many conditions", exact.Cells(), err)
	}

	for old, with := range map[string]string{
		`"variance":[`: `"variance":[1,`, `"averaged":`: `"other":`, `"cells":[{`: `"cells":[{},{`,
		`"spread":[`: `"spread":[1`, `"version":2`: `"version":1`,
	} {
		bad := bytes.Replace(first, []byte(old), []byte(with), 1)
		if err := json.Unmarshal(bad, new(Model)); err == nil || bytes.Equal(bad, first) {
			t.Errorf("with %s: no error", with)
		}
	}
}

// Cells of a smooth function at twenty conditions each lose little. Witness: the exact
// process with the same hyperparameters.
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
		require.InDelta(t, p.Mu[i], got.Mu[i], 0.1*math.Sqrt(p.Claim[i]),
			"%v with variance %v, exact %v with %v", got.Mu[i], got.Claim[i], p.Mu[i], p.Claim[i])
		assert.InDelta(t, 1, got.Claim[i]/p.Claim[i], 0.03,
			"%v with variance %v, exact %v with %v", got.Mu[i], got.Claim[i], p.Mu[i], p.Claim[i])
	}
}

// Of many outcomes most are searched from the results of a few. Witness: the full search
// of each outcome on its own; 0.5 is what the choice of other starts is worth.
func TestManyOutcomes(t *testing.T) {
	d := rotor(5, manyOutcomes+1)
	o := Options{GroupInputs: []int{0, 2}, HyperRows: 40, Workers: 2}
	all := mustFit(t, d, o).Hyper
	o.Workers = 1

	for j, h := range mustFit(t, d, o).Hyper {
		require.Equal(t, all[j].Objective, h.Objective, "outcome %d: %+v by one worker, %+v by two", j, h, all[j])
		require.Equal(t, all[j].Length, h.Length, "outcome %d: %+v by one worker, %+v by two", j, h, all[j])

		one := d
		one.Out = 1
		one.Y1 = nil
		one.Y2 = nil
		for i := range d.N {
			one.Y1 = append(one.Y1, d.Y1[i*d.Out+j])
			one.Y2 = append(one.Y2, d.Y2[i*d.Out+j])
		}

		if want := mustFit(t, one, o).Hyper[0]; h.Objective > want.Objective+0.5 {
			t.Errorf("outcome %d: objective %.3f, by the full search %.3f", j, h.Objective, want.Objective)
		}
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

		x := make([]float64, m.Inputs)
		p, err := m.Predict(ctx, x)
		if err != nil || len(p.Mu) != m.Outcomes || len(p.Claim) != m.Outcomes || len(p.Noise) != m.Outcomes {
			t.Errorf("%d means, %d claims, %d noises of %d outcomes, %v", len(p.Mu), len(p.Claim), len(p.Noise), m.Outcomes, err)
		}
	})
}
