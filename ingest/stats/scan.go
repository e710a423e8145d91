// Package stats computes statistics of recordings before any analysis: range, mean, level, clipped and
// constant stretches. It also warns about stuck channels and uneven clocks. [Scan] reads a run to compute
// them. [Pass] computes them from samples that someone else reads.
package stats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// scanBlock is how many samples per channel are read at a time. It must not change: means are formed block
// by block, so that the last bits of the results depend on it.
const scanBlock = 8192

// Scan reads all channels of a run once. It returns one Summary for every channel of every recording, in
// the order of the recordings. For a run without recordings it returns one for every channel that is as long
// as the first one. Samples are in the unit that the Reader delivers. ingest.Run.Interval selects the samples of the
// run.
//
// Scan subtracts the first sample from all others, computes mean and deviation of each block of scanBlock
// samples in two passes, and joins the blocks after Chan, Golub and LeVeque (1979). So no digits cancel,
// however large the offset is. A NaN or infinite sample in a channel of a recording is a *fault.Error with the
// channel and the index of the sample in the file.
//
// A channel is used if it belongs to a recording. The warnings are:
//   - "stuck-column": a channel, used or not, is constant over a run of at least minStuck samples.
//   - "clipping": a used channel stays at an extreme for minPlateau or more samples, and the extreme is the
//     format's limit, or the plateau has a steep flank (steepSteps). Floating-point samples need
//     clippedFloats such samples and a steep flank. Their step is the smallest one between neighbours that
//     were looked at one by one. Or the tops of the channel are flat (flattop.go).
//   - "missing-code" and "spikes": samples are far from all others (outliers.go).
//   - "large-integers": samples are whole numbers that float64 cannot represent exactly.
//   - "missing-samples": the Reader has interpolated samples.
//   - "jittered-clock": a step of the channel of time differs from the mean step by more than maxJitter.
//   - "clock-backwards": a step of the channel of time is not positive.
func Scan(ctx context.Context, r ingest.Reader, run ingest.Run) ([]Summary, []ingest.Warning, error) {
	return scanRun(ctx, r, run, refuseNonFinite)
}

// minStuck is the fewest samples of a constant channel that give a warning.
const minStuck = 10

// What a scan does with samples that are not finite.
const (
	refuseNonFinite = false
	countNonFinite  = true
)

// scanRun does the work of Scan. If tolerant is true, it counts samples that are not finite, instead of
// returning an error at the first one.
func scanRun(ctx context.Context, r ingest.Reader, run ingest.Run, tolerant bool) ([]Summary, []ingest.Warning, error) {
	s, err := newScan(r, run, tolerant)
	if err != nil {
		return nil, nil, err
	}

	if len(s.used) == 0 {
		return nil, nil, nil
	}

	s.tolerate(true)
	defer s.tolerate(false)

	if s.narrow != nil {
		err = scanBlocks(ctx, s, s.narrow.Read32, s.add32)
	} else {
		err = scanBlocks(ctx, s, s.r.Read, s.add)
	}

	if err != nil {
		return nil, nil, err
	}

	stats, warns := s.verdict()

	return stats, warns, nil
}

// scan is the state of a pass over a run. Channels are numbered as in ingest.Info.Channels.
type scan struct {
	r        ingest.Reader
	info     ingest.Info
	run      ingest.Run
	tolerant bool  // as in scanRun
	row1     int64 // the sample after the last one of the run

	all   []int  // the channels that are read: all that are as long as the used ones
	part  bool   // all does not contain every channel of the file
	used  []bool // [channel]: it belongs to a recording
	order []int  // the channels of the recordings, one recording after the other

	acc       []accumulator  // [channel]
	first     [][]float64    // [channel]: the first samples of used channels, for flatTops
	keep      int            // how many of them
	blockLen  int            // samples per channel that are added at a time
	narrow    ingest.Float32 // r, if its samples are read as float32; otherwise nil
	clock     int            // channel of time; −1: none
	steps     stepRange      // of the clock
	step      float64        // step of the quantisation; 0: samples are floating-point numbers
	low, high float64        // limits of the format, if step is not 0
}

// newScan returns the state before the first sample. It returns a *fault.Error for a channel that does not exist, for
// used channels of different lengths, and for an interval outside the samples. If the file has no channels, the scan is
// returned with an empty used, and cannot be used.
func newScan(r ingest.Reader, run ingest.Run, tolerant bool) (*scan, error) {
	info := r.Info()
	s := &scan{r: r, info: info, run: run, tolerant: tolerant, used: make([]bool, len(info.Channels)), clock: -1}
	for _, recording := range run.Recordings {
		for _, channel := range recording.Channels {
			if channel < 0 || channel >= len(s.used) {
				return nil, s.fail("", fmt.Sprintf("channel %d", channel+1), fault.Plural(int64(len(s.used)), "channel"))
			}

			s.used[channel] = true
			s.order = append(s.order, channel)
		}
	}

	if len(s.used) == 0 {
		return s, nil
	}

	if err := s.findChannels(); err != nil {
		return nil, err
	}

	if err := s.checkInterval(); err != nil {
		return nil, err
	}

	// With thousands of channels shorter blocks keep the memory bounded.
	s.blockLen = max(1, min(scanBlock, 1<<22/len(s.all)))
	if q, ok := r.(ingest.Quantized); ok {
		s.step, s.low, s.high = q.Quantum()
	}

	s.acc = make([]accumulator, len(s.used))
	s.first = make([][]float64, len(s.used))
	s.keep = min(flatFirst, flatHeld/len(s.all))
	for _, channel := range s.all {
		s.acc[channel].begin(s.step)

		if s.clock < 0 && info.Channels[channel].IsTime() {
			s.clock = channel
		}
	}

	// Read32 reads every channel of the file. The clock is needed as float64.
	readAll := !s.part && s.clock < 0
	if f, ok := r.(ingest.Float32); ok && readAll && f.Exact32() {
		s.narrow = f
	}

	return s, nil
}

// fail returns an error about the file.
func (s *scan) fail(place, want, found string) error {
	return fault.At(s.info.Path, place, want, found, "")
}

// checkInterval checks the interval of the run, and sets row1.
func (s *scan) checkInterval() error {
	samples := s.info.Channels[s.all[0]].Samples
	row0, row1 := s.run.Interval(samples)
	place := fmt.Sprintf("samples %d to %d", row0, row1)
	if row1 > samples {
		return s.fail(place, fmt.Sprintf("%d samples", row1), fault.Plural(samples, "sample"))
	}

	if row0 < 0 || row0 >= row1 {
		return s.fail(place, "at least one sample", "none")
	}

	s.row1 = row1

	return nil
}

// findChannels sets all and part. If the run has no recordings, it also sets used and order to all channels
// that are read. Used channels of different lengths are an error.
func (s *scan) findChannels() error {
	first := 0
	if len(s.order) > 0 {
		first = s.order[0]
	}

	for channel, ch := range s.info.Channels {
		switch {
		case ch.Samples == s.info.Channels[first].Samples:
			s.all = append(s.all, channel)

		case s.used[channel]:
			return s.fail("channel "+ch.Name, "channels of one length in a run", fault.Plural(ch.Samples, "sample"))
		}
	}

	s.part = len(s.all) < len(s.info.Channels)

	if len(s.run.Recordings) == 0 {
		s.order = s.all
		for _, channel := range s.all {
			s.used[channel] = true
		}
	}

	return nil
}

// tolerate tells a Reader that is ingest.Tolerant to deliver NaN for bad cells of channels that are not used,
// or of all channels if the scan is tolerant. With allow false it ends that.
func (s *scan) tolerate(allow bool) {
	r, ok := s.r.(ingest.Tolerant)
	if !ok {
		return
	}

	var channels []bool
	if allow {
		for _, used := range s.used {
			channels = append(channels, s.tolerant || !used)
		}
	}

	r.Tolerate(channels)
}

// add adds a block of samples of a channel.
func (s *scan) add(channel int, block []float64) {
	addTo(&s.acc[channel], block)
	keepFirst(s, channel, block)
	if channel == s.clock {
		s.steps.add(block)
	}
}

// add32 adds a block of samples of a channel that are read as float32.
func (s *scan) add32(channel int, block []float32) {
	s.acc[channel].addFast(block)
	keepFirst(s, channel, block)
}

// verdict returns the results of Scan after all samples were added.
func (s *scan) verdict() ([]Summary, []ingest.Warning) {
	stats := make([]Summary, 0, len(s.order))
	for _, channel := range s.order {
		summary, _ := s.acc[channel].stats()
		stats = append(stats, summary)
	}

	var warns []ingest.Warning
	for _, channel := range s.all {
		warns = append(warns, s.channelWarnings(channel)...)
	}

	return stats, append(warns, s.clockWarnings()...)
}

// warn returns a warning about the file.
func (s *scan) warn(code, format string, args ...any) ingest.Warning {
	return ingest.Warn(s.info.Path, code, format, args...)
}

// noun returns the word for a channel of the file.
func (s *scan) noun() string {
	if s.info.Format == "text" {
		return "column"
	}

	return "channel"
}

// rowNoun returns the word for a sample of the file.
func (s *scan) rowNoun() string {
	if s.info.Format == "text" {
		return "row"
	}

	return "sample"
}

// clippingRemedy says what to do about a channel that is clipped. A channel that is a recording by itself can be left
// out alone.
func (s *scan) clippingRemedy(channel int) string {
	for _, recording := range s.run.Recordings {
		if len(recording.Channels) == 1 && recording.Channels[0] == channel {
			return fmt.Sprintf("measure again with less gain, or leave it out: "+
				"ingest: {exclude: [{file: %q, channel: %q, reason: clipped}]}", s.info.Path, s.info.Channels[channel].Name)
		}
	}

	return "measure again with less gain, or leave the run out"
}

// channelWarnings returns the warnings about a channel.
func (s *scan) channelWarnings(channel int) []ingest.Warning {
	noun := s.noun()
	row := s.rowNoun()
	ch := s.info.Channels[channel]
	summary, flank := s.acc[channel].stats()
	constant := summary.Min == summary.Max && summary.NaN == 0
	stuck := summary.Samples >= minStuck && constant
	used := s.used[channel]
	isClipped := used && summary.Clipped > 0 && s.clips(summary, flank)

	var warns []ingest.Warning
	switch {
	case stuck:
		end := ": not used as a condition"
		if used {
			end = ": it measured nothing"
		}

		warns = append(warns, s.warn("stuck-column", "%s %s is stuck at %s in all %s%s", noun, ch.Name,
			strconv.FormatFloat(summary.Min, 'g', -1, 64), fault.Plural(summary.Samples, row), end))

	case isClipped && s.acc[channel].isHeld():
		// A slow source repeats each of its values, also at the extremes. Nothing is clipped.

	case isClipped && s.acc[channel].restsAtZero():
		warns = append(warns, s.warn("clipping", "%s %s is 0, its least value, in %d of %s, three and more in a row: was it "+
			"off, or is it cut off below 0? Leave out what is not of the run", noun, ch.Name, summary.Clipped,
			fault.Plural(summary.Samples, row)))

	case isClipped:
		warns = append(warns, s.warn("clipping", "%s %s is clipped: %d of %s lie at its extremes (%s, %s), three and more "+
			"in a row: %s", noun, ch.Name, summary.Clipped,
			fault.Plural(summary.Samples, row), strconv.FormatFloat(summary.Min, 'g', 6, 64),
			strconv.FormatFloat(summary.Max, 'g', 6, 64), s.clippingRemedy(channel)))

	case used && ch.Role() == "" && mayHaveFlatTops(summary):
		if warning, ok := s.flatTops(channel); ok {
			warns = append(warns, warning)
		}
	}

	if !used {
		return warns
	}

	if ch.Role() == "" && suspect(summary) {
		warns = append(warns, s.outliers(channel, summary)...)
	}

	if largest := max(summary.Max, -summary.Min); largest >= 1<<53 { // also 2^53 itself: 2^53+1 becomes it
		warns = append(warns, s.warn("large-integers", "%s %s goes up to %g: whole numbers above 2^53 (9.0e15) are rounded",
			noun, ch.Name, largest))
	}

	if g, ok := s.r.(ingest.Gapped); ok && g.Filled(channel) > 0 {
		warns = append(warns, s.warn("missing-samples", "%s %s: %d of %s are not there and are interpolated "+
			"(ingest: missing)", noun, ch.Name, g.Filled(channel), fault.Plural(summary.Samples, row)))
	}

	return warns
}

// clips reports whether plateaus at the extremes are clipped. flank is the greatest step into or out of one.
// Floating-point samples are only counted in Summary.Clipped if they are clipped.
func (s *scan) clips(summary Summary, flank float64) bool {
	atLimit := summary.Max >= s.high || summary.Min <= s.low
	return s.step == 0 || atLimit || flank > steepSteps*s.step
}

// scanBlocks reads the run block by block by read, and passes the samples of each channel to add. Unless the
// scan is tolerant, it returns a *fault.Error at the first sample of a used channel that is not finite.
func scanBlocks[T floats](ctx context.Context, s *scan, read func(channels []int, start int64, dst [][]T) (int, error),
	add func(channel int, block []T),
) error {
	blocks := make([][]T, len(s.all))
	for i := range blocks {
		blocks[i] = make([]T, min(int64(s.blockLen), s.row1-s.run.Row0))
	}

	for start := s.run.Row0; start < s.row1; {
		if err := ctx.Err(); err != nil {
			return err
		}

		wanted := int(min(int64(s.blockLen), s.row1-start))
		for i := range blocks {
			blocks[i] = blocks[i][:wanted]
		}

		count, err := read(s.all, start, blocks)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("scan run %s: %w", s.run.ID, err)
		}

		if count < wanted {
			return s.fail(fmt.Sprintf("sample %d", start+int64(count)), fault.Plural(s.row1, "sample"), "the end of the data")
		}

		for i, channel := range s.all {
			add(channel, blocks[i])

			if s.used[channel] && s.acc[channel].nan > 0 && !s.tolerant {
				bad := s.acc[channel].firstNaN
				return s.notFinite(channel, bad, float64(blocks[i][bad-(start-s.run.Row0)]))
			}
		}

		start += int64(count)
	}

	return nil
}

// notFinite returns the error that a sample of a channel is not finite. sample is its index in the run, and v
// its value.
func (s *scan) notFinite(channel int, sample int64, v float64) error {
	return fault.At(s.info.Path, fmt.Sprintf("channel %s, sample %d", s.info.Channels[channel].Name, s.run.Row0+sample),
		"a finite number", strconv.FormatFloat(v, 'g', -1, 64),
		"samples count from 0; list the good intervals in the conditions table, in the columns row0 and row1; or leave out "+
			"this channel of this file with exclude: {file: …, channel: …} under ingest, or of all files with channels")
}
