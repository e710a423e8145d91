package honest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/train/triplets"
)

// Limits of FarRuns: runs below which a robust deviation means little, rows above which the
// process would take minutes, rows of the search, robust deviations at least, and the chance of a
// false alarm among all runs and outcomes of a set whose residuals are normal.
const (
	fewestRuns   = 12
	mostRunRows  = 2000
	runHyperRows = 160
	runSteps     = 30
	farRun       = 3.0
	falseAlarm   = 0.04
	medianShare  = 0.37 // efficiency of the robust deviation: the freedom of a run's is so much of all
	leastDB      = 0.5  // smaller offsets are no mistake
	leastShare   = 0.05 // nor are those below so much of an outcome's deviation
	mostFar      = 10
	nearRuns     = 24 // whose robust deviation counts where it exceeds that of all
)

// FarRun is a run whose outcomes are far from those that all other runs predict.
type FarRun struct {
	Run     int     // among Set.Runs
	Outcome int     // −1: all together, where all are levels in dB
	Offset  float64 // weighted mean of measured less predicted, in the outcome's unit
	Times   float64 // |Offset| over its standard deviation, over the robust deviation of all runs
	Limit   float64 // from which a run of this set is far
}

// FarRuns leaves out each run of the set in closed form, and returns those whose weighted
// residual is at least three robust deviations, more than 4 % of sets of so many runs would have
// were residuals normal, and at least 0.5 dB or 5 % of the outcome's deviation, the farthest
// first, at most ten (docs/method.md#mistakes-in-the-data). Each is left out before the next is
// sought: a wrong run pulls the predictions of its neighbours. It returns none of sets of few
// runs, of very many rows, or where no process can be fitted.
func (l Learner) FarRuns(ctx context.Context, s triplets.Set) ([]FarRun, error) {
	var out []FarRun
	for rest := s; len(out) < mostFar; {
		f, err := l.farthest(ctx, rest)
		if err != nil || f == nil {
			return out, err
		}

		rows := make([]int, 0, rest.N)
		for i, r := range rest.Run {
			if r != f.Run {
				rows = append(rows, i)
			}
		}

		out, rest = append(out, *f), rest.Select(rows)
	}

	return out, nil
}

// farthest returns the first of FarRuns; nil where there is none.
func (l Learner) farthest(ctx context.Context, s triplets.Set) (*FarRun, error) {
	if s.Couples || s.In == 0 || len(s.Runs) < fewestRuns || s.N > mostRunRows {
		return nil, nil
	}

	if s.N*s.Out > mostRunRows {
		l.Form = "conditions"
	}

	rows := make([]int, s.N)
	for i := range rows {
		rows[i] = i
	}

	r := l.ProcessRows(s, Grouping{Of: s.Run}, rows)
	r.hyperRows, r.steps = runHyperRows, runSteps
	_, base, err := r.fit(ctx)
	if err != nil || base == nil {
		return nil, err
	}

	mu, claim, noise, err := base.LeaveOut(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("leave out runs: %w", err)
	}

	offset, z := runResiduals(s, mu, claim, noise)

	return far(s, offset, z), nil
}

// runResiduals returns the weighted mean of measured less predicted of each run and outcome, and
// the same over its standard deviation were rows independent.
func runResiduals(s triplets.Set, mu, claim, noise []float64) (offset, z []float64) {
	n := len(s.Runs) * s.Out
	offset, z = make([]float64, n), make([]float64, n)
	for i, r := range s.Run {
		pairs := 1.0
		if s.Weight != nil {
			pairs = s.Weight[i]
		}

		for j := range s.Out {
			k := i*s.Out + j
			w := 1 / (claim[k] + noise[k]/(2*pairs))
			offset[r*s.Out+j] += w * ((s.Y1[k]+s.Y2[k])/2 - mu[k])
			z[r*s.Out+j] += w
		}
	}

	for k, w := range z {
		offset[k], z[k] = offset[k]/w, offset[k]/math.Sqrt(w)
	}

	return offset, z
}

// far returns the run with the largest residual of some outcome, or of all levels in dB together; nil
// below the limit.
func far(s triplets.Set, offset, z []float64) *FarRun {
	runs, out := len(s.Runs), s.Out
	tests, near := []int{}, neighbours(s)
	for j := range out {
		tests = append(tests, j)
		robust(z[j:], out) // in the unit of the outcome's robust deviation
	}

	if out > 1 && !slices.ContainsFunc(s.Outcomes, func(q triplets.Quantity) bool { return !inDB(q) }) {
		tests = append(tests, -1)
	}

	limit := max(farRun, distuv.StudentsT{
		Sigma: 1, Nu: medianShare * float64(runs),
	}.Quantile(1-falseAlarm/2/float64(runs*len(tests))))
	worst := FarRun{Limit: limit}
	for _, j := range tests {
		of, size := make([]float64, runs), make([]float64, runs)
		for r := range runs {
			if j >= 0 {
				of[r], size[r] = offset[r*out+j], z[r*out+j]
				continue
			}

			for k := range out {
				of[r] += offset[r*out+k] / float64(out)
				size[r] += z[r*out+k]
			}
		}

		robust(size, 1)
		least := leastDB
		if j >= 0 && !inDB(s.Outcomes[j]) {
			least = leastShare * stat.PopStdDev(column(s.Y1, out, j), nil)
		}

		for r, t := range size {
			if math.Abs(of[r]) < least {
				continue
			}

			var local []float64
			for _, k := range near[r] {
				local = append(local, size[k])
			}

			if t = math.Abs(t) / max(1, deviation(local, 1)); t >= limit && t > worst.Times {
				worst = FarRun{r, j, of[r], t, limit}
			}
		}
	}

	if worst.Times == 0 {
		return nil
	}

	return &worst
}

// neighbours lists the nearest runs of each, by the means of their inputs.
func neighbours(s triplets.Set) [][]int {
	runs := len(s.Runs)
	x, count := make([]float64, runs*s.In), make([]float64, runs)
	for i, r := range s.Run {
		count[r]++
		for k := range s.In {
			x[r*s.In+k] += s.X[i*s.In+k]
		}
	}

	for k := range s.In {
		sd := stat.PopStdDev(column(s.X, s.In, k), nil)
		for r := range runs {
			x[r*s.In+k] /= count[r] * cmp.Or(sd, 1)
		}
	}

	near := make([][]int, runs)
	for r := range near {
		distance := make([]float64, runs)
		for q := range runs {
			distance[q] = floats.Distance(x[q*s.In:(q+1)*s.In], x[r*s.In:(r+1)*s.In], 2)
			if count[q] > 0 && q != r {
				near[r] = append(near[r], q)
			}
		}

		slices.SortStableFunc(near[r], func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
		near[r] = near[r][:min(len(near[r]), nearRuns)]
	}

	return near
}

func column(v []float64, width, k int) (out []float64) {
	for i := k; i < len(v); i += width {
		out = append(out, v[i])
	}
	return out
}

func inDB(q triplets.Quantity) bool { return strings.HasPrefix(q.Unit, "dB") }

// robust divides every step-th value by their robust deviation, where there is one.
func robust(v []float64, step int) {
	d := deviation(v, step)
	if d == 0 {
		d = math.Inf(1) // most residuals are zero: there is no scale
	}

	for i := 0; i < len(v); i += step {
		v[i] /= d
	}
}

// deviation is 1.4826 times the median size of every step-th value; 0 of none.
func deviation(v []float64, step int) float64 {
	var size []float64
	for i := 0; i < len(v); i += step {
		if v[i] == v[i] { // else the run was left out before
			size = append(size, math.Abs(v[i]))
		}
	}

	if len(size) == 0 {
		return 0
	}

	slices.Sort(size)
	n := len(size)

	return 1.4826 * (size[(n-1)/2] + size[n/2]) / 2
}
