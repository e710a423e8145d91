package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// cells are the distinct conditions of each group of a set.
type cells struct {
	collapsed
	group  []int // of each cell, from 0
	groups int
}

// cellsOf takes the groups of the set. Where these are fewer than two, each distinct
// condition is one, or each row.
func cellsOf(d triplets.Set) cells {
	conditions, _ := triplets.Index(d.X, d.In)

	var names, of []int
	for _, of = range [][]int{d.Group, conditions, lists.Numbers(d.N)} {
		if names = slices.Compact(slices.Sorted(slices.Values(of))); len(names) > 1 {
			break
		}
	}

	keyed := d // with the group as a further input
	keyed.In, keyed.X = d.In+1, nil
	for i, g := range of {
		number, _ := slices.BinarySearch(names, g)
		keyed.X = append(append(keyed.X, float64(number)), d.X[i*d.In:(i+1)*d.In]...)
	}

	c := cells{collapsed: collapse(keyed), groups: len(names)}

	x := c.x
	c.x = nil
	for ; len(x) > 0; x = x[keyed.In:] {
		c.group, c.x = append(c.group, int(x[0])), append(c.x, x[1:keyed.In]...)
	}

	return c
}

// at returns the inputs of a cell.
func (c cells) at(k int) []float64 {
	in := len(c.x) / c.n
	return c.x[k*in : (k+1)*in]
}

// Learnable returns the scale of the outcomes, and an error where nothing can be learned
// from the data.
func Learnable(ctx context.Context, d triplets.Set) (triplets.Scale, error) {
	if err := ctx.Err(); err != nil {
		return triplets.Scale{}, err
	}

	if err := d.Check(); err != nil {
		return triplets.Scale{}, fmt.Errorf("check training data: %w", err)
	}

	s := triplets.ScaleOf(d.Out, d.Y1, d.Y2)
	for j, v := range s.Std {
		if !(v > 0) {
			return s, fmt.Errorf("outcome column %d is constant (%g): there is nothing to learn", j, s.Mean[j])
		}
	}

	return s, nil
}

// steady predicts with the same variances at all conditions.
type steady struct {
	name             string
	in               int
	mean             func(x, mu []float64) // sets mu at one condition
	total, epistemic []float64
}

// Predict is safe for concurrent use.
func (p steady) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("predict with %s: %w", p.name, err)
	}

	if len(x)%p.in != 0 {
		panic(fmt.Sprintf("baseline: %d numbers are not rows of %d inputs", len(x), p.in))
	}

	r := NewPrediction(len(x)/p.in, len(p.total))
	for i := range r.N {
		p.mean(x[i*p.in:(i+1)*p.in], r.Mu[i*r.Out:(i+1)*r.Out])
		copy(r.Total[i*r.Out:], p.total)
		copy(r.Epistemic[i*r.Out:], p.epistemic)
	}

	return r, nil
}

// learn takes the epistemic variance from the squared errors on left-out groups, measured
// by the pairs, each group counting the same, and the noise from the pairs. mu are the
// means at the cells, each predicted without its group; NaN where it was not.
func (p *steady) learn(d triplets.Set, c cells, mu []float64) {
	scale := triplets.ScaleOf(d.Out, d.Y1, d.Y2)
	for j, s := range scale.Std {
		e, weight := make([]float64, c.groups), make([]float64, c.groups)
		noise, all := 0.0, 0.0
		for i, k := range c.index {
			at, w := i*d.Out+j, triplets.WeightAt(d.Weight, i)
			if d.Alone != nil && d.Alone[i] {
				continue // its outcomes are one, which shows neither error nor noise
			}

			diff := d.Y1[at] - d.Y2[at]
			noise, all = noise+float64(w*float64(diff*diff))/2, all+w
			if m := mu[k*d.Out+j]; !math.IsNaN(m) {
				e[c.group[k]] += float64(w * float64((d.Y1[at]-m)*(d.Y2[at]-m)))
				weight[c.group[k]] += w
			}
		}

		mean, groups := 0.0, 0.0
		for g, w := range weight {
			if w > 0 {
				mean, groups = mean+e[g]/w, groups+1
			}
		}

		// Outcomes that are predicted without any error still have a variance.
		epistemic := max(mean/groups, 0)
		p.epistemic = append(p.epistemic, epistemic)
		p.total = append(p.total, max(epistemic+noise/all, 1e-12*s*s))
	}
}

// collapsed are the distinct conditions of a set with the means of all their
// measurements, of which weighted pairs of repeats count each once.
type collapsed struct {
	n     int
	index []int     // of each row, its condition
	x, y  []float64 // n×In, n×Out
	count []float64 // measurements, two a pair
}

func collapse(d triplets.Set) collapsed {
	index, x := triplets.Index(d.X, d.In)
	c := collapsed{n: len(x) / d.In, index: index, x: x}
	c.y, c.count = make([]float64, c.n*d.Out), make([]float64, c.n)

	for i, k := range index {
		w := triplets.WeightAt(d.Weight, i)
		for j := range d.Out {
			c.y[k*d.Out+j] += w * (d.Y1[i*d.Out+j] + d.Y2[i*d.Out+j])
		}

		c.count[k] += 2 * w
	}

	for k := range c.y {
		c.y[k] /= c.count[k/d.Out]
	}

	return c
}
