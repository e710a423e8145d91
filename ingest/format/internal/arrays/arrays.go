// Package arrays makes channels of a file's named arrays. HDF5, MAT, NPZ, TDMS
// and Arrow files share it.
//
// An array of one axis is a channel. One of more axes has one in time (see Axes) and
// a channel for each index of the others, "name[3]" or "name[3,1]", counted from 1. A
// single number or a text is an attribute of the file, not a channel. Rate, unit and
// clock are found by customary names, packed numbers by the conventions of netCDF.
package arrays

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/clock"
	"doubletake/ingest/format/internal/raw"
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

// Plane delivers the samples of an array's channels; Read is as in
// ingest.Reader. Arrays may share one Plane: they are then read in one call.
// Planes are compared with ==.
type Plane interface {
	Read(channels []int, start int64, dst [][]float64) (int, error)
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

// Warn adds a warning.
func (r *Reader) Warn(code, text string) {
	r.info.Warnings = append(r.info.Warnings, ingest.Warning{Path: r.info.Path, Code: code, Text: text})
}

// Info implements ingest.Reader.
func (r *Reader) Info() ingest.Info { return r.info }

// Close implements ingest.Reader.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c.Close())
	}

	return errors.Join(errs...)
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

		got, err := r.planes[r.at[c].plane].Read(own, start, to)
		if got < int(n) {
			if err == nil || errors.Is(err, io.EOF) {
				err = &fault.Error{Path: r.info.Path, Place: fmt.Sprintf("channel %s, sample %d", r.info.Channels[c].Name,
					start+int64(got)), Found: "the end of the data", Want: fmt.Sprintf("%d samples", r.info.Channels[c].Samples)}
			}

			return 0, fault.In(r.info.Path, err)
		}

		if err != nil && !errors.Is(err, io.EOF) {
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

	return axis, &fault.Error{
		Want: want, Found: fmt.Sprintf("shape %v", dims),
		Hint: "set arrays: {time_axis: first}, middle or last in the configuration, or name the channels to use if it is " +
			"none",
	}
}

// IsTime reports whether an array or an axis of that name, or of a path that ends so,
// holds or counts the time.
func IsTime(name string) bool {
	leaf := strings.ToLower(leaf(name))
	return clock.Named(leaf, "") || leaf == "sample" || leaf == "samples"
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
		return &fault.Error{
			Path: r.info.Path, Place: "array " + a.Name,
			Want: fmt.Sprintf("at most %d channels in a file", maxChannels), Found: fmt.Sprintf("shape %v", a.Dims),
		}
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

			var b strings.Builder
			for i, v := range index {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(strconv.FormatInt(v, 10))
			}

			ch.Name += "[" + b.String() + "]"
		}

		r.info.Channels = append(r.info.Channels, ch)
		r.at = append(r.at, place{len(r.planes) - 1, a.First + int(c), a.Group})
	}

	return nil
}

// Single adds the number of an array of one as an attribute.
func (r *Reader) Single(name string, p Plane) error {
	var x [1]float64
	if _, err := p.Read([]int{0}, 0, [][]float64{x[:]}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	r.Attribute(name, Number(x[0]))

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
func (r *Reader) Finish(o ingest.Options) error {
	if len(r.info.Channels) == 0 {
		if len(r.info.Unread) > 0 {
			u := r.info.Unread[0]
			for _, f := range r.info.Unread {
				if f.Fault {
					u = f
					break
				}
			}

			return &fault.Error{Path: r.info.Path, Place: u.Name, Want: "at least one array of numbers", Found: u.Reason}
		}

		return &fault.Error{Path: r.info.Path, Want: "at least one array of numbers", Found: "none"}
	}

	for i := range r.info.Channels {
		c := &r.info.Channels[i]
		if c.Unit == "" {
			c.Unit = r.lookup(i, wanted(o.Arrays.UnitAttribute, unitNames), false)
		}

		file, place, err := r.rate(i, o)
		if err != nil {
			return err
		}

		if file > 0 {
			c.RateHz = file
		}

		if c.RateHz, err = o.Rate(r.info.Path, place, c.RateHz, 1e-6); err != nil {
			return err
		}
	}

	if err := r.findClock(o); err != nil {
		return err
	}

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

// lookup finds an attribute of a channel, of its group or of the file. A
// dataset's own attribute wins over its group's, that over the file's.
func (r *Reader) lookup(channel int, wanted []string, file bool) string {
	for _, a := range r.info.Channels[channel].Attributes {
		for _, w := range wanted {
			if strings.ToLower(a.Name) == w {
				return a.Value
			}
		}
	}

	if !file {
		return ""
	}

	for g := r.at[channel].group; ; {
		for _, w := range wanted {
			for _, a := range r.info.Attributes {
				name := strings.ToLower(a.Name)
				if g != "" && (name == strings.ToLower(g)+"@"+w || name == strings.ToLower(g)+"/"+w ||
					name == strings.ToLower(g)+"."+w) ||
					g == "" && (name == w || name == "/"+w || name == "@"+w) {
					return a.Value
				}
			}
		}

		if g == "" {
			return ""
		}

		if i := strings.LastIndexAny(g, "/."); i > 0 {
			g = g[:i]
		} else {
			g = ""
		}
	}
}

// rate is what the file states of a channel's sampling rate, by attributes or
// numbers whose names are customary or configured; 0 if it states none.
func (r *Reader) rate(channel int, o ingest.Options) (hz float64, place string, err error) {
	c := r.info.Channels[channel]
	place = "channel " + c.Name
	for _, way := range []struct {
		names  []string
		own    string
		period bool
	}{
		{wanted(o.Arrays.PeriodAttribute, periodNames), o.Arrays.PeriodAttribute, true},
		{wanted(o.Arrays.RateAttribute, rateNames), o.Arrays.RateAttribute, false},
	} {
		text := r.lookup(channel, way.names, true)
		if text == "" {
			continue
		}

		v, perr := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if perr != nil || !(v > 0) || math.IsInf(v, 0) {
			if way.own == "" {
				continue // a customary name is a guess: ignore it if its value is no number
			}

			return 0, place, &fault.Error{
				Path: r.info.Path, Place: place,
				Want: fmt.Sprintf("a number above zero in %q", way.own), Found: strconv.Quote(fault.Clip(text)),
			}
		}

		if way.period {
			v = 1 / v

			// A period is rounded when it is written: 1/48000 becomes 2.0833e-05.
			if near := math.Round(v); near > 0 && math.Abs(v-near) < 1e-9*v {
				v = near
			}
		}

		if hz > 0 && math.Abs(v-hz) > 1e-3*hz {
			return 0, place, &fault.Error{
				Path: r.info.Path, Place: place,
				Found: fmt.Sprintf("two sampling rates, %g Hz and %g Hz, in its attributes", hz, v),
				Hint:  "name the one that holds in the configuration",
			}
		}

		if hz == 0 {
			hz = v
		}
	}

	return hz, place, nil
}

// findClock marks the channel that holds the time and takes the rate from it
// where nothing else states it.
func (r *Reader) findClock(o ingest.Options) error {
	clocks := map[string]int{} // group → its clock
	if o.Text.Time != "" {
		c, err := ingest.FindChannel(r.info, o.Text.Time)
		if err != nil {
			return err
		}

		clocks[r.at[c].group] = c
	} else {
		perPlane := map[int]int{}
		for _, p := range r.at {
			perPlane[p.plane]++
		}

		for i, c := range r.info.Channels {
			if _, has := clocks[r.at[i].group]; has || perPlane[r.at[i].plane] != 1 || c.Samples < 2 {
				continue
			}

			leaf := leaf(c.Name)
			short := leaf[strings.LastIndexByte(leaf, '-')+1:] // Ds01-Time
			axis := clock.Unit(c.Unit) && (c.Role() == "coordinate" || strings.Contains(c.Unit, " since "))
			if c.IsTime() || axis || clock.Named(leaf, c.Unit) || clock.Named(short, c.Unit) || r.steady(i) {
				clocks[r.at[i].group] = i
			}
		}
	}

	rates := map[int]float64{} // by clock
	for i := range r.info.Channels {
		own, has := clocks[r.at[i].group]

		c := &r.info.Channels[i]
		if !has || c.RateHz != 0 || c.Samples != r.info.Channels[own].Samples {
			continue
		}

		if _, known := rates[own]; !known {
			rate, err := r.clockRate(own, o.Text.Time != "")
			if err != nil {
				return err
			}

			rates[own] = rate
		}

		c.RateHz = rates[own]
	}

	for _, own := range clocks {
		clock.Mark(&r.info.Channels[own])
	}

	return nil
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
func (r *Reader) clockRate(c int, stated bool) (float64, error) {
	t, err := clock.Read(r, c, "channel")
	if t.Doubt != "" && !stated {
		r.Warn("clock-unit", t.Doubt)
	}

	if t.Gaps {
		r.Warn("clock-gaps", fmt.Sprintf(
			"channel %s: its ends give %.4g Hz, its first steps %.4g Hz: the recording pauses or changes its rate; %.4g Hz "+
				"is used",
			r.info.Channels[c].Name, t.EndsHz, t.RateHz, t.RateHz))
	}

	return t.RateHz, err
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
			return &fault.Error{
				Path: info.Path, Place: "channel " + info.Channels[channels[0]].Name, Want: "a time series",
				Found: fmt.Sprintf("a spectrum over %s (%d frequencies in steps of %g Hz)", c.Name, n, df),
				Hint: "pipeline inspect shows it; two halves of a recording cannot be had from one spectrum: use the recording " +
					"it was made of",
			}
		}
	}

	return nil
}
