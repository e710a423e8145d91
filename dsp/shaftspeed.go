package dsp

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// speedFinder finds the shaft speed of one half from the spectra of all its channels, which share the
// shaft. It takes these steps:
//
//  1. whiten divides each spectrum by its floor and fills running sums, from which the mean power about
//     any frequency follows at once.
//  2. best tries speeds on a fine grid. A comb has a tooth at each harmonic of the blade passing
//     frequency (BPF). Its score is the mean log amplitude at the teeth. For tracking, fundamental
//     subtracts penalties for multiples of the true speed.
//  3. polish sharpens the best speed by the centroids of the lines at its harmonics.
//
// refine and track do all of it. The buffers serve half after half.
type speedFinder struct {
	lines  *lineFinder
	power  [][]float64 // [channel]: mean power spectrum of the half
	blades int
	harm   int // number of harmonics, the teeth of a comb
	last   int // highest bin that is read

	sums   []float64    // [bin][channel]: sum of the whitened powers of all bins below, for the bins 0 … last+1
	parts  []scored     // parts of a grid: the index of the first point, and an upper bound of the scores
	scores []scored     // points of a grid
	floors []keptFloors // [harmonic]: floors that polish has computed
}

// scored is a point of a grid of speeds with its score.
type scored struct {
	index int
	score float64
}

// keptFloors has the floor of every channel over the same bins.
type keptFloors struct {
	bins   []int
	floors []float64 // [channel]; empty: not computed
}

// amplitude is a function that returns the log amplitude about a frequency, in nats above the floor. ok
// is false, and v is 0, outside the spectrum. It is logAmplitude or roughAmplitude.
type amplitude func(hz float64) (v float64, ok bool)

const (
	// combSmear is the half-width of a tooth, relative to its frequency. If the speed drifts within the
	// half, the m-th harmonic is m times as wide as the first. Wide teeth find the middle of all
	// harmonics, rather than a speed at which only their edges meet.
	combSmear = 0.004
	// driftWindow is how far from its middle the line of a drifting speed may reach, relative to its
	// frequency. Real speeds drift by 1 to 2 % within a recording.
	driftWindow = 0.02
	// combCap is the greatest contribution of one tooth, in nats (60 dB), so that a single strong line
	// does not outvote a comb.
	combCap = 13.8
	// combFloor is the least mean power of a tooth, relative to the floor, so that its logarithm is
	// finite.
	combFloor = 1e-3
	// combMargin is more than the difference of scores by roughAmplitude and by logAmplitude, which is
	// some hundred roundings of values up to combCap.
	combMargin = 1e-9
	// maxWhite is the greatest whitened power: greater ones would cost the running sums their digits.
	maxWhite = 1e9
	// minMedianBins is the least half-width of the running median, in bins.
	minMedianBins = 8
)

// combLimit is the mean power of a tooth, relative to the floor, at which combCap is reached.
var combLimit = math.Exp(combCap)

// whiten divides the spectrum of each channel by its floor, so that the floor is 1 everywhere, and fills f.sums. The
// floor is a running median over half bins to each side. whiten computes the median at every (half/4)-th bin and
// interpolates linearly between. Here half is a number of bins, at least minMedianBins.
//
// whiten fills f.sums only about the spans, each a first and a last bin, which must be in ascending order. The
// difference of two sums is right if both lie in one span, and meaningless otherwise.
func (f *speedFinder) whiten(half int, spans ...[2]int) {
	n := f.last + 1
	channels := len(f.power)
	f.sums = slices.Grow(f.sums[:0], (n+1)*channels)[:(n+1)*channels]
	for c := range f.power {
		f.whitenChannel(c, max(half, minMedianBins), spans)
	}
}

// whitenChannel does the work of whiten for one channel.
func (f *speedFinder) whitenChannel(c, half int, spans [][2]int) {
	n := f.last + 1
	channels := len(f.power)
	step := max(1, half/4)
	p := f.power[c][:n]

	sum := 0.0
	next := p[0] // floor at bin nextBin; before the first, a guess of it
	nextBin := -1
	f.sums[c] = 0
	for k := 0; k < n; k += step {
		for len(spans) > 0 && spans[0][1] < k {
			spans = spans[1:]
		}

		if len(spans) == 0 || spans[0][0] >= k+step {
			continue
		}

		prev := next // floor at bin k
		if nextBin != k {
			prev = medianAround(p, k, half, next)
		}

		nextBin = k + step
		next = medianAround(p, min(n-1, nextBin), half, prev)
		for i := k; i < min(n, nextBin); i++ {
			floor := prev + (next-prev)*float64(i-k)/float64(step)

			white := 0.0 // bin 0 has no power
			if i > 0 {
				white = rho(p[i], floor)
			}

			sum += min(white, maxWhite)
			f.sums[(i+1)*channels+c] = sum
		}
	}
}

// medianAround returns the median of p within ±half bins of bin k, without bin 0. guess is where the search for the
// median begins; it only influences the time.
func medianAround(p []float64, k, half int, guess float64) float64 {
	return median(p[max(1, k-half):min(len(p), k+half+1)], guess)
}

// teeth returns the spans of bins, first and last, that the combs of shaft speeds from lo to hi read.
// Spans that overlap are merged.
func (f *speedFinder) teeth(lo, hi float64) [][2]int {
	var spans [][2]int
	for m := 1; m <= f.harm; m++ {
		binsPerSpeed := float64(m*f.blades) / f.lines.binHz
		first := binsPerSpeed*lo + 0.5
		last := binsPerSpeed*hi + 0.5

		span := [2]int{int(first-max(1, combSmear*first)) - 1, int(last+max(1, combSmear*last)) + 1}
		if n := len(spans); n > 0 && span[0] <= spans[n-1][1] {
			spans[n-1][1] = span[1]
		} else {
			spans = append(spans, span)
		}
	}

	return spans
}

// logAmplitude returns the log amplitude about hz, in nats above the floor: the mean over channels of
// the logarithm of the mean whitened power in the tooth at hz. ok is false, and the amplitude 0, if the
// tooth is not inside the spectrum.
func (f *speedFinder) logAmplitude(hz float64) (float64, bool) {
	x, w, ok := f.tooth(hz)
	if !ok {
		return 0, false
	}

	channels := len(f.power)
	lo := f.point(x - w)
	hi := f.point(x + w)

	var sum float64
	for c := range channels {
		mean := (hi.read(c, channels) - lo.read(c, channels)) / (2 * w)
		sum += min(combCap, math.Log(max(mean, combFloor)))
	}

	return sum / float64(channels), true
}

// roughAmplitude returns logAmplitude with an error below combMargin. It is faster, because it takes one
// logarithm for many channels.
func (f *speedFinder) roughAmplitude(hz float64) (float64, bool) {
	x, w, ok := f.tooth(hz)
	if !ok {
		return 0, false
	}

	return f.logMean(x-w, x+w, w), true
}

// logMean returns the mean over channels of the logarithm of the whitened power between the places begin
// and end in the running sums, divided by 2w, the width of a tooth.
func (f *speedFinder) logMean(begin, end, w float64) float64 {
	const factors = 32 // a product of 32 factors from combFloor to combLimit does not overflow a float64
	channels := len(f.power)
	lo := f.point(begin)
	hi := f.point(end)
	lo0, lo1 := lo.sums[:channels], lo.sums[channels:]
	hi0, hi1 := hi.sums[:channels], hi.sums[channels:]
	u := 1 - lo.t
	v := 1 - hi.t

	sum := 0.0
	product := 1.0
	scale := 0.5 / w
	for c := range channels {
		mean := (v*hi0[c] + hi.t*hi1[c] - (u*lo0[c] + lo.t*lo1[c])) * scale
		if !(mean > combFloor) { // faster than max and min
			mean = combFloor
		} else if mean > combLimit {
			mean = combLimit
		}

		product *= mean
		if c%factors == factors-1 {
			sum += math.Log(product)
			product = 1
		}
	}

	return (sum + math.Log(product)) / float64(channels)
}

// tooth returns the place x of a frequency in the running sums, and the half-width w of the tooth there:
// combSmear, and at least one bin. ok is false if the tooth is not inside the spectrum.
func (f *speedFinder) tooth(hz float64) (x, w float64, ok bool) {
	x = hz/f.lines.binHz + 0.5 // bin k covers k … k+1 in the running sums
	w = max(1, combSmear*x)
	ok = x-w >= 1 && x+w < float64(f.last)

	return x, w, ok
}

// point is a place between two neighbouring entries of the running sums.
type point struct {
	sums []float64 // the entries of all channels below the place, then above the place
	t    float64   // how far the place is from the lower entry to the upper one, 0 … 1
}

// point returns the place x in the running sums.
func (f *speedFinder) point(x float64) point {
	k := int(x)
	channels := len(f.power)

	return point{f.sums[k*channels:][:2*channels], x - float64(k)}
}

// read returns the running sum of channel c at the place. channels is the number of channels.
func (p point) read(c, channels int) float64 { return (1-p.t)*p.sums[c] + p.t*p.sums[channels+c] }

// comb returns the mean log amplitude at the teeth (m+offset)·blades·shaft, m = 1 … harm. A tooth
// outside the spectrum counts as 0. Otherwise speeds with fewer teeth below the Nyquist frequency
// would have better scores.
func (f *speedFinder) comb(level amplitude, shaft, offset float64) float64 {
	var sum float64
	for m := 1; m <= f.harm; m++ {
		v, _ := level((float64(m) + offset) * float64(f.blades) * shaft)
		sum += v
	}

	return sum / float64(f.harm)
}

// best returns the shaft speed from lo to hi with the greatest score, the lowest of equals. The speeds lie
// on a grid so fine that the highest harmonic moves by an eighth of a bin.
//
// score must not be above comb at the same speed. If it is below least, score may return any upper bound
// of itself that is below least, which saves time.
//
// best rules out most of the grid by upper bounds of comb, part by part, and most of the rest by scores
// with roughAmplitude. logAmplitude decides between the few speeds left.
func (f *speedFinder) best(lo, hi float64, score func(level amplitude, shaft, least float64) float64) float64 {
	const (
		partSize     = 4 // speeds in a part
		speedsPerBin = 8 // steps in which the highest harmonic moves by one bin
	)
	steps := int(math.Ceil((hi - lo) * speedsPerBin * float64(f.blades*f.harm) / f.lines.binHz))
	speed := func(i int) float64 { return lo + (hi-lo)*float64(i)/float64(max(1, steps)) }

	f.parts = f.parts[:0]
	f.scores = f.scores[:0]
	for i := 0; i <= steps; i += partSize {
		f.parts = append(f.parts, scored{i, f.bound(speed(i), speed(min(i+partSize-1, steps)))})
	}

	slices.SortStableFunc(f.parts, func(a, b scored) int { return cmp.Compare(b.score, a.score) })

	top := math.Inf(-1)
	for _, p := range f.parts {
		if p.score < top-combMargin {
			break // as all later parts have smaller bounds
		}

		for i := p.index; i < min(p.index+partSize, steps+1); i++ {
			v := score(f.roughAmplitude, speed(i), top-combMargin)
			f.scores = append(f.scores, scored{i, v})
			top = max(top, v)
		}
	}

	limit := top - combMargin // the best speed has a rough score above it
	best := 0
	top = math.Inf(-1)
	for _, p := range f.scores {
		if p.score < limit {
			continue
		}

		v := score(f.logAmplitude, speed(p.index), math.Inf(-1))
		isLowerEqual := v == top && p.index < best
		if v > top || isLowerEqual {
			best = p.index
			top = v
		}
	}

	return speed(best)
}

// bound returns an upper bound of comb with roughAmplitude for all shaft speeds from lo to hi. For each
// tooth it takes all power that the tooth covers at any of these speeds.
func (f *speedFinder) bound(lo, hi float64) float64 {
	var sum float64
	for m := 1; m <= f.harm; m++ {
		bpf := float64(m * f.blades)
		first, firstWidth, firstInside := f.tooth(bpf * lo)
		last, lastWidth, lastInside := f.tooth(bpf * hi)
		top := float64(f.last)
		mean := f.logMean(max(0, min(top, first-firstWidth)), min(top, last+lastWidth), firstWidth)
		if !firstInside || !lastInside { // comb counts a tooth outside as 0
			mean = max(0, mean)
		}

		sum += mean
	}

	return sum / float64(f.harm)
}

// refine returns the shaft speed within ±tolerance of nominal whose harmonics have the largest mean log
// amplitude, sharpened by polish. If no line emerges there, it returns nominal and false.
func (f *speedFinder) refine(nominal float64) (shaft float64, ok bool) {
	lo := nominal * (1 - f.lines.tolerance)
	hi := nominal * (1 + f.lines.tolerance)
	f.whiten(f.halfSpacing(nominal), f.teeth(lo, hi)...)
	combScore := func(level amplitude, shaft, _ float64) float64 { return f.comb(level, shaft, 0) }
	shaft, count := f.polish(f.best(lo, hi, combScore))
	if count == 0 {
		return nominal, false
	}

	return max(lo, min(hi, shaft)), true
}

// halfSpacing returns half the distance of two harmonics at a shaft speed, in bins: whiten takes the floor over this
// number of bins to each side, so that it contains one line at most.
func (f *speedFinder) halfSpacing(shaft float64) int {
	return int(0.5 * float64(f.blades) * shaft / f.lines.binHz)
}

// track returns the shaft speed from lo to hi that explains the spectrum best, and the number of
// harmonics whose lines emerge at that speed. One line alone does not prove a speed.
func (f *speedFinder) track(lo, hi float64) (shaft float64, count int) {
	f.whiten(f.halfSpacing(lo), [2]int{0, f.last})
	return f.polish(f.best(lo, hi, f.fundamental))
}

// fundamental returns the score of a shaft speed for track: comb, less penalties for lines that appear if
// shaft is not the true speed but a multiple or a fraction of it (in nats):
//   - At two or three times the true speed there are lines between the teeth that are as strong as the
//     teeth. Weaker lines there are shaft orders, which blades that differ a little produce.
//   - At k/n of the true speed, n being the number of blades, or at a half or a third of it, only every
//     p-th tooth is on a harmonic of the BPF, p = 2 … n. The other teeth are on shaft orders or on
//     nothing, so that every p-th tooth is higher than its neighbours (toothContrast).
//
// If the score is below least, fundamental may return an upper bound that is below least.
func (f *speedFinder) fundamental(level amplitude, shaft, least float64) float64 {
	const (
		weaker         = 0.69 // nats, 3 dB: lines between the teeth that are weaker by this are shaft orders
		gapWeight      = 2    // of the first penalty
		contrastWeight = 1.5  // of the second penalty
	)

	score := f.comb(level, shaft, 0)
	gaps := f.comb(level, shaft, -1./2) // amplitude between the teeth
	penalty := gapWeight * max(0, gaps-(score-weaker))
	if bound := score - penalty; bound < least {
		return bound
	}

	gaps = max(gaps, 0.5*(f.comb(level, shaft, -1./3)+f.comb(level, shaft, -2./3)))
	penalty = gapWeight * max(0, gaps-(score-weaker))

	worst := 0.0
	for p := 2; p <= max(3, f.blades); p++ {
		worst = max(worst, f.toothContrast(level, shaft, p))
	}

	return score - penalty - contrastWeight*worst
}

// toothContrast returns by how much the log amplitude of every p-th tooth is above the mean of its two neighbours, on
// average. It leaves out a tooth if the tooth or its upper neighbour is outside the spectrum, and returns 0 if no tooth
// is left.
func (f *speedFinder) toothContrast(level amplitude, shaft float64, p int) float64 {
	bpf := float64(f.blades) * shaft
	contrast := 0.0
	count := 0
	for i := p; i <= max(p, f.harm); i += p {
		previous, _ := level(float64(i-1) * bpf)
		tooth, toothInside := level(float64(i) * bpf)
		following, followingInside := level(float64(i+1) * bpf)
		if toothInside && followingInside {
			contrast += tooth - 0.5*(previous+following)
			count++
		}
	}

	if count == 0 {
		return 0
	}

	return contrast / float64(count)
}

// polish refines a speed to a fraction of a bin, by the centroids of the lines that emerge near its harmonics in any
// channel. It returns the speed and the number of harmonics with such a line. If that number is 0, polish returns shaft
// unchanged.
func (f *speedFinder) polish(shaft float64) (float64, int) {
	count := 0

	for i := range f.floors { // the floors may be another half's
		f.floors[i].floors = f.floors[i].floors[:0]
	}

	for range 8 { // again, as centroids looks for lines about the harmonics of the new speed
		next, n := f.centroids(shaft)
		if n == 0 {
			return shaft, 0
		}

		moved := math.Abs(next - shaft)
		shaft = next
		count = n
		if moved < 1e-6*shaft {
			break
		}
	}

	return shaft, count
}

// vote is the estimate of the shaft speed from one line, in rev/s, with its weight in the mean of all votes.
type vote struct{ shaft, weight float64 }

// centroids returns the speed that the lines about the harmonics of a shaft speed show, and the number of
// harmonics with a line. If that is 0, it returns shaft.
func (f *speedFinder) centroids(shaft float64) (float64, int) {
	var votes []vote
	lf := f.lines
	bpf := float64(f.blades) * shaft
	var bins []int // of the floor
	count := 0

	f.floors = resizeOuter(f.floors, f.harm)
	for m := 1; m <= f.harm; m++ {
		hz := float64(m) * bpf
		if hz/lf.binHz >= float64(f.last) {
			break
		}

		bins, _ = lf.floorBins(bins, hz, shaft, bpf, f.last)
		near := lf.bins(hz, min(shaft/2, max(2*lf.binHz, driftWindow*hz)), f.last)
		floors := f.channelFloors(m, bins)

		emerged := false
		for c, p := range f.power {
			v, ok := f.lineVote(p, near, floors[c], m)
			if ok {
				votes = append(votes, v)
				emerged = true
			}
		}

		if emerged {
			count++
		}
	}

	if len(votes) == 0 {
		return shaft, 0
	}

	return f.elect(votes), count
}

// channelFloors returns the floor of each channel over the bins for harmonic m, counted from 1. It keeps
// them: from round to round of polish the bins are often the same.
func (f *speedFinder) channelFloors(m int, bins []int) []float64 {
	kept := &f.floors[m-1]
	if len(kept.floors) > 0 && slices.Equal(kept.bins, bins) {
		return kept.floors
	}

	kept.bins = append(kept.bins[:0], bins...)
	kept.floors = kept.floors[:0]
	for _, p := range f.power {
		kept.floors = append(kept.floors, f.lines.floor(p, bins))
	}

	return kept.floors
}

// lineVote returns the vote of the line of harmonic m in the spectrum p of one channel: the centroid of the
// power above the floor in the bins from near[0] to near[1]. ok is false if no line emerges there.
func (f *speedFinder) lineVote(p []float64, near [2]int, floor float64, m int) (v vote, ok bool) {
	peak := 0.0
	above := 0.0  // power above the floor
	moment := 0.0 // sum of that power times the bin
	square := 0.0 // sum of that power times the squared bin
	for k := near[0]; k <= near[1]; k++ {
		peak = max(peak, p[k])

		if p[k] > 2*floor {
			above += p[k] - floor
			moment += (p[k] - floor) * float64(k)
			square += (p[k] - floor) * float64(k) * float64(k)
		}
	}

	r := rho(peak, floor)
	if r < f.lines.emergence || !(above > 0) {
		return vote{}, false
	}

	centre := moment / above
	width := max(0.25, square/above-centre*centre) // variance in bins²; 1/3 for a steady line under a Hann window

	// The centre of a wide line is known less well. A speed from the m-th harmonic is known m times as well
	// as from the first.
	return vote{centre * f.lines.binHz / float64(m*f.blades), float64(m*m) * min(r, maxWhite) / width}, true
}

// voteWindow is how far from the median a vote may be to count, relative to the speed.
const voteWindow = 0.005

// elect returns the weighted mean of the votes near their weighted median. The votes of foreign lines, such
// as mains hum, are far from the median and do not count. It sorts votes.
func (f *speedFinder) elect(votes []vote) float64 {
	sort.SliceStable(votes, func(i, j int) bool { return votes[i].shaft < votes[j].shaft })

	var total, sum float64
	for _, v := range votes {
		total += v.weight
	}

	mid := votes[len(votes)-1].shaft // the weighted median
	for _, v := range votes {
		sum += v.weight
		if sum >= total/2 {
			mid = v.shaft
			break
		}
	}

	var weight, weighted float64
	for _, v := range votes {
		if math.Abs(v.shaft-mid) <= max(voteWindow*mid, 0.5*f.lines.binHz/float64(f.blades*f.harm)) {
			weight += v.weight
			weighted += v.weight * v.shaft
		}
	}

	return weighted / weight
}
