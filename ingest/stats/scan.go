// Package stats computes statistics of recordings before any analysis:
// range, mean, level, clipped and constant stretches, and warnings about stuck
// channels and uneven clocks. [Scan] reads a run for it; [Pass] takes it from
// samples that someone else reads.
package stats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/kernel"
	"doubletake/internal/lists"
)

// Summary are the statistics of one channel over a run, in the unit delivered.
type Summary struct {
	Samples int64   `json:"samples"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Mean    float64 `json:"mean"`
	RMS     float64 `json:"rms"` // about zero
	Std     float64 `json:"std"` // about the mean, population
	// samples in runs of ≥ 3 equal to the channel's extreme value; of floating-point samples
	// only where they are clipped
	Clipped  int64 `json:"clipped"`
	Constant int64 `json:"constant"`  // longest stretch of equal samples
	NaN      int64 `json:"nan"`       // NaN or infinite samples
	FirstNaN int64 `json:"first_nan"` // index of the first of them, −1 if none
}

// clippedFloats is how many floating-point samples at an extreme are clipped at least: fewer
// happen to be equal.
const clippedFloats = 10

// scanBlock is how many samples per channel are read at a time. Means are
// formed per block, so that it is part of the result's last bits: fixed.
const scanBlock = 8192

// Scan reads a run once, all channels of it, and returns one Summary for every
// channel of every recording, in that order (for a run without recordings:
// for every channel of the file), in the unit the Reader delivers. Row1 < 0, or
// Row0 and Row1 both 0, mean the whole file.
//
// Mean and deviation are those of blocks of 8192 samples less the first sample,
// each in two passes, joined pairwise after Chan, Golub and LeVeque (1979): no
// cancellation whatever the offset. A NaN or infinite sample in a channel of a recording is
// a *fault.Error that names channel and sample (index in the file).
//
// Warnings: "stuck-column" for a channel, used or not, that is constant over a
// run of at least 10 samples; "clipping" for samples of a used channel
// that stay at its extreme for three and more, if that extreme is the format's
// limit or the plateau has steep flanks (the rounded peak of a slow quantised
// wave has none), of floating-point samples ten of them at least;
// "missing-code" and "spikes" for samples far from all others (outliers.go);
// "jittered-clock" when the steps of a text file's time column
// vary by more than 5 % of their mean, "clock-backwards" when one is not
// positive. The clock is judged here and not in Open, which reads only its ends.
//
// The step of samples that are not ingest.Quantized is the smallest between neighbours near a plateau.
func Scan(ctx context.Context, r ingest.Reader, run ingest.Run) ([]Summary, []ingest.Warning, error) {
	return scanRun(ctx, r, run, false)
}

// scanRun is Scan; tolerant counts samples that are not finite instead of ending there.
func scanRun(ctx context.Context, r ingest.Reader, run ingest.Run, tolerant bool,
) (stats []Summary, warns []ingest.Warning, err error) {
	defer fault.Catch(&err)

	s := newScan(r, run, tolerant)
	if len(s.used) == 0 {
		return nil, nil, nil
	}

	s.tolerate(true)
	defer s.tolerate(false)

	if s.narrow != nil {
		scanBlocks(ctx, s, s.narrow.Read32, s.add32)
	} else {
		scanBlocks(ctx, s, s.r.Read, s.add)
	}

	stats, warns = s.verdict()

	return stats, warns, nil
}

// floats is what samples are read as.
type floats interface{ float32 | float64 }

// scan is the state of a pass over a run.
type scan struct {
	r        ingest.Reader
	info     ingest.Info
	run      ingest.Run
	part     bool // there are channels of another length, which are not read
	row1     int64
	all      []int // the channels as long as those in use: they are read together
	used     []bool
	order    []int // the channels of the recordings, one after the other
	acc      []accumulator
	per      int            // samples per channel that are added at a time
	narrow   ingest.Float32 // r, if its samples are read as float32
	clock    int            // channel of time; -1: none
	steps    stepRange
	step     float64 // of the quantisation, and its limits
	low      float64
	high     float64
	tolerant bool
}

func newScan(r ingest.Reader, run ingest.Run, tolerant bool) *scan {
	s := &scan{r: r, run: run, tolerant: tolerant, clock: -1}
	info := s.r.Info()
	s.info, s.used = info, make([]bool, len(info.Channels))
	for _, rec := range s.run.Recordings {
		for _, c := range rec.Channels {
			if c < 0 || c >= len(s.used) {
				fault.Raise(s.fail("", fmt.Sprintf("channel %d", c+1), fault.Plural(int64(len(s.used)), "channel")))
			}

			s.used[c] = true
			s.order = append(s.order, c)
		}
	}

	if len(s.used) == 0 {
		return s
	}

	s.findChannels()

	samples := info.Channels[s.all[0]].Samples
	row0, row1 := s.run.Interval(samples)
	place := fmt.Sprintf("samples %d to %d", row0, row1)
	fault.Unless(row1 <= samples, s.fail(place, fmt.Sprintf("%d samples", row1), fault.Plural(samples, "sample")))
	fault.Unless(row0 >= 0 && row0 < row1, s.fail(place, "at least one sample", "none"))

	s.row1 = row1

	// With thousands of channels shorter blocks keep the memory bounded.
	s.per = max(1, min(scanBlock, 1<<22/len(s.all)))
	if q, ok := s.r.(ingest.Quantized); ok {
		s.step, s.low, s.high = q.Quantum()
	}

	s.acc = make([]accumulator, len(s.used))
	for _, c := range s.all {
		ch := info.Channels[c]
		s.acc[c].begin(s.step)

		if s.clock < 0 && ch.IsTime() {
			s.clock = c
		}
	}

	if f, ok := s.r.(ingest.Float32); ok && f.Exact32() && s.clock < 0 && !s.part {
		s.narrow = f
	}

	return s
}

func (s *scan) fail(place, want, found string) error {
	return fault.At(s.info.Path, place, want, found, "")
}

// findChannels finds the channels to read, and those in use where no recordings name them.
func (s *scan) findChannels() {
	first := 0
	if len(s.order) > 0 {
		first = s.order[0]
	}

	for c, ch := range s.info.Channels {
		switch {
		case ch.Samples == s.info.Channels[first].Samples:
			s.all = append(s.all, c)

		case s.used[c]:
			fault.Raise(s.fail("channel "+ch.Name, "channels of one length in a run", fault.Plural(ch.Samples, "sample")))
		}
	}

	s.part = len(s.all) < len(s.info.Channels)

	if len(s.run.Recordings) == 0 {
		s.order = s.all
		for _, c := range s.all {
			s.used[c] = true
		}
	}
}

// tolerate lets bad cells of channels that are not used pass as NaN, or no longer.
func (s *scan) tolerate(on bool) {
	r, ok := s.r.(ingest.Tolerant)
	if !ok {
		return
	}

	var channels []bool
	for c := 0; on && c < len(s.used); c++ {
		channels = append(channels, s.tolerant || !s.used[c])
	}

	r.Tolerate(channels)
}

// add adds a block of a channel; add32 where the samples are taken as float32.
func (s *scan) add(c int, x []float64) {
	addTo(&s.acc[c], x)
	if c == s.clock {
		s.steps.add(x)
	}
}

func (s *scan) add32(c int, x []float32) { s.acc[c].addFast(x) }

// verdict returns what Scan does.
func (s *scan) verdict() ([]Summary, []ingest.Warning) {
	stats := make([]Summary, 0, len(s.order))
	for _, c := range s.order {
		st, _ := s.acc[c].stats()
		stats = append(stats, st)
	}

	var warns []ingest.Warning
	warn := func(code, format string, args ...any) {
		warns = append(warns, ingest.Warn(s.info.Path, code, format, args...))
	}

	noun, row := "channel", "sample"
	if s.info.Format == "text" {
		noun, row = "column", "row"
	}

	for _, c := range s.all {
		ch := s.info.Channels[c]

		st, flank := s.acc[c].stats()
		switch {
		case st.Samples >= 10 && st.Min == st.Max && st.NaN == 0:
			end := ": not used as a condition"
			if s.used[c] {
				end = ": it measured nothing"
			}

			warn("stuck-column", "%s %s is stuck at %s in all %s%s", noun, ch.Name, strconv.FormatFloat(st.Min, 'g', -1, 64),
				fault.Plural(st.Samples, row), end)

		case s.used[c] && st.Clipped > 0 && (s.step == 0 || st.Max >= s.high || st.Min <= s.low || flank > 4*s.step):
			warn("clipping", "%s %s is clipped: %d of %s lie at its extremes (%s, %s), three and more in a row: measure again "+
				"with less gain, or leave the run out", noun, ch.Name, st.Clipped, fault.Plural(st.Samples, row),
				strconv.FormatFloat(st.Min, 'g', 6, 64), strconv.FormatFloat(st.Max, 'g', 6, 64))
		}

		if s.used[c] && ch.Role() == "" && suspect(st) {
			warns = append(warns, s.outliers(c, st)...)
		}

		if s.used[c] && max(st.Max, -st.Min) > 1<<53 {
			warn("large-integers", "%s %s goes up to %g: whole numbers above 2^53 (9.0e15) are rounded", noun, ch.Name,
				max(st.Max, -st.Min))
		}

		if g, ok := s.r.(ingest.Gapped); ok && s.used[c] && g.Filled(c) > 0 {
			warn("missing-samples", "%s %s: %d of %s are not there and are interpolated (ingest: missing)", noun, ch.Name,
				g.Filled(c), fault.Plural(st.Samples, row))
		}
	}

	if steps := &s.steps; s.clock >= 0 && steps.n > 1 {
		mean := (steps.last - steps.first) / float64(steps.n-1)

		name := s.info.Channels[s.clock].Name
		switch {
		case steps.min <= 0:
			warn("clock-backwards", "column %s stops or goes back by %g %s: samples may be missing or out of order", name,
				0-steps.min, s.info.Channels[s.clock].Unit)
		case steps.max-mean > 0.05*mean || mean-steps.min > 0.05*mean:
			warn("jittered-clock", "steps of column %s vary from %.4g to %.4g %s about a mean of %.4g: spectra assume even "+
				"steps", name, steps.min, steps.max, s.info.Channels[s.clock].Unit, mean)
		}
	}

	return stats, warns
}

// scanBlocks reads the run block by block and passes each channel's samples to
// add. It returns a *fault.Error at the first channel in use with a sample that
// is no finite number.
func scanBlocks[T floats](ctx context.Context, s *scan, read func(channels []int, start int64, dst [][]T) (int, error),
	add func(c int, x []T),
) {
	dst := lists.Make(len(s.all), func(int) []T { return make([]T, min(int64(s.per), s.row1-s.run.Row0)) })

	for at := s.run.Row0; at < s.row1; {
		fault.Raise(ctx.Err())

		m := int(min(int64(s.per), s.row1-at))
		for i := range dst {
			dst[i] = dst[i][:m]
		}

		n, err := read(s.all, at, dst)
		if err != nil && !errors.Is(err, io.EOF) {
			fault.Raise(fmt.Errorf("scan run %s: %w", s.run.ID, err))
		}

		if n < m {
			fault.Raise(s.fail(fmt.Sprintf("sample %d", at+int64(n)), fault.Plural(s.row1, "sample"), "the end of the data"))
		}

		for k, c := range s.all {
			x := dst[k]
			add(c, x)

			if s.used[c] && s.acc[c].nan > 0 && !s.tolerant {
				i := s.acc[c].firstNaN
				place := fmt.Sprintf("channel %s, sample %d", s.info.Channels[c].Name, s.run.Row0+i)

				fault.Raise(fault.At(s.info.Path, place, "a finite number",
					strconv.FormatFloat(float64(x[i-(at-s.run.Row0)]), 'g', -1, 64),
					"leave the interval out with row0 and row1 in the conditions table, or the channel with channels"))
			}
		}

		at += int64(n)
	}
}

// stepRange follows the steps of a clock.
type stepRange struct {
	n           int64
	first, last float64
	min, max    float64
}

func (s *stepRange) add(t []float64) {
	for _, v := range t {
		if s.n == 0 {
			s.first = v
			s.min, s.max = math.Inf(1), math.Inf(-1)
		} else {
			s.min, s.max = min(s.min, v-s.last), max(s.max, v-s.last)
		}

		s.last = v
		s.n++
	}
}

// accumulator gathers the statistics of one channel.
type accumulator struct {
	n        int64
	shift    float64 // the first finite sample
	mean, m2 float64 // of the finite samples so far less shift, and their squared deviations
	finite   int64
	lo, hi   float64
	nan      int64
	firstNaN int64

	val     float64 // of the stretch of equal samples that is running
	before  float64 // sample before it
	first   bool    // nothing before it
	len     int64
	longest int64

	step           float64 // of the quantisation, 0: of floating-point samples, least instead
	least          float64 // smallest step between two samples that were looked at one by one
	clipLo, clipHi int64   // samples in stretches of ≥ 3 at lo and hi
	flankLo        float64 // greatest step into or out of such a stretch
	flankHi        float64
}

func (a *accumulator) begin(step float64) {
	*a = accumulator{
		lo: math.Inf(1), hi: math.Inf(-1), firstNaN: -1, step: step, least: math.Inf(1), val: math.NaN(), first: true,
	}
}

// addFast is addTo, to the last bit, for samples that are usually finite and rarely three
// times the same, which needs no look at each.
func (a *accumulator) addFast(x []float32) {
	if len(x) == 0 {
		return
	}

	// Sums of steps of a power of two are exact in any order.
	fraction, _ := math.Frexp(a.step)
	exact, v := fraction == 0.5, float64(x[0])
	if a.finite == 0 {
		if !exact || v-v != 0 {
			addTo(a, x)
			return
		}
		a.shift = v
	}

	sum, low, high, pair, triple := kernel.Describe(x, a.shift)
	slow := triple || !a.apart(x)
	if sum-sum != 0 || slow && !exact {
		addTo(a, x)
		return
	}

	a.stretches(x, low, high, pair, triple)

	n := int64(len(x))
	a.n += n
	mean := sum / float64(n)
	if slow {
		a.join(mean, squares(x, a.shift, mean), n)
	} else {
		a.join(mean, kernel.Squares(x, a.shift+mean), n)
	}
}

// apart tells whether no stretch of equal samples goes on in x.
func (a *accumulator) apart(x []float32) bool {
	return a.len == 1 && len(x) > 1 && float64(x[0]) != a.val
}

// stretches follows the stretches of equal samples in x, of which Describe says the
// rest: piece by piece where it has one of three or more.
func (a *accumulator) stretches(x []float32, low, high float32, pair, triple bool) {
	const piece = 256
	n := len(x)
	if triple || !a.apart(x) {
		for at := 0; n > piece && at < n; at += piece {
			p := x[at:min(at+piece, n)]
			_, low, high, pair, triple = kernel.Describe(p, 0)
			a.stretches(p, low, high, pair, triple)
		}

		if n <= piece {
			follow(a, x)
		}

		return
	}

	if lo := float64(low); lo < a.lo {
		a.lo, a.clipLo, a.flankLo = lo, 0, 0
	}

	if hi := float64(high); hi > a.hi {
		a.hi, a.clipHi, a.flankHi = hi, 0, 0
	}

	a.longest = max(a.longest, 1)
	if pair {
		a.longest = max(a.longest, 2)
	}

	// The stretch that is running at the end; one that began before x is over.
	last := float64(x[n-1])
	a.first, a.before, a.val, a.len = false, float64(x[n-2]), last, 1
	if a.before == last {
		a.len = 2
		if n > 2 {
			a.before = float64(x[n-3])
		} else {
			a.first = true // the sample before is unknown: no flank there
		}
	}
}

// addTo adds samples one by one.
func addTo[T floats](a *accumulator, x []T) {
	if a.finite == 0 {
		for _, s := range x {
			if v := float64(s); v-v == 0 {
				a.shift = v
				break
			}
		}
	}

	sum, bad := follow(a, x)
	a.n += int64(len(x))

	k := int64(len(x) - bad)
	if k == 0 {
		return
	}

	mean := sum / float64(k)
	a.join(mean, squares(x, a.shift, mean), k)
}

// squares adds the squared deviations of the finite samples less shift from mean, in order.
func squares[T floats](x []T, shift, mean float64) (m2 float64) {
	for _, v := range x {
		if d := float64(v) - shift - mean; d-d == 0 {
			m2 += float64(d * d)
		}
	}

	return m2
}

// follow looks at samples one by one: extremes, stretches of equal samples and those that
// are not finite, of which it returns the number, and the sum of the others less shift.
func follow[T floats](a *accumulator, x []T) (sum float64, bad int) {
	lo, hi, shift := a.lo, a.hi, a.shift

	for i, s := range x {
		v := float64(s)
		if v-v != 0 { // NaN or infinite
			if a.nan == 0 {
				a.firstNaN = a.n + int64(i)
			}

			a.nan++
			bad++
			a.close(v)
			a.val, a.before, a.len, a.first = math.NaN(), math.NaN(), 0, true
			continue
		}

		sum += v - shift

		if v < lo {
			lo = v
			a.clipLo, a.flankLo = 0, 0
		}

		if v > hi {
			hi = v
			a.clipHi, a.flankHi = 0, 0
		}

		if v == a.val {
			a.len++
			continue
		}

		if a.len > 1 {
			a.lo, a.hi = lo, hi
			a.close(v)
		}

		if d := math.Abs(v - a.val); d < a.least {
			a.least = d
		}

		a.first = a.len == 0
		a.before, a.val, a.len = a.val, v, 1
	}

	a.lo, a.hi = lo, hi

	return sum, bad
}

// join adds k samples of that mean (less shift) and sum of squared deviations.
func (a *accumulator) join(mean, m2 float64, k int64) {
	if a.finite == 0 {
		a.mean, a.m2, a.finite = mean, m2, k
		return
	}

	d := mean - a.mean
	total := a.finite + k
	a.m2 += m2 + float64(d*d)*float64(a.finite)*float64(k)/float64(total)
	a.mean += d * float64(k) / float64(total)
	a.finite = total
}

// close ends a stretch of equal samples; v is the sample after it, NaN at the end.
func (a *accumulator) close(v float64) {
	a.longest = max(a.longest, a.len)
	if a.len < 3 {
		return
	}

	flank := 0.0
	if !a.first {
		flank = math.Abs(a.val - a.before)
	}

	if d := math.Abs(v - a.val); d > flank { // false for NaN
		flank = d
	}

	if a.val == a.hi {
		a.clipHi += a.len
		a.flankHi = max(a.flankHi, flank)
	}

	if a.val == a.lo {
		a.clipLo += a.len
		a.flankLo = max(a.flankLo, flank)
	}
}

// stats ends the counting, on a copy: it may be called more than once. flank is
// the greatest step into or out of a clipped stretch.
func (a *accumulator) stats() (s Summary, flank float64) {
	b := *a
	b.close(math.NaN())

	s = Summary{Samples: b.n, NaN: b.nan, FirstNaN: b.firstNaN, Constant: b.longest}
	if b.finite == 0 {
		nan := math.NaN()
		s.Min, s.Max, s.Mean, s.RMS, s.Std = nan, nan, nan, nan, nan
		return s, 0
	}

	s.Min, s.Max, s.Mean = b.lo, b.hi, b.shift+b.mean
	variance := b.m2 / float64(b.finite)
	s.Std = math.Sqrt(variance)
	s.RMS = math.Sqrt(variance + s.Mean*s.Mean)
	if b.lo < b.hi { // a constant channel is stuck, not clipped
		s.Clipped = b.clipLo + b.clipHi

		if b.clipLo > 0 {
			flank = b.flankLo
		}

		if b.clipHi > 0 {
			flank = max(flank, b.flankHi)
		}

		if b.step == 0 && (s.Clipped < clippedFloats || !(flank > 4*b.least)) {
			s.Clipped = 0 // rounded peaks
		}
	}

	return s, flank
}
