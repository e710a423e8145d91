package arrow

import (
	"encoding/binary"
	"fmt"

	"doubletake/ingest/fault"
)

// An Arrow file describes itself in flatbuffers: tables of slots, found by relative
// offsets. Every offset and length is compared with the buffer before it is
// followed.

// maxDepth is the deepest nesting of fields.
const maxDepth = 64

// maxVisits bounds the bytes that following the offsets of a buffer visits, in
// multiples of its length: no writer lets tables share more than a few parts, and
// with unlimited sharing a small buffer describes exponentially much.
const maxVisits = 4

// flat is a buffer. It keeps its first fault; from then on tables are empty.
type flat struct {
	b    []byte
	left int // bytes that may still be visited
	err  error
}

// table is a table of a buffer. The empty table has no values.
type table struct {
	*flat
	place   string
	at, own int    // where it begins, its bytes
	slots   []byte // where in it the values are, two bytes each
}

// root returns the table that a buffer describes; place names it in errors.
func root(b []byte, place string) table {
	f := &flat{b: b, left: maxVisits*len(b) + 1024}
	if len(b) < 4 || int64(len(b)) >= 1<<31 {
		f.fail(place, "a flatbuffer of 4 bytes to 2 GiB", "%d bytes", len(b))
		return table{flat: f}
	}

	return f.follow(0, place)
}

func (f *flat) fail(place, want, found string, args ...any) {
	if f.err == nil {
		f.err = damaged(place, want, found, args...)
	}
}

func damaged(place, want, found string, args ...any) error {
	return &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
}

// visit counts n bytes at at, which must lie in the buffer.
func (f *flat) visit(at, n int, place, what string) bool {
	if at < 0 || at > len(f.b) || n > len(f.b)-at {
		f.fail(place, fmt.Sprintf("%s within %d bytes", what, len(f.b)), "%d bytes at byte %d", n, at)
	}

	if f.left -= n; f.left < 0 {
		f.fail(place, "tables of their own", "parts that are shared over and over")
	}

	return f.err == nil
}

// follow returns the table that the offset at a byte leads to.
func (f *flat) follow(at int, place string) table {
	none := table{flat: f}

	at += int(binary.LittleEndian.Uint32(f.b[at:]))
	if !f.visit(at, 4, place, "a table") {
		return none
	}

	layout := at - int(int32(binary.LittleEndian.Uint32(f.b[at:])))
	if layout < 0 || layout > len(f.b)-4 {
		f.fail(place, fmt.Sprintf("a layout within %d bytes", len(f.b)), "one at byte %d", layout)
		return none
	}

	long, own := int(binary.LittleEndian.Uint16(f.b[layout:])), int(binary.LittleEndian.Uint16(f.b[layout+2:]))
	if long < 4 || long%2 != 0 || long > len(f.b)-layout || own < 4 {
		f.fail(place, "a table's layout", "one of %d bytes at byte %d of %d, for a table of %d", long, layout, len(f.b), own)
		return none
	}

	if !f.visit(at, own, place, "a table") {
		return none
	}

	return table{f, place, at, own, f.b[layout+4 : layout+long]}
}

// slot returns where a value of size bytes lies; 0: the table has none.
func (t table) slot(i, size int) int {
	if t.err != nil || 2*i+2 > len(t.slots) {
		return 0
	}

	o := int(binary.LittleEndian.Uint16(t.slots[2*i:]))
	if o != 0 && (o < 4 || o+size > t.own) {
		t.fail(t.place, fmt.Sprintf("a value within the %d bytes of its table", t.own), "%d bytes at byte %d", size, o)
		return 0
	}

	if o == 0 {
		return 0
	}

	return t.at + o
}

// number returns an integer of size bytes, otherwise where the table has none.
func (t table) number(i, size int, otherwise int64) int64 {
	at := t.slot(i, size)
	if at == 0 {
		return otherwise
	}

	var v [8]byte
	copy(v[8-size:], t.b[at:at+size])

	return int64(binary.LittleEndian.Uint64(v[:])) >> (64 - 8*size)
}

// table returns a table that the table refers to, and whether it does.
func (t table) table(i int, place string) (table, bool) {
	at := t.slot(i, 4)
	if at == 0 {
		return table{flat: t.flat}, false
	}

	to := t.follow(at, place)

	return to, to.err == nil
}

// vector returns where the elements of a vector begin and how many there are, of
// size bytes each.
func (t table) vector(i, size int, name string) (at, n int) {
	if at = t.slot(i, 4); at == 0 {
		return 0, 0
	}

	place := t.place + ", " + name

	at += int(binary.LittleEndian.Uint32(t.b[at:]))
	if !t.visit(at, 4, place, "a vector") {
		return 0, 0
	}

	n = int(binary.LittleEndian.Uint32(t.b[at:]))
	at += 4

	if n > (len(t.b)-at)/size {
		t.fail(place, fmt.Sprintf("a vector within %d bytes", len(t.b)), "%d elements of %d bytes at byte %d", n, size, at)
	}

	if t.err != nil || !t.visit(at, n*size, place, "a vector") {
		return 0, 0
	}

	return at, n
}

func (t table) text(i int, name string) string {
	at, n := t.vector(i, 1, name)
	return string(t.b[at : at+n])
}

// tables returns the tables of a vector.
func (t table) tables(i int, name string) []table {
	at, n := t.vector(i, 4, name)
	out := make([]table, n)
	for k := range out {
		if out[k] = t.follow(at+4*k, fmt.Sprintf("%s, %s %d", t.place, name, k+1)); t.err != nil {
			return nil
		}
	}

	return out
}
