package hdf5

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"doubletake/ingest/fault"
)

// Dataset is an array of the file.
type Dataset struct {
	Path string
	Attributes
	Type Type
	Dims []int64 // the shape, slowest axis first; nil for a single value
	Null bool    // it has no elements and no shape

	src   source
	st    *storage
	field int   // byte of this field within an element of a compound
	err   error // why no numbers can be read
}

// Elements returns the number of elements.
func (d *Dataset) Elements() int64 {
	n := int64(1)
	for _, x := range d.st.dims {
		n *= int64(x)
	}

	return n
}

// Layout describes how the elements are stored, for people: "contiguous",
// "chunked 1×1024, shuffle, deflate", …
func (d *Dataset) Layout() string {
	s := d.st.class.String()
	if d.st.class == chunked {
		s += " " + strings.ReplaceAll(strings.Trim(fmt.Sprint(d.st.chunk), "[]"), " ", "×")
	}

	for _, f := range d.st.filters {
		s += ", " + f.String()
	}

	return s
}

// inner returns a view of one field of a dataset of compounds, which reads
// like a dataset of that field alone. Attributes and shape are the dataset's.
func (d *Dataset) inner(m Member) *Dataset {
	v := *d
	v.Path, v.Type, v.field = d.Path+"."+m.Name, m.Type, d.field+m.Offset
	v.err = v.readable()

	return &v
}

// readable returns why numbers cannot be read, or nil.
func (d *Dataset) readable() error {
	if d.st.why != nil {
		return about(d.st.why, "dataset "+d.Path)
	}

	if !d.Type.numeric {
		return &fault.Error{Place: "dataset " + d.Path, Found: "reading as numbers the " + d.Type.why, Err: errUnsupported}
	}

	return nil
}

type class int

const (
	compact class = iota
	contiguous
	chunked
)

func (c class) String() string { return [...]string{"compact", "contiguous", "chunked"}[c] }

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
func (w *walker) dataset(d *Dataset, ms []message) {
	p := w.p
	st := &storage{object: "dataset " + d.Path, addr: undefined, dims: []uint64{1}, max: []uint64{1}, esize: 1}
	d.st = st

	found := p.description(d, ms)
	p.unless(st.why != nil || found[msgDatatype] != nil && found[msgDataspace] != nil && found[msgLayout] != nil,
		undefined, "datatype, dataspace or layout is missing in the header")

	sized := d.Type.Size > 0
	p.unless(!sized || st.fill == nil || len(st.fill) == d.Type.Size, undefined,
		"the fill value has %d bytes, an element %d", len(st.fill), d.Type.Size)
	st.esize = max(d.Type.Size, 1)

	st.refuse(func() {
		switch layout := found[msgLayout]; {
		case found[msgExternal] != nil:
			unsupported("storage in external files")
		case layout != nil && sized && found[msgDataspace] != nil:
			p.layout(st, layout, len(d.Dims))
		}
	})

	d.err = d.readable()
}

// refuse keeps what do does not support as the reason why a dataset is not read.
func (st *storage) refuse(do func()) {
	err := fault.Try(do)
	if !errors.Is(err, errUnsupported) {
		fault.Raise(err)
	} else if st.why == nil {
		st.why = err
	}
}

// description reads the messages that describe a dataset and returns them by kind.
func (p *parser) description(d *Dataset, ms []message) map[uint16][]byte {
	st, found := d.st, map[uint16][]byte{}
	read := map[uint16]func(b []byte){
		msgDatatype: func(b []byte) { d.Type = p.datatype(b) },
		msgDataspace: func(b []byte) {
			s := p.dataspace(b)
			d.Dims, d.Null = s.dimsInt(), s.null

			if st.dims, st.max = s.dims, s.max; s.null {
				st.dims, st.max = []uint64{0}, []uint64{0}
			} else if len(s.dims) == 0 {
				st.dims, st.max = []uint64{1}, []uint64{1}
			}
		},
		msgFill:     func(b []byte) { st.fill = p.fillValue(b) },
		msgFilters:  func(b []byte) { p.filters(st, b) },
		msgLayout:   func([]byte) {}, // once the others are known
		msgExternal: func([]byte) {},
	}

	for _, m := range ms {
		if read[m.kind] != nil {
			st.refuse(func() {
				found[m.kind] = p.body(m)
				read[m.kind](found[m.kind])
			})
		}
	}

	return found
}

// fillValue reads a fill value message: nil if it sets none.
func (p *parser) fillValue(b []byte) []byte {
	c := p.message(b, "fill value")

	switch version := c.u8(); version {
	case 1, 2:
		c.skip(2)
		if c.u8() == 0 && version == 2 { // in version 1 the size follows in any case
			return nil
		}
	case 3:
		if c.u8()&(1<<5) == 0 {
			return nil
		}
	default:
		unsupported("fill value version %d", version)
	}

	if n := int(int32(c.u32())); n > 0 {
		return c.take(n)
	}

	return nil
}

// layout reads a layout message; rank is the dataspace's.
func (p *parser) layout(st *storage, b []byte, rank int) {
	c := p.message(b, "layout")

	version, kind := int(c.u8()), c.u8()
	supported(version == 3 || version == 4, "layout version %d", version)

	supported(kind <= 2, "the virtual layout (data in other files)")

	switch st.class = class(kind); {
	case st.class == compact:
		st.data = c.take(int(c.u16()))
		p.unchunked(st)
	case st.class == contiguous:
		st.addr = c.u64()
		c.skip(8)
		p.unchunked(st)
	case version == 3:
		chunkRank := int(c.u8())
		st.addr = c.u64()
		p.chunks(c, st, chunkRank, rank, 4)
	default:
		flags := c.u8()
		st.rawEdges = flags&1 != 0
		st.oneKnown = flags&2 != 0
		chunkRank := int(c.u8())
		p.chunks(c, st, chunkRank, rank, int(c.u8()))
		p.chunkIndex(c, st)
	}
}

// unchunked checks that contiguous and compact data are there.
func (p *parser) unchunked(st *storage) {
	p.unless(len(st.filters) == 0, undefined, "filters without chunks")
	st.pieces()

	need := uint64(st.esize)
	for _, n := range st.dims {
		var ok bool
		need, ok = times(need, n)
		p.unless(ok, undefined, "the elements do not fit the file")
	}

	p.unless(st.class != compact || need <= uint64(len(st.data)), undefined,
		"the elements take %d bytes and %d are stored", need, len(st.data))
	p.unless(st.class != contiguous || st.addr == undefined || p.within(st.addr, need), st.addr,
		"the elements take %d bytes, which reach beyond the end of the file", need)
}

// chunks reads the shape of the chunks, in numbers of width bytes.
func (p *parser) chunks(c *cursor, st *storage, chunkRank, rank, width int) {
	p.unless(chunkRank == rank+1 && width >= 1 && width <= 8, undefined,
		"chunks of %d axes for a dataset of %d", chunkRank-1, rank)

	size := uint64(1)
	for range rank {
		n := c.uint(width)
		st.chunk = append(st.chunk, n)

		var ok bool
		size, ok = times(size, n)
		p.unless(ok && n > 0, undefined, "chunks of %d elements along an axis", n)
	}

	esize := c.uint(width)
	p.unless(rank > 0 && esize == uint64(st.esize), undefined,
		"chunks of elements of %d bytes, the datatype has %d", esize, st.esize)

	bytes, ok := times(size, esize)
	supported(ok && bytes <= math.MaxInt32, "a chunk of 2 GiB or more")

	st.chunkSize = int(bytes)
	st.shape()
}

// chunkIndex reads the kind of the index of chunks, which version 4 states, and its address.
func (p *parser) chunkIndex(c *cursor, st *storage) {
	st.index = int(c.u8())

	switch st.index {
	case indexSingle:
		if st.oneKnown {
			st.oneSize, st.oneMask = c.u64(), c.u32()
		}
	case indexImplicit:
	case indexFixed:
		c.skip(1)
	case indexExtensible:
		c.skip(5)
	case indexBTree2:
		c.skip(6)
	default:
		unsupported("chunk index %d", st.index)
	}

	st.addr = c.u64()
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
