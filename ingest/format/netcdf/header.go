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

// file is a file's header, read from in.
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
	total      int64  // bytes of the variables that were added
	buf        []byte // for samples
	err        error  // the first one; after it numbers of the header are zero
}

// fail returns the first error.
func (f *file) fail(at int64, want, found, hint string) error {
	if f.err == nil {
		f.err = f.src.Fault(at, want, found, hint)
	}

	return f.err
}

// bytes reads n bytes, which the file must hold.
func (f *file) bytes(n int64, want string) []byte {
	if n < 0 || n > f.src.Size-f.at {
		_ = f.fail(f.at, want, "the end of the file", raw.CutShort)
	}

	if f.err != nil {
		return nil
	}

	b := make([]byte, n)
	if _, err := io.ReadFull(f.in, b); err != nil {
		f.err = &fault.Error{Path: f.src.Path, Place: fmt.Sprintf("byte %d", f.at), Err: fmt.Errorf("read: %w", err)}
		return nil
	}

	f.at += n

	return b
}

// word reads a number of 4 bytes.
func (f *file) word() uint32 {
	b := f.bytes(4, "4 bytes of header")
	if b == nil {
		return 0
	}

	return binary.BigEndian.Uint32(b)
}

// length reads a number that is not negative, of 8 bytes in CDF-5, and of as many
// in CDF-2 where it is an offset.
func (f *file) length(offset bool) int64 {
	if f.version != 5 && (f.version != 2 || !offset) {
		return int64(f.word())
	}

	b := f.bytes(8, "8 bytes of header")
	if b == nil {
		return 0
	}

	v := binary.BigEndian.Uint64(b)
	if v > math.MaxInt64 {
		_ = f.fail(f.at-8, "a length", fmt.Sprint(v), damaged)
		return 0
	}

	return int64(v)
}

// list reads the beginning of a list: its tag and how many elements of at least
// so many bytes it has.
func (f *file) list(tag uint32, least int64, what string) int64 {
	at := f.at
	t, n := f.word(), f.length(false)
	switch {
	case t == 0 && n == 0 || f.err != nil:
		return 0
	case t != tag:
		_ = f.fail(at, "a list of "+what, fmt.Sprintf("tag %d", t), damaged)
		return 0
	case n > (f.src.Size-f.at)/least:
		_ = f.fail(at+4, "a list of "+what+" in the file", fmt.Sprintf("%d of them", n), damaged)
		return 0
	}

	return n
}

// name reads a name, padded to four bytes.
func (f *file) name() string { return raw.Text(f.padded(f.length(false), "a name")) }

// padded reads n bytes and those that pad them to a multiple of four.
func (f *file) padded(n int64, want string) []byte {
	if n > f.src.Size-f.at {
		_ = f.fail(f.at, want, "the end of the file", raw.CutShort)
		return nil
	}

	b := f.bytes((n+3)&^3, want)

	return b[:min(n, int64(len(b)))]
}

// header reads the header.
func (f *file) header() error {
	f.in = bufio.NewReader(io.NewSectionReader(f.src, 0, f.src.Size))

	b := f.bytes(4, "a header")
	if f.err != nil {
		return f.err
	}

	f.version = b[3]
	if string(b[:3]) != "CDF" || f.version != 1 && f.version != 2 && f.version != 5 {
		return f.fail(0, `"CDF" and version 1, 2 or 5`, fmt.Sprintf("%q", b), "this is no netCDF file of a classic format")
	}

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
		if err := f.variable(); err != nil {
			return err
		}
	}

	return f.err
}

func (f *file) readAttributes() (as []attribute) {
	for range f.list(12, 12, "attributes") {
		a := attribute{name: f.name()}
		at := f.at
		kind, n := f.word(), f.length(false)

		k, known := kinds[kind]
		size := int64(1)
		switch {
		case known:
			size = int64(k.kind.Bytes())
		case kind != char:
			_ = f.fail(at, "a type of values", fmt.Sprint(kind), damaged)
			return nil
		}

		if n > (f.src.Size-f.at)/size {
			_ = f.fail(f.at, "an attribute's values", "the end of the file", raw.CutShort)
			return nil
		}

		b := f.padded(n*size, "an attribute's values")
		switch {
		case f.err != nil:
			return nil
		case kind == char:
			a.text = raw.Text(b)
		default:
			a.numbers = arrays.Numbers{Values: make([]float64, n), Integer: k.kind.Integer()}
			raw.Decode(a.numbers.Values, b, k.kind, true, int(size))
		}

		as = append(as, a)
	}

	return as
}

// variable reads a variable's description.
func (f *file) variable() error {
	v := &variable{name: f.name(), bytes: 1}
	at := f.at
	n := f.length(false)
	if n > 1024 {
		return f.fail(at, "at most 1024 dimensions of a variable", fmt.Sprint(n), damaged)
	}

	for i := range n {
		at := f.at
		id := f.length(false)
		if id >= int64(len(f.dims)) || f.err != nil {
			return f.fail(at, fmt.Sprintf("a dimension of the %d there are", len(f.dims)), fmt.Sprint(id), damaged)
		}

		d := f.dims[id]
		v.dims, v.axes = append(v.dims, d), append(v.axes, f.names[id])
		if d == 0 && i == 0 {
			v.record = true
			continue
		}

		if d > 0 && v.bytes > math.MaxInt64/64/d {
			return f.fail(at, "a variable in a file", fmt.Sprintf("%s of shape %v", v.name, v.dims), damaged)
		}

		v.bytes *= d
	}

	v.attributes = f.readAttributes()
	at = f.at
	v.kind = f.word()
	if _, known := kinds[v.kind]; !known && v.kind != char {
		return f.fail(at, "a type of values", fmt.Sprint(v.kind), damaged)
	}

	v.bytes *= v.size()
	f.length(false) // the size, which is redundant and too small for large ones
	v.begin = f.length(true)
	f.variables = append(f.variables, v)

	return f.err
}

// plane is a variable as channels.
type plane struct {
	f      *file
	v      *variable
	size   int64   // of an element
	frames int64   // samples of a channel
	step   int64   // bytes from a sample to the next
	others []int64 // the other axes
	steps  []int64 // bytes along each of them
	extent int64   // bytes from the first channel's sample to the last's end
}

// layout finds where the elements lie; axis is that of time.
func (p *plane) layout(dims []int64, axis int) {
	step := p.size

	steps := make([]int64, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = step
		step *= dims[i]
	}

	if p.v.record {
		steps[0] = p.f.recordSize
	}

	p.frames, p.step, p.extent = dims[axis], steps[axis], p.size
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
func (p *plane) Read(channels []int, start int64, dst [][]float64) (int, error) {
	n := int(min(int64(len(dst[0])), max(0, p.frames-start)))

	offsets := make([]int64, len(channels))
	for i, c := range channels {
		offsets[i] = p.offset(c)
	}

	// The channels of an instant lie together, or each by itself.
	if together := p.extent <= p.step && p.extent <= block; together {
		if err := p.read(0, p.extent, offsets, start, dst, n); err != nil {
			return 0, err
		}
	} else {
		for i := range channels {
			if err := p.read(offsets[i], p.size, []int64{0}, start, dst[i:i+1], n); err != nil {
				return 0, err
			}
		}
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// read reads n samples of the channels at offsets within extent bytes from at on.
func (p *plane) read(at, extent int64, offsets []int64, start int64, dst [][]float64, n int) error {
	per := 1
	if p.step < block/2 {
		per = int((block-extent)/p.step) + 1
	}

	if p.f.buf == nil {
		p.f.buf = make([]byte, 2*block)
	}

	for done := 0; done < n; {
		m := min(per, n-done)
		from := p.v.begin + at + (start+int64(done))*p.step

		b := p.f.buf[:int64(m-1)*p.step+extent]
		if err := raw.Fill(p.f.src, b, from); err != nil {
			return err
		}

		for i, o := range offsets {
			raw.Decode(dst[i][done:done+m], b[o:], kinds[p.v.kind].kind, true, int(p.step))
		}

		done += m
	}

	return nil
}
