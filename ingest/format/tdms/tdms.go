// Package tdms reads NI TDMS files (LabVIEW, DAQmx logging, DIAdem) as
// channels of float64: contiguous and interleaved segments, DAQmx raw data of
// format-changing scalers, both byte orders, scaled as the file states.
//
// Sources of the layout: National Instruments, "TDMS File Format Internal
// Structure" (cited in the tests by its headings). NI does not publish the raw
// data index of DAQmx and the NI_Scale properties; they follow what readers in
// use agree on (npTDMS, its issues 24, 125, 132 and its tests).
//
// Unsupported features are an error of their channel (Channel.Err):
// scale types other than Linear and Polynomial, digital lines, complex
// numbers; texts and time stamps are listed, not numeric. Values are never
// delivered unscaled where the file has a scale.
//
// Memory: the lists grow with the number of segments and properties: a small
// part of a recording, and never more than 200 times the size of the file plus
// 16 MiB, whatever it holds. Reading takes one buffer of 256 KiB.
//
// Which channel is a recording, and of what, is decided elsewhere.
package tdms

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"time"

	"doubletake/ingest/fault"
)

// Error is a fault of a file, with its place.
type Error = fault.Error

// File is an open TDMS file. It is not safe for concurrent use; open the same
// io.ReaderAt once per goroutine instead.
type File struct {
	Version    uint32     // 4712 or 4713, of the first segment
	Properties []Property // of the file object
	Groups     []Group    // in the order of the file
	Channels   []*Channel // in the order of the file

	// Unclosed: the writer never finished the last segment (it crashed, or is
	// writing still). The existing part is listed.
	Unclosed bool
	// Truncated: the file ends before its last segment does. The whole samples
	// that are there are listed; whether to use them is the caller's decision.
	Truncated bool
	// Warnings are sentences about data that are not listed, such as bytes at
	// the end of a segment that are no whole chunk.
	Warnings []string

	src      io.ReaderAt
	size     int64
	window   []byte // the last bytes read
	windowAt int64
}

// Group is a group and its properties.
type Group struct {
	Name       string
	Properties []Property
}

// Channel is one channel.
type Channel struct {
	Group      string
	Name       string
	Type       string // of the stored values: "int16", "double", "text", …; "" without data
	Unit       string // unit_string, else NI_UnitDescription; "" when not stated
	RateHz     float64
	Start      float64 // wf_start_offset: time of the first sample in s
	Samples    int64
	Properties []Property
	Scales     []string // the scales applied, in order: "Linear 0.5, 1" …
	Err        error    // why the values cannot be read as numbers; nil if they can

	file   *File
	pieces []piece
	chain  [][]float64 // coefficients, lowest first, applied one after the other
	source int64       // DAQmx: the scaler that feeds the chain, −1 for the only one
	props  props
}

// Path is "Group/Name".
func (c *Channel) Path() string { return c.Group + "/" + c.Name }

// Property is a name and value an object carries. Value is a string, an int64,
// uint64, float64, bool, complex128 or time.Time.
type Property struct {
	Name  string
	Value any
}

// Text formats the value.
func (p Property) Text() string {
	switch v := p.Value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}

	return fmt.Sprint(p.Value)
}

// props keeps properties in the order of the file; a later value replaces an
// earlier one.
type props struct {
	list []Property
	at   map[string]int
}

func (p *props) set(name string, v any) {
	if i, ok := p.at[name]; ok {
		p.list[i].Value = v
		return
	}

	if p.at == nil {
		p.at = map[string]int{}
	}

	p.at[name] = len(p.list)
	p.list = append(p.list, Property{name, v})
}

func (p *props) get(name string) (any, bool) {
	if i, ok := p.at[name]; ok {
		return p.list[i].Value, true
	}
	return nil, false
}

func (p *props) text(name string) string {
	v, _ := p.get(name)
	s, _ := v.(string)
	return s
}

// number returns a numeric property.
func (p *props) number(name string) (float64, bool) {
	v, ok := p.get(name)
	if !ok {
		return 0, false
	}

	switch x := v.(type) {
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
	c       *Channel
	block   int
	off     int64
	typ     uint32
	scalers []scaler // DAQmx
}

// ReadFloat64 fills dst with the samples from start on, scaled as the file
// states. It returns how many it read, fewer than asked only at the end of the
// channel, then with io.EOF. 64-bit integers beyond 2^53 are rounded.
//
// Reading the channels of an interleaved file in turns, up to 256 KiB of file
// at a time, reads each byte of the file once (see Read).
func (c *Channel) ReadFloat64(dst []float64, start int64) (int, error) {
	if c.Err != nil {
		return 0, c.Err
	}

	if start < 0 || start > c.Samples {
		return 0, c.fail("there is no sample %d of %d", start, c.Samples)
	}

	n := min(int64(len(dst)), c.Samples-start)
	i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].start+c.pieces[i].n > start })
	for done := int64(0); done < n; {
		p := c.pieces[i]
		k, err := p.read(c, dst[done:n], start+done-p.start)
		if err != nil {
			return int(done), &Error{
				Place: fmt.Sprintf("channel %q, sample %d", c.Path(), start+done),
				Err:   fmt.Errorf("read: %w", err),
			}
		}

		if done += k; start+done == p.start+p.n {
			i++
		}
	}

	for _, poly := range c.chain {
		scale(dst[:n], poly)
	}

	if n < int64(len(dst)) {
		return int(n), io.EOF
	}

	return int(n), nil
}

// Read fills dst[i] with the samples of channel channels[i] from start on, as
// ReadFloat64 does, in steps in which interleaved channels share the bytes read.
// All dst[i] have one length; the count is that of the longest
// channel asked for, and what lies beyond the end of a shorter one is NaN.
func (f *File) Read(channels []int, start int64, dst [][]float64) (int, error) {
	if len(channels) != len(dst) {
		panic("tdms: as many slices as channels are needed")
	}

	if len(dst) == 0 {
		return 0, nil
	}

	longest, width := int64(0), int64(1)
	for i, c := range channels {
		if len(dst[i]) != len(dst[0]) {
			panic("tdms: slices of one length are needed")
		}

		ch := f.Channels[c]
		longest = max(longest, ch.Samples)

		for _, p := range ch.pieces {
			width = max(width, p.run.lay.blocks[p.run.lay.slots[p.slot].block].stride)
		}
	}

	if start < 0 || start > longest {
		return 0, &Error{Place: "file", Found: fmt.Sprintf("there is no sample %d of %d", start, longest)}
	}

	want := int64(len(dst[0]))
	n := min(want, longest-start)

	step := max(1, windowSize/width)
	for done := int64(0); done < n; done += step {
		k := min(step, n-done)
		for i, c := range channels {
			part := dst[i][done : done+k]

			m := 0
			if ch := f.Channels[c]; start+done < ch.Samples || ch.Err != nil {
				var err error
				if m, err = ch.ReadFloat64(part, start+done); err != nil && !errors.Is(err, io.EOF) {
					return int(done), err
				}
			}

			for ; m < len(part); m++ {
				part[m] = math.NaN()
			}
		}
	}

	if n < want {
		return int(n), io.EOF
	}

	return int(n), nil
}

func (c *Channel) fail(format string, args ...any) error {
	return &Error{Place: fmt.Sprintf("channel %q", c.Path()), Found: fmt.Sprintf(format, args...)}
}

const (
	windowSize = 256 << 10
	readAhead  = 64 << 10
)

// read decodes some samples from s on, at least one.
func (p *piece) read(c *Channel, dst []float64, s int64) (int64, error) {
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
	var raw []byte
	var err error

	// Reading ahead pays where the window holds the next chunk too.
	window := lay.size <= readAhead
	if _, width := dataType(typ); k == 1 && !window {
		raw, err = c.file.bytes(at+off, width, false)
	} else if raw, err = c.file.bytes(at, (k-1)*stride+b.stride, window); err == nil {
		raw = raw[off:]
	}

	if err != nil {
		return 0, err
	}

	decode(dst[:k], raw, stride, typ, lay.big)

	return k, nil
}

// bytes returns n bytes of the file, valid until the next call.
func (f *File) bytes(at, n int64, window bool) ([]byte, error) {
	if rel := at - f.windowAt; rel >= 0 && rel+n <= int64(len(f.window)) {
		return f.window[rel : rel+n], nil
	}

	if f.window == nil {
		f.window = make([]byte, windowSize)
	}

	get := n
	if window {
		get = min(max(n, readAhead), f.size-at)
	}

	if n > f.size-at {
		return nil, io.ErrUnexpectedEOF
	}

	f.window = f.window[:get]
	m, err := f.src.ReadAt(f.window, at)
	f.windowAt, f.window = at, f.window[:m]

	if int64(m) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}

	return f.window[:n], nil
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
