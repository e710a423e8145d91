package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/train/triplets"
)

// Conformal is GP with intervals from its errors on left-out training groups: the mean ± the
// quantile of their sizes (GroupQuantile), per outcome, or ± the quantile of the errors over
// the process's deviation times that deviation. No law is assumed; its total is the variance
// of the normal law that has the same 95 % interval, and its epistemic variance what that
// leaves beyond the noise.
//
// The process is fitted again without each group: one that has learned its hyperparameters
// with the left-out groups misses new ones by more.
type Conformal struct {
	Relative bool // to the process's deviation
}

const (
	conformalLevel = 0.95
	z95            = 1.959963984540054 // of the normal law
)

type conformalPredictor struct {
	Predictor
	relative bool
	quantile []float64 // of each outcome
}

// Fit fits the process, and again without each group; of more than maxFolds groups several
// are left out together. Groups without which nothing can be learned are not left out.
func (c Conformal) Fit(ctx context.Context, data triplets.Set, seed uint64) (Predictor, error) {
	m, err := GP{}.Fit(ctx, data, seed)
	if err != nil {
		return nil, fmt.Errorf("fit conformal: %w", err)
	}

	p := conformalPredictor{Predictor: m, relative: c.Relative}
	cells := cellsOf(data)
	folds := min(cells.groups, maxFolds)
	size := make([][][]float64, data.Out) // of each group's errors
	for j := range size {
		size[j] = make([][]float64, cells.groups)
	}

	var failed error
	for f := range folds {
		var rows, rest []int
		for i, k := range cells.index {
			if cells.group[k]%folds == f {
				rows = append(rows, i)
			} else {
				rest = append(rest, i)
			}
		}

		left := data.Select(rows)
		r, err := fitPredict(ctx, GP{}, data.Select(rest), seed, left.X)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("fit conformal: %w", ctx.Err())
		}

		if err != nil {
			failed = err
			continue
		}

		for k, mu := range r.Mu {
			i, j := rows[k/data.Out], k%data.Out
			of := &size[j][cells.group[cells.index[i]]]
			unit := p.unit(r.Total[k])
			*of = append(*of, math.Abs(left.Y1[k]-mu)/unit, math.Abs(left.Y2[k]-mu)/unit)
		}
	}

	for _, groups := range size {
		groups = slices.DeleteFunc(groups, func(g []float64) bool { return g == nil })
		if len(groups) == 0 {
			return nil, fmt.Errorf("fit conformal: no group can be left out: %w", failed)
		}

		p.quantile = append(p.quantile, GroupQuantile(groups, conformalLevel))
	}

	return p, nil
}

func fitPredict(ctx context.Context, m Method, data triplets.Set, seed uint64, x []float64) (*Prediction, error) {
	p, err := m.Fit(ctx, data, seed)
	if err != nil {
		return nil, err
	}

	return p.Predict(ctx, x)
}

// unit is what half widths are proportional to.
func (p conformalPredictor) unit(total float64) float64 {
	if p.relative {
		return math.Sqrt(total)
	}
	return 1
}

// Predict evaluates the process; safe for concurrent use.
func (p conformalPredictor) Predict(ctx context.Context, x []float64) (*Prediction, error) {
	r, err := p.Predictor.Predict(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("predict with conformal: %w", err)
	}

	for k, total := range r.Total {
		sd := p.quantile[k%r.Out] * p.unit(total) / z95
		noise := total - r.Epistemic[k]
		r.Total[k], r.Epistemic[k] = sd*sd, max(sd*sd-noise, 0)
	}

	return r, nil
}

// GroupQuantile returns the size that a value of one more group exceeds with the
// probability 1 − level, if that group is like the K given ones: each of the K + 1 weighs the
// same, and in the new one nothing is known (Lee, Barber & Willett 2023). Above the level
// K/(K+1) no finite size does; the largest has that level.
func GroupQuantile(groups [][]float64, level float64) float64 {
	type weighed struct{ size, weight float64 }

	var all []weighed
	n := float64(len(groups))
	for _, sizes := range groups {
		for _, s := range sizes {
			all = append(all, weighed{s, 1 / float64(len(sizes)) / (n + 1)})
		}
	}

	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.size, b.size) })

	sum := 0.0
	for _, a := range all {
		if sum += a.weight; sum >= level-1e-12 {
			return a.size
		}
	}

	return all[len(all)-1].size
}
