package gp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/triplets"
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

	m.OutputMean, m.OutputStd = []float64{0}, []float64{1}
	for j := range in {
		m.Columns, m.InputMean, m.InputStd = append(m.Columns, j), append(m.InputMean, 0), append(m.InputStd, 1)
	}

	for i := range y {
		m.condition = append(m.condition, i)
	}

	return m
}

// Witness: testdata/things.py, by numpy and scipy.
func TestOffsetsAgainstPrototype(t *testing.T) {
	b := must.Read(t, "testdata/things.json")

	var cases map[string]thingsCase
	must.Do(t, json.Unmarshal(b, &cases))

	ctx, g := context.Background(), cases["RE"]
	near(t, "grid", fineOffsets, g.Grid, 0)

	for k, d := range offsetGrid(1) {
		near(t, "prior", []float64{math.Exp(d.log)}, g.Prior[k:k+1], 1e-12)
	}

	x := slices.Concat(g.X...)
	sh := newShape(x, 2, []int{1})
	sh.labels, sh.grid = labels{[]int{4}, g.Thing}, offsetGrid(1)
	e, grad := &evidence{shape: sh, y: g.Y, noise: g.Noise}, make([]float64, len(g.Theta))
	near(t, "objective", []float64{e.value(g.Theta, grad)}, []float64{g.Objective}, 1e-8)
	near(t, "objective alone", []float64{e.value(g.Theta, nil)}, []float64{g.Objective}, 1e-8)
	near(t, "gradient", grad, g.Gradient, 1e-8)

	m := things(x, g.Y, g.Noise, 2, []int{1}, g.Thing, g.Thing, []int{4}, sh.theta.hyper(g.Theta), sh.grid)
	m.factorise(ctx)

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
		mu, claim, _, err := m.PredictLevels(ctx, at, c.level)
		must.Do(t, err)

		near(t, c.name+" mean", mu, c.mean, 1e-8)
		near(t, c.name+" claim", claim, c.claim, 1e-8)
	}

	mu, claim, _, err := m.LeaveOut(ctx, nil)
	must.Do(t, err)

	of := slices.Index(g.Thing, g.LeftOutThing)
	near(t, "left-out mean", mu[of:of+6], g.LeftOutMean, 1e-8)
	near(t, "left-out claim", claim[of:of+6], g.LeftOutClaim, 1e-8)
}

// crossed simulates a thing (input 0 is its property) at some angles on three days.
func crossed(n int) (x, y, spread []float64, thing, level []int) {
	r := rand.New(rand.NewPCG(3, 1))
	for i := range n {
		k, day := i%5, i%3
		a := r.Float64()*3 - 1.5
		x = append(x, float64(k)/2-1, a)
		y = append(y, a+0.4*math.Sin(3*float64(k))+0.3*float64(day)+0.05*r.NormFloat64())
		spread = append(spread, 0.001+0.002*r.Float64())
		thing, level = append(thing, k), append(level, k, day)
	}

	return x, y, spread, thing, level
}

// Witness: finite differences, and refits without the rows of a thing at the same hyperparameters and s, in which its
// name is a new one and its days are known ones.
func TestOffsetsAgainstRefits(t *testing.T) {
	ctx := context.Background()
	theta := []float64{-0.5, -3, -1, 0.5, 0.2, -1.2, -0.8, -0.6, 0.1}
	x, y, spread, thing, level := crossed(60)
	grid := offsetGrid(2)

	sh := newShape(x, 2, []int{1})
	sh.labels, sh.grid = labels{[]int{5, 3}, level}, grid
	e, grad := &evidence{shape: sh, y: y, noise: spread}, make([]float64, len(theta))
	e.value(theta, grad)

	for k := range theta {
		const d = 1e-4
		up, down := slices.Clone(theta), slices.Clone(theta)
		up[k], down[k] = up[k]+d, down[k]-d
		near(t, fmt.Sprint("gradient ", k), grad[k:k+1], []float64{(e.value(up, nil) - e.value(down, nil)) / (2 * d)}, 1e-5)
	}

	h := sh.theta.hyper(theta)
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
					a, b, v = append(a, x[2*i:2*i+2]...), append(b, y[i]), append(v, spread[i])
					g, l = append(g, k), append(l, level[2*i:2*i+2]...)
				}
			}

			m := things(a, b, v, 2, []int{1}, g, l, count, h, c.grid)
			if c.cells > 0 {
				m.average(ctx, c.cells*m.n/60)
			}

			m.factorise(ctx)

			return m
		}

		all := fit(func(int) bool { return true }, 5, 3)
		mu, claim, _, err := all.LeaveOut(ctx, nil)
		must.Do(t, err)

		less := fit(func(i int) bool { return thing[i] != 4 }, 4, 3) // 4 is then no name that it knows
		for i, k := range thing {
			if k != 4 {
				continue
			}

			m, v, _, err := less.PredictLevels(ctx, x[2*i:2*i+2], level[2*i:2*i+2])
			must.Do(t, err)

			near(t, c.name+": left-out mean", mu[i:i+1], m, 1e-10)
			near(t, c.name+": left-out claim", claim[i:i+1], v, 1e-10)
		}

		if c.cells > 0 {
			continue
		}

		// What more measurements of a new thing would buy: those of it that less has not seen.
		some := func(i int) bool { return thing[i] != 4 || i < 30 }
		more := fit(some, 5, 3)
		var added, pairs, at []float64
		var of, last []int
		for i, k := range thing {
			if k == 4 && i < 30 {
				added, pairs, of = append(added, x[2*i:2*i+2]...), append(pairs, 1/(2*spread[i])), append(of, level[2*i:2*i+2]...)
			} else if k == 4 {
				at, last = append(at, x[2*i:2*i+2]...), append(last, level[2*i:2*i+2]...)
			}
		}

		claims := must.Get(less.ClaimWith(ctx, added, pairs, []int{0, len(pairs)}, at, append(of, last...)))(t)

		for k, m := range []*Model{less, more} {
			_, want, _, err := m.PredictLevels(ctx, at, last)
			must.Do(t, err)

			near(t, c.name+": claim with more", claims[k], want, 1e-10)
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
		m := must.Get(Fit(ctx, d, o))(t)

		b := must.Get(json.Marshal(m))(t)

		var back Model
		must.Do(t, json.Unmarshal(b, &back))

		for _, of := range [][]int{nil, level} {
			mu, claim, _, err := m.PredictLevels(ctx, x, of)
			mu2, claim2, _, err2 := back.PredictLevels(ctx, x, of)
			must.Not(t, err != nil || err2 != nil || !slices.Equal(mu, mu2) || !slices.Equal(claim, claim2),
				"limit %d: another result after storing: %v, %v", limit, err, err2)
		}

		s := m.Stored()
		s.Labels = []int{4, 3}
		b, _ = json.Marshal(s)
		must.Not(t, json.Unmarshal(b, &back) == nil, "limit %d: level 4 of 4 was read", limit)
	}

	_, err := Fit(ctx, d, Options{Labels: []int{1, 1, 1, 1}, Level: make([]int, 240)})
	if err == nil || err.Error() != "fit additive gp: expected at most 3 labels whose names have offsets, found 4" {
		t.Errorf("four labels: %v", err)
	}
}
