// Package matfile reads MATLAB MAT-files of level 5 (save -v6 and -v7): numeric
// arrays, also inside structs and cells, as streams of float64, and texts.
//
// Source of the layout: MathWorks, "MAT-File Format", chapter 1 (level 5).
// Level 7.3 is HDF5 and level 4 another format; both are refused by name.
//
// A file becomes a flat list. The fields of a struct are named opp.RPS_M1, the
// elements of a struct array s(2).x, those of a cell c{3} (column-major, from
// one, as MATLAB counts), the parts of a complex array z.real and z.imag. What
// cannot be read as numbers or text (sparse arrays, objects, function handles,
// damage within one variable) is listed in File.Unread by name with the reason: it
// is never left out silently and never stops the rest.
//
// # Cost
//
// Open reads the headers; of compressed variables it decompresses the first
// bytes, and all of it where there is a struct, a cell or a text. Reading a
// compressed array forward, in any blocks, decompresses it once. The columns of a
// matrix lie one after the other and are mostly read in turns, block by block: a
// matrix of up to 64 MiB is decompressed once and held, as are arrays of up to
// 4 MiB whatever is read of them, 64 MiB in all; the least recently used is
// dropped. Of larger ones up to 256 positions are kept open, so that C columns in
// turns take at most C passes. Beyond 256 columns (or going back) every read
// decompresses from the beginning.
//
// Memory does not grow with the arrays: at most 64 MiB for the list of names
// and texts, 32 MiB for positions (128 KiB each, when used) and 64 MiB for arrays
// held. A size a file declares is never allocated without its bytes being there.
//
// Which array is a channel, a rate or a condition is decided elsewhere.
package matfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// Error is a fault of a file, with its place.
type Error = fault.Error

// File is an open MAT-file. It is not safe for concurrent use; open the same
// io.ReaderAt once per goroutine instead.
type File struct {
	Header    string   // descriptive text, such as "MATLAB 5.0 MAT-file, Platform: PCWIN64, …"
	BigEndian bool     // byte order of the file
	Vars      []*Var   // numeric and logical arrays in the order of the file
	Texts     []Text   // character arrays
	Unread    []Unread // variables that cannot be read
	Missing   int64    // bytes that the last element claims beyond the end of the file

	src     io.ReaderAt
	order   binary.ByteOrder
	budget  int64 // what the lists above may still grow by, in bytes
	cursors []*cursor
	clock   int64 // counts uses, to drop the longest unused cursor
	cache   []cached
	hold    int64 // most bytes of cache
	scratch []byte
}

// Var is a numeric or logical array, or a part of a complex one.
type Var struct {
	Name       string  // path: "x", "opp.RPS_M1", "s(2).x", "c{3}"
	Class      string  // as MATLAB sees it: "double", "single", "int8" … "uint64"
	Stored     string  // as the file holds it: MATLAB stores whole-numbered doubles as "int16" and the like
	Logical    bool    // a logical array; its values are 0 and 1
	Compressed bool    // stored compressed
	Dims       []int64 // at least two; column-major

	file  *File
	elem  *element
	off   int64 // of the first value: in the file, or in the decompressed element
	typ   uint32
	count int64

	byColumn bool // columns of it are read, which lie one after the other
	out      bool // it was held decompressed and pushed out
	back     int  // how often it was read backwards since
	damaged  bool // it cannot be decompressed to its end
}

// Text is a character array.
type Text struct {
	Name string   // path, as of a Var
	Rows []string // one text per row of the array; none if it is empty
}

// Value joins the rows by newlines.
func (t Text) Value() string { return strings.Join(t.Rows, "\n") }

// Unread names something in the file that cannot be read, and why.
type Unread struct {
	Name string // path, as of a Var; "byte 4096" where even the name is lost
	Err  error
}

// Data types (MAT-File Format, table 1-1).
const (
	miINT8       = 1
	miUINT8      = 2
	miINT16      = 3
	miUINT16     = 4
	miINT32      = 5
	miUINT32     = 6
	miSINGLE     = 7
	miDOUBLE     = 9
	miINT64      = 12
	miUINT64     = 13
	miMATRIX     = 14
	miCOMPRESSED = 15
	miUTF8       = 16
	miUTF16      = 17
	miUTF32      = 18
)

// Array classes (table 1-3; 16 and 17 are not in it, but in the files).
const (
	mxCELL     = 1
	mxSTRUCT   = 2
	mxOBJECT   = 3
	mxCHAR     = 4
	mxSPARSE   = 5
	mxDOUBLE   = 6
	mxUINT64   = 15
	mxFUNCTION = 16
	mxOPAQUE   = 17
)

var classNames = [...]string{
	mxCELL: "cell", mxSTRUCT: "struct", mxOBJECT: "object", mxCHAR: "char", mxSPARSE: "sparse",
	mxDOUBLE: "double", 7: "single", 8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32",
	13: "uint32", 14: "int64", mxUINT64: "uint64", mxFUNCTION: "function handle", mxOPAQUE: "opaque",
}

// kinds are the numeric data types.
var kinds = map[uint32]struct {
	name string
	kind raw.Kind
}{
	miINT8: {"int8", raw.I8}, miUINT8: {"uint8", raw.U8}, miINT16: {"int16", raw.I16}, miUINT16: {"uint16", raw.U16},
	miINT32: {"int32", raw.I32}, miUINT32: {"uint32", raw.U32}, miSINGLE: {"single", raw.F32},
	miDOUBLE: {"double", raw.F64}, miINT64: {"int64", raw.I64}, miUINT64: {"uint64", raw.U64},
}

// numeric gives name and bytes of a value of a numeric data type; 0 bytes if it is none.
func numeric(typ uint32) (name string, bytes int64) {
	if k, ok := kinds[typ]; ok {
		return k.name, int64(k.kind.Bytes())
	}
	return fmt.Sprintf("data type %d", typ), 0
}

const (
	headerSize = 128
	maxIndex   = 64 << 20 // bytes of names and texts
	maxText    = 1 << 20  // bytes of one character array
	maxDepth   = 32       // of structs and cells in each other
	maxDims    = 64
	maxName    = 4096
	maxFields  = 1 << 16
)

// Open reads the list of variables of a level 5 MAT-file of size bytes.
//
// A file that is no such file, or whose chain of elements is broken (it is cut
// short), is an *Error; what concerns one variable only is in File.Unread.
//
// With cut the last element may claim more bytes than there are.
func Open(r io.ReaderAt, size int64, cut bool) (*File, error) {
	f := &File{src: r, budget: maxIndex, hold: maxHeld}
	head := make([]byte, headerSize)
	n, err := readAt(r, head, 0)
	if err != nil {
		return nil, &Error{Place: "byte 0", Err: fmt.Errorf("read header: %w", err)}
	}

	head = head[:n]
	if int64(n) > size {
		head = head[:max(size, 0)]
	}

	if strings.HasPrefix(string(head), "\x89HDF\r\n\x1a\n") || strings.HasPrefix(string(head), "MATLAB 7.3") {
		return nil, &Error{
			Place: "byte 0", Want: "a MAT-file of level 5", Found: "level 7.3",
			Hint: "level 7.3 is HDF5: read it as such",
		}
	}

	if len(head) < headerSize {
		return nil, &Error{
			Place: "byte 0", Want: "a MAT-file header of 128 bytes", Found: fmt.Sprintf("%d bytes", len(head)),
			Hint: "the file is cut short",
		}
	}

	switch string(head[126:128]) {
	case "IM":
		f.order = binary.LittleEndian
	case "MI":
		f.order, f.BigEndian = binary.BigEndian, true
	default:
		e := &Error{
			Place: "byte 126", Want: `the byte order "IM" or "MI"`, Found: fmt.Sprintf("%q", head[126:128]),
			Hint: "this is no MAT-file of level 5",
		}

		if head[0] == 0 || head[1] == 0 || head[2] == 0 || head[3] == 0 {
			e.Hint = "this may be a MAT-file of level 4: save it with save -v7"
		}

		return nil, e
	}

	switch v := f.order.Uint16(head[124:]); v {
	case 0x0100:
	case 0x0200:
		return nil, &Error{
			Place: "byte 124", Want: "a MAT-file of level 5", Found: "level 7.3",
			Hint: "level 7.3 is HDF5: read it as such",
		}

	default:
		return nil, &Error{Place: "byte 124", Want: "version 0x0100", Found: fmt.Sprintf("%#04x", v)}
	}

	f.Header = strings.TrimRight(strings.ToValidUTF8(string(head[:116]), "?"), " \x00")

	// The eight bytes before the version point to the subsystem data, an
	// unnamed array that belongs to objects; blanks or zero mean there is none.
	subsystem := int64(-1)
	if s := string(head[116:124]); s != "        " {
		if at := f.order.Uint64(head[116:]); at >= headerSize && at < uint64(size) {
			subsystem = int64(at)
		}
	}

	if err := f.elements(size, subsystem, cut); err != nil {
		return nil, err
	}

	return f, nil
}

// elements lists what the elements of the top level hold.
func (f *File) elements(size, subsystem int64, cut bool) error {
	seen := map[string]int64{}
	for at := int64(headerSize); at < size; {
		var tag [8]byte

		if size-at < 8 {
			return &Error{
				Place: place(at), Want: "a data element",
				Found: fmt.Sprintf("%d bytes, then the end of the file", size-at), Hint: "the file is cut short",
			}
		}

		if n, err := readAt(f.src, tag[:], at); err != nil || n < 8 {
			return &Error{Place: place(at), Err: fmt.Errorf("read element: %w", unexpected(err))}
		}

		e := &element{at: at, typ: f.order.Uint32(tag[:]), size: int64(f.order.Uint32(tag[4:]))}
		if e.typ>>16 != 0 { // the small format: eight bytes in all
			f.unread(place(at), &Error{
				Place: place(at), Want: "an array",
				Found: fmt.Sprintf("a small element of data type %d", e.typ&0xffff),
			})

			at += 8
			continue
		}

		if f.Missing = max(0, e.size-(size-at-8)); f.Missing > 0 {
			if !cut {
				return &Error{
					Place: place(at), Want: fmt.Sprintf("an element of %d bytes", e.size),
					Found: fmt.Sprintf("%d until the end of the file", size-at-8),
					Hint:  "the file is cut short: copy it again, or use the arrays that are whole with truncated: use",
				}
			}

			e.size -= f.Missing
		}

		if at != subsystem {
			if err := f.variable(e, seen); err != nil {
				return err
			}
		}

		at += 8 + e.size
	}

	return nil
}

// Var returns the array of that name, or nil.
func (f *File) Var(name string) *Var {
	for _, v := range f.Vars {
		if v.Name == name {
			return v
		}
	}

	return nil
}

func (f *File) unread(name string, err error) {
	f.budget -= int64(len(name)) + 256
	f.Unread = append(f.Unread, Unread{Name: name, Err: err})
}

func place(at int64) string { return fmt.Sprintf("byte %d", at) }

// readAt is ReadAt that takes the end of the data for no error.
func readAt(r io.ReaderAt, p []byte, at int64) (int, error) {
	n, err := r.ReadAt(p, at)
	if errors.Is(err, io.EOF) || n == len(p) {
		err = nil
	}

	return n, err
}

// unexpected names a short read that came without an error.
func unexpected(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
