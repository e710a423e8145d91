package dsp

import (
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

// ReverseArrangements counts the pairs i < j with x_i > x_j. A pair of equal values counts as a half. It returns the
// count and its exact two-sided p-value if the values are exchangeable (Bendat & Piersol's trend test): the probability
// that values in random order, equal values included, have a count as far from its middle, or further.
func ReverseArrangements(x []float64) (count, p float64) {
	reverse := 0 // pairs of different values in reverse order
	equal := 0   // pairs of equal values
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			switch {
			case x[i] > x[j]:
				reverse++
			case x[i] == x[j]:
				equal++
			}
		}
	}

	atMost := arrangements(len(x))
	if equal > 0 {
		atMost = arrangementsOfGroups(sizesOfEqual(x))
	}

	extreme := min(reverse, len(atMost)-1-reverse)

	return float64(reverse) + float64(equal)/2, math.Min(1, 2*atMost[extreme])
}

// sizesOfEqual returns the number of values in each group of equal values.
func sizesOfEqual(x []float64) []int {
	number, groups := lists.Index(x)
	sizes := make([]int, len(groups))
	for _, k := range number {
		sizes[k]++
	}

	return sizes
}

// arrangementsOf caches the results of arrangements: a []float64 for each n.
var arrangementsOf sync.Map

// arrangements returns a slice whose element k is the probability of at most k reverse arrangements
// among n different values in random order, k = 0 … n(n−1)/2. The caller must not change it.
func arrangements(n int) []float64 {
	if p, ok := arrangementsOf.Load(n); ok {
		return p.([]float64)
	}

	p := cumulative(differentArrangements(n))
	arrangementsOf.Store(n, p)

	return p
}

// arrangementsOfGroups returns the same for values of which some are equal. sizes are the sizes of the groups of equal
// values. Two values of one group are not a reverse arrangement. The reverse arrangements of a group with all groups
// before it do not depend on the order of those groups, so that the numbers of arrangements add up independently.
func arrangementsOfGroups(sizes []int) []float64 {
	p := []float64{1}
	before := 0 // values in the groups before
	for _, size := range sizes {
		p = convolve(p, arrangementsBetween(size, before))
		before += size
	}

	return cumulative(p)
}

// arrangementsBetween returns the probabilities of 0 … a·b reverse arrangements between a equal values and b others in
// random order: the law of Mann and Whitney's U. The values are added one by one. The last value of the order is one of
// the a values with probability i/(i+j), if there are i of them and j others, and j arrangements end at it.
func arrangementsBetween(a, b int) []float64 {
	fewer := slices.Repeat([][]float64{{1}}, b+1) // of i−1 equal values, by the number of others
	for i := 1; i <= a; i++ {
		next := [][]float64{{1}}
		for j := 1; j <= b; j++ {
			share := float64(i) / float64(i+j)
			p := make([]float64, i*j+1)
			for k, v := range fewer[j] {
				p[k+j] += share * v
			}

			for k, v := range next[j-1] {
				p[k] += (1 - share) * v
			}

			next = append(next, p)
		}

		fewer = next
	}

	return fewer[b]
}

// convolve returns the probabilities of the sum of two independent numbers 0, 1, … with the probabilities p and q.
func convolve(p, q []float64) []float64 {
	sum := make([]float64, len(p)+len(q)-1)
	for k, v := range p {
		for r, w := range q {
			sum[k+r] += v * w
		}
	}

	return sum
}

// differentArrangements returns the probabilities of 0 … n(n−1)/2 reverse arrangements among n different values in
// random order.
func differentArrangements(n int) []float64 {
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

	return p
}

// cumulative replaces the elements of p by their running sums, and returns p.
func cumulative(p []float64) []float64 {
	for k := range p[1:] {
		p[k+1] += p[k]
	}

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
	t         float64 // studentised deviation of the last outlier from the remaining values
	p         float64 // p-value of the set
}

// minOutlierValues is the fewest values among which an outlier is looked for.
const minOutlierValues = 4

// findOutliers looks for at most maxCount outliers in x. It removes the most deviating value, tests it against the
// remaining values, and repeats, so that two outliers do not hide each other. The values removed up to a test are a
// set. The test is the externally studentised deviation with n−2 degrees of freedom. Its p-value is multiplied by n,
// because any of the n values could have been the most deviating one, and by maxCount, the number of sets tested.
//
// findOutliers returns the set with the smallest p-value. It tests no further sets if the remaining values do not
// scatter. found is false if no set was tested.
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
