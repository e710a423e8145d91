package ingest

// Reader gives access to the samples of one open file. Distinct Readers may be
// used in parallel; one Reader may not. Memory does not grow with the file.
type Reader interface {
	// Info describes the file; it does not change while the Reader is open.
	Info() Info
	// Read fills dst[i] with the samples of channel channels[i] (an index into
	// Info().Channels) from sample start on. All dst[i] have one length. It
	// returns the number of samples read per channel, fewer than asked only at
	// the end of the data, then with io.EOF. Reading in order of start is fast;
	// going back is allowed.
	Read(channels []int, start int64, dst [][]float64) (n int, err error)
	Close() error
}

// The interfaces below are what a Reader may offer beyond that. Who needs one
// asks by a type assertion and does without where it is missing.

// Quantized is a Reader whose samples may be integers times a step.
type Quantized interface {
	// Quantum returns the distance of two neighbouring values and the limits of
	// the format, as delivered by Read; zeros where samples are not quantised.
	Quantum() (step, low, high float64)
}

// Float32 is a Reader that can deliver its samples as float32, which halves
// the memory they move through.
type Float32 interface {
	// Exact32 reports whether every sample is a float32 exactly.
	Exact32() bool
	// Read32 is Read to float32. It loses nothing where Exact32.
	Read32(channels []int, start int64, dst [][]float32) (n int, err error)
}

// ByChannel is a Reader that knows how channels lie in the file.
type ByChannel interface {
	// ByChannel reports whether channels lie one after the other, so that one of
	// them is read as fast as its share of all.
	ByChannel() bool
}

// Tolerant is a Reader of cells that may hold no number.
type Tolerant interface {
	// Tolerate makes Read deliver NaN for bad cells of the marked channels
	// instead of ending there; nil marks none.
	Tolerate(channels []bool)
}

// Gapped is a Reader that interpolates samples that are codes for no value (Options.Missing).
type Gapped interface {
	// Filled returns how many samples of a channel were interpolated, of those that were read.
	Filled(channel int) int64
}

// Spectral is a Reader of files that may hold processed spectra.
type Spectral interface {
	// TimeSeries returns a *fault.Error if these channels are spectra: if an axis
	// of frequencies of their length is in the file.
	TimeSeries(channels []int) error
}

// RequireTimeSeries returns a *fault.Error if the channels of a run hold processed
// spectra. Two halves of a recording cannot be had from one spectrum, and a
// spectrum read as a time series would give wrong numbers.
func RequireTimeSeries(r Reader, channels []int) error {
	if s, ok := r.(Spectral); ok && len(channels) > 0 {
		return s.TimeSeries(channels)
	}
	return nil
}

// CheckRead is the beginning of every Reader's Read: it returns the number of
// samples asked for and panics where channels and dst do not fit together or to
// a file of that many channels.
func CheckRead[T float32 | float64](fileChannels int, channels []int, start int64, dst [][]T) int {
	if len(channels) != len(dst) {
		panic("ingest: as many destinations as channels are needed")
	}

	if start < 0 {
		panic("ingest: negative start")
	}

	want := 0
	for i, c := range channels {
		if c < 0 || c >= fileChannels {
			panic("ingest: channel index out of range")
		}

		if i > 0 && len(dst[i]) != want {
			panic("ingest: destinations differ in length")
		}

		want = len(dst[i])
	}

	return want
}

// Format is a file format: how it is recognised, how it is opened, and its
// description for people.
type Format struct {
	Name    string   // in pipeline.yaml and in Info.Format
	Title   string   // as people write it; its row in docs/how-to.md lists the data read
	Endings []string // of file names, lower case with the dot; the first is the usual one

	// Attributes reports that files carry numbers about themselves, of which
	// pipeline init makes conditions.
	Attributes bool

	// A file is of this format if it begins with one of Magic or, failing that, if
	// Detect returns true; head is its beginning, at most 1024 bytes. A format with
	// neither reads files of no other format.
	Magic  []string
	Detect func(head []byte, src Source) bool

	// Open reads headers and returns a Reader, which closes src. If Open fails
	// its caller closes src. Open never trusts a length it reads; its errors
	// are, or wrap, *fault.Error.
	Open func(src Source, o Options) (Reader, error)
}

// Binary reports whether b holds bytes that do not occur in text.
func Binary(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != 0x1a {
			return true
		}
	}

	return false
}
