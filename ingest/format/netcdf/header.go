package netcdf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// The header of a classic file, in the order in which header reads it (NetCDF Users Guide, appendix B, "File Format
// Specifications"; all numbers are big-endian):
//
//	"CDF" and the version     4 bytes
//	number of records         length
//	dimensions                list of: name, length
//	attributes of the file    list of: name, type, number of values (length), values
//	variables                 list of: name, number of dimensions (length), their numbers (lengths), attributes,
//	                          type, size in bytes (length), offset of the data
//
// A list is a tag (10, 11 or 12) in 4 bytes, the number of its elements (length), and its elements; tag and number are
// 0 for an empty list. A length has 4 bytes, and 8 bytes in CDF-5. Names and values are padded to multiples of 4
// bytes.

// Tags of lists.
const (
	tagDimensions = 10
	tagVariables  = 11
	tagAttributes = 12
)

// maxDims bounds the number of dimensions of a variable, as the library of netCDF does.
const maxDims = 1024

// file is the header of a file. The methods that read it raise errors (decode.Raise), which parse catches.
type file struct {
	src    ingest.Source
	buf    *bufio.Reader // reads src
	offset int64         // of the next byte of buf in the file

	version    byte     // 1, 2 or 5
	count      int64    // number of records; −1 if the header does not state it
	dims       []int64  // lengths of the dimensions; 0 for the dimension that counts the records
	names      []string // names of the dimensions
	attributes []attribute
	variables  []*variable
	recordSize int64      // bytes from a record to the next; set by layRecords
	total      int64      // bytes of the variables that were added
	window     raw.Window // bytes that were read last
}

// parse reads the header of a file.
func parse(src ingest.Source) (f *file, err error) {
	defer decode.Catch(&err)

	f = &file{src: src}
	f.header()

	return f, nil
}

// unless raises an error at an offset of the file if ok is false.
func (f *file) unless(ok bool, offset int64, want, found, hint string) {
	if !ok {
		decode.Raise(f.src.Fault(offset, want, found, hint))
	}
}

// require raises an error if the file does not have n more bytes.
func (f *file) require(n int64, want string) {
	f.unless(n >= 0 && n <= f.src.Size-f.offset, f.offset, want, "the end of the file", raw.CutShort)
}

// bytes reads n bytes. want says for people what they are.
func (f *file) bytes(n int64, want string) []byte {
	f.require(n, want)

	b := make([]byte, n)
	if _, err := io.ReadFull(f.buf, b); err != nil {
		decode.Raise(&fault.Error{
			Path: f.src.Path, Place: fmt.Sprintf("byte %d", f.offset), Err: fmt.Errorf("read: %w", err),
		})
	}

	f.offset += n

	return b
}

// word reads a number of 4 bytes.
func (f *file) word() uint32 { return binary.BigEndian.Uint32(f.bytes(4, "4 bytes of header")) }

// length reads a number that is not negative. It has 8 bytes in CDF-5, and 4 bytes in the other versions.
func (f *file) length() int64 {
	if f.version == 5 {
		return f.long()
	}

	return int64(f.word())
}

// begin reads the offset of the data of a variable. It has 8 bytes in CDF-2 and CDF-5, and 4 bytes in CDF-1.
func (f *file) begin() int64 {
	if f.version == 2 || f.version == 5 {
		return f.long()
	}

	return int64(f.word())
}

// long reads a number of 8 bytes that is not negative.
func (f *file) long() int64 {
	v := binary.BigEndian.Uint64(f.bytes(8, "8 bytes of header"))
	f.unless(v <= math.MaxInt64, f.offset-8, "a length", fmt.Sprint(v), raw.Damaged)

	return int64(v)
}

// list reads the tag of a list and returns the number of its elements. It raises an error if the rest of the file is
// too short for this number of elements, each of least bytes or more. what names the elements for people.
func (f *file) list(tag uint32, least int64, what string) int64 {
	start := f.offset
	found := f.word()
	n := f.length()
	if found == 0 && n == 0 {
		return 0
	}

	f.unless(found == tag, start, "a list of "+what, fmt.Sprintf("tag %d", found), raw.Damaged)
	f.unless(n <= (f.src.Size-f.offset)/least, start+4, "a list of "+what+" in the file", fmt.Sprintf("%d of them", n),
		raw.Damaged)

	return n
}

// name reads a name: its length, and its bytes, which are padded to a multiple of four.
func (f *file) name() string { return raw.Text(f.padded(f.length(), "a name")) }

// padded reads n bytes and the bytes that pad them to a multiple of four. It returns the n bytes.
func (f *file) padded(n int64, want string) []byte {
	f.require(n, want)
	return f.bytes((n+3)&^3, want)[:n]
}

// header reads the header.
func (f *file) header() {
	f.buf = bufio.NewReader(io.NewSectionReader(f.src, 0, f.src.Size))

	magic := f.bytes(4, "a header")
	f.version = magic[3]
	known := f.version == 1 || f.version == 2 || f.version == 5
	f.unless(string(magic[:3]) == "CDF" && known, 0, `"CDF" and version 1, 2 or 5`, fmt.Sprintf("%q", magic),
		"this is no netCDF file of a classic format")

	f.count = f.records()

	for range f.list(tagDimensions, 8, "dimensions") {
		f.names = append(f.names, f.name())
		f.dims = append(f.dims, f.length())
	}

	f.attributes = f.readAttributes()

	for range f.list(tagVariables, 28, "variables") {
		f.variables = append(f.variables, f.variable())
	}
}

// records reads the number of records. It returns −1 if the header does not state it, because the file was written as a
// stream: then all bits of the number are 1.
func (f *file) records() int64 {
	next, err := f.buf.Peek(8)
	if err == nil && f.version == 5 && binary.BigEndian.Uint64(next) == math.MaxUint64 {
		f.bytes(8, "")
		return -1
	}

	n := f.length()
	if f.version != 5 && n == math.MaxUint32 {
		return -1
	}

	return n
}

// kind reads a type of values, a key of kinds or char. It returns the type and the bytes of one value.
func (f *file) kind() (kind uint32, size int64) {
	start := f.offset
	kind = f.word()

	k, known := kinds[kind]
	f.unless(known || kind == char, start, "a type of values", fmt.Sprint(kind), raw.Damaged)

	if kind == char {
		return kind, 1
	}

	return kind, int64(k.kind.Bytes())
}

// readAttributes reads a list of attributes. Attributes of type char are texts.
func (f *file) readAttributes() []attribute {
	const values = "an attribute's values"

	var list []attribute
	for range f.list(tagAttributes, 12, "attributes") {
		attr := attribute{name: f.name()}
		kind, size := f.kind()
		n := f.length()
		f.unless(n <= (f.src.Size-f.offset)/size, f.offset, values, "the end of the file", raw.CutShort)

		b := f.padded(n*size, values)
		if kind == char {
			attr.text = raw.Text(b)
		} else {
			k := kinds[kind].kind
			attr.numbers = arrays.Numbers{Values: make([]float64, n), Integer: k.Integer()}
			raw.Decode(attr.numbers.Values, b, k, true, int(size))
		}

		list = append(list, attr)
	}

	return list
}

// variable reads the description of a variable. If the length of its first dimension is 0, that dimension counts the
// records.
func (f *file) variable() *variable {
	v := &variable{name: f.name(), bytes: 1}

	start := f.offset
	n := f.length()
	f.unless(n <= maxDims, start, fmt.Sprintf("at most %d dimensions of a variable", maxDims), fmt.Sprint(n), raw.Damaged)

	for i := range n {
		start := f.offset
		id := f.length()
		f.unless(id < int64(len(f.dims)), start, fmt.Sprintf("a dimension of the %d there are", len(f.dims)),
			fmt.Sprint(id), raw.Damaged)

		length := f.dims[id]
		v.dims = append(v.dims, length)
		v.axes = append(v.axes, f.names[id])

		if length == 0 && i == 0 {
			v.record = true
			continue
		}

		f.unless(length == 0 || v.bytes <= math.MaxInt64/64/max(1, length), start, "a variable in a file",
			fmt.Sprintf("%s of shape %v", v.name, v.dims), raw.Damaged)
		v.bytes *= length
	}

	v.attributes = f.readAttributes()
	v.kind, v.size = f.kind()
	v.bytes *= v.size
	f.length() // the size in bytes, which follows from the shape, and is wrong for large variables
	v.begin = f.begin()

	return v
}
