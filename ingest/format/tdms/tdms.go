// Package tdms reads NI TDMS files (LabVIEW, DAQmx logging, DIAdem) as
// channels of float64: contiguous and interleaved segments, DAQmx raw data of
// format-changing scalers, both byte orders, scaled as the file states.
//
// Sources of the layout: National Instruments, "TDMS File Format Internal
// Structure" (cited in the tests by its headings). NI does not publish the raw
// data index of DAQmx and the NI_Scale properties; they follow what readers in
// use agree on (npTDMS, its issues 24, 125, 132 and its tests).
//
// Unsupported features are an error of their channel:
// scale types other than Linear and Polynomial, digital lines, complex
// numbers; texts and time stamps are listed, not numeric. Values are never
// delivered unscaled where the file has a scale.
//
// Memory: the lists grow with the number of segments and properties: a small
// part of a recording, and never more than 200 times the size of the file plus
// 16 MiB, whatever it holds. Reading takes one buffer of 256 KiB.
package tdms

import (
	"bytes"
	"fmt"
	"math"
	"sort"
	"strconv"
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
	version  uint32 // 4712 or 4713, of the first segment
	root     props
	groups   []*group   // in the order of the file
	channels []*channel // in the order of the file

	// unclosed: the writer never finished the last segment (it crashed, or is
	// writing still). truncated: the file ends before its last segment does. The whole
	// samples that are there are listed.
	unclosed, truncated bool
	warnings            []string // data that are not listed

	window raw.Window
}

// group is a group and its properties.
type group struct {
	name string
	props
}

// channel is one channel.
type channel struct {
	props
	group   *group
	path    string // "Group/Name"
	typ     string // of the stored values: "int16", "double", "text", …; "" without data
	samples int64
	scales  []string // the scales applied, in order: "Linear 0.5, 1" …
	err     error    // why the values cannot be read as numbers; nil if they can

	file   *file
	pieces []piece
	chain  [][]float64 // coefficients, lowest first, applied one after the other
	source int64       // DAQmx: the scaler that feeds the chain, −1 for the only one
}

// open names channels "Group/Name"; unit and rate are those the file
// states.
func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)
	f := fault.Get(openFile(src))
	r := arrays.New(ingest.Info{Path: src.Path, Format: "tdms", Encoding: fmt.Sprintf("TDMS %d", f.version)}, src)
	switch {
	case f.truncated:
		r.Warn(fault.Get(raw.Short(src, o, src.Size, "the file ends before its last segment does", "whole samples", true))...)
	case f.unclosed:
		r.Warn(ingest.Warn("", "truncated", "the last segment was never finished: the whole samples that are there are used"))
	}

	for _, w := range f.warnings {
		r.Warn(ingest.Warning{Code: "extra-data", Text: w})
	}

	for _, p := range f.root.list {
		r.Attribute(p.name, p.text())
	}

	for _, g := range f.groups {
		for _, p := range g.list {
			r.Attribute(g.name+"@"+p.name, p.text())
		}
	}

	begins := map[*group]*channel{} // the first that states when it begins
	for i, c := range f.channels {
		switch {
		case c.err != nil:
			r.Unread(c.path, true, c.err.Error())
			continue
		case c.samples == 0:
			r.Unread(c.path, false, "no samples")
			continue
		}

		attrs := []ingest.Attribute{{Name: "type", Value: c.typ}}

		quantum := arrays.QuantumOf(c.typ)
		if len(c.scales) > 0 {
			attrs = append(attrs, ingest.Attribute{Name: "scales", Value: strings.Join(c.scales, "; ")})
			quantum = arrays.Quantum{}
		}

		for _, p := range c.list {
			attrs = append(attrs, ingest.Attribute{Name: p.name, Value: p.text()})
		}

		// One plane for all: interleaved channels are read together.
		a := arrays.Array{
			Name: c.path, Dims: []int64{c.samples}, Group: c.group.name, Attributes: attrs,
			Quantum: quantum, Plane: f, First: i,
		}
		a.RateHz, a.Unit = c.waveform()
		if t, ok := c.start(); ok && begins[c.group] == nil {
			begins[c.group] = c
		} else if first := begins[c.group]; ok && a.RateHz > 0 {
			if t0, _ := first.start(); math.Abs(t.Sub(t0).Seconds())*a.RateHz >= 1 {
				r.Warn(ingest.Warn("", "start-times", "channel %q begins %g s after channel %q: sample 0 of both is taken as "+
					"one time", c.path, t.Sub(t0).Seconds(), first.path))
			}
		}

		fault.Raise(r.Add(a))
	}

	return r, r.Finish(o)
}

// property is a name and value an object carries. The value is a string, an int64,
// uint64, float64, bool, complex128 or time.Time.
type property struct {
	name  string
	value any
}

// text formats the value.
func (p property) text() string {
	switch v := p.value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}

	return fmt.Sprint(p.value)
}

// props keeps properties in the order of the file; a later value replaces an
// earlier one.
type props struct {
	list []property
	at   map[string]int
}

func (p *props) set(name string, v any) {
	if i, ok := p.at[name]; ok {
		p.list[i].value = v
		return
	}

	if p.at == nil {
		p.at = map[string]int{}
	}

	p.at[name] = len(p.list)
	p.list = append(p.list, property{name, v})
}

// get returns nil where there is no such property.
func (p *props) get(name string) any {
	if i, ok := p.at[name]; ok {
		return p.list[i].value
	}
	return nil
}

func (p *props) text(name string) string {
	s, _ := p.get(name).(string)
	return s
}

// number returns a numeric property.
func (p *props) number(name string) (float64, bool) {
	switch x := p.get(name).(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}

	return 0, false
}

// piece is a stretch of a channel's samples that share a layout.
type piece struct {
	run   *run
	slot  int
	start int64 // the first sample
	n     int64
}

// run is a sequence of segments of one layout.
type run struct {
	lay    *layout
	segs   []segment
	chunks int64
}

// segment is the raw data of one segment: whole chunks, one after the other.
type segment struct {
	at     int64 // in the file
	first  int64 // chunks of the run before it
	chunks int64
}

// layout is the place of the values within a chunk of raw data.
type layout struct {
	big    bool
	blocks []block
	slots  []slot
	size   int64 // of a chunk
}

// block is n rows of stride bytes: the values of one channel (contiguous), of
// all (interleaved), or a DAQmx buffer.
type block struct {
	base, stride, n int64
	size            int64 // n·stride, or the size of the texts
}

// slot is where in the rows of a block the values of a channel are.
type slot struct {
	c       *channel
	block   int
	off     int64
	typ     uint32
	scalers []scaler // DAQmx
}

// Read implements arrays.Plane, in steps in which interleaved channels share the bytes read.
func (f *file) Read(channels []int, start int64, dst [][]float64) error {
	width := int64(1)
	for _, c := range channels {
		for _, p := range f.channels[c].pieces {
			width = max(width, p.run.lay.blocks[p.run.lay.slots[p.slot].block].stride)
		}
	}

	n, step := int64(len(dst[0])), max(1, windowSize/width)
	for done := int64(0); done < n; done += step {
		for i, c := range channels {
			if err := f.channels[c].read(dst[i][done:min(n, done+step)], start+done); err != nil {
				return err
			}
		}
	}

	return nil
}

// read fills dst with the samples from start on, scaled as the file states. 64-bit
// integers beyond 2^53 are rounded.
func (c *channel) read(dst []float64, start int64) error {
	i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].start+c.pieces[i].n > start })
	for done := int64(0); done < int64(len(dst)); {
		p := c.pieces[i]
		k, err := p.read(c, dst[done:], start+done-p.start)
		if err != nil {
			place := fmt.Sprintf("channel %q, sample %d", c.path, start+done)
			return &fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)}
		}

		if done += k; start+done == p.start+p.n {
			i++
		}
	}

	for _, poly := range c.chain {
		scale(dst, poly)
	}

	return nil
}

func (c *channel) fail(format string, args ...any) error {
	return &fault.Error{Place: fmt.Sprintf("channel %q", c.path), Found: fmt.Sprintf(format, args...)}
}

const (
	windowSize = 256 << 10
	readAhead  = 64 << 10
)

// read decodes some samples from s on, at least one.
func (p *piece) read(c *channel, dst []float64, s int64) (int64, error) {
	lay := p.run.lay
	sl := &lay.slots[p.slot]
	b := &lay.blocks[sl.block]

	typ, off := sl.typ, sl.off
	for _, x := range sl.scalers {
		if c.source < 0 || int64(x.id) == c.source {
			typ, off = x.typ, x.off
			break
		}
	}

	if typ == typeDAQmx {
		return 0, fmt.Errorf("the segment has no DAQmx scaler %d", c.source)
	}

	chunk, row := s/b.n, s%b.n
	segs := p.run.segs
	i := sort.Search(len(segs), func(i int) bool { return segs[i].first+segs[i].chunks > chunk })
	seg := segs[i]

	rows, stride := b.n-row, b.stride
	if b.n == 1 {
		stride = lay.size // one value a chunk: a chunk is a row
	}

	if stride*b.n == lay.size { // the rows go on in the next chunk
		rows += (seg.first + seg.chunks - chunk - 1) * b.n
	}

	at := seg.at + (chunk-seg.first)*lay.size + b.base + row*b.stride
	k := min(int64(len(dst)), rows, max(1, (windowSize-b.stride)/stride+1))
	var data []byte
	var err error

	// Reading ahead pays where the window holds the next chunk too.
	f, ahead := c.file, int64(readAhead)
	if lay.size > readAhead {
		ahead = 0
	}

	if _, width := dataType(typ); k == 1 && ahead == 0 {
		data, err = f.window.Bytes(nil, f.src, at+off, width, 0)
	} else if data, err = f.window.Bytes(nil, f.src, at, (k-1)*stride+b.stride, ahead); err == nil {
		data = data[off:]
	}

	if err != nil {
		return 0, err
	}

	decode(dst[:k], data, stride, typ, lay.big)

	return k, nil
}

// scale evaluates a polynomial, lowest coefficient first, by Horner's rule.
func scale(x, poly []float64) {
	for i, v := range x {
		y := 0.0
		for j := len(poly) - 1; j >= 0; j-- {
			y = y*v + poly[j]
		}

		x[i] = y
	}
}
