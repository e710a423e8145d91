// Package clock recognises the channel of a recording that contains the time, the clock, and computes the sampling rate
// from its values. The readers of text files and of files with named arrays use it.
//
// Find finds the clock by its name and its unit, Read computes the rate, and Contradiction compares the clock with a
// rate that the file states elsewhere.
package clock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
)

// names has the names of channels that contain the time, in lower case and with blanks for underscores. Each has the
// unit that the name states, and "" if it states none.
var names = map[string]string{
	"time": "", "t": "", "times": "", "timestamp": "", "time stamp": "", "elapsed": "", "elapsed time": "",
	"unix time": "", "zeit": "", "temps": "", "second": "s", "seconds": "s", "sec": "s", "secs": "s",
	"millis": "ms", "msec": "ms", "millisecond": "ms", "milliseconds": "ms", "ms": "ms",
	"micros": "us", "usec": "us", "microsecond": "us", "microseconds": "us", "us": "us", "µs": "us",
	"relative time": "", "rel time": "", "epoch": "", "uhrzeit": "", "laufzeit": "", "messzeit": "", "tiempo": "",
	"tempo": "", "tijd": "", "in s": "s",
	"sekunde": "s", "sekunden": "s", "millisekunden": "ms",
}

// camel splits a name from a unit that a capital letter begins, as in timeMs.
var camel = regexp.MustCompile(`^([a-z]+)([A-Z][A-Za-z]*)$`)

// numbered matches the number of a column before its name and the number and name of a rate behind it, as in "1:t" and
// "Zeit  1 - Standard-Messrate".
var numbered = regexp.MustCompile(`^#?\d+ ?: *| +\d+ - .*$`)

// axes has the names of a horizontal axis. Such a channel is the time if its unit is a unit of time.
var axes = map[string]bool{"x": true, "x axis": true, "x-axis": true, "source": true}

// units has the number of seconds in each unit of time. No unit means seconds.
var units = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "sek": 1, "seg": 1,
	"ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
	"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "µsec": 1e-6, "microsecond": 1e-6, "microseconds": 1e-6,
	"ns": 1e-9, "nanosecond": 1e-9, "nanoseconds": 1e-9,
	"min": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "day": 86400, "days": 86400,
}

// Seconds returns the number of seconds in a unit of time, and 1 for "". It accepts netCDF's "seconds since DATE". It
// returns false for other units.
func Seconds(unit string) (seconds float64, known bool) {
	unit, _, _ = strings.Cut(strings.TrimRight(unit, "."), " since ")

	seconds, known = units[unit]
	if !known && len(unit) > 1 { // a single S is siemens
		seconds, known = units[strings.ToLower(unit)]
	}

	return seconds, known
}

// IsUnit reports whether a text is a unit of time.
func IsUnit(text string) bool {
	_, known := Seconds(text)
	return known && text != ""
}

// Named reports whether a channel with this name and unit contains the time. It also returns the channel's unit of
// time, which the name may state: time_ms, millis.
func Named(name, unit string) (timeUnit string, isTime bool) {
	word, stated, isName := splitName(name)
	if unit == "" || isName && unit == "S" {
		unit = cmp.Or(stated, strings.ToLower(unit))
	}

	if word == "t" && strings.HasPrefix(name, "T") {
		return unit, false // a temperature, a thrust, a torque
	}

	_, known := Seconds(unit)
	isAxis := axes[word] && unit != ""

	return unit, known && (isName || isAxis)
}

// splitName returns the name of a channel in the spelling of names, without a unit behind it, and the unit that the
// name states: "time" and "ms" for time_ms. isName reports whether the name is one of time.
func splitName(name string) (word, stated string, isName bool) {
	word = camel.ReplaceAllString(numbered.ReplaceAllString(strings.TrimSpace(name), ""), "$1 $2")
	word = strings.ToLower(strings.NewReplacer("_", " ", " in ", " ", " / ", "/").Replace(word))

	stated, isName = names[word]

	word = strings.TrimRight(word, ".)")
	i := strings.LastIndexAny(word, " -./:(")
	if isName || i <= 0 {
		return word, stated, isName
	}

	unit := word[i+1:]
	word = strings.TrimRight(word[:i], " -@")
	if _, isName = names[word]; !isName {
		return word, stated, false
	}

	isShort := units[unit] <= 1 // t_min is not t in minutes but the smallest t

	return word, unit, IsUnit(unit) && (len(word) > 1 || isShort)
}

// Find returns the channel among the given ones that contains the time, and −1 if there is none. It writes the unit of
// time into r's Info. names returns the names of a channel. A channel whose name is a single letter, t, is the time
// only if no channel has a longer name of time, and if its unit or its even steps confirm it. Find returns a warning
// about such a channel whose steps are not even.
func Find(r ingest.Reader, channels []int, names func(channel int) []string) (int, []ingest.Warning) {
	info := r.Info()
	for _, wantLetter := range []bool{false, true} { // longer names first
		for _, c := range channels {
			ch := &info.Channels[c]
			for _, name := range names(c) {
				unit, ok := Named(name, ch.Unit)
				isLetter := len(name) == 1

				switch {
				case !ok || isLetter != wantLetter:
				case isLetter && ch.Unit == "" && !isEven(r, c):
					return -1, []ingest.Warning{ingest.Warn(info.Path, "clock-useless", "%s has no even steps: it is not taken for "+
						"the time, and no rate is taken from it; if it is the time, name it: text: {time: %s}",
						ch.Name, spelling.YAML(ch.Name))}
				default:
					ch.Unit = unit
					return c, nil
				}
			}
		}
	}

	return -1, nil
}

// headSamples is the number of samples at the beginning of a clock from which even and Read take its first steps.
const headSamples = 1024

// isEven reports whether at least three quarters of the first steps of a channel differ by at most half a step from
// their mean. It reports true if the channel cannot be read.
func isEven(r ingest.Reader, c int) bool {
	times := make([]float64, min(r.Info().Channels[c].Samples, headSamples))
	n, err := r.Read([]int{c}, 0, [][]float64{times})
	failed := err != nil && !errors.Is(err, io.EOF)
	if failed || n < len(times) {
		return true // Read returns the error again
	}

	step := 1 / stepRate(times)
	alike := 0
	for i := 1; i < len(times); i++ {
		if math.Abs(times[i]-times[i-1]-step) <= 0.5*step {
			alike++
		}
	}

	return 4*alike >= 3*(len(times)-1)
}

// Mark marks a channel as the time by an attribute, so that Channel.IsTime returns true for it. A channel without a
// unit gets the unit s, and netCDF's "s since DATE" becomes s.
func Mark(c *ingest.Channel) {
	c.Unit, _, _ = strings.Cut(c.Unit, " since ")
	if !c.IsTime() {
		// Other channels may share the attributes, so they are copied.
		c.Attributes = append(slices.Clip(c.Attributes), ingest.Attribute{Name: "role", Value: "time"})
	}

	if c.Unit == "" {
		c.Unit = "s"
	}
}

// Contradiction returns a warning if the rate of channel c of r differs from the rate of its clock, another channel of
// r, by more than rateTolerance. It returns none if the clock gives no rate. If the clock has no unit and agrees in ms,
// µs or ns, Contradiction returns none and writes that unit into r's Info.
func Contradiction(r ingest.Reader, c, clock int) []ingest.Warning {
	info := r.Info()
	ch := info.Channels[c]
	timeChannel := &info.Channels[clock]

	t, err := Read(r, clock, "channel")
	if err != nil || t.RateHz == 0 || isNear(t.RateHz, ch.RateHz) {
		return nil
	}

	for _, unit := range []string{"ms", "us", "ns"} {
		if timeChannel.Unit == "" && isNear(t.RateHz/units[unit], ch.RateHz) {
			timeChannel.Unit = unit
			return nil
		}
	}

	return []ingest.Warning{ingest.Warn(info.Path, "rates-contradict", "channel %s: the file states a rate of %g Hz, the "+
		"steps of channel %s give %.6g Hz: %[2]g Hz is used; correct the wrong one", ch.Name, ch.RateHz, timeChannel.Name,
		t.RateHz)}
}

// rateTolerance is the largest relative difference of two rates that count as equal.
const rateTolerance = 0.02

// isNear reports whether hz differs from another rate by at most rateTolerance.
func isNear(hz, other float64) bool { return math.Abs(hz-other) <= rateTolerance*other }

// Reading is the result of reading a clock.
type Reading struct {
	RateHz      float64 // 0 if the clock stops or runs backwards
	First, Last float64 // the first and the last value, in the clock's unit
	Seconds     float64 // time from the first to the last value, in s
	EndsHz      float64 // (n − 1)/(last − first) in Hz, for n samples
	Doubt       string  // why the unit may be another, for people; "" if it is stated or plausible
	Gaps        bool    // RateHz is the rate of the first steps, because it differs from EndsHz by more than rateTolerance
}

// Read computes the rate of a clock, channel c of r. The rate follows from the first and the last value, unless the
// first steps give a rate that differs by more than rateTolerance: then the recording pauses, and the rate is that of
// the first steps. noun is the file's word for a channel, for messages. Read writes the unit that it finds into r's
// Info. It returns a *fault.Error if the channel has another unit than one of time.
func Read(r ingest.Reader, c int, noun string) (Reading, error) {
	info := r.Info()
	// The user may have chosen the channel, so that Find did not look at its name.
	if unit, ok := Named(info.Channels[c].Name, info.Channels[c].Unit); ok {
		info.Channels[c].Unit = unit
	}

	ch := info.Channels[c]
	scale, known := Seconds(ch.Unit)
	if !known {
		return Reading{}, fault.At(info.Path, noun+" "+ch.Name, "a unit of time", strconv.Quote(ch.Unit), "")
	}

	if ch.Samples < 2 {
		return Reading{}, nil
	}

	var ends [2]float64
	for i, start := range []int64{0, ch.Samples - 1} {
		if _, err := r.Read([]int{c}, start, [][]float64{ends[i : i+1]}); err != nil && !errors.Is(err, io.EOF) {
			return Reading{}, err
		}
	}

	t := Reading{First: ends[0], Last: ends[1]}
	if unit := unstated(t, ch.Samples); ch.Unit == "" && unit != "" {
		scale = units[unit]
		info.Channels[c].Unit = unit
		if unit == "day" {
			t.Doubt = fmt.Sprintf("%s %s states no unit, and its numbers are days as a spreadsheet counts them: days are "+
				"taken; if they are s, state it: %[2]s (s)", noun, ch.Name)
		}
	}

	t.Seconds = (t.Last - t.First) * scale
	t.EndsHz = float64(ch.Samples-1) / t.Seconds
	if !(t.EndsHz > 0) || math.IsInf(t.EndsHz, 0) {
		return t, nil
	}

	head := make([]float64, min(ch.Samples, headSamples))
	if _, err := r.Read([]int{c}, 0, [][]float64{head}); err != nil && !errors.Is(err, io.EOF) {
		return t, err
	}

	mayBeMillis := t.Seconds >= float64(ch.Samples-1) && areWhole(head) // steps of at least 1, all values whole
	if ch.Unit == "" && scale == 1 && mayBeMillis {
		t.Doubt = fmt.Sprintf("%s %s holds whole numbers and states no unit: seconds are assumed; if they are ms, "+
			"state it: %[2]s (ms), or give rate_hz", noun, ch.Name)
	}

	t.RateHz = t.EndsHz

	local := stepRate(head) / scale
	if local > 0 && !math.IsInf(local, 0) && math.Abs(local-t.EndsHz) > rateTolerance*local {
		t.RateHz = local
		t.Gaps = true
	}

	return t, nil
}

// unstated guesses the unit of a clock without unit from its numbers. It recognises times in ms, us or ns since 1970 by
// their size. The unit is a day in two cases: the steps are round numbers of seconds if they are taken for days, but
// not if they are taken for seconds; or the first time is a day of this century, as spreadsheets count days, and the
// steps are far below a day. Otherwise unstated returns "".
func unstated(t Reading, samples int64) string {
	for unit, least := range map[string]float64{"ms": 1e12, "us": 1e15, "ns": 1e18} {
		if t.First >= least && t.First < 10*least {
			return unit
		}
	}

	const (
		year2000 = 36526 // in days since 1899-12-30
		year2100 = 73051
	)

	step := (t.Last - t.First) / float64(samples-1)
	roundInDays := !isRound(step) && isRound(step*units["day"])
	smallInDays := t.First >= year2000 && t.First < year2100 && step > 0 && step < 1e-4
	if roundInDays || smallInDays {
		return "day"
	}

	return ""
}

// isRound reports whether a step is 1, 2, 2.5 or 5 times a power of ten, within a relative error of 1e-4.
func isRound(step float64) bool {
	mantissa := step / math.Pow(10, math.Floor(math.Log10(step)))
	return slices.ContainsFunc([]float64{1, 2, 2.5, 5, 10}, func(m float64) bool {
		return math.Abs(mantissa-m) < 1e-4*m
	})
}

// Odd returns a warning if the rate that a file states is implausible for a recording. It returns none if the rate is
// not known (0). place says for people what has the rate.
func Odd(path, place string, hz float64) []ingest.Warning {
	isPlausible := hz >= 0.1 && hz <= 1e7
	if hz == 0 || isPlausible {
		return nil
	}

	return []ingest.Warning{{Path: path, Code: "odd-rate", Text: fmt.Sprintf(
		"%s: %s Hz is a rate outside 0.1 Hz … 10 MHz: is the unit of the time another than stated?", place,
		fault.Digits(hz, 4))}}
}

// areWhole reports whether all values are whole numbers.
func areWhole(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) })
}

// stepRate returns the inverse of the mean step of a clock. Steps backwards, and steps of more than twice the median
// (pauses), are left out. stepRate returns NaN if no steps are left.
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

	slices.Sort(steps)
	limit := 2 * steps[len(steps)/2] // twice the median

	sum := 0.0
	n := 0
	for _, d := range steps {
		if d <= limit {
			sum += d
			n++
		}
	}

	return float64(n) / sum
}
