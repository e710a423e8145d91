// Package arrays makes channels of a file's named arrays. HDF5, MAT, NPZ, TDMS
// and Arrow files share it.
//
// An array of one axis is a channel. One of more axes has one in time (see Axes) and
// a channel for each index of the others, "name[3]" or "name[3,1]", counted from 1. A
// single number or a text is an attribute of the file, not a channel. Rate, unit and
// clock are found by customary names, packed numbers by the conventions of netCDF.
package arrays

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// Customary names, lower case (docs/method.md#layouts-of-published-files).
var (
	rateNames = []string{
		"rate_hz", "fs", "fs_hz", "rate", "sample_rate", "samplerate", "sample_rate_hz",
		"sampling_rate", "samplingrate", "sampling_rate_hz", "sampling_frequency", "samplingfrequency",
		"sampling_frequency_hz", "sr", "sample_freq", "sampleratehz", "data.samplingrate",
	}
	periodNames = []string{
		"channelinformationsamplingperiod", "samplingperiod", "sampling_period", "sampling_period_s",
		"wf_increment", "dt", "dt_s",
	}
	unitNames = []string{"unit", "units", "unit_string", "channelinformationunit", "physical_unit"}
)

// maxChannels bounds the channels a file may claim: each takes memory in addition to
// its samples.
const maxChannels = 1 << 16

// Plane delivers the samples of an array's channels: Read fills dst[i] with those of channels[i]
// from start on, all of which there are. Arrays may share one Plane: they are then read in one
// call. Planes are compared with ==.
type Plane interface {
	Read(channels []int, start int64, dst [][]float64) error
}

// Of returns the channels of a Reader as a Plane.
func Of(r ingest.Reader) Plane { return channels{r} }

type channels struct{ of ingest.Reader }

// Read implements Plane.
func (c channels) Read(channels []int, start int64, dst [][]float64) error {
	n, err := c.of.Read(channels, start, dst)
	switch {
	case n == len(dst[0]):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}

	return err
}

// Array is an array of numbers.
type Array struct {
	Name        string
	Dims        []int64 // its axes
	Axis        int     // that of time, as Axes finds it
	ColumnMajor bool    // how its channels are counted: the first of the other axes runs fastest, not the last
	Unit        string  // "" where the file does not state it
	Group       string  // whose attributes hold for it too: "/a" of "/a/b"
	RateHz      float64 // 0 where the file does not state it
	Attributes  []ingest.Attribute
	Quantum     Quantum
	Plane       Plane
	First       int // the array's first channel in Plane
}

// Quantum is the step of stored integers and their limits; zeros for others.
type Quantum struct{ Step, Low, High float64 }

// Integers returns the quantum of integers of that many bits.
func Integers(bits int, signed bool) Quantum {
	if signed {
		return Quantum{1, -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1}
	}
	return Quantum{1, 0, math.Ldexp(1, bits) - 1}
}

// QuantumOf returns the quantum of a type by its usual name: integers of up to
// 32 bits, "int8" … "uint32".
func QuantumOf(name string) Quantum {
	if k, ok := raw.Named(name); ok && k.Integer() && k.Bytes() <= 4 {
		return Integers(8*k.Bytes(), k.Signed())
	}
	return Quantum{}
}

// Number writes a number in its shortest exact form.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Reader is the ingest.Reader of a file of named arrays: New, then Add for each
// of them, Attribute, Unread, and at last Finish. It implements
// ingest.Quantized and ingest.Spectral.
type Reader struct {
	info    ingest.Info
	planes  []Plane
	at      []place // per channel of info
	closers []io.Closer

	contradicts bool // a rate that two attributes state was warned of

	quantum Quantum // when all channels share it
	mixed   bool    // they do not
}

// place is where the samples of a channel are.
type place struct {
	plane   int
	channel int
	group   string
}

// New returns a Reader without arrays. info holds path, format and encoding.
// Close closes what closers there are.
func New(info ingest.Info, closers ...io.Closer) *Reader {
	return &Reader{info: info, closers: closers}
}

// Closes adds what Close closes.
func (r *Reader) Closes(c io.Closer) { r.closers = append(r.closers, c) }

// Warn adds warnings about the file.
func (r *Reader) Warn(ws ...ingest.Warning) {
	for _, w := range ws {
		w.Path = r.info.Path
		r.info.Warnings = append(r.info.Warnings, w)
	}
}

// Info implements ingest.Reader.
func (r *Reader) Info() ingest.Info { return r.info }

// Close implements ingest.Reader.
func (r *Reader) Close() error {
	return errors.Join(lists.Each(r.closers, io.Closer.Close)...)
}

// Quantum implements ingest.Quantized.
func (r *Reader) Quantum() (step, low, high float64) {
	if r.mixed {
		return 0, 0, 0
	}
	return r.quantum.Step, r.quantum.Low, r.quantum.High
}

// Read implements ingest.Reader. Where the channels asked for differ in length, it
// ends with the shortest.
func (r *Reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	if want == 0 {
		return 0, nil
	}

	n := int64(want)
	for _, c := range channels {
		n = min(n, r.info.Channels[c].Samples-start)
	}

	if n <= 0 {
		return 0, io.EOF
	}

	// The channels of one array in one call: they may lie interleaved.
	done := make([]bool, len(channels))
	for i, c := range channels {
		if done[i] {
			continue
		}

		var own []int

		var to [][]float64
		for j := i; j < len(channels); j++ {
			if p := r.at[channels[j]]; p.plane == r.at[c].plane {
				own, to, done[j] = append(own, p.channel), append(to, dst[j][:n]), true
			}
		}

		if err := r.planes[r.at[c].plane].Read(own, start, to); err != nil {
			return 0, fault.In(r.info.Path, err)
		}
	}

	if n < int64(want) {
		return int(n), io.EOF
	}

	return int(n), nil
}

// Axes returns the axis of time of a shape: the first that is found of
//   - the axis that o names,
//   - the axis whose name says that it is time,
//   - the axis that has as many values as the clock of the array,
//   - the longest axis, if it is the first or the last.
//
// names are the axes' names and clock the samples of the clock; nil and 0 where there
// are none. Where none is found, Axes returns an error that says what to write.
func Axes(dims []int64, names []string, clock int64, o ingest.ArrayOptions) (axis int, err error) {
	var named, clocked []int

	long, equal := 0, false
	for i, d := range dims {
		if d > 1 {
			long++
		}

		if i < len(names) && IsTime(names[i]) {
			named = append(named, i)
		}

		if d == clock && d > 1 {
			clocked = append(clocked, i)
		}

		switch {
		case i == 0 || d > dims[axis]:
			axis, equal = i, false
		case d == dims[axis]:
			equal = true
		}
	}

	want := ""
	switch {
	case long > 1 && o.TimeAxis == "first":
		return 0, nil
	case long > 1 && o.TimeAxis == "last":
		return len(dims) - 1, nil
	case long > 1 && o.TimeAxis == "middle" && len(dims) == 3:
		return 1, nil
	case len(named) == 1:
		return named[0], nil
	case long <= 1:
		return axis, nil
	case len(clocked) == 1:
		return clocked[0], nil
	case equal:
		want = "one longest axis, which is time"
	case len(names) == 0 && axis > 0 && axis < len(dims)-1:
		want = "time as the first or the last axis, or a name of each axis"
	default:
		return axis, nil
	}

	return axis, fault.At("", "", want, fmt.Sprintf("shape %v", dims),
		"set arrays: {time_axis: first}, middle or last in the configuration, or name the channels to use if it is none")
}

// IsTime reports whether an array or an axis of that name, or of a path that ends so,
// holds or counts the time.
func IsTime(name string) bool {
	leaf := strings.ToLower(leaf(name))
	_, time := clock.Named(leaf, "")

	return time || leaf == "sample" || leaf == "samples"
}

// leaf is the end of a path.
func leaf(name string) string { return name[strings.LastIndexAny(name, "/.")+1:] }

// split returns the samples of a channel and the number of channels of a shape.
func split(dims []int64, axis int) (frames, channels int64) {
	frames, channels = dims[axis], 1
	for i, d := range dims {
		if i != axis {
			if d > maxChannels || channels > maxChannels {
				return frames, math.MaxInt64
			}
			channels *= d
		}
	}

	return frames, channels
}

// Add makes the channels of an array.
func (r *Reader) Add(a Array) error {
	axis := a.Axis
	frames, channels := split(a.Dims, axis)
	if channels > maxChannels || int64(len(r.info.Channels))+channels > maxChannels {
		return fault.At(r.info.Path, "array "+a.Name, fmt.Sprintf("at most %d channels in a file", maxChannels),
			fmt.Sprintf("shape %v", a.Dims), "")
	}

	if len(r.info.Channels) > 0 && a.Quantum != r.quantum {
		r.mixed = true
	}

	r.quantum = a.Quantum

	var others []int64
	for i, d := range a.Dims {
		if i != axis && (d > 1 || len(a.Dims) > 2 && channels > 1) {
			others = append(others, d)
		}
	}

	if n := len(r.planes); n == 0 || r.planes[n-1] != a.Plane {
		r.planes = append(r.planes, a.Plane)
	}

	index := make([]int64, len(others))
	for c := range channels {
		ch := ingest.Channel{Name: a.Name, Unit: a.Unit, RateHz: a.RateHz, Samples: frames, Attributes: a.Attributes}
		if len(others) > 0 {
			rest := c
			for k := range others {
				i := k
				if !a.ColumnMajor {
					i = len(others) - 1 - k // the last index runs fastest
				}

				index[i] = rest%others[i] + 1
				rest /= others[i]
			}

			ch.Name += strings.ReplaceAll(fmt.Sprint(index), " ", ",")
		}

		r.info.Channels = append(r.info.Channels, ch)
		r.at = append(r.at, place{len(r.planes) - 1, a.First + int(c), a.Group})
	}

	return nil
}

// Single adds the number of an array of one as an attribute.
func (r *Reader) Single(name string, p Plane) error {
	var x [1]float64
	if err := p.Read([]int{0}, 0, [][]float64{x[:]}); err != nil {
		return err
	}

	r.Attribute(name, Number(x[0]))

	return nil
}

// Parts reads samples of every row from start on, of parts one after another, the last sample of
// each before ends[part]. read fills x from sample at of a part.
func Parts(ends []int64, start int64, dst [][]float64, read func(part int, at int64, x []float64) error) error {
	for _, x := range dst {
		from, at := int64(0), start
		for part, end := range ends {
			if n := min(int64(len(x)), end-at); n > 0 {
				if err := read(part, at-from, x[:n]); err != nil {
					return err
				}

				at, x = at+n, x[n:]
			}

			from = end
		}
	}

	return nil
}

// Parent is the struct of a value by MATLAB's names: "a.b" of "a.b.c"; "" at the top.
func Parent(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// Attribute adds an attribute of the file, or of a group as "/group@name".
func (r *Reader) Attribute(name, value string) {
	r.info.Attributes = append(r.info.Attributes, ingest.Attribute{Name: name, Value: value})
}

// Unread lists something that is no channel; isFault as ingest.Unread.Fault.
func (r *Reader) Unread(name string, isFault bool, reason string) {
	r.info.Unread = append(r.info.Unread, ingest.Unread{Name: name, Reason: reason, Fault: isFault})
}

// Finish finds units, rates and the clock. A file without channels is a
// *fault.Error with the reason.
func (r *Reader) Finish(o ingest.Options) (err error) {
	defer fault.Catch(&err)

	if len(r.info.Channels) == 0 {
		u := ingest.Unread{Reason: "none"}
		if i := slices.IndexFunc(r.info.Unread, func(u ingest.Unread) bool { return u.Fault }); len(r.info.Unread) > 0 {
			u = r.info.Unread[max(i, 0)]
		}

		return fault.At(r.info.Path, u.Name, "at least one array of numbers", u.Reason, "")
	}

	for i := range r.info.Channels {
		c := &r.info.Channels[i]
		if c.Unit == "" {
			c.Unit = r.own(i, wanted(o.Arrays.UnitAttribute, unitNames))
		}

		file, place := r.rate(i, o)

		if file > 0 {
			c.RateHz = file
		}

		c.RateHz = fault.Get(o.Rate(r.info.Path, place, c.RateHz, 1e-6))
	}

	r.findClock(o)

	for _, c := range r.info.Channels {
		if w := clock.Odd(r.info.Path, "channel "+c.Name, c.RateHz); o.RateHz == 0 && len(w) > 0 {
			r.info.Warnings = append(r.info.Warnings, w...)
			break
		}
	}

	return nil
}

func wanted(own string, custom []string) []string {
	if own != "" {
		return []string{strings.ToLower(own)}
	}
	return custom
}

// own finds an attribute of a channel.
func (r *Reader) own(channel int, wanted []string) string {
	a, _ := lists.Find(r.info.Channels[channel].Attributes, func(a ingest.Attribute) bool {
		return slices.Contains(wanted, strings.ToLower(a.Name))
	})

	return a.Value
}

// above finds an attribute of a channel's group or of the file.
func (r *Reader) above(channel int, wanted []string) string {
	marks := map[bool][]string{true: {"", "/", "@"}, false: {"@", "/", "."}} // before a name: at the top, in a group
	for g := r.at[channel].group; ; g = g[:max(0, strings.LastIndexAny(g, "/."))] {
		for _, w := range wanted {
			for _, a := range r.info.Attributes {
				mark, ok := strings.CutPrefix(strings.ToLower(a.Name), strings.ToLower(g))
				if mark, ok2 := strings.CutSuffix(mark, w); ok && ok2 && slices.Contains(marks[g == ""], mark) {
					return a.Value
				}
			}
		}

		if g == "" {
			return ""
		}
	}
}

// rate is what the file states of a channel's sampling rate, by attributes or
// numbers whose names are customary or configured; 0 if it states none.
func (r *Reader) rate(channel int, o ingest.Options) (hz float64, place string) {
	c := r.info.Channels[channel]
	place = "channel " + c.Name
	for _, way := range []struct {
		names []string
		own   string
		unit  string
	}{
		{wanted(o.Arrays.PeriodAttribute, periodNames), o.Arrays.PeriodAttribute, "s"},
		{wanted(o.Arrays.RateAttribute, rateNames), o.Arrays.RateAttribute, "Hz"},
	} {
		// The dataset's own attribute wins over its group's, that over the file's.
		above := r.above(channel, way.names)
		text := cmp.Or(r.own(channel, way.names), above)
		if text == "" {
			continue
		}

		number := func(text string) float64 { // 51,200 Hz, 51.2 kHz
			of := condition.ColumnOptions{Unit: way.unit, Decimal: condition.Point}
			if col, err := condition.ReadColumn([]string{text}, of); err == nil && col.Values != nil {
				return col.Values[0]
			}

			return math.NaN()
		}

		v, other := number(text), number(above)
		if !(v > 0) || math.IsInf(v, 0) {
			if way.own == "" {
				continue // a customary name is a guess: ignore it if its value is no number
			}

			fault.Raise(fault.At(r.info.Path, place, fmt.Sprintf("a number above zero in %q", way.own),
				strconv.Quote(fault.Clip(text)), ""))
		}

		if other > 0 && math.Abs(other-v) > 1e-3*v && !r.contradicts {
			r.contradicts = true
			r.Warn(ingest.Warn("", "rates-contradict",
				"%s: its own attribute gives %g for the sampling rate or period, its group or the file %g: the first is used",
				place, v, other))
		}

		if way.unit == "s" {
			v = 1 / v

			// A period is rounded when it is written: 1/48000 becomes 2.0833e-05.
			if near := math.Round(v); near > 0 && math.Abs(v-near) < 1e-9*v {
				v = near
			}
		}

		if hz > 0 && math.Abs(v-hz) > 1e-3*hz {
			fault.Raise(fault.At(r.info.Path, place, "",
				fmt.Sprintf("two sampling rates, %g Hz and %g Hz, in its attributes", hz, v),
				"name the one that holds in the configuration"))
		}

		hz = cmp.Or(hz, v)
	}

	return hz, place
}

// findClock marks the channel that holds the time and takes the rate from it
// where nothing else states it.
func (r *Reader) findClock(o ingest.Options) {
	clocks := map[string]int{} // group → its clock
	if o.Text.Time != "" {
		c := fault.Get(ingest.FindChannel(r.info, o.Text.Time))
		clocks[r.at[c].group] = c
	} else {
		perPlane := map[int]int{}
		for _, p := range r.at {
			perPlane[p.plane]++
		}

		groups := map[string][]int{}
		for i, c := range r.info.Channels {
			if perPlane[r.at[i].plane] == 1 && c.Samples > 1 {
				groups[r.at[i].group] = append(groups[r.at[i].group], i)
			}
		}

		for _, group := range slices.Sorted(maps.Keys(groups)) {
			if c := r.clockOf(groups[group]); c >= 0 {
				clocks[group] = c
			}
		}
	}

	rates, compared := map[int]float64{}, map[int]bool{} // by clock
	for i := range r.info.Channels {
		own, has := clocks[r.at[i].group]

		c := &r.info.Channels[i]
		if !has || c.Samples != r.info.Channels[own].Samples {
			continue
		}

		if c.RateHz != 0 {
			if i != own && !compared[own] {
				r.Warn(clock.Contradiction(r, i, own)...)
				compared[own] = true
			}

			continue
		}

		if _, known := rates[own]; !known {
			rates[own] = r.clockRate(own, o.Text.Time != "")
		}

		c.RateHz = rates[own]
	}

	for _, own := range clocks {
		clock.Mark(&r.info.Channels[own])
	}
}

// clockOf returns the one of a group's channels that holds the time, −1 for none.
func (r *Reader) clockOf(group []int) int {
	for _, i := range group {
		c := r.info.Channels[i]
		if c.IsTime() || clock.Unit(c.Unit) && (c.Role() == "coordinate" || strings.Contains(c.Unit, " since ")) {
			return i
		}
	}

	found, warnings := clock.Find(r, group, func(c int) []string {
		leaf := leaf(r.info.Channels[c].Name)
		return []string{leaf, leaf[strings.LastIndexByte(leaf, '-')+1:]} // Ds01-Time
	})
	if found < 0 && r.steady(group[0]) {
		return group[0]
	}

	r.Warn(warnings...)

	return found
}

// steady reports whether a channel of a known rate is the first of its group
// and counts the time in steps of its period
// (docs/method.md#layouts-of-published-files: in the group Table1 the first
// dataset is the time).
func (r *Reader) steady(c int) bool {
	ch := r.info.Channels[c]
	if ch.RateHz <= 0 || c > 0 && r.at[c-1].group == r.at[c].group {
		return false
	}

	t := make([]float64, min(ch.Samples, 256))
	if n, err := r.Read([]int{c}, 0, [][]float64{t}); n < len(t) || err != nil {
		return false
	}

	for i := 1; i < len(t); i++ {
		if math.Abs((t[i]-t[i-1])*ch.RateHz-1) > 0.05 {
			return false
		}
	}

	return true
}

// clockRate is the rate by a clock, 0 where it runs unevenly or backwards. stated
// tells that the user named the clock, whose unit is then s.
func (r *Reader) clockRate(c int, stated bool) float64 {
	t, err := clock.Read(r, c, "channel")
	if t.Doubt != "" && !stated {
		r.Warn(ingest.Warning{Code: "clock-unit", Text: t.Doubt})
	}

	if t.Gaps {
		r.Warn(ingest.Warn("", "clock-gaps",
			"channel %s: its ends give %.4g Hz, its first steps %.4g Hz: the recording pauses or changes its rate; "+
				"%.4[3]g Hz is used", r.info.Channels[c].Name, t.EndsHz, t.RateHz))
	}

	fault.Raise(err)
	return t.RateHz
}

// frequencyName matches names of axes of frequencies, at the end of a path.
var frequencyName = regexp.MustCompile(`(?i)^(f|freq|frequency|frequencies|freqs)([ _{(\[-].*)?$`)

// TimeSeries implements ingest.Spectral: an axis of frequencies is evenly spaced
// from 0 Hz or nearly so.
func (r *Reader) TimeSeries(channels []int) error {
	info := r.info
	n := info.Channels[channels[0]].Samples
	for i, c := range info.Channels {
		leaf := leaf(c.Name)
		if c.Samples != n || n < 8 || !frequencyName.MatchString(leaf) {
			continue
		}

		f := make([]float64, min(n, 4096))
		if got, err := r.Read([]int{i}, 0, [][]float64{f}); got < len(f) || err != nil && !errors.Is(err, io.EOF) {
			continue
		}

		df := f[1] - f[0]
		even := df > 0 && f[0] >= 0 && f[0] <= 2*df
		for k := 1; even && k < len(f); k++ {
			even = math.Abs(f[k]-f[k-1]-df) <= 1e-3*df
		}

		if even {
			return fault.At(info.Path, "channel "+info.Channels[channels[0]].Name, "a time series",
				fmt.Sprintf("a spectrum over %s (%d frequencies in steps of %g Hz)", c.Name, n, df), "pipeline inspect "+
					"shows it; two halves of a recording cannot be had from one spectrum: use the recording it was made of")
		}
	}

	return nil
}
