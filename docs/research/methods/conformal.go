package methods

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/train/baseline"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// Conformal is the program's gp with intervals from its errors on left-out training groups: the mean ± the
// quantile of their sizes (honest.GroupQuantile), per outcome, or ± the quantile of the errors over
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
	maxFolds       = 40                // groups up to which each is left out on its own; of more, several together
)

type conformalPredictor struct {
	baseline.Predictor
	relative bool
	quantile []float64 // of each outcome
}

// Fit fits the process, and again without each group; of more than maxFolds groups several
// are left out together. Groups without which nothing can be learned are not left out.
func (c Conformal) Fit(ctx context.Context, data triplets.Set, seed uint64) (baseline.Predictor, error) {
	m, err := baseline.GP{}.Fit(ctx, data, seed)
	if err != nil {
		return nil, fmt.Errorf("fit conformal: %w", err)
	}

	p := conformalPredictor{Predictor: m, relative: c.Relative}
	of, groups := groupsOf(data)
	folds := min(groups, maxFolds)
	size := make([][][]float64, data.Out) // of each group's errors
	for j := range size {
		size[j] = make([][]float64, groups)
	}

	var failed error
	for f := range folds {
		var rows, rest []int
		for i, g := range of {
			if g%folds == f {
				rows = append(rows, i)
			} else {
				rest = append(rest, i)
			}
		}

		left := data.Select(rows)
		r, err := fitPredict(ctx, baseline.GP{}, data.Select(rest), seed, left.X)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("fit conformal: %w", ctx.Err())
		}

		if err != nil {
			failed = err
			continue
		}

		for k, mu := range r.Mu {
			i, j := rows[k/data.Out], k%data.Out
			errors := &size[j][of[i]]
			unit := p.unit(r.Total[k])
			*errors = append(*errors, math.Abs(left.Y1[k]-mu)/unit, math.Abs(left.Y2[k]-mu)/unit)
		}
	}

	for _, groups := range size {
		groups = slices.DeleteFunc(groups, func(g []float64) bool { return g == nil })
		if len(groups) == 0 {
			return nil, fmt.Errorf("fit conformal: no group can be left out: %w", failed)
		}

		p.quantile = append(p.quantile, honest.GroupQuantile(groups, conformalLevel))
	}

	return p, nil
}

func fitPredict(ctx context.Context, m baseline.Method, data triplets.Set, seed uint64, x []float64) (
	*baseline.Prediction, error,
) {
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
func (p conformalPredictor) Predict(ctx context.Context, x []float64) (*baseline.Prediction, error) {
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

// groupsOf numbers the groups of a set: where it has fewer than two, each distinct condition is one,
// or each row.
func groupsOf(d triplets.Set) (of []int, groups int) {
	conditions, _ := triplets.Index(d.X, d.In)
	rows := make([]int, d.N)
	for i := range rows {
		rows[i] = i
	}

	var names []int
	for _, of = range [][]int{d.Group, conditions, rows} {
		if names = slices.Compact(slices.Sorted(slices.Values(of))); len(names) > 1 {
			break
		}
	}

	numbers := make([]int, d.N)
	for i, g := range of {
		numbers[i], _ = slices.BinarySearch(names, g)
	}

	return numbers, len(names)
}
