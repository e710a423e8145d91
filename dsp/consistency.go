package dsp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Thresholds of the consistency flags (docs/method.md#do-the-halves-agree).
const (
	speedShift     = 0.002          // least relative difference of the halves' speeds that is flagged
	floorRatioDB   = 1.0            // least change of the floor that is flagged: smaller ones are harmless
	outlierSigma   = 4.0            // least deviation of an outlier that is flagged, in standard deviations
	maxOutliers    = 3              // most segments of a channel that may be outliers
	dBPerLn        = 10 / math.Ln10 // dB per unit of the natural logarithm of a power
	minTestSamples = 2              // fewest values per half for Welch's t
)

// test is one of the consistency tests of a run.
type test struct {
	flag  Flag          // without its text; P is the test's p-value
	large bool          // the effect is large enough for a flag, if it is also significant
	text  func() string // returns the text of the flag
}

// consistency compares the halves of a run and returns the flags:
//   - "speed-shift" if the speeds of the halves differ (a plain threshold);
//   - for each channel and harmonic "harmonic-drift" (Welch's t of the segments' levels, second half
//     against first) and "trend" (reverse arrangements over all segments);
//   - for each channel "floor-ratio" (Welch's t of the segments' floors) and "outlier-segment".
//
// Holm's correction covers all p-values of the run together. measured are the halves' shaft
// speeds, as method speeds returns them, in rev/s. floors are the floor bins of each half.
//
// Amplitude modulation that is the same in both halves spreads the segments' powers. That makes the
// tests less sensitive, and is not flagged.
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

	p := make([]float64, len(tests))
	for i, t := range tests {
		p[i] = t.flag.P
	}

	for i, adjusted := range Holm(p) {
		if t := tests[i]; t.large && adjusted < testLevel {
			t.flag.P = adjusted
			t.flag.Text = t.text()
			flags = append(flags, t.flag)
		}
	}

	return flags
}

// shiftFlag compares the speeds of the halves. It returns a flag and true if they differ by more
// than speedShift and by more than the spectra resolve, half a bin at the highest harmonic.
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

// segmentLevels returns the level of harmonic m+1 of channel c in every stride-th segment, first half first, in dB of
// an arbitrary reference. A level is the sum over a range of bins around the expected frequency of the half. The range
// covers the line in both halves, so that the sums of both halves have equally many bins. segmentLevels returns nil if
// the range has no power in a segment.
func (a *Analyser) segmentLevels(run *rotorRun, c, m, stride int) []float64 {
	ch := &run.Channels[c]
	lo := math.MaxInt
	hi := math.MinInt

	var centre [2]int // of each half: the bin of the expected frequency
	for h := range ch.Halves {
		l := &ch.Halves[h].Lines[m]
		centre[h] = int(math.Round(l.Hz / run.BinHz))
		lo = min(lo, l.Band[0]-centre[h])
		hi = max(hi, l.Band[1]-centre[h])
	}

	var levels []float64 // powers at first
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
		levels[i] = dBPerLn * math.Log(v)
	}

	return levels
}

// segmentFloors returns the floor of channel c in every stride-th segment, first half first, in dB of an arbitrary
// reference: the mean level of the floor bins of all harmonics. floors are these bins for each half, in ascending
// order. Bins beyond the kept part of a segment's spectrum are left out. segmentFloors returns nil if no bin is left,
// or if a bin has no power.
func (a *Analyser) segmentFloors(c int, floors [2][]int, stride int) []float64 {
	var levels []float64
	for h := range a.segs {
		for g := 0; g < len(a.segs[h]); g += stride {
			p := a.segs[h][g][c]
			bins := floors[h]
			for len(bins) > 0 && bins[len(bins)-1] >= len(p) {
				bins = bins[:len(bins)-1]
			}

			sum := sumLogarithms(p, bins)
			if len(bins) == 0 || !finite(sum) {
				return nil
			}

			levels = append(levels, dBPerLn*sum/float64(len(bins)))
		}
	}

	return levels
}

// sumLogarithms returns the sum of the natural logarithms of p at the given bins. It is not finite if
// a power is not positive. To save time, sumLogarithms takes one logarithm of the product of six
// powers: the product of six float32 neither overflows a float64 nor becomes 0.
func sumLogarithms(p []float32, bins []int) float64 {
	sum := 0.0
	for ; len(bins) >= 6; bins = bins[6:] {
		x := float64(p[bins[0]]) * float64(p[bins[1]])
		y := float64(p[bins[2]]) * float64(p[bins[3]])
		z := float64(p[bins[4]]) * float64(p[bins[5]])
		sum += math.Log(x * y * z)
	}

	product := 1.0
	for _, k := range bins {
		product *= float64(p[k])
	}

	return sum + math.Log(product)
}

// harmonicTests returns the tests of one harmonic of a channel. levels are the levels of its
// segments, first half first, with the given number of segments per half. order is the number of
// the harmonic, and hz its frequency, for the texts.
func harmonicTests(levels []float64, segments, channel, order int, hz float64) []test {
	var tests []test
	if t, _, p, ok := WelchT(levels[:segments], levels[segments:]); ok {
		flag := Flag{Code: "harmonic-drift", Channel: channel, Statistic: t, P: p}
		text := func() string {
			d := stat.Mean(levels[segments:], nil) - stat.Mean(levels[:segments], nil)
			return fmt.Sprintf("harmonic %d (%.1f Hz) changes by %+.1f dB between the halves (Welch t = %.1f)",
				order, hz, d, t)
		}
		tests = append(tests, test{flag: flag, large: true, text: text})
	}

	if len(levels) >= minTrendLevels {
		n, p := ReverseArrangements(levels)
		flag := Flag{Code: "trend", Channel: channel, Statistic: n, P: p}
		text := func() string {
			direction := "falls"
			if n < float64(len(levels)*(len(levels)-1))/4 {
				direction = "rises"
			}

			return fmt.Sprintf("harmonic %d (%.1f Hz) %s through the recording (%g reverse arrangements of %d segments)",
				order, hz, direction, n, len(levels))
		}
		tests = append(tests, test{flag: flag, large: true, text: text})
	}

	return tests
}

// floorTests returns the tests of the floor of a channel. levels are the floors of its segments, first
// half first, with the given number of segments per half.
func floorTests(levels []float64, segments, channel int) []test {
	var tests []test
	if t, _, p, ok := WelchT(levels[:segments], levels[segments:]); ok {
		d := stat.Mean(levels[segments:], nil) - stat.Mean(levels[:segments], nil)
		flag := Flag{Code: "floor-ratio", Channel: channel, Statistic: t, P: p}
		text := func() string {
			return fmt.Sprintf("the floor changes by %+.1f dB between the halves (Welch t = %.1f)", d, t)
		}
		tests = append(tests, test{flag: flag, large: math.Abs(d) >= floorRatioDB, text: text})
	}

	if o, ok := findOutliers(levels, min(maxOutliers, len(levels)/4)); ok {
		flag := Flag{Code: "outlier-segment", Channel: channel, Statistic: o.t, P: o.p}
		text := func() string { return outlierText(o, len(levels)) }
		tests = append(tests, test{flag: flag, large: math.Abs(o.t) > outlierSigma, text: text})
	}

	return tests
}

// outlierText describes outliers among the floors of the given number of segments.
func outlierText(o outlierSet, segments int) string {
	first := slices.Min(o.positions) + 1 // the list begins with the most deviating segment
	if len(o.positions) > 1 {
		return fmt.Sprintf("the floors of %d segments of %d, first segment %d, are outliers (at least %.1f standard "+
			"deviations)", len(o.positions), segments, first, math.Abs(o.t))
	}

	return fmt.Sprintf("the floor of segment %d of %d is an outlier (%.1f standard deviations)", first, segments, o.t)
}
