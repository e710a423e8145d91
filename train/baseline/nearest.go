package baseline

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/train/triplets"
)

// NearestGroup predicts the outcome that was measured in the nearest training group, at
// its nearest condition. Groups are compared by the inputs that are constant within each,
// conditions by the others, in units of their training deviations; conditions that are
// equally near are averaged. Where no input is constant within groups, all inputs count.
//
// Its variances are those of its errors on left-out groups.
type NearestGroup struct{}

// nearestAsked is the number of conditions that the errors on left-out groups are taken of.
const nearestAsked = 1000

type nearest struct {
	cells
	std  []float64 // of the inputs
	from []bool    // inputs that are constant within each group
}

// Fit keeps the conditions; the seed is not used.
func (NearestGroup) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	if _, err := Learnable(ctx, data); err != nil {
		return nil, fmt.Errorf("fit nearest-group: %w", err)
	}

	c := cellsOf(data)
	n := nearest{cells: c, std: triplets.ScaleOf(data.In, c.x).Std, from: make([]bool, data.In)}
	for j := range n.from {
		first := make([]float64, c.groups)
		for k := c.n - 1; k >= 0; k-- {
			first[c.group[k]] = c.at(k)[j]
		}

		n.from[j] = true
		for k, g := range c.group {
			n.from[j] = n.from[j] && c.at(k)[j] == first[g]
		}
	}

	mu := slices.Repeat([]float64{math.NaN()}, len(c.y))

	asked := min(c.n, nearestAsked)
	for i := range asked {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fit nearest-group: %w", err)
		}

		k := i * c.n / asked
		n.mean(c.at(k), mu[k*data.Out:(k+1)*data.Out], c.group[k])
	}

	p := steady{name: "nearest-group", in: data.In, mean: func(x, mu []float64) { n.mean(x, mu, -1) }}
	p.learn(data, c, mu)

	return p, nil
}

// mean sets mu to the outcomes nearest to x, without a group.
func (n nearest) mean(x, mu []float64, without int) {
	const same = 1e-9 // two such squares are equal

	var near [2]float64 // squared distances to the group, and within it
	count := 0.0
	for k, g := range n.group {
		if g == without {
			continue
		}

		var d [2]float64
		for j, v := range n.at(k) {
			if n.std[j] > 0 {
				z, part := (x[j]-v)/n.std[j], 1
				if n.from[j] {
					part = 0
				}

				d[part] += float64(z * z)
			}
		}

		order := 0
		if count == 0 {
			order = -1
		}

		for part, limit := range near {
			if order == 0 && math.Abs(d[part]-limit) > same*(limit+same) {
				order = 1
				if d[part] < limit {
					order = -1
				}
			}
		}

		switch {
		case order > 0:
			continue
		case order < 0:
			near, count = d, 0
			clear(mu)
		}

		count++
		for j := range mu {
			mu[j] += (n.y[k*len(mu)+j] - mu[j]) / count
		}
	}
}
