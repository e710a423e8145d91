package dsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"doubletake/dsp/kernel"
)

// Analyser computes and keeps the spectra of a run. Load reads the samples of each half block by block.
// For each channel it adds the power spectra of the segments, two segments in one transform if there
// is a lanePlan for their length, and keeps the first bins of each segment's own spectrum for the
// consistency tests. At the end of a half it checks the mean spectra.
//
// An Analyser reuses its buffers: make one per worker and do not share it.
type Analyser struct {
	loaded   *Segments // the segments that Load has read; nil: none
	averages averages  // how the mean spectrum of one half scatters
	welch    *Welch    // for the length and window of the segments

	mean [2][][]float64   // [half][channel]: mean power spectrum
	segs [2][][][]float32 // [half][segment][channel]: first bins of the segment's own power spectrum

	// Scratch memory.
	block     [][]float64 // [channel]: samples of several segments
	block32   [][]float32 // the same for a Source32
	sums      [][]float64 // [channel]: sums of squared magnitudes of pairs of segments, for Welch.fold
	single    []float64   // samples of one segment
	power     []float64   // power spectrum of one segment
	speed     speedFinder
	floorBins [][]int // [shaft order]: bins of its floor in the half that lines measures
}

// NewAnalyser returns an Analyser.
func NewAnalyser() *Analyser { return &Analyser{} }

// Load reads the samples and keeps their spectra. It reads each sample once, first half first, all
// channels together and an even number of segments at a time. From a source ByChannel it reads one
// channel after the other.
//
// If the data cannot be analysed, Load returns a *fault.Error. It wraps errors of the source and of
// ctx. After an error the Analyser has no spectra.
func (a *Analyser) Load(ctx context.Context, src Source, s *Segments) error {
	a.loaded = nil

	window := s.run.Settings.Window
	if a.welch == nil || a.welch.SegLen() != s.samples || a.welch.name != window {
		a.welch = newWelch(s.samples, window)
	}

	together := len(s.run.Microphones) // number of channels read at a time
	if r, ok := src.(ByChannel); ok && r.ByChannel() {
		together = 1
	}

	a.prepare(s)
	narrow, ok := src.(Source32)
	if ok && narrow.Exact32() && a.welch.lanes != nil {
		reader := spectraReader[float32]{a: a, s: s, read: narrow.Read32, together: together, block: &a.block32}
		if err := reader.readHalves(ctx); err != nil {
			return err
		}
	} else {
		reader := spectraReader[float64]{a: a, s: s, read: src.Read, together: together, block: &a.block}
		if err := reader.readHalves(ctx); err != nil {
			return err
		}
	}

	a.loaded = s
	a.averages = a.welch.averagesOf(s.perHalf, s.hop)

	return nil
}

// Holds reports whether the Analyser already has the spectra that Load would compute from the same
// source.
func (a *Analyser) Holds(s *Segments) bool { return a.loaded != nil && s.equal(a.loaded) }

// BinHz returns the distance of two bins in Hz; the first lies at 0 Hz.
func (a *Analyser) BinHz() float64 { return a.loaded.binHz() }

// Power returns the mean one-sided power spectrum of a half (0 or 1) of a microphone (a position in
// Run.Microphones), in the square of the physical unit. The value at the bin of a sine is the mean
// square of the sine. The slice stays valid until the next Load and must not be changed. Power panics
// before Load has succeeded.
func (a *Analyser) Power(half, channel int) []float64 {
	if a.loaded == nil {
		panic("dsp: spectrum before Load")
	}
	return a.mean[half][channel]
}

// powers32 returns copies of all mean spectra as float32, [half][channel]. They lie in one block of
// memory, the two halves of a channel next to each other.
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

// spectraReader reads samples of type T and adds their spectra to an Analyser.
type spectraReader[T kernel.Number] struct {
	a        *Analyser
	s        *Segments
	read     func(channels []int, start int64, dst [][]T) (int, error) // Source.Read or Source32.Read32
	together int                                                       // number of channels read at a time
	block    *[][]T                                                    // the Analyser's buffer: [channel]: samples
}

// readHalves reads both halves and fills mean and segs of the Analyser.
func (r spectraReader[T]) readHalves(ctx context.Context) error {
	for h := range r.a.mean {
		for c := 0; c < len(r.s.run.Microphones); c += r.together {
			if err := r.readHalf(ctx, h, c); err != nil {
				return err
			}
		}

		if err := r.a.finishHalf(h, r.s); err != nil {
			return err
		}
	}

	return nil
}

// prepare gives the buffers of spectra their sizes.
func (a *Analyser) prepare(s *Segments) {
	channels := len(s.run.Microphones)
	a.sums = resize(a.sums, channels, s.samples)

	for h := range a.mean {
		a.mean[h] = resize(a.mean[h], channels, s.bins())
		a.segs[h] = resizeOuter(a.segs[h], s.perHalf)
		for g := range s.perHalf {
			a.segs[h][g] = resize(a.segs[h][g], channels, s.keep)
		}

		if a.welch.lanes == nil {
			for _, m := range a.mean[h] {
				clear(m)
			}
		}
	}
}

// blockSegments returns the number of segments of a block, which is even. If several channels are read together, a
// block has as many segments as blockBytes allows: the sums of a channel then stay in the processor's cache from pair
// to pair.
func (r spectraReader[T]) blockSegments() int {
	if r.together == 1 {
		return 2
	}

	var sample T
	segmentBytes := r.together * r.s.samples * int(unsafe.Sizeof(sample))

	return max(2, min(blockBytes/segmentBytes, r.s.perHalf)&^1)
}

// readHalf reads half h of the microphones from number first on, as many as are read together, and adds their segments
// to the Analyser.
func (r spectraReader[T]) readHalf(ctx context.Context, h, first int) error {
	s := r.s
	n := s.samples
	half := s.run.Samples / 2

	channels := make([]int, r.together)
	for i := range channels {
		channels[i] = s.run.Microphones[first+i].Channel
	}

	segments := r.blockSegments()
	for g := 0; g < s.perHalf; g += segments {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("analyse run: %w", err)
		}

		shared := 0 // samples that the previous block has already read
		if g > 0 {
			shared = n - s.hop
			for _, x := range *r.block {
				copy(x, x[segments*s.hop:])
			}
		}

		count := min(segments, s.perHalf-g)
		start := s.run.Start + int64(h)*half + int64(g*s.hop)
		*r.block = resize(*r.block, r.together, n+(count-1)*s.hop)
		whole := interval{s.run.Start, s.run.Samples}
		if err := fill(*r.block, shared, r.read, channels, start, whole, ""); err != nil {
			return err
		}

		for i, x := range *r.block {
			if err := addSegments(r.a, x, segmentIndex{h, g, first + i}, s, start); err != nil {
				return err
			}
		}
	}

	return nil
}

// finishHalf completes the mean spectra of half h and checks them.
func (a *Analyser) finishHalf(h int, s *Segments) error {
	for c, m := range a.mean[h] {
		if a.welch.lanes != nil {
			a.welch.fold(m, a.sums[c], s.power(c))
		}

		channel := s.run.Microphones[c].Channel
		total := kernel.Sum(m) // may be infinite although every power is finite
		if !finite(total) && slices.ContainsFunc(m, func(p float64) bool { return !finite(p) }) {
			return tooLarge(channel, s.run.Start+int64(h)*(s.run.Samples/2))
		}

		if total == 0 {
			return wrong(fmt.Sprintf("channel %d, %s half", channel+1, halfName(h)), "sound",
				"silence (all samples equal)", "leave the channel out if it was not connected")
		}
	}

	return nil
}

// fill reads a block that begins at sample start of the source. It leaves the first shared samples of the block as they
// are, and fills the rest. whole is the interval that the block belongs to, and place is the start of the place in
// error messages. If the data end within the block, fill returns a *fault.Error. It wraps other errors of read.
func fill[T kernel.Number](block [][]T, shared int, read func(channels []int, start int64, dst [][]T) (int, error),
	channels []int, start int64, whole interval, place string,
) error {
	size := len(block[0])
	fresh := make([][]T, len(block))
	for i, x := range block {
		fresh[i] = x[shared:]
	}

	got, err := read(channels, start+int64(shared), fresh)
	got += shared
	ended := err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if got < size && ended {
		return wrong(fmt.Sprintf("%ssample %d", place, start+int64(got)),
			fmt.Sprintf("%d samples from %d on", whole.samples, whole.start), "the end of the data", "")
	}

	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read samples %d … %d: %w", start, start+int64(size), err)
	}

	return nil
}

// blockBytes is the greatest size of a block of several channels, in bytes. A block may be larger if it has only two
// segments.
const blockBytes = 8 << 20

// segmentIndex identifies a segment. All three numbers count from 0, segment from the start of the half.
type segmentIndex struct{ half, segment, microphone int }

// next returns the index of the following segment.
func (i segmentIndex) next() segmentIndex {
	i.segment++
	return i
}

// ownSpectrum returns the memory for the first bins of a segment's spectrum.
func (a *Analyser) ownSpectrum(i segmentIndex) []float32 {
	return a.segs[i.half][i.segment][i.microphone]
}

// addSegments transforms the segments in x, samples of one microphone, and adds their powers. index is
// the index of the first segment, and start the number of its first sample. It transforms two segments
// at a time, or one at a time if there is no lanePlan for their length.
func addSegments[T kernel.Number](a *Analyser, x []T, index segmentIndex, s *Segments, start int64) error {
	n := s.samples
	hop := s.hop
	channel := s.run.Microphones[index.microphone].Channel

	for len(x) >= n {
		first := x[:n]
		second := x[:0]
		if len(x) >= hop+n {
			second = x[hop : hop+n]
		}

		mean1, live1 := segmentMean(first)
		mean2, live2 := segmentMean(second)
		if !finite(mean1) {
			return badSample(first, channel, start)
		}

		if !finite(mean2) {
			return badSample(second, channel, start+int64(hop))
		}

		if a.welch.lanes != nil {
			addPair(a, first, second, [2]segmentFacts{{mean1, live1}, {mean2, live2}}, index, s)
		} else {
			addSegment(a, first, index, s)

			if len(second) > 0 {
				addSegment(a, second, index.next(), s)
			}
		}

		x = x[min(2*hop, len(x)):]
		index.segment += 2
		start += int64(2 * hop)
	}

	return nil
}

// segmentFacts describes a segment before its transform.
type segmentFacts struct {
	mean float64
	live bool // false: silent, all samples are equal
}

// addPair adds the powers of a segment and the next one to the channel's sums, and keeps the first bins of their own
// spectra. second is empty if there is no next segment. index is the index of the first segment. addPair transforms
// both segments at once, as the real and the imaginary part of one sequence.
func addPair[T kernel.Number](a *Analyser, first, second []T, facts [2]segmentFacts, index segmentIndex, s *Segments) {
	w := a.welch
	seg1 := a.ownSpectrum(index)

	var seg2 []float32
	if len(second) > 0 {
		seg2 = a.ownSpectrum(index.next())
	} else {
		second = make([]T, len(first)) // happens at most once per half and channel
	}

	p := w.lanes
	rows := (len(seg1) + p.n1 - 1) / p.n1 // rows of the transform with the bins to keep
	p.low = slices.Grow(p.low[:0], 2*rows*p.n1)[:2*rows*p.n1]
	p.high = slices.Grow(p.high[:0], len(p.low))[:len(p.low)]
	sums := a.sums[index.microphone]
	if index.segment == 0 {
		clear(sums) // of the half before
	}

	p.powers(sums, p.low, p.high, pairInput(first, second, facts[0].mean, facts[1].mean, p.window))

	scale := 2 * s.power(index.microphone) / (w.sum * w.sum)
	p.untangle(seg1, seg2, scale)

	// If one segment is silent, rounding leaves a trace of the other in its spectrum.
	if !facts[0].live {
		clear(seg1)
	}

	if !facts[1].live {
		clear(seg2)
	}
}

// segmentMean returns the mean of a segment, and reports by live whether its samples differ. If they are all equal, the
// mean is exact. The mean of an empty segment is 0.
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

// untangle fills x and y with the first bins of the power spectra of two real sequences, from p.low and p.high: the
// ends of Z, the transform of n points of the first sequence plus i times the second. The transforms of the two are X_k
// = (Z_k + Z̄_(n−k))/2 and Y_k = (Z_k − Z̄_(n−k))/2i. The powers are multiplied by scale, and by scale/2 at 0 Hz and at
// the Nyquist frequency. y may be empty if only the first spectrum is wanted.
func (p *lanePairs) untangle(x, y []float32, scale float64) {
	if len(y) == 0 {
		y = x // Untangle then keeps the first spectrum
	}

	scale *= 0.25
	p.k.Untangle(x[1:], y[1:], p.low[2:], p.high, scale)
	if m := p.n / 2; 2*m == p.n && m < len(x) {
		p.k.Untangle(x[m:m+1], y[m:m+1], p.low[2*m:], p.high[:len(p.high)-2*m+2], 0.5*scale)
	}

	zr := p.low[0]
	zi := p.low[1]
	y[0] = float32(float64(zi*zi) * 2 * scale)
	x[0] = float32(float64(zr*zr) * 2 * scale)
}

// addSegment adds the power spectrum of a single segment to the mean spectrum of its half, and keeps
// its first bins.
func addSegment[T kernel.Number](a *Analyser, x []T, index segmentIndex, s *Segments) {
	a.single = slices.Grow(a.single[:0], len(x))[:len(x)]
	for i, v := range x {
		a.single[i] = float64(v)
	}

	a.power = slices.Grow(a.power[:0], a.welch.Bins())[:a.welch.Bins()]
	a.welch.SegmentPower(a.power, a.single)
	scale := s.power(index.microphone)

	m := a.mean[index.half][index.microphone][:len(a.power)]
	seg := a.ownSpectrum(index)
	for k, p := range a.power {
		m[k] += p * scale
	}

	for k := range seg {
		seg[k] = float32(a.power[k] * scale)
	}
}

// badSample returns an error about the first sample of x that is not finite. If all are finite, the
// error says that they are too large. start is the number of the first sample in the source.
func badSample[T kernel.Number](x []T, channel int, start int64) error {
	for i, v := range x {
		if !finite(float64(v)) {
			return wrong(fmt.Sprintf("channel %d, sample %d", channel+1, start+int64(i)), "a finite number",
				fmt.Sprint(v), fromZero)
		}
	}

	return tooLarge(channel, start)
}

// tooLarge returns the error about samples, from number start on, whose powers are not finite although the samples are.
func tooLarge(channel int, start int64) error {
	return wrong(fmt.Sprintf("channel %d, samples from %d on", channel+1, start),
		"samples whose squares are finite", "values too large", "")
}

// resizeOuter returns x with n elements. It keeps the elements of x up to n, and the memory of x if n elements fit into
// it.
func resizeOuter[T any](x []T, n int) []T {
	if n <= cap(x) {
		return x[:n]
	}
	return append(x[:cap(x)], make([]T, n-cap(x))...)
}

// resize returns x as n slices of the given length each. It reuses the memory of x, whose contents
// are not cleared.
func resize[T any](x [][]T, n, length int) [][]T {
	x = resizeOuter(x, n)
	for i := range x {
		x[i] = slices.Grow(x[i][:0], length)[:length]
	}

	return x
}
