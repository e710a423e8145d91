package matfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/spool"
	"doubletake/internal/lists"
)

// element is one data element of the top level: an array, perhaps compressed.
type element struct {
	at   int64 // of its tag in the file
	typ  uint32
	size int64       // bytes after the tag
	data io.ReaderAt // the file, or what was decompressed
	end  int64       // where the array ends in data
}

// tag opens a data element: its type, length, and its bytes in the small format.
type tag struct {
	typ   uint32
	n     int64
	small bool
	data  [4]byte
	at    int64 // where the data lie
}

// pad is what follows the data up to the next multiple of eight bytes.
func (t tag) pad() int64 {
	if t.small {
		return 0
	}
	return -t.n & 7
}

// variable lists what one top-level element holds. Only errors that concern
// the whole file are raised.
func (f *file) variable(e *element, seen map[string]int64) {
	before, budget := f.list, f.budget
	w := &walker{f: f, e: e, at: e.at + 8}
	e.end = e.at + 8 + e.size

	err := fault.Try(func() { w.variable() })

	name := w.name
	if name == "" {
		name = place(e.at)
	}

	if first, ok := seen[name]; ok && err == nil {
		err = fault.At("", "variable "+strconv.Quote(name), "", fmt.Sprintf("the name is used at byte %d already", first),
			"save the variables under different names")
	}

	if err != nil {
		f.list, f.budget = before, budget
		f.refuse(name, err)
	}

	if _, ok := seen[name]; !ok {
		seen[name] = e.at
		f.budget -= int64(len(name)) + 64
	}

	f.full()
}

// full raises that the lists have reached their bound.
func (f *file) full() {
	if f.budget < 0 {
		fault.Raise(fault.At("", "list of arrays", "", fmt.Sprintf("more names and texts than %d MiB hold", maxIndex>>20),
			"save matrices, not many small arrays"))
	}
}

// walker lists the arrays of one element. Its methods raise errors (fault.Raise).
type walker struct {
	f    *file
	e    *element
	at   int64  // of the next byte in the element's data
	name string // of the variable
}

// variable lists the array of the element, and all in it.
func (w *walker) variable() {
	if w.e.typ != miCOMPRESSED {
		fault.Unless(w.e.typ == miMATRIX, &fault.Error{
			Place: place(w.e.at), Want: "an array", Found: fmt.Sprintf("data type %d", w.e.typ),
		})

		w.array("", 0, w.e.end)

		return
	}

	w.at, w.e.end = 8, 8
	stream, err := w.f.decompress(w.e)
	if err != nil {
		fault.Raise(&fault.Error{Place: place(w.e.at), Err: fmt.Errorf("decompress: %w", err)})
	}

	if w.array("", 0, w.e.end); w.at == w.e.end { // all of it was looked through
		err = stream.Fill(w.e.end)
		w.unless(err == nil, "%w", err)
	}
}

// decompress makes the data of a compressed element and reads the tag of its array.
func (f *file) decompress(e *element) (*spool.Reader, error) {
	z := inflate.NewZlibReader(io.NewSectionReader(f.src, e.at+8, e.size))

	var b [8]byte
	if _, err := io.ReadFull(z, b[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}

		return nil, fmt.Errorf("byte %d, decompressed byte 0: read a tag: %w", e.at, err)
	}

	typ, n := f.order.Uint32(b[:]), int64(f.order.Uint32(b[4:]))

	switch {
	case typ != miMATRIX:
		return nil, fmt.Errorf("expected an array, found data type %d", typ)
	case n > inflate.MaxRatio*e.size:
		return nil, fmt.Errorf("an array of %d bytes is claimed, more than %d compressed bytes can hold", n, e.size)
	}

	e.end = 8 + n
	s := spool.New(io.MultiReader(bytes.NewReader(b[:]), z), e.end, &f.memory)
	e.data = s
	f.spools = append(f.spools, s)

	return s, nil
}

// unless raises an error at the next byte, unless ok.
func (w *walker) unless(ok bool, format string, args ...any) {
	if ok {
		return
	}

	where := place(w.at)
	if w.e.typ == miCOMPRESSED {
		where = fmt.Sprintf("byte %d, decompressed byte %d", w.e.at, w.at)
	}

	fault.Raise(&fault.Error{Place: where, Err: fmt.Errorf(format, args...)})
}

// read returns the next n bytes. Errors call them what.
func (w *walker) read(n int64, what string) []byte {
	b, err := make([]byte, n), io.ErrUnexpectedEOF
	if n <= w.e.end-w.at {
		err = raw.ReadFull(w.e.data, b, w.at)
	}

	w.unless(err == nil, "read %s: %w", what, err)
	w.at += n

	return b
}

func (w *walker) tag() tag {
	b := w.read(8, "a tag")

	t := tag{typ: w.f.order.Uint32(b), n: int64(w.f.order.Uint32(b[4:])), at: w.at}
	if t.typ>>16 != 0 {
		t.n, t.typ, t.small, t.at = int64(t.typ>>16), t.typ&0xffff, true, w.at-4
		copy(t.data[:], b[4:])
		w.unless(t.n <= 4, "a small element claims %d bytes", t.n)
	}

	return t
}

// data reads the bytes of a short element, its padding included.
func (w *walker) data(t tag, most, end int64) []byte {
	if t.small {
		return t.data[:t.n]
	}

	w.unless(t.n <= most, "expected at most %d bytes, found %d", most, t.n)
	w.unless(t.n <= end-w.at, "an element of %d bytes overruns its array", t.n)

	b := w.read(t.n, fmt.Sprintf("%d bytes", t.n))
	w.at += min(t.pad(), end-w.at)

	return b
}

// part reads the next short element, which must be of one of the types.
func (w *walker) part(what string, most, end int64, types ...uint32) []byte {
	t := w.tag()
	w.unless(slices.Contains(types, t.typ), "expected %s, found data type %d", what, t.typ)

	return w.data(t, most, end)
}

// head is what the beginning of an array states.
type head struct {
	class   uint32
	complex bool
	dims    []int64 // none of an opaque array
	count   int64   // their product
}

// unread are the classes of arrays that are not read, and what to do.
var unread = map[uint32]struct{ found, hint string }{
	mxOBJECT:   {"objects are not read", "save its fields as a struct"},
	mxSPARSE:   {"sparse arrays are not read", "save full(…) of it"},
	mxFUNCTION: {"function handles are not read", ""},
	mxOPAQUE: {
		"objects (datetime, string, table, …) are not read", "save it as numbers, texts (char) or structs",
	},
}

// array lists an array whose tag has been read, and everything in it; its
// bytes end at end. Without a path it is a variable and has a name of its own.
// An error spoils the whole variable.
func (w *walker) array(path string, depth int, end int64) {
	w.unless(depth <= maxDepth, "structs and cells are nested more than %d deep", maxDepth)

	if w.at == end && depth > 0 { // an empty field or cell
		w.add(&array{name: path, class: "double", stored: "double", dims: []int64{0, 0}, kind: raw.F64})
		return
	}

	h, t, wrong := w.flags(end)
	w.unless(t.typ == miINT8 || t.typ == miUTF8 || t.typ == miUINT8, "expected a name, found data type %d", t.typ)

	b := w.data(t, maxName, end)
	if path == "" {
		w.name = clean(b)
		if path = w.name; path == "" {
			path = place(w.e.at)
		}
	}

	fault.Raise(wrong)

	u, refused := unread[h.class]
	if int(h.class) >= len(classNames) || classNames[h.class] == "" {
		u.found, refused = fmt.Sprintf("arrays of class %d are not known", h.class), true
	}

	switch {
	case refused:
		w.f.refuse(path, &fault.Error{Place: "variable " + strconv.Quote(path), Found: u.found, Hint: u.hint})
	case h.class == mxCELL:
		w.cell(path, h.count, depth, end)
	case h.class == mxSTRUCT:
		w.fields(path, h.count, depth, end)
	case h.class == mxCHAR:
		w.text(path, h.dims, h.count, end)
	case h.complex:
		if t = w.numbers(path+".real", h, end); !t.small {
			w.at += min(t.n+t.pad(), end-w.at)
		}

		w.numbers(path+".imag", h, end)
	default:
		if w.numbers(path, h, end); depth == 0 {
			return // nothing follows that matters: a large array is not decompressed here
		}
	}

	w.at = end
}

// flags reads an array up to the tag of its name, which it returns. wrong is an
// error of the dimensions, to be raised once the name is known.
func (w *walker) flags(end int64) (h head, t tag, wrong error) {
	b := w.part("array flags", 8, end, miUINT32)
	w.unless(len(b) == 8, "expected 8 bytes of array flags, found %d", len(b))

	const complexFlag = 0x0800

	flags := w.f.order.Uint32(b)
	h = head{class: flags & 0xff, dims: []int64{}, count: 1, complex: flags&complexFlag != 0}

	// Opaque arrays (datetime, string, table, …) have no dimensions.
	t = w.tag()
	if h.class == mxOPAQUE && t.typ != miINT32 {
		return h, t, nil
	}

	w.unless(t.typ == miINT32, "expected dimensions, found data type %d", t.typ)

	b = w.data(t, 4*maxDims, end)
	w.unless(len(b) >= 8 && len(b)%4 == 0, "expected two or more dimensions, found %d bytes", len(b))

	wrong = fault.Try(func() {
		for ; len(b) > 0; b = b[4:] {
			n := int64(int32(w.f.order.Uint32(b)))
			w.unless(n >= 0, "the dimension %d is negative", n)
			h.dims = append(h.dims, n)
		}

		var ok bool
		h.count, ok = product(h.dims)
		w.unless(ok, "an array of dimensions %v cannot be", h.dims)
	})

	return h, w.tag(), wrong
}

// numbers lists an array of numbers, or a part of a complex one, whose data come
// next. It returns the tag of the data and leaves the data to be read.
func (w *walker) numbers(path string, h head, end int64) tag {
	t := tag{typ: miDOUBLE}
	if w.at < end || h.count > 0 { // an empty array may lack its values
		t = w.tag()
	}

	stored, ok := kinds[t.typ]
	w.unless(ok, "expected numbers, found data type %d", t.typ)

	width := int64(stored.kind.Bytes())
	w.unless(h.count <= t.n/width && h.count*width == t.n, "an array of dimensions %v has %d bytes of %s", h.dims, t.n,
		stored.name)
	w.unless(t.small || t.n <= end-w.at, "%d bytes of numbers overrun their array", t.n)

	w.add(&array{
		name: path, class: classNames[h.class], stored: stored.name, dims: h.dims, off: t.at, kind: stored.kind,
		count: h.count,
	})

	return t
}

func (w *walker) add(v *array) {
	v.file, v.elem = w.f, w.e
	w.f.budget -= int64(len(v.name)) + int64(8*len(v.dims)) + 192
	w.f.arrays = append(w.f.arrays, v)
	w.f.full()
}

// element lists an array within a struct or a cell.
func (w *walker) element(path string, depth int, end int64) {
	t := w.tag()
	w.unless(t.typ == miMATRIX && !t.small, "%s: expected an array, found data type %d", path, t.typ)
	w.unless(t.n <= end-w.at, "%s: an array of %d bytes overruns its parent", path, t.n)
	w.f.full()
	w.array(path, depth, w.at+t.n)
}

func (w *walker) cell(path string, count int64, depth int, end int64) {
	for i := range count {
		w.element(fmt.Sprintf("%s{%d}", path, i+1), depth+1, end)
	}
}

func (w *walker) fields(path string, count int64, depth int, end int64) {
	b := w.part("the length of field names", 4, end, miINT32)
	w.unless(len(b) == 4, "expected the length of field names, found %d bytes", len(b))
	length := int64(int32(w.f.order.Uint32(b)))

	b = w.part("field names", maxFields*64, end, miINT8, miUINT8, miUTF8)
	w.unless(len(b) == 0 || length >= 1 && int64(len(b))%length == 0, "field names of %d bytes each are %d bytes", length,
		len(b))

	var names []string
	for ; len(b) > 0; b = b[length:] {
		names = append(names, clean(b[:length]))
	}

	if len(names) == 0 {
		return
	}

	for i := range count {
		at := path
		if count > 1 {
			at = fmt.Sprintf("%s(%d)", path, i+1)
		}

		for _, n := range names {
			w.element(at+"."+n, depth+1, end)
		}
	}
}

// text decodes a character array. Its values are characters in column-major
// order, UTF-16 units or bytes of UTF-8.
func (w *walker) text(path string, dims []int64, count, end int64) {
	var units []uint16

	if w.at < end {
		t := w.tag()
		if t.n > maxText && t.n <= end-w.at {
			w.f.refuse(path, fmt.Errorf("variable %q: a text of %d bytes is more than %d", path, t.n, maxText))
			return
		}

		units = w.characters(path, t.typ, w.data(t, maxText, end), count)
	}

	rows := dims[0]

	var lines []string

	switch {
	case int64(len(units)) == count && count > 0:
		w.unless(rows <= maxText/16, "%s: %d rows of text", path, rows)

		line := make([]uint16, count/rows)
		for r := range rows {
			for c := range line {
				line[c] = units[int64(c)*rows+r]
			}

			lines = append(lines, string(utf16.Decode(line)))
		}
	case rows == 1 && count > 0 && len(units) > 0:
		// Writers count a character outside the basic plane as one or as two;
		// in a single row nothing depends on it.
		lines = []string{string(utf16.Decode(units))}
	default:
		w.unless(count == 0, "%s: a text of dimensions %v has %d characters", path, dims, len(units))
	}

	w.f.budget -= int64(len(path)) + 128 + 32*int64(len(lines)) + 3*int64(len(units))
	w.f.texts = append(w.f.texts, ingest.Attribute{Name: path, Value: strings.Join(lines, "\n")})
	w.f.full()
}

// characters returns bytes of a data type as units of UTF-16.
func (w *walker) characters(path string, typ uint32, b []byte, count int64) (units []uint16) {
	switch typ {
	case miUINT16, miINT16, miUTF16:
		for ; len(b) >= 2; b = b[2:] {
			units = append(units, w.f.order.Uint16(b))
		}
	case miUINT8, miINT8: // Latin-1, one byte a character
		units = lists.Each(b, func(c byte) uint16 { return uint16(c) })
	case miUTF8:
		w.unless(utf8.Valid(b), "%s: the text is no UTF-8", path)
		units = utf16.Encode([]rune(string(b)))
	case miUTF32, miUINT32, miINT32:
		for ; len(b) >= 4; b = b[4:] {
			units = utf16.AppendRune(units, rune(w.f.order.Uint32(b)))
		}
	default: // an empty text may be of any type
		w.unless(count == 0, "%s: expected characters, found data type %d", path, typ)
	}

	return units
}

// clean makes a printable name of the bytes up to the first zero.
func clean(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// product multiplies dimensions; false if the result has no int64.
func product(dims []int64) (int64, bool) {
	if slices.Contains(dims, 0) {
		return 0, true
	}

	n := int64(1)
	for _, d := range dims {
		if n > (1<<56)/d {
			return 0, false
		}
		n *= d
	}

	return n, true
}
