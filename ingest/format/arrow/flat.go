package arrow

import (
	"encoding/binary"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
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

// flat is a buffer. Its methods, and those of its tables, raise errors (fault.Raise).
type flat struct {
	b    []byte
	left int // bytes that may still be visited
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
	unless(len(b) >= 4 && int64(len(b)) < 1<<31, place, "a flatbuffer of 4 bytes to 2 GiB", "%d bytes", len(b))

	f := &flat{b: b, left: maxVisits*len(b) + 1024}

	return f.follow(0, place)
}

func damaged(place, want, found string, args ...any) error {
	return &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
}

// unless raises the error of a damaged file, unless ok.
func unless(ok bool, place, want, found string, args ...any) {
	if !ok {
		fault.Raise(damaged(place, want, found, args...))
	}
}

// u32 is the number of 32 bits at a byte.
func (f *flat) u32(at int) int { return int(binary.LittleEndian.Uint32(f.b[at:])) }

// visit counts n bytes at at, which must lie in the buffer.
func (f *flat) visit(at, n int, place, what string) {
	if at < 0 || at > len(f.b) || n > len(f.b)-at {
		fault.Raise(damaged(place, fmt.Sprintf("%s within %d bytes", what, len(f.b)), "%d bytes at byte %d", n, at))
	}

	f.left -= n
	unless(f.left >= 0, place, "tables of their own", "parts that are shared over and over")
}

// follow returns the table that the offset at a byte leads to.
func (f *flat) follow(at int, place string) table {
	at += f.u32(at)
	f.visit(at, 4, place, "a table")

	layout := at - int(int32(f.u32(at)))
	if layout < 0 || layout > len(f.b)-4 {
		fault.Raise(damaged(place, fmt.Sprintf("a layout within %d bytes", len(f.b)), "one at byte %d", layout))
	}

	long, own := int(binary.LittleEndian.Uint16(f.b[layout:])), int(binary.LittleEndian.Uint16(f.b[layout+2:]))
	unless(long >= 4 && long%2 == 0 && long <= len(f.b)-layout && own >= 4, place, "a table's layout",
		"one of %d bytes at byte %d of %d, for a table of %d", long, layout, len(f.b), own)
	f.visit(at, own, place, "a table")

	return table{f, place, at, own, f.b[layout+4 : layout+long]}
}

// slot returns where a value of size bytes lies; 0: the table has none.
func (t table) slot(i, size int) int {
	if 2*i+2 > len(t.slots) {
		return 0
	}

	o := int(binary.LittleEndian.Uint16(t.slots[2*i:]))
	if o == 0 {
		return 0
	}

	if o < 4 || o+size > t.own {
		fault.Raise(damaged(t.place, fmt.Sprintf("a value within the %d bytes of its table", t.own), "%d bytes at byte %d",
			size, o))
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

	return t.follow(at, place), true
}

// vector returns where the elements of a vector begin and how many there are, of
// size bytes each.
func (t table) vector(i, size int, name string) (at, n int) {
	if at = t.slot(i, 4); at == 0 {
		return 0, 0
	}

	place := t.place + ", " + name
	at += t.u32(at)
	t.visit(at, 4, place, "a vector")

	n = t.u32(at)
	at += 4

	if n > (len(t.b)-at)/size {
		fault.Raise(damaged(place, fmt.Sprintf("a vector within %d bytes", len(t.b)),
			"%d elements of %d bytes at byte %d", n, size, at))
	}

	t.visit(at, n*size, place, "a vector")

	return at, n
}

func (t table) text(i int, name string) string {
	at, n := t.vector(i, 1, name)
	return string(t.b[at : at+n])
}

// tables returns the tables of a vector.
func (t table) tables(i int, name string) []table {
	at, n := t.vector(i, 4, name)

	return lists.Make(n, func(k int) table {
		return t.follow(at+4*k, fmt.Sprintf("%s, %s %d", t.place, name, k+1))
	})
}
