package dsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unsafe"
)

// RotorSettings describe one run of a rotor and how to analyse it. Zero values
// of the fields with a default in their comment take it.
type RotorSettings struct {
	RateHz         float64   // sampling rate
	Start, Samples int64     // interval of the run in the source
	Channels       []int     // channels of the source, microphones of one run
	Scale          []float64 // per channel, factor to the physical unit; nil: 1

	Segments  int     // per half; 8
	Blades    int     // number of blades n; BPF = n·shaft
	Harmonics int     // of the BPF; 5
	Tolerance float64 // relative half-width of the search; 0.03
	MinBins   int     // least half-width of the search in bins; 2
	Amplitude string  // "band" (default) or "peak", METHOD §1

	ShaftHz              float64    // shaft speed from the conditions, rev/s; 0: track
	Speed                string     // "refine" (default): per half within ±Tolerance of ShaftHz; "nominal": ShaftHz as it is
	HalfShaftHz          [2]float64 // speed of each half by a tachometer, rev/s: wins over all; 0: none
	TrackLoHz, TrackHiHz float64    // range of shaft speeds to track in, rev/s; both 0: off; used only when ShaftHz is 0

	EmergenceDB float64 // ρ from which a line counts as one; 6
	Alpha       float64 // level of the family of consistency tests of the run; 0.05
	KeepSpectra bool    // keep Half.Spectrum
}

// RotorRun is what Analyser.Run found.
type RotorRun struct {
	SegLen   int        // samples per segment, ⌊⌊Samples/2⌋/Segments⌋
	BinHz    float64    // RateHz/SegLen
	ShaftHz  [2]float64 // per half: nominal, refined or tracked; all channels share it
	Channels []RotorChannel
	Flags    []Flag // doubts, in order: whole run first, then by channel
}

// RotorChannel is one microphone's result.
type RotorChannel struct {
	Halves       [2]Half
	Emergent     []bool    // per harmonic: ρ ≥ EmergenceDB over both halves together
	EmergenceRho []float64 // that ρ, linear
}

// Half is one half's result for one channel.
type Half struct {
	ShaftHz     float64
	Lines       []Line    // harmonics of the BPF, m = 1 … Harmonics
	ShaftOrders []Line    // shaft orders up to Blades·Harmonics that are no multiple of Blades
	Spectrum    []float32 // mean one-sided power spectrum; nil unless KeepSpectra
}

// Analyser analyses rotor runs. It reuses its buffers: make one per worker and
// do not share it. Memory holds one block (two segments or more of all channels,
// two of one channel where ByChannel), the channels' sums, the mean spectra of
// both halves, and the part of the 16 segments' spectra that holds the harmonics,
// as float32.
type Analyser struct {
	settings  RotorSettings // of Load
	loaded    bool
	welch     *Welch
	block     [][]float64
	block32   [][]float32
	sums      [][]float64 // per channel: Welch.fold's sum over the half's segments
	low, high []float64   // ends of a pair's transform
	single    []float64
	power     []float64
	narrow    []float32
	mean      [2][][]float64   // half, channel: mean spectrum
	segs      [2][][][]float32 // half, segment, channel: spectrum up to the last bin of interest
}

// NewAnalyser returns an Analyser.
func NewAnalyser() *Analyser { return &Analyser{} }

// withDefaults fills in defaults and checks values. It panics on shapes that
// only a programmer can get wrong.
func (s RotorSettings) withDefaults() (RotorSettings, error) {
	if len(s.Channels) == 0 {
		panic("dsp: rotor run without channels")
	}
	if s.Scale != nil && len(s.Scale) != len(s.Channels) {
		panic(fmt.Sprintf("dsp: %d scale factors for %d channels", len(s.Scale), len(s.Channels)))
	}
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	deff := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&s.Segments, 8)
	def(&s.Harmonics, 5)
	def(&s.MinBins, 2)
	deff(&s.Tolerance, 0.03)
	deff(&s.EmergenceDB, 6)
	deff(&s.Alpha, 0.05)
	if s.Amplitude == "" {
		s.Amplitude = "band"
	}
	if s.Speed == "" {
		s.Speed = "refine"
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	switch {
	case !(s.RateHz > 0) || math.IsInf(s.RateHz, 0):
		return s, &Error{Want: "a sampling rate above 0 Hz", Found: number(s.RateHz), Hint: "state the rate if the file does not"}
	case s.Segments < 1:
		return s, &Error{Want: "at least 1 segment per half", Found: strconv.Itoa(s.Segments)}
	case s.Harmonics < 1:
		return s, &Error{Want: "at least 1 harmonic", Found: strconv.Itoa(s.Harmonics)}
	case s.Blades < 1:
		return s, &Error{Want: "at least 1 blade", Found: strconv.Itoa(s.Blades), Hint: "the number of blades is a condition of the run"}
	case !(s.Tolerance > 0 && s.Tolerance < 0.5):
		return s, &Error{Want: "a tolerance between 0 and 0.5", Found: number(s.Tolerance)}
	case s.MinBins < 1:
		return s, &Error{Want: "a search of at least 1 bin", Found: strconv.Itoa(s.MinBins)}
	case !(s.Alpha > 0 && s.Alpha < 1):
		return s, &Error{Want: "a test level between 0 and 1", Found: number(s.Alpha)}
	case !finite(s.EmergenceDB):
		return s, &Error{Want: "an emergence in dB", Found: number(s.EmergenceDB)}
	case s.Amplitude != "band" && s.Amplitude != "peak":
		return s, &Error{Want: `amplitude "band" or "peak"`, Found: strconv.Quote(s.Amplitude)}
	case s.Speed != "refine" && s.Speed != "nominal":
		return s, &Error{Want: `speed "refine" or "nominal"`, Found: strconv.Quote(s.Speed)}
	case !finite(s.ShaftHz) || s.ShaftHz < 0:
		return s, &Error{Want: "a shaft speed above 0 rev/s", Found: number(s.ShaftHz)}
	case s.ShaftHz == 0 && s.TrackLoHz == 0 && s.TrackHiHz == 0:
		return s, &Error{Want: "a shaft speed", Found: "neither the condition rpm nor a range to track it in", Hint: "give rpm with the conditions, or track: {range_hz: [a, b]}"}
	case s.ShaftHz == 0 && !(s.TrackLoHz > 0 && s.TrackHiHz > s.TrackLoHz && finite(s.TrackHiHz)):
		return s, &Error{Want: "a range of shaft speeds 0 < a < b to track in", Found: number(s.TrackLoHz) + " … " + number(s.TrackHiHz) + " rev/s"}
	}
	return s, nil
}

// lowest returns the lowest shaft speed in question.
func (s *RotorSettings) lowest() float64 {
	if s.ShaftHz > 0 {
		return s.ShaftHz
	}
	return s.TrackLoHz
}

// checkNyquist tells which harmonic of shaft cannot be recorded at the rate.
func (s *RotorSettings) checkNyquist(shaft float64) error {
	bpf := float64(s.Blades) * shaft
	nyquist := s.RateHz / 2
	if float64(s.Harmonics)*bpf < nyquist {
		return nil
	}
	m := 1
	for float64(m)*bpf < nyquist {
		m++
	}
	hint := fmt.Sprintf("record at more than %.0f Hz", 2*float64(s.Harmonics)*bpf)
	if m > 1 {
		hint = fmt.Sprintf("set harmonics to %d or less, or %s", m-1, hint)
	} else {
		hint = "check blades and speed, or " + hint
	}
	return &Error{
		Place: fmt.Sprintf("harmonic %d of the blade passing frequency", m),
		Want:  fmt.Sprintf("less than the Nyquist frequency %.6g Hz", nyquist),
		Found: fmt.Sprintf("%.6g Hz (%d blades at %.6g rev/s)", float64(m)*bpf, s.Blades, shaft),
		Hint:  hint,
	}
}

// Run analyses one run: both halves of the interval, each in Segments
// contiguous segments of ⌊L/Segments⌋ samples (tail dropped), Welch's mean
// spectrum per channel, the shaft speed per half from all channels, the
// harmonics' lines, and the flags about whether the halves agree (METHOD §1).
// Samples are read once, in order, an even number of segments at a time; of a
// source ByChannel, a half of one channel after the other.
//
// Errors that are the data's fault are *Error; errors of the source and of ctx
// are wrapped.
func (a *Analyser) Run(ctx context.Context, src Source, settings RotorSettings) (*RotorRun, error) {
	if err := a.Load(ctx, src, settings); err != nil {
		return nil, err
	}
	return a.Evaluate()
}

// Load is the first part of Run: it reads the samples and keeps their spectra.
func (a *Analyser) Load(ctx context.Context, src Source, settings RotorSettings) error {
	a.loaded = false
	s, err := settings.withDefaults()
	if err != nil {
		return err
	}
	lowest := s.lowest()
	// Neighbouring harmonics must be told apart: the Hann window's main lobe
	// is 4 bins wide.
	need := int64(2*s.Segments) * int64(math.Ceil(4*s.RateHz/(float64(s.Blades)*lowest)))
	need = max(need, int64(2*s.Segments)*floorMinBins)
	if s.Samples < need {
		return &Error{
			Want:  fmt.Sprintf("at least %d samples (2 halves of %d segments, each 4 periods of the blade passing frequency %.6g Hz)", need, s.Segments, float64(s.Blades)*lowest),
			Found: strconv.FormatInt(s.Samples, 10),
			Hint:  "record longer or ask for fewer segments",
		}
	}
	if err := s.checkNyquist(lowest); err != nil {
		return err
	}
	segLen := int(s.Samples / 2 / int64(s.Segments))
	if err := a.read(ctx, src, &s, segLen); err != nil {
		return err
	}
	a.settings, a.loaded = s, true
	return nil
}

// Evaluate is the second part of Run: what the spectra that Load kept say. It
// panics if Load has not succeeded before.
func (a *Analyser) Evaluate() (*RotorRun, error) {
	if !a.loaded {
		panic("dsp: Evaluate without Load")
	}
	s, segLen := a.settings, a.welch.SegLen()
	run := &RotorRun{SegLen: segLen, BinHz: s.RateHz / float64(segLen), Channels: make([]RotorChannel, len(s.Channels))}
	lf := &lineFinder{
		binHz: run.BinHz, tolerance: s.Tolerance, minBins: s.MinBins, segments: s.Segments,
		emergence: math.Pow(10, s.EmergenceDB/10), tone: a.welch.ToneFactor(),
		peakOnly: s.Amplitude == "peak", guard: floorGuardBins,
	}
	measured, err := a.speeds(run, &s, lf)
	if err != nil {
		return nil, err
	}
	floors, err := a.lines(run, &s, lf)
	if err != nil {
		return nil, err
	}
	if lf.guard < floorGuardBins {
		text := fmt.Sprintf("shaft orders are %.1f bins apart: the floor leaves out ±%d bins around each instead of ±%d", run.ShaftHz[0]/run.BinHz, lf.guard, floorGuardBins)
		if lf.guard < 0 {
			text = fmt.Sprintf("shaft orders are %.1f bins apart: the floor includes them", run.ShaftHz[0]/run.BinHz)
		}
		run.Flags = append(run.Flags, Flag{Code: "floor-guard", Channel: -1, Statistic: float64(lf.guard), Text: text + "; a longer recording resolves them"})
	}
	run.Flags = append(run.Flags, a.consistency(run, &s, measured, floors)...)
	return run, nil
}

// lastBin is the highest bin the harmonics, their searches and floors touch.
func (s *RotorSettings) lastBin(binHz float64, bins int) int {
	hi := s.ShaftHz
	if hi == 0 {
		hi = s.TrackHiHz
	}
	teeth := float64(s.Harmonics) + 0.5
	if s.ShaftHz == 0 {
		teeth = float64(max(s.Harmonics, s.Blades, 3)) + 1.5 // what fundamental looks at
	}
	top := teeth * float64(s.Blades) * hi * (1 + s.Tolerance) * (1 + s.Tolerance)
	if k := top/binHz + 2*floorMinBins; k < float64(bins-1) {
		return int(k)
	}
	return bins - 1
}

// read fills a.mean and a.segs.
func (a *Analyser) read(ctx context.Context, src Source, s *RotorSettings, segLen int) error {
	if a.welch == nil || a.welch.SegLen() != segLen {
		a.welch = NewWelch(segLen)
	}
	together := len(s.Channels) // channels read at a time
	if by, ok := src.(ByChannel); ok && by.ByChannel() {
		together = 1
	}
	if narrow, ok := src.(Source32); ok && narrow.Exact32() && a.welch.lanes != nil {
		return readHalves(ctx, a, &a.block32, narrow.Read32, together, s)
	}
	return readHalves(ctx, a, &a.block, src.Read, together, s)
}

// readHalves reads both halves through read and fills a.mean and a.segs.
func readHalves[T float](ctx context.Context, a *Analyser, block *[][]T, read func(channels []int, start int64, dst [][]T) (int, error), together int, s *RotorSettings) error {
	n, bins, channels := a.welch.SegLen(), a.welch.Bins(), len(s.Channels)
	keep := s.lastBin(s.RateHz/float64(n), bins) + 1
	half := s.Samples / 2
	// Of channels that come together as many segments are read at a time as a
	// block may hold: a channel's sums then stay cached from pair to pair.
	var sample T
	per := 2
	if size := together * n * int(unsafe.Sizeof(sample)); together > 1 {
		per = max(2, min(blockBytes/size, s.Segments)&^1)
	}
	a.sums = resize(a.sums, channels, n)
	for h := range a.mean {
		a.mean[h] = resize(a.mean[h], channels, bins)
		a.segs[h] = resizeOuter(a.segs[h], s.Segments)
		for g := range s.Segments {
			a.segs[h][g] = resize(a.segs[h][g], channels, keep)
		}
		if a.welch.lanes == nil {
			for _, m := range a.mean[h] {
				clear(m)
			}
		}
		for c := 0; c < channels; c += together {
			for g := 0; g < s.Segments; g += per {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("analyse run: %w", err)
				}
				count := min(per, s.Segments-g)
				start := s.Start + int64(h)*half + int64(g*n)
				*block = resize(*block, together, count*n)
				got, err := read(s.Channels[c:c+together], start, *block)
				if got < count*n {
					if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
						return &Error{
							Place: fmt.Sprintf("sample %d", start+int64(got)),
							Want:  fmt.Sprintf("%d samples from %d on", s.Samples, s.Start), Found: "the end of the data",
						}
					}
					return fmt.Errorf("read samples %d … %d: %w", start, start+int64(count*n), err)
				} else if err != nil && !errors.Is(err, io.EOF) {
					return fmt.Errorf("read samples %d … %d: %w", start, start+int64(count*n), err)
				}
				for i, x := range *block {
					if err := addSegments(a, x, h, g, c+i, s, start); err != nil {
						return err
					}
				}
			}
		}
		for c, m := range a.mean[h] {
			if a.welch.lanes != nil {
				a.welch.fold(m, a.sums[c], s.power(c))
			}
			total := a.welch.kernels.Sum(m) // of powers: finite if all are, unless it is too large itself
			if !finite(total) && slices.ContainsFunc(m, func(p float64) bool { return !finite(p) }) {
				return tooLarge(s.Channels[c], s.Start+int64(h)*half)
			}
			if total == 0 {
				return &Error{
					Place: fmt.Sprintf("channel %d, %s half", s.Channels[c]+1, halfName(h)),
					Want:  "sound", Found: "silence (all samples equal)",
					Hint: "leave the channel out if it was not connected",
				}
			}
		}
	}
	return nil
}

// blockBytes bounds a block of several channels, unless two segments of them are
// more.
const blockBytes = 8 << 20

// power is what the power spectrum of a segment of channel c is multiplied by,
// to be in the physical unit and part of a mean. Segment spectra keep it: only
// their ratios matter.
func (s *RotorSettings) power(c int) float64 {
	p := 1 / float64(s.Segments)
	if s.Scale != nil {
		p *= s.Scale[c] * s.Scale[c]
	}
	return p
}

// addSegments transforms the segments of channel c that x holds, from segment g
// of half h on: two at a time, or singly where the length is none for lanes.
func addSegments[T float](a *Analyser, x []T, h, g, c int, s *RotorSettings, start int64) error {
	w, n := a.welch, a.welch.SegLen()
	for ; len(x) > 0; g, start = g+2, start+int64(2*n) {
		first, second := x[:n], x[n:min(2*n, len(x))]
		x = x[n+len(second):]
		mean1, live1 := segmentMean(w, first)
		mean2, live2 := segmentMean(w, second)
		if !finite(mean1) {
			return badSample(first, s.Channels[c], start)
		}
		if !finite(mean2) {
			return badSample(second, s.Channels[c], start+int64(n))
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
			second = zeros[T](w)
		}
		rows := (len(seg1) + w.lanes.n1 - 1) / w.lanes.n1
		a.low = slices.Grow(a.low[:0], 2*rows*w.lanes.n1)[:2*rows*w.lanes.n1]
		a.high = slices.Grow(a.high[:0], len(a.low))[:len(a.low)]
		powers(w.lanes, a.sums[c], a.low, a.high, first, second, mean1, mean2, w.hann, g == 0)
		scale := s.power(c) / (w.sum * w.sum)
		untanglePair(seg1, seg2, a.low, a.high, 2*scale, n)
		// A transform of nothing but zeros leaves a trace of its partner's
		// rounding; a segment without sound has none.
		if !live1 {
			clear(seg1)
		}
		if !live2 {
			clear(seg2)
		}
	}
	return nil
}

// segmentMean returns the mean of a segment and whether its samples differ. Of
// equal samples it is exact.
func segmentMean[T float](w *Welch, x []T) (mean float64, live bool) {
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
	switch x := any(x).(type) {
	case []float64:
		mean = w.kernels.Sum(x)
	case []float32:
		mean = w.kernels.Sum32(x)
	}
	return mean / float64(len(x)), true
}

// zeros is the partner of a segment that has none.
func zeros[T float](w *Welch) []T {
	var z []T
	switch p := any(&z).(type) {
	case *[]float64:
		*p = w.zeros
	case *[]float32:
		*p = w.zeros32
	}
	return z
}

// untanglePair fills x and y, unless empty, with the power spectra of the two
// real sequences behind Z, from k = 0 on: X_k = (Z_k + Z̄_(n−k))/2 and
// Y_k = (Z_k − Z̄_(n−k))/2i. low holds Z_0 …, high … Z_(n−1), as pairs. Powers
// are multiplied by scale, half of it at 0 Hz and the Nyquist frequency.
func untanglePair(x, y []float32, low, high []float64, scale float64, n int) {
	scale *= 0.25
	at := len(high) - 2
	for k := 1; k < len(x); k, at = k+1, at-2 {
		zr, zi, yr, yi := low[2*k], low[2*k+1], high[at], high[at+1]
		s := scale
		if 2*k == n {
			s *= 0.5
		}
		a, b := zr+yr, zi-yi
		x[k] = float32((float64(a*a) + float64(b*b)) * s)
		if k < len(y) {
			c, d := zr-yr, zi+yi
			y[k] = float32((float64(c*c) + float64(d*d)) * s)
		}
	}
	x[0] = float32(float64(low[0]*low[0]) * 2 * scale)
	if len(y) > 0 {
		y[0] = float32(float64(low[1]*low[1]) * 2 * scale)
	}
}

// segment transforms a single segment.
func segment[T float](a *Analyser, x []T, h, g, c int, s *RotorSettings) {
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

// badSample names the first sample that is no finite number, or says that the
// values are too large to square.
func badSample[T float](x []T, channel int, start int64) error {
	for i, v := range x {
		if v-v != 0 {
			return &Error{Place: fmt.Sprintf("channel %d, sample %d", channel+1, start+int64(i)), Want: "a finite number", Found: fmt.Sprint(v)}
		}
	}
	return tooLarge(channel, start)
}

func tooLarge(channel int, start int64) error {
	return &Error{Place: fmt.Sprintf("channel %d, samples from %d on", channel+1, start), Want: "samples whose squares are finite", Found: "values too large"}
}

// resizeOuter returns x with n elements, keeping what they hold.
func resizeOuter[T any](x []T, n int) []T {
	if n <= cap(x) {
		return x[:n]
	}
	return append(x[:cap(x)], make([]T, n-cap(x))...)
}

// resize returns x as n slices of length each, reusing what it can.
func resize[T any](x [][]T, n, length int) [][]T {
	x = resizeOuter(x, n)
	for i := range x {
		x[i] = slices.Grow(x[i][:0], length)[:length]
	}
	return x
}

// speeds fills run.ShaftHz and returns the speeds measured from the sound,
// both zero where none could be (for the speed-shift flag, also when the
// nominal speed is used).
func (a *Analyser) speeds(run *RotorRun, s *RotorSettings, lf *lineFinder) (measured [2]float64, err error) {
	bins := a.welch.Bins()
	var found [2]bool
	for h := range run.ShaftHz {
		sf := speedFinder{lines: lf, power: a.mean[h], blades: s.Blades, harm: s.Harmonics, last: s.lastBin(run.BinHz, bins)}
		if s.HalfShaftHz[h] > 0 {
			measured[h], found[h], run.ShaftHz[h] = s.HalfShaftHz[h], true, s.HalfShaftHz[h]
		} else if s.ShaftHz > 0 {
			measured[h], found[h] = sf.refine(s.ShaftHz)
			run.ShaftHz[h] = s.ShaftHz
			if s.Speed == "refine" {
				run.ShaftHz[h] = measured[h]
				if !found[h] {
					run.Flags = append(run.Flags, Flag{
						Code: "speed-not-refined", Channel: -1,
						Text: fmt.Sprintf("%s half: no harmonic stands %g dB above the floor within ±%g %% of %.6g rev/s; the nominal speed is used", halfName(h), s.EmergenceDB, 100*s.Tolerance, s.ShaftHz),
					})
				}
			}
		} else {
			shaft, count := sf.track(s.TrackLoHz, s.TrackHiHz)
			if count < min(2, s.Harmonics) {
				return measured, &Error{
					Place: halfName(h) + " half",
					Want:  fmt.Sprintf("lines at multiples of %d × %.6g … %.6g Hz", s.Blades, s.TrackLoHz, s.TrackHiHz),
					Found: fmt.Sprintf("%d that stand %g dB above the floor at the best candidate, %.6g rev/s", count, s.EmergenceDB, shaft),
					Hint:  "check the range and the number of blades, or give rpm with the conditions",
				}
			}
			measured[h], found[h], run.ShaftHz[h] = shaft, true, shaft
			if edge := 0.005 * shaft; shaft < s.TrackLoHz+edge || shaft > s.TrackHiHz-edge {
				run.Flags = append(run.Flags, Flag{
					Code: "track-edge", Channel: -1, Statistic: shaft,
					Text: fmt.Sprintf("%s half: tracked %.6g rev/s, the edge of the range %.6g … %.6g; the true speed may lie outside", halfName(h), shaft, s.TrackLoHz, s.TrackHiHz),
				})
			}
		}
		if err := s.checkNyquist(run.ShaftHz[h]); err != nil {
			return measured, err
		}
	}
	if !found[0] || !found[1] {
		return [2]float64{}, nil
	}
	if s.ShaftHz == 0 && s.HalfShaftHz == [2]float64{} {
		// Speeds drift by percents; a larger step is one half taken for a multiple of the other.
		if lo, hi := min(measured[0], measured[1]), max(measured[0], measured[1]); hi > maxSpeedStep*lo {
			return measured, &Error{
				Want:  "one shaft speed in both halves",
				Found: fmt.Sprintf("%.6g rev/s in the first and %.6g in the second", measured[0], measured[1]),
				Hint: fmt.Sprintf("one is likely a multiple of the true speed: narrow the range it is looked for in to less than a factor of two, such as %.0f to %.0f rev/s where %.6g is right",
					0.74*hi, 1.4*hi, hi),
			}
		}
	}
	return measured, nil
}

// maxSpeedStep is how far apart, as a ratio, tracked speeds of the halves of one
// run may lie.
const maxSpeedStep = 1.25

func halfName(h int) string { return [2]string{"first", "second"}[h] }

// lines measures every channel's lines and returns, per half, the floor bins
// of all harmonics, each bin once.
func (a *Analyser) lines(run *RotorRun, s *RotorSettings, lf *lineFinder) (floors [2][]int, err error) {
	last := a.welch.Bins() - 1
	orders := s.Blades * s.Harmonics
	floorBins := make([][]int, orders+1) // per shaft order
	for h, shaft := range run.ShaftHz {
		bpf := float64(s.Blades) * shaft
		for j := 1; j <= orders; j++ {
			guard := 0
			floorBins[j], guard = lf.floorBins(floorBins[j], float64(j)*shaft, shaft, bpf, last)
			if j%s.Blades == 0 {
				lf.guard = min(lf.guard, guard)
				floors[h] = append(floors[h], floorBins[j]...)
			}
		}
		slices.Sort(floors[h])
		floors[h] = slices.Compact(floors[h])
		for c := range run.Channels {
			p := a.mean[h][c]
			half := &run.Channels[c].Halves[h]
			half.ShaftHz = shaft
			for j := 1; j <= orders; j++ {
				order, hz := j, float64(j)*shaft
				harmonic := j%s.Blades == 0
				if harmonic {
					order = j / s.Blades
					hz = float64(order) * bpf
				}
				l := lf.measure(p, order, hz, shaft, lf.floor(p, floorBins[j]))
				if harmonic {
					if !(l.Power > 0) {
						return floors, &Error{
							Place: fmt.Sprintf("channel %d, %s half", s.Channels[c]+1, halfName(h)),
							Want:  fmt.Sprintf("sound at harmonic %d (%.6g Hz)", order, l.Hz), Found: "silence (power is zero)",
							Hint: "leave the channel out if it was not connected",
						}
					}
					half.Lines = append(half.Lines, l)
				} else {
					half.ShaftOrders = append(half.ShaftOrders, l)
				}
			}
			if s.KeepSpectra {
				a.narrow = slices.Grow(a.narrow[:0], len(p))[:len(p)]
				for k, v := range p {
					a.narrow[k] = float32(v)
				}
				half.Spectrum = slices.Clone(a.narrow) // not zeroed first
			}
		}
	}
	for c := range run.Channels {
		ch := &run.Channels[c]
		for m := range s.Harmonics {
			hz := [2]float64{ch.Halves[0].Lines[m].Hz, ch.Halves[1].Lines[m].Hz}
			r := lf.emergent([2][]float64{a.mean[0][c], a.mean[1][c]}, hz, run.ShaftHz, float64(s.Blades)*run.ShaftHz[0])
			ch.EmergenceRho = append(ch.EmergenceRho, r)
			ch.Emergent = append(ch.Emergent, r >= lf.emergence)
		}
	}
	return floors, nil
}
