// Package dsp turns signals into numbers: microphone recordings into levels of a
// rotor's harmonics, of bands and of weighted sums, balance recordings into means and
// unsteady parts, as pairs of independent outcomes, and both into statements about
// whether the two halves of a recording agree (docs/method.md#do-the-halves-agree).
//
// The package is pure: it reads no files, prints nothing, knows nothing of
// configuration. Samples come through the small Source interface. The same
// input gives the same bits: no goroutines, no maps that are iterated, random
// choices only from a seed the caller gives.
//
// Plans (FFT, Welch, Analyser) own their scratch memory: make one per worker,
// reuse it, never share it between goroutines. Misuse of shapes by the
// programmer panics; data that cannot be analysed comes back as *fault.Error.
package dsp

import (
	"context"
	"fmt"
	"math"

	"doubletake/ingest/fault"
)

// Flag is a doubt about a run that does not stop the analysis; runs are flagged,
// never dropped (docs/method.md#do-the-halves-agree).
type Flag struct {
	// stable short name: "harmonic-drift", "trend", "speed-shift", "floor-ratio",
	// "outlier-segment", …
	Code      string  `json:"code"`
	Text      string  `json:"text"`      // one sentence for people, without the channel
	Channel   int     `json:"channel"`   // position in the list of channels analysed; −1: the whole run
	Statistic float64 `json:"statistic"` // the test's statistic (t, number of reverse arrangements, relative shift, …)
	P         float64 `json:"p"`         // p-value after Holm's correction; 0 where the flag is a plain threshold

	StatedHz float64 `json:"stated_hz,omitempty"` // of "speed-contradicted": the shaft speeds, rev/s
	FoundHz  float64 `json:"found_hz,omitempty"`
}

// Source delivers consecutive samples of a run's channels; ingest.Reader
// satisfies it. Read fills dst[i] with samples of channel channels[i] from
// sample start on and returns the number read per channel, fewer than asked
// only at the end of the data, then with io.EOF.
type Source interface {
	Read(channels []int, start int64, dst [][]float64) (n int, err error)
}

// Source32 is a Source that can deliver its samples as float32, which halves
// the memory they move through.
type Source32 interface {
	Source
	// Exact32 reports whether every sample is a float32 exactly, so that
	// nothing is lost.
	Exact32() bool
	// Read32 is Read to float32.
	Read32(channels []int, start int64, dst [][]float32) (n int, err error)
}

// ByChannel is a Source that may deliver one channel as fast as its share of
// all, because channels lie one after the other where the samples are kept.
// Channels are then read one at a time, and analysed before the cache forgets
// them.
type ByChannel interface {
	Source
	ByChannel() bool
}

// blocks reads samples of one channel, so many at a time, and passes each block to f with
// its place from start on.
func blocks(ctx context.Context, src Source, channel int, start, samples, size int64,
	f func(at int64, x []float64),
) {
	buf := [][]float64{make([]float64, size)}
	for at := int64(0); at < samples; at += size {
		if err := ctx.Err(); err != nil {
			fault.Raise(fmt.Errorf("read samples: %w", err))
		}

		buf[0] = buf[0][:min(size, samples-at)]
		fill(buf, 0, src.Read, []int{channel}, start+at, start, samples)

		f(at, buf[0])
	}
}

// Reference returns what levels of a signal in that unit are relative to, as a
// root mean square, and the levels' unit: 20 µPa for "Pa", the root mean square
// of a full-scale sine for "full-scale" (AES17: a full-scale sine reads 0 dBFS),
// and 1 for any other unit.
func Reference(unit string) (rms float64, levelUnit string) {
	switch unit {
	case "Pa":
		return 20e-6, "dB re 20 µPa"
	case "full-scale":
		return math.Sqrt(0.5), "dBFS"
	}

	return 1, "dB re 1 " + unit
}

// LevelDB returns the level of a mean square against a reference of the same
// unit, 10 log10(p/ref²): dB re 20 µPa for Pa² and 20e-6, dBFS for full-scale²
// and √½. It is −Inf at zero and NaN below.
func LevelDB(meanSquare, reference float64) float64 {
	return 10 * math.Log10(meanSquare/(reference*reference))
}

// DistanceDB is the level difference that refers a level measured at distance r
// to distance r0 under spherical spreading, 20 log10(r/r0)
// (docs/method.md#from-raw-measurements-to-triplets).
func DistanceDB(r, r0 float64) float64 { return 20 * math.Log10(r/r0) }
