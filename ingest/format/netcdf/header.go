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
	"doubletake/ingest/format/internal/raw"
)

// file is a file's header, read from in. Its methods raise errors (fault.Raise).
type file struct {
	src ingest.Source
	in  *bufio.Reader
	at  int64 // of the next byte of in

	version    byte
	count      int64 // records; −1: not stated
	dims       []int64
	names      []string // of dims
	attributes []attribute
	variables  []*variable
	recordSize int64
	total      int64 // bytes of the variables that were added
	window     raw.Window
}

// has raises an error unless the file holds n bytes more.
func (f *file) has(n int64, want string) {
	f.src.Unless(n >= 0 && n <= f.src.Size-f.at, f.at, want, "the end of the file", raw.CutShort)
}

// bytes reads n bytes, which the file must hold.
func (f *file) bytes(n int64, want string) []byte {
	f.has(n, want)

	b := make([]byte, n)
	if _, err := io.ReadFull(f.in, b); err != nil {
		fault.Raise(&fault.Error{Path: f.src.Path, Place: fmt.Sprintf("byte %d", f.at), Err: fmt.Errorf("read: %w", err)})
	}

	f.at += n

	return b
}

// word reads a number of 4 bytes.
func (f *file) word() uint32 { return binary.BigEndian.Uint32(f.bytes(4, "4 bytes of header")) }

// length reads a number that is not negative, of 8 bytes in CDF-5, and of as many
// in CDF-2 where it is an offset.
func (f *file) length(offset bool) int64 {
	if f.version != 5 && (f.version != 2 || !offset) {
		return int64(f.word())
	}

	v := binary.BigEndian.Uint64(f.bytes(8, "8 bytes of header"))
	f.src.Unless(v <= math.MaxInt64, f.at-8, "a length", fmt.Sprint(v), raw.Damaged)

	return int64(v)
}

// list reads the beginning of a list: its tag and how many elements of at least
// so many bytes it has.
func (f *file) list(tag uint32, least int64, what string) int64 {
	at := f.at
	t, n := f.word(), f.length(false)

	if t != 0 || n != 0 {
		f.src.Unless(t == tag, at, "a list of "+what, fmt.Sprintf("tag %d", t), raw.Damaged)
		f.src.Unless(n <= (f.src.Size-f.at)/least, at+4, "a list of "+what+" in the file", fmt.Sprintf("%d of them", n),
			raw.Damaged)
	}

	return n
}

// name reads a name, padded to four bytes.
func (f *file) name() string { return raw.Text(f.padded(f.length(false), "a name")) }

// padded reads n bytes and those that pad them to a multiple of four.
func (f *file) padded(n int64, want string) []byte {
	f.has(n, want)
	return f.bytes((n+3)&^3, want)[:n]
}

// header reads the header.
func (f *file) header() {
	f.in = bufio.NewReader(io.NewSectionReader(f.src, 0, f.src.Size))

	b := f.bytes(4, "a header")
	f.version = b[3]
	f.src.Unless(string(b[:3]) == "CDF" && (f.version == 1 || f.version == 2 || f.version == 5), 0,
		`"CDF" and version 1, 2 or 5`, fmt.Sprintf("%q", b), "this is no netCDF file of a classic format")

	b, err := f.in.Peek(8)
	if err == nil && f.version == 5 && binary.BigEndian.Uint64(b) == math.MaxUint64 {
		f.count = -1 // written as a stream
		f.bytes(8, "")
	} else if f.count = f.length(false); f.version != 5 && f.count == math.MaxUint32 {
		f.count = -1
	}

	for range f.list(10, 8, "dimensions") {
		f.names = append(f.names, f.name())
		f.dims = append(f.dims, f.length(false))
	}

	f.attributes = f.readAttributes()

	for range f.list(11, 28, "variables") {
		f.variable()
	}
}

// kind reads a type of values and returns it with the bytes of one.
func (f *file) kind() (kind uint32, size int64) {
	at := f.at
	kind = f.word()

	k, known := kinds[kind]
	f.src.Unless(known || kind == char, at, "a type of values", fmt.Sprint(kind), raw.Damaged)

	if kind == char {
		return kind, 1
	}

	return kind, int64(k.kind.Bytes())
}

func (f *file) readAttributes() (as []attribute) {
	const values = "an attribute's values"

	for range f.list(12, 12, "attributes") {
		a := attribute{name: f.name()}
		kind, size := f.kind()
		n := f.length(false)
		f.src.Unless(n <= (f.src.Size-f.at)/size, f.at, values, "the end of the file", raw.CutShort)

		if b := f.padded(n*size, values); kind == char {
			a.text = raw.Text(b)
		} else {
			k := kinds[kind].kind
			a.numbers = arrays.Numbers{Values: make([]float64, n), Integer: k.Integer()}
			raw.Decode(a.numbers.Values, b, k, true, int(size))
		}

		as = append(as, a)
	}

	return as
}

// variable reads a variable's description.
func (f *file) variable() {
	v := &variable{name: f.name(), bytes: 1}

	at := f.at
	n := f.length(false)
	f.src.Unless(n <= 1024, at, "at most 1024 dimensions of a variable", fmt.Sprint(n), raw.Damaged)

	for i := range n {
		at := f.at
		id := f.length(false)
		f.src.Unless(id < int64(len(f.dims)), at, fmt.Sprintf("a dimension of the %d there are", len(f.dims)), fmt.Sprint(id),
			raw.Damaged)

		d := f.dims[id]
		v.dims, v.axes = append(v.dims, d), append(v.axes, f.names[id])

		if d == 0 && i == 0 {
			v.record = true
			continue
		}

		f.src.Unless(d == 0 || v.bytes <= math.MaxInt64/64/max(1, d), at, "a variable in a file",
			fmt.Sprintf("%s of shape %v", v.name, v.dims), raw.Damaged)
		v.bytes *= d
	}

	v.attributes = f.readAttributes()
	v.kind, v.size = f.kind()
	v.bytes *= v.size
	f.length(false) // the size, which is redundant and too small for large ones
	v.begin = f.length(true)
	f.variables = append(f.variables, v)
}

// plane is a variable as channels.
type plane struct {
	f      *file
	v      *variable
	step   int64   // bytes from a sample to the next
	others []int64 // the other axes
	steps  []int64 // bytes along each of them
	extent int64   // bytes from the first channel's sample to the last's end
}

// layout finds where the elements lie; axis is that of time.
func (p *plane) layout(dims []int64, axis int) {
	step := p.v.size

	steps := make([]int64, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = step
		step *= dims[i]
	}

	if p.v.record {
		steps[0] = p.f.recordSize
	}

	p.step, p.extent = steps[axis], p.v.size
	for i, d := range dims {
		if i != axis {
			p.others, p.steps = append(p.others, d), append(p.steps, steps[i])
			p.extent += (d - 1) * steps[i]
		}
	}
}

// offset is where a channel begins. The last of the other axes runs fastest.
func (p *plane) offset(channel int) int64 {
	at, rest := int64(0), int64(channel)
	for i := len(p.others) - 1; i >= 0; i-- {
		at += rest % p.others[i] * p.steps[i]
		rest /= p.others[i]
	}

	return at
}

const block = 1 << 16

// Read implements arrays.Plane.
func (p *plane) Read(channels []int, start int64, dst [][]float64) error {
	n := int64(len(dst[0]))

	// The channels of an instant lie together, or each by itself.
	together := p.extent <= p.step && p.extent <= block

	span := p.v.size
	if together {
		span = p.extent
	}

	for done := int64(0); done < n; {
		k := min(max(1, (block-span)/p.step+1), n-done)
		for i, c := range channels {
			at, in := p.offset(c), int64(0)
			if together {
				at, in = 0, at
			}

			at += p.v.begin + (start+done)*p.step

			b, err := p.f.window.Bytes(nil, p.f.src, at, (k-1)*p.step+span, 0)
			if err != nil {
				return &fault.Error{Path: p.f.src.Path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read samples: %w", err)}
			}

			raw.Decode(dst[i][done:done+k], b[in:], kinds[p.v.kind].kind, true, int(p.step))
		}

		done += k
	}

	return nil
}
