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

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// Limits of FarRuns: runs below which a robust deviation means little, rows that it takes because the
// process of more would take minutes, rows of the search, robust deviations at least, and the chance of a
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
// in that order, and none of sets of few or very many runs, or where no process can be fitted. Of
// many rows it takes means.
func (l Learner) FarRuns(ctx context.Context, s triplets.Set) (out []FarRun, err error) {
	defer fault.Catch(&err)
	if s.Couples || s.In == 0 || len(s.Runs) < fewestRuns || len(s.Runs) > mostRunRows {
		return nil, nil
	}

	if s.N > mostRunRows {
		s = fewer(s, mostRunRows)
	}

	l.Form = "conditions" // orders find as many and take ten times as long
	around := neighbours(s)
	now := l.leaveRuns(ctx, s)
	for now != nil && len(out) < mostFar {
		f := now.farthest(around)
		if f.Times == 0 {
			break
		}

		if now = l.leaveRuns(ctx, now.set, f.Run); now == nil {
			break
		}

		if f = now.test(f.Run, around[f.Run]); f.Times == 0 || f.Times < f.Limit {
			break
		}

		now.forget(f.Run)
		out = append(out, f)
	}

	if len(out) < 2 {
		return out, nil
	}

	return l.alone(ctx, s, out, around), nil
}

// alone keeps the runs that are far from what the process without any of them predicts: the first that are found may
// be neighbours of a wrong run.
func (l Learner) alone(ctx context.Context, s triplets.Set, found []FarRun, around [][][]int) (out []FarRun) {
	runs := lists.Each(found, func(f FarRun) int { return f.Run })
	clean := l.leaveRuns(ctx, s, runs...)
	if clean == nil {
		return found
	}

	own := *clean
	own.offset, own.z = slices.Clone(clean.offset), slices.Clone(clean.z)
	for _, r := range runs {
		clean.forget(r)
	}

	for _, r := range runs {
		at := r * s.Out
		copy(clean.offset[at:at+s.Out], own.offset[at:])
		copy(clean.z[at:at+s.Out], own.z[at:])

		if f := clean.test(r, around[r]); f.Times >= f.Limit && f.Times > 0 {
			out = append(out, f)
		}

		clean.forget(r)
	}

	return out
}

// fewer returns at most so many rows: of each run and condition means of as many of its rows, in their order. Of more
// runs and conditions it returns rows that are evenly spread.
func fewer(s triplets.Set, most int) triplets.Set {
	of := lists.Alike(lists.Make(s.N, func(i int) [2]int { return [2]int{s.Run[i], s.Condition[i]} }))
	if len(of) > most {
		return s.Select(lists.Make(most, func(i int) int { return i * s.N / most }))
	}

	var chunks [][]int
	for _, rows := range of {
		n := min(most/len(of), len(rows))
		for i := range n {
			chunks = append(chunks, rows[i*len(rows)/n:(i+1)*len(rows)/n])
		}
	}

	out := s.Select(lists.Each(chunks, func(rows []int) int { return rows[0] }))
	for i, rows := range chunks {
		for j := range s.Out {
			mean := func(y []float64) float64 { return stat.Mean(lists.Column(lists.Rows(y, s.Out, rows), s.Out, j), nil) }
			out.Y1[i*s.Out+j], out.Y2[i*s.Out+j] = mean(s.Y1), mean(s.Y2)
		}
	}

	return out
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

// leaveRuns fits the process to all runs but some, leaves out each in closed form, and predicts those.
// The scales are those of the others. It returns nil where no process can be fitted.
func (l Learner) leaveRuns(ctx context.Context, s triplets.Set, runs ...int) *runResiduals {
	of, others := lists.Split(lists.Numbers(s.N), func(i int) bool { return slices.Contains(runs, s.Run[i]) })
	one, s := s.Select(of), s.Select(others)
	r := l.processRows(s, Grouping{Of: s.Run}, lists.Numbers(s.N))
	r.hyperRows, r.steps = runHyperRows, runSteps
	_, base := r.fit(ctx)
	if base == nil {
		return nil
	}

	none := slices.Repeat([]float64{math.NaN()}, len(s.Runs)*s.Out)
	f := &runResiduals{set: s, offset: none, z: slices.Clone(none)}

	mu, claim, noise, err := base.LeaveOut(ctx, nil)
	if err != nil {
		fault.Raise(fmt.Errorf("leave out runs: %w", err))
	}

	f.add(s, mu, claim, noise)
	f.standardise()

	if mu, claim, noise, err = base.PredictLevels(ctx, one.X, nil); err != nil {
		fault.Raise(fmt.Errorf("predict a run left out: %w", err))
	}

	f.add(one, mu, claim, noise)

	return f
}

// add sets the residuals of the runs of a set.
func (f *runResiduals) add(s triplets.Set, mu, claim, noise []float64) {
	sum, weight := make([]float64, len(f.z)), make([]float64, len(f.z))
	for i, r := range s.Run {
		pairs := triplets.WeightAt(s.Weight, i)
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

		size := lists.Make(len(s.Runs), func(r int) float64 { return f.size(r, t) })
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
			least = leastShare * stat.PopStdDev(lists.Column(s.Y1, s.Out, j), nil)
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
		d := deviation(lists.Each(near, func(r int) float64 { return f.size(r, t) }))
		n := float64(len(near))
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
			there := lists.Where(runs, func(r int) bool { return x[r] != nil && math.Abs(x[r][k]-end) < 1e-9 })
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
		sd := cmp.Or(stat.PopStdDev(lists.Column(points, s.In, k), nil), 1)
		for r, v := range mean {
			v[k] /= count[r] * sd
		}
	}

	return mean
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
	size := lists.Each(lists.Keep(v, func(x float64) bool { return x == x }), math.Abs)
	if len(size) == 0 {
		return 0
	}

	slices.Sort(size) // for the rounding of sums
	first := 1.4826 * lists.Median(size)
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

	return math.Sqrt(float64(len(size))*up) / math.Abs(down)
}
