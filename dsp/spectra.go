package dsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unsafe"

	"doubletake/dsp/kernel"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// Segments are the spectra of a run: each half of its samples is cut into segments,
// the tail dropped (docs/method.md#split-half-spectra). Segments overlap within a half
// only: the halves share no sample, so that they stay independent.
type Segments struct {
	run              *Run
	perHalf, samples int // number of segments of a half, samples of a segment
	hop              int // samples from one segment to the next
	keep             int // bins of each segment's own spectrum that are kept, from 0 Hz on
}

// segments cuts the halves of the run. Segments have at least so many samples; because
// says why, "" where it is for the floor alone.
func (r *Run) segments(least int, because string) *Segments {
	if len(r.Microphones) == 0 {
		panic("dsp: spectra of no channels")
	}

	rate := r.rate()

	set := r.Settings
	shared := func(n int) int { return int(set.Overlap * float64(n)) }
	half, n, count := r.Samples/2, set.segLen(rate), set.Segments

	if n == 0 {
		n = int(float64(half) / (1 + float64(count-1)*(1-set.Overlap)))
		for n > 0 && int64(n)+int64(count-1)*int64(n-shared(n)) > half {
			n-- // the hop is rounded up
		}

		if n < least {
			of := ""
			if because != "" {
				of = ", each " + because
			}

			fault.Raise(&fault.Error{
				Want: fmt.Sprintf("at least %d samples (2 halves of %d segments%s)", 2*(least+(count-1)*(least-shared(least))),
					count, of),
				Found: strconv.FormatInt(r.Samples, 10), Hint: "record longer or ask for fewer segments",
			})
		}

		return &Segments{run: r, perHalf: count, samples: n, hop: n - shared(n), keep: 1}
	}

	if because != "" {
		because = ", " + because
	}

	unless(n >= least, "", fmt.Sprintf("segments of at least %d samples%s", least, because), strconv.Itoa(n),
		"ask for longer segments")
	unless(int64(n) <= r.Samples/4, "", fmt.Sprintf("at least %d samples (2 halves of 2 segments of %d)", 4*int64(n), n),
		strconv.FormatInt(r.Samples, 10), "record longer or ask for shorter segments")

	hop := n - shared(n)

	return &Segments{run: r, perHalf: 1 + int((half-int64(n))/int64(hop)), samples: n, hop: hop, keep: 1}
}

// binHz is the distance of two bins of the spectra, bins their number.
func (s *Segments) binHz() float64 { return s.run.RateHz / float64(s.samples) }
func (s *Segments) bins() int      { return s.samples/2 + 1 }

// disjoint is the number of segments from one to the next that it does not overlap.
func (s *Segments) disjoint() int { return (s.samples + s.hop - 1) / s.hop }

// power is the factor from the power spectrum of a segment of microphone c to its
// part of the mean, in the physical unit. Segment spectra keep it: only their
// ratios matter.
func (s *Segments) power(c int) float64 {
	scale := s.run.Microphones[c].Scale
	return 1 / float64(s.perHalf) * (scale * scale)
}

// equal reports whether both are the same spectra.
func (s *Segments) equal(o *Segments) bool {
	return s.perHalf == o.perHalf && s.samples == o.samples && s.hop == o.hop && s.keep == o.keep &&
		s.run.RateHz == o.run.RateHz && s.run.Start == o.run.Start && s.run.Samples == o.run.Samples &&
		s.run.Settings.Window == o.run.Settings.Window &&
		slices.EqualFunc(s.run.Microphones, o.run.Microphones, func(a, b Microphone) bool {
			return a.Channel == b.Channel && a.Scale == b.Scale
		})
}

// Analyser reads the samples of a run and keeps their spectra. It reuses its
// buffers: make one per worker and do not share it. Memory holds one block (two
// segments or more of all channels, two of one channel where ByChannel), the
// channels' sums, the mean spectra of both halves, and the first bins of
// every segment's spectrum as float32.
type Analyser struct {
	loaded    *Segments // nil: none
	averages  averages  // of one half
	welch     *Welch
	block     [][]float64
	block32   [][]float32
	sums      [][]float64 // per channel: Welch.fold's sum over the half's segments
	single    []float64
	power     []float64
	speed     speedFinder
	mean      [2][][]float64   // half, channel: mean spectrum
	segs      [2][][][]float32 // half, segment, channel: first bins of the spectrum
	floorBins [][]int          // per shaft order, of a half
}

// NewAnalyser returns an Analyser.
func NewAnalyser() *Analyser { return &Analyser{} }

// Load reads the samples and keeps their spectra. Samples are read once, in
// order, an even number of segments at a time; of a source ByChannel, a half of
// one channel after the other.
//
// Errors that are the data's fault are *fault.Error; errors of the source and of ctx
// are wrapped.
func (a *Analyser) Load(ctx context.Context, src Source, s *Segments) (err error) {
	defer fault.Catch(&err)

	a.loaded = nil

	window := s.run.Settings.Window
	if a.welch == nil || a.welch.SegLen() != s.samples || a.welch.name != window {
		a.welch = newWelch(s.samples, window)
	}

	together := len(s.run.Microphones) // channels read at a time
	if by, ok := src.(ByChannel); ok && by.ByChannel() {
		together = 1
	}

	narrow, ok := src.(Source32)

	if ok && narrow.Exact32() && a.welch.lanes != nil {
		readHalves(ctx, a, &a.block32, narrow.Read32, together, s)
	} else {
		readHalves(ctx, a, &a.block, src.Read, together, s)
	}

	a.loaded = s
	a.averages = a.welch.averagesOf(s.perHalf, s.hop)

	return nil
}

// Holds reports whether the Analyser holds the spectra that Load would make of the
// same source.
func (a *Analyser) Holds(s *Segments) bool { return a.loaded != nil && s.equal(a.loaded) }

// BinHz returns the distance of two bins in Hz; the first lies at 0 Hz.
func (a *Analyser) BinHz() float64 { return a.loaded.binHz() }

// Power returns the mean one-sided power spectrum of a half (0 or 1) of a
// microphone (a position in Run.Microphones), in the square of the
// physical unit; a sine on a bin reads its mean square. It stays valid until
// the next Load and must not be changed. It panics before Load has succeeded.
func (a *Analyser) Power(half, channel int) []float64 {
	if a.loaded == nil {
		panic("dsp: spectrum before Load")
	}
	return a.mean[half][channel]
}

// powers32 returns Power of each half and channel as float32, in memory of their own: of
// a channel one half after the other, and one channel after the other.
func (a *Analyser) powers32() (all [2][][]float32) {
	bins := a.welch.Bins()
	memory := make([]float32, 2*len(a.mean[0])*bins)
	for c := range a.mean[0] {
		for h := range all {
			p := memory[:bins]
			for k, v := range a.Power(h, c) {
				p[k] = float32(v)
			}

			all[h] = append(all[h], p)
			memory = memory[bins:]
		}
	}

	return all
}

// readHalves reads both halves through read and fills a.mean and a.segs.
func readHalves[T kernel.Number](ctx context.Context, a *Analyser, block *[][]T,
	read func(channels []int, start int64, dst [][]T) (int, error), together int, s *Segments,
) {
	n, hop, bins := s.samples, s.hop, s.bins()
	half, first := s.run.Samples/2, s.run.Start

	channels := lists.Each(s.run.Microphones, func(m Microphone) int { return m.Channel })

	// Of channels that come together as many segments are read at a time as a
	// block may hold: a channel's sums then stay cached from pair to pair.
	var sample T

	per := 2
	if size := together * n * int(unsafe.Sizeof(sample)); together > 1 {
		per = max(2, min(blockBytes/size, s.perHalf)&^1)
	}

	a.sums = resize(a.sums, len(channels), n)
	for h := range a.mean {
		a.mean[h] = resize(a.mean[h], len(channels), bins)
		a.segs[h] = resizeOuter(a.segs[h], s.perHalf)
		for g := range s.perHalf {
			a.segs[h][g] = resize(a.segs[h][g], len(channels), s.keep)
		}

		if a.welch.lanes == nil {
			for _, m := range a.mean[h] {
				clear(m)
			}
		}

		for c := 0; c < len(channels); c += together {
			for g := 0; g < s.perHalf; g += per {
				if err := ctx.Err(); err != nil {
					fault.Raise(fmt.Errorf("analyse run: %w", err))
				}

				count, shared := min(per, s.perHalf-g), 0
				if g > 0 { // the end of the block before
					shared = n - hop
					for _, x := range *block {
						copy(x, x[per*hop:])
					}
				}

				start := first + int64(h)*half + int64(g*hop)

				*block = resize(*block, together, n+(count-1)*hop)
				fill(*block, shared, read, channels[c:c+together], start, first, s.run.Samples)

				for i, x := range *block {
					addSegments(a, x, h, g, c+i, s, start)
				}
			}
		}

		for c, m := range a.mean[h] {
			if a.welch.lanes != nil {
				a.welch.fold(m, a.sums[c], s.power(c))
			}

			total := kernel.Sum(m) // of powers: finite if all are, unless it is too large itself
			if !finite(total) && slices.ContainsFunc(m, func(p float64) bool { return !finite(p) }) {
				fault.Raise(tooLarge(channels[c], first+int64(h)*half))
			}

			unless(total != 0, fmt.Sprintf("channel %d, %s half", channels[c]+1, halfName(h)), "sound",
				"silence (all samples equal)", "leave the channel out if it was not connected")
		}
	}
}

// fill reads a block, whose first sample is start, from its sample number shared on, of an
// interval of samples from from on.
func fill[T kernel.Number](block [][]T, shared int, read func(channels []int, start int64, dst [][]T) (int, error),
	channels []int, start, from, samples int64,
) {
	size := len(block[0])

	fresh := lists.Each(block, func(x []T) []T { return x[shared:] })

	got, err := read(channels, start+int64(shared), fresh)
	if got += shared; got < size {
		unless(err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF),
			fmt.Sprintf("sample %d", start+int64(got)), fmt.Sprintf("%d samples from %d on", samples, from),
			"the end of the data", "")
	}

	if err != nil && !errors.Is(err, io.EOF) {
		fault.Raise(fmt.Errorf("read samples %d … %d: %w", start, start+int64(size), err))
	}
}

// blockBytes bounds a block of several channels, unless two segments of them are
// more.
const blockBytes = 8 << 20

// addSegments transforms the segments of channel c that x holds, from segment g
// of half h on: two at a time, or singly where the length is none for lanes.
func addSegments[T kernel.Number](a *Analyser, x []T, h, g, c int, s *Segments, start int64) {
	w, n, hop, channel := a.welch, s.samples, s.hop, s.run.Microphones[c].Channel
	for ; len(x) >= n; g, start = g+2, start+int64(2*hop) {
		first, second := x[:n], x[:0]
		if len(x) >= hop+n {
			second = x[hop : hop+n]
		}

		x = x[min(2*hop, len(x)):]
		mean1, live1 := segmentMean(first)
		mean2, live2 := segmentMean(second)

		if !finite(mean1) {
			fault.Raise(badSample(first, channel, start))
		}

		if !finite(mean2) {
			fault.Raise(badSample(second, channel, start+int64(hop)))
		}

		if w.lanes == nil {
			segment(a, first, h, g, c, s)

			if len(second) > 0 {
				segment(a, second, h, g+1, c, s)
			}

			continue
		}

		seg1 := a.segs[h][g][c]

		var seg2 []float32
		if len(second) > 0 {
			seg2 = a.segs[h][g+1][c]
		} else {
			second = make([]T, n) // once in a half of a channel
		}

		scale := 2 * s.power(c) / (w.sum * w.sum)
		addPair(w.lanes, a.sums[c], seg1, seg2, first, second, mean1, mean2, scale, g == 0)

		// A transform of nothing but zeros leaves a trace of its partner's
		// rounding; a segment without sound has none.
		if !live1 {
			clear(seg1)
		}

		if !live2 {
			clear(seg2)
		}
	}
}

// addPair adds the powers of two segments to sum and fills seg1 and seg2 with the
// first bins of their own spectra, times scale.
func addPair[S kernel.Number](p *lanePairs, sum []float64, seg1, seg2 []float32, first, second []S, mean1,
	mean2, scale float64, fresh bool,
) {
	rows := (len(seg1) + p.n1 - 1) / p.n1
	p.low = slices.Grow(p.low[:0], 2*rows*p.n1)[:2*rows*p.n1]
	p.high = slices.Grow(p.high[:0], len(p.low))[:len(p.low)]
	powers(p.lanePlan, sum, p.low, p.high, first, second, mean1, mean2, p.window, fresh)
	untanglePair(p.k, seg1, seg2, p.low, p.high, scale, p.n)
}

// segmentMean returns the mean of a segment and whether its samples differ. Of
// equal samples it is exact.
func segmentMean[T kernel.Number](x []T) (mean float64, live bool) {
	if len(x) == 0 {
		return 0, false
	}

	for _, v := range x {
		if v != x[0] {
			live = true
			break
		}
	}

	if !live {
		return float64(x[0]), false
	}

	return kernel.Sum(x) / float64(len(x)), true
}

// untanglePair fills x and y, unless empty, with the power spectra of the two
// real sequences behind Z, from k = 0 on: X_k = (Z_k + Z̄_(n−k))/2 and
// Y_k = (Z_k − Z̄_(n−k))/2i. low holds Z_0 …, high … Z_(n−1), as pairs. Powers
// are multiplied by scale, half of it at 0 Hz and the Nyquist frequency.
func untanglePair(k *kernel.Set, x, y []float32, low, high []float64, scale float64, n int) {
	if len(y) == 0 {
		y = x
	}

	scale *= 0.25
	k.Untangle(x[1:], y[1:], low[2:], high, scale)
	if m := n / 2; 2*m == n && m < len(x) {
		k.Untangle(x[m:m+1], y[m:m+1], low[2*m:], high[:len(high)-2*m+2], 0.5*scale)
	}

	zr, zi := low[0], low[1]
	y[0] = float32(float64(zi*zi) * 2 * scale)
	x[0] = float32(float64(zr*zr) * 2 * scale)
}

// segment transforms a single segment.
func segment[T kernel.Number](a *Analyser, x []T, h, g, c int, s *Segments) {
	a.single = slices.Grow(a.single[:0], len(x))[:len(x)]
	for i, v := range x {
		a.single[i] = float64(v)
	}

	a.power = slices.Grow(a.power[:0], a.welch.Bins())[:a.welch.Bins()]
	a.welch.SegmentPower(a.power, a.single)
	scale := s.power(c)

	m, seg := a.mean[h][c][:len(a.power)], a.segs[h][g][c]
	for k, p := range a.power {
		m[k] += p * scale
	}

	for k := range seg {
		seg[k] = float32(a.power[k] * scale)
	}
}

// badSample reports the first sample that is not finite, or values too large to
// square.
func badSample[T kernel.Number](x []T, channel int, start int64) error {
	for i, v := range x {
		if v-v != 0 {
			return wrong(fmt.Sprintf("channel %d, sample %d", channel+1, start+int64(i)), "a finite number",
				fmt.Sprint(v), "")
		}
	}

	return tooLarge(channel, start)
}

func tooLarge(channel int, start int64) error {
	return wrong(fmt.Sprintf("channel %d, samples from %d on", channel+1, start),
		"samples whose squares are finite", "values too large", "")
}

// resizeOuter returns x with n elements, keeping their contents.
func resizeOuter[T any](x []T, n int) []T {
	if n <= cap(x) {
		return x[:n]
	}
	return append(x[:cap(x)], make([]T, n-cap(x))...)
}

// resize returns x as n slices of length each, reusing memory.
func resize[T any](x [][]T, n, length int) [][]T {
	x = resizeOuter(x, n)
	for i := range x {
		x[i] = slices.Grow(x[i][:0], length)[:length]
	}

	return x
}
