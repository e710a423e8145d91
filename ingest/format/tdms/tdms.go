// Package tdms reads NI TDMS files (LabVIEW, DAQmx logging, DIAdem): contiguous and interleaved segments, DAQmx raw
// data of format-changing scalers, in both byte orders, scaled as the file states.
//
// A file is a list of segments. A segment has a lead-in of 28 bytes, meta data, and raw data. The meta data list
// objects (the file, groups and channels) with their properties; for each channel with data, an index states the type
// and the number of its values. The raw data are chunks of one layout, as many as fit into the segment. A segment
// without meta data, or without an index of a channel, has the objects or the index of the segment before.
//
// open.go walks over the segments, meta.go reads the meta data, layout.go computes where the values of each channel lie
// in a chunk, and scale.go reads the scales. read.go reads the values.
//
// Sources of the layout: National Instruments, "TDMS File Format Internal Structure"; comments and tests cite its
// headings. NI does not publish the raw data index of DAQmx and the NI_Scale properties. Package tdms reads them as
// other readers do (npTDMS, its issues 24, 125, 132 and its tests).
//
// A channel with an unsupported feature cannot be read, but other channels can: scale types other than Linear and
// Polynomial, digital lines, and complex numbers are not supported. Texts and time stamps are listed, but are not
// numbers. If the file has a scale, values are never delivered without it.
//
// Memory: the lists grow with the number of segments and properties. For recordings they are much smaller than the
// file. Whatever a file contains, they take at most 200 times its size and 16 MiB. Reading takes one buffer of 256
// KiB.
package tdms

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is TDMS.
var Format = ingest.Format{
	Name: "tdms", Title: "TDMS", Endings: []string{".tdms"}, Attributes: true,
	Detect: func(head []byte, _ ingest.Source) bool {
		return bytes.HasPrefix(head, []byte("TDSm")) && ingest.Binary(head)
	},
	Open: open,
}

// file is a file whose meta data were read. It is the plane of its channels.
type file struct {
	src      ingest.Source
	version  uint32     // 4712 or 4713, of the first segment
	root     props      // properties of the file
	groups   []*group   // in the order of the file
	channels []*channel // in the order of the file

	// In both cases the whole samples that are in the file are read.
	unclosed  bool // the writer never finished the last segment: it crashed, or is still writing
	truncated bool // the file ends before its last segment does

	warnings []string // descriptions of data that are not read

	window raw.Window // bytes that were read last
}

// group is a group and its properties.
type group struct {
	name string
	props
}

// channel is a channel and its properties.
type channel struct {
	props
	group   *group
	path    string // "Group/Name"
	typ     string // type of the stored values, such as int16, double or text; "" if there are no data
	samples int64
	scales  []string // descriptions of the scales in chain
	err     error    // why the values cannot be read as numbers; nil if they can

	file   *file
	pieces []piece     // one after the other
	chain  [][]float64 // polynomials that are applied one after the other, each as coefficients, the constant first
	source int64       // number of the DAQmx scaler whose values are the input of chain; −1 for the only scaler
}

// open opens a file as a recording. Its channels have the names "Group/Name".
func open(src ingest.Source, options ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}

	reader := arrays.New(ingest.Info{Path: src.Path, Format: "tdms", Encoding: fmt.Sprintf("TDMS %d", f.version)}, src)
	switch {
	case f.truncated:
		found := "the file ends before its last segment does"
		warnings, err := raw.Short(src, options, src.Size, found, "whole samples", true)
		if err != nil {
			return nil, err
		}

		reader.Warn(warnings...)
	case f.unclosed:
		reader.Warn(ingest.Warn("", "truncated",
			"the last segment was never finished: the whole samples that are there are used"))
	}

	for _, w := range f.warnings {
		reader.Warn(ingest.Warning{Code: "extra-data", Text: w})
	}

	f.addAttributes(reader)

	if err := f.addChannels(reader); err != nil {
		return nil, err
	}

	if err := reader.Finish(options); err != nil {
		return nil, err
	}

	return reader, nil
}

// addAttributes adds the properties of the file and of the groups to a reader.
func (f *file) addAttributes(reader *arrays.Reader) {
	for _, prop := range f.root.list {
		reader.Attribute(prop.name, prop.text())
	}

	for _, group := range f.groups {
		for _, prop := range group.list {
			reader.Attribute(group.name+"@"+prop.name, prop.text())
		}
	}
}

// addChannels adds the channels to a reader, and lists channels that are not read. It warns of channels of a group that
// begin at different times.
func (f *file) addChannels(reader *arrays.Reader) error {
	begins := map[*group]*channel{} // the first channel of each group that states when it begins
	for i, channel := range f.channels {
		switch {
		case channel.err != nil:
			reader.Unread(channel.path, true, channel.err.Error())
			continue
		case channel.samples == 0:
			reader.Unread(channel.path, false, "no samples")
			continue
		}

		a := channel.array(i)
		if begin, ok := channel.start(); ok {
			first := begins[channel.group]
			if first == nil {
				begins[channel.group] = channel
			} else if a.RateHz > 0 {
				reader.Warn(channel.startWarning(begin, first, a.RateHz)...)
			}
		}

		if err := reader.Add(a); err != nil {
			return err
		}
	}

	return nil
}

// array returns the channel, which has number i in the file, as an array. All channels have one plane, because
// interleaved channels are read together.
func (c *channel) array(i int) arrays.Array {
	a := arrays.Array{
		Name: c.path, Dims: []int64{c.samples}, Group: c.group.name, Plane: c.file, First: i,
		Attributes: []ingest.Attribute{{Name: "type", Value: c.typ}},
	}
	if len(c.scales) > 0 {
		a.Attributes = append(a.Attributes, ingest.Attribute{Name: "scales", Value: strings.Join(c.scales, "; ")})
	} else {
		a.Quantum = arrays.QuantumOf(c.typ)
	}

	for _, prop := range c.list {
		a.Attributes = append(a.Attributes, ingest.Attribute{Name: prop.name, Value: prop.text()})
	}

	a.RateHz = c.rate()
	a.Unit = c.unit()

	return a
}

// startWarning returns a warning if the channel begins a sample or more before or after the channel other, and nil
// otherwise. begin is the time at which the channel begins, and rateHz its rate. other must state when it begins, too.
func (c *channel) startWarning(begin time.Time, other *channel, rateHz float64) []ingest.Warning {
	otherBegin, _ := other.start()

	apart := begin.Sub(otherBegin).Seconds()
	if math.Abs(apart)*rateHz < 1 {
		return nil
	}

	order := "after"
	if apart < 0 {
		order = "before"
	}

	return []ingest.Warning{ingest.Warn("", "start-times",
		"channel %q begins %g s %s channel %q: sample 0 of both is taken as one time", c.path, math.Abs(apart), order,
		other.path)}
}

// fail returns an error of the channel.
func (c *channel) fail(format string, args ...any) error {
	return &fault.Error{Place: fmt.Sprintf("channel %q", c.path), Found: fmt.Sprintf(format, args...)}
}
