// Package ingest reads raw measurement files: it opens recordings of any
// supported format behind one small interface, finds the files of a campaign,
// ties each run to its conditions, and computes what is known of a recording
// before any analysis (statistics, quality).
//
// Units: a Reader delivers samples as the file states them (PCM as a fraction
// of full scale, −1 … 1); Calibration turns them into a physical unit. Nothing
// here invents a unit that neither the file nor the user stated.
//
// The package knows nothing of YAML, Arrow, networks or exit codes; spectra and
// everything else that analyses samples belong to package dsp. Bad input
// comes back as *DataError, things worth knowing that are no error as Warning.
package ingest

import "doubletake/ingest/fault"

// DataError says what is wrong with an input file, where, and what to do.
// Every error of this package that is the fault of the data is (or wraps) one.
type DataError struct {
	Path  string // the file (or glob) as the user gave it
	Place string // where in it: "line 12, column 3", "byte 36", "channel 4, sample 1024"; may be empty
	Want  string // what was expected; may be empty
	Found string // what was found
	Hint  string // what to do about it; may be empty
	Err   error  // the underlying error, if any
}

// Error joins the parts: "path: place: expected WANT, found FOUND (HINT)".
func (e *DataError) Error() string {
	f := fault.Error{Place: e.Place, Want: e.Want, Found: e.Found, Hint: e.Hint, Err: e.Err}
	return e.Path + ": " + f.Error()
}

// Unwrap returns the underlying error.
func (e *DataError) Unwrap() error { return e.Err }

// Warning is something worth telling that does not stop the work.
type Warning struct {
	Path string `json:"path"` // the file it concerns
	Code string `json:"code"` // stable short name: "stuck-column", "misnamed-file", "unit-not-stated", "clipping", …
	Text string `json:"text"` // one sentence for people
}

// Attribute is a name and value a file carries about itself or one channel.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Channel describes one channel of an open file.
type Channel struct {
	Name       string      `json:"name"`    // as the file states it, else "1", "2", …
	Unit       string      `json:"unit"`    // as the file states it; "full-scale" for PCM and float WAV; "" when not stated
	RateHz     float64     `json:"rate_hz"` // 0 when the file does not state a rate
	Samples    int64       `json:"samples"` // number of samples
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Info is what a file says about itself.
type Info struct {
	Path       string      `json:"path"`
	Format     string      `json:"format"`   // "wav", "npy", "npz", "mat", "hdf5", "tdms", "text"
	Encoding   string      `json:"encoding"` // "PCM 16-bit", "IEEE float 32-bit", "float64 little-endian", "tab separated", …
	Channels   []Channel   `json:"channels"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Unread     []Unread    `json:"unread,omitempty"` // what else is in the file and is no channel
	Warnings   []Warning   `json:"warnings,omitempty"`
}

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

// Options guide Open where a file does not say enough itself.
type Options struct {
	Format    string  // as Info.Format; "" decides by content, then by name
	RateHz    float64 // rate of the samples when the file does not state it; a contradiction with the file is an error
	Truncated string  // "error" (default) or "use": what to do with a file that holds less than its header claims
	Text      TextOptions
	Arrays    ArrayOptions // MAT, HDF5, TDMS, NPZ
}

// TextOptions guide the reader of delimited text; the zero value finds out by itself.
type TextOptions struct {
	Delimiter string   // "comma", "semicolon", "tab", "blanks"; "" finds out
	Columns   []string // names when the file has no header
	Time      string   // column (or array) that holds the time in s; "" takes one whose name says so ("time", "t", "Time (s)", …), if any
}
