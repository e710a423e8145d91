// Package clock recognises the channel of a recording that holds the time, and
// takes the sampling rate from it. Text files and files of named arrays use it.
package clock

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// names are names, in lower case, of channels that hold the time.
var names = map[string]bool{
	"time": true, "t": true, "times": true, "timestamp": true, "time stamp": true, "elapsed": true, "elapsed time": true,
	"time_s": true, "t_s": true, "unix_time": true, "unix time": true, "seconds": true, "zeit": true, "temps": true,
}

// units gives the seconds in a unit of time.
var units = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
	"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
	"ns": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
	"min": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400,
}

// Seconds returns the seconds in a unit of time, 1 for "". netCDF writes "seconds since DATE".
func Seconds(unit string) (s float64, known bool) {
	unit, _, _ = strings.Cut(unit, " since ")
	if s, known = units[unit]; !known && len(unit) > 1 { // S is siemens
		s, known = units[strings.ToLower(unit)]
	}

	return s, known
}

// Unit reports whether a text is a unit of time.
func Unit(text string) bool {
	_, known := Seconds(text)
	return known && text != ""
}

// Named reports whether a channel of that name and unit holds the time.
func Named(name, unit string) bool {
	_, known := Seconds(unit)
	return known && names[strings.ToLower(name)]
}

// Mark gives a channel the attribute that Channel.IsTime looks for, and the
// unit s where it has none.
func Mark(c *ingest.Channel) {
	c.Unit, _, _ = strings.Cut(c.Unit, " since ")
	if !c.IsTime() {
		c.Attributes = append(c.Attributes[:len(c.Attributes):len(c.Attributes)],
			ingest.Attribute{Name: "role", Value: "time"})
	}

	if c.Unit == "" {
		c.Unit = "s"
	}
}

// Reading is the result of reading a clock.
type Reading struct {
	RateHz      float64 // 0 where the clock stops or runs backwards
	First, Last float64 // in the clock's unit
	Seconds     float64 // from the first to the last
	EndsHz      float64 // (n − 1)/(t_last − t_first)
	Doubt       string  // why the unit may be another, for people; "": it is stated or plausible
	Gaps        bool    // the first steps give another rate, by more than 2 %: RateHz is theirs
}

// Read takes the rate of channel c of r from its ends, unless its first 1024
// steps differ by more than 2 %: where a recording pauses, its ends do not give
// the rate. noun is the file's word for a channel. A channel without a
// unit of time is a *fault.Error.
func Read(r ingest.Reader, c int, noun string) (out Reading, err error) {
	info := r.Info()
	ch := info.Channels[c]
	scale, known := Seconds(ch.Unit)
	if !known {
		return out, &fault.Error{
			Path: info.Path, Place: noun + " " + ch.Name, Want: "a unit of time",
			Found: strconv.Quote(ch.Unit),
		}
	}

	if ch.Samples < 2 {
		return out, nil
	}

	var ends [2]float64
	for i, at := range []int64{0, ch.Samples - 1} {
		if _, err := r.Read([]int{c}, at, [][]float64{ends[i : i+1]}); err != nil && !errors.Is(err, io.EOF) {
			return out, err
		}
	}

	out.First, out.Last = ends[0], ends[1]
	out.Seconds = (ends[1] - ends[0]) * scale
	out.EndsHz = float64(ch.Samples-1) / out.Seconds
	if !(out.EndsHz > 0) || math.IsInf(out.EndsHz, 0) {
		return out, nil
	}

	head := make([]float64, min(ch.Samples, 1024))
	if _, err := r.Read([]int{c}, 0, [][]float64{head}); err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}

	if ch.Unit == "" && out.Seconds >= float64(ch.Samples-1) && whole(head) {
		out.Doubt = fmt.Sprintf("%s %s holds whole numbers and states no unit: seconds are assumed; where they are ms, "+
			"state it: %[2]s (ms), or give rate_hz", noun, ch.Name)
	}

	out.RateHz = out.EndsHz
	if local := stepRate(head) / scale; local > 0 && !math.IsInf(local, 0) && math.Abs(local-out.EndsHz) > 0.02*local {
		out.RateHz, out.Gaps = local, true
	}

	return out, nil
}

// Odd returns a warning where a rate that a file gives is hardly one of a recording;
// of is what has it.
func Odd(path, of string, hz float64) []ingest.Warning {
	if hz == 0 || hz >= 0.1 && hz <= 1e7 {
		return nil
	}

	return []ingest.Warning{{Path: path, Code: "odd-rate", Text: fmt.Sprintf(
		"%s: %.4g Hz is a rate outside 0.1 Hz … 10 MHz: is the unit of the time another than stated?", of, hz)}}
}

// whole reports whether all values are whole numbers.
func whole(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) })
}

// stepRate is the inverse of the mean step, steps beyond twice the median (and
// backward ones) left out; NaN if there are none.
func stepRate(t []float64) float64 {
	var steps []float64
	for i := 1; i < len(t); i++ {
		if d := t[i] - t[i-1]; d > 0 {
			steps = append(steps, d)
		}
	}

	if len(steps) == 0 {
		return math.NaN()
	}

	sort.Float64s(steps)
	limit := 2 * steps[len(steps)/2]

	sum, n := 0.0, 0
	for _, d := range steps {
		if d <= limit {
			sum += d
			n++
		}
	}

	return float64(n) / sum
}
