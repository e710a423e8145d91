package stats

import (
	"math"

	"doubletake/ingest/kernel"
)

// Summary are the statistics of one channel over a run, in the unit delivered.
type Summary struct {
	Samples int64   `json:"samples"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Mean    float64 `json:"mean"`
	RMS     float64 `json:"rms"` // about zero
	Std     float64 `json:"std"` // about the mean, population
	// samples in stretches of minPlateau or more equal samples at the channel's extremes; 0 for
	// floating-point samples that are not clipped
	Clipped  int64 `json:"clipped"`
	Constant int64 `json:"constant"`  // longest stretch of equal samples
	NaN      int64 `json:"nan"`       // NaN or infinite samples
	FirstNaN int64 `json:"first_nan"` // index of the first of them, −1 if none
}

const (
	// clippedFloats is the fewest equal floating-point samples at an extreme that count as clipped: a
	// few may be equal by chance.
	clippedFloats = 10

	// minPlateau is the fewest equal samples in a row that may be clipped.
	minPlateau = 3

	// steepSteps is how many steps of the quantisation the signal jumps into or out of a clipped plateau.
	// The rounded peak of a slow quantised wave has no such steep flank.
	steepSteps = 4
)

// floats are the types that samples are read as.
type floats interface{ float32 | float64 }

// accumulator gathers the statistics of one channel, block by block. For each block addTo and addFast do
// three things: they follow stretches of equal samples, they find the extremes, and they add the mean and
// the squared deviations of the block to mean and m2, which cover the blocks before (join).
type accumulator struct {
	n        int64   // samples so far
	finite   int64   // finite samples so far
	shift    float64 // the first finite sample, which is subtracted from all others
	mean     float64 // mean of the finite samples minus shift
	m2       float64 // sum of the squared deviations of the finite samples from their mean
	lo, hi   float64 // extremes of the finite samples
	nan      int64   // samples that are not finite
	firstNaN int64   // index of the first of them; −1: none

	// The stretch of equal samples that goes on at the end of the samples so far.
	value   float64 // of each of its samples; NaN: there is no stretch
	prior   float64 // the sample before the stretch
	first   bool    // prior is not known: the stretch begins the samples, or follows a sample that is not finite
	len     int64   // number of its samples so far
	longest int64   // samples of the longest stretch that has ended

	step           float64 // step of the quantisation; 0: samples are floating-point numbers
	least          float64 // smallest difference of two neighbours that follow has seen, for floating-point samples
	clipLo, clipHi int64   // samples in stretches of minPlateau or more at lo, and at hi
	held           int64   // samples in stretches of minPlateau or more at any value
	flankLo        float64 // greatest step into or out of such a stretch at lo
	flankHi        float64 // the same at hi
}

// begin resets a. step is the step of the quantisation, or 0 for floating-point samples.
func (a *accumulator) begin(step float64) {
	*a = accumulator{
		lo: math.Inf(1), hi: math.Inf(-1), firstNaN: -1, step: step, least: math.Inf(1), value: math.NaN(), first: true,
	}
}

// addFast does the same as addTo, to the last bit. It is fast for blocks whose samples are finite and never
// three times the same in a row: it does not look at each sample then. Other blocks go to addTo.
func (a *accumulator) addFast(block []float32) {
	if len(block) == 0 {
		return
	}

	// If the step is a power of two, sums of samples are exact in any order.
	fraction, _ := math.Frexp(a.step)
	exact := fraction == 0.5
	if a.finite == 0 {
		first := float64(block[0])
		if !exact || !isFinite(first) {
			addTo(a, block)
			return
		}

		a.shift = first
	}

	// addTo adds the deviations of a block in another order if the block has a stretch. Only exact sums
	// are then the same.
	d := kernel.Describe(block, a.shift)
	hasStretch := d.Triple || !a.apart(block)
	orderMatters := hasStretch && !exact
	if !isFinite(d.Sum) || orderMatters {
		addTo(a, block)
		return
	}

	a.stretches(block, d)

	n := int64(len(block))
	a.n += n
	mean := d.Sum / float64(n)
	if hasStretch {
		a.join(mean, squares(block, a.shift, mean), n)
	} else {
		a.join(mean, kernel.Squares(block, a.shift+mean), n)
	}
}

// isFinite reports whether v is neither NaN nor infinite. A comparison with NaN is false.
func isFinite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// apart reports whether no stretch of equal samples goes on in the block.
func (a *accumulator) apart(block []float32) bool {
	return a.len == 1 && len(block) > 1 && float64(block[0]) != a.value
}

// stretches follows the stretches of equal samples in a block of finite samples. d describes the block. If
// the block has a stretch of three samples or more, stretches divides the block into pieces, and only
// looks at each sample of the pieces with such a stretch.
func (a *accumulator) stretches(block []float32, d kernel.Description) {
	const pieceLen = 256
	n := len(block)
	if d.Triple || !a.apart(block) {
		if n <= pieceLen {
			follow(a, block)
			return
		}

		for begin := 0; begin < n; begin += pieceLen {
			piece := block[begin:min(begin+pieceLen, n)]
			a.stretches(piece, kernel.Describe(piece, 0))
		}

		return
	}

	if lo := float64(d.Low); lo < a.lo {
		a.lo = lo
		a.clipLo = 0
		a.flankLo = 0
	}

	if hi := float64(d.High); hi > a.hi {
		a.hi = hi
		a.clipHi = 0
		a.flankHi = 0
	}

	a.longest = max(a.longest, 1)
	if d.Pair {
		a.longest = max(a.longest, 2)
	}

	// The stretch that goes on at the end of the block has one sample or two.
	a.first = false
	a.prior = float64(block[n-2])
	a.value = float64(block[n-1])
	a.len = 1
	if a.prior == a.value {
		a.len = 2
		if n > 2 {
			a.prior = float64(block[n-3])
		} else {
			a.first = true // the sample before the block is not known any more
		}
	}
}

// addTo adds a block of samples to a, looking at each sample.
func addTo[T floats](a *accumulator, block []T) {
	if a.finite == 0 {
		for _, v := range block {
			if isFinite(float64(v)) {
				a.shift = float64(v)
				break
			}
		}
	}

	sum, bad := follow(a, block)
	a.n += int64(len(block))

	count := int64(len(block) - bad)
	if count == 0 {
		return
	}

	mean := sum / float64(count)
	a.join(mean, squares(block, a.shift, mean), count)
}

// squares returns the sum of the squared deviations of the finite samples from shift + mean, added in order.
func squares[T floats](block []T, shift, mean float64) float64 {
	sum := 0.0
	for _, v := range block {
		if d := float64(v) - shift - mean; isFinite(d) {
			sum += float64(d * d)
		}
	}

	return sum
}

// follow looks at each sample of a block. It updates the extremes, the stretches of equal samples and the
// count of samples that are not finite. It returns the sum of the finite samples minus shift each, and the
// number of samples of the block that are not finite.
func follow[T floats](a *accumulator, block []T) (sum float64, bad int) {
	lo := a.lo
	hi := a.hi
	shift := a.shift

	for i, sample := range block {
		v := float64(sample)
		if !isFinite(v) {
			a.skip(v, a.n+int64(i))
			bad++
			continue
		}

		sum += v - shift

		if v < lo {
			lo = v
			a.clipLo = 0
			a.flankLo = 0
		}

		if v > hi {
			hi = v
			a.clipHi = 0
			a.flankHi = 0
		}

		if v == a.value {
			a.len++
			continue
		}

		if a.len > 1 {
			a.lo = lo
			a.hi = hi
			a.close(v)
		}

		if d := math.Abs(v - a.value); d < a.least {
			a.least = d
		}

		a.first = a.len == 0
		a.prior = a.value
		a.value = v
		a.len = 1
	}

	a.lo = lo
	a.hi = hi

	return sum, bad
}

// skip counts a sample that is not finite, and ends the stretch of equal samples before it. index is its number.
func (a *accumulator) skip(sample float64, index int64) {
	if a.nan == 0 {
		a.firstNaN = index
	}

	a.nan++
	a.close(sample)
	a.value = math.NaN() // no stretch goes on
	a.prior = math.NaN()
	a.len = 0
	a.first = true
}

// join adds count samples to mean, m2 and finite. mean is their mean minus shift, and m2 the sum of their
// squared deviations from their mean (Chan, Golub and LeVeque, 1979).
func (a *accumulator) join(mean, m2 float64, count int64) {
	if a.finite == 0 {
		a.mean = mean
		a.m2 = m2
		a.finite = count
		return
	}

	d := mean - a.mean
	total := a.finite + count
	a.m2 += m2 + float64(d*d)*float64(a.finite)*float64(count)/float64(total)
	a.mean += d * float64(count) / float64(total)
	a.finite = total
}

// close ends the stretch of equal samples that goes on. next is the sample after it, or NaN if there is
// none. If the stretch is a plateau at an extreme, close counts its samples and notes its steepest flank.
func (a *accumulator) close(next float64) {
	a.longest = max(a.longest, a.len)
	if a.len < minPlateau {
		return
	}

	a.held += a.len

	flank := 0.0
	if !a.first {
		flank = math.Abs(a.value - a.prior)
	}

	if d := math.Abs(next - a.value); d > flank { // false if next is NaN
		flank = d
	}

	if a.value == a.hi {
		a.clipHi += a.len
		a.flankHi = max(a.flankHi, flank)
	}

	if a.value == a.lo {
		a.clipLo += a.len
		a.flankLo = max(a.flankLo, flank)
	}
}

// stats returns the summary of the samples so far, and the greatest step into or out of a plateau at an
// extreme. It does not change a, and may be called more than once.
func (a *accumulator) stats() (summary Summary, flank float64) {
	end := *a
	end.close(math.NaN())

	summary = Summary{Samples: end.n, NaN: end.nan, FirstNaN: end.firstNaN, Constant: end.longest}
	if end.finite == 0 {
		summary.Min = math.NaN()
		summary.Max = math.NaN()
		summary.Mean = math.NaN()
		summary.RMS = math.NaN()
		summary.Std = math.NaN()

		return summary, 0
	}

	variance := end.m2 / float64(end.finite)
	summary.Min = end.lo
	summary.Max = end.hi
	summary.Mean = end.shift + end.mean
	summary.Std = math.Sqrt(variance)
	if !isFinite(summary.Mean) { // the sum of samples near the largest float64 overflows
		summary.Std = math.NaN()
	}

	summary.RMS = math.Sqrt(variance + summary.Mean*summary.Mean)

	if end.lo < end.hi { // a constant channel is stuck, not clipped
		flank = end.clippedFlank()
		summary.Clipped = end.clipLo + end.clipHi

		steep := flank > steepSteps*end.least
		isClipped := summary.Clipped >= clippedFloats && steep
		if end.step == 0 && !isClipped {
			summary.Clipped = 0 // rounded peaks
		}
	}

	return summary, flank
}

// isHeld reports whether most samples repeat their neighbours, and not only at the extremes: the values come from a
// slower source, which holds each value until the next one.
func (a *accumulator) isHeld() bool {
	end := *a
	end.close(math.NaN())

	return 2*(end.held-end.clipLo-end.clipHi) > end.n
}

// restsAtZero reports whether only the lower extreme has plateaus and is zero, as of a motor that was off.
func (a *accumulator) restsAtZero() bool {
	end := *a
	end.close(math.NaN())

	return end.lo == 0 && end.clipLo > 0 && end.clipHi == 0
}

// clippedFlank returns the greatest step into or out of a plateau at an extreme, or 0 if there is none.
func (a *accumulator) clippedFlank() float64 {
	flank := 0.0
	if a.clipLo > 0 {
		flank = a.flankLo
	}

	if a.clipHi > 0 {
		flank = max(flank, a.flankHi)
	}

	return flank
}
