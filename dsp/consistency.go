package dsp

import (
	"fmt"
	"math"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
)

// Thresholds of the flags that are no tests, or need more than significance.
const (
	speedShift     = 0.002 // docs/method.md#do-the-halves-agree
	floorRatioDB   = 1.0   // a floor's change smaller than this is significant soon, but harmless
	outlierSigma   = 4.0   // docs/method.md#do-the-halves-agree
	maxOutliers    = 3     // segments per channel that may be outliers
	nepersToDB     = 10 / math.Ln10
	minTestSamples = 2
)

// test is one member of a run's family of consistency tests.
type test struct {
	flag Flag
	show bool          // the effect is large enough to be worth a flag if significant
	text func() string // of the flag
}

// consistency compares the halves of a run: per channel and harmonic Welch's t
// of the halves' segment powers (in dB) and the reverse arrangements over all
// segments; per channel the floors' ratio and segments whose floor is an
// outlier. All p-values of the run are one family under Holm. The speed shift
// is a plain threshold.
//
// Amplitude modulation that is the same in both halves spreads the segments'
// powers, and so widens what the tests allow: it is no flag.
func (a *Analyser) consistency(run *rotorRun, s *rotor, measured [2]float64, floors [2][]int) []Flag {
	var flags []Flag
	if f, ok := shiftFlag(run, s, measured); ok {
		flags = append(flags, f)
	}

	var tests []test
	stride := s.segments.disjoint() // the tests take segments that do not overlap
	segments := (s.segments.perHalf + stride - 1) / stride
	for c := range run.Channels {
		ch := &run.Channels[c]
		for m := range s.harmonics {
			levels := a.segmentLevels(run, c, m, stride)
			if levels == nil {
				continue
			}

			tests = append(tests, harmonicTests(levels, segments, c, m+1, ch.Halves[0].Lines[m].Hz)...)
		}

		if levels := a.segmentFloors(c, floors, stride); levels != nil {
			tests = append(tests, floorTests(levels, segments, c)...)
		}
	}

	for i, adjusted := range Holm(lists.Each(tests, func(t test) float64 { return t.flag.P })) {
		if t := tests[i]; t.show && adjusted < testLevel {
			t.flag.P, t.flag.Text = adjusted, t.text()
			flags = append(flags, t.flag)
		}
	}

	return flags
}

// shiftFlag compares the halves' speeds: more than 0.2 % and more than the
// spectra resolve (half a bin at the highest harmonic).
func shiftFlag(run *rotorRun, s *rotor, measured [2]float64) (Flag, bool) {
	if measured[0] == 0 || measured[1] == 0 {
		return Flag{}, false
	}

	shift := (measured[1] - measured[0]) / measured[0]

	resolved := math.Abs(measured[1]-measured[0])*float64(s.blades*s.harmonics) > 0.5*run.BinHz
	if math.Abs(shift) <= speedShift || !resolved {
		return Flag{}, false
	}

	return Flag{
		Code: "speed-shift", Channel: -1, Statistic: shift,
		Text: fmt.Sprintf("shaft speed moved by %+.2f %% between the halves, %.6g → %.6g rev/s", 100*shift, measured[0],
			measured[1]),
	}, true
}

// segmentLevels returns the power of harmonic m (from 0) of channel c in the
// segments of both halves that are apart, in dB of an arbitrary reference: over the bins that
// either half's band covers, counted from each half's expected frequency so
// that both halves sum equally many. Nil if a segment has no power.
func (a *Analyser) segmentLevels(run *rotorRun, c, m, stride int) []float64 {
	ch := &run.Channels[c]
	lo, hi := math.MaxInt, math.MinInt

	var centre [2]int
	for h := range ch.Halves {
		l := &ch.Halves[h].Lines[m]
		centre[h] = int(math.Round(l.Hz / run.BinHz))
		lo, hi = min(lo, l.Band[0]-centre[h]), max(hi, l.Band[1]-centre[h])
	}

	var levels []float64
	for h := range a.segs {
		for g := 0; g < len(a.segs[h]); g += stride {
			seg := a.segs[h][g]

			var sum float64
			for k := max(1, centre[h]+lo); k <= min(len(seg[c])-1, centre[h]+hi); k++ {
				sum += float64(seg[c][k])
			}

			if !(sum > 0) {
				return nil
			}

			levels = append(levels, sum)
		}
	}

	for i, v := range levels {
		levels[i] = nepersToDB * math.Log(v)
	}

	return levels
}

// segmentFloors returns channel c's broadband level in the segments of both
// halves that are apart, in dB: the mean log power over the floor bins of all harmonics. Nil
// if some bin has none.
func (a *Analyser) segmentFloors(c int, floors [2][]int, stride int) []float64 {
	var levels []float64
	for h := range a.segs {
		for g := 0; g < len(a.segs[h]); g += stride {
			p, bins := a.segs[h][g][c], floors[h]
			for len(bins) > 0 && bins[len(bins)-1] >= len(p) {
				bins = bins[:len(bins)-1]
			}

			left, sum := bins, 0.0

			// Logarithms are added by multiplying a few powers first: six float32
			// neither overflow a float64 nor vanish in it.
			for ; len(left) >= 6; left = left[6:] {
				x, y := float64(p[left[0]])*float64(p[left[1]]), float64(p[left[2]])*float64(p[left[3]])
				sum += math.Log(x * y * (float64(p[left[4]]) * float64(p[left[5]])))
			}

			product := 1.0
			for _, k := range left {
				product *= float64(p[k])
			}

			sum += math.Log(product)

			// One that is not positive makes the sum no finite number.
			if len(bins) == 0 || sum-sum != 0 {
				return nil
			}

			levels = append(levels, nepersToDB*sum/float64(len(bins)))
		}
	}

	return levels
}

// harmonicTests compares one harmonic's segment levels, segments of the first
// half first.
func harmonicTests(levels []float64, segments, channel, order int, hz float64) []test {
	var tests []test

	name := func() string { return fmt.Sprintf("harmonic %d (%.1f Hz)", order, hz) }
	if t, _, p, ok := WelchT(levels[:segments], levels[segments:]); ok {
		tests = append(tests, test{Flag{Code: "harmonic-drift", Channel: channel, Statistic: t, P: p}, true, func() string {
			d := stat.Mean(levels[segments:], nil) - stat.Mean(levels[:segments], nil)
			return fmt.Sprintf("%s changes by %+.1f dB between the halves (Welch t = %.1f)", name(), d, t)
		}})
	}

	if n, p := ReverseArrangements(levels); len(levels) >= 4 {
		tests = append(tests, test{Flag{Code: "trend", Channel: channel, Statistic: n, P: p}, true, func() string {
			direction := "falls"
			if n < float64(len(levels)*(len(levels)-1))/4 {
				direction = "rises"
			}

			return fmt.Sprintf("%s %s through the recording (%g reverse arrangements of %d segments)", name(), direction, n,
				len(levels))
		}})
	}

	return tests
}

// floorTests compares one channel's segment floors, segments of the first half
// first.
func floorTests(levels []float64, segments, channel int) []test {
	var tests []test
	if t, _, p, ok := WelchT(levels[:segments], levels[segments:]); ok {
		d := stat.Mean(levels[segments:], nil) - stat.Mean(levels[:segments], nil)
		f := Flag{Code: "floor-ratio", Channel: channel, Statistic: t, P: p}
		tests = append(tests, test{f, math.Abs(d) >= floorRatioDB, func() string {
			return fmt.Sprintf("the floor changes by %+.1f dB between the halves (Welch t = %.1f)", d, t)
		}})
	}

	if which, t, p, ok := outliers(levels, min(maxOutliers, len(levels)/4)); ok {
		f := Flag{Code: "outlier-segment", Channel: channel, Statistic: t, P: p}
		tests = append(tests, test{f, math.Abs(t) > outlierSigma, func() string {
			if len(which) > 1 {
				return fmt.Sprintf("the floors of %d segments of %d, first segment %d, are outliers (at least %.1f standard "+
					"deviations)", len(which), len(levels), which[0]+1, math.Abs(t))
			}

			return fmt.Sprintf("the floor of segment %d of %d is an outlier (%.1f standard deviations)", which[0]+1,
				len(levels), t)
		}})
	}

	return tests
}

// WelchT is Welch's t of two samples' means (second less first), its degrees
// of freedom and two-sided p-value. ok is false where it is not defined: fewer
// than 2 values, or no scatter at all.
func WelchT(first, second []float64) (t, dof, p float64, ok bool) {
	n1, n2 := float64(len(first)), float64(len(second))

	if len(first) < minTestSamples || len(second) < minTestSamples {
		return 0, 0, 1, false
	}

	m1, v1 := stat.MeanVariance(first, nil)
	m2, v2 := stat.MeanVariance(second, nil)
	a, b := v1/n1, v2/n2
	if !(a+b > 0) {
		return 0, 0, 1, false
	}

	t = (m2 - m1) / math.Sqrt(a+b)
	dof = (a + b) * (a + b) / (a*a/(n1-1) + b*b/(n2-1))

	return t, dof, 2 * studentTail(math.Abs(t), dof), true
}

// studentTail is the probability of Student's t above t.
func studentTail(t, dof float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: dof}.CDF(-t)
}

// ReverseArrangements counts the pairs i < j with x_i > x_j (half for equal
// ones) and returns the count with its exact two-sided p-value under
// exchangeability (Kendall's distribution; Bendat & Piersol's trend test).
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

// arranged holds what arrangements has computed, by n.
var arranged sync.Map

// arrangements returns, of n values in random order, the probability of at most k
// reverse arrangements, k = 0 … n(n−1)/2.
func arrangements(n int) []float64 {
	if p, ok := arranged.Load(n); ok {
		return p.([]float64)
	}

	// p[k]: probability of k reverse arrangements among the first m values:
	// the m-th value is preceded by 0 … m−1 larger ones, equally likely.
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

	arranged.Store(n, p)

	return p
}

// Holm returns the p-values adjusted for their number by Holm's step-down
// method, in the order given: rejecting where the adjusted value is below α
// keeps the chance of any false rejection below α whatever the dependence.
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

// outliers looks for up to most values that do not belong to the others:
// the most deviating value is removed and tested against the rest (externally
// studentised, n−2 degrees of freedom, times n values it could have been),
// again and again, so that two outliers do not hide each other; the most
// significant number wins, its p-value times most. It returns the outliers'
// positions in the order of removal, and the last one's statistic.
func outliers(x []float64, most int) (which []int, t, p float64, ok bool) {
	p = 1
	left := lists.Numbers(len(x))

	var removed []int

	for range most {
		n := len(left)
		if n < 4 {
			break
		}

		var centre float64
		for _, i := range left {
			centre += x[i] / float64(n)
		}

		worst := 0
		for j, i := range left {
			if math.Abs(x[i]-centre) > math.Abs(x[left[worst]]-centre) {
				worst = j
			}
		}

		i := left[worst]
		left = append(left[:worst], left[worst+1:]...)
		removed = append(removed, i)

		m, v := stat.MeanVariance(lists.Rows(x, 1, left), nil)
		if !(v > 0) {
			break
		}

		tn := (x[i] - m) / math.Sqrt(v*(1+1/float64(n-1)))
		pn := math.Min(1, 2*studentTail(math.Abs(tn), float64(n-2))*float64(n)*float64(most))
		if !ok || pn < p {
			which, t, p, ok = append([]int(nil), removed...), tn, pn, true
		}
	}

	return which, t, p, ok
}
