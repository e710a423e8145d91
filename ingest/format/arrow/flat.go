package arrow

import (
	"encoding/binary"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
)

// The metadata of an Arrow file are flatbuffers (FlatBuffers, "Internals"). A flatbuffer is a tree of tables. A table
// begins with the distance to its layout, which lies before it: the layout has the length of the layout, the length of
// the table, and for each slot the offset of its value in the table, 0 if there is none, all in 2 bytes. A value is a
// number, or the distance to a table, a text or a vector. A vector is the number of its elements in 4 bytes and the
// elements.
//
// Every offset and length is compared with the size of the buffer before it is used.

// maxDepth is the deepest nesting of fields.
const maxDepth = 64

// maxVisits bounds the bytes that are visited when the offsets of a buffer are followed, in multiples of its length.
// Tables may share parts, so that a small buffer could describe exponentially much. No writer shares more than a few
// parts.
const maxVisits = 4

// flat is a flatbuffer. Its methods, and the methods of its tables, raise errors (decode.Raise).
type flat struct {
	b    []byte
	left int // bytes that may still be visited
}

// table is a table of a flatbuffer. A table without slots has no values.
type table struct {
	*flat
	place string // names the table for people
	begin int    // offset in the buffer
	size  int    // length in bytes
	slots []byte // for each slot, the offset of its value in the table, in 2 bytes; 0 if there is no value
}

// root returns the first table of a buffer. place names it in errors.
func root(b []byte, place string) table {
	unless(len(b) >= 4 && int64(len(b)) < 1<<31, place, "a flatbuffer of 4 bytes to 2 GiB", "%d bytes", len(b))

	f := &flat{b: b, left: maxVisits*len(b) + 1024}

	return f.follow(0, place)
}

// damaged returns the error of a damaged file.
func damaged(place, want, found string, args ...any) error {
	return &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
}

// unless raises the error of a damaged file if ok is false.
func unless(ok bool, place, want, found string, args ...any) {
	if !ok {
		decode.Raise(damaged(place, want, found, args...))
	}
}

// u32 returns the number of 4 bytes at an offset.
func (f *flat) u32(i int) int { return int(binary.LittleEndian.Uint32(f.b[i:])) }

// visit counts a visit of n bytes at an offset. It raises an error if they do not lie in the buffer. what names them.
func (f *flat) visit(begin, n int, place, what string) {
	if begin < 0 || begin > len(f.b) || n > len(f.b)-begin {
		decode.Raise(damaged(place, fmt.Sprintf("%s within %d bytes", what, len(f.b)), "%d bytes at byte %d", n, begin))
	}

	f.left -= n
	unless(f.left >= 0, place, "tables of their own", "parts that are shared over and over")
}

// follow returns the table to which the distance at an offset leads.
func (f *flat) follow(begin int, place string) table {
	begin += f.u32(begin) // offset of the table
	f.visit(begin, 4, place, "a table")

	layout := begin - int(int32(f.u32(begin))) // offset of the layout
	if layout < 0 || layout > len(f.b)-4 {
		decode.Raise(damaged(place, fmt.Sprintf("a layout within %d bytes", len(f.b)), "one at byte %d", layout))
	}

	length := int(binary.LittleEndian.Uint16(f.b[layout:])) // of the layout
	size := int(binary.LittleEndian.Uint16(f.b[layout+2:])) // of the table
	isLayout := length >= 4 && length%2 == 0 && length <= len(f.b)-layout
	unless(isLayout && size >= 4, place, "a table's layout",
		"one of %d bytes at byte %d of %d, for a table of %d", length, layout, len(f.b), size)
	f.visit(begin, size, place, "a table")

	return table{flat: f, place: place, begin: begin, size: size, slots: f.b[layout+4 : layout+length]}
}

// slot returns the offset in the buffer of the value of slot i, which has size bytes. It returns 0 if the table does
// not have the value.
func (t table) slot(i, size int) int {
	if 2*i+2 > len(t.slots) {
		return 0
	}

	offset := int(binary.LittleEndian.Uint16(t.slots[2*i:])) // in the table
	if offset == 0 {
		return 0
	}

	if offset < 4 || offset+size > t.size {
		decode.Raise(damaged(t.place, fmt.Sprintf("a value within the %d bytes of its table", t.size),
			"%d bytes at byte %d", size, offset))
	}

	return t.begin + offset
}

// number returns the signed integer of size bytes in slot i, and 0 if the table does not have it.
func (t table) number(i, size int) int64 {
	begin := t.slot(i, size)
	if begin == 0 {
		return 0
	}

	var v [8]byte // the number in the upper bytes; the shift to the right extends its sign
	copy(v[8-size:], t.b[begin:begin+size])

	return int64(binary.LittleEndian.Uint64(v[:])) >> (64 - 8*size)
}

// table returns the table to which slot i refers. It returns false if the slot is empty.
func (t table) table(i int, place string) (table, bool) {
	begin := t.slot(i, 4)
	if begin == 0 {
		return table{flat: t.flat}, false
	}

	return t.follow(begin, place), true
}

// vector returns the offset in the buffer of the elements of the vector in slot i, and their number, which is 0 if the
// slot is empty. An element has size bytes. name names the vector for people.
func (t table) vector(i, size int, name string) (begin, n int) {
	begin = t.slot(i, 4)
	if begin == 0 {
		return 0, 0
	}

	place := t.place + ", " + name
	begin += t.u32(begin)
	t.visit(begin, 4, place, "a vector")

	n = t.u32(begin)
	begin += 4

	if n > (len(t.b)-begin)/size {
		decode.Raise(damaged(place, fmt.Sprintf("a vector within %d bytes", len(t.b)),
			"%d elements of %d bytes at byte %d", n, size, begin))
	}

	t.visit(begin, n*size, place, "a vector")

	return begin, n
}

// text returns the text in slot i, and "" if the slot is empty.
func (t table) text(i int, name string) string {
	begin, n := t.vector(i, 1, name)
	return string(t.b[begin : begin+n])
}

// tables returns the tables in the vector in slot i.
func (t table) tables(i int, name string) []table {
	begin, n := t.vector(i, 4, name)

	var list []table
	for k := range n {
		list = append(list, t.follow(begin+4*k, fmt.Sprintf("%s, %s %d", t.place, name, k+1)))
	}

	return list
}
