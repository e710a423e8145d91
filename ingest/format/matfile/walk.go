package matfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/spool"
)

// element is a data element of the top level: a variable, perhaps compressed.
type element struct {
	offset int64       // of its tag in the file
	typ    uint32      // data type
	size   int64       // bytes behind the tag
	data   io.ReaderAt // the file, or the decompressed bytes
	end    int64       // offset in data at which the array ends
}

// variable lists the values of a variable. If the variable cannot be read, it is listed as unread, without its values.
// variable returns an error only if the lists have become too long. seen has the offsets of the variables before, by
// their names.
func (f *file) variable(e *element, seen map[string]int64) error {
	// The lists before the variable, to which they go back if it cannot be read.
	list := f.list
	budget := f.budget

	e.end = e.offset + tagSize + e.size

	w := &walker{f: f, e: e, next: e.offset + tagSize}
	err := w.variable()

	name := w.name
	if name == "" {
		name = place(e.offset)
	}

	first, isKnown := seen[name]
	if isKnown && err == nil {
		err = fault.At("", "variable "+strconv.Quote(name), "", fmt.Sprintf("the name is used at byte %d already", first),
			"save the variables under different names")
	}

	if err != nil {
		f.list = list
		f.budget = budget
		f.refuse(name, err)
	}

	if !isKnown {
		seen[name] = e.offset
		f.budget -= int64(len(name)) + 64
	}

	return f.full()
}

// full returns an error if the lists have become too long.
func (f *file) full() error {
	if f.budget >= 0 {
		return nil
	}

	return fault.At("", "list of arrays", "", fmt.Sprintf("more names and texts than %d MiB hold", maxIndex>>20),
		"save matrices, not many small arrays")
}

// walker lists the values of a variable. Its methods raise errors (decode.Raise), which its method variable catches.
type walker struct {
	f    *file
	e    *element
	next int64  // offset of the next byte in the element's data
	name string // name of the variable; "" before it was read
}

// variable lists the array of the element and everything in it.
func (w *walker) variable() (err error) {
	defer decode.Catch(&err)

	if w.e.typ == miCOMPRESSED {
		return w.compressed()
	}

	if w.e.typ != miMATRIX {
		return &fault.Error{Place: place(w.e.offset), Want: "an array", Found: fmt.Sprintf("data type %d", w.e.typ)}
	}

	w.top()

	return nil
}

// compressed lists the array of a compressed element and everything in it.
func (w *walker) compressed() error {
	w.next = tagSize
	w.e.end = tagSize

	stream, err := w.f.decompress(w.e)
	if err != nil {
		return &fault.Error{Place: place(w.e.offset), Err: fmt.Errorf("decompress: %w", err)}
	}

	if !w.top() {
		return nil // the values are decompressed when they are read, and the checksum is compared then
	}

	w.next = w.e.end

	// The walk has decompressed the array up to its last part. Fill decompresses the rest, so that the checksum is
	// compared before anything of the array is used.
	if err := stream.Fill(w.e.end); err != nil {
		return w.fail("%w", err)
	}

	return nil
}

// decompress begins to decompress an element and reads the tag of its array. It sets the data of the element and their
// end. The data begin with the tag of the array.
func (f *file) decompress(e *element) (*spool.Reader, error) {
	z := inflate.NewZlibReader(io.NewSectionReader(f.src, e.offset+tagSize, e.size))

	var b [tagSize]byte
	if _, err := io.ReadFull(z, b[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}

		return nil, fmt.Errorf("byte %d, decompressed byte 0: read a tag: %w", e.offset, err)
	}

	typ := f.order.Uint32(b[:])
	n := int64(f.order.Uint32(b[4:]))

	switch {
	case typ != miMATRIX:
		return nil, fmt.Errorf("expected an array, found data type %d", typ)
	case n > inflate.MaxRatio*e.size:
		return nil, fmt.Errorf("an array of %d bytes is claimed, more than %d compressed bytes can hold", n, e.size)
	}

	e.end = tagSize + n
	s := spool.New(io.MultiReader(bytes.NewReader(b[:]), z), e.end, &f.memory)
	e.data = s
	f.spools = append(f.spools, s)

	return s, nil
}

// head is the beginning of an array: its flags and its dimensions.
type head struct {
	class   uint32  // array class
	complex bool    // the array has an imaginary part
	dims    []int64 // empty for an opaque array
	count   int64   // number of values, the product of dims
}

// unread has the array classes that are not read, with the reason and a hint what to do.
var unread = map[uint32]struct{ found, hint string }{
	mxOBJECT:   {"objects are not read", "save its fields as a struct"},
	mxSPARSE:   {"sparse arrays are not read", "save full(…) of it"},
	mxFUNCTION: {"function handles are not read", ""},
	mxOPAQUE: {
		"objects (datetime, string, table, …) are not read", "save it as numbers, texts (char) or structs",
	},
}

// top lists the array of the variable, whose tag was read, and everything in it. An error makes the whole variable
// unread. top reports whether it walked through the whole array. It does not walk over the values of an array of
// numbers, nor over an array that is not read, because that would decompress them.
func (w *walker) top() (isWalked bool) {
	head, name, dimsErr := w.head(w.e.end)
	w.name = name
	decode.Raise(dimsErr) // not before: the error is listed under the name of the variable

	return w.contents(cmp.Or(name, place(w.e.offset)), head, 0, w.e.end)
}

// array lists an array within a struct or a cell, whose tag was read, and everything in it. The array ends at the
// offset end. path is its name, and depth is the number of structs and cells around it. An error makes the whole
// variable unread; a class that is not read makes only this array unread.
func (w *walker) array(path string, depth int, end int64) {
	w.unless(depth <= maxDepth, "structs and cells are nested more than %d deep", maxDepth)

	if w.next == end { // an empty field or cell
		w.add(&array{name: path, class: "double", stored: "double", dims: []int64{0, 0}, kind: raw.F64})
		return
	}

	head, _, dimsErr := w.head(end)
	decode.Raise(dimsErr)

	w.contents(path, head, depth, end)
	w.next = end
}

// contents lists an array whose beginning was read, and everything in it. It returns false if it did not go beyond the
// values of the array, because it lists them for later or does not read them.
func (w *walker) contents(path string, head head, depth int, end int64) bool {
	if err := head.unreadable(path); err != nil {
		w.f.refuse(path, err)
		return false
	}

	switch {
	case head.class == mxCELL:
		w.cell(path, head.count, depth, end)
		return true
	case head.class == mxSTRUCT:
		w.fields(path, head.count, depth, end)
		return true
	case head.class == mxCHAR:
		return w.text(path, head.dims, head.count, end)
	case head.complex:
		tag := w.numbers(path+".real", head, end)
		if !tag.small {
			w.next += min(tag.n+tag.pad(), end-w.next)
		}

		w.numbers(path+".imag", head, end)
	default:
		w.numbers(path, head, end)
	}

	return false
}

// unreadable returns an error if arrays of this class are not read. path is the array's name.
func (h head) unreadable(path string) error {
	place := "variable " + strconv.Quote(path)
	if u, ok := unread[h.class]; ok {
		return fault.At("", place, "", u.found, u.hint)
	}

	if int(h.class) >= len(classNames) || classNames[h.class] == "" {
		return fault.At("", place, "", fmt.Sprintf("arrays of class %d are not known", h.class), "")
	}

	return nil
}

// head reads the beginning of an array and its name. dimsErr is an error of the dimensions, which the caller raises
// when it has set the name. Other errors are raised here. The array flags are 8 bytes: a number of 4 bytes with the
// class in its lowest byte and a flag for complex arrays, and 4 bytes that are not used.
func (w *walker) head(end int64) (h head, name string, dimsErr error) {
	const flagsSize = 8
	const complexFlag = 0x0800

	b := w.part("array flags", flagsSize, end, miUINT32)
	w.unless(len(b) == flagsSize, "expected 8 bytes of array flags, found %d", len(b))

	flags := w.f.order.Uint32(b)
	h = head{class: flags & 0xff, dims: []int64{}, count: 1, complex: flags&complexFlag != 0}

	// Opaque arrays (datetime, string, table, …) have no dimensions.
	tag := w.tag()
	if h.class != mxOPAQUE || tag.typ == miINT32 {
		w.unless(tag.typ == miINT32, "expected dimensions, found data type %d", tag.typ)
		dimsErr = w.dims(&h, w.data(tag, 4*maxDims, end))
		tag = w.tag()
	}

	w.unless(tag.typ == miINT8 || tag.typ == miUTF8 || tag.typ == miUINT8, "expected a name, found data type %d", tag.typ)

	return h, clean(w.data(tag, maxName, end)), dimsErr
}

// dims reads the dimensions of an array from b into h. It returns an error if one is negative, or if they are too
// large.
func (w *walker) dims(h *head, b []byte) error {
	w.unless(len(b) >= 8 && len(b)%4 == 0, "expected two or more dimensions, found %d bytes", len(b))

	for ; len(b) > 0; b = b[4:] {
		n := int64(int32(w.f.order.Uint32(b)))
		if n < 0 {
			return w.fail("the dimension %d is negative", n)
		}

		h.dims = append(h.dims, n)
	}

	count, ok := product(h.dims)
	h.count = count
	if !ok {
		return w.fail("an array of dimensions %v cannot be", h.dims)
	}

	return nil
}

// numbers lists an array of numbers, or a part of a complex array. It reads the tag of the values, which come next, and
// returns it.
func (w *walker) numbers(path string, h head, end int64) tag {
	t := tag{typ: miDOUBLE}
	if w.next < end || h.count > 0 { // an empty array may end without an element for its values
		t = w.tag()
	}

	stored, ok := kinds[t.typ]
	w.unless(ok, "expected numbers, found data type %d", t.typ)

	width := int64(stored.kind.Bytes())
	fits := h.count <= t.n/width && h.count*width == t.n
	w.unless(fits, "an array of dimensions %v has %d bytes of %s", h.dims, t.n, stored.name)
	w.unless(t.small || t.n <= end-w.next, "%d bytes of numbers overrun their array", t.n)

	w.add(&array{
		name: path, class: classNames[h.class], stored: stored.name, dims: h.dims, offset: t.start, kind: stored.kind,
		count: h.count,
	})

	return t
}

// add adds an array to the list.
func (w *walker) add(v *array) {
	v.file = w.f
	v.elem = w.e
	w.f.budget -= int64(len(v.name)) + int64(8*len(v.dims)) + 192
	w.f.arrays = append(w.f.arrays, v)
	w.full()
}

// element lists the next array within a struct or a cell. path is its name, and end the end of the struct or cell.
func (w *walker) element(path string, depth int, end int64) {
	tag := w.tag()
	w.unless(tag.typ == miMATRIX && !tag.small, "%s: expected an array, found data type %d", path, tag.typ)
	w.unless(tag.n <= end-w.next, "%s: an array of %d bytes overruns its parent", path, tag.n)
	w.full()
	w.array(path, depth, w.next+tag.n)
}

// cell lists the count arrays of a cell array.
func (w *walker) cell(path string, count int64, depth int, end int64) {
	for i := range count {
		w.element(fmt.Sprintf("%s{%d}", path, i+1), depth+1, end)
	}
}

// fields lists the fields of a struct array with count elements. The length of the names comes first, then the names,
// padded to that length, and then the arrays of the fields of each element.
func (w *walker) fields(path string, count int64, depth int, end int64) {
	b := w.part("the length of field names", 4, end, miINT32)
	w.unless(len(b) == 4, "expected the length of field names, found %d bytes", len(b))
	length := int64(int32(w.f.order.Uint32(b)))

	b = w.part("field names", maxFields*64, end, miINT8, miUINT8, miUTF8)
	fits := length >= 1 && int64(len(b))%length == 0
	w.unless(len(b) == 0 || fits, "field names of %d bytes each are %d bytes", length, len(b))

	var names []string
	for ; len(b) > 0; b = b[length:] {
		names = append(names, clean(b[:length]))
	}

	if len(names) == 0 {
		return
	}

	for i := range count {
		parent := path
		if count > 1 {
			parent = fmt.Sprintf("%s(%d)", path, i+1)
		}

		for _, name := range names {
			w.element(parent+"."+name, depth+1, end)
		}
	}
}

// clean returns the bytes up to the first zero as a name, with invalid UTF-8 replaced.
func clean(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// maxCount bounds the number of values of an array, so that the number of its bytes does not overflow.
const maxCount = 1 << 56

// product returns the product of dimensions. It returns false if the product is larger than maxCount.
func product(dims []int64) (int64, bool) {
	if slices.Contains(dims, 0) {
		return 0, true
	}

	n := int64(1)
	for _, d := range dims {
		if n > maxCount/d {
			return 0, false
		}
		n *= d
	}

	return n, true
}
