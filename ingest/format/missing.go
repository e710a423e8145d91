package format

import (
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
}

// fill returns a Reader that interpolates the missing samples of r.
func fill(r ingest.Reader, codes []float64) ingest.Reader {
	n := len(r.Info().Channels)
	return &filled{Reader: r, codes: codes, passed: make([]int64, n), counts: make([]int64, n)}
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
	for i, c := range channels {
		f.fill(c, start, dst[i][:n])
	}

	return n, err
}

// missing reports whether a value is one of the codes.
func (f *filled) missing(v float64) bool { return slices.Contains(f.codes, v) }

// fill interpolates the missing samples in x, which are the samples of channel c from start on, and counts them. It
// does not change a channel that contains the time.
func (f *filled) fill(c int, start int64, x []float64) {
	if f.Info().Channels[c].IsTime() {
		return
	}

	for k := 0; k < len(x); k++ {
		if !f.missing(x[k]) {
			continue
		}

		end := k + 1
		for end < len(x) && f.missing(x[end]) {
			end++
		}

		// x[k] to x[end-1] are missing. previous and next are −1 if there is no sample on that side.
		previous, left := f.neighbour(c, start+int64(k), -1)
		next, right := f.neighbour(c, start+int64(end)-1, 1)
		for ; k < end; k++ {
			sample := start + int64(k)
			if sample >= f.passed[c] { // not counted before
				f.counts[c]++
			}

			switch {
			case previous < 0:
				x[k] = right // NaN if all samples of the channel are missing
			case next < 0:
				x[k] = left
			default:
				x[k] = left + (right-left)*float64(sample-previous)/float64(next-previous)
			}
		}
	}

	f.passed[c] = max(f.passed[c], start+int64(len(x)))
}

// neighbour returns the number and the value of the nearest sample of a channel that is not missing: before the given
// sample if step is −1, and behind it if step is 1. It returns −1 and NaN if there is none.
func (f *filled) neighbour(c int, sample, step int64) (number int64, value float64) {
	var x [256]float64 // samples are read in blocks, from begin on
	for sample += step; sample >= 0 && sample < f.Info().Channels[c].Samples; sample += step * int64(len(x)) {
		begin := sample
		if step < 0 {
			begin = max(0, sample-int64(len(x))+1)
		}

		n := min(int64(len(x)), f.Info().Channels[c].Samples-begin)
		if step < 0 {
			n = sample - begin + 1
		}

		if count, _ := f.Reader.Read([]int{c}, begin, [][]float64{x[:n]}); int64(count) < n {
			break
		}

		for i := range n {
			k := i
			if step < 0 {
				k = n - 1 - i
			}

			if !f.missing(x[k]) {
				return begin + k, x[k]
			}
		}
	}

	return -1, math.NaN()
}
