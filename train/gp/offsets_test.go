package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// thingsCase is one of testdata/things.json.
type thingsCase struct {
	X                                               [][]float64
	Y, Noise, Theta, Gradient, Weights, Grid, Prior []float64
	Thing                                           []int
	Objective                                       float64
	NewX                                            [][]float64 `json:"new_x"`
	LogEvidence                                     []float64   `json:"log_evidence_of_grid_relative_to_s0"`
	NewMean                                         []float64   `json:"new_mean"`
	NewClaim                                        []float64   `json:"new_claim"`
	KnownThing                                      int         `json:"known_thing"`
	KnownMean                                       []float64   `json:"known_mean"`
	KnownClaim                                      []float64   `json:"known_claim"`
	LeftOutThing                                    int         `json:"left_out_thing"`
	LeftOutMean                                     []float64   `json:"left_out_mean"`
	LeftOutClaim                                    []float64   `json:"left_out_claim"`
}

// things builds a model on data that are taken as standardised, with offsets of each label.
func things(x, y, spread []float64, in int, others, group, level, count []int, h Hyper, grid []deviations) *Model {
	m := &Model{
		Data: Data{
			Inputs: in, Outcomes: 1, X: x, Y: y, Spread: spread, Others: others, Hyper: []Hyper{h}, Labels: count, Level: level,
			Noise: []Noise{{Coefficients: make([]float64, len(quadratic(make([]float64, in)))), Max: 1}},
		},
		n: len(y), group: group, workers: 1, grid: grid,
	}

	m.OutputMean = []float64{0}
	m.OutputStd = []float64{1}
	for j := range in {
		m.Columns = append(m.Columns, j)
		m.InputMean = append(m.InputMean, 0)
		m.InputStd = append(m.InputStd, 1)
	}

	for i := range y {
		m.condition = append(m.condition, i)
	}

	return m
}

// Witness: testdata/things.py, by numpy and scipy.
func TestOffsetsAgainstPrototype(t *testing.T) {
	b := testfile.Read(t, "testdata/things.json")

	var cases map[string]thingsCase
	require.NoError(t, json.Unmarshal(b, &cases))

	ctx := context.Background()
	g := cases["RE"]
	near(t, "grid", fineOffsets, g.Grid, 0)

	for k, d := range offsetGrid(1) {
		near(t, "prior", []float64{math.Exp(d.log)}, g.Prior[k:k+1], 1e-12)
	}

	x := slices.Concat(g.X...)
	sh := newSearchData(x, 2, []int{1})
	sh.labels, sh.grid = labels{[]int{4}, g.Thing}, offsetGrid(1)
	e := &evidence{searchData: sh, y: g.Y, noise: g.Noise}
	grad := make([]float64, len(g.Theta))
	near(t, "objective", []float64{e.value(g.Theta, grad)}, []float64{g.Objective}, 1e-8)
	near(t, "objective alone", []float64{e.value(g.Theta, nil)}, []float64{g.Objective}, 1e-8)
	near(t, "gradient", grad, g.Gradient, 1e-8)

	m := things(x, g.Y, g.Noise, 2, []int{1}, g.Thing, g.Thing, []int{4}, sh.layout.hyper(g.Theta), sh.grid)
	require.NoError(t, m.factorise(ctx))

	for k, p := range m.process[0].offsets.points {
		near(t, "weight", []float64{p.weight}, g.Weights[k:k+1], 1e-8)
	}

	at := slices.Concat(g.NewX...)
	for _, c := range []struct {
		name        string
		level       []int
		mean, claim []float64
	}{
		{"new thing", nil, g.NewMean, g.NewClaim},
		{"new things", []int{4, 5}, g.NewMean, g.NewClaim},
		{"known thing", []int{g.KnownThing, g.KnownThing}, g.KnownMean, g.KnownClaim},
	} {
		p, err := m.PredictLevels(ctx, at, c.level)
		require.NoError(t, err)

		near(t, c.name+" mean", p.Mu, c.mean, 1e-8)
		near(t, c.name+" claim", p.Claim, c.claim, 1e-8)
	}

	p, err := m.LeaveOut(ctx, nil)
	require.NoError(t, err)

	of := slices.Index(g.Thing, g.LeftOutThing)
	near(t, "left-out mean", p.Mu[of:of+6], g.LeftOutMean, 1e-8)
	near(t, "left-out claim", p.Claim[of:of+6], g.LeftOutClaim, 1e-8)
}

// crossed simulates a thing (input 0 is its property) at some angles on three days.
func crossed(n int) (x, y, spread []float64, thing, level []int) {
	r := rand.New(rand.NewPCG(3, 1))
	for i := range n {
		k := i % 5
		day := i % 3
		a := r.Float64()*3 - 1.5
		x = append(x, float64(k)/2-1, a)
		y = append(y, a+0.4*math.Sin(3*float64(k))+0.3*float64(day)+0.05*r.NormFloat64())
		spread = append(spread, 0.001+0.002*r.Float64())
		thing = append(thing, k)
		level = append(level, k, day)
	}

	return x, y, spread, thing, level
}

// Witness: finite differences, and refits without the rows of a thing at the same hyperparameters and s. In a refit the
// name of the thing is new, and its days are known.
func TestOffsetsAgainstRefits(t *testing.T) {
	ctx := context.Background()
	theta := []float64{-0.5, -3, -1, 0.5, 0.2, -1.2, -0.8, -0.6, 0.1}
	x, y, spread, thing, level := crossed(60)
	grid := offsetGrid(2)

	sh := newSearchData(x, 2, []int{1})
	sh.labels = labels{[]int{5, 3}, level}
	sh.grid = grid
	e := &evidence{searchData: sh, y: y, noise: spread}
	grad := make([]float64, len(theta))
	e.value(theta, grad)

	for k := range theta {
		const d = 1e-4
		up := slices.Clone(theta)
		down := slices.Clone(theta)
		up[k], down[k] = up[k]+d, down[k]-d
		near(t, fmt.Sprint("gradient ", k), grad[k:k+1], []float64{(e.value(up, nil) - e.value(down, nil)) / (2 * d)}, 1e-5)
	}

	h := sh.layout.hyper(theta)
	for _, c := range []struct {
		name  string
		grid  []deviations
		cells int
	}{
		{"no offsets", []deviations{{s: []float64{0, 0}}}, 0},
		{"offsets of things", []deviations{{s: []float64{0.4, 0}}}, 0},
		{"both", []deviations{{s: []float64{0.4, 0.16}}}, 0},
		{"cells", []deviations{{s: []float64{0.4, 0.16}}}, 30},
	} {
		fit := func(keep func(i int) bool, count ...int) *Model {
			var a, b, v []float64
			var g, l []int
			for i, k := range thing {
				if keep(i) {
					a = append(a, x[2*i:2*i+2]...)
					b = append(b, y[i])
					v = append(v, spread[i])
					g = append(g, k)
					l = append(l, level[2*i:2*i+2]...)
				}
			}

			m := things(a, b, v, 2, []int{1}, g, l, count, h, c.grid)
			if c.cells > 0 {
				require.NoError(t, m.average(ctx, c.cells*m.n/60))
			}

			require.NoError(t, m.factorise(ctx))

			return m
		}

		all := fit(func(int) bool { return true }, 5, 3)
		p, err := all.LeaveOut(ctx, nil)
		require.NoError(t, err)

		less := fit(func(i int) bool { return thing[i] != 4 }, 4, 3) // 4 is then no name that it knows
		for i, k := range thing {
			if k != 4 {
				continue
			}

			alone, err := less.PredictLevels(ctx, x[2*i:2*i+2], level[2*i:2*i+2])
			require.NoError(t, err)

			near(t, c.name+": left-out mean", p.Mu[i:i+1], alone.Mu, 1e-10)
			near(t, c.name+": left-out claim", p.Claim[i:i+1], alone.Claim, 1e-10)
		}

		if c.cells > 0 {
			continue
		}

		// ClaimWith predicts what measurements of a new thing would change. The model less has not seen the thing; the model
		// more has seen the first half of its measurements.
		some := func(i int) bool { return thing[i] != 4 || i < 30 }
		more := fit(some, 5, 3)
		var added, pairs, at []float64
		var of, last []int
		for i, k := range thing {
			if k == 4 && i < 30 {
				added = append(added, x[2*i:2*i+2]...)
				pairs = append(pairs, 1/(2*spread[i]))
				of = append(of, level[2*i:2*i+2]...)
			} else if k == 4 {
				at = append(at, x[2*i:2*i+2]...)
				last = append(last, level[2*i:2*i+2]...)
			}
		}

		claims, err := less.ClaimWith(ctx, Added{
			X: added, Pairs: pairs, Counts: []int{0, len(pairs)}, At: at, Level: append(of, last...),
		})
		require.NoError(t, err)

		for k, m := range []*Model{less, more} {
			p, err := m.PredictLevels(ctx, at, last)
			require.NoError(t, err)

			near(t, c.name+": claim with more", claims[k], p.Claim, 1e-10)
		}
	}
}

// A model with labels is the same after storing, and a name whose number is none of the stored ones is refused.
func TestOffsetsStored(t *testing.T) {
	ctx := context.Background()
	x, y, _, thing, level := crossed(60)
	d := triplets.Set{N: 60, In: 2, Out: 1, X: x, Y1: y, Y2: make([]float64, 60)}
	for i, v := range y {
		d.Y2[i] = v + 0.01*float64(i%3-1)
	}

	for _, limit := range []int{0, 40} {
		o := Options{Group: thing, GroupInputs: []int{0}, Labels: []int{5, 3}, Level: level, MaxRows: limit, Steps: 5}
		m, err := Fit(ctx, d, o)
		require.NoError(t, err)

		b, err := json.Marshal(m)
		require.NoError(t, err)

		var back Model
		require.NoError(t, json.Unmarshal(b, &back))

		for _, of := range [][]int{nil, level} {
			p, err := m.PredictLevels(ctx, x, of)
			again, err2 := back.PredictLevels(ctx, x, of)
			if err != nil || err2 != nil || !slices.Equal(p.Mu, again.Mu) || !slices.Equal(p.Claim, again.Claim) {
				t.Errorf("limit %d: another result after storing: %v, %v", limit, err, err2)
			}
		}

		s := m.Stored()
		s.Labels = []int{4, 3}
		b, _ = json.Marshal(s)
		assert.Error(t, json.Unmarshal(b, &back), "limit %d: level 4 of 4 was read", limit)
	}

	_, err := Fit(ctx, d, Options{Labels: []int{1, 1, 1, 1}, Level: make([]int, 240)})
	if err == nil || err.Error() != "fit additive gp: expected at most 3 labels whose names have offsets, found 4" {
		t.Errorf("four labels: %v", err)
	}
}
