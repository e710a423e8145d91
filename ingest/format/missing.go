package format

import (
	"math"
	"slices"

	"doubletake/ingest"
)

// filled is a Reader whose samples that are codes for a value that is not there are
// interpolated between their neighbours.
type filled struct {
	ingest.Reader
	codes  []float64
	passed []int64 // per channel, the sample after those that were read
	counts []int64 // per channel, codes among them
}

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

func (f *filled) missing(v float64) bool { return slices.Contains(f.codes, v) }

// fill replaces the codes in x, the samples of channel c from start on.
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

		a, left := f.neighbour(c, start+int64(k), -1)
		b, right := f.neighbour(c, start+int64(end)-1, 1)
		for ; k < end; k++ {
			at := start + int64(k)
			if at >= f.passed[c] {
				f.counts[c]++
			}

			switch {
			case a < 0:
				x[k] = right // NaN where all are missing
			case b < 0:
				x[k] = left
			default:
				x[k] = left + (right-left)*float64(at-a)/float64(b-a)
			}
		}
	}

	f.passed[c] = max(f.passed[c], start+int64(len(x)))
}

// neighbour returns the next sample of a channel before (step −1) or after (1) at that is no code; −1 and NaN if
// there is none.
func (f *filled) neighbour(c int, at, step int64) (int64, float64) {
	var x [256]float64
	for at += step; at >= 0 && at < f.Info().Channels[c].Samples; at += step * int64(len(x)) {
		from := at
		if step < 0 {
			from = max(0, at-int64(len(x))+1)
		}

		n := min(int64(len(x)), f.Info().Channels[c].Samples-from)
		if step < 0 {
			n = at - from + 1
		}

		if got, _ := f.Reader.Read([]int{c}, from, [][]float64{x[:n]}); int64(got) < n {
			break
		}

		for i := range n {
			k := i
			if step < 0 {
				k = n - 1 - i
			}

			if !f.missing(x[k]) {
				return from + k, x[k]
			}
		}
	}

	return -1, math.NaN()
}
