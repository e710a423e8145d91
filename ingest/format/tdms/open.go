package tdms

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Bits of the table of contents ("Lead In").
const (
	tocMetaData    = 1 << 1
	tocNewObjList  = 1 << 2
	tocRawData     = 1 << 3
	tocInterleaved = 1 << 5
	tocBigEndian   = 1 << 6
)

// Headers of a raw data index ("Meta Data").
const (
	indexNone      = 0xffffffff
	indexSame      = 0
	indexScaler    = 0x1269 // DAQmx format-changing scalers
	indexDigital   = 0x126a // DAQmx digital line scalers
	leadIn         = 28
	unknown        = math.MaxUint64 // an offset of a segment that was not closed
	maxRow         = windowSize / 2 // bytes of an interleaved row
	maxScalers     = 1024
	maxBuffers     = 1024
	maxWork        = 1 << 16
	maxScaleInputs = 64
)

// object is the meta data of one path.
type object struct {
	path  string
	c     *channel // nil for the file and the groups
	props *props
	index index
	known bool // it has an index
	has   bool // it has data in the current segment
	at    int  // its place in the current list; −1 if it is not in it
}

// index is a raw data index.
type index struct {
	typ     uint32
	n       int64
	size    int64 // texts only
	scalers []scaler
	widths  []int64 // of the DAQmx buffers
	digital bool
}

// scaler is where a DAQmx value lies in the rows of its buffer.
type scaler struct {
	id     uint32
	typ    uint32
	buffer uint32
	off    int64
}

// reader reads the segments.
type reader struct {
	f       *file
	groups  map[string]*group
	objects map[string]*object
	list    []*object // of the current segment
	changed bool      // the list or an index in it, since the last layout
	flags   uint32    // byte order and interleaving of the last layout
	lay     *layout
	runs    []*run
	work    int64
}

// openFile reads the meta data. A file that is no such file, or whose meta data cannot be
// followed, is a *fault.Error; what concerns one channel is in its err.
func openFile(src ingest.Source) (_ *file, err error) {
	defer fault.Catch(&err)

	r := &reader{f: &file{src: src}, groups: map[string]*group{}, objects: map[string]*object{}}
	for at := int64(0); at < src.Size; {
		at = r.segment(at)
	}

	r.finish()

	return r.f, nil
}

func place(at int64) string { return fmt.Sprintf("byte %d", at) }

// segment reads the segment at a position and returns where the next one is.
func (r *reader) segment(at int64) int64 {
	f := r.f

	var lead [leadIn]byte
	n, err := f.src.ReadAt(lead[:min(leadIn, f.src.Size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		fault.Raise(&fault.Error{Place: place(at), Err: fmt.Errorf("read lead-in: %w", err)})
	}

	if tag := string(lead[:min(n, 4)]); tag != "TDSm"[:len(tag)] || n < leadIn && at == 0 {
		e := &fault.Error{Place: place(at), Want: `a segment, "TDSm"`, Found: fmt.Sprintf("%q", lead[:min(n, 8)])}
		if tag == "TDSh" {
			e.Found, e.Hint = "an index file", "open the .tdms file next to it"
		}

		fault.Raise(e)
	}

	if n < leadIn {
		f.truncated = true
		f.warn("the file ends within the lead-in of a segment at byte %d", at)

		return f.src.Size
	}

	toc := binary.LittleEndian.Uint32(lead[4:]) // little-endian in any case

	var o binary.ByteOrder = binary.LittleEndian
	if toc&tocBigEndian != 0 {
		o = binary.BigEndian
	}

	version := o.Uint32(lead[8:])
	if version != 4712 && version != 4713 {
		fault.Raise(&fault.Error{Place: place(at + 8), Want: "version 4712 or 4713", Found: fmt.Sprint(version)})
	}

	if f.version == 0 {
		f.version = version
	}

	nextOff, rawOff := o.Uint64(lead[12:]), o.Uint64(lead[20:])
	avail := uint64(f.src.Size - at - leadIn)

	cut := false
	switch {
	case nextOff == unknown:
		f.unclosed, cut = true, true
		nextOff = avail
	case nextOff > avail:
		f.truncated, cut = true, true
		nextOff = avail
	}

	if rawOff > nextOff && !cut {
		fault.Raise(fault.At("", place(at+20), fmt.Sprintf("a raw data offset of at most %d", nextOff),
			fmt.Sprint(rawOff), ""))
	}

	meta := int64(min(rawOff, nextOff))
	if toc&tocMetaData != 0 {
		if toc&tocNewObjList != 0 {
			for _, x := range r.list {
				x.at, x.has = -1, false
			}
			r.list, r.changed = r.list[:0], true
		}

		m := &metaReader{
			b: bufio.NewReaderSize(io.NewSectionReader(f.src, at+leadIn, meta), 32<<10), at: at + leadIn,
			left: meta, o: o,
		}

		if err := fault.Try(func() { r.meta(m) }); err != nil && cut && m.left == 0 {
			f.warn("the file ends within the meta data of the segment at byte %d", at)
			return f.src.Size
		} else if err != nil {
			fault.Raise(err)
		}
	}

	if rawOff > nextOff { // cut before the raw data
		return f.src.Size
	}

	raw := int64(nextOff) - meta
	if toc&tocRawData != 0 && raw > 0 {
		r.raw(at, at+leadIn+meta, raw, toc&(tocBigEndian|tocInterleaved), cut)
	}

	return at + leadIn + int64(nextOff)
}

// warn notes data that are not listed.
func (f *file) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// metaReader reads the values of the meta data of one segment.
type metaReader struct {
	b    *bufio.Reader
	at   int64
	left int64
	o    binary.ByteOrder
}

// unless raises an error at the next byte, unless ok.
func (m *metaReader) unless(ok bool, format string, args ...any) {
	if !ok {
		fault.Raise(&fault.Error{Place: place(m.at), Err: fmt.Errorf(format, args...)})
	}
}

// bytes returns n bytes.
func (m *metaReader) bytes(n int64) []byte {
	if n > m.left { // before the memory is taken
		m.left = 0
		m.unless(false, "the meta data end: %w", io.ErrUnexpectedEOF)
	}

	p := make([]byte, n)
	k, err := io.ReadFull(m.b, p)
	m.at += int64(k)
	m.left -= int64(k)

	if err != nil {
		m.left = 0
		m.unless(false, "read meta data: %w", err)
	}

	return p
}

func (m *metaReader) u32() uint32 { return m.o.Uint32(m.bytes(4)) }
func (m *metaReader) u64() uint64 { return m.o.Uint64(m.bytes(8)) }

func (m *metaReader) text() string {
	n := int64(m.u32())
	if n > m.left {
		m.left = 0
		m.unless(false, "a text of %d bytes overruns the meta data", n)
	}

	return strings.ToValidUTF8(string(m.bytes(n)), "?")
}

// meta reads the meta data of a segment.
func (r *reader) meta(m *metaReader) {
	for range m.u32() {
		path := m.text()
		x := r.objects[path]

		if x == nil {
			x = r.object(path, m)
		}

		switch head := m.u32(); head {
		case indexNone:
			r.changed = r.changed || x.has
			x.has = false
		case indexSame:
			m.unless(x.c != nil, "the object %q is no channel and has data", path)
			m.unless(x.known, "the index of %q refers to an earlier one, and there is none", path)
			r.changed = r.changed || !x.has
			x.has = true
		default:
			m.unless(x.c != nil, "the object %q is no channel and has data", path)

			idx := m.index(head, path)
			if !x.has || !reflect.DeepEqual(idx, x.index) {
				r.changed = true
			}

			x.index, x.known, x.has = idx, true, true
		}

		if x.at < 0 {
			x.at = len(r.list)
			r.list = append(r.list, x)
			r.changed = r.changed || x.has
		}

		for range m.u32() {
			name := m.text()
			v := m.value(name)

			if old := x.props.get(name); x.c != nil && settled(name, old, v) {
				r.f.warn("channel %q: %s is %v in one segment and %v in a later one, which is taken for all samples: "+
					"split the file there", x.c.path, name, old, v)
			}

			x.props.set(name, v)
		}
	}
}

// object makes the object of a path: "/", "/'group'" or "/'group'/'channel'",
// quotes within a name doubled.
func (r *reader) object(path string, m *metaReader) *object {
	names, ok := split(path)
	m.unless(ok, "%q is no path of an object", path)

	x := &object{path: path, at: -1}

	switch len(names) {
	case 0:
		x.props = &r.f.root
	case 1:
		x.props = &r.group(names[0]).props
	case 2:
		x.c = &channel{group: r.group(names[0]), path: names[0] + "/" + names[1], file: r.f, source: -1}
		x.props = &x.c.props
		r.f.channels = append(r.f.channels, x.c)
	}

	r.objects[path] = x

	return x
}

func (r *reader) group(name string) *group {
	g := r.groups[name]
	if g == nil {
		g = &group{name: name}
		r.groups[name] = g
		r.f.groups = append(r.f.groups, g)
	}

	return g
}

var pathPattern = regexp.MustCompile(`^/'((?:[^']|'')*)'(?:/'((?:[^']|'')*)')?$`)

func split(path string) ([]string, bool) {
	if path == "/" {
		return nil, true
	}

	m := pathPattern.FindStringSubmatchIndex(path)
	if m == nil {
		return nil, false
	}

	var names []string
	for ; len(m) > 2 && m[2] >= 0; m = m[2:] {
		names = append(names, strings.ReplaceAll(path[m[2]:m[3]], "''", "'"))
	}

	return names, true
}

// index reads a raw data index.
func (m *metaReader) index(head uint32, path string) index {
	x := index{typ: m.u32(), digital: head == indexDigital}
	dim, n := m.u32(), m.u64()
	m.unless(dim == 1, "%q: expected an array of dimension 1, found %d", path, dim)
	m.unless(n <= 1<<56, "%q: %d values are claimed", path, n)
	x.n = int64(n)

	if head == indexScaler || head == indexDigital {
		m.daqmx(&x, path)
		return x
	}

	// The length of the index, that of the length included.
	m.unless(head == 20 || head == 28, "%q: expected a raw data index of 20 or 28 bytes, found %#x", path, head)

	if x.typ == typeString {
		n = m.u64()
		m.unless(n <= 1<<56, "%q: texts of %d bytes are claimed", path, n)
		x.size = int64(n)
		// Each text has an offset of four bytes.
		m.unless(x.n <= x.size/4, "%q: %d texts of %d bytes in all cannot be", path, x.n, x.size)

		return x
	}

	m.unless(head != 28, "%q: an index of 28 bytes is for texts only", path)
	name, width := dataType(x.typ)
	m.unless(width > 0, "%q has values of %s, whose size is not known", path, name)

	return x
}

// daqmxType maps the type codes of DAQmx scalers, which differ from the others.
var daqmxType = [...]uint32{typeU8, typeI8, typeU16, typeI16, typeU32, typeI32}

func (m *metaReader) daqmx(x *index, path string) {
	count := m.u32()
	m.unless(count <= maxScalers, "%q: %d DAQmx scalers are claimed", path, count)

	x.scalers = []scaler{}
	for range count {
		typ := m.u32()
		s := scaler{buffer: m.u32(), off: int64(m.u32()), typ: typeDAQmx}

		if x.digital { // the sample format, one byte here
			m.bytes(1)
		} else {
			m.u32()
		}

		s.id = m.u32()
		if int(typ) < len(daqmxType) {
			s.typ = daqmxType[typ]
		} else {
			m.unless(x.digital, "%q: the type %d of a DAQmx scaler is not known", path, typ)
		}

		x.scalers = append(x.scalers, s)
	}

	count = m.u32()
	m.unless(count <= maxBuffers, "%q: %d DAQmx buffers are claimed", path, count)

	for range count {
		w := m.u32()
		m.unless(w <= maxRow, "%q: a DAQmx buffer of %d bytes a sample is claimed", path, w)
		x.widths = append(x.widths, int64(w))
	}

	for _, s := range x.scalers {
		_, width := dataType(s.typ)
		m.unless(x.digital || int(s.buffer) < len(x.widths) && s.off+width <= x.widths[s.buffer],
			"%q: a DAQmx value at byte %d of buffer %d lies outside it", path, s.off, s.buffer)
	}
}

// value reads a property.
func (m *metaReader) value(name string) any {
	typ := m.u32()
	if typ == typeString {
		return m.text()
	}

	what, width := dataType(typ)
	m.unless(width > 0, "the property %q is of %s, which is not read", name, what)
	b := m.bytes(width)

	switch typ {
	case typeI64:
		return int64(m.o.Uint64(b))
	case typeU64:
		return m.o.Uint64(b)
	case typeBoolean:
		return b[0] != 0
	case typeTime:
		return m.time(b)
	case typeComplexSingle:
		return complex(float64(math.Float32frombits(m.o.Uint32(b))), float64(math.Float32frombits(m.o.Uint32(b[4:]))))
	case typeComplexDouble:
		return complex(math.Float64frombits(m.o.Uint64(b)), math.Float64frombits(m.o.Uint64(b[8:])))
	}

	var x [1]float64
	decode(x[:], b, width, typ, m.o == binary.ByteOrder(binary.BigEndian))

	switch typ {
	case typeI8, typeI16, typeI32:
		return int64(x[0])
	case typeU8, typeU16, typeU32:
		return uint64(x[0])
	}

	return x[0]
}

// time converts a time stamp: seconds since 1904-01-01 UTC and fractions of
// 2^-64 s, the fractions first in little-endian files.
func (m *metaReader) time(b []byte) time.Time {
	fraction, seconds := m.o.Uint64(b), int64(m.o.Uint64(b[8:]))
	if m.o == binary.ByteOrder(binary.BigEndian) {
		seconds, fraction = int64(fraction), uint64(seconds)
	}

	const epoch = -2082844800        // 1904-01-01 in Unix seconds
	const limit = 1 << 40            // beyond, calendars mean nothing
	ns := fraction >> 32 * 1e9 >> 32 // truncated to the nanosecond
	s := max(-limit, min(limit, seconds)) + epoch

	return time.Unix(s, int64(ns)).UTC()
}

// layoutAt is a layout while it is made, of the segment at a byte.
type layoutAt struct {
	*layout
	at int64
}

// unless raises an error of the segment, unless ok.
func (lay layoutAt) unless(ok bool, format string, args ...any) {
	if !ok {
		fault.Raise(&fault.Error{Place: "segment at " + place(lay.at), Err: fmt.Errorf(format, args...)})
	}
}

// add adds a block to a chunk.
func (lay layoutAt) add(b block) {
	lay.size += b.size
	lay.unless(lay.size >= 0 && lay.size <= 1<<60, "a chunk of more than 2^60 bytes is claimed")
	lay.blocks = append(lay.blocks, b)
}

// layout arranges the data of the current list.
func (r *reader) layout(at int64, flags uint32) *layout {
	lay := layoutAt{&layout{big: flags&tocBigEndian != 0}, at}

	var daqmx []*object
	var row, rows int64
	for _, x := range r.list {
		if !x.has {
			continue
		}

		if x.index.scalers != nil {
			daqmx = append(daqmx, x)
			continue
		}

		n := x.index.n
		_, width := dataType(x.index.typ)

		switch {
		case flags&tocInterleaved != 0:
			lay.unless(x.index.typ != typeString, "%q holds texts within interleaved data", x.path)
			lay.unless(row == 0 || n == rows, "interleaved channels have %d and %d values", rows, n)
			lay.slots = append(lay.slots, slot{c: x.c, off: row, typ: x.index.typ})
			rows, row = n, row+width
			lay.unless(row <= maxRow, "interleaved channels of more than %d bytes a sample are not read", maxRow)
		case n > 0:
			b := block{base: lay.size, stride: width, n: n, size: width * n}
			if x.index.typ == typeString {
				b.size = x.index.size
			} else {
				lay.unless(n <= math.MaxInt64/16/width, "%q: %d values cannot be", x.path, n)
			}

			lay.slots = append(lay.slots, slot{c: x.c, block: len(lay.blocks), typ: x.index.typ})
			lay.add(b)
		}
	}

	switch {
	case len(daqmx) > 0:
		lay.unless(len(lay.slots) == 0, "DAQmx raw data and other data are mixed")
		lay.addDAQmx(daqmx)
	case row > 0:
		lay.add(block{stride: row, n: rows, size: row * rows})
	}

	return lay.layout
}

// addDAQmx arranges DAQmx data: a block for each of their buffers.
func (lay layoutAt) addDAQmx(daqmx []*object) {
	widths := daqmx[0].index.widths
	counts := make([]int64, len(widths))

	for _, x := range daqmx {
		lay.unless(slices.Equal(x.index.widths, widths), "%q: channels disagree on the DAQmx buffers", x.path)

		for _, s := range x.index.scalers {
			if int(s.buffer) < len(counts) {
				lay.unless(counts[s.buffer] == 0 || counts[s.buffer] == x.index.n,
					"%q: channels disagree on the samples of DAQmx buffer %d", x.path, s.buffer)
				counts[s.buffer] = x.index.n
			}
		}
	}

	for i, w := range widths {
		lay.unless(counts[i] <= math.MaxInt64/16/max(1, w), "%d values cannot be", counts[i])
		lay.add(block{base: lay.size, stride: w, n: counts[i], size: w * counts[i]})
	}

	for _, x := range daqmx {
		if x.index.digital {
			x.c.err = x.c.fail("DAQmx digital line scalers are not read")
		}

		for _, s := range x.index.scalers {
			if int(s.buffer) >= len(widths) || s.buffer != x.index.scalers[0].buffer {
				x.c.err = x.c.fail("DAQmx scalers in different buffers are not read")
			}
		}

		if len(x.index.scalers) > 0 && int(x.index.scalers[0].buffer) < len(widths) {
			lay.slots = append(lay.slots, slot{
				c: x.c, block: int(x.index.scalers[0].buffer), typ: typeDAQmx,
				scalers: x.index.scalers,
			})
		}
	}
}

// raw notes the raw data of a segment, size bytes at a position.
func (r *reader) raw(at, data, size int64, flags uint32, cut bool) {
	work := func(n int, most int64, found string) {
		if r.work += int64(n); r.work > most {
			fault.Raise(&fault.Error{Place: "segment at " + place(at), Found: found})
		}
	}

	if r.lay == nil || r.changed || flags != r.flags {
		work(len(r.list), maxWork+r.f.src.Size, "the list of objects changes too often")
		r.lay, r.changed, r.flags = r.layout(at, flags), false, flags
		r.runs = append(r.runs, &run{lay: r.lay})
	}

	lay := r.lay
	if lay.size == 0 {
		r.f.warn("the segment at byte %d has %d bytes of raw data that belong to no channel", at, size)
		return
	}

	chunks := size / lay.size
	if chunks > 0 {
		last := r.runs[len(r.runs)-1]
		last.segs = append(last.segs, segment{at: data, first: last.chunks, chunks: chunks})
		last.chunks += chunks
	}

	rest := size - chunks*lay.size
	if rest == 0 {
		return
	}

	part, ok := lay.part(rest, cut)
	if !ok {
		r.f.warn("the segment at byte %d ends with %d bytes that are no whole chunk of %d: they are not read", at, rest,
			lay.size)
		return
	}

	work(len(lay.blocks)+len(lay.slots), maxWork+2*r.f.src.Size, "too many chunks that are not whole")

	// The rows of a part do not go on in another chunk, whatever its size.
	r.runs = append(r.runs, &run{lay: part, segs: []segment{{at: data + chunks*lay.size, chunks: 1}}, chunks: 1},
		&run{lay: lay})
}

// part returns the layout of a last chunk of rest bytes, which is not whole. Where
// the segment was cut, or there is one block of rows, the values lie as in a whole
// chunk. A segment that was closed holds of every channel the same share of its
// values, one channel after the other; false where these are no whole numbers.
func (lay *layout) part(rest int64, cut bool) (part *layout, ok bool) {
	part = &layout{big: lay.big, slots: lay.slots, blocks: make([]block, len(lay.blocks)), size: rest}
	shared := !cut && len(lay.blocks) > 1

	base := int64(0)
	for i, b := range lay.blocks {
		switch {
		case shared:
			hi, lo := bits.Mul64(uint64(b.n), uint64(rest)) // below n·size, so that the quotient has 64 bits
			n, over := bits.Div64(hi, lo, uint64(lay.size))
			if over != 0 || b.size != b.n*b.stride {
				return nil, false
			}

			b.base, b.n = base, int64(n)
			base += b.n * b.stride

		case b.base+b.size <= rest:
		case b.base >= rest || b.stride == 0:
			b.n = 0
		default:
			b.n = min(b.n, (rest-b.base)/b.stride)
		}

		b.size = b.n * b.stride
		part.blocks[i] = b
	}

	return part, true
}

// finish ties the data to the channels and reads their properties.
func (r *reader) finish() {
	f := r.f

	for _, run := range r.runs {
		for i, s := range run.lay.slots {
			n := run.lay.blocks[s.block].n * run.chunks
			if n <= 0 {
				continue
			}

			c := s.c

			typ := s.typ
			if len(s.scalers) > 0 {
				typ = s.scalers[0].typ
			}

			name, _ := dataType(typ)
			if typ == typeDAQmx {
				name = "digital line"
			}

			if c.typ == "" {
				c.typ = name
			}

			if _, numeric := numbers[typ]; c.err == nil && !numeric {
				c.err = c.fail("values of type %s are not numbers", name)
			}

			c.pieces = append(c.pieces, piece{run: run, slot: i, start: c.samples, n: n})
			c.samples += n
		}
	}

	for _, c := range f.channels {
		if c.err == nil {
			c.err = fault.Try(func() { c.scaling(&c.props, &c.group.props, &f.root) })
		}
	}
}

// settled reports whether a property of a rate or a scale had another value before. Writers begin with zeros.
func settled(name string, old, v any) bool {
	x, ok := old.(float64)
	return ok && x != 0 && x != v && (name == "wf_increment" || strings.HasPrefix(name, "NI_Scale"))
}

// start returns when a channel begins, in s of its wf_start_time and wf_start_offset; false where it states no time.
func (c *channel) start() (time.Time, bool) {
	t, ok := c.props.get("wf_start_time").(time.Time)
	offset, _ := c.number("wf_start_offset")

	return t.Add(time.Duration(offset * 1e9)), ok
}

// waveform returns rate and unit by the properties LabVIEW gives to waveforms
// ("Predefined Properties").
func (c *channel) waveform() (hz float64, unit string) {
	if unit = c.props.text("unit_string"); unit == "" {
		unit = c.props.text("NI_UnitDescription")
	}

	switch strings.ToLower(c.props.text("wf_xunit_string")) {
	case "", "s", "sec", "second", "seconds":
	default:
		return 0, unit // the increment is of frequency, angle, …
	}

	inc, ok := c.number("wf_increment")
	if ok && inc > 0 && !math.IsInf(1/inc, 0) && !math.IsInf(inc, 0) {
		hz = 1 / inc

		// 1/51200 is no binary fraction; its inverse is meant to be whole.
		if w := math.Round(hz); math.Abs(hz-w) < 1e-11*w {
			hz = w
		}
	}

	return hz, unit
}
