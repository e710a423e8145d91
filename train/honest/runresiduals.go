package honest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/train/gp"
	"doubletake/train/triplets"
)

// This file computes how far each run lies from the predictions of a process without it, for FarRuns (farruns.go). A
// robust deviation is an estimate of the standard deviation that few large values do not change (deviation).

// runResiduals holds the residuals of runs, each by a process without the run. The residual of a run is NaN if the
// run is neither in the set nor was predicted.
type runResiduals struct {
	set    triplets.Set // the runs that the process was fitted to
	offset []float64    // runs × outcomes: weighted mean of measured less predicted, in the outcome's unit
	z      []float64    // runs × outcomes: offset over the standard deviation that it had if rows were independent
	tests  []runTest    // of each outcome, and of all together if all are levels
}

// runTest compares the residuals of one outcome, or of all levels together.
type runTest struct {
	outcome int     // number of the outcome, or allOutcomes
	limit   float64 // size of a residual, in robust deviations, from which on a run is far
	least   float64 // smallest offset that matters, in the outcome's unit
	scale   float64 // robust deviation of the residuals z of all runs
}

// leaveRuns fits the process to all runs but the given ones. It returns the residuals of the fitted runs, each left out
// in closed form, and of the given runs. The tests take their scales from the fitted runs. It returns nil if no
// process can be fitted.
func (l Learner) leaveRuns(ctx context.Context, s triplets.Set, runs ...int) (*runResiduals, error) {
	var leftRows, fittedRows []int
	for i, run := range s.Run {
		if slices.Contains(runs, run) {
			leftRows = append(leftRows, i)
		} else {
			fittedRows = append(fittedRows, i)
		}
	}

	left := s.Select(leftRows)
	fitted := s.Select(fittedRows)
	rows := l.newProcessRows(fitted, Grouping{Group: fitted.Run}, lists.Numbers(fitted.N))
	rows.hyperRows = runHyperRows
	rows.steps = runSteps
	_, base, err := rows.fit(ctx)
	if err != nil {
		return nil, err
	}

	if base == nil {
		return nil, nil
	}

	unknown := slices.Repeat([]float64{math.NaN()}, len(fitted.Runs)*s.Out)
	f := &runResiduals{set: fitted, offset: unknown, z: slices.Clone(unknown)}

	a, err := base.Answer(ctx, gp.Questions{LeaveOut: true, X: left.X})
	if err != nil {
		return nil, fmt.Errorf("leave out runs: %w", err)
	}

	f.add(fitted, a.Left)
	f.addTests()
	f.add(left, a.Predicted)

	return f, nil
}

// add sets the residuals of the runs of s by their predictions p. The weight of a row is the inverse variance of the
// difference between its mean and its prediction.
func (f *runResiduals) add(s triplets.Set, p triplets.Prediction) {
	sum := make([]float64, len(f.z))
	weight := make([]float64, len(f.z))
	for i, r := range s.Run {
		pairs := triplets.WeightAt(s.Weight, i)
		for j := range s.Out {
			k := i*s.Out + j
			w := 1 / (p.Claim[k] + p.Noise[k]/(2*pairs))
			sum[r*s.Out+j] += w * ((s.Y1[k]+s.Y2[k])/2 - p.Mu[k])
			weight[r*s.Out+j] += w
		}
	}

	for k, w := range weight {
		if w > 0 {
			f.offset[k] = sum[k] / w
			f.z[k] = sum[k] / math.Sqrt(w)
		}
	}
}

// forgetOthers returns a copy of f in which the residuals of the given runs are unknown, except the residual of the
// kept run.
func (f *runResiduals) forgetOthers(runs []int, kept int) *runResiduals {
	copied := *f
	copied.offset = slices.Clone(f.offset)
	copied.z = slices.Clone(f.z)
	for _, r := range runs {
		if r != kept {
			copied.forget(r)
		}
	}

	return &copied
}

// forget makes the residuals of a run unknown.
func (f *runResiduals) forget(run int) {
	for k := run * f.set.Out; k < (run+1)*f.set.Out; k++ {
		f.offset[k] = math.NaN()
		f.z[k] = math.NaN()
	}
}

// addTests adds a test of each outcome, and of all together if all are levels. The chance of a false alarm is divided
// among them.
func (f *runResiduals) addTests() {
	s := f.set
	chance := falseAlarm / float64(s.Out)
	levels := f.allLevels()
	if levels {
		chance /= 2
	}

	for j, q := range s.Outcomes {
		least := leastDB
		if !units.IsLevel(q.Unit) {
			least = leastShare * stat.PopStdDev(lists.Column(s.Y1, s.Out, j), nil)
		}

		f.addTest(j, least, chance)
	}

	if levels {
		f.addTest(allOutcomes, leastDB, falseAlarm/2)
	}
}

// allLevels reports whether there are several outcomes, and all are levels.
func (f *runResiduals) allLevels() bool {
	for _, q := range f.set.Outcomes {
		if !units.IsLevel(q.Unit) {
			return false
		}
	}

	return f.set.Out > 1
}

// addTest adds a test with the given smallest offset and the given chance of a false alarm among all runs.
func (f *runResiduals) addTest(outcome int, least, chance float64) {
	runs := len(f.set.Runs)
	law := distuv.StudentsT{Sigma: 1, Nu: efficiency * float64(runs)}
	limit := max(farRun, law.Quantile(1-chance/2/float64(runs)))
	t := runTest{outcome: outcome, limit: limit, least: least, scale: 1}

	sizes := make([]float64, runs)
	for r := range sizes {
		sizes[r] = f.size(r, t)
	}

	t.scale = deviation(sizes)
	if t.scale == 0 { // most residuals are zero: then no run is far
		t.scale = math.Inf(1)
	}

	f.tests = append(f.tests, t)
}

// size returns the residual of a run in a test, with its sign, in robust deviations.
func (f *runResiduals) size(run int, t runTest) float64 {
	z := f.z[run*f.set.Out : (run+1)*f.set.Out]
	if t.outcome != allOutcomes {
		return z[t.outcome] / t.scale
	}

	sum := 0.0
	for j, v := range z {
		sum += v / f.tests[j].scale
	}

	return sum / t.scale
}

// farthest returns the run whose residual is the largest share of its limit. Its Times is 0 if no offset matters.
// around are the neighbours of each run.
func (f *runResiduals) farthest(around [][][]int) FarRun {
	var worst FarRun
	for r := range f.set.Runs {
		tested := f.test(r, around[r])
		// Compare Times/Limit without a division, because both are 0 at first.
		isFarther := tested.Times*worst.Limit >= worst.Times*tested.Limit
		if isFarther && tested.Times > 0 {
			worst = tested
		}
	}

	return worst
}

// test returns the result of the test in which the residual of a run is the largest share of its limit. Times is 0 if
// no offset matters. around are lists of neighbours of the run.
func (f *runResiduals) test(run int, around [][]int) FarRun {
	var worst FarRun
	offsets := f.offset[run*f.set.Out : (run+1)*f.set.Out]
	for _, t := range f.tests {
		offset := stat.Mean(offsets, nil)
		if t.outcome != allOutcomes {
			offset = offsets[t.outcome]
		}

		if !(math.Abs(offset) >= t.least) {
			continue
		}

		times := math.Abs(f.size(run, t)) / f.localDeviation(t, around)
		if times*worst.Limit >= worst.Times*t.limit {
			worst = FarRun{Run: run, Outcome: t.outcome, Offset: offset, Times: times, Limit: t.limit}
		}
	}

	return worst
}

// localDeviation returns the deviation of the residuals around a run, in deviations of all runs: the largest deviation
// of several lists of neighbours, or 1 if it is not larger than moreNear. nearPrior runs with the deviation 1 are added
// to each list, so that a few neighbours do not decide.
func (f *runResiduals) localDeviation(t runTest, around [][]int) float64 {
	largest := 1.0
	for _, near := range around {
		sizes := make([]float64, len(near))
		for k, r := range near {
			sizes[k] = f.size(r, t)
		}

		d := deviation(sizes)
		n := float64(len(near))
		largest = max(largest, math.Sqrt((nearPrior+n*d*d)/(nearPrior+n)))
	}

	if largest > moreNear {
		return largest
	}

	return 1
}

// Tuning of deviation.
const (
	cutOff     = 6.0    // values that are this many times as large as the first estimate do not count
	efficiency = 0.87   // share of the degrees of freedom of the standard deviation (see TestDeviation)
	normalMAD  = 1.4826 // standard deviation of normal values over their median size
)

// deviation returns Tukey's biweight estimate of the standard deviation of values about 0. Its first estimate is the
// median size times normalMAD. NaNs do not count. It returns 0 if there are no values, or if most are 0.
func deviation(v []float64) float64 {
	var sizes []float64
	for _, x := range v {
		if !math.IsNaN(x) {
			sizes = append(sizes, math.Abs(x))
		}
	}

	if len(sizes) == 0 {
		return 0
	}

	slices.Sort(sizes) // so that the rounding of sums does not depend on the order of v
	first := normalMAD * lists.Median(sizes)
	if first == 0 {
		return 0
	}

	var numerator, denominator float64
	for _, x := range sizes {
		u := x / (cutOff * first)
		if u >= 1 {
			continue
		}

		w := 1 - u*u
		numerator += x * x * w * w * w * w
		denominator += w * (1 - 5*u*u)
	}

	return math.Sqrt(float64(len(sizes))*numerator) / math.Abs(denominator)
}
