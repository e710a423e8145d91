// Package clock recognises the channel of a recording that holds the time, and
// takes the sampling rate from it. Text files and files of named arrays use it.
package clock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// names are names of channels that hold the time, in lower case with blanks for underlines, and
// the unit that the name itself states.
var names = map[string]string{
	"time": "", "t": "", "times": "", "timestamp": "", "time stamp": "", "elapsed": "", "elapsed time": "",
	"unix time": "", "zeit": "", "temps": "", "second": "s", "seconds": "s", "sec": "s", "secs": "s",
	"millis": "ms", "msec": "ms", "millisecond": "ms", "milliseconds": "ms", "ms": "ms",
	"micros": "us", "usec": "us", "microsecond": "us", "microseconds": "us", "us": "us", "µs": "us",
	"relative time": "", "rel time": "", "epoch": "", "uhrzeit": "", "laufzeit": "", "messzeit": "", "tiempo": "",
	"tempo": "", "tijd": "", "in s": "s",
	"sekunde": "s", "sekunden": "s", "millisekunden": "ms",
}

// camel finds the unit that a capital begins, as in timeMs.
var camel = regexp.MustCompile(`^([a-z]+)([A-Z][A-Za-z]*)$`)

// numbered finds numbers of a column or a rate beside its name: 1:t, Zeit  1 - Standard-Messrate.
var numbered = regexp.MustCompile(`^#?\d+ ?: *| +\d+ - .*$`)

// axes are names of a horizontal axis, which is one of time where its unit is one.
var axes = map[string]bool{"x": true, "x axis": true, "x-axis": true, "source": true}

// units gives the seconds in a unit of time.
var units = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "sek": 1, "seg": 1,
	"ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
	"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "µsec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
	"ns": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
	"min": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400,
}

// Seconds returns the seconds in a unit of time, 1 for "". netCDF writes "seconds since DATE".
func Seconds(unit string) (s float64, known bool) {
	unit, _, _ = strings.Cut(strings.TrimRight(unit, "."), " since ")
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

// Named reports whether a channel of that name and unit holds the time, and its unit, which the name
// may state: time_ms, millis.
func Named(name, unit string) (string, bool) {
	word := camel.ReplaceAllString(numbered.ReplaceAllString(strings.TrimSpace(name), ""), "$1 $2")
	word = strings.ToLower(strings.NewReplacer("_", " ", " in ", " ", " / ", "/").Replace(word))

	own, ok := names[word]
	word = strings.TrimRight(word, ".)")
	if i := strings.LastIndexAny(word, " -./:("); !ok && i > 0 {
		base, end := strings.TrimRight(word[:i], " -@"), word[i+1:]
		if _, ok = names[base]; ok {
			own, ok = end, Unit(end) && (len(base) > 1 || units[end] <= 1) // t_min is a least t
		}

		word = base
	}

	if unit == "" || ok && unit == "S" {
		unit = cmp.Or(own, strings.ToLower(unit))
	}

	if word == "t" && strings.HasPrefix(name, "T") {
		return unit, false // a temperature, a thrust, a torque
	}

	_, known := Seconds(unit)

	return unit, known && (ok || axes[word] && unit != "")
}

// Find returns the one of channels that holds the time, −1 for none, and gives it the unit that its
// name states. names are those a channel goes by. A letter holds the time where no word does, and
// its unit or its even steps show it; one whose steps do not is warned of.
func Find(r ingest.Reader, channels []int, names func(channel int) []string) (int, []ingest.Warning) {
	info := r.Info()
	for _, letters := range []bool{false, true} {
		for _, c := range channels {
			ch := &info.Channels[c]
			for _, name := range names(c) {
				unit, ok := Named(name, ch.Unit)

				switch letter := len(name) == 1; {
				case !ok || letter != letters:
				case letter && ch.Unit == "" && !even(r, c):
					return -1, []ingest.Warning{ingest.Warn(info.Path, "clock-useless", "%s has no even steps: it is not taken for "+
						"the time, and no rate is taken from it; if it is the time, name it: text: {time: %[1]s}", ch.Name)}
				default:
					ch.Unit = unit
					return c, nil
				}
			}
		}
	}

	return -1, nil
}

// even reports whether most of the first steps of a channel are alike.
func even(r ingest.Reader, c int) bool {
	t := make([]float64, min(r.Info().Channels[c].Samples, 1024))
	if n, err := r.Read([]int{c}, 0, [][]float64{t}); n < len(t) || err != nil && !errors.Is(err, io.EOF) {
		return false
	}

	step, alike := 1/stepRate(t), 0
	for i := 1; i < len(t); i++ {
		if math.Abs(t[i]-t[i-1]-step) <= 0.5*step {
			alike++
		}
	}

	return 4*alike >= 3*(len(t)-1)
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

// Contradiction returns a warning where channel c of a known rate is of another rate than its clock, a
// channel of r, by more than 2 %.
func Contradiction(r ingest.Reader, c, clock int) []ingest.Warning {
	info := r.Info()
	ch, of := info.Channels[c], info.Channels[clock]

	t, err := Read(r, clock, "channel")
	if err != nil || t.RateHz == 0 || math.Abs(t.RateHz-ch.RateHz) <= 0.02*ch.RateHz {
		return nil
	}

	for _, unit := range []float64{1e3, 1e6, 1e9} { // ms, us, ns that are not stated
		if of.Unit == "" && math.Abs(t.RateHz*unit-ch.RateHz) <= 0.02*ch.RateHz {
			return nil
		}
	}

	return []ingest.Warning{ingest.Warn(info.Path, "rates-contradict", "channel %s: the file states a rate of %g Hz, the "+
		"steps of channel %s give %.6g Hz: %[2]g Hz is used; correct the wrong one", ch.Name, ch.RateHz, of.Name, t.RateHz)}
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
	if unit, ok := Named(info.Channels[c].Name, info.Channels[c].Unit); ok { // where the user chose it
		info.Channels[c].Unit = unit
	}

	ch := info.Channels[c]
	scale, known := Seconds(ch.Unit)
	if !known {
		return out, fault.At(info.Path, noun+" "+ch.Name, "a unit of time", strconv.Quote(ch.Unit), "")
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
	if unit := unstated(out, ch.Samples); ch.Unit == "" && unit != "" {
		scale, info.Channels[c].Unit = units[unit], unit
		if unit == "day" {
			out.Doubt = fmt.Sprintf("%s %s states no unit, and its numbers are days as a spreadsheet counts them: days are "+
				"taken; where they are s, state it: %[2]s (s)", noun, ch.Name)
		}
	}

	out.Seconds = (ends[1] - ends[0]) * scale
	out.EndsHz = float64(ch.Samples-1) / out.Seconds
	if !(out.EndsHz > 0) || math.IsInf(out.EndsHz, 0) {
		return out, nil
	}

	head := make([]float64, min(ch.Samples, 1024))
	if _, err := r.Read([]int{c}, 0, [][]float64{head}); err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}

	if ch.Unit == "" && scale == 1 && out.Seconds >= float64(ch.Samples-1) && whole(head) {
		out.Doubt = fmt.Sprintf("%s %s holds whole numbers and states no unit: seconds are assumed; where they are ms, "+
			"state it: %[2]s (ms), or give rate_hz", noun, ch.Name)
	}

	out.RateHz = out.EndsHz
	if local := stepRate(head) / scale; local > 0 && !math.IsInf(local, 0) && math.Abs(local-out.EndsHz) > 0.02*local {
		out.RateHz, out.Gaps = local, true
	}

	return out, nil
}

// unstated returns the unit of a clock without one that its numbers show, "" if none: ms, us or ns
// since 1970; days where steps are round in them and not in seconds, or so small in this century.
func unstated(t Reading, samples int64) string {
	for unit, from := range map[string]float64{"ms": 1e12, "us": 1e15, "ns": 1e18} {
		if t.First >= from && t.First < 10*from {
			return unit
		}
	}

	step := (t.Last - t.First) / float64(samples-1)
	if !round(step) && round(step*units["day"]) || t.First >= 36526 && t.First < 73051 && step < 1e-4 {
		return "day"
	}

	return ""
}

// round reports whether a step is 1, 2, 2.5 or 5 times a power of ten.
func round(step float64) bool {
	mantissa := step / math.Pow(10, math.Floor(math.Log10(step)))
	return slices.ContainsFunc([]float64{1, 2, 2.5, 5, 10}, func(m float64) bool {
		return math.Abs(mantissa-m) < 1e-4*m
	})
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
