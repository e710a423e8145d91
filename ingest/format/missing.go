package format

import (
	"errors"
	"io"
	"math"
	"slices"

	"doubletake/ingest"
)

// filled is a Reader that interpolates missing samples. A sample is missing if its value is one of the codes. It
// becomes the linear interpolation between the nearest samples before and behind it that are not missing.
type filled struct {
	ingest.Reader
	codes  []float64
	passed []int64 // for each channel, the number of the sample behind the last that was read
	counts []int64 // for each channel, how many of the samples before passed are missing
	gaps   []gap   // for each channel, the gap that was filled last; zero before the first
}

// gap is a sequence of missing samples between two neighbours. It may be longer than a block of samples that a caller
// reads. The last one is kept, because finding the neighbours anew for each block of a dead channel would read the
// channel again for each block.
type gap struct {
	begin, end     int64 // the first missing sample, and the sample behind the last
	previous, next neighbour
}

// newFilled returns a Reader that interpolates the missing samples of r.
func newFilled(r ingest.Reader, codes []float64) ingest.Reader {
	n := len(r.Info().Channels)
	return &filled{Reader: r, codes: codes, passed: make([]int64, n), counts: make([]int64, n), gaps: make([]gap, n)}
}

// Tolerate implements ingest.Tolerant.
func (f *filled) Tolerate(channels []bool) {
	if t, ok := f.Reader.(ingest.Tolerant); ok {
		t.Tolerate(channels)
	}
}

// TimeSeries implements ingest.Spectral.
func (f *filled) TimeSeries(channels []int) error {
	return ingest.RequireTimeSeries(f.Reader, channels)
}

// Filled implements ingest.Gapped.
func (f *filled) Filled(channel int) int64 { return f.counts[channel] }

// Read implements ingest.Reader.
func (f *filled) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n, err := f.Reader.Read(channels, start, dst)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}

	for i, c := range channels {
		if failure := f.interpolate(c, start, dst[i][:n]); failure != nil {
			return 0, failure
		}
	}

	return n, err
}

// missing reports whether a value is one of the codes.
func (f *filled) missing(v float64) bool { return slices.Contains(f.codes, v) }

// interpolate interpolates the missing samples in x, which are the samples of channel c from start on, and counts them.
// It does not change a channel that contains the time.
func (f *filled) interpolate(c int, start int64, x []float64) error {
	if f.Info().Channels[c].IsTime() {
		return nil
	}

	for k := 0; k < len(x); k++ {
		if !f.missing(x[k]) {
			continue
		}

		end := k + 1
		for end < len(x) && f.missing(x[end]) {
			end++
		}

		// x[k] to x[end-1] are missing.
		around, err := f.gapAround(c, start+int64(k), start+int64(end)-1)
		if err != nil {
			return err
		}

		for ; k < end; k++ {
			sample := start + int64(k)
			if sample >= f.passed[c] { // not counted before
				f.counts[c]++
			}

			x[k] = between(around.previous, around.next, sample)
		}
	}

	f.passed[c] = max(f.passed[c], start+int64(len(x)))

	return nil
}

// gapAround returns the gap of a channel that contains the samples from first to last, which are missing.
func (f *filled) gapAround(c int, first, last int64) (gap, error) {
	if known := f.gaps[c]; first >= known.begin && last < known.end {
		return known, nil
	}

	previous, err := f.neighbourBefore(c, first)
	if err != nil {
		return gap{}, err
	}

	next, err := f.neighbourBehind(c, last)
	if err != nil {
		return gap{}, err
	}

	found := gap{begin: 0, end: f.Info().Channels[c].Samples, previous: previous, next: next}
	if previous.exists {
		found.begin = previous.number + 1
	}

	if next.exists {
		found.end = next.number
	}

	f.gaps[c] = found

	return found, nil
}

// neighbour is a sample beside missing samples that is not missing itself.
type neighbour struct {
	exists bool
	number int64
	value  float64
}

// between returns the value of a missing sample between two neighbours. If one of them does not exist, it is the value
// of the other, and NaN if none exists.
func between(previous, next neighbour, sample int64) float64 {
	switch {
	case !previous.exists && !next.exists:
		return math.NaN()
	case !previous.exists:
		return next.value
	case !next.exists:
		return previous.value
	}

	rise := (next.value - previous.value) * float64(sample-previous.number)

	return previous.value + rise/float64(next.number-previous.number)
}

// neighbourBlock is the number of samples that are read at a time to find a neighbour.
const neighbourBlock = 256

// neighbourBefore returns the nearest sample of a channel before the given one that is not missing.
func (f *filled) neighbourBefore(c int, sample int64) (neighbour, error) {
	var x [neighbourBlock]float64
	for end := sample; end > 0; {
		begin := max(0, end-neighbourBlock)
		block := x[:end-begin]
		if ok, err := f.readBlock(c, begin, block); !ok {
			return neighbour{}, err
		}

		for i, v := range slices.Backward(block) {
			if !f.missing(v) {
				return neighbour{exists: true, number: begin + int64(i), value: v}, nil
			}
		}

		end = begin
	}

	return neighbour{}, nil
}

// neighbourBehind returns the nearest sample of a channel behind the given one that is not missing.
func (f *filled) neighbourBehind(c int, sample int64) (neighbour, error) {
	var x [neighbourBlock]float64
	samples := f.Info().Channels[c].Samples
	for begin := sample + 1; begin < samples; begin += neighbourBlock {
		block := x[:min(neighbourBlock, samples-begin)]
		if ok, err := f.readBlock(c, begin, block); !ok {
			return neighbour{}, err
		}

		for i, v := range block {
			if !f.missing(v) {
				return neighbour{exists: true, number: begin + int64(i), value: v}, nil
			}
		}
	}

	return neighbour{}, nil
}

// readBlock fills x with the samples of a channel from begin on. It returns false if the channel ends before x is full,
// and false and an error if the samples cannot be read.
func (f *filled) readBlock(c int, begin int64, x []float64) (ok bool, err error) {
	n, err := f.Reader.Read([]int{c}, begin, [][]float64{x})
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}

	return n == len(x), nil
}
