package honest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/ingest/units"
	"doubletake/train/triplets"
)

// Limits of FarRuns: runs below which a robust deviation means little, rows above which the
// process would take minutes, rows of the search, robust deviations at least, and the chance of a
// false alarm among all runs and outcomes of a set whose residuals are normal; half of it is that of
// all levels together.
const (
	fewestRuns   = 12
	mostRunRows  = 2000
	runHyperRows = 160
	runSteps     = 30
	farRun       = 3.0
	falseAlarm   = 0.025
	leastDB      = 0.5  // smaller offsets are no mistake
	leastShare   = 0.05 // nor are those below so much of an outcome's deviation
	mostFar      = 10
	nearRuns     = 24  // whose deviation counts
	moreNear     = 1.3 // where it is so many times that of all
	nearPrior    = 4   // runs of that deviation are added to those near
)

// FarRun is a run whose outcomes are far from those that all other runs predict.
type FarRun struct {
	Run     int     // among Set.Runs
	Outcome int     // −1: all together, where all are levels in dB
	Offset  float64 // weighted mean of measured less predicted, in the outcome's unit
	Times   float64 // |Offset| over its standard deviation, over the robust deviation of the others
	Limit   float64 // from which a run of this set is far
}

// FarRuns leaves out each run of the set in closed form and takes the farthest, then fits the
// process without it, since a wrong run pulls the predictions of its neighbours. The run is far if its
// weighted residual is at least three robust deviations of the others', more than 2.5 % of sets of so
// many runs would have were residuals normal, and at least 0.5 dB or 5 % of the outcome's deviation
// (docs/method.md#mistakes-in-the-data). The next is sought without it. FarRuns returns at most ten,
// in that order, and none of sets of few runs, of very many rows, or where no process can be fitted.
func (l Learner) FarRuns(ctx context.Context, s triplets.Set) ([]FarRun, error) {
	if s.Couples || s.In == 0 || len(s.Runs) < fewestRuns || s.N > mostRunRows {
		return nil, nil
	}

	var out []FarRun

	l.Form = "conditions" // orders find as many and take ten times as long
	around := neighbours(s)
	now, err := l.leaveRuns(ctx, s, -1)
	for err == nil && now != nil && len(out) < mostFar {
		f := now.farthest(around)
		if f.Times == 0 {
			break
		}

		if now, err = l.leaveRuns(ctx, now.set, f.Run); err != nil || now == nil {
			break
		}

		if f = now.test(f.Run, around[f.Run]); f.Times == 0 || f.Times < f.Limit {
			break
		}

		now.forget(f.Run)
		out = append(out, f)
	}

	return out, err
}

// runResiduals are residuals of runs, each of a process without it, row-major runs × outcomes. NaN
// are those of runs that are not in the set.
type runResiduals struct {
	set    triplets.Set
	offset []float64 // weighted mean of measured less predicted
	z      []float64 // the same over its standard deviation, were rows independent
	tests  []runTest
}

// runTest compares the residuals of one outcome, or of all levels together.
type runTest struct {
	outcome int     // −1: all
	limit   float64 // robust deviations
	least   float64 // offset that matters
	scale   float64 // robust deviation
}

// leaveRuns fits the process to all runs but one, leaves out each in closed form, and predicts that
// one; −1: there is none. The scales are those of the others. It returns nil where no process can be
// fitted.
func (l Learner) leaveRuns(ctx context.Context, s triplets.Set, run int) (*runResiduals, error) {
	var of, others []int
	for i, r := range s.Run {
		if r == run {
			of = append(of, i)
		} else {
			others = append(others, i)
		}
	}

	one, s := s.Select(of), s.Select(others)
	r := l.ProcessRows(s, Grouping{Of: s.Run}, all(s.N))
	r.hyperRows, r.steps = runHyperRows, runSteps
	m, base, err := r.fit(ctx)
	if err != nil || base == nil {
		return nil, err
	}

	f := &runResiduals{set: s}
	for range len(s.Runs) * s.Out {
		f.offset, f.z = append(f.offset, math.NaN()), append(f.z, math.NaN())
	}

	mu, claim, noise, err := base.LeaveOut(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("leave out runs: %w", err)
	}

	f.add(s, mu, claim, noise)
	f.standardise()

	if mu, claim, noise, err = base.Predict(ctx, m.inputs(one.X)); err != nil {
		return nil, fmt.Errorf("predict a run left out: %w", err)
	}

	f.add(one, mu, claim, noise)

	return f, nil
}

// add sets the residuals of the runs of a set.
func (f *runResiduals) add(s triplets.Set, mu, claim, noise []float64) {
	sum, weight := make([]float64, len(f.z)), make([]float64, len(f.z))
	for i, r := range s.Run {
		pairs := 1.0
		if s.Weight != nil {
			pairs = s.Weight[i]
		}

		for j := range s.Out {
			k := i*s.Out + j
			w := 1 / (claim[k] + noise[k]/(2*pairs))
			sum[r*s.Out+j] += w * ((s.Y1[k]+s.Y2[k])/2 - mu[k])
			weight[r*s.Out+j] += w
		}
	}

	for k, w := range weight {
		if w > 0 {
			f.offset[k], f.z[k] = sum[k]/w, sum[k]/math.Sqrt(w)
		}
	}
}

// forget leaves a run out.
func (f *runResiduals) forget(run int) {
	for k := run * f.set.Out; k < (run+1)*f.set.Out; k++ {
		f.offset[k], f.z[k] = math.NaN(), math.NaN()
	}
}

// standardise sets the tests, with the scales of the runs that are there.
func (f *runResiduals) standardise() {
	s := f.set
	other := func(q triplets.Quantity) bool { return !units.IsLevel(q.Unit) }
	levels := s.Out > 1 && !slices.ContainsFunc(s.Outcomes, other)
	add := func(outcome int, least, chance float64) {
		t := runTest{outcome, farRun, least, 1}
		runs := float64(len(s.Runs))
		law := distuv.StudentsT{Sigma: 1, Nu: efficiency * runs}
		t.limit = max(t.limit, law.Quantile(1-chance/2/runs))

		var size []float64
		for r := range s.Runs {
			size = append(size, f.size(r, t))
		}

		if t.scale = deviation(size); t.scale == 0 {
			t.scale = math.Inf(1) // most residuals are zero
		}

		f.tests = append(f.tests, t)
	}

	chance := falseAlarm / float64(s.Out)
	if levels {
		chance /= 2
	}

	for j, q := range s.Outcomes {
		least := leastDB
		if !units.IsLevel(q.Unit) {
			least = leastShare * stat.PopStdDev(column(s.Y1, s.Out, j), nil)
		}

		add(j, least, chance)
	}

	if levels {
		add(-1, leastDB, falseAlarm/2)
	}
}

// size is the residual of a run in a test, in robust deviations.
func (f *runResiduals) size(run int, t runTest) float64 {
	z := f.z[run*f.set.Out : (run+1)*f.set.Out]
	if t.outcome >= 0 {
		return z[t.outcome] / t.scale
	}

	sum := 0.0
	for j, v := range z {
		sum += v / f.tests[j].scale
	}

	return sum / t.scale
}

// farthest returns the run that is farthest for its limit; Times is 0 where no offset matters.
func (f *runResiduals) farthest(around [][][]int) (worst FarRun) {
	for r := range f.set.Runs {
		if t := f.test(r, around[r]); t.Times*worst.Limit >= worst.Times*t.Limit && t.Times > 0 {
			worst = t
		}
	}

	return worst
}

// test returns the test in which a run is farthest for its limit; Times is 0 where no offset matters.
func (f *runResiduals) test(run int, around [][]int) (worst FarRun) {
	of := f.offset[run*f.set.Out : (run+1)*f.set.Out]
	for _, t := range f.tests {
		offset := stat.Mean(of, nil)
		if t.outcome >= 0 {
			offset = of[t.outcome]
		}

		if !(math.Abs(offset) >= t.least) {
			continue
		}

		times := math.Abs(f.size(run, t)) / f.local(t, around)
		if times*worst.Limit >= worst.Times*t.limit {
			worst = FarRun{run, t.outcome, offset, times, t.limit}
		}
	}

	return worst
}

// local is the deviation of the runs around one, the largest of several lists, in deviations of all runs; 1 where it
// is less than moreNear.
func (f *runResiduals) local(t runTest, around [][]int) float64 {
	most := 1.0
	for _, near := range around {
		var size []float64
		for _, r := range near {
			size = append(size, f.size(r, t))
		}

		d, n := deviation(size), float64(len(near))
		most = max(most, math.Sqrt((nearPrior+n*d*d)/(nearPrior+n)))
	}

	if most > moreNear {
		return most
	}

	return 1
}

// neighbours lists the runs that each is compared with, by the means of their inputs: the nearest, and for
// each input of which it has the lowest or the highest value the others that have it. A process that
// extrapolates errs at all of those alike.
func neighbours(s triplets.Set) [][][]int {
	runs, x := len(s.Runs), runMeans(s)
	out := make([][][]int, runs)
	without := func(list []int, r int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(q int) bool { return q == r })
	}

	for k := range s.In {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range x {
			low, high = min(low, v[k]), max(high, v[k])
		}

		for _, end := range []float64{low, high} {
			var there []int
			for r := range runs {
				if v, ok := x[r]; ok && math.Abs(v[k]-end) < 1e-9 {
					there = append(there, r)
				}
			}

			if 2*len(there) > runs {
				continue // an input of few values
			}

			for _, r := range there {
				out[r] = append(out[r], without(there, r))
			}
		}
	}

	measured := slices.Sorted(maps.Keys(x))
	for _, r := range measured {
		distance := make([]float64, runs)
		for _, q := range measured {
			distance[q] = floats.Distance(x[q], x[r], 2)
		}

		near := without(measured, r)
		slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
		out[r] = append(out[r], near[:min(len(near), nearRuns)])
	}

	return out
}

// runMeans returns the mean inputs of the runs that have rows, in deviations of all rows.
func runMeans(s triplets.Set) map[int][]float64 {
	points, count, mean := s.AtSetPoints(), map[int]float64{}, map[int][]float64{}
	for i, r := range s.Run {
		if mean[r] == nil {
			mean[r] = make([]float64, s.In)
		}

		count[r]++
		floats.Add(mean[r], points[i*s.In:(i+1)*s.In])
	}

	for k := range s.In {
		sd := cmp.Or(stat.PopStdDev(column(points, s.In, k), nil), 1)
		for r, v := range mean {
			v[k] /= count[r] * sd
		}
	}

	return mean
}

func column(v []float64, width, k int) (out []float64) {
	for i := k; i < len(v); i += width {
		out = append(out, v[i])
	}
	return out
}

// Tuning of deviation: values farther than this many of the first estimate do not count, and the
// estimate has this share of the freedom of the standard deviation (simulated, TestDeviation).
const (
	cutOff     = 6.0
	efficiency = 0.87
)

// deviation is Tukey's biweight estimate of the standard deviation of values about 0, from 1.4826 times
// the median size; 0 of none. NaN do not count.
func deviation(v []float64) float64 {
	var size []float64
	for _, x := range v {
		if x == x {
			size = append(size, math.Abs(x))
		}
	}

	if len(size) == 0 {
		return 0
	}

	slices.Sort(size)
	n := len(size)
	first := 1.4826 * (size[(n-1)/2] + size[n/2]) / 2
	if first == 0 {
		return 0
	}

	var up, down float64
	for _, x := range size {
		if u := x / (cutOff * first); u < 1 {
			w := 1 - u*u
			up, down = up+x*x*w*w*w*w, down+w*(1-5*u*u)
		}
	}

	return math.Sqrt(float64(n)*up) / math.Abs(down)
}
