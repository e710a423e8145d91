// Package arrays turns the named arrays of a file into the channels of a recording. The readers of HDF5, MAT, NPZ, TDMS
// and Arrow files use it: they call New, then Add for each array, Attribute for each text or single number, Unread for
// everything else, and Finish at the end. Finish finds the units, the rates and the channel that contains the time.
//
// An array with one axis is a channel. If an array has more axes, one of them is time (see Axes), and each index along
// the other axes is a channel, "name[3]" or "name[3,1]", counted from 1. A single number or a text is an attribute of
// the file, not a channel. Rates, units and clocks are recognised by customary names, and packed numbers by the
// conventions of netCDF.
package arrays

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// maxChannels bounds the number of channels in a file: each takes memory in addition to its samples.
const maxChannels = 1 << 16

// Plane gives access to the samples of an array's channels. Arrays may share one Plane, so that one call of Read reads
// them together. Planes are compared with ==.
type Plane interface {
	// Read fills dst[i] with the samples of channels[i] from start on. All slices of dst have one length, and the caller
	// asks only for samples that exist.
	Read(channels []int, start int64, dst [][]float64) error
}

// PlaneOf returns a Plane with the channels of another Reader.
func PlaneOf(r ingest.Reader) Plane { return readerPlane{r} }

// readerPlane is the Plane that PlaneOf returns.
type readerPlane struct{ reader ingest.Reader }

// Read implements Plane.
func (c readerPlane) Read(channels []int, start int64, dst [][]float64) error {
	n, err := c.reader.Read(channels, start, dst)
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
	Dims        []int64 // lengths of its axes
	Axis        int     // index in Dims of the axis that is time; see Axes
	ColumnMajor bool    // channels are counted with the first of the other axes running fastest; otherwise the last
	Unit        string  // "" if the file does not state it
	Group       string  // the group whose attributes apply to the array too: "/a" for "/a/b"; "" is the file itself
	RateHz      float64 // 0 if the file does not state it
	Attributes  []ingest.Attribute
	Quantum     Quantum
	Plane       Plane // gives access to the samples
	First       int   // number of the array's first channel in Plane
}

// Quantum is the step between the values of stored integers, the lowest and the highest value. All are 0 for other
// numbers.
type Quantum struct{ Step, Low, High float64 }

// Integers returns the quantum of integers with the given number of bits.
func Integers(bits int, signed bool) Quantum {
	if signed {
		half := math.Ldexp(1, bits-1)
		return Quantum{Step: 1, Low: -half, High: half - 1}
	}

	return Quantum{Step: 1, Low: 0, High: math.Ldexp(1, bits) - 1}
}

// QuantumOf returns the quantum of integers of up to 32 bits by the usual name of their type, "int8" to "uint32". It
// returns zeros for other types.
func QuantumOf(name string) Quantum {
	if k, ok := raw.Named(name); ok && k.Integer() && k.Bytes() <= 4 {
		return Integers(8*k.Bytes(), k.Signed())
	}
	return Quantum{}
}

// Number writes a number in its shortest exact form.
func Number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Reader is the ingest.Reader of a file of named arrays. The package comment says in which
// order its methods are called. It implements ingest.Quantized and ingest.Spectral.
type Reader struct {
	info    ingest.Info
	planes  []Plane
	places  []place     // for each channel of info
	closers []io.Closer // what Close closes

	contradicts bool // a warning about two rates in the attributes was given

	quantum Quantum // of the array that was added last
	mixed   bool    // arrays have different quanta
}

// place says where the samples of a channel are, and to which group it belongs.
type place struct {
	plane   int // index in Reader.planes
	channel int // number of the channel in the plane
	group   string
}

// New returns a Reader without arrays. info contains the path, the format and the encoding.
// Close closes the closers.
func New(info ingest.Info, closers ...io.Closer) *Reader {
	return &Reader{info: info, closers: closers}
}

// Closes adds something that Close closes.
func (r *Reader) Closes(c io.Closer) { r.closers = append(r.closers, c) }

// Warn adds warnings about the file, and writes the file's path into them.
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
	var failures []error
	for _, c := range r.closers {
		failures = append(failures, c.Close())
	}

	return errors.Join(failures...)
}

// Quantum implements ingest.Quantized. It returns zeros if arrays have different quanta.
func (r *Reader) Quantum() (step, low, high float64) {
	if r.mixed {
		return 0, 0, 0
	}
	return r.quantum.Step, r.quantum.Low, r.quantum.High
}

// Read implements ingest.Reader. If the channels differ in length, the shortest of them is the end of the recording.
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

	// The channels of one array are read in one call: they may lie interleaved.
	done := make([]bool, len(channels))
	for i, c := range channels {
		if done[i] {
			continue
		}

		plane := r.places[c].plane

		var planeChannels []int
		var planeDst [][]float64
		for j := i; j < len(channels); j++ {
			p := r.places[channels[j]]
			if p.plane != plane {
				continue
			}

			planeChannels = append(planeChannels, p.channel)
			planeDst = append(planeDst, dst[j][:n])
			done[j] = true
		}

		if err := r.planes[plane].Read(planeChannels, start, planeDst); err != nil {
			return 0, fault.In(r.info.Path, err)
		}
	}

	if n < int64(want) {
		return int(n), io.EOF
	}

	return int(n), nil
}

// Add adds the channels of an array.
func (r *Reader) Add(a Array) error {
	channels := countChannels(a.Dims, a.Axis)
	if channels > maxChannels || int64(len(r.info.Channels))+channels > maxChannels {
		return fault.At(r.info.Path, "array "+a.Name, fmt.Sprintf("at most %d channels in a file", maxChannels),
			fmt.Sprintf("shape %v", a.Dims), "")
	}

	if len(r.info.Channels) > 0 && a.Quantum != r.quantum {
		r.mixed = true
	}

	r.quantum = a.Quantum

	var others []int64 // lengths of the axes whose indices are part of a channel's name
	for i, length := range a.Dims {
		// In arrays of three and more axes, an axis of length 1 keeps its index, so that all indices keep their places.
		isNamed := length > 1 || len(a.Dims) > 2 && channels > 1
		if i != a.Axis && isNamed {
			others = append(others, length)
		}
	}

	if n := len(r.planes); n == 0 || r.planes[n-1] != a.Plane {
		r.planes = append(r.planes, a.Plane)
	}

	for c := range channels {
		r.info.Channels = append(r.info.Channels, ingest.Channel{
			Name: a.Name + indexText(c, others, a.ColumnMajor), Unit: a.Unit, RateHz: a.RateHz, Samples: a.Dims[a.Axis],
			Attributes: a.Attributes,
		})
		r.places = append(r.places, place{plane: len(r.planes) - 1, channel: a.First + int(c), group: a.Group})
	}

	return nil
}

// indexText returns the indices of a channel along the other axes, whose lengths are given: "[3,1]", counted from 1.
// The channel is counted from 0. indexText returns "" if there are no other axes.
func indexText(channel int64, others []int64, columnMajor bool) string {
	if len(others) == 0 {
		return ""
	}

	index := make([]int64, len(others))
	rest := channel
	for k := range others {
		i := k
		if !columnMajor {
			i = len(others) - 1 - k // the last axis runs fastest
		}

		index[i] = rest%others[i] + 1
		rest /= others[i]
	}

	return strings.ReplaceAll(fmt.Sprint(index), " ", ",")
}

// Single adds an attribute whose value is the only element of a plane.
func (r *Reader) Single(name string, p Plane) error {
	var value [1]float64
	if err := p.Read([]int{0}, 0, [][]float64{value[:]}); err != nil {
		return err
	}

	r.Attribute(name, Number(value[0]))

	return nil
}

// Parts fills each slice of dst with the samples from start on of an array that is stored in parts, one after another.
// Part i ends before sample ends[i]. read fills x with samples of one part; first is the number of the first of them
// within the part.
func Parts(ends []int64, start int64, dst [][]float64, read func(part int, first int64, x []float64) error) error {
	for _, x := range dst {
		next := start // sample that x[0] takes
		partStart := int64(0)
		for part, end := range ends {
			if n := min(int64(len(x)), end-next); n > 0 {
				if err := read(part, next-partStart, x[:n]); err != nil {
					return err
				}

				next += n
				x = x[n:]
			}

			partStart = end
		}
	}

	return nil
}

// Parent returns the name of the MATLAB struct that contains a value: "a.b" for "a.b.c", and "" for a variable.
func Parent(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// Attribute adds an attribute of the file. An attribute of a group has the name "/group@name".
func (r *Reader) Attribute(name, value string) {
	r.info.Attributes = append(r.info.Attributes, ingest.Attribute{Name: name, Value: value})
}

// Unread lists something in the file that is not a channel. ingest.Unread.Fault explains isFault.
func (r *Reader) Unread(name string, isFault bool, reason string) {
	r.info.Unread = append(r.info.Unread, ingest.Unread{Name: name, Reason: reason, Fault: isFault})
}

// rateTolerance is the relative difference up to which the rate of the file and the rate of the options are the same:
// files round rates to seven digits.
const rateTolerance = 1e-6

// Finish finds the units and rates of all channels, and the channels that contain the time. If the file has no
// channels, it returns a *fault.Error with the reason.
func (r *Reader) Finish(options ingest.Options) error {
	if len(r.info.Channels) == 0 {
		return r.noChannels()
	}

	for i := range r.info.Channels {
		channel := &r.info.Channels[i]
		if channel.Unit == "" {
			channel.Unit = r.ownAttribute(i, wanted(options.Arrays.UnitAttribute, unitNames))
		}

		r.readSignal(i)
		r.readTimeseries(i)
		r.readMembers(i)

		stated, err := r.rate(i, options)
		if err != nil {
			return err
		}

		if stated > 0 {
			channel.RateHz = stated
		}

		channel.RateHz, err = options.Rate(r.info.Path, "channel "+channel.Name, channel.RateHz, rateTolerance)
		if err != nil {
			return err
		}
	}

	if err := r.findClock(options); err != nil {
		return err
	}

	if options.RateHz == 0 {
		r.warnOdd()
	}

	return nil
}

// noChannels returns the error of a file without channels. The error gives the reason why the first of the unread
// things could not be read. Things that could be a recording come before things that by their nature are not.
func (r *Reader) noChannels() error {
	if len(r.info.Unread) == 0 {
		return fault.At(r.info.Path, "", "at least one array of numbers", "none", "")
	}

	i := slices.IndexFunc(r.info.Unread, func(u ingest.Unread) bool { return u.Fault })
	first := r.info.Unread[max(i, 0)]

	return fault.At(r.info.Path, first.Name, "at least one array of numbers", first.Reason, "")
}
