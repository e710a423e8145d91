package ingest

import "fmt"

// Reader gives access to the samples of one open file. Several Readers may be used at the
// same time, but one Reader only by one goroutine. Its memory does not grow with the file.
type Reader interface {
	// Info returns the description of the file. It does not change while the Reader is
	// open.
	Info() Info
	// Read fills dst[i] with the samples of channel channels[i] (an index into
	// Info().Channels) from sample start on. All dst[i] are equally long. Read returns
	// the number of samples read per channel. At the end of the data it is less than
	// len(dst[i]), and the error is io.EOF. Reading forwards is fast; going back is
	// allowed.
	Read(channels []int, start int64, dst [][]float64) (n int, err error)
	// Close closes the file.
	Close() error
}

// A Reader may also implement the interfaces below. Callers find out by a type assertion whether it does. Callers also
// work with a Reader that implements none of them.

// Quantized is a Reader whose samples may be integers times a step.
type Quantized interface {
	// Quantum returns the distance of two neighbouring values and the limits of
	// the format, in the unit of Read. It returns zeros if samples are not quantised.
	Quantum() (step, low, high float64)
}

// Float32 is a Reader that can deliver its samples as float32, which halves
// the memory they move through.
type Float32 interface {
	// Exact32 reports whether float32 represents every sample exactly.
	Exact32() bool
	// Read32 does the same as Read, into float32. It is exact if Exact32 returns true.
	Read32(channels []int, start int64, dst [][]float32) (n int, err error)
}

// ByChannel is a Reader that knows in which order its file stores the samples.
type ByChannel interface {
	// ByChannel reports whether the file stores its channels one after the other. Reading one of
	// N channels then takes an Nth of the time of reading all.
	ByChannel() bool
}

// Tolerant is a Reader of cells that may not be numbers.
type Tolerant interface {
	// Tolerate makes Read deliver NaN for the bad cells of the channels marked true.
	// In other channels a bad cell ends Read with an error. nil marks no channel.
	Tolerate(channels []bool)
}

// Gapped is a Reader that interpolates samples that are codes for a missing value (Options.Missing).
type Gapped interface {
	// Filled returns how many of the samples of a channel that were read so far are interpolated.
	Filled(channel int) int64
}

// Spectral is a Reader of files that may contain processed spectra.
type Spectral interface {
	// TimeSeries returns a *fault.Error if these channels are spectra: the file has an
	// axis of frequencies of their length.
	TimeSeries(channels []int) error
}

// RequireTimeSeries returns a *fault.Error if the channels are known to be processed spectra. A
// spectrum cannot be divided into two halves of a recording, and results from a spectrum taken
// for a time series would be wrong.
func RequireTimeSeries(r Reader, channels []int) error {
	if s, ok := r.(Spectral); ok && len(channels) > 0 {
		return s.TimeSeries(channels)
	}
	return nil
}

// CheckRead checks the arguments of a Reader's Read for a file with that many channels. It returns the number of
// samples to read per channel. It panics if channels and dst do not fit together, if start is negative, or if the
// file does not have one of the channels.
func CheckRead[T float32 | float64](fileChannels int, channels []int, start int64, dst [][]T) int {
	if len(channels) != len(dst) {
		panic(fmt.Sprintf("ingest: %d destinations for %d channels", len(dst), len(channels)))
	}

	if start < 0 {
		panic("ingest: negative start")
	}

	want := 0
	for i, c := range channels {
		if c < 0 || c >= fileChannels {
			panic(fmt.Sprintf("ingest: channel index %d out of range, with %d channels", c, fileChannels))
		}

		if i > 0 && len(dst[i]) != want {
			panic("ingest: destinations differ in length")
		}

		want = len(dst[i])
	}

	return want
}
