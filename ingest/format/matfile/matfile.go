// Package matfile reads MATLAB MAT-files of level 5 (save -v6 and -v7): arrays of numbers, also inside structs and
// cells, and texts. Files of level 7.3 are HDF5, and files of level 4 have another format; both are refused by name.
//
// A file is a header of 128 bytes and a list of data elements (MathWorks, "MAT-File Format", chapter 1). An element is
// a tag (tag.go) and its data. At the top level, an element is a variable: an array, or an array compressed by zlib.
// An array is a list of elements: flags, dimensions, a name, and the values, which are arrays in a struct or a cell.
//
// A file becomes a flat list of values (walk.go). The fields of a struct have names such as opp.RPS_M1, the elements
// of a struct array s(2).x, the elements of a cell c{3} (column-major and from 1, as MATLAB counts), and the parts of
// a complex array z.real and z.imag. A value that cannot be read as numbers or text (a sparse array, an object, a
// function handle, damage within one variable) is listed with its name and the reason. It is never left out silently,
// and other values are read.
//
// Opening a file reads the headers. It decompresses the first bytes of a compressed array of numbers, and all of a
// compressed struct, cell or text. Package spool keeps decompressed bytes: 64 MiB in memory, the rest in temporary
// files. The lists of names and texts take at most 64 MiB. Memory is allocated only for bytes that exist.
package matfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
	"doubletake/ingest/format/internal/spool"
)

// Format is MATLAB's level 5. Files of other programs may have another text at the beginning of the header, so Detect
// looks for the version and the byte order at its end.
var Format = ingest.Format{
	Name: "mat", Title: "MAT", Endings: []string{".mat"}, Attributes: true,
	Magic: []string{"MATLAB 5.0 MAT-file"},
	Detect: func(head []byte, _ ingest.Source) bool {
		if len(head) < headerSize {
			return false
		}

		end := string(head[124:headerSize])

		return end == "\x00\x01IM" || end == "\x01\x00MI"
	},
	Open: open,
}

// file is a MAT-file with the lists of its values.
type file struct {
	src     ingest.Source
	order   binary.ByteOrder
	header  string // descriptive text, such as "MATLAB 5.0 MAT-file, Platform: PCWIN64, …"
	missing int64  // bytes by which the last element is longer than the file; 0 if it is whole
	list
	budget int64        // bytes by which the lists may still grow
	memory spool.Memory // shared by spools
	spools []io.Closer  // decompressed elements
	window raw.Window   // bytes of an element that were read last
}

// list has the values of a file, in the order of the file. Names are paths: "x", "opp.RPS_M1", "s(2).x", "c{3}".
type list struct {
	arrays []*array // arrays of numbers
	texts  []ingest.Attribute
	unread []ingest.Unread // values that cannot be read; named "byte 4096" if the name cannot be read either
}

// array is an array of numbers or of logical values, or a part of a complex array. It implements arrays.Plane.
type array struct {
	name   string
	class  string  // class in MATLAB: "double", "single", "int8" to "uint64"
	stored string  // type in the file: MATLAB stores doubles that are whole numbers as integers
	dims   []int64 // lengths of the axes, at least two; the first axis runs fastest
	axis   int     // index in dims of the axis that is time

	file   *file
	elem   *element
	offset int64    // of the first value in elem.data
	kind   raw.Kind // how values are stored
	count  int64    // number of values
}

// open reads the lists of a file and returns a reader with channels for its arrays.
func open(src ingest.Source, options ingest.Options) (ingest.Reader, error) {
	f := &file{src: src, budget: maxIndex, memory: maxMemory}

	reader, err := f.reader(options)
	if err != nil {
		for _, s := range f.spools { // the caller closes src
			_ = s.Close()
		}

		return nil, err
	}

	return reader, nil
}

// reader reads the lists of a file and returns a reader with channels for its arrays and attributes for its texts.
func (f *file) reader(options ingest.Options) (*arrays.Reader, error) {
	if err := f.read(options.Truncated == "use"); err != nil {
		return nil, err
	}

	order := "little-endian"
	if f.order == binary.BigEndian {
		order = "big-endian"
	}

	reader := arrays.New(ingest.Info{Path: f.src.Path, Format: "mat", Encoding: "MATLAB level 5, " + order},
		append(f.spools, f.src)...)
	reader.Attribute("header", f.header)

	if f.missing > 0 {
		reader.Warn(ingest.Warn("", "truncated",
			"the last element claims %d bytes more than there are: the arrays that are whole are used", f.missing))
	}

	for _, t := range f.texts {
		reader.Attribute(t.Name, t.Value)
	}

	for _, u := range f.unread {
		reader.Unread(u.Name, true, u.Reason)
	}

	clocks := map[string]int64{} // by struct, the number of samples of the array that contains the time
	for _, array := range f.arrays {
		if arrays.IsTime(array.name) {
			clocks[arrays.Parent(array.name)] = array.count
		}
	}

	for _, array := range f.arrays {
		if err := array.add(reader, clocks[arrays.Parent(array.name)], options); err != nil {
			return nil, err
		}
	}

	return reader, reader.Finish(options)
}

// add adds the channels of an array, or an attribute for a single number. clockSamples is the number of samples of the
// array that contains the time in the same struct, and 0 if there is none.
func (v *array) add(reader *arrays.Reader, clockSamples int64, options ingest.Options) error {
	switch v.count {
	case 0:
		reader.Unread(v.name, false, "an empty array")
		return nil
	case 1:
		return reader.Single(v.name, v)
	}

	axis, err := arrays.Axes(v.dims, nil, clockSamples, options.Arrays)
	if err != nil {
		reader.Unread(v.name, true, err.Error())
		return nil
	}

	v.axis = axis

	attrs := []ingest.Attribute{{Name: "shape", Value: fmt.Sprint(v.dims)}, {Name: "class", Value: v.class}}
	if v.stored != v.class {
		attrs = append(attrs, ingest.Attribute{Name: "stored", Value: v.stored})
	}

	return reader.Add(arrays.Array{
		Name: v.name, Dims: v.dims, Axis: v.axis, ColumnMajor: true, Group: arrays.Parent(v.name), Attributes: attrs,
		Quantum: arrays.QuantumOf(v.class), Plane: v,
	})
}

// blockSize is the number of bytes that are read at a time.
const blockSize = 64 << 10

// Read implements arrays.Plane. If time is not the first axis, channels lie interleaved; the window keeps their bytes
// from one channel to the next.
func (v *array) Read(channels []int, start int64, dst [][]float64) error {
	length := v.dims[v.axis]
	stride, _ := product(v.dims[:v.axis]) // values from a sample of a channel to the next
	width := int64(v.kind.Bytes())
	frame := stride * width // bytes from a sample to the next

	n := int64(len(dst[0]))
	for done := int64(0); done < n; {
		k := min(max(1, blockSize/frame), n-done)
		for i, c := range channels {
			// Number of the first value of the frame: stride channels are interleaved, then come the next stride channels.
			first := int64(c)/stride*stride*length + (start+done)*stride
			b, err := v.file.window.Bytes(v.elem, v.elem.data, v.offset+first*width, k*frame, 0)
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

const (
	headerSize = 128 // bytes of the header
	tagSize    = 8   // bytes of a tag
)

// Limits.
const (
	maxIndex  = 64 << 20 // bytes of names and texts
	maxMemory = 64 << 20 // decompressed bytes that are kept in memory
	maxText   = 1 << 20  // bytes of a character array
	maxRows   = 1 << 16  // rows of a character array
	maxDepth  = 32       // nesting of structs and cells
	maxDims   = 64       // dimensions of an array
	maxName   = 4096     // bytes of a name
	maxFields = 1 << 16  // fields of a struct, if their names are as long as MATLAB allows
)

const (
	level5  = "a MAT-file of level 5"
	level73 = "level 7.3 is HDF5: read it as such"
)

// read reads the header and the lists. If the file is not a MAT-file, or if an element is longer than the rest of the
// file, read returns a *fault.Error. If mayBeCut is set, the last element may be longer than the rest of the file. A
// variable that cannot be read is listed as unread.
//
// The header has a text in bytes 0 to 115, the offset of the subsystem data in bytes 116 to 123, the version in bytes
// 124 and 125, and "MI" as a number of 2 bytes in bytes 126 and 127, which shows the byte order.
func (f *file) read(mayBeCut bool) error {
	head := make([]byte, min(headerSize, f.src.Size))
	if err := f.fill(head, 0, "header"); err != nil {
		return err
	}

	if err := f.checkHeader(head); err != nil {
		return err
	}

	f.header = strings.TrimRight(strings.ToValidUTF8(string(head[:116]), "?"), " \x00")

	// The subsystem data are an unnamed array that belongs to objects. If there are none, these bytes are blanks or zeros.
	// As a number, both lie outside the data elements: eight blanks are about 2.3·10^18.
	subsystem := int64(-1)
	if offset := f.order.Uint64(head[116:]); offset >= headerSize && offset < uint64(f.src.Size) {
		subsystem = int64(offset)
	}

	return f.elements(subsystem, mayBeCut)
}

// checkHeader sets the byte order of the file. It returns an error if the header is not a header of level 5.
func (f *file) checkHeader(head []byte) error {
	if strings.HasPrefix(string(head), "\x89HDF\r\n\x1a\n") || strings.HasPrefix(string(head), "MATLAB 7.3") {
		return f.src.Fault(0, level5, "level 7.3", level73)
	}

	if len(head) != headerSize {
		return f.src.Fault(0, "a MAT-file header of 128 bytes", fmt.Sprintf("%d bytes", len(head)), raw.CutShort)
	}

	switch string(head[126:128]) {
	case "IM":
		f.order = binary.LittleEndian
	case "MI":
		f.order = binary.BigEndian
	default:
		hint := "this is no MAT-file of level 5"
		if slices.Contains(head[:4], 0) {
			hint = "this may be a MAT-file of level 4: save it with save -v7"
		}

		return f.src.Fault(126, `the byte order "IM" or "MI"`, fmt.Sprintf("%q", head[126:128]), hint)
	}

	switch version := f.order.Uint16(head[124:]); version {
	case 0x0100:
		return nil
	case 0x0200:
		return f.src.Fault(124, level5, "level 7.3", level73)
	default:
		return f.src.Fault(124, "version 0x0100", fmt.Sprintf("%#04x", version), "")
	}
}

// fill fills b with the bytes of the file from an offset on. what names them in errors.
func (f *file) fill(b []byte, offset int64, what string) error {
	if err := raw.ReadFull(f.src, b, offset); err != nil {
		return &fault.Error{Place: place(offset), Err: fmt.Errorf("read %s: %w", what, err)}
	}

	return nil
}

// elements lists the values of all variables, except the variable at the offset subsystem. If mayBeCut is set, the last
// variable may be longer than the rest of the file.
func (f *file) elements(subsystem int64, mayBeCut bool) error {
	seen := map[string]int64{} // offsets of the variables, by their names
	for offset := int64(headerSize); offset < f.src.Size; {
		left := f.src.Size - offset - tagSize // bytes behind the tag
		if left < 0 {
			return f.src.Fault(offset, "a data element", fmt.Sprintf("%d bytes, then the end of the file", left+tagSize),
				raw.CutShort)
		}

		var tag [tagSize]byte
		if err := f.fill(tag[:], offset, "element"); err != nil {
			return err
		}

		e := &element{offset: offset, typ: f.order.Uint32(tag[:]), size: int64(f.order.Uint32(tag[4:])), data: f.src}
		if e.typ>>16 != 0 { // the small format, which has no room for an array
			f.refuse(place(offset), fmt.Errorf("%s: expected an array, found a small element of data type %d",
				place(offset), e.typ&0xffff))

			offset += tagSize
			continue
		}

		f.missing = max(0, e.size-left)
		if f.missing > 0 && !mayBeCut {
			return f.src.Fault(offset, fmt.Sprintf("an element of %d bytes", e.size),
				fmt.Sprintf("%d until the end of the file", left),
				"the file is cut short: copy it again, or use the arrays that are whole with truncated: use under ingest")
		}

		e.size -= f.missing

		if offset != subsystem {
			if err := f.variable(e, seen); err != nil {
				return err
			}
		}

		offset += tagSize + e.size
	}

	return nil
}

// refuse lists a value as unread.
func (f *file) refuse(name string, reason error) {
	f.budget -= int64(len(name)) + 256
	f.unread = append(f.unread, ingest.Unread{Name: name, Reason: reason.Error()})
}

// place returns an offset in the file as the place of an error.
func place(offset int64) string { return fmt.Sprintf("byte %d", offset) }
