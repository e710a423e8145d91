package hdf5

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"doubletake/ingest/fault"
)

// Dataset is an array of the file.
type Dataset struct {
	Path       string
	Attributes []Attribute
	Type       Type
	Dims       []int64 // the shape, slowest axis first; nil for a single value
	Null       bool    // it has no elements and no shape

	src   source
	st    *storage
	field int   // byte of this field within an element of a compound
	err   error // why no numbers can be read
}

// Attribute returns the attribute of that name.
func (d *Dataset) Attribute(name string) (Attribute, bool) {
	return findAttribute(d.Attributes, name)
}

// Elements returns the number of elements.
func (d *Dataset) Elements() int64 {
	if d.Null || d.st == nil {
		return 0
	}

	n := int64(1)
	for _, x := range d.st.dims {
		n *= int64(x)
	}

	return n
}

// Err is why numbers cannot be read (a datatype, filter or layout that is not
// supported), nil if they can.
func (d *Dataset) Err() error { return d.err }

// Layout describes how the elements are stored, for people: "contiguous",
// "chunked 1×1024, shuffle, deflate", …
func (d *Dataset) Layout() string {
	if d.st == nil {
		return "none"
	}

	s := d.st.class.String()
	if d.st.class == chunked {
		var shape []string
		for _, n := range d.st.chunk {
			shape = append(shape, fmt.Sprint(n))
		}

		s += " " + strings.Join(shape, "×")
	}

	for _, f := range d.st.filters {
		s += ", " + f.String()
	}

	return s
}

// Field returns a view of one field of a dataset of compounds, which reads
// like a dataset of that field alone. Attributes and shape are the dataset's.
func (d *Dataset) Field(name string) (*Dataset, error) {
	for _, m := range d.Type.Members {
		if m.Name == name {
			v := *d
			v.Path = d.Path + "." + name
			v.Type = m.Type
			v.field = d.field + m.Offset
			v.err = v.readable()

			return &v, nil
		}
	}

	names := make([]string, 0, len(d.Type.Members))
	for _, m := range d.Type.Members {
		names = append(names, m.Name)
	}

	return nil, &fault.Error{
		Place: "dataset " + d.Path,
		Found: fmt.Sprintf("no field %q among the fields [%s]", name, strings.Join(names, ", ")),
	}
}

// readable returns why numbers cannot be read, or nil.
func (d *Dataset) readable() error {
	if d.st != nil && d.st.why != nil {
		return about(d.st.why, "dataset "+d.Path)
	}

	if d.Type.conv == convNone {
		return &fault.Error{Place: "dataset " + d.Path, Found: "reading as numbers the " + d.Type.why, Err: errUnsupported}
	}

	return nil
}

type class int

const (
	compact class = iota
	contiguous
	chunked
	virtual
)

func (c class) String() string {
	return [...]string{"compact", "contiguous", "chunked", "virtual"}[c]
}

// Kinds of chunk indexes; those from 1 on are numbered as in the format.
const (
	indexBTree1 = iota
	indexSingle
	indexImplicit
	indexFixed
	indexExtensible
	indexBTree2
)

// pieceBytes is how much of a contiguous dataset is read at a time.
const pieceBytes = 1 << 18

// storage is where the elements of a dataset are. Contiguous and compact data
// are seen as chunks as well: pieces of whole rows that need no index.
type storage struct {
	object  string
	class   class
	dims    []uint64 // at least one axis
	max     []uint64
	esize   int
	fill    []byte // one element, nil: zeros
	addr    uint64 // of the data, or of the index
	data    []byte // of a compact dataset
	filters []filter
	why     error // it cannot be read

	chunk     []uint64 // the shape of a chunk
	stride    []uint64 // elements from one to the next along each axis of a chunk
	grid      []uint64 // chunks along each axis
	chunkSize int      // bytes
	index     int
	rawEdges  bool   // chunks that reach beyond the shape are not filtered
	oneSize   uint64 // indexSingle with filters: bytes stored
	oneMask   uint32
	oneKnown  bool
}

// dataset reads the description of a dataset. A contradiction is an error; an
// unknown feature becomes d.err.
func (w *walker) dataset(d *Dataset, ms []message) error {
	p := w.p
	st := &storage{object: "dataset " + d.Path, addr: undefined}
	d.st = st
	var haveType, haveSpace, external bool
	var s space
	var layout, fill, fillOld []byte
	refuse := func(err error) error {
		if errors.Is(err, errUnsupported) {
			if st.why == nil {
				st.why = err
			}
			return nil
		}

		return err
	}

	for _, m := range ms {
		switch m.kind {
		case msgDatatype, msgDataspace, msgFill, msgFillOld, msgLayout, msgFilters, msgExternal:
		default:
			continue
		}

		b, err := p.body(m)
		if err == nil {
			switch m.kind {
			case msgDatatype:
				d.Type, err = p.datatype(b)
				haveType = true
			case msgDataspace:
				s, err = p.dataspace(b)
				haveSpace = true
			case msgFill:
				fill, err = p.fillValue(b)
			case msgFillOld:
				c := p.cursor(b)
				fillOld = c.take(int(c.u32()))
			case msgLayout:
				layout = b
			case msgFilters:
				var why string
				if st.filters, why, err = p.filters(b); why != "" {
					err = p.unsupported(why)
				}

			case msgExternal:
				external = true
			}
		}

		if err := refuse(err); err != nil {
			return err
		}
	}

	if st.why == nil && (!haveType || !haveSpace || layout == nil) {
		return p.errorf(undefined, "datatype, dataspace or layout is missing in the header")
	}

	d.Dims, d.Null = s.dimsInt(), s.null

	st.dims, st.max = s.dims, s.max
	if len(st.dims) == 0 {
		st.dims, st.max = []uint64{1}, []uint64{1}
	}

	if s.null {
		st.dims, st.max = []uint64{0}, []uint64{0}
	}

	st.esize = max(d.Type.Size, 1)
	if st.fill = fill; fill == nil {
		st.fill = fillOld
	}

	if len(st.fill) == 0 {
		st.fill = nil
	} else if len(st.fill) != st.esize && haveType && d.Type.Size > 0 {
		return p.errorf(undefined, "the fill value has %d bytes, an element %d", len(st.fill), st.esize)
	}

	if external {
		if err := refuse(p.unsupported("storage in external files")); err != nil {
			return err
		}
	} else if layout != nil && haveType && haveSpace && d.Type.Size > 0 {
		if err := refuse(p.layout(st, layout, len(s.dims))); err != nil {
			return err
		}
	}

	d.err = d.readable()

	return nil
}

// fillValue reads a fill value message: nil if it sets none.
func (p *parser) fillValue(b []byte) ([]byte, error) {
	c := p.cursor(b)
	version := c.u8()

	var defined bool
	switch version {
	case 1, 2:
		c.skip(2)
		defined = c.u8() != 0 || version == 1 // in version 1 the size follows in any case
	case 3:
		defined = c.u8()&(1<<5) != 0
	default:
		return nil, p.unsupported(fmt.Sprintf("fill value version %d", version))
	}

	if !defined {
		return nil, nil
	}

	n := int32(c.u32())
	if n <= 0 {
		return nil, nil
	}

	v := c.take(int(n))

	if c.bad {
		return nil, p.errorf(undefined, "a fill value message is too short")
	}

	return v, nil
}

// layout reads a layout message; rank is the dataspace's.
func (p *parser) layout(st *storage, b []byte, rank int) error {
	c := p.cursor(b)
	var chunkRank int
	var err error

	width := 4 // bytes of a chunk's dimension
	switch version := int(c.u8()); version {
	case 1, 2:
		chunkRank, err = p.layout12(c, st)
	case 3, 4:
		chunkRank, width, err = p.layout34(c, st, version)
	default:
		err = p.unsupported(fmt.Sprintf("layout version %d", version))
	}

	switch {
	case err != nil:
		return err
	case c.bad:
		return p.errorf(undefined, "a layout message is too short")
	case st.class != chunked:
		return p.unchunked(st)
	case chunkRank != rank+1 || width < 1 || width > 8:
		return p.errorf(undefined, "chunks of %d axes for a dataset of %d", chunkRank-1, rank)
	}

	return p.chunks(c, st, rank, width)
}

// layout12 reads class and address of a layout message of version 1 or 2.
func (p *parser) layout12(c *cursor, st *storage) (chunkRank int, err error) {
	n := int(c.u8())
	kind := c.u8()
	c.skip(5)

	if kind > 2 {
		return 0, p.unsupported(fmt.Sprintf("layout class %d", kind))
	}

	st.class = class(kind)
	if st.class != compact {
		st.addr = c.addr()
	}

	if st.class == chunked {
		return n, nil
	}

	c.skip(4 * n)

	if st.class == compact {
		st.data = c.take(int(c.u32()))
	}

	return 0, nil
}

// layout34 reads class and address of a layout message of version 3 or 4. The
// index of the chunks of version 4 follows their shape.
func (p *parser) layout34(c *cursor, st *storage, version int) (chunkRank, width int, err error) {
	kind := c.u8()
	if kind > 3 || kind == 3 && version == 3 {
		return 0, 0, p.unsupported(fmt.Sprintf("layout class %d", kind))
	}

	st.class = class(kind)
	switch st.class {
	case compact:
		st.data = c.take(int(c.u16()))
	case contiguous:
		st.addr = c.addr()
		c.len()
	case virtual:
		return 0, 0, p.unsupported("the virtual layout (data in other files)")
	case chunked:
		if version == 3 {
			chunkRank = int(c.u8())
			st.addr = c.addr()
			return chunkRank, 4, nil
		}

		flags := c.u8()
		st.rawEdges = flags&1 != 0
		st.oneKnown = flags&2 != 0
		chunkRank = int(c.u8())
		width = int(c.u8())
		st.index = -1 // it follows
	}

	return chunkRank, width, nil
}

// unchunked checks that contiguous and compact data are there.
func (p *parser) unchunked(st *storage) error {
	if len(st.filters) > 0 {
		return p.errorf(undefined, "filters without chunks")
	}

	st.pieces()

	need := uint64(st.esize)
	for _, n := range st.dims {
		hi, lo := bits.Mul64(need, n)
		if hi != 0 {
			return p.errorf(undefined, "the elements do not fit the file")
		}

		need = lo
	}

	if st.class == compact && need > uint64(len(st.data)) {
		return p.errorf(undefined, "the elements take %d bytes and %d are stored", need, len(st.data))
	}

	if st.class == contiguous && st.addr != undefined && !p.within(st.addr, need) {
		return p.errorf(st.addr, "the elements take %d bytes, which reach beyond the end of the file", need)
	}

	return nil
}

// chunks reads the shape of the chunks and, in version 4, the kind of their index.
func (p *parser) chunks(c *cursor, st *storage, rank, width int) error {
	size := uint64(1)
	for range rank {
		n := c.uint(width)
		st.chunk = append(st.chunk, n)

		hi, lo := bits.Mul64(size, n)
		if n == 0 || hi != 0 {
			return p.errorf(undefined, "chunks of %d elements along an axis", n)
		}

		size = lo
	}

	esize := c.uint(width)

	if c.bad {
		return p.errorf(undefined, "a layout message is too short")
	}

	if rank == 0 || esize != uint64(st.esize) {
		return p.errorf(undefined, "chunks of elements of %d bytes, the datatype has %d", esize, st.esize)
	}

	hi, lo := bits.Mul64(size, esize)
	if hi != 0 || lo > math.MaxInt32 {
		return p.unsupported("a chunk of 2 GiB or more")
	}

	st.chunkSize = int(lo)
	st.shape()

	if st.index != -1 {
		return nil
	}

	st.index = int(c.u8())
	switch st.index {
	case indexSingle:
		if st.oneKnown {
			st.oneSize, st.oneMask = c.len(), c.u32()
		}

	case indexImplicit:
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexBTree2:
		c.skip(6)
	default:
		return p.unsupported(fmt.Sprintf("chunk index %d", st.index))
	}

	st.addr = c.addr()

	if c.bad {
		return p.errorf(undefined, "a layout message is too short")
	}

	return nil
}

// pieces cuts contiguous data into pieces of whole rows.
func (st *storage) pieces() {
	st.chunk = make([]uint64, len(st.dims))
	size := uint64(st.esize)

	full := true
	for i := len(st.dims) - 1; i >= 0; i-- {
		switch most := max(pieceBytes/size, 1); {
		case !full:
			st.chunk[i] = 1
		case st.dims[i] <= most:
			st.chunk[i] = max(st.dims[i], 1)
			size *= st.chunk[i]
		default:
			st.chunk[i] = most
			full = false
		}
	}

	st.shape()
}

// shape computes strides and grid.
func (st *storage) shape() {
	st.stride = make([]uint64, len(st.chunk))
	st.grid = make([]uint64, len(st.chunk))

	n := uint64(1)
	for i := len(st.chunk) - 1; i >= 0; i-- {
		st.stride[i] = n
		n *= st.chunk[i]
		st.grid[i] = (st.dims[i] + st.chunk[i] - 1) / st.chunk[i]
	}
}

// edge reports whether the chunk reaches beyond the shape.
func (st *storage) edge(at []uint64) bool {
	for i, a := range at {
		if (a+1)*st.chunk[i] > st.dims[i] {
			return true
		}
	}

	return false
}
