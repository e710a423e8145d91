package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/testfile"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// thingsCase is one of the cases of testdata/things.json: data, and the results of the prototype.
type thingsCase struct {
	X         [][]float64
	Y, Noise  []float64 // means of the conditions, and their noise variances
	Thing     []int     // of each condition
	Theta     []float64 // logarithms of the hyperparameters
	Objective float64
	Gradient  []float64

	Grid, Prior []float64 // deviations of the offsets, and their prior probabilities
	Weights     []float64 // posterior probabilities of the grid's points

	NewX         [][]float64 `json:"new_x"` // conditions that are predicted
	NewMean      []float64   `json:"new_mean"`
	NewClaim     []float64   `json:"new_claim"`
	KnownThing   int         `json:"known_thing"`
	KnownMean    []float64   `json:"known_mean"` // at NewX, of the known thing
	KnownClaim   []float64   `json:"known_claim"`
	LeftOutThing int         `json:"left_out_thing"`
	LeftOutMean  []float64   `json:"left_out_mean"` // at the conditions of the thing that is left out
	LeftOutClaim []float64   `json:"left_out_claim"`
}

// labelledRows are conditions of two inputs, of which the second does not depend on the group, with labels. Their
// numbers are taken as standardised.
type labelledRows struct {
	x, y, spread []float64
	group        []int
	level        []int // conditions × labels
}

// model returns a model of the conditions whose labels have the given numbers of levels.
func (r labelledRows) model(labelCounts []int, h Hyper, grid []deviations) *Model {
	const inputs = 2
	noise := Noise{Coefficients: make([]float64, len(quadratic(make([]float64, inputs)))), Max: 1}

	return &Model{
		Data: Data{
			Inputs: inputs, Outcomes: 1, X: r.x, Y: r.y, Spread: r.spread, Columns: []int{0, 1}, Others: []int{1},
			InputMean: []float64{0, 0}, InputStd: []float64{1, 1}, OutputMean: []float64{0}, OutputStd: []float64{1},
			Hyper: []Hyper{h}, Noise: []Noise{noise}, Labels: labelCounts, Level: r.level,
		},
		n: len(r.y), condition: lists.Numbers(len(r.y)), group: r.group, workers: 1, grid: grid,
	}
}

// selected returns the conditions for which keep returns true.
func (r labelledRows) selected(keep func(i int) bool) labelledRows {
	var kept []int
	for i := range r.y {
		if keep(i) {
			kept = append(kept, i)
		}
	}

	return labelledRows{
		x: lists.Rows(r.x, 2, kept), y: lists.Pick(r.y, kept), spread: lists.Pick(r.spread, kept),
		group: lists.Pick(r.group, kept), level: lists.Rows(r.level, len(r.level)/len(r.y), kept),
	}
}

// Witness: testdata/things.py, by numpy and scipy.
func TestOffsetsAgainstPrototype(t *testing.T) {
	b := testfile.Read(t, "testdata/things.json")

	var cases map[string]thingsCase
	require.NoError(t, json.Unmarshal(b, &cases))

	for name, withCurves := range map[string]bool{"RE": false, "RES": true} {
		t.Run(name, func(t *testing.T) { compareWithPrototype(t, cases[name], withCurves) })
	}
}

// compareWithPrototype compares a case with the prototype. In the case withCurves things have curves of their own.
func compareWithPrototype(t *testing.T, want thingsCase, withCurves bool) {
	t.Helper()

	ctx := context.Background()
	curves := 0 // label
	if withCurves {
		curves = 1
	}

	near(t, "grid", fineOffsets, want.Grid, 0)

	for k, d := range offsetGrid(1) {
		near(t, "prior", []float64{math.Exp(d.log)}, want.Prior[k:k+1], 1e-12)
	}

	data := labelledRows{
		x: slices.Concat(want.X...), y: want.Y, spread: want.Noise, group: want.Thing, level: want.Thing,
	}
	search := newSearchData(data.x, 2, []int{1})
	search.labels = labels{[]int{4}, want.Thing}
	search.grid = offsetGrid(1)
	search.setCurves(curves)
	e := &evidence{searchData: search, y: data.y, noise: data.spread}
	grad := make([]float64, len(want.Theta))
	near(t, "objective", []float64{e.value(want.Theta, grad)}, []float64{want.Objective}, 1e-8)
	near(t, "objective alone", []float64{e.value(want.Theta, nil)}, []float64{want.Objective}, 1e-8)
	near(t, "gradient", grad, want.Gradient, 1e-8)

	m := data.model([]int{4}, search.layout.hyper(want.Theta), search.grid)
	m.Curves = curves
	require.NoError(t, m.factorise(ctx, keptRead))

	for k, p := range m.process[0].offsets.points {
		near(t, "weight", []float64{p.weight}, want.Weights[k:k+1], 1e-8)
	}

	for _, c := range []struct {
		name        string
		level       []int
		mean, claim []float64
	}{
		{"new thing", nil, want.NewMean, want.NewClaim},
		{"new things", []int{4, 5}, want.NewMean, want.NewClaim},
		{"known thing", []int{want.KnownThing, want.KnownThing}, want.KnownMean, want.KnownClaim},
	} {
		p, err := m.PredictLevels(ctx, slices.Concat(want.NewX...), c.level)
		require.NoError(t, err)

		near(t, c.name+" mean", p.Mu, c.mean, 1e-8)
		near(t, c.name+" claim", p.Claim, c.claim, 1e-8)
	}

	p, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)

	first := slices.Index(want.Thing, want.LeftOutThing)
	end := first + len(want.LeftOutMean)
	near(t, "left-out mean", p.Mu[first:end], want.LeftOutMean, 1e-8)
	near(t, "left-out claim", p.Claim[first:end], want.LeftOutClaim, 1e-8)
}

// crossed simulates n conditions of five things (input 0 is a property of the thing) at some angles on three days. The
// things are the groups, and things and days are the labels.
func crossed(n int) labelledRows {
	random := rand.New(rand.NewPCG(3, 1))
	var r labelledRows
	for i := range n {
		thing := i % 5
		day := i % 3
		angle := random.Float64()*3 - 1.5
		r.x = append(r.x, float64(thing)/2-1, angle)
		r.y = append(r.y, angle+0.4*math.Sin(3*float64(thing))+0.3*float64(day)+0.05*random.NormFloat64())
		r.spread = append(r.spread, 0.001+0.002*random.Float64())
		r.group = append(r.group, thing)
		r.level = append(r.level, thing, day)
	}

	return r
}

// crossedTheta are logarithms of hyperparameters for the conditions of crossed.
var crossedTheta = []float64{-0.5, -3, -1, 0.5, 0.2, -1.2, -0.8, -0.6, 0.1}

// Witness: finite differences of the objective. Curves are of no label, of things, and of days.
func TestGradientWithOffsets(t *testing.T) {
	data := crossed(60)
	for curves := range 3 {
		search := newSearchData(data.x, 2, []int{1})
		search.labels = labels{[]int{5, 3}, data.level}
		search.grid = offsetGrid(2)
		search.setCurves(curves)
		e := &evidence{searchData: search, y: data.y, noise: data.spread}
		theta := slices.Concat(crossedTheta, []float64{-1.3})[:search.layout.size()]
		grad := make([]float64, len(theta))
		e.value(theta, grad)

		for k := range theta {
			const d = 1e-4
			up := slices.Clone(theta)
			down := slices.Clone(theta)
			up[k] += d
			down[k] -= d
			difference := (e.value(up, nil) - e.value(down, nil)) / (2 * d)
			near(t, fmt.Sprint("gradient ", k), grad[k:k+1], []float64{difference}, 1e-5)
		}
	}
}

// Thing 4 is left out of processes with offsets of things and days. Witness: processes that are conditioned anew
// without it, with the same hyperparameters and s. In these the name of the thing is new, and its days are known.
func TestOffsetsAgainstRefits(t *testing.T) {
	ctx := context.Background()
	data := crossed(60)
	isOther := func(i int) bool { return data.group[i] != 4 }
	for _, c := range []struct {
		name  string
		s     []float64 // deviations of the offsets of things and of days
		cells int       // largest number of cells of 60 conditions; 0: nothing is averaged
		own   float64   // deviation of the curves of things
	}{
		{"no offsets", []float64{0, 0}, 0, 0},
		{"offsets of things", []float64{0.4, 0}, 0, 0},
		{"both", []float64{0.4, 0.16}, 0, 0},
		{"cells", []float64{0.4, 0.16}, 30, 0},
		{"curves", []float64{0.4, 0.16}, 0, 0.3},
		{"cells with curves", []float64{0.4, 0.16}, 30, 0.3},
	} {
		h := layout{inputs: 2, others: 1}.hyper(crossedTheta)
		h.Own = c.own
		conditioned := func(rows labelledRows, labelCounts ...int) *Model {
			m := rows.model(labelCounts, h, []deviations{{s: c.s}})
			m.Curves = 1
			if c.cells > 0 {
				require.NoError(t, m.average(ctx, c.cells*m.n/60))
			}

			require.NoError(t, m.factorise(ctx, keptRead))

			return m
		}

		p, err := conditioned(data, 5, 3).LeaveOut(ctx, nil)
		require.NoError(t, err)

		without := conditioned(data.selected(isOther), 4, 3)
		for i := range data.y {
			if isOther(i) {
				continue
			}

			alone, err := without.PredictLevels(ctx, data.x[2*i:2*i+2], data.level[2*i:2*i+2])
			require.NoError(t, err)

			near(t, c.name+": left-out mean", p.Mu[i:i+1], alone.Mu, 1e-10)
			near(t, c.name+": left-out claim", p.Claim[i:i+1], alone.Claim, 1e-10)
		}
	}
}

// ClaimWith predicts what measurements of a new thing would change: here the first half of the measurements of thing
// 4, at the conditions of its second half. Witness: processes that are conditioned without them and with them, with
// the same hyperparameters and s.
func TestClaimWithOffsetsAgainstRefits(t *testing.T) {
	ctx := context.Background()
	data := crossed(60)
	isOther := func(i int) bool { return data.group[i] != 4 }
	isFirst := func(i int) bool { return data.group[i] == 4 && i < 30 }
	isSecond := func(i int) bool { return data.group[i] == 4 && i >= 30 }
	for _, c := range []struct {
		s   []float64 // deviations of the offsets of things and of days
		own float64   // deviation of the curves of things
	}{{[]float64{0, 0}, 0}, {[]float64{0.4, 0}, 0}, {[]float64{0.4, 0.16}, 0}, {[]float64{0.4, 0.16}, 0.3}} {
		h := layout{inputs: 2, others: 1}.hyper(crossedTheta)
		h.Own = c.own
		conditioned := func(rows labelledRows, labelCounts ...int) *Model {
			m := rows.model(labelCounts, h, []deviations{{s: c.s}})
			m.Curves = 1
			require.NoError(t, m.factorise(ctx, keptRead))

			return m
		}

		added := data.selected(isFirst)
		var pairs []float64 // whose mean has the variance of the measurement: all noise variances are 1
		for _, v := range added.spread {
			pairs = append(pairs, 1/(2*v))
		}

		query := data.selected(isSecond)
		without := conditioned(data.selected(isOther), 4, 3)
		claims, err := without.ClaimWith(ctx, Added{
			X: added.x, Pairs: pairs, Counts: []int{0, len(pairs)}, At: query.x,
			Level: slices.Concat(added.level, query.level),
		})
		require.NoError(t, err)

		with := conditioned(data.selected(func(i int) bool { return isOther(i) || isFirst(i) }), 5, 3)
		for k, m := range []*Model{without, with} {
			p, err := m.PredictLevels(ctx, query.x, query.level)
			require.NoError(t, err)

			near(t, fmt.Sprint("claim with ", c), claims[k], p.Claim, 1e-10)
		}
	}
}

// Expected: a model with labels makes the same predictions after storing, and a level beyond the levels of its label is
// refused.
func TestOffsetsStored(t *testing.T) {
	ctx := context.Background()
	data := crossed(60)
	d := triplets.Set{N: 60, In: 2, Out: 1, X: data.x, Y1: data.y}
	for i, v := range data.y {
		d.Y2 = append(d.Y2, v+0.01*float64(i%3-1))
	}

	for k, limit := range []int{0, 40, 0, 40} { // of all conditions, and of cells
		curves := k / 2
		m, err := Fit(ctx, d, Options{
			Group: data.group, GroupInputs: []int{0}, Labels: []int{5, 3}, Level: data.level, MaxRows: limit, Steps: 5,
			Curves: curves,
		})
		require.NoError(t, err)
		require.Equal(t, curves > 0, m.Hyper[0].Own > 0)

		b, err := json.Marshal(m)
		require.NoError(t, err)

		var back Model
		require.NoError(t, json.Unmarshal(b, &back))

		for _, level := range [][]int{nil, data.level} {
			want, err := m.PredictLevels(ctx, data.x, level)
			require.NoError(t, err)

			got, err := back.PredictLevels(ctx, data.x, level)
			require.NoError(t, err)
			assert.Equal(t, want, got, "predictions after storing, at most %d cells", limit)
		}

		stored := m.Stored()
		stored.Labels = []int{4, 3} // a condition has the level 4
		b, err = json.Marshal(stored)
		require.NoError(t, err)
		assert.ErrorContains(t, json.Unmarshal(b, &back), "expected slices for 2 inputs and 1 outcomes")
	}
}

// Expected: an error that says how many labels are allowed.
func TestTooManyLabels(t *testing.T) {
	data := crossed(60)
	d := triplets.Set{N: 60, In: 2, Out: 1, X: data.x, Y1: data.y, Y2: data.y}
	_, err := Fit(context.Background(), d, Options{Labels: []int{1, 1, 1, 1}, Level: make([]int, 4*60)})
	assert.EqualError(t, err, "fit additive gp: expected at most 3 labels whose names have offsets, found 4")
}
