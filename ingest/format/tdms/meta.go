package tdms

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
)

// Headers of a raw data index ("Meta Data").
const (
	plainIndex   = 20 // the length of the index in bytes: header, type, dimension, and number of values in 8 bytes
	textIndex    = 28 // the same for texts, with 8 bytes more for their size
	indexNone    = 0xffffffff
	indexSame    = 0      // the index that the object had before
	indexScaler  = 0x1269 // DAQmx format-changing scalers
	indexDigital = 0x126a // DAQmx digital line scalers
)

// object is the file, a group or a channel, as the meta data list it.
type object struct {
	path     string
	c        *channel // nil for the file and the groups
	props    *props   // properties of the file, the group or the channel
	index    index    // the last one that was read
	indexed  bool     // an index was read
	active   bool     // it has data in the current segment
	position int      // in the list of the current segment; −1 if it is not in the list
}

// index is a raw data index: it describes the values of a channel in a chunk.
type index struct {
	typ     uint32   // type of the values
	n       int64    // number of values
	size    int64    // bytes of all values, for texts; 0 otherwise
	scalers []scaler // for DAQmx data; nil otherwise
	widths  []int64  // bytes of a row of each DAQmx buffer; nil for other data
	digital bool     // scalers are digital lines
}

// scaler says where the values of a DAQmx channel lie in the rows of a buffer.
type scaler struct {
	id     uint32 // its number, which scales name
	typ    uint32 // type of the values
	buffer uint32 // number of the buffer
	offset int64  // of the value in a row, in bytes
}

// metaReader reads the values of the meta data of one segment. Its methods raise errors (decode.Raise), which
// readMeta catches.
type metaReader struct {
	b      *bufio.Reader
	offset int64 // of the next byte in the file
	left   int64 // bytes of meta data that are left; 0 after an error of reading
	order  binary.ByteOrder
}

// raise raises an error at the next byte.
func (m *metaReader) raise(format string, args ...any) {
	decode.Raise(&fault.Error{Place: place(m.offset), Err: fmt.Errorf(format, args...)})
}

// unless raises an error at the next byte if ok is false.
func (m *metaReader) unless(ok bool, format string, args ...any) {
	if !ok {
		m.raise(format, args...)
	}
}

// bytes returns the next n bytes.
func (m *metaReader) bytes(n int64) []byte {
	if n > m.left { // compared before memory is allocated
		m.left = 0
		m.raise("the meta data end: %w", io.ErrUnexpectedEOF)
	}

	p := make([]byte, n)
	k, err := io.ReadFull(m.b, p)
	m.offset += int64(k)
	m.left -= int64(k)

	if err != nil {
		m.left = 0
		m.raise("read meta data: %w", err)
	}

	return p
}

// u32 returns the next number of 4 bytes.
func (m *metaReader) u32() uint32 { return m.order.Uint32(m.bytes(4)) }

// u64 returns the next number of 8 bytes.
func (m *metaReader) u64() uint64 { return m.order.Uint64(m.bytes(8)) }

// text returns the next text: its length in 4 bytes, and its bytes in UTF-8.
func (m *metaReader) text() string {
	n := int64(m.u32())
	if n > m.left {
		m.left = 0
		m.raise("a text of %d bytes overruns the meta data", n)
	}

	return strings.ToValidUTF8(string(m.bytes(n)), "?")
}

// readMeta reads the meta data of a segment: the number of objects, and the objects.
func (r *reader) readMeta(meta *metaReader) (err error) {
	defer decode.Catch(&err)

	for range meta.u32() {
		r.readObject(meta)
	}

	return nil
}

// readObject reads the meta data of an object: its path, its raw data index, the number of its properties, and the
// properties. It puts the object into the list of the segment.
func (r *reader) readObject(meta *metaReader) {
	path := meta.text()
	obj := r.objects[path]
	if obj == nil {
		obj = r.newObject(path, meta)
	}

	switch head := meta.u32(); head {
	case indexNone:
		r.changed = r.changed || obj.active
		obj.active = false
	case indexSame:
		meta.unless(obj.c != nil, "the object %q has data but is not a channel", path)
		meta.unless(obj.indexed, "the index of %q refers to an earlier one, and there is none", path)
		r.changed = r.changed || !obj.active
		obj.active = true
	default:
		meta.unless(obj.c != nil, "the object %q has data but is not a channel", path)

		idx := meta.readIndex(head, path)
		if !obj.active || !reflect.DeepEqual(idx, obj.index) {
			r.changed = true
		}

		obj.index = idx
		obj.indexed = true
		obj.active = true
	}

	if obj.position < 0 {
		obj.position = len(r.list)
		r.list = append(r.list, obj)
		r.changed = r.changed || obj.active
	}

	for range meta.u32() {
		name := meta.text()
		v := meta.value(name)

		if old := obj.props.get(name); obj.c != nil && hasChanged(name, old, v) {
			r.f.warn("channel %q: %s is %v in one segment and %v in a later one, which is taken for all samples: "+
				"split the file there", obj.c.path, name, old, v)
		}

		obj.props.set(name, v)
	}
}

// newObject adds the object with a path: "/", "/'group'" or "/'group'/'channel'". Quotes within a name are doubled.
func (r *reader) newObject(path string, meta *metaReader) *object {
	names, ok := split(path)
	meta.unless(ok, "%q is not a path of an object", path)

	obj := &object{path: path, position: -1}

	switch len(names) {
	case 0:
		obj.props = &r.f.root
	case 1:
		obj.props = &r.groupNamed(names[0]).props
	case 2:
		obj.c = &channel{group: r.groupNamed(names[0]), path: names[0] + "/" + names[1], file: r.f, source: -1}
		obj.props = &obj.c.props
		r.f.channels = append(r.f.channels, obj.c)
	}

	r.objects[path] = obj

	return obj
}

// groupNamed returns the group with a name. It adds the group if it is new.
func (r *reader) groupNamed(name string) *group {
	g := r.groups[name]
	if g == nil {
		g = &group{name: name}
		r.groups[name] = g
		r.f.groups = append(r.f.groups, g)
	}

	return g
}

// pathPattern matches the path of a group or a channel.
var pathPattern = regexp.MustCompile(`^/'((?:[^']|'')*)'(?:/'((?:[^']|'')*)')?$`)

// split returns the names in a path: none for the file, one for a group, and two for a channel. It returns false if the
// path does not have the form of an object's path.
func split(path string) (names []string, ok bool) {
	if path == "/" {
		return nil, true
	}

	// Indices of the whole match, of the group's name, and of the channel's name, which are −1 for a group.
	m := pathPattern.FindStringSubmatchIndex(path)
	if m == nil {
		return nil, false
	}

	for k := 2; k < len(m) && m[k] >= 0; k += 2 {
		names = append(names, strings.ReplaceAll(path[m[k]:m[k+1]], "''", "'"))
	}

	return names, true
}

// maxCount bounds the number of values of a channel in a chunk, and the bytes of its texts, so that sums of them do not
// overflow.
const maxCount = 1 << 56

// readIndex reads a raw data index with the given header: the type of the values, the dimension of the array (1), the
// number of values in 8 bytes, and for texts their size in 8 bytes.
func (m *metaReader) readIndex(head uint32, path string) index {
	x := index{typ: m.u32(), digital: head == indexDigital}
	dim := m.u32()
	n := m.u64()
	m.unless(dim == 1, "%q: expected an array of dimension 1, found %d", path, dim)
	m.unless(n <= maxCount, "%q: %d values are claimed", path, n)
	x.n = int64(n)

	if head == indexScaler || head == indexDigital {
		m.readScalers(&x, path)
		return x
	}

	isKnown := head == plainIndex || head == textIndex
	m.unless(isKnown, "%q: expected a raw data index of 20 or 28 bytes, found %#x", path, head)

	if x.typ == typeString {
		n = m.u64()
		m.unless(n <= maxCount, "%q: texts of %d bytes are claimed", path, n)
		x.size = int64(n)
		// Each text has an offset of four bytes.
		m.unless(x.n <= x.size/4, "%q: %d texts of %d bytes in all cannot be", path, x.n, x.size)

		return x
	}

	m.unless(head == plainIndex, "%q: an index of 28 bytes is for texts only", path)
	name, width := dataType(x.typ)
	m.unless(width > 0, "%q has values of %s, whose size is not known", path, name)

	return x
}

// daqmxType has the data types for the type codes of DAQmx scalers. Other data have other codes for the same types.
var daqmxType = [...]uint32{typeU8, typeI8, typeU16, typeI16, typeU32, typeI32}

// readScalers reads the scalers and the widths of the buffers of a DAQmx index into x. A scaler is five numbers of 4
// bytes: the type, the buffer, the offset in a row of the buffer, the sample format (1 byte for digital lines), and
// the number of the scaler.
func (m *metaReader) readScalers(x *index, path string) {
	count := m.u32()
	m.unless(count <= maxScalers, "%q: %d DAQmx scalers are claimed", path, count)

	x.scalers = []scaler{}
	for range count {
		typ := m.u32()
		s := scaler{buffer: m.u32(), offset: int64(m.u32()), typ: typeDAQmx}

		if x.digital { // the sample format is not used
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

	for _, scaler := range x.scalers {
		_, width := dataType(scaler.typ)
		inside := int(scaler.buffer) < len(x.widths) && scaler.offset+width <= x.widths[scaler.buffer]
		m.unless(x.digital || inside, "%q: a DAQmx value at byte %d of buffer %d lies outside it", path, scaler.offset,
			scaler.buffer)
	}
}

// value returns the value of a property, as property says. The property's name is for messages.
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
		return int64(m.order.Uint64(b))
	case typeU64:
		return m.order.Uint64(b)
	case typeBoolean:
		return b[0] != 0
	case typeTime:
		return m.time(b)
	case typeComplexSingle:
		return complex(float64(math.Float32frombits(m.order.Uint32(b))), float64(math.Float32frombits(m.order.Uint32(b[4:]))))
	case typeComplexDouble:
		return complex(math.Float64frombits(m.order.Uint64(b)), math.Float64frombits(m.order.Uint64(b[8:])))
	}

	var x [1]float64
	decodeValues(x[:], b, width, typ, m.order == binary.ByteOrder(binary.BigEndian))

	switch typ {
	case typeI8, typeI16, typeI32:
		return int64(x[0])
	case typeU8, typeU16, typeU32:
		return uint64(x[0])
	}

	return x[0]
}

// time converts a time stamp of 16 bytes: a signed number of seconds since 1904-01-01 UTC, and a number of fractions of
// 2^-64 s ("TDMS Data Types"). The fractions are first in little-endian files, and the seconds in big-endian files.
func (m *metaReader) time(b []byte) time.Time {
	fraction := m.order.Uint64(b)
	seconds := m.order.Uint64(b[8:])
	if m.order == binary.ByteOrder(binary.BigEndian) {
		seconds, fraction = fraction, seconds
	}

	const epoch = -2082844800            // 1904-01-01 in Unix seconds
	const limit = 1 << 40                // seconds, about 35,000 years: later times are damage
	ns := ((fraction >> 32) * 1e9) >> 32 // the upper 32 bits are enough for nanoseconds
	s := max(-limit, min(limit, int64(seconds))) + epoch

	return time.Unix(s, int64(ns)).UTC()
}
