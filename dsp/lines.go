package dsp

import (
	"math"

	"doubletake/dsp/kernel"
)

// Line is one spectral line as found in one half's mean spectrum. Bins count
// from 0 Hz; bin k lies at k times the distance of bins.
type Line struct {
	Order      int     // m for Half.Lines (m·BPF), the shaft order for Half.ShaftOrders
	Hz         float64 // where it was expected
	PeakHz     float64 // place of its largest bin, interpolated between bins
	Power      float64 // mean square of the line in unit², by Settings.Amplitude; an upper bound if UpperBound
	PeakPower  float64 // power of the largest bin, sine-calibrated
	Floor      float64 // floor ν around the line, power per bin
	Rho        float64 // ρ = PeakPower/Floor, linear; at most maxRho
	SDdB       float64 // predicted standard deviation of the level, dB (docs/method.md#split-half-spectra)
	UpperBound bool    // ρ under EmergenceDB: the level is an upper bound
	Search     [2]int  // bins searched, inclusive
	Band       [2]int  // bins the line was found to cover, inclusive
}

// Between returns the frequencies in Hz the line's power was taken from: the
// bins summed, or the noise bandwidth of the window, noiseBins, around the peak
// where the amplitude is not "band". Bins are binHz apart.
func (l *Line) Between(binHz, noiseBins float64, amplitude string) (lo, hi float64) {
	if amplitude == "band" && l.Band[1] >= l.Band[0] && l.Band[1] > 0 {
		return (float64(l.Band[0]) - 0.5) * binHz, (float64(l.Band[1]) + 0.5) * binHz
	}
	return l.PeakHz - noiseBins/2*binHz, l.PeakHz + noiseBins/2*binHz
}

// whole joins the lines of the two halves of a run: the mean square over both,
// as of one estimate from the averages of both.
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

// Floor estimation: bins left out around every shaft order, and the fewest
// bins a median may rest on before the exclusion shrinks.
const (
	floorGuardBins = 4
	floorMinBins   = 8
)

// lineFinder measures lines in the spectra of one run.
type lineFinder struct {
	binHz     float64
	tolerance float64
	minBins   int
	averages  averages
	widen     int     // of the exclusion around shaft orders, by the window's main lobe
	emergence float64 // ρ above which a line counts as one, linear
	tone      float64 // Welch.ToneFactor
	peakOnly  bool    // Amplitude "peak"
	scratch   []float64
	guess     float64 // of a median: the last one
	guard     int     // smallest guard any floor had to fall back to
}

// searchBins returns the bins searched for a line expected at hz: within
// ±max(tolerance·hz, minBins), clipped midway to the neighbouring shaft
// orders, at least the nearest bin, never 0 Hz.
func (f *lineFinder) searchBins(hz, shaft float64, last int) [2]int {
	d := max(f.tolerance*hz, float64(f.minBins)*f.binHz)
	return f.bins(hz, min(d, shaft/2), last)
}

// bins returns the bins within ±d of hz, at least the nearest one.
func (f *lineFinder) bins(hz, d float64, last int) [2]int {
	lo := int(math.Ceil((hz - d) / f.binHz))

	hi := int(math.Floor((hz + d) / f.binHz))
	if lo > hi {
		lo = int(math.Round(hz / f.binHz))
		hi = lo
	}

	lo, hi = max(lo, 1), min(hi, last)
	lo = min(lo, last)

	return [2]int{lo, max(lo, hi)}
}

// floorBins appends to dst the bins the floor at hz rests on: within ±0.25·bpf
// without ±4 bins around every multiple of shaft. Where shaft orders are so
// dense that fewer than 8 bins are left, the exclusion shrinks bin by bin to
// ±0; where even that leaves fewer than 8, all bins of the interval but the
// line's own ±1 count, and the interval is at least ±8 bins. It returns the
// guard used, −1 for the last resort.
func (f *lineFinder) floorBins(dst []int, hz, shaft, bpf float64, last int) ([]int, int) {
	lo := max(1, int(math.Ceil((hz-0.25*bpf)/f.binHz)))

	hi := min(last, int(math.Floor((hz+0.25*bpf)/f.binHz)))
	for guard := floorGuardBins + f.widen; guard >= 0; guard-- {
		dst = dst[:0]
		for k := lo; k <= hi; k++ {
			at := float64(k) * f.binHz
			order := max(1, math.RoundToEven(at/shaft))

			// The half bin at guard 0 leaves out the order's nearest bin.
			if math.Abs(at-order*shaft) > max(0.5, float64(guard))*f.binHz {
				dst = append(dst, k)
			}
		}

		if len(dst) >= floorMinBins {
			return dst, guard
		}
	}

	dst = dst[:0]

	at := int(math.Round(hz / f.binHz))
	for k := max(1, min(lo, at-floorMinBins)); k <= min(last, max(hi, at+floorMinBins)); k++ {
		if k < at-1 || k > at+1 {
			dst = append(dst, k)
		}
	}

	return dst, -1
}

// floor is the median of p over floorBins (docs/method.md#split-half-spectra),
// which for means of 8 segments lies 0.18 dB under the mean floor.
func (f *lineFinder) floor(p []float64, bins []int) float64 {
	f.scratch = f.scratch[:0]
	for _, k := range bins {
		f.scratch = append(f.scratch, p[k])
	}

	f.guess = median(f.scratch, f.guess)
	return f.guess
}

// median returns the median of x, none negative or NaN, the mean of the two middle values
// of an even number, NaN of none. It bisects on the bits of the numbers, whose scale is
// nearly logarithmic: it counts the values below a mark, first guess, and moves the mark.
func median(x []float64, guess float64) float64 {
	n := len(x)
	if n == 0 {
		return math.NaN()
	}

	none := math.Float64bits(math.Inf(1))
	low, high, first, last := uint64(0), none, 0, n-1 // around the middle, and their number in order
	mark := math.Float64bits(guess)
	for octave := uint64(1 << 52); ; octave *= 2 {
		below, under, over := kernel.Around(x, math.Float64frombits(mark))
		switch k := n / 2; {
		case below == k && n%2 == 0:
			return 0.5 * (under + over)
		case below == k:
			return over
		case below == k+1 && n%2 == 1:
			return under
		case below < k:
			low, first = math.Float64bits(over), below
		default:
			high, last = math.Float64bits(under), below-1
		}

		if low == high {
			return math.Float64frombits(low)
		}

		from, to := low, high
		if high == none {
			to = min(high, low+octave)
		} else if low == 0 {
			from = high - min(high, octave)
		}

		share := (0.5*float64(n-1) - float64(first)) / float64(last-first)
		mark = max(low+1, min(high, from+uint64(float64(to-from)*share)))
	}
}

// rho is peak over floor, finite whatever the floor.
func rho(peak, floor float64) float64 {
	if !(peak > 0) {
		return 0
	}
	return min(peak/floor, maxRho)
}

// measure finds the line expected at hz in the spectrum p.
//
// Amplitude "band": the contiguous bins around the peak with P > 2ν, no
// further than midway to the neighbouring shaft orders, floor subtracted, times
// the tone factor. Under ρ = EmergenceDB, where subtracting the floor leaves
// mostly chance, Power is an upper bound instead: the larger of the peak's
// sine-calibrated power and the band's power, both without subtracting the
// floor, so that it is positive and its level finite.
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
	limit[0], limit[1] = min(limit[0], l.Search[0]), max(limit[1], l.Search[1])
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

// band returns the contiguous bins around peak with P > 2ν within limit (the
// peak's own bin at least), their power above the floor, and in total.
func band(p []float64, peak int, floor float64, limit [2]int) (bins [2]int, above, total float64) {
	lo, hi := peak, peak
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

// peakOffset places a peak between bins, in bins (−½ … ½): the vertex of the
// parabola through the logarithms of three bins, which for the Hann window is
// right to 0.02 bins.
func peakOffset(p []float64, k int) float64 {
	if k < 1 || k+1 >= len(p) || !(p[k-1] > 0) || !(p[k] > 0) || !(p[k+1] > 0) {
		return 0
	}

	a, b, c := math.Log(p[k-1]), math.Log(p[k]), math.Log(p[k+1])
	curve := a - 2*b + c
	if curve >= 0 {
		return 0
	}

	return max(-0.5, min(0.5, 0.5*(a-c)/curve))
}

// emergent returns ρ over both halves together: the halves' mean spectrum,
// each half shifted so that its own expected frequency coincides (the same
// bins where the speed is nominal), peak over floor, at bins, as in one half.
func (f *lineFinder) emergent(p [2][]float64, hz [2]float64, shaft float64, bins []int) float64 {
	last := len(p[0]) - 1
	shift := int(math.Round(hz[1]/f.binHz)) - int(math.Round(hz[0]/f.binHz))
	at := func(k int) float64 {
		return 0.5 * (p[0][k] + p[1][max(1, min(last, k+shift))])
	}
	search := f.searchBins(hz[0], shaft, last)

	peak := 0.0
	for k := search[0]; k <= search[1]; k++ {
		peak = max(peak, at(k))
	}

	f.scratch = f.scratch[:0]
	for _, k := range bins {
		f.scratch = append(f.scratch, at(k))
	}

	f.guess = median(f.scratch, f.guess)

	return rho(peak, f.guess)
}
