package dsp

import (
	"math"
	"sort"
)

// speedFinder finds the shaft speed of one half from the spectra of all its
// channels: they share the shaft.
type speedFinder struct {
	lines   *lineFinder
	power   [][]float64 // mean spectrum per channel
	blades  int
	harm    int
	last    int         // highest bin of interest
	sums    [][]float64 // per channel: running sums of the spectrum over its floor
	scratch []float64
	spare   []float64
}

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
)

// whiten divides each channel's spectrum by its running median over ±half
// bins, so that the floor is 1 everywhere, and fills f.sums.
func (f *speedFinder) whiten(half int) {
	n := f.last + 1
	half = max(half, 8)
	step := max(1, half/4)
	for _, p := range f.power {
		node := func(k int) float64 {
			f.scratch = append(f.scratch[:0], p[max(1, min(k, n-1)-half):min(n, k+half+1)]...)
			return median(f.scratch, &f.spare)
		}
		sums := make([]float64, n+1)
		next := node(0)
		for k := 0; k < n; k += step {
			prev := next
			next = node(min(n-1, k+step))
			for i := k; i < min(n, k+step); i++ {
				floor := prev + (next-prev)*float64(i-k)/float64(step)
				white := 0.0
				if i > 0 {
					white = rho(p[i], floor)
				}
				sums[i+1] = sums[i] + min(white, 1e9) // keeps the running sum exact enough
			}
		}
		f.sums = append(f.sums, sums)
	}
}

// at is the log amplitude about hz, in nats above the floor: the whitened
// power's mean over ±combSmear (at least ±1 bin), its logarithm's mean over
// channels.
func (f *speedFinder) at(hz float64) (float64, bool) {
	x := hz/f.lines.binHz + 0.5 // bin k covers k … k+1 of the running sum
	w := max(1, combSmear*x)
	if x-w < 1 || x+w >= float64(f.last) {
		return 0, false
	}
	var sum float64
	for _, s := range f.sums {
		mean := (interpolate(s, x+w) - interpolate(s, x-w)) / (2 * w)
		sum += min(combCap, math.Log(max(mean, 1e-3)))
	}
	return sum / float64(len(f.sums)), true
}

// interpolate reads s between its points.
func interpolate(s []float64, x float64) float64 {
	k := int(x)
	t := x - float64(k)
	return (1-t)*s[k] + t*s[k+1]
}

// comb is the mean log amplitude at (m+offset)·blades·shaft, m = 1 … harm. A
// tooth outside the spectrum counts as none, or speeds with fewer teeth below
// the Nyquist frequency would look better.
func (f *speedFinder) comb(shaft, offset float64) float64 {
	var sum float64
	for m := 1; m <= f.harm; m++ {
		v, _ := f.at((float64(m) + offset) * float64(f.blades) * shaft)
		sum += v
	}
	return sum / float64(f.harm)
}

// grid calls visit for shaft speeds from lo to hi, so fine that the highest
// harmonic moves by an eighth of a bin.
func (f *speedFinder) grid(lo, hi float64, visit func(shaft float64)) {
	steps := int(math.Ceil((hi - lo) * 8 * float64(f.blades*f.harm) / f.lines.binHz))
	for i := range steps + 1 {
		visit(lo + (hi-lo)*float64(i)/float64(max(1, steps)))
	}
}

// refine returns the shaft speed within ±tolerance of nominal whose harmonics
// have the largest mean log amplitude, sharpened below the bin width by
// the lines' centroids. Without any line that emerges there it returns
// nominal and false.
func (f *speedFinder) refine(nominal float64) (shaft float64, ok bool) {
	f.whiten(int(0.5 * float64(f.blades) * nominal / f.lines.binHz))
	lo, hi := nominal*(1-f.lines.tolerance), nominal*(1+f.lines.tolerance)
	best, top := nominal, math.Inf(-1)
	f.grid(lo, hi, func(s float64) {
		if v := f.comb(s, 0); v > top {
			best, top = s, v
		}
	})
	shaft, count := f.polish(best)
	if count == 0 {
		return nominal, false
	}
	return max(lo, min(hi, shaft)), true
}

// track returns the shaft speed in [lo, hi] that explains the spectrum best,
// and the number of harmonics whose lines emerge there: 0 or 1 is no evidence.
func (f *speedFinder) track(lo, hi float64) (shaft float64, count int) {
	f.whiten(int(0.5 * float64(f.blades) * lo / f.lines.binHz))
	best, top := lo, math.Inf(-1)
	f.grid(lo, hi, func(s float64) {
		if v := f.fundamental(s); v > top {
			best, top = s, v
		}
	})
	return f.polish(best)
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
func (f *speedFinder) fundamental(shaft float64) float64 {
	score := f.comb(shaft, 0)
	between := max(f.comb(shaft, -1./2), 0.5*(f.comb(shaft, -1./3)+f.comb(shaft, -2./3)))
	const weaker = 0.69 // 3 dB
	penalty := 2 * max(0, between-(score-weaker))
	bpf := float64(f.blades) * shaft
	worst := 0.0
	for p := 2; p <= max(3, f.blades); p++ {
		var contrast float64
		count := 0
		for i := p; i <= max(p, f.harm); i += p {
			before, _ := f.at(float64(i-1) * bpf)
			at, ok := f.at(float64(i) * bpf)
			after, ok2 := f.at(float64(i+1) * bpf)
			if ok && ok2 {
				contrast += at - 0.5*(before+after)
				count++
			}
		}
		if count > 0 {
			worst = max(worst, contrast/float64(count))
		}
	}
	return score - penalty - 1.5*worst
}

// polish sharpens a speed below the bin width by the centroids of the lines
// that emerge near its harmonics in any channel, and returns it with the number
// of harmonics that had one (0: speed unchanged).
func (f *speedFinder) polish(shaft float64) (float64, int) {
	count := 0
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
	for m := 1; m <= f.harm; m++ {
		hz := float64(m) * bpf
		if hz/lf.binHz >= float64(f.last) {
			break
		}
		bins, _ = lf.floorBins(bins, hz, shaft, bpf, f.last)
		near := lf.bins(hz, min(shaft/2, max(2*lf.binHz, driftWindow*hz)), f.last)
		emerged := false
		for _, p := range f.power {
			floor := lf.floor(p, bins)
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
