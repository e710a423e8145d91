package dsp

import (
	"math"

	"doubletake/dsp/kernel"
)

// Line is one spectral line in the mean spectrum of one half. Bins are numbered from 0 Hz on.
type Line struct {
	Order      int     // in Half.Lines m, for m·BPF; in Half.ShaftOrders the shaft order
	Hz         float64 // expected frequency
	PeakHz     float64 // frequency of its largest bin, interpolated between bins
	Power      float64 // mean square of the line in unit², by Settings.Amplitude; an upper bound if UpperBound
	PeakPower  float64 // power of the largest bin: for a sine on that bin its mean square
	Floor      float64 // floor ν around the line, power per bin
	Rho        float64 // ρ = PeakPower/Floor, linear; at most maxRho
	SDdB       float64 // predicted standard deviation of the level, dB (docs/method.md#split-half-spectra)
	UpperBound bool    // ρ is below Settings.EmergenceDB: the level is an upper bound
	Search     [2]int  // first and last bin searched
	Band       [2]int  // first and last bin that the line covers
}

// Between returns the range of frequencies in Hz from which the line's power was taken. With
// amplitude "band" these are the bins of the line. Otherwise it is the noise bandwidth of the window,
// in bins, around the peak. Bins are binHz apart.
func (l *Line) Between(binHz, noiseBandwidth float64, amplitude string) (lo, hi float64) {
	hasBand := l.Band[1] >= l.Band[0] && l.Band[1] > 0
	if amplitude == "band" && hasBand {
		return (float64(l.Band[0]) - 0.5) * binHz, (float64(l.Band[1]) + 0.5) * binHz
	}
	return l.PeakHz - noiseBandwidth/2*binHz, l.PeakHz + noiseBandwidth/2*binHz
}

// whole returns the line of a whole run from the lines of its halves. Its power and its frequencies are means over both
// halves, and it is an upper bound if both lines are. Its standard deviation follows from both, the averages of the
// whole run. Fields that no outcome of a whole run needs, such as Search and Band, are copied from the first half.
func whole(l [2]Line, both averages) Line {
	w := l[0]
	w.Power = (l[0].Power + l[1].Power) / 2
	w.Rho = rho(l[0].PeakPower+l[1].PeakPower, l[0].Floor+l[1].Floor)
	w.PeakHz = (l[0].PeakHz + l[1].PeakHz) / 2
	w.SDdB = both.lineSD(w.Rho)
	w.UpperBound = l[0].UpperBound && l[1].UpperBound

	return w
}

// maxRho caps ρ at 300 dB, so that a noiseless signal has finite decibels.
const maxRho = 1e30

// The bins of floors.
const (
	floorGuardBins = 4 // bins left out to each side of every shaft order
	floorMinBins   = 8 // fewest bins of a floor; if fewer are left, a smaller guard is tried
)

// lineFinder measures lines in the spectra of one run. The spectra are passed to its methods.
type lineFinder struct {
	binHz     float64
	tolerance float64   // Settings.Tolerance
	minBins   int       // Settings.MinBins
	averages  averages  // how the spectra scatter
	widen     int       // bins added to floorGuardBins because the main lobe is wider than Hann's
	emergence float64   // ρ above which a line emerges, linear
	tone      float64   // Welch.ToneFactor
	peakOnly  bool      // Settings.Amplitude is "peak"
	scratch   []float64 // for medians
	guess     float64   // the last median, from which the next one is sought
	guard     int       // smallest guard that the floor of a harmonic has used; findFloors updates it
}

// searchBins returns the first and the last bin searched for a line expected at hz. They lie within
// ±tolerance·hz or ±minBins, whichever is more, but not beyond the middle to the neighbouring shaft
// orders. The nearest bin is always searched, and bin 0 never. last is the last bin of the spectrum.
func (f *lineFinder) searchBins(hz, shaft float64, last int) [2]int {
	d := max(f.tolerance*hz, float64(f.minBins)*f.binHz)
	return f.bins(hz, min(d, shaft/2), last)
}

// bins returns the first and the last bin within ±d Hz of hz, or the nearest bin if there are none.
func (f *lineFinder) bins(hz, d float64, last int) [2]int {
	lo := int(math.Ceil((hz - d) / f.binHz))
	hi := int(math.Floor((hz + d) / f.binHz))
	if lo > hi {
		lo = int(math.Round(hz / f.binHz))
		hi = lo
	}

	lo = min(max(lo, 1), last)
	hi = min(hi, last)

	return [2]int{lo, max(lo, hi)}
}

// floorBins returns the bins from which the floor at hz is estimated, in the memory of dst: the bins
// within ±0.25·bpf that are more than a guard of floorGuardBins + f.widen bins away from every multiple
// of shaft. If fewer than floorMinBins bins are left, it tries smaller guards, down to 0. If even that
// leaves too few, it takes all bins of the interval, now at least ±floorMinBins wide, except the
// line's own bin and its neighbours. It also returns the guard used, or −1 in that last case.
func (f *lineFinder) floorBins(dst []int, hz, shaft, bpf float64, last int) ([]int, int) {
	lo := max(1, int(math.Ceil((hz-0.25*bpf)/f.binHz)))
	hi := min(last, int(math.Floor((hz+0.25*bpf)/f.binHz)))
	for guard := floorGuardBins + f.widen; guard >= 0; guard-- {
		dst = dst[:0]
		for k := lo; k <= hi; k++ {
			binCentre := float64(k) * f.binHz
			order := max(1, math.RoundToEven(binCentre/shaft))

			// The half bin at guard 0 leaves out the order's nearest bin.
			if math.Abs(binCentre-order*shaft) > max(0.5, float64(guard))*f.binHz {
				dst = append(dst, k)
			}
		}

		if len(dst) >= floorMinBins {
			return dst, guard
		}
	}

	dst = dst[:0]
	nearest := int(math.Round(hz / f.binHz))
	for k := max(1, min(lo, nearest-floorMinBins)); k <= min(last, max(hi, nearest+floorMinBins)); k++ {
		if k < nearest-1 || k > nearest+1 {
			dst = append(dst, k)
		}
	}

	return dst, -1
}

// floor returns the median of p over the given bins (docs/method.md#split-half-spectra). In a mean of
// 8 segments it is 0.18 dB below the mean of noise.
func (f *lineFinder) floor(p []float64, bins []int) float64 {
	f.scratch = f.scratch[:0]
	for _, k := range bins {
		f.scratch = append(f.scratch, p[k])
	}

	f.guess = median(f.scratch, f.guess)
	return f.guess
}

// median returns the median of x, or NaN if x is empty. The median of an even number of values is the
// mean of the two in the middle. No value may be negative or NaN.
//
// It looks for the median by bisection on the bits of the numbers: as integers they have the same order,
// and a nearly logarithmic scale. In each round it counts the values below a mark and moves the mark.
// The first mark is guess, which only influences the time.
func median(x []float64, guess float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}

	none := math.Float64bits(math.Inf(1))

	// The median is between low and high, which are bits of values of x, or 0 and none at first. In
	// the sorted values they have the positions first and last.
	low := uint64(0)
	high := none
	first := 0
	last := n - 1

	mark := math.Float64bits(guess)
	for octave := uint64(1 << 52); ; octave *= 2 { // 1 << 52 in the bits is a factor of two
		below, greatestBelow, leastAbove := kernel.Around(x, math.Float64frombits(mark))
		switch k := n / 2; {
		case below == k && n%2 == 0:
			return 0.5 * (greatestBelow + leastAbove)
		case below == k:
			return leastAbove
		case below == k+1 && n%2 == 1:
			return greatestBelow
		case below < k:
			low = math.Float64bits(leastAbove)
			first = below
		default:
			high = math.Float64bits(greatestBelow)
			last = below - 1
		}

		if low == high {
			return math.Float64frombits(low)
		}

		// While one side is unknown, look only within one octave of the other side, then within two,
		// four, …
		nearLow := low
		nearHigh := high
		if high == none {
			nearHigh = min(high, low+octave)
		} else if low == 0 {
			nearLow = high - min(high, octave)
		}

		// Expect the median between both at the share of its position in the order.
		share := (0.5*float64(n-1) - float64(first)) / float64(last-first)
		mark = max(low+1, min(high, nearLow+uint64(float64(nearHigh-nearLow)*share)))
	}
}

// rho returns peak/floor, at most maxRho even if floor is 0. It returns 0 if peak is not positive.
func rho(peak, floor float64) float64 {
	if !(peak > 0) {
		return 0
	}
	return min(peak/floor, maxRho)
}

// measure returns the line expected at hz in the spectrum p. order is Line.Order, shaft the shaft speed in rev/s, and
// floor the floor around the line.
//
// With amplitude "peak", Power is the power of the largest bin. Otherwise it is the power above the floor in the bins
// that function band returns, times the tone factor. If ρ is below Settings.EmergenceDB, the power above the floor is
// little more than chance. Power is then an upper bound: PeakPower, or the power of the band without subtracting the
// floor, whichever is larger. The upper bound is positive, so that its level is finite.
func (f *lineFinder) measure(p []float64, order int, hz, shaft, floor float64) Line {
	l := Line{Order: order, Hz: hz, Floor: floor}
	last := len(p) - 1
	l.Search = f.searchBins(hz, shaft, last)
	peak := l.Search[0]
	for k := l.Search[0]; k <= l.Search[1]; k++ {
		if p[k] > p[peak] {
			peak = k
		}
	}

	l.PeakPower = p[peak]
	l.PeakHz = (float64(peak) + peakOffset(p, peak)) * f.binHz
	l.Rho = rho(l.PeakPower, floor)
	l.SDdB = f.averages.lineSD(l.Rho)
	l.UpperBound = l.Rho < f.emergence

	limit := f.bins(hz, shaft/2, last)
	limit[0] = min(limit[0], l.Search[0])
	limit[1] = max(limit[1], l.Search[1])
	var above, total float64
	l.Band, above, total = band(p, peak, floor, limit)
	switch {
	case f.peakOnly:
		l.Power = l.PeakPower
	case l.UpperBound:
		l.Power = max(l.PeakPower, f.tone*total)
	default:
		l.Power = f.tone * above
	}

	return l
}

// band returns the first and the last bin of a line: the contiguous bins around peak, within limit, whose power is more
// than twice the floor. The bin peak belongs to the line in any case. band also returns the sum of the bins' powers
// above the floor, and the sum of their whole powers.
func band(p []float64, peak int, floor float64, limit [2]int) (bins [2]int, above, total float64) {
	lo := peak
	hi := peak
	for lo-1 >= limit[0] && p[lo-1] > 2*floor {
		lo--
	}

	for hi+1 <= limit[1] && p[hi+1] > 2*floor {
		hi++
	}

	for k := lo; k <= hi; k++ {
		above += max(0, p[k]-floor)
		total += p[k]
	}

	return [2]int{lo, hi}, above, total
}

// peakOffset returns how far a peak lies from its largest bin k, in bins from −½ to ½: the vertex of the parabola
// through the logarithms of three bins. Under a Hann window it errs by at most 0.02 bins. It returns 0 if bin k has
// only one neighbour, if one of the three has no power, or if the parabola has no maximum.
func peakOffset(p []float64, k int) float64 {
	if k < 1 || k+1 >= len(p) {
		return 0
	}

	if !(min(p[k-1], p[k], p[k+1]) > 0) {
		return 0
	}

	a := math.Log(p[k-1])
	b := math.Log(p[k])
	c := math.Log(p[k+1])
	curve := a - 2*b + c
	if curve >= 0 {
		return 0
	}

	return max(-0.5, min(0.5, 0.5*(a-c)/curve))
}

// emergent returns ρ of the line expected at hz[0] and hz[1] in the spectra p of the two halves together.
// It takes the mean of both spectra after shifting the second one so that the expected frequencies
// coincide. bins are the bins of the floor in the first half.
func (f *lineFinder) emergent(p [2][]float64, hz [2]float64, shaft float64, bins []int) float64 {
	last := len(p[0]) - 1
	shift := int(math.Round(hz[1]/f.binHz)) - int(math.Round(hz[0]/f.binHz))
	meanPower := func(k int) float64 {
		return 0.5 * (p[0][k] + p[1][max(1, min(last, k+shift))])
	}
	search := f.searchBins(hz[0], shaft, last)

	peak := 0.0
	for k := search[0]; k <= search[1]; k++ {
		peak = max(peak, meanPower(k))
	}

	f.scratch = f.scratch[:0]
	for _, k := range bins {
		f.scratch = append(f.scratch, meanPower(k))
	}

	f.guess = median(f.scratch, f.guess)

	return rho(peak, f.guess)
}
