// Package ingest defines what raw measurement files hold: channels of samples
// with names, units and rates, the runs and recordings cut from them, and how
// samples become a physical unit. It also defines what a file format is to the
// rest of the program ([Format]); the formats are listed in package
// ingest/format, which opens files.
//
// A Reader delivers samples as the file states them (PCM as a fraction of full
// scale, −1 … 1); Calibration turns them into a physical unit. No unit is
// invented that neither the file nor the user stated.
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
	"doubletake/internal/lists"
)

// Warning is something worth telling that does not stop the work.
type Warning struct {
	Path string `json:"path"` // the file it concerns
	Code string `json:"code"` // stable short name: "stuck-column", "misnamed-file", "unit-not-stated", "clipping", …
	Text string `json:"text"` // one sentence for people

	Column string `json:"column,omitempty"` // of a table, that it concerns; "" of all or none
}

// Warn returns a warning about a file.
func Warn(path, code, format string, args ...any) Warning {
	return Warning{Path: path, Code: code, Text: fmt.Sprintf(format, args...)}
}

// Attribute is a name and value a file carries about itself or one channel.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Channel describes one channel of an open file.
type Channel struct {
	Name string `json:"name"` // as the file states it, else "1", "2", …
	// as the file states it; "full-scale" for PCM and float WAV; "" when not stated
	Unit       string      `json:"unit"`
	RateHz     float64     `json:"rate_hz"` // 0 when the file does not state a rate
	Samples    int64       `json:"samples"` // number of samples
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Role is what the channel is other than a recording, as its attribute role states:
// time (the clock of the others), coordinate (an axis of other arrays) or setting (a
// value of the measurement's); "" if none.
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

// Unread names something in a file that is no channel because it cannot be
// read as numbers.
type Unread struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Fault is true if the reader cannot interpret it, false if it is no recording
	// by its nature (a table of texts).
	Fault bool `json:"fault"`
}

// Info is a file's description of itself.
type Info struct {
	Path   string `json:"path"`
	Format string `json:"format"` // name of the format: "wav", "hdf5", "text", …
	// "PCM 16-bit", "IEEE float 32-bit", "float64 little-endian", "tab separated", …
	Encoding   string      `json:"encoding"`
	Channels   []Channel   `json:"channels"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Unread     []Unread    `json:"unread,omitempty"` // what else is in the file and is no channel
	Warnings   []Warning   `json:"warnings,omitempty"`
}

// Names are those of the channels.
func (i Info) Names() []string {
	return lists.Each(i.Channels, func(c Channel) string { return c.Name })
}

// Options guide a format's Open where a file does not describe itself completely.
type Options struct {
	Name      string    // what messages call the file; "": the path that it is opened by
	Format    string    // name of the format; "" decides by content
	RateHz    float64   // rate of the samples when the file does not state it; a contradiction with the file is an error
	Truncated string    // "error" (default) or "use": what to do with a file that holds less than its header claims
	Missing   []float64 // samples that are codes for a value that is not there: they are interpolated
	Text      TextOptions
	Arrays    ArrayOptions
	Program   *Program // reads the files in place of a format; nil: none

	Context context.Context //nolint:containedctx // ends Program; nil: its Timeout alone does
}

// In returns o with a context, for the file of that name.
func (o Options) In(ctx context.Context, name string) Options {
	o.Context, o.Name = ctx, name
	return o
}

// Program is a program of the user's that reads files: it writes an Arrow IPC
// stream to its standard output.
type Program struct {
	Command []string      // its path and its arguments, in which {file} is the path of the file
	Dir     string        // the folder it runs in
	Timeout time.Duration // for one file
}

// TextOptions guide the reader of delimited text; the zero value finds out by itself. The configuration has them as
// keys.
type TextOptions struct {
	// character between columns; empty: found from the content
	Delimiter string `key:"delimiter" enum:"|comma|semicolon|tab|blanks"`

	// column names when the file has no header
	Columns []string `key:"columns"`

	// column or array with the time in s; empty: found by its name
	Time string `key:"time"`
}

// ArrayOptions guide the readers of files that hold named arrays, where the
// file does not follow a custom that is known. Names of attributes are compared
// without regard to case. The configuration has them as keys.
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

// Check reports options that contradict themselves or mean nothing. Whether
// there is such a Format is checked by format.Open.
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

	if o.RateHz < 0 || !finite(o.RateHz) {
		return fmt.Errorf("the sampling rate is %v Hz: it must be a positive number", o.RateHz)
	}

	return nil
}

// Rate merges the rate a file states with the one the user states (0: not
// stated). They may differ by tolerance, relative to the file's. path and place
// are those of the *fault.Error of a contradiction.
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

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }

// Run is one acquisition at one condition: a file, or a row interval of one.
// Channels of a run were recorded together and share its set-up and speed.
type Run struct {
	ID         string      // unique in the experiment; file path, with "[row0:row1]" when it is an interval
	Path       string      // the file
	Row0, Row1 int64       // sample interval [Row0, Row1); Row1 < 0: to the end
	Recordings []Recording // what the run holds, in the file's channel order
}

// Interval returns the samples of the run in a file of that many: from Row0 up to
// Row1, or to the end where Row1 < 0 or both are 0. It may lie outside of the file.
func (r Run) Interval(samples int64) (from, to int64) {
	if r.Row1 >= 0 && (r.Row1 > 0 || r.Row0 > 0) {
		return r.Row0, r.Row1
	}
	return r.Row0, samples
}

// Place puts the interval of a run, if it is one, before a place in it, for messages.
func (r Run) Place(at string) string {
	return strings.Trim(strings.TrimPrefix(r.ID, r.Path)+", "+at, ", ")
}

// Recording is one channel of a run, or the group of channels sampled at the
// same instants that make one outcome vector (lift and drag).
type Recording struct {
	ID         string             // unique in the experiment: the run's ID, with "#channel" when a run has several
	Channels   []int              // indices into Info.Channels
	Conditions map[string]float64 // independent variables of this recording
	Labels     map[string]string  `json:",omitempty"` // what else tells it apart: the propeller's name, the day
}
