package dsp

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// speedFinder finds the shaft speed of one half from the spectra of all its
// channels: they share the shaft. Its buffers serve half after half.
type speedFinder struct {
	lines  *lineFinder
	power  [][]float64 // mean spectrum per channel
	blades int
	harm   int
	last   int       // highest bin of interest
	sums   []float64 // per bin, per channel: running sums of the spectrum over its floor
	parts  []scored  // of a grid: its first point, and a bound
	scores []scored  // points of a grid
	floors []keptFloors
}

// scored is a point of a grid of speeds and its score.
type scored struct {
	at    int
	score float64
}

// keptFloors are the floors of all channels over those bins.
type keptFloors struct {
	bins   []int
	floors []float64
}

// amplitude is the log amplitude about a frequency; ok is false outside the spectrum.
type amplitude func(hz float64) (v float64, ok bool)

const (
	// combSmear is the half-width a comb's tooth gathers power over, relative
	// to its frequency: a speed that drifts within the half smears the m-th
	// harmonic m times as wide, and the comb must find the middle of all of
	// them, not where their edges happen to meet.
	combSmear = 0.004
	// driftWindow is how far from its middle a line of a drifting speed may
	// reach, relative: real speeds drift by 1–2 % inside a recording.
	driftWindow = 0.02
	// combCap bounds what one line can contribute in nats (60 dB), so that a
	// single strong one does not outvote a comb.
	combCap = 13.8
	// combMargin is more than scores by near and by at differ by: some hundred
	// roundings of values up to combCap.
	combMargin = 1e-9
)

var combLimit = math.Exp(combCap)

// whiten divides each channel's spectrum by its running median over ±half
// bins, so that the floor is 1 everywhere, and fills f.sums: at the bins in spans only,
// which are in ascending order.
func (f *speedFinder) whiten(half int, spans ...[2]int) {
	n, channels := f.last+1, len(f.power)
	half = max(half, 8)
	step := max(1, half/4)

	f.sums = slices.Grow(f.sums[:0], (n+1)*channels)[:(n+1)*channels]
	for c, p := range f.power {
		guess := p[0]
		node := func(k int) float64 {
			guess = median(p[max(1, min(k, n-1)-half):min(n, k+half+1)], guess)
			return guess
		}

		sum, next, at, left := 0.0, 0.0, -1, spans // next is the floor at bin at
		f.sums[c] = 0
		for k := 0; k < n; k += step {
			for len(left) > 0 && left[0][1] < k {
				left = left[1:]
			}

			if len(left) == 0 || left[0][0] >= k+step {
				continue
			}

			prev := next
			if at != k {
				prev = node(k)
			}

			at = k + step
			next = node(min(n-1, at))
			for i := k; i < min(n, at); i++ {
				floor := prev + (next-prev)*float64(i-k)/float64(step)

				white := 0.0
				if i > 0 {
					white = rho(p[i], floor)
				}

				sum += min(white, 1e9) // keeps the running sum exact enough
				f.sums[(i+1)*channels+c] = sum
			}
		}
	}
}

// teeth returns the bins that combs of shaft speeds from lo to hi read, merged.
func (f *speedFinder) teeth(lo, hi float64) (spans [][2]int) {
	for m := 1; m <= f.harm; m++ {
		at := float64(m*f.blades) / f.lines.binHz
		first := at*lo + 0.5
		last := at*hi + 0.5

		span := [2]int{int(first-max(1, combSmear*first)) - 1, int(last+max(1, combSmear*last)) + 1}
		if n := len(spans); n > 0 && span[0] <= spans[n-1][1] {
			spans[n-1][1] = span[1]
		} else {
			spans = append(spans, span)
		}
	}

	return spans
}

// at is the log amplitude about hz, in nats above the floor: the whitened
// power's mean over ±combSmear (at least ±1 bin), its logarithm's mean over
// channels.
func (f *speedFinder) at(hz float64) (float64, bool) {
	x, w, ok := f.tooth(hz)
	if !ok {
		return 0, false
	}

	channels := len(f.power)
	lo, hi := f.between(x-w), f.between(x+w)

	var sum float64
	for c := range channels {
		mean := (hi.read(c, channels) - lo.read(c, channels)) / (2 * w)
		sum += min(combCap, math.Log(max(mean, 1e-3)))
	}

	return sum / float64(channels), true
}

// near is at with a logarithm for many channels instead of one for each, right
// to combMargin.
func (f *speedFinder) near(hz float64) (float64, bool) {
	x, w, ok := f.tooth(hz)
	if !ok {
		return 0, false
	}

	return f.logMean(x-w, x+w, w), true
}

// logMean is the logarithm's mean over channels of the whitened power from one place in
// the running sums to another over 2w.
func (f *speedFinder) logMean(from, to, w float64) float64 {
	const most = 32 // factors whose product float64 holds
	channels := len(f.power)
	lo, hi := f.between(from), f.between(to)
	lo0, lo1, hi0, hi1 := lo.sums[:channels], lo.sums[channels:], hi.sums[:channels], hi.sums[channels:]
	u, v := 1-lo.t, 1-hi.t

	sum, product, per := 0.0, 1.0, 0.5/w
	for c := range channels {
		mean := (v*hi0[c] + hi.t*hi1[c] - (u*lo0[c] + lo.t*lo1[c])) * per
		if !(mean > 1e-3) { // max and min take care of more, and time
			mean = 1e-3
		} else if mean > combLimit {
			mean = combLimit
		}

		if product *= mean; c%most == most-1 {
			sum += math.Log(product)
			product = 1
		}
	}

	return (sum + math.Log(product)) / float64(channels)
}

// tooth is the place of a frequency in the running sums, and how far about it its
// power is gathered.
func (f *speedFinder) tooth(hz float64) (x, w float64, ok bool) {
	x = hz/f.lines.binHz + 0.5 // bin k covers k … k+1 of the running sum
	w = max(1, combSmear*x)
	return x, w, !(x-w < 1 || x+w >= float64(f.last))
}

// point is a place between two points of the running sums.
type point struct {
	sums []float64 // of all channels at the point before, and at that after
	t    float64
}

func (f *speedFinder) between(x float64) point {
	k, channels := int(x), len(f.power)
	return point{f.sums[k*channels:][:2*channels], x - float64(k)}
}

// read is the running sum of channel c of so many.
func (p point) read(c, channels int) float64 { return (1-p.t)*p.sums[c] + p.t*p.sums[channels+c] }

// comb is the mean log amplitude at (m+offset)·blades·shaft, m = 1 … harm. A
// tooth outside the spectrum counts as none, or speeds with fewer teeth below
// the Nyquist frequency would look better.
func (f *speedFinder) comb(at amplitude, shaft, offset float64) float64 {
	var sum float64
	for m := 1; m <= f.harm; m++ {
		v, _ := at((float64(m) + offset) * float64(f.blades) * shaft)
		sum += v
	}

	return sum / float64(f.harm)
}

// best returns the shaft speed from lo to hi with the greatest score, the first of
// equals, on a grid so fine that the highest harmonic moves by an eighth of a
// bin. No score is above comb's. Bounds of comb rule out most of the grid, scores by near
// all but a few speeds of the rest; at decides between those. A score below least may be
// any bound of it below least.
func (f *speedFinder) best(lo, hi float64, score func(at amplitude, shaft, least float64) float64) float64 {
	const most = 4 // speeds of a part
	steps := int(math.Ceil((hi - lo) * 8 * float64(f.blades*f.harm) / f.lines.binHz))
	speed := func(i int) float64 { return lo + (hi-lo)*float64(i)/float64(max(1, steps)) }

	f.parts, f.scores = f.parts[:0], f.scores[:0]
	for i := 0; i <= steps; i += most {
		f.parts = append(f.parts, scored{i, f.bound(speed(i), speed(min(i+most-1, steps)))})
	}

	slices.SortStableFunc(f.parts, func(a, b scored) int { return cmp.Compare(b.score, a.score) })

	top := math.Inf(-1)
	for _, p := range f.parts {
		if p.score < top-combMargin {
			break
		}

		for i := p.at; i < min(p.at+most, steps+1); i++ {
			v := score(f.near, speed(i), top-combMargin)
			f.scores = append(f.scores, scored{i, v})
			top = max(top, v)
		}
	}

	limit := top - combMargin
	best := 0
	top = math.Inf(-1)
	for _, p := range f.scores {
		if p.score < limit {
			continue
		}

		if v := score(f.at, speed(p.at), math.Inf(-1)); v > top || v == top && p.at < best {
			best, top = p.at, v
		}
	}

	return speed(best)
}

// bound is at least comb by near of every shaft speed from lo to hi.
func (f *speedFinder) bound(lo, hi float64) float64 {
	var sum float64
	for m := 1; m <= f.harm; m++ {
		bpf := float64(m * f.blades)
		from, w, ok := f.tooth(bpf * lo)
		to, v, ok2 := f.tooth(bpf * hi)
		top := float64(f.last)
		mean := f.logMean(max(0, min(top, from-w)), min(top, to+v), w)
		if !ok || !ok2 { // a tooth outside counts as 0
			mean = max(0, mean)
		}

		sum += mean
	}

	return sum / float64(f.harm)
}

// refine returns the shaft speed within ±tolerance of nominal whose harmonics
// have the largest mean log amplitude, sharpened below the bin width by
// the lines' centroids. Without any line that emerges there it returns
// nominal and false.
func (f *speedFinder) refine(nominal float64) (shaft float64, ok bool) {
	lo, hi := nominal*(1-f.lines.tolerance), nominal*(1+f.lines.tolerance)
	f.whiten(int(0.5*float64(f.blades)*nominal/f.lines.binHz), f.teeth(lo, hi)...)
	shaft, count := f.polish(f.best(lo, hi, func(at amplitude, s, _ float64) float64 { return f.comb(at, s, 0) }))
	if count == 0 {
		return nominal, false
	}

	return max(lo, min(hi, shaft)), true
}

// track returns the shaft speed in [lo, hi] that explains the spectrum best,
// and the number of harmonics whose lines emerge there: 0 or 1 is no evidence.
func (f *speedFinder) track(lo, hi float64) (shaft float64, count int) {
	f.whiten(int(0.5*float64(f.blades)*lo/f.lines.binHz), [2]int{0, f.last})
	return f.polish(f.best(lo, hi, f.fundamental))
}

// fundamental scores shaft as the speed whose BPF comb the spectrum shows: the
// comb's mean log amplitude, less penalties for what a wrong multiple would
// show (in nats):
//   - two or three times the true speed leaves lines as strong as the comb's
//     between its teeth (weaker ones are shaft orders, which blades that
//     differ a little do make);
//   - k/n of it, or half or a third, has only every p-th tooth on a harmonic
//     of the BPF and the others on shaft orders or nothing, p = 2 … n: those
//     teeth are higher than their neighbours. That is how n separates BPF from shaft order.
//
// Below least it is a bound, the score with fewer penalties.
func (f *speedFinder) fundamental(at amplitude, shaft, least float64) float64 {
	const weaker = 0.69 // 3 dB
	score, between := f.comb(at, shaft, 0), f.comb(at, shaft, -1./2)
	penalty := func() float64 { return 2 * max(0, between-(score-weaker)) }
	if bound := score - penalty(); bound < least {
		return bound
	}

	between = max(between, 0.5*(f.comb(at, shaft, -1./3)+f.comb(at, shaft, -2./3)))
	bpf := float64(f.blades) * shaft

	worst := 0.0
	for p := 2; p <= max(3, f.blades); p++ {
		var contrast float64

		count := 0
		for i := p; i <= max(p, f.harm); i += p {
			before, _ := at(float64(i-1) * bpf)
			on, ok := at(float64(i) * bpf)

			after, ok2 := at(float64(i+1) * bpf)
			if ok && ok2 {
				contrast += on - 0.5*(before+after)
				count++
			}
		}

		if count > 0 {
			worst = max(worst, contrast/float64(count))
		}
	}

	return score - penalty() - 1.5*worst
}

// polish sharpens a speed below the bin width by the centroids of the lines
// that emerge near its harmonics in any channel, and returns it with the number
// of harmonics that had one (0: speed unchanged).
func (f *speedFinder) polish(shaft float64) (float64, int) {
	count := 0

	for i := range f.floors { // of another half
		f.floors[i].floors = f.floors[i].floors[:0]
	}

	for range 8 { // the lines' neighbourhoods follow the speed
		next, n := f.centroids(shaft)
		if n == 0 {
			return shaft, 0
		}

		moved := math.Abs(next - shaft)

		shaft, count = next, n
		if moved < 1e-6*shaft {
			break
		}
	}

	return shaft, count
}

// centroids is one round of polish. Lines vote by weighted median first, so
// that a foreign one (mains hum) does not pull; then those near it are
// averaged.
func (f *speedFinder) centroids(shaft float64) (float64, int) {
	type vote struct{ shaft, weight float64 }
	var votes []vote
	lf := f.lines
	bpf := float64(f.blades) * shaft
	var bins []int
	count := 0

	f.floors = resizeOuter(f.floors, f.harm)
	for m := 1; m <= f.harm; m++ {
		hz := float64(m) * bpf
		if hz/lf.binHz >= float64(f.last) {
			break
		}

		bins, _ = lf.floorBins(bins, hz, shaft, bpf, f.last)
		near := lf.bins(hz, min(shaft/2, max(2*lf.binHz, driftWindow*hz)), f.last)
		emerged := false

		kept := &f.floors[m-1]
		if len(kept.floors) == 0 || !slices.Equal(kept.bins, bins) {
			kept.bins, kept.floors = append(kept.bins[:0], bins...), kept.floors[:0]
			for _, p := range f.power {
				kept.floors = append(kept.floors, lf.floor(p, bins))
			}
		}

		for c, p := range f.power {
			floor := kept.floors[c]

			peak, above, moment, square := 0.0, 0.0, 0.0, 0.0
			for k := near[0]; k <= near[1]; k++ {
				peak = max(peak, p[k])

				if p[k] > 2*floor {
					above += p[k] - floor
					moment += (p[k] - floor) * float64(k)
					square += (p[k] - floor) * float64(k) * float64(k)
				}
			}

			r := rho(peak, floor)
			if r < lf.emergence || !(above > 0) {
				continue
			}

			emerged = true
			at := moment / above
			width := max(0.25, square/above-at*at) // bins², of a steady Hann line 1/3

			// The wider a line, the less is its centre known; a speed from the
			// m-th harmonic is known m times as well.
			votes = append(votes, vote{at * lf.binHz / float64(m*f.blades), float64(m*m) * min(r, 1e9) / width})
		}

		if emerged {
			count++
		}
	}

	if len(votes) == 0 {
		return shaft, 0
	}

	sort.SliceStable(votes, func(i, j int) bool { return votes[i].shaft < votes[j].shaft })

	var total, sum float64
	for _, v := range votes {
		total += v.weight
	}

	mid := votes[len(votes)-1].shaft
	for _, v := range votes {
		if sum += v.weight; sum >= total/2 {
			mid = v.shaft
			break
		}
	}

	var weight, weighted float64
	for _, v := range votes {
		if math.Abs(v.shaft-mid) <= max(0.005*mid, 0.5*lf.binHz/float64(f.blades*f.harm)) {
			weight += v.weight
			weighted += v.weight * v.shaft
		}
	}

	return weighted / weight, count
}
