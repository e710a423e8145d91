// Package dsp turns signals into numbers: microphone recordings of a rotor
// into levels of the harmonics of its blade passing frequency, balance
// recordings into pairs of independent outcomes, and both into statements
// about whether the two halves of a recording agree (METHOD §1).
//
// The package is pure: it reads no files, prints nothing, knows nothing of
// configuration. Samples come through the small Source interface. The same
// input gives the same bits: no goroutines, no maps that are iterated, random
// choices only from a seed the caller gives.
//
// Plans (FFT, Welch, Analyser) own their scratch memory: make one per worker,
// reuse it, never share it between goroutines. Misuse of shapes by the
// programmer panics; data that cannot be analysed comes back as *Error.
package dsp

import (
	"math"
	"strings"
)

// Error says why a recording could not be analysed: where in it, what was
// expected, what was found, and what to do. The caller knows the file and adds
// it; errors.As finds the parts.
type Error struct {
	Place string // "channel 4, first half", "samples 0 … 80000"; may be empty
	Want  string // what was expected; may be empty
	Found string // what was found
	Hint  string // what to do about it; may be empty
}

// Error joins the parts: "place: expected WANT, found FOUND (HINT)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Place != "" {
		b.WriteString(e.Place + ": ")
	}
	switch {
	case e.Want != "" && e.Found != "":
		b.WriteString("expected " + e.Want + ", found " + e.Found)
	case e.Want != "":
		b.WriteString("expected " + e.Want)
	default:
		b.WriteString(e.Found)
	}
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Flag is a doubt about a run that does not stop the analysis; METHOD §1
// flags, never drops.
type Flag struct {
	Code      string  `json:"code"`      // stable short name: "harmonic-drift", "trend", "speed-shift", "floor-ratio", "outlier-segment", …
	Text      string  `json:"text"`      // one sentence for people, without the channel
	Channel   int     `json:"channel"`   // position in the list of channels analysed; −1: the whole run
	Statistic float64 `json:"statistic"` // the test's statistic (t, number of reverse arrangements, relative shift, …)
	P         float64 `json:"p"`         // p-value after Holm's correction; 0 where the flag is a plain threshold
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

// LevelDB returns the level of a mean square against a reference of the same
// unit, 10 log10(p/ref²): dB re 20 µPa for Pa² and 20e-6, dBFS for full-scale²
// and 1. It is −Inf at zero and NaN below.
func LevelDB(meanSquare, reference float64) float64 {
	return 10 * math.Log10(meanSquare/(reference*reference))
}

// DistanceDB is what to add to a level measured at distance r to refer it to
// distance r0 under spherical spreading, 20 log10(r/r0) (METHOD §1).
func DistanceDB(r, r0 float64) float64 { return 20 * math.Log10(r/r0) }
