// Package dsp turns signals into pairs of independent outcomes. Microphone recordings
// become levels of a rotor's harmonics, of bands and of weighted sums; balance recordings
// become means and unsteady loads. The package also tests whether the two halves of a
// recording agree (docs/method.md#do-the-halves-agree).
//
// A Construction (construction.go) takes a Run and returns Pairs. For microphones it first
// asks for Segments, which an Analyser loads: it cuts both halves of the run into segments
// and averages their spectra. Each spectralOutcome then reads a number from the spectra.
// For balances it reads the Series directly.
//
// The package is pure: it reads no files, prints nothing and does not depend on the
// configuration package. Samples come through the small Source interface. The same
// input gives the same bits: the package starts no goroutines, iterates over no maps, and
// draws random numbers only from a seed given by the caller.
//
// Plans (FFT, Welch, Analyser) own their scratch memory: make one per worker,
// reuse it, never share it between goroutines. A slice of the wrong shape is a programming
// error and panics. Data that cannot be analysed is a *fault.Error.
package dsp

import (
	"context"
	"fmt"
	"math"
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
	P         float64 `json:"p"`         // p-value after Holm's correction; 0 if the flag is a plain threshold

	// The shaft speeds of the flag "speed-contradicted", in rev/s: in the conditions, and
	// in the sound. Other flags leave both 0.
	StatedHz float64 `json:"stated_hz,omitempty"`
	FoundHz  float64 `json:"found_hz,omitempty"`
}

// Source delivers consecutive samples of a run's channels; ingest.Reader
// satisfies it. Read fills dst[i] with samples of channel channels[i] from sample
// start on and returns the number of samples read per channel. At the end of the data
// that number is smaller than len(dst[i]), and the error is io.EOF.
type Source interface {
	Read(channels []int, start int64, dst [][]float64) (n int, err error)
}

// Source32 is a Source that can deliver its samples as float32, which halves
// the memory they move through.
type Source32 interface {
	Source
	// Exact32 reports whether float32 represents every sample exactly.
	Exact32() bool
	// Read32 does the same as Read, into float32.
	Read32(channels []int, start int64, dst [][]float32) (n int, err error)
}

// ByChannel is a Source that may store its channels one after the other. Reading one of
// N channels then takes an Nth of the time of reading all. Load reads such channels one at
// a time, so that the samples of a channel are still in the processor's cache when it
// analyses them.
type ByChannel interface {
	Source
	// ByChannel reports whether the channels are stored one after the other.
	ByChannel() bool
}

// interval is a range of consecutive samples of a source.
type interval struct {
	start   int64 // number of the first sample
	samples int64 // how many there are
}

// blockReader reads an interval of one channel, a block at a time.
type blockReader struct {
	interval
	src     Source
	channel int
	size    int64  // samples of a block; the last block may be shorter
	place   string // start of the place in error messages, such as "tachometer, "; may be empty

	offset int64     // from the start of the interval to the next block, samples
	buffer []float64 // holds the current block
}

// more reports whether there is another block.
func (b *blockReader) more() bool { return b.offset < b.samples }

// read returns the next block and its offset from the start of the interval, in samples. x is
// valid until the next call.
func (b *blockReader) read(ctx context.Context) (x []float64, offset int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("read samples: %w", err)
	}

	if b.buffer == nil {
		b.buffer = make([]float64, b.size)
	}

	offset = b.offset
	x = b.buffer[:min(b.size, b.samples-offset)]
	if err := fill([][]float64{x}, 0, b.src.Read, []int{b.channel}, b.start+offset, b.interval, b.place); err != nil {
		return nil, 0, err
	}

	b.offset += b.size

	return x, offset, nil
}

// Reference returns the reference root mean square for levels of a signal in that unit,
// and the unit of the levels. The reference is 20 µPa for "Pa", the root mean square of a
// full-scale sine for "full-scale" (AES17: a full-scale sine has 0 dBFS), and 1 for any
// other unit.
func Reference(unit string) (rms float64, levelUnit string) {
	switch unit {
	case "Pa":
		return 20e-6, "dB re 20 µPa"
	case "full-scale":
		return math.Sqrt(0.5), "dBFS"
	}

	return 1, "dB re 1 " + unit
}

// LevelDB returns the level 10 log10(meanSquare/reference²) in dB. Reference returns the
// reference for a unit. The level of 0 is −Inf, and the level of a negative number is NaN.
func LevelDB(meanSquare, reference float64) float64 {
	return 10 * math.Log10(meanSquare/(reference*reference))
}

// DistanceDB returns what must be added to a level measured at distance r to get the level
// at distance r0, if the sound spreads spherically: 20 log10(r/r0) dB
// (docs/method.md#from-raw-measurements-to-triplets).
func DistanceDB(r, r0 float64) float64 { return 20 * math.Log10(r/r0) }
