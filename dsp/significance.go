package dsp

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
)

// minTrendLevels is the least number of levels for a test of a trend.
const minTrendLevels = 4

// WelchT returns Welch's t of the means of two samples (second minus first), its degrees
// of freedom and its two-sided p-value. ok is false, and p is 1, if t is not defined: a sample
// has fewer than 2 values, or neither sample scatters.
func WelchT(first, second []float64) (t, dof, p float64, ok bool) {
	if len(first) < minTestSamples || len(second) < minTestSamples {
		return 0, 0, 1, false
	}

	n1 := float64(len(first))
	n2 := float64(len(second))
	m1, v1 := stat.MeanVariance(first, nil)
	m2, v2 := stat.MeanVariance(second, nil)
	a := v1 / n1
	b := v2 / n2
	if !(a+b > 0) {
		return 0, 0, 1, false
	}

	t = (m2 - m1) / math.Sqrt(a+b)
	dof = (a + b) * (a + b) / (a*a/(n1-1) + b*b/(n2-1))

	return t, dof, 2 * studentTail(math.Abs(t), dof), true
}

// studentTail returns the probability that Student's t is above t.
func studentTail(t, dof float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: dof}.CDF(-t)
}

// ReverseArrangements counts the pairs i < j with x_i > x_j. A pair of equal values counts as a
// half. It returns the count and its exact two-sided p-value if the values are exchangeable
// (Kendall's distribution; Bendat & Piersol's trend test).
func ReverseArrangements(x []float64) (count, p float64) {
	n := len(x)
	for i := range x {
		for j := i + 1; j < n; j++ {
			switch {
			case x[i] > x[j]:
				count++
			case x[i] == x[j]:
				count += 0.5
			}
		}
	}

	below := arrangements(n)
	extreme := math.Min(count, float64(len(below)-1)-count)

	return count, math.Min(1, 2*below[int(extreme)])
}

// arrangementsOf caches the results of arrangements: a []float64 for each n.
var arrangementsOf sync.Map

// arrangements returns a slice whose element k is the probability of at most k reverse arrangements
// among n values in random order, k = 0 … n(n−1)/2. The caller must not change it.
func arrangements(n int) []float64 {
	if p, ok := arrangementsOf.Load(n); ok {
		return p.([]float64)
	}

	// p[k] is the probability of k reverse arrangements among the first m values. The m-th value
	// follows 0 … m−1 larger values, each number equally likely.
	p := []float64{1}
	for m := 2; m <= n; m++ {
		next := make([]float64, len(p)+m-1)
		for k, v := range p {
			for r := range m {
				next[k+r] += v / float64(m)
			}
		}

		p = next
	}

	for k := range p[1:] {
		p[k+1] += p[k]
	}

	arrangementsOf.Store(n, p)

	return p
}

// Holm returns the p-values adjusted by Holm's step-down method, in the order of p. If all
// hypotheses with an adjusted value below α are rejected, the probability of any false rejection
// is at most α, however the tests depend on each other. No value may be NaN.
//
// train/score has a Holm of its own, which leaves out NaN. dsp and train must not
// import each other, and no package below both of them is about statistics.
func Holm(p []float64) []float64 {
	order := lists.Numbers(len(p))
	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] < p[order[j]] })
	adjusted := make([]float64, len(p))

	running := 0.0
	for rank, i := range order {
		running = math.Max(running, math.Min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = running
	}

	return adjusted
}

// outlierSet is a set of outliers among some values.
type outlierSet struct {
	positions []int   // of the outliers, the most deviating first
	t         float64 // studentised deviation of the last outlier from the values left
	p         float64 // p-value of the set
}

// text describes the set as outliers among the floors of that many segments.
func (o *outlierSet) text(segments int) string {
	first := slices.Min(o.positions) + 1 // the most deviating position comes first in the list
	if len(o.positions) > 1 {
		return fmt.Sprintf("the floors of %d segments of %d, first segment %d, are outliers (at least %.1f standard "+
			"deviations)", len(o.positions), segments, first, math.Abs(o.t))
	}

	return fmt.Sprintf("the floor of segment %d of %d is an outlier (%.1f standard deviations)", first, segments, o.t)
}

// minOutlierValues is the fewest values among which an outlier is looked for.
const minOutlierValues = 4

// findOutliers looks for at most maxCount outliers in x. It removes the most deviating value, tests it against the
// remaining values, and repeats, so that two outliers do not hide each other. The values removed up to a test are a
// set. The test is the externally studentised deviation with n−2 degrees of freedom. Its p-value is multiplied by n,
// because any of the n values could have been the most deviating one, and by maxCount, the number of sets tested.
//
// findOutliers returns the set with the smallest p-value. found is false if there are too few values, or if the
// remaining values do not scatter.
func findOutliers(x []float64, maxCount int) (best outlierSet, found bool) {
	left := lists.Numbers(len(x))
	var removed []int
	for range maxCount {
		n := len(left)
		if n < minOutlierValues {
			break
		}

		worst := mostDeviating(x, left)
		i := left[worst]
		left = slices.Delete(left, worst, worst+1)
		removed = append(removed, i)

		mean, variance := stat.MeanVariance(lists.Pick(x, left), nil)
		if !(variance > 0) {
			break
		}

		t := (x[i] - mean) / math.Sqrt(variance*(1+1/float64(n-1)))
		p := math.Min(1, 2*studentTail(math.Abs(t), float64(n-2))*float64(n)*float64(maxCount))
		if !found || p < best.p {
			best = outlierSet{positions: slices.Clone(removed), t: t, p: p}
			found = true
		}
	}

	return best, found
}

// mostDeviating returns the position in indices of the value x[i] that is furthest from the mean. The mean is taken
// over the values x[i] with i in indices.
func mostDeviating(x []float64, indices []int) int {
	centre := 0.0
	for _, i := range indices {
		centre += x[i] / float64(len(indices))
	}

	worst := 0
	for j, i := range indices {
		if math.Abs(x[i]-centre) > math.Abs(x[indices[worst]]-centre) {
			worst = j
		}
	}

	return worst
}
