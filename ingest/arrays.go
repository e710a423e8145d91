package ingest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Files that hold named arrays (MAT, NPZ, HDF5, TDMS) share what is below:
// an array of one axis is a channel, one of more axes has its longest axis in
// time (the first of equal ones) and a channel for each index of the others,
// "name[3]" or "name[3,1]", counted from 1. A single number or a text is an
// attribute of the file, not a channel.

// ArrayOptions guide the readers of files that hold named arrays, where the
// file does not follow a custom that is known. Names of attributes are compared
// without regard to case.
type ArrayOptions struct {
	RateAttribute   string // attribute (or single number) with the sampling rate in Hz
	PeriodAttribute string // attribute (or single number) with the sampling period in s
	UnitAttribute   string // attribute with the unit
}

// Customary names, lower case. METHOD §7: ChannelInformationSamplingPeriod.
var (
	rateNames   = []string{"rate_hz", "fs", "fs_hz", "rate", "sample_rate", "samplerate", "sample_rate_hz", "sampling_rate", "samplingrate", "sampling_rate_hz", "sampling_frequency", "samplingfrequency", "sampling_frequency_hz", "sr"}
	periodNames = []string{"channelinformationsamplingperiod", "samplingperiod", "sampling_period", "sampling_period_s", "wf_increment", "dt", "dt_s"}
	unitNames   = []string{"unit", "units", "unit_string", "channelinformationunit", "physical_unit"}
)

// Unread names something in a file that is no channel because it cannot be
// read as numbers.
type Unread struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Fault tells what the reader cannot interpret from what is no recording by
	// its nature (a table of texts).
	Fault bool `json:"fault"`
}

// maxChannels bounds what a file may claim: what is kept per channel is not
// sample data.
const maxChannels = 1 << 16

// plane is an array as channels: Read as Reader.Read, on the array's own.
type plane interface {
	read(channels []int, start int64, dst [][]float64) (int, error)
}

// arraysReader is the Reader of a file of named arrays.
type arraysReader struct {
	info    Info
	planes  []plane
	at      []planeChannel // per channel of info
	closers []io.Closer

	step, low, high float64 // quantisation, when all channels share it
	mixed           bool    // they do not
}

type planeChannel struct {
	plane   int
	channel int
	group   string // of the array, for attributes that belong to a group: "/a" of "/a/b"
}

// Info implements Reader.
func (r *arraysReader) Info() Info { return r.info }

// Close implements Reader.
func (r *arraysReader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Quantum tells the step and the range of the stored integers, for Scan.
func (r *arraysReader) Quantum() (step, low, high float64) {
	if r.mixed {
		return 0, 0, 0
	}
	return r.step, r.low, r.high
}

// Read implements Reader. Where the channels asked for differ in length, it
// ends with the shortest.
func (r *arraysReader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	want := checkRead(len(r.info.Channels), channels, start, dst)
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
		got, err := r.planes[r.at[c].plane].read(own, start, to)
		if got < int(n) {
			if err == nil || errors.Is(err, io.EOF) {
				err = &DataError{Path: r.info.Path, Place: fmt.Sprintf("channel %s, sample %d", r.info.Channels[c].Name, start+int64(got)), Found: "the end of the data", Want: fmt.Sprintf("%d samples", r.info.Channels[c].Samples)}
			}
			return 0, arrayError(r.info.Path, err)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, arrayError(r.info.Path, err)
		}
	}
	if n < int64(want) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// arrayError is set by the adapters' own errors: they know the types.
func arrayError(path string, err error) error {
	var d *DataError
	if err == nil || errors.As(err, &d) {
		return err
	}
	return foreignError(path, err)
}

// axes splits a shape into the axis of time and the number of channels of the
// others: the longest axis is time, the first of equal ones.
func axes(dims []int64) (axis int, frames, channels int64) {
	for i, d := range dims {
		if d > dims[axis] {
			axis = i
		}
	}
	frames, channels = dims[axis], 1
	for i, d := range dims {
		if i != axis {
			if d > maxChannels || channels > maxChannels {
				return axis, frames, math.MaxInt64
			}
			channels *= d
		}
	}
	return axis, frames, channels
}

// add makes the channels of an array. dims are its axes; the axis of time is
// the one axes chooses, and p counts channels by the other axes' indices,
// row-major if rowMajor, else column-major. stored is how the file holds a
// value, quantum describes integers ("" none).
func (r *arraysReader) add(name string, dims []int64, rowMajor bool, unit, group string, attrs []Attribute, p plane) error {
	axis, frames, channels := axes(dims)
	if channels > maxChannels || int64(len(r.info.Channels))+channels > maxChannels {
		return &DataError{Path: r.info.Path, Place: "array " + name, Want: fmt.Sprintf("at most %d channels in a file", maxChannels), Found: fmt.Sprintf("shape %v", dims)}
	}
	var others []int64
	for i, d := range dims {
		if i != axis && (d > 1 || len(dims) > 2 && channels > 1) {
			others = append(others, d)
		}
	}
	r.planes = append(r.planes, p)
	index := make([]int64, len(others))
	for c := range channels {
		ch := Channel{Name: name, Unit: unit, Samples: frames, Attributes: attrs}
		if len(others) > 0 {
			rest := c
			for k := range others {
				i := k
				if rowMajor {
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
		r.at = append(r.at, planeChannel{len(r.planes) - 1, int(c), group})
	}
	return nil
}

// quantised notes how the channels of an array are stored: in steps, or not (0).
func (r *arraysReader) quantised(step, low, high float64) {
	if len(r.planes) > 0 && (step != r.step || low != r.low || high != r.high) {
		r.mixed = true
	}
	r.step, r.low, r.high = step, low, high
}

func (r *arraysReader) attribute(name, value string) {
	r.info.Attributes = append(r.info.Attributes, Attribute{Name: name, Value: value})
}

func (r *arraysReader) unread(name string, fault bool, reason string) {
	r.info.Unread = append(r.info.Unread, Unread{Name: name, Reason: reason, Fault: fault})
}

// finish settles units, rates and the clock.
func (r *arraysReader) finish(o Options) error {
	if len(r.info.Channels) == 0 {
		if len(r.info.Unread) > 0 {
			u := r.info.Unread[0]
			for _, f := range r.info.Unread {
				if f.Fault {
					u = f
					break
				}
			}
			return &DataError{Path: r.info.Path, Place: u.Name, Want: "at least one array of numbers", Found: u.Reason}
		}
		return &DataError{Path: r.info.Path, Want: "at least one array of numbers", Found: "none"}
	}
	for i := range r.info.Channels {
		c := &r.info.Channels[i]
		if c.Unit == "" {
			c.Unit = r.lookup(i, names(o.Arrays.UnitAttribute, unitNames), false)
		}
		file, place, err := r.rate(i, o)
		if err != nil {
			return err
		}
		if file > 0 {
			c.RateHz = file
		}
		if c.RateHz, err = checkRate(r.info.Path, place, c.RateHz, o.RateHz, 1e-6); err != nil {
			return err
		}
	}
	return r.findClock(o)
}

func names(own string, custom []string) []string {
	if own != "" {
		return []string{strings.ToLower(own)}
	}
	return custom
}

// lookup finds an attribute of a channel, of its group or of the file. A
// dataset's own attribute wins over its group's, that over the file's.
func (r *arraysReader) lookup(channel int, wanted []string, file bool) string {
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
				if g != "" && (name == strings.ToLower(g)+"@"+w || name == strings.ToLower(g)+"/"+w || name == strings.ToLower(g)+"."+w) ||
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
func (r *arraysReader) rate(channel int, o Options) (hz float64, place string, err error) {
	c := r.info.Channels[channel]
	place = "channel " + c.Name
	for _, way := range []struct {
		names  []string
		own    string
		period bool
	}{{names(o.Arrays.PeriodAttribute, periodNames), o.Arrays.PeriodAttribute, true}, {names(o.Arrays.RateAttribute, rateNames), o.Arrays.RateAttribute, false}} {
		text := r.lookup(channel, way.names, true)
		if text == "" {
			continue
		}
		v, perr := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if perr != nil || !(v > 0) || !finite(v) {
			if way.own == "" {
				continue // a custom is a guess: what is no number was not meant
			}
			return 0, place, &DataError{Path: r.info.Path, Place: place, Want: fmt.Sprintf("a number above zero in %q", way.own), Found: strconv.Quote(clip(text))}
		}
		if way.period {
			v = 1 / v
			// A period is rounded when it is written: 1/48000 becomes 2.0833e-05.
			if near := math.Round(v); near > 0 && math.Abs(v-near) < 1e-9*v {
				v = near
			}
		}
		if hz > 0 && math.Abs(v-hz) > 1e-3*hz {
			return 0, place, &DataError{Path: r.info.Path, Place: place, Found: fmt.Sprintf("two sampling rates, %g Hz and %g Hz, in its attributes", hz, v), Hint: "name the one that holds in the configuration"}
		}
		if hz == 0 {
			hz = v
		}
	}
	return hz, place, nil
}

// findClock marks the channel that holds the time and takes the rate from it
// where nothing else states it.
func (r *arraysReader) findClock(o Options) error {
	clocks := map[string]int{} // group → its clock
	if o.Text.Time != "" {
		c, err := FindChannel(r.info, o.Text.Time)
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
			leaf := c.Name[strings.LastIndexAny(c.Name, "/.")+1:]
			short := leaf[strings.LastIndexByte(leaf, '-')+1:] // Ds01-Time
			_, unit := timeUnits[c.Unit]
			if unit && (timeNames[strings.ToLower(leaf)] || timeNames[strings.ToLower(short)]) || r.steady(i) {
				clocks[r.at[i].group] = i
			}
		}
	}
	for i := range r.info.Channels {
		clock, has := clocks[r.at[i].group]
		if !has {
			continue
		}
		c := &r.info.Channels[i]
		t := &r.info.Channels[clock]
		if i == clock {
			c.Attributes = append(c.Attributes[:len(c.Attributes):len(c.Attributes)], Attribute{Name: "role", Value: "time"})
			if c.Unit == "" {
				c.Unit = "s"
			}
		}
		if c.RateHz == 0 && c.Samples == t.Samples {
			rate, err := r.clockRate(clock)
			if err != nil {
				return err
			}
			c.RateHz = rate
		}
	}
	return nil
}

// steady reports whether a channel of a known rate is the first of its group
// and counts the time in steps of its period (METHOD §7: in the group Table1
// the first dataset is the time).
func (r *arraysReader) steady(c int) bool {
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

// clockRate is the rate by the ends of a clock, 0 where it runs unevenly or
// backwards.
func (r *arraysReader) clockRate(c int) (float64, error) {
	ch := r.info.Channels[c]
	scale, known := timeUnits[ch.Unit]
	if !known {
		return 0, &DataError{Path: r.info.Path, Place: "channel " + ch.Name, Want: "a unit of time", Found: strconv.Quote(ch.Unit)}
	}
	var ends [2]float64
	for i, at := range []int64{0, ch.Samples - 1} {
		if _, err := r.Read([]int{c}, at, [][]float64{ends[i : i+1]}); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	rate := float64(ch.Samples-1) / ((ends[1] - ends[0]) * scale)
	if !finite(rate) || rate <= 0 {
		return 0, nil
	}
	head := make([]float64, min(ch.Samples, 1024))
	if _, err := r.Read([]int{c}, 0, [][]float64{head}); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if local := stepRate(head) / scale; finite(local) && local > 0 && math.Abs(local-rate) > 0.02*local {
		r.info.Warnings = append(r.info.Warnings, Warning{Path: r.info.Path, Code: "clock-gaps", Text: fmt.Sprintf(
			"channel %s: its ends give %.4g Hz, its first steps %.4g Hz: the recording pauses or changes its rate; %.4g Hz is used", ch.Name, rate, local, local)})
		rate = local
	}
	return rate, nil
}

// sameLength restricts a run of a file whose channels differ in length to the
// channels that are as long as those in use, because a Reader reads all
// channels side by side. used tells the channels of r that are left.
func sameLength(r Reader, run Run) (_ Reader, _ Run, part bool) {
	info := r.Info()
	if len(info.Channels) == 0 {
		return r, run, false
	}
	length := info.Channels[0].Samples
	if len(run.Recordings) > 0 && len(run.Recordings[0].Channels) > 0 {
		if c := run.Recordings[0].Channels[0]; c >= 0 && c < len(info.Channels) {
			length = info.Channels[c].Samples
		}
	}
	v := &view{Reader: r, info: info}
	v.info.Channels = nil
	to := make([]int, len(info.Channels))
	for c, ch := range info.Channels {
		to[c] = -1
		if ch.Samples == length {
			to[c] = len(v.from)
			v.from = append(v.from, c)
			v.info.Channels = append(v.info.Channels, ch)
		}
	}
	if len(v.from) == len(info.Channels) {
		return r, run, false
	}
	w := run
	w.Recordings = nil
	for _, rec := range run.Recordings {
		m := rec
		m.Channels = nil
		for _, c := range rec.Channels {
			if c < 0 || c >= len(to) || to[c] < 0 {
				return r, run, false // Assemble refuses such recordings by name
			}
			m.Channels = append(m.Channels, to[c])
		}
		w.Recordings = append(w.Recordings, m)
	}
	return v, w, true
}

// view is some channels of a Reader.
type view struct {
	Reader
	info Info
	from []int
}

// Info implements Reader.
func (v *view) Info() Info { return v.info }

// Read implements Reader.
func (v *view) Read(channels []int, start int64, dst [][]float64) (int, error) {
	c := make([]int, len(channels))
	for i, k := range channels {
		c[i] = v.from[k]
	}
	return v.Reader.Read(c, start, dst)
}

// Quantum is the Reader's.
func (v *view) Quantum() (step, low, high float64) {
	if q, ok := v.Reader.(interface {
		Quantum() (step, low, high float64)
	}); ok {
		return q.Quantum()
	}
	return 0, 0, 0
}
