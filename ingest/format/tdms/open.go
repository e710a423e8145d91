package tdms

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
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
	c     *Channel // nil for the file and the groups
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

func (x index) equal(y index) bool {
	return x.typ == y.typ && x.n == y.n && x.size == y.size && x.digital == y.digital &&
		(x.scalers == nil) == (y.scalers == nil) &&
		slices.Equal(x.scalers, y.scalers) && slices.Equal(x.widths, y.widths)
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
	f       *File
	root    props
	groups  map[string]*props
	objects map[string]*object
	list    []*object // of the current segment
	changed bool      // the list or an index in it, since the last layout
	flags   uint32    // byte order and interleaving of the last layout
	lay     *layout
	runs    []*run
	work    int64
}

// Open reads the meta data of a TDMS file of size bytes.
//
// A file that is no such file, or whose meta data cannot be followed, is an
// *Error; what concerns one channel is in its Err.
func Open(src io.ReaderAt, size int64) (*File, error) {
	r := &reader{f: &File{src: src, size: size}, groups: map[string]*props{}, objects: map[string]*object{}}
	for at := int64(0); at < size; {
		next, err := r.segment(at)
		if err != nil {
			return nil, err
		}

		at = next
	}

	if size == 0 {
		return nil, &Error{Place: "byte 0", Want: "a TDMS file", Found: "an empty file"}
	}

	r.finish()

	return r.f, nil
}

func place(at int64) string { return fmt.Sprintf("byte %d", at) }

// segment reads the segment at a position and returns where the next one is.
func (r *reader) segment(at int64) (int64, error) {
	f := r.f
	var lead [leadIn]byte
	n, err := f.src.ReadAt(lead[:min(leadIn, f.size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, &Error{Place: place(at), Err: fmt.Errorf("read lead-in: %w", err)}
	}

	if tag := string(lead[:min(n, 4)]); tag != "TDSm"[:len(tag)] || n < leadIn && at == 0 {
		e := &Error{Place: place(at), Want: `a segment, "TDSm"`, Found: fmt.Sprintf("%q", lead[:min(n, 8)])}
		if tag == "TDSh" {
			e.Found, e.Hint = "an index file", "open the .tdms file next to it"
		}

		return 0, e
	}

	if n < leadIn {
		f.Truncated = true
		f.Warnings = append(f.Warnings, fmt.Sprintf("the file ends within the lead-in of a segment at byte %d", at))
		return f.size, nil
	}

	toc := binary.LittleEndian.Uint32(lead[4:]) // little-endian in any case

	var o binary.ByteOrder = binary.LittleEndian
	if toc&tocBigEndian != 0 {
		o = binary.BigEndian
	}

	version := o.Uint32(lead[8:])
	if version != 4712 && version != 4713 {
		return 0, &Error{Place: place(at + 8), Want: "version 4712 or 4713", Found: fmt.Sprint(version)}
	}

	if f.Version == 0 {
		f.Version = version
	}

	nextOff, rawOff := o.Uint64(lead[12:]), o.Uint64(lead[20:])
	avail := uint64(f.size - at - leadIn)

	cut := false
	switch {
	case nextOff == unknown:
		f.Unclosed, cut = true, true
		nextOff = avail
	case nextOff > avail:
		f.Truncated, cut = true, true
		nextOff = avail
	}

	if rawOff > nextOff && !cut {
		return 0, &Error{
			Place: place(at + 20), Want: fmt.Sprintf("a raw data offset of at most %d", nextOff),
			Found: fmt.Sprint(rawOff),
		}
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

		if err := r.meta(m); err != nil {
			if cut && m.left == 0 {
				f.Warnings = append(f.Warnings, fmt.Sprintf("the file ends within the meta data of the segment at byte %d", at))
				return f.size, nil
			}

			return 0, err
		}
	}

	if rawOff > nextOff { // cut before the raw data
		return f.size, nil
	}

	raw := int64(nextOff) - meta
	if toc&tocRawData != 0 && raw > 0 {
		if err := r.raw(at, at+leadIn+meta, raw, toc&(tocBigEndian|tocInterleaved), cut); err != nil {
			return 0, err
		}
	}

	return at + leadIn + int64(nextOff), nil
}

// metaReader reads the values of the meta data of one segment. After an error,
// which err keeps, values are zero.
type metaReader struct {
	b    *bufio.Reader
	at   int64
	left int64
	o    binary.ByteOrder
	err  error
}

// fail returns the first error.
func (m *metaReader) fail(format string, args ...any) error {
	if m.err == nil {
		m.err = &Error{Place: place(m.at), Err: fmt.Errorf(format, args...)}
	}

	return m.err
}

// bytes fills p.
func (m *metaReader) bytes(p []byte) []byte {
	switch {
	case m.err != nil:
	case int64(len(p)) > m.left:
		m.left = 0
		_ = m.fail("the meta data end: %w", io.ErrUnexpectedEOF)
	default:
		n, err := io.ReadFull(m.b, p)
		m.at += int64(n)
		m.left -= int64(n)
		if err != nil {
			m.left = 0
			_ = m.fail("read meta data: %w", err)
			clear(p)
		}
	}

	return p
}

func (m *metaReader) u32() uint32 { return m.o.Uint32(m.bytes(make([]byte, 4))) }

func (m *metaReader) u64() uint64 { return m.o.Uint64(m.bytes(make([]byte, 8))) }

func (m *metaReader) text() string {
	n := m.u32()
	if int64(n) > m.left { // before the memory is taken
		m.left = 0
		_ = m.fail("a text of %d bytes overruns the meta data", n)

		return ""
	}

	return strings.ToValidUTF8(string(m.bytes(make([]byte, n))), "?")
}

// meta reads the meta data of a segment.
func (r *reader) meta(m *metaReader) error {
	for range m.u32() {
		path := m.text()
		x := r.objects[path]
		if x == nil {
			var err error
			if x, err = r.object(path, m); err != nil {
				return err
			}
		}

		head := m.u32()
		switch {
		case m.err != nil:
			return m.err

		case head == indexNone:
			r.changed = r.changed || x.has
			x.has = false

		case x.c == nil:
			return m.fail("the object %q is no channel and has data", path)

		case head == indexSame:
			if !x.known {
				return m.fail("the index of %q refers to an earlier one, and there is none", path)
			}

			r.changed = r.changed || !x.has
			x.has = true

		default:
			idx, err := m.index(head, path)
			if err != nil {
				return err
			}

			if !x.has || !idx.equal(x.index) {
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
			if m.err != nil {
				return m.err
			}

			x.props.set(name, v)
		}
	}

	return m.err
}

// object makes the object of a path: "/", "/'group'" or "/'group'/'channel'",
// quotes within a name doubled.
func (r *reader) object(path string, m *metaReader) (*object, error) {
	names, ok := split(path)
	if !ok {
		return nil, m.fail("%q is no path of an object", path)
	}

	x := &object{path: path, at: -1}
	switch len(names) {
	case 0:
		x.props = &r.root
	case 1:
		x.props = r.group(names[0])
	case 2:
		r.group(names[0])
		x.c = &Channel{Group: names[0], Name: names[1], file: r.f, source: -1}
		x.props = &x.c.props
		r.f.Channels = append(r.f.Channels, x.c)
	}

	r.objects[path] = x

	return x, nil
}

func (r *reader) group(name string) *props {
	p := r.groups[name]
	if p == nil {
		p = &props{}
		r.groups[name] = p
		r.f.Groups = append(r.f.Groups, Group{Name: name})
	}

	return p
}

func split(path string) ([]string, bool) {
	if path == "/" {
		return nil, true
	}

	var names []string
	for path != "" {
		if !strings.HasPrefix(path, "/'") || len(names) == 2 {
			return nil, false
		}

		path = path[2:]

		var name strings.Builder
		for {
			i := strings.IndexByte(path, '\'')
			if i < 0 {
				return nil, false
			}

			name.WriteString(path[:i])

			path = path[i+1:]
			if !strings.HasPrefix(path, "'") {
				break
			}

			name.WriteByte('\'')
			path = path[1:]
		}

		names = append(names, name.String())
	}

	return names, len(names) > 0
}

// index reads a raw data index.
func (m *metaReader) index(head uint32, path string) (index, error) {
	x := index{typ: m.u32()}
	if dim := m.u32(); dim != 1 {
		return x, m.fail("%q: expected an array of dimension 1, found %d", path, dim)
	}

	n := m.u64()
	if n > 1<<56 {
		return x, m.fail("%q: %d values are claimed", path, n)
	}

	x.n = int64(n)
	switch head {
	case indexScaler, indexDigital:
		x.digital = head == indexDigital
		return x, m.daqmx(&x, path)
	case 20, 28: // the length of the index, that of the length included
	default:
		return x, m.fail("%q: expected a raw data index of 20 or 28 bytes, found %#x", path, head)
	}

	if x.typ == typeString {
		if n = m.u64(); n > 1<<56 {
			return x, m.fail("%q: texts of %d bytes are claimed", path, n)
		}

		x.size = int64(n)
		if x.n > x.size/4 { // each text has an offset of four bytes
			return x, m.fail("%q: %d texts of %d bytes in all cannot be", path, x.n, x.size)
		}

		return x, m.err
	}

	if head == 28 {
		return x, m.fail("%q: an index of 28 bytes is for texts only", path)
	}

	if name, width := dataType(x.typ); width == 0 {
		return x, m.fail("%q has values of %s, whose size is not known", path, name)
	}

	return x, m.err
}

// daqmxType maps the type codes of DAQmx scalers, which differ from the others.
var daqmxType = [...]uint32{typeU8, typeI8, typeU16, typeI16, typeU32, typeI32}

func (m *metaReader) daqmx(x *index, path string) error {
	count := m.u32()
	if count > maxScalers {
		return m.fail("%q: %d DAQmx scalers are claimed", path, count)
	}

	x.scalers = []scaler{}
	for range count {
		typ := m.u32()
		s := scaler{buffer: m.u32(), off: int64(m.u32()), typ: typeDAQmx}
		if x.digital { // the sample format, one byte here
			m.bytes(make([]byte, 1))
		} else {
			m.u32()
		}

		s.id = m.u32()
		if int(typ) < len(daqmxType) {
			s.typ = daqmxType[typ]
		} else if !x.digital {
			return m.fail("%q: the type %d of a DAQmx scaler is not known", path, typ)
		}

		x.scalers = append(x.scalers, s)
	}

	if count = m.u32(); count > maxBuffers {
		return m.fail("%q: %d DAQmx buffers are claimed", path, count)
	}

	for range count {
		w := m.u32()
		if w > maxRow {
			return m.fail("%q: a DAQmx buffer of %d bytes a sample is claimed", path, w)
		}

		x.widths = append(x.widths, int64(w))
	}

	if !x.digital {
		for _, s := range x.scalers {
			_, width := dataType(s.typ)
			if int(s.buffer) >= len(x.widths) || s.off+width > x.widths[s.buffer] {
				return m.fail("%q: a DAQmx value at byte %d of buffer %d lies outside it", path, s.off, s.buffer)
			}
		}
	}

	return m.err
}

// value reads a property.
func (m *metaReader) value(name string) any {
	typ := m.u32()
	if typ == typeString {
		return m.text()
	}

	what, width := dataType(typ)
	if width == 0 {
		_ = m.fail("the property %q is of %s, which is not read", name, what)
		return nil
	}

	b := m.bytes(make([]byte, width))

	var x [1]float64

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

// layout arranges the data of the current list.
func (r *reader) layout(at int64, flags uint32) (*layout, error) {
	fail := func(format string, args ...any) error {
		return &Error{Place: "segment at " + place(at), Err: fmt.Errorf(format, args...)}
	}
	lay := &layout{big: flags&tocBigEndian != 0}
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

		_, width := dataType(x.index.typ)
		switch {
		case flags&tocInterleaved == 0:
			if x.index.n == 0 {
				continue
			}

			b := block{base: lay.size, stride: width, n: x.index.n, size: width * x.index.n}
			if x.index.typ == typeString {
				b.size = x.index.size
			} else if x.index.n > math.MaxInt64/16/width {
				return nil, fail("%q: %d values cannot be", x.path, x.index.n)
			}

			if lay.size += b.size; lay.size < 0 || lay.size > 1<<60 {
				return nil, fail("a chunk of more than 2^60 bytes is claimed")
			}

			lay.slots = append(lay.slots, slot{c: x.c, block: len(lay.blocks), typ: x.index.typ})
			lay.blocks = append(lay.blocks, b)

		case x.index.typ == typeString:
			return nil, fail("%q holds texts within interleaved data", x.path)

		default:
			if row > 0 && x.index.n != rows {
				return nil, fail("interleaved channels have %d and %d values", rows, x.index.n)
			}

			lay.slots = append(lay.slots, slot{c: x.c, off: row, typ: x.index.typ})

			rows, row = x.index.n, row+width
			if row > maxRow {
				return nil, fail("interleaved channels of more than %d bytes a sample are not read", maxRow)
			}
		}
	}

	if len(daqmx) > 0 {
		if len(lay.slots) > 0 {
			return nil, fail("DAQmx raw data and other data are mixed")
		}
		return lay, lay.addDAQmx(daqmx, fail)
	}

	if row > 0 {
		lay.blocks = []block{{stride: row, n: rows, size: row * rows}}
		lay.size = row * rows
	}

	return lay, nil
}

// addDAQmx arranges DAQmx data: a block for each of their buffers.
func (lay *layout) addDAQmx(daqmx []*object, fail func(format string, args ...any) error) error {
	widths := daqmx[0].index.widths
	counts := make([]int64, len(widths))
	for _, x := range daqmx {
		if len(x.index.widths) != len(widths) {
			return fail("%q: channels disagree on the DAQmx buffers", x.path)
		}

		for i, w := range x.index.widths {
			if w != widths[i] {
				return fail("%q: channels disagree on the width of DAQmx buffer %d", x.path, i)
			}
		}

		for _, s := range x.index.scalers {
			if int(s.buffer) < len(counts) {
				if counts[s.buffer] != 0 && counts[s.buffer] != x.index.n {
					return fail("%q: channels disagree on the samples of DAQmx buffer %d", x.path, s.buffer)
				}
				counts[s.buffer] = x.index.n
			}
		}
	}

	for i, w := range widths {
		if counts[i] > math.MaxInt64/16/max(1, w) {
			return fail("%d values cannot be", counts[i])
		}

		b := block{base: lay.size, stride: w, n: counts[i], size: w * counts[i]}
		if lay.size += b.size; lay.size > 1<<60 {
			return fail("a chunk of more than 2^60 bytes is claimed")
		}

		lay.blocks = append(lay.blocks, b)
	}

	for _, x := range daqmx {
		if x.index.digital {
			x.c.Err = x.c.fail("DAQmx digital line scalers are not read")
		}

		for _, s := range x.index.scalers {
			if int(s.buffer) >= len(widths) || s.buffer != x.index.scalers[0].buffer {
				x.c.Err = x.c.fail("DAQmx scalers in different buffers are not read")
			}
		}

		if len(x.index.scalers) > 0 && int(x.index.scalers[0].buffer) < len(widths) {
			lay.slots = append(lay.slots, slot{
				c: x.c, block: int(x.index.scalers[0].buffer), typ: typeDAQmx,
				scalers: x.index.scalers,
			})
		}
	}

	return nil
}

// raw notes the raw data of a segment, size bytes at a position.
func (r *reader) raw(at, data, size int64, flags uint32, cut bool) error {
	if r.lay == nil || r.changed || flags != r.flags {
		if r.work += int64(len(r.list)); r.work > maxWork+r.f.size {
			return &Error{Place: "segment at " + place(at), Found: "the list of objects changes too often"}
		}

		lay, err := r.layout(at, flags)
		if err != nil {
			return err
		}

		r.lay, r.changed, r.flags = lay, false, flags
		r.runs = append(r.runs, &run{lay: lay})
	}

	lay := r.lay
	if lay.size == 0 {
		r.f.Warnings = append(r.f.Warnings, fmt.Sprintf("the segment at byte %d has %d bytes of raw data that belong to no "+
			"channel", at, size))
		return nil
	}

	chunks := size / lay.size
	if chunks > 0 {
		last := r.runs[len(r.runs)-1]
		last.segs = append(last.segs, segment{at: data, first: last.chunks, chunks: chunks})
		last.chunks += chunks
	}

	rest := size - chunks*lay.size
	if rest == 0 {
		return nil
	}

	part, ok := lay.part(rest, cut)
	if !ok {
		r.f.Warnings = append(r.f.Warnings, fmt.Sprintf("the segment at byte %d ends with %d bytes that are no whole chunk "+
			"of %d: they are not read", at, rest, lay.size))
		return nil
	}

	if r.work += int64(len(lay.blocks) + len(lay.slots)); r.work > maxWork+2*r.f.size {
		return &Error{Place: "segment at " + place(at), Found: "too many chunks that are not whole"}
	}

	// The rows of a part do not go on in another chunk, whatever its size.
	r.runs = append(r.runs, &run{lay: part, segs: []segment{{at: data + chunks*lay.size, chunks: 1}}, chunks: 1},
		&run{lay: lay})

	return nil
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
			for _, x := range s.scalers {
				typ = x.typ
				break
			}

			name, _ := dataType(typ)
			if typ == typeDAQmx {
				name = "digital line"
			}

			if c.Type == "" {
				c.Type = name
			}

			if _, numeric := numbers[typ]; c.Err == nil && !numeric {
				c.Err = c.fail("values of type %s are not numbers", name)
			}

			c.pieces = append(c.pieces, piece{run: run, slot: i, start: c.Samples, n: n})
			c.Samples += n
		}
	}

	f.Properties = r.root.list
	for i := range f.Groups {
		f.Groups[i].Properties = r.groups[f.Groups[i].Name].list
	}

	for _, c := range f.Channels {
		c.Properties = c.props.list
		c.waveform()

		if c.Err == nil {
			c.Err = c.scaling(&c.props, r.groups[c.Group], &r.root)
		}
	}
}

// waveform reads rate and unit from the properties LabVIEW gives to waveforms
// ("Predefined Properties").
func (c *Channel) waveform() {
	if c.Unit = c.props.text("unit_string"); c.Unit == "" {
		c.Unit = c.props.text("NI_UnitDescription")
	}

	inc, ok := c.props.number("wf_increment")

	switch strings.ToLower(c.props.text("wf_xunit_string")) {
	case "", "s", "sec", "second", "seconds":
	default:
		return // the increment is of frequency, angle, …
	}

	if ok && inc > 0 && !math.IsInf(1/inc, 0) && !math.IsInf(inc, 0) {
		c.RateHz = 1 / inc

		// 1/51200 is no binary fraction; its inverse is meant to be whole.
		if w := math.Round(c.RateHz); math.Abs(c.RateHz-w) < 1e-11*w {
			c.RateHz = w
		}
	}

	if x, ok := c.props.number("wf_start_offset"); ok {
		c.Start = x
	}
}
