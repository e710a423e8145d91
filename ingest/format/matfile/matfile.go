// Package matfile reads MATLAB MAT-files of level 5 (save -v6 and -v7): numeric
// arrays, also inside structs and cells, and texts.
//
// Source of the layout: MathWorks, "MAT-File Format", chapter 1 (level 5).
// Level 7.3 is HDF5 and level 4 another format; both are refused by name.
//
// A file becomes a flat list. The fields of a struct are named opp.RPS_M1, the
// elements of a struct array s(2).x, those of a cell c{3} (column-major, from
// one, as MATLAB counts), the parts of a complex array z.real and z.imag. What
// cannot be read as numbers or text (sparse arrays, objects, function handles,
// damage within one variable) is listed by name with the reason: it
// is never left out silently and never stops the rest.
//
// Opening a file reads the headers; of compressed variables it decompresses the first
// bytes, and all of it where there is a struct, a cell or a text. What was decompressed is
// kept (package spool): 64 MiB in memory, the rest in temporary files. The list of names
// and texts takes at most 64 MiB. A size a file declares is never allocated without its
// bytes being there.
package matfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/spool"
)

// Format is MATLAB's level 5. Level 7.3 is HDF5.
var Format = ingest.Format{
	Name: "mat", Title: "MAT", Endings: []string{".mat"}, Attributes: true,
	Magic: []string{"MATLAB 5.0 MAT-file"},
	Detect: func(head []byte, _ ingest.Source) bool {
		return len(head) >= 128 && (string(head[124:128]) == "\x00\x01IM" || string(head[124:128]) == "\x01\x00MI")
	},
	Open: open,
}

// file is a file whose variables are listed.
type file struct {
	src     ingest.Source
	order   binary.ByteOrder
	header  string // descriptive text, such as "MATLAB 5.0 MAT-file, Platform: PCWIN64, …"
	missing int64  // bytes that the last element claims beyond the end of the file
	list
	budget int64 // what the list may still grow by, in bytes
	memory spool.Memory
	spools []io.Closer
	window raw.Window // by element
}

// list is what a file holds, in its order. Names are paths: "x", "opp.RPS_M1", "s(2).x", "c{3}".
type list struct {
	arrays []*array // of numbers
	texts  []ingest.Attribute
	unread []ingest.Unread // what cannot be read; "byte 4096" where even the name is lost
}

// array is a numeric or logical array, or a part of a complex one. It is its plane.
type array struct {
	name   string
	class  string  // as MATLAB sees it: "double", "single", "int8" … "uint64"
	stored string  // as the file holds it: MATLAB stores whole-numbered doubles as "int16" and the like
	dims   []int64 // at least two; column-major
	axis   int     // that of time

	file  *file
	elem  *element
	off   int64 // of the first value in the element's data
	kind  raw.Kind
	count int64
}

// open names channels as MATLAB names the values: x, opp.RPS_M1, f{2},
// PXX{1}[3].
func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	f := &file{src: src, budget: maxIndex, memory: maxMemory}
	defer func() {
		if err != nil {
			for _, s := range f.spools {
				_ = s.Close()
			}
		}
	}()

	defer fault.Catch(&err)

	f.read(o.Truncated == "use")

	order := "little-endian"
	if f.order == binary.BigEndian {
		order = "big-endian"
	}

	r := arrays.New(ingest.Info{Path: src.Path, Format: "mat", Encoding: "MATLAB level 5, " + order},
		append(f.spools, src)...)
	r.Attribute("header", f.header)

	if f.missing > 0 {
		r.Warn(ingest.Warn("", "truncated",
			"the last element claims %d bytes more than there are: the arrays that are whole are used", f.missing))
	}

	for _, t := range f.texts {
		r.Attribute(t.Name, t.Value)
	}

	for _, u := range f.unread {
		r.Unread(u.Name, true, u.Reason)
	}

	clocks := map[string]int64{}
	for _, v := range f.arrays {
		if arrays.IsTime(v.name) {
			clocks[arrays.Parent(v.name)] = v.count
		}
	}

	for _, v := range f.arrays {
		fault.Raise(v.add(r, clocks[arrays.Parent(v.name)], o))
	}

	return r, r.Finish(o)
}

// add makes channels of an array; clock is the samples of its clock.
func (v *array) add(r *arrays.Reader, clock int64, o ingest.Options) (err error) {
	switch v.count {
	case 0:
		r.Unread(v.name, false, "an empty array")
		return nil
	case 1:
		return r.Single(v.name, v)
	}

	if v.axis, err = arrays.Axes(v.dims, nil, clock, o.Arrays); err != nil {
		r.Unread(v.name, true, err.Error())
		return nil
	}

	attrs := []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(v.dims)}, {Name: "class", Value: v.class}}
	if v.stored != v.class {
		attrs = append(attrs, ingest.Attribute{Name: "stored", Value: v.stored})
	}

	return r.Add(arrays.Array{
		Name: v.name, Dims: v.dims, Axis: v.axis, ColumnMajor: true, Group: arrays.Parent(v.name), Attributes: attrs,
		Quantum: arrays.QuantumOf(v.class), Plane: v,
	})
}

// blockSize is how many bytes are read at a time.
const blockSize = 64 << 10

// Read implements arrays.Plane. The channels of an axis that is not the first lie
// interleaved: their bytes are read once for all.
func (v *array) Read(channels []int, start int64, dst [][]float64) error {
	length := v.dims[v.axis]
	stride, _ := product(v.dims[:v.axis]) // values from a sample to the next
	width := int64(v.kind.Bytes())
	frame := stride * width

	n := int64(len(dst[0]))
	for done := int64(0); done < n; {
		k := min(max(1, blockSize/frame), n-done)
		for i, c := range channels {
			first := int64(c)/stride*stride*length + (start+done)*stride
			b, err := v.file.window.Bytes(v.elem, v.elem.data, v.off+first*width, k*frame, 0)
			if err != nil {
				place := fmt.Sprintf("variable %q, value %d", v.name, first)
				return &fault.Error{Place: place, Err: fmt.Errorf("read: %w", err), Hint: "the file is damaged"}
			}

			raw.Decode(dst[i][done:done+k], b[int64(c)%stride*width:], v.kind, v.file.order == binary.BigEndian, int(frame))
		}

		done += k
	}

	return nil
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

const (
	headerSize = 128
	maxIndex   = 64 << 20 // bytes of names and texts
	maxMemory  = 64 << 20 // bytes that are kept decompressed
	maxText    = 1 << 20  // bytes of one character array
	maxDepth   = 32       // of structs and cells in each other
	maxDims    = 64
	maxName    = 4096
	maxFields  = 1 << 16
)

// read lists the variables.
//
// A file that is no such file, or whose chain of elements is broken (it is cut
// short), is a *fault.Error; what concerns one variable only is listed as unread.
// With cut the last element may claim more bytes than there are.
func (f *file) read(cut bool) {
	const (
		level5  = "a MAT-file of level 5"
		level73 = "level 7.3 is HDF5: read it as such"
	)

	head := make([]byte, min(headerSize, f.src.Size))
	f.fill(head, 0, "header")

	hdf := strings.HasPrefix(string(head), "\x89HDF\r\n\x1a\n") || strings.HasPrefix(string(head), "MATLAB 7.3")
	f.src.Unless(!hdf, 0, level5, "level 7.3", level73)
	f.src.Unless(len(head) == headerSize, 0, "a MAT-file header of 128 bytes", fmt.Sprintf("%d bytes", len(head)),
		raw.CutShort)

	switch string(head[126:128]) {
	case "IM":
		f.order = binary.LittleEndian
	case "MI":
		f.order = binary.BigEndian
	default:
		hint := "this is no MAT-file of level 5"
		if head[0] == 0 || head[1] == 0 || head[2] == 0 || head[3] == 0 {
			hint = "this may be a MAT-file of level 4: save it with save -v7"
		}

		f.src.Unless(false, 126, `the byte order "IM" or "MI"`, fmt.Sprintf("%q", head[126:128]), hint)
	}

	version := f.order.Uint16(head[124:])
	f.src.Unless(version != 0x0200, 124, level5, "level 7.3", level73)
	f.src.Unless(version == 0x0100, 124, "version 0x0100", fmt.Sprintf("%#04x", version), "")

	f.header = strings.TrimRight(strings.ToValidUTF8(string(head[:116]), "?"), " \x00")

	// The eight bytes before the version point to the subsystem data, an
	// unnamed array that belongs to objects; blanks or zero mean there is none.
	subsystem := int64(-1)
	if s := string(head[116:124]); s != "        " {
		if at := f.order.Uint64(head[116:]); at >= headerSize && at < uint64(f.src.Size) {
			subsystem = int64(at)
		}
	}

	f.elements(subsystem, cut)
}

// fill reads b at a byte of the file.
func (f *file) fill(b []byte, at int64, what string) {
	if err := raw.ReadFull(f.src, b, at); err != nil {
		fault.Raise(&fault.Error{Place: place(at), Err: fmt.Errorf("read %s: %w", what, err)})
	}
}

// elements lists what the elements of the top level hold.
func (f *file) elements(subsystem int64, cut bool) {
	seen := map[string]int64{}
	for at := int64(headerSize); at < f.src.Size; {
		left := f.src.Size - at - 8
		if left < 0 {
			f.src.Unless(false, at, "a data element", fmt.Sprintf("%d bytes, then the end of the file", left+8), raw.CutShort)
		}

		var tag [8]byte
		f.fill(tag[:], at, "element")

		e := &element{at: at, typ: f.order.Uint32(tag[:]), size: int64(f.order.Uint32(tag[4:])), data: f.src}
		if e.typ>>16 != 0 { // the small format: eight bytes in all
			f.refuse(place(at), fmt.Errorf("%s: expected an array, found a small element of data type %d", place(at),
				e.typ&0xffff))

			at += 8
			continue
		}

		if f.missing = max(0, e.size-left); f.missing > 0 {
			if !cut {
				f.src.Unless(false, at, fmt.Sprintf("an element of %d bytes", e.size),
					fmt.Sprintf("%d until the end of the file", left),
					"the file is cut short: copy it again, or use the arrays that are whole with truncated: use")
			}

			e.size -= f.missing
		}

		if at != subsystem {
			f.variable(e, seen)
		}

		at += 8 + e.size
	}
}

func (f *file) refuse(name string, why error) {
	f.budget -= int64(len(name)) + 256
	f.unread = append(f.unread, ingest.Unread{Name: name, Reason: why.Error()})
}

func place(at int64) string { return fmt.Sprintf("byte %d", at) }
