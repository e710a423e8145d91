// Package ingest defines the contents of raw measurement files: channels of samples
// with names, units and rates, and the runs and recordings cut from them. It also
// defines what a file format is to the rest of the program ([Format]). Package
// ingest/format lists the formats and opens files.
//
// A Reader delivers samples as the file contains them (PCM as a fraction of full
// scale, −1 … 1). The calibration turns them into a physical unit. A unit always comes
// from the file or from the user; the program never assumes one.
//
// Every error that is the fault of the data is, or wraps, a *fault.Error.
package ingest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"doubletake/ingest/fault"
)

// Warning tells the user about a doubtful file. It does not stop the work.
type Warning struct {
	Path string `json:"path"` // the file it concerns
	Code string `json:"code"` // stable short name: "stuck-column", "misnamed-file", "unit-not-stated", "clipping", …
	Text string `json:"text"` // one sentence for people

	Column string `json:"column,omitempty"` // the column of a table that it concerns; "": not a single column
}

// Warn returns a warning about a file.
func Warn(path, code, format string, args ...any) Warning {
	return Warning{Path: path, Code: code, Text: fmt.Sprintf(format, args...)}
}

// Attribute is a name with a value that a file contains about itself or about a channel.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// RowsAttribute names the attribute of a channel that has samples in some rows of its file only, as first:end:every.
// Numbers of its samples are not numbers of rows.
const RowsAttribute = "rows"

// Channel describes one channel of an open file.
type Channel struct {
	Name string `json:"name"` // from the file; without one "1", "2", …
	// from the file; "full-scale" for PCM and float WAV; "": not known
	Unit       string      `json:"unit"`
	RateHz     float64     `json:"rate_hz"` // sampling rate; 0: not known
	Samples    int64       `json:"samples"` // number of samples
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Role returns "" for a channel that is a recording. For other channels it returns the value of the attribute role:
// "time" (the clock of the others), "coordinate" (an axis of other arrays) or "setting" (a value of the measurement).
// Of several roles, time counts first.
func (c Channel) Role() (role string) {
	for _, a := range c.Attributes {
		switch {
		case a.Name != "role":
		case a.Value == "time":
			return a.Value
		case a.Value == "coordinate" || a.Value == "setting":
			role = a.Value
		}
	}

	return role
}

// IsTime reports whether the channel is the clock of the others.
func (c Channel) IsTime() bool { return c.Role() == "time" }

// Unread names something in a file that is not a channel, because it cannot be
// read as numbers.
type Unread struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Fault is true if the reader cannot interpret it. It is false if it is not a
	// recording by its nature, such as a table of texts.
	Fault bool `json:"fault"`
}

// Info is the description of a file: its format and its channels.
type Info struct {
	Path   string `json:"path"`
	Format string `json:"format"` // name of the format: "wav", "hdf5", "text", …
	// "PCM 16-bit", "IEEE float 32-bit", "float64 little-endian", "tab separated", …
	Encoding   string      `json:"encoding"`
	Channels   []Channel   `json:"channels"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Unread     []Unread    `json:"unread,omitempty"` // other contents of the file
	Warnings   []Warning   `json:"warnings,omitempty"`
}

// Names returns the names of the channels.
func (i Info) Names() []string {
	if len(i.Channels) == 0 {
		return nil
	}

	names := make([]string, len(i.Channels))
	for k, c := range i.Channels {
		names[k] = c.Name
	}

	return names
}

// Options help a format to open a file that does not describe itself completely.
type Options struct {
	Name      string    // name of the file in messages; "": the path
	Format    string    // name of the format; "": recognised by the content
	RateHz    float64   // sampling rate if the file has none; 0: not given; a contradiction with the file is an error
	Truncated string    // for a file that is shorter than its header says: "use" or "error", which "" means, too
	Missing   []float64 // samples with these values are codes for a missing value, and are interpolated
	Text      TextOptions
	Arrays    ArrayOptions
	Program   *Program // reads the files instead of a format; nil: none

	// The names of channels that are read together. If some of them are written in fewer rows of a text than others, the
	// Reader gives them a sample in each row. Empty: each channel is read with its own samples.
	Together []string

	Context context.Context //nolint:containedctx // ends Program early; nil: only its Timeout does
}

// In returns a copy of o with a context and the name of a file.
func (o Options) In(ctx context.Context, name string) Options {
	o.Context = ctx
	o.Name = name

	return o
}

// Program is a program of the user that reads files. It writes an Arrow IPC
// stream to its standard output.
type Program struct {
	Command []string      // its path and its arguments; {file} stands for the path of the file
	Dir     string        // the folder that it runs in
	Timeout time.Duration // the longest time for one file
}

// TextOptions guide the reader of delimited text. With the zero value it recognises everything by the content. The
// fields are keys of the configuration.
type TextOptions struct {
	// character between columns; empty: found from the content
	Delimiter string `key:"delimiter" enum:"|comma|semicolon|tab|blanks"`

	// column names when the file has no header
	Columns []string `key:"columns"`

	// column or array with the time in s; empty: found by its name
	Time string `key:"time"`
}

// ArrayOptions guide the readers of files that contain named arrays, if the file does
// not follow a known convention. Names of attributes are compared without regard to
// case. The fields are keys of the configuration.
type ArrayOptions struct {
	// attribute, or single number among the arrays, with the sampling rate in Hz
	RateAttribute string `key:"rate_attribute"`

	// attribute, or single number among the arrays, with the sampling period in s; empty:
	// ChannelInformationSamplingPeriod, wf_increment, dt and the like
	PeriodAttribute string `key:"period_attribute"`

	// attribute of a channel with its unit
	UnitAttribute string `key:"unit_attribute"`

	// axis of time of arrays of several axes (those of MATLAB as it counts them), middle of three; empty: by the axes'
	// names, else the longest if it is the first or the last
	TimeAxis string `key:"time_axis" enum:"|first|middle|last"`
}

// Check returns an error if an option has an impossible value. It does not check
// whether Format exists: format.Open does.
func (o Options) Check() error {
	switch o.Truncated {
	case "", "error", "use":
	default:
		return fmt.Errorf(`unknown value %q for truncated: "error" or "use"`, o.Truncated)
	}

	switch o.Text.Delimiter {
	case "", "comma", "semicolon", "tab", "blanks":
	default:
		return fmt.Errorf("unknown delimiter %q: comma, semicolon, tab or blanks", o.Text.Delimiter)
	}

	switch o.Arrays.TimeAxis {
	case "", "first", "middle", "last":
	default:
		return fmt.Errorf(`unknown axis of time %q: "first", "middle" or "last"`, o.Arrays.TimeAxis)
	}

	if o.RateHz < 0 || !Finite(o.RateHz) {
		return fmt.Errorf("the sampling rate is %v Hz: it must be a positive number", o.RateHz)
	}

	return nil
}

// Rate returns the sampling rate from the rate in the file and the rate of the user, each 0 if it is not given. If
// both are given, it returns the file's. They may differ by tolerance, relative to the file's. If they differ
// more, Rate returns a *fault.Error with the given path and place.
func (o Options) Rate(path, place string, file, tolerance float64) (float64, error) {
	if o.RateHz == 0 || file == 0 {
		return max(file, o.RateHz), nil
	}

	if math.Abs(file-o.RateHz) > tolerance*file {
		return 0, fault.At(path, place, fmt.Sprintf("a rate of %g Hz as configured", o.RateHz),
			fmt.Sprintf("%g Hz", file), "leave the rate out: the file states it")
	}

	return file, nil
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Run is one acquisition at one condition: a whole file or an interval of its samples.
// The channels of a run were recorded together and share its set-up and speed.
type Run struct {
	ID         string      // unique in the experiment: the path, and for an interval "[row0:row1]" after it
	Path       string      // of the file
	Row0, Row1 int64       // the samples from Row0 to Row1 − 1; Interval says what Row1 < 0 and zeros mean
	Recordings []Recording // in the order of the file's channels
}

// Interval returns the interval of the run in a file with that many samples: the first sample, and the sample after
// the last. It goes to the end of the file if Row1 < 0, or if Row0 and Row1 are both 0. The interval may lie outside
// the file.
func (r Run) Interval(samples int64) (begin, end int64) {
	if r.Row1 >= 0 && (r.Row1 > 0 || r.Row0 > 0) {
		return r.Row0, r.Row1
	}
	return r.Row0, samples
}

// Place returns a place in a run for messages. If the run is an interval of a file, Place puts the interval before
// the place.
func (r Run) Place(place string) string {
	return strings.Trim(strings.TrimPrefix(r.ID, r.Path)+", "+place, ", ")
}

// Recording is one channel of a run, or a group of channels that were sampled at the
// same instants and give one vector of outcomes (lift and drag).
type Recording struct {
	ID         string             // unique in the experiment: the run's ID, and "#channel" if the run has several
	Channels   []int              // indices into Info.Channels
	Conditions map[string]float64 // independent variables of this recording, by name
	Labels     map[string]string  `json:",omitempty"` // properties that are not numbers, by name: the propeller, the day
}
