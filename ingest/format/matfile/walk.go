package matfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"doubletake/ingest/format/internal/inflate"
)

// element is one data element of the top level: an array, perhaps compressed.
type element struct {
	at   int64 // of its tag in the file
	typ  uint32
	size int64 // bytes after the tag
	end  int64 // compressed: where the array ends in the decompressed bytes
}

// stream is the bytes of one element, read forward.
type stream interface {
	read(p []byte) error // all of p, or an error
	skip(n int64) error
	pos() int64
}

// plain is a stop in the file itself; positions are those of the file.
type plain struct {
	src io.ReaderAt
	at  int64
	end int64
}

func (s *plain) pos() int64 { return s.at }

func (s *plain) skip(n int64) error {
	if n > s.end-s.at {
		return io.ErrUnexpectedEOF
	}

	s.at += n

	return nil
}

func (s *plain) read(p []byte) error {
	if int64(len(p)) > s.end-s.at {
		return io.ErrUnexpectedEOF
	}

	n, err := readAt(s.src, p, s.at)
	s.at += int64(n)

	if n < len(p) {
		return unexpected(err)
	}

	return nil
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
// the whole file are returned.
func (f *File) variable(e *element, seen map[string]int64) error {
	w := &walker{f: f, e: e, order: f.order}
	switch e.typ {
	case miMATRIX:
		w.s = &plain{src: f.src, at: e.at + 8, end: e.at + 8 + e.size}
		e.end = e.at + 8 + e.size
	case miCOMPRESSED:
		c, err := f.cursor(e, 0)
		if err == nil {
			w.s = c
			err = w.inner()
		}

		if err != nil {
			f.unread(place(e.at), &Error{Place: place(e.at), Err: fmt.Errorf("decompress: %w", err)})
			return f.full()
		}

	default:
		f.unread(place(e.at), &Error{Place: place(e.at), Want: "an array", Found: fmt.Sprintf("data type %d", e.typ)})
		return f.full()
	}

	vars, texts, unread, budget := len(f.Vars), len(f.Texts), len(f.Unread), f.budget
	err := w.array("", 0, e.end)

	name := w.name
	if name == "" {
		name = place(e.at)
	}

	if first, ok := seen[name]; ok && err == nil {
		err = &Error{
			Place: "variable " + strconv.Quote(name),
			Found: fmt.Sprintf("the name is used at byte %d already", first), Hint: "save the variables under different names",
		}
	}

	if err != nil {
		clear(f.Vars[vars:])
		clear(f.Texts[texts:])
		clear(f.Unread[unread:])
		f.Vars, f.Texts, f.Unread, f.budget = f.Vars[:vars], f.Texts[:texts], f.Unread[:unread], budget
		f.unread(name, err)
	}

	if _, ok := seen[name]; !ok {
		seen[name] = e.at
		f.budget -= int64(len(name)) + 64
	}

	return f.full()
}

// full reports that the lists have reached their bound.
func (f *File) full() error {
	if f.budget < 0 {
		return &Error{
			Place: "list of arrays", Found: fmt.Sprintf("more names and texts than %d MiB hold", maxIndex>>20),
			Hint: "save matrices, not many small arrays",
		}
	}

	return nil
}

// walker lists the arrays of one element.
type walker struct {
	f     *File
	e     *element
	s     stream
	order binary.ByteOrder
	name  string // of the variable
	err   error  // the first of reading; after it tags and bytes are zero
}

// inner reads the tag inside a compressed element.
func (w *walker) inner() error {
	t := w.tag()
	switch {
	case w.err != nil:
		return w.err
	case t.typ != miMATRIX || t.small:
		return fmt.Errorf("expected an array, found data type %d", t.typ)

	// Deflate makes at most 1032 bytes of one (258 from two bits), so a larger
	// claim is false without a look at the data.
	case t.n > 1032*w.e.size:
		return fmt.Errorf("an array of %d bytes is claimed, more than %d compressed bytes can hold", t.n, w.e.size)
	}

	w.e.end = 8 + t.n

	return nil
}

// fail returns the first error of reading or, without one, this one.
func (w *walker) fail(format string, args ...any) error {
	if w.err != nil {
		return w.err
	}

	where := place(w.s.pos())
	if w.e.typ == miCOMPRESSED {
		where = fmt.Sprintf("byte %d, decompressed byte %d", w.e.at, w.s.pos())
	}

	return &Error{Place: where, Err: fmt.Errorf(format, args...)}
}

func (w *walker) tag() (t tag) {
	var b [8]byte

	at := w.s.pos()
	if w.err != nil {
		return tag{}
	}

	if err := w.s.read(b[:]); err != nil {
		w.err = w.fail("read a tag: %w", err)
		return tag{}
	}

	t = tag{typ: w.order.Uint32(b[:]), n: int64(w.order.Uint32(b[4:])), at: at + 8}
	if t.typ>>16 != 0 {
		t.n, t.typ, t.small, t.at = int64(t.typ>>16), t.typ&0xffff, true, at+4
		copy(t.data[:], b[4:])

		if t.n > 4 {
			w.err = w.fail("a small element claims %d bytes", t.n)
			return tag{}
		}
	}

	return t
}

// data reads the bytes of a short element, its padding included.
func (w *walker) data(t tag, most, end int64) []byte {
	switch {
	case w.err != nil:
		return nil
	case t.small:
		return t.data[:t.n]
	case t.n > most:
		w.err = w.fail("expected at most %d bytes, found %d", most, t.n)
		return nil
	case t.n > end-w.s.pos():
		w.err = w.fail("an element of %d bytes overruns its array", t.n)
		return nil
	}

	b := make([]byte, t.n)
	if err := w.s.read(b); err != nil {
		w.err = w.fail("read %d bytes: %w", t.n, err)
	} else if err := w.s.skip(min(t.pad(), end-w.s.pos())); err != nil {
		w.err = w.fail("read padding: %w", err)
	}

	return b
}

// part reads the next short element, which must be of one of the types.
func (w *walker) part(what string, most, end int64, types ...uint32) []byte {
	t := w.tag()
	if !slices.Contains(types, t.typ) {
		w.err = w.fail("expected %s, found data type %d", what, t.typ)
	}

	return w.data(t, most, end)
}

// head is what the beginning of an array states.
type head struct {
	class   uint32
	complex bool
	logical bool
	dims    []int64 // none of an opaque array
	count   int64   // their product
}

// array lists an array whose tag has been read, and everything in it; its
// bytes end at end. Without a path it is a variable and has a name of its own.
// An error spoils the whole variable.
func (w *walker) array(path string, depth int, end int64) error {
	if depth > maxDepth {
		return w.fail("structs and cells are nested more than %d deep", maxDepth)
	}

	if w.s.pos() == end && depth > 0 { // an empty field or cell
		return w.add(&Var{Name: path, Class: "double", Stored: "double", Dims: []int64{0, 0}, typ: miDOUBLE})
	}

	h, t, wrong, err := w.flags(end)
	if err != nil {
		return err
	}

	if t.typ != miINT8 && t.typ != miUTF8 && t.typ != miUINT8 {
		return w.fail("expected a name, found data type %d", t.typ)
	}

	b := w.data(t, maxName, end)
	if w.err != nil {
		return w.err
	}

	if path == "" {
		w.name = clean(b)
		if path = w.name; path == "" {
			path = place(w.e.at)
		}
	}

	if wrong != nil {
		return wrong
	}

	refuse := func(found, hint string) error {
		w.f.unread(path, &Error{Place: "variable " + strconv.Quote(path), Found: found, Hint: hint})
		return w.finish(end)
	}

	if int(h.class) >= len(classNames) || classNames[h.class] == "" {
		return refuse(fmt.Sprintf("arrays of class %d are not known", h.class), "")
	}

	switch h.class {
	case mxCELL:
		return w.cell(path, h.count, depth, end)
	case mxSTRUCT:
		return w.fields(path, h.count, depth, end)
	case mxCHAR:
		return w.text(path, h.dims, h.count, end)
	case mxOBJECT:
		return refuse("objects are not read", "save its fields as a struct")
	case mxSPARSE:
		return refuse("sparse arrays are not read", "save full(…) of it")
	case mxFUNCTION:
		return refuse("function handles are not read", "")
	case mxOPAQUE:
		return refuse("objects (datetime, string, table, …) are not read", "save it as numbers, texts (char) or structs")
	}

	if !h.complex {
		if _, err := w.numbers(path, h, end); err != nil {
			return err
		}

		if depth == 0 {
			return nil // nothing follows that matters: a large array is not decompressed here
		}

		return w.finish(end)
	}

	t, err = w.numbers(path+".real", h, end)
	if err != nil {
		return err
	}

	if !t.small {
		if err := w.s.skip(min(t.n+t.pad(), end-w.s.pos())); err != nil {
			return w.fail("read the real part: %w", err)
		}
	}

	if _, err := w.numbers(path+".imag", h, end); err != nil {
		return err
	}

	return w.finish(end)
}

// flags reads an array up to the tag of its name, which it returns. wrong is an
// error of the dimensions, to be returned once the name is known.
func (w *walker) flags(end int64) (h head, t tag, wrong, err error) {
	b := w.part("array flags", 8, end, miUINT32)
	if len(b) != 8 {
		return h, t, nil, w.fail("expected 8 bytes of array flags, found %d", len(b))
	}

	const complexFlag, logicalFlag = 0x0800, 0x0200
	flags := w.order.Uint32(b)
	h = head{class: flags & 0xff, dims: []int64{}, count: 1}
	h.complex, h.logical = flags&complexFlag != 0, flags&logicalFlag != 0

	// Opaque arrays (datetime, string, table, …) have no dimensions.
	t = w.tag()
	if h.class == mxOPAQUE && t.typ != miINT32 {
		return h, t, nil, w.err
	}

	if t.typ != miINT32 {
		return h, t, nil, w.fail("expected dimensions, found data type %d", t.typ)
	}

	if b = w.data(t, 4*maxDims, end); len(b) < 8 || len(b)%4 != 0 {
		return h, t, nil, w.fail("expected two or more dimensions, found %d bytes", len(b))
	}

	for ; len(b) > 0; b = b[4:] {
		n := int64(int32(w.order.Uint32(b)))
		if n < 0 {
			wrong = w.fail("the dimension %d is negative", n)
		}

		h.dims = append(h.dims, max(n, 0))
	}

	var ok bool
	if h.count, ok = product(h.dims); !ok {
		wrong = w.fail("an array of dimensions %v cannot be", h.dims)
	}

	t = w.tag()

	return h, t, wrong, w.err
}

// numbers lists an array of numbers, or a part of a complex one, whose data come
// next. It returns the tag of the data and leaves the data to be read.
func (w *walker) numbers(path string, h head, end int64) (t tag, err error) {
	t = tag{typ: miDOUBLE}
	if w.s.pos() < end || h.count > 0 { // an empty array may lack its values
		if t = w.tag(); w.err != nil {
			return t, w.err
		}
	}

	stored, width := numeric(t.typ)
	if width == 0 {
		return t, w.fail("expected numbers, found %s", stored)
	}

	if h.count > t.n/width || h.count*width != t.n {
		return t, w.fail("an array of dimensions %v has %d bytes of %s", h.dims, t.n, stored)
	}

	if !t.small && t.n > end-w.s.pos() {
		return t, w.fail("%d bytes of numbers overrun their array", t.n)
	}

	return t, w.add(&Var{
		Name: path, Class: classNames[h.class], Stored: stored, Logical: h.logical,
		Dims: h.dims, off: t.at, typ: t.typ, count: h.count,
	})
}

// finish goes to the end of an array.
func (w *walker) finish(end int64) error {
	if err := w.s.skip(end - w.s.pos()); err != nil {
		return w.fail("read to the end of the array: %w", err)
	}
	return nil
}

func (w *walker) add(v *Var) error {
	v.file, v.elem, v.Compressed = w.f, w.e, w.e.typ == miCOMPRESSED
	w.f.budget -= int64(len(v.Name)) + int64(8*len(v.Dims)) + 192
	if w.f.budget < 0 {
		return w.f.full()
	}

	w.f.Vars = append(w.f.Vars, v)

	return nil
}

// element lists an array within a struct or a cell.
func (w *walker) element(path string, depth int, end int64) error {
	t := w.tag()
	if t.typ != miMATRIX || t.small {
		return w.fail("%s: expected an array, found data type %d", path, t.typ)
	}

	if t.n > end-w.s.pos() {
		return w.fail("%s: an array of %d bytes overruns its parent", path, t.n)
	}

	if w.f.budget < 0 {
		return w.f.full()
	}

	return w.array(path, depth, w.s.pos()+t.n)
}

func (w *walker) cell(path string, count int64, depth int, end int64) error {
	for i := range count {
		if err := w.element(fmt.Sprintf("%s{%d}", path, i+1), depth+1, end); err != nil {
			return err
		}
	}

	return w.finish(end)
}

func (w *walker) fields(path string, count int64, depth int, end int64) error {
	b := w.part("the length of field names", 4, end, miINT32)
	if len(b) != 4 {
		return w.fail("expected the length of field names, found %d bytes", len(b))
	}

	length := int64(int32(w.order.Uint32(b)))

	b = w.part("field names", maxFields*64, end, miINT8, miUINT8, miUTF8)
	if w.err != nil || len(b) > 0 && (length < 1 || int64(len(b))%length != 0) {
		return w.fail("field names of %d bytes each are %d bytes", length, len(b))
	}

	var names []string
	for ; len(b) > 0; b = b[length:] {
		names = append(names, clean(b[:length]))
	}

	if len(names) == 0 {
		return w.finish(end)
	}

	for i := range count {
		at := path
		if count > 1 {
			at = fmt.Sprintf("%s(%d)", path, i+1)
		}

		for _, n := range names {
			if err := w.element(at+"."+n, depth+1, end); err != nil {
				return err
			}
		}
	}

	return w.finish(end)
}

// text decodes a character array. Its values are characters in column-major
// order, UTF-16 units or bytes of UTF-8.
func (w *walker) text(path string, dims []int64, count, end int64) error {
	var units []uint16
	if w.s.pos() < end {
		t := w.tag()
		if t.n > maxText && t.n <= end-w.s.pos() {
			w.f.unread(path, &Error{
				Place: "variable " + strconv.Quote(path),
				Found: fmt.Sprintf("a text of %d bytes is more than %d", t.n, maxText),
			})

			return w.finish(end)
		}

		b := w.data(t, maxText, end)
		if w.err != nil {
			return w.err
		}

		switch t.typ {
		case miUINT16, miINT16, miUTF16:
			for ; len(b) >= 2; b = b[2:] {
				units = append(units, w.order.Uint16(b))
			}

		case miUINT8, miINT8: // Latin-1, one byte a character
			for _, c := range b {
				units = append(units, uint16(c))
			}

		case miUTF8:
			if !utf8.Valid(b) {
				return w.fail("%s: the text is no UTF-8", path)
			}
			units = utf16.Encode([]rune(string(b)))

		case miUTF32, miUINT32, miINT32:
			for ; len(b) >= 4; b = b[4:] {
				units = utf16.AppendRune(units, rune(w.order.Uint32(b)))
			}

		default:
			if count > 0 { // an empty text may be of any type
				return w.fail("%s: expected characters, found data type %d", path, t.typ)
			}
		}
	}

	rows := dims[0]

	x := Text{Name: path}
	switch {
	case int64(len(units)) == count && count > 0:
		if rows > maxText/16 {
			return w.fail("%s: %d rows of text", path, rows)
		}

		line := make([]uint16, count/rows)
		for r := range rows {
			for c := range line {
				line[c] = units[int64(c)*rows+r]
			}
			x.Rows = append(x.Rows, string(utf16.Decode(line)))
		}

	case rows == 1 && count > 0 && len(units) > 0:
		// Writers count a character outside the basic plane as one or as two;
		// in a single row nothing depends on it.
		x.Rows = []string{string(utf16.Decode(units))}

	case count > 0:
		return w.fail("%s: a text of dimensions %v has %d characters", path, dims, len(units))
	}

	w.f.budget -= int64(len(path)) + 128 + 32*int64(len(x.Rows)) + 3*int64(len(units))
	if w.f.budget < 0 {
		return w.f.full()
	}

	w.f.Texts = append(w.f.Texts, x)

	return w.finish(end)
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
	n := int64(1)

	for _, d := range dims {
		if d == 0 {
			return 0, true
		}
	}

	for _, d := range dims {
		if n > (1<<56)/d {
			return 0, false
		}
		n *= d
	}

	return n, true
}

// cursor is a position in the decompressed bytes of one element.
type cursor struct {
	e    *element
	z    *inflate.Reader
	at   int64
	used int64
	bad  bool

	fresh bool // it was made for the last use, because none was before that place
}

func (c *cursor) pos() int64 { return c.at }

func (c *cursor) read(p []byte) error {
	n, err := io.ReadFull(c.z, p)
	c.at += int64(n)
	if err != nil {
		c.bad = true
		return unexpected(err)
	}

	return c.check()
}

func (c *cursor) skip(n int64) error {
	m, err := io.CopyN(io.Discard, c.z, n)
	c.at += m
	if err != nil {
		c.bad = true
		return unexpected(err)
	}

	return c.check()
}

// check reads over the end of the array once it is reached, to the checksum.
func (c *cursor) check() error {
	if c.at != c.e.end || c.e.end == 0 {
		return nil
	}

	// What follows the array is not ours, but its sum is of all there is: damage
	// may have made the values longer.
	n, err := io.Copy(io.Discard, c.z)
	if n > 0 || err != nil {
		c.bad = true // it is beyond the end
	}

	return err
}

const maxCursors = 256

// cursor returns the cursor of an element at or before a position, the nearest
// one, and takes it there.
func (f *File) cursor(e *element, at int64) (*cursor, error) {
	f.clock++
	var best, oldest *cursor

	live := f.cursors[:0]
	for _, c := range f.cursors {
		if c.bad {
			continue
		}

		live = append(live, c)

		if c.e == e && c.at <= at && (best == nil || c.at > best.at) {
			best = c
		}

		if oldest == nil || c.used < oldest.used {
			oldest = c
		}
	}

	clear(f.cursors[len(live):])
	f.cursors = live

	c := best
	if c == nil {
		in := io.NewSectionReader(f.src, e.at+8, e.size)
		if len(f.cursors) >= maxCursors {
			c = oldest
			c.z.Reset(in)
			*c = cursor{e: e, z: c.z}
		} else {
			c = &cursor{e: e, z: inflate.NewZlibReader(in)}
			f.cursors = append(f.cursors, c)
		}
	}

	c.used, c.fresh = f.clock, best == nil
	if at > c.at {
		if err := c.skip(at - c.at); err != nil {
			return nil, err
		}
	}

	return c, nil
}
