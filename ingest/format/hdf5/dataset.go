package hdf5

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
)

// Dataset is an array of the file.
type Dataset struct {
	Path string
	Attributes
	Type Type
	Dims []int64 // lengths of the axes, the slowest first; nil for a single value
	Null bool    // there are no elements and no shape

	src   source
	st    *storage
	field int   // offset of a field in an element of a compound, in bytes; 0 for a whole dataset
	err   error // why elements cannot be read as numbers; nil if they can
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

// inner returns one field of a dataset of compounds as a dataset. It has the attributes and the shape of d.
func (d *Dataset) inner(member Member) *Dataset {
	v := *d
	v.Path += "." + member.Name
	v.Type = member.Type
	v.field += member.Offset
	v.err = v.readable()

	return &v
}

// readable returns an error if elements cannot be read as numbers.
func (d *Dataset) readable() error {
	if d.st.why != nil {
		return about(d.st.why, "dataset "+d.Path)
	}

	if !d.Type.numeric {
		return &fault.Error{Place: "dataset " + d.Path, Found: "reading as numbers the " + d.Type.why, Err: errUnsupported}
	}

	return nil
}

// class says how the elements of a dataset are stored ("Data Layout Message").
type class int

const (
	compact    class = iota // in the header of the dataset
	contiguous              // one after the other
	chunked                 // in chunks, which an index finds
)

// String returns the name of a class for people.
func (c class) String() string { return [...]string{"compact", "contiguous", "chunked"}[c] }

// Kinds of indexes of chunks. Kinds from 1 on are numbered as in layout messages of version 4; layout messages of
// version 3 have only indexBTree1.
const (
	indexBTree1 = iota
	indexSingle
	indexImplicit
	indexFixed
	indexExtensible
	indexBTree2
)

// pieceBytes is the number of bytes of contiguous data that are read at a time.
const pieceBytes = 1 << 18

// storage says where the elements of a dataset are. Contiguous and compact data are treated as chunks too: pieces of
// whole rows, which need no index.
type storage struct {
	object  string // name of the dataset for errors
	class   class
	dims    []uint64 // lengths of the axes, at least one axis
	max     []uint64 // lengths to which the axes may grow; undefined if there is no limit
	esize   int      // bytes of an element, at least 1
	fill    []byte   // an element that was never written; nil for zeros
	addr    uint64   // of contiguous data, or of the index; undefined if nothing was written
	data    []byte   // compact data; nil for other classes
	filters []filter // in the order in which they were applied
	why     error    // why elements cannot be read; nil if they can

	chunk     []uint64 // lengths of the axes of a chunk
	stride    []uint64 // elements from one index to the next along each axis of a chunk
	grid      []uint64 // number of chunks along each axis
	chunkSize int      // bytes of a chunk without filters
	index     int      // kind of the index
	rawEdges  bool     // filters were not applied to chunks that reach beyond the shape

	// For indexSingle with filters, the index is in the layout message.
	oneKnown bool   // the following fields are set
	oneSize  uint64 // bytes of the chunk in the file
	oneMask  uint32 // a bit for each filter that was not applied
}

// dataset reads the attributes and the description of a dataset from the messages of its header. A contradiction is an
// error. Something that is not supported becomes the err of the dataset.
func (w *walker) dataset(dataset *Dataset, ms []message) (err error) {
	defer decode.Catch(&err)

	dataset.Attributes = w.attributes(ms)

	parser := w.p
	st := &storage{object: "dataset " + dataset.Path, addr: undefined, dims: []uint64{1}, max: []uint64{1}, esize: 1}
	dataset.st = st

	found, err := parser.description(dataset, ms)
	if err != nil {
		return err
	}

	layout := found[msgLayout]
	complete := found[msgDatatype] != nil && found[msgDataspace] != nil && layout != nil
	if st.why == nil && !complete {
		return parser.errorf(undefined, "datatype, dataspace or layout is missing in the header")
	}

	sized := dataset.Type.Size > 0
	if sized && st.fill != nil && len(st.fill) != dataset.Type.Size {
		return parser.errorf(undefined, "the fill value has %d bytes, an element %d", len(st.fill), dataset.Type.Size)
	}

	st.esize = max(dataset.Type.Size, 1)

	switch {
	case found[msgExternal] != nil:
		err = notSupported("storage in external files")
	case layout != nil && sized && found[msgDataspace] != nil:
		err = parser.layout(st, layout, len(dataset.Dims))
	}

	if err := st.refuse(err); err != nil {
		return err
	}

	dataset.err = dataset.readable()

	return nil
}

// refuse keeps the first error about something that is not supported as the reason why the dataset is not read, and
// returns nil. It returns other errors.
func (st *storage) refuse(err error) error {
	if !errors.Is(err, errUnsupported) {
		return err
	}

	if st.why == nil {
		st.why = err
	}

	return nil
}

// describing lists the kinds of messages that describe a dataset.
var describing = []uint16{msgDatatype, msgDataspace, msgFill, msgFilters, msgLayout, msgExternal}

// description reads the messages that describe a dataset into it, and returns their bodies by kind.
func (p *parser) description(dataset *Dataset, ms []message) (map[uint16][]byte, error) {
	found := map[uint16][]byte{}
	for _, msg := range ms {
		if !slices.Contains(describing, msg.kind) {
			continue
		}

		body, err := p.describe(dataset, msg)
		if err := dataset.st.refuse(err); err != nil {
			return nil, err
		}

		if body != nil {
			found[msg.kind] = body
		}
	}

	return found, nil
}

// describe reads a message that describes a dataset into it, and returns its body. It does not read the layout, which
// depends on all other messages.
func (p *parser) describe(dataset *Dataset, msg message) (body []byte, err error) {
	defer decode.Catch(&err)

	body = p.body(msg)

	switch msg.kind {
	case msgDatatype:
		dataset.Type = p.datatype(body)
	case msgDataspace:
		dataset.setSpace(p.dataspace(body))
	case msgFill:
		dataset.st.fill = p.fillValue(body)
	case msgFilters:
		p.filters(dataset.st, body)
	}

	return body, nil
}

// setSpace sets the shape of a dataset. Its storage has at least one axis, also for a single value.
func (d *Dataset) setSpace(s space) {
	d.Dims = s.dimsInt()
	d.Null = s.null

	d.st.dims = s.dims
	d.st.max = s.max

	switch {
	case s.null:
		d.st.dims = []uint64{0}
		d.st.max = []uint64{0}
	case len(s.dims) == 0:
		d.st.dims = []uint64{1}
		d.st.max = []uint64{1}
	}
}

// fillValue returns the fill value of a message ("Fill Value Message"), and nil if there is none.
func (p *parser) fillValue(b []byte) []byte {
	fields := p.message(b, "fill value")

	switch version := fields.u8(); version {
	case 1, 2:
		fields.skip(2)
		if fields.u8() == 0 && version == 2 { // in version 1 the size follows in any case
			return nil
		}
	case 3:
		if fields.u8()&(1<<5) == 0 { // the flag of a fill value
			return nil
		}
	default:
		unsupported("fill value version %d", version)
	}

	if n := int(int32(fields.u32())); n > 0 {
		return fields.take(n)
	}

	return nil
}

// layout reads a layout message into st ("Data Layout Message", versions 3 and 4). rank is the number of axes of the
// dataset.
func (p *parser) layout(st *storage, b []byte, rank int) (err error) {
	defer decode.Catch(&err)

	fields := p.message(b, "layout")

	version := int(fields.u8())
	kind := fields.u8()
	supported(version == 3 || version == 4, "layout version %d", version)

	supported(kind <= 2, "the virtual layout (data in other files)")

	st.class = class(kind)

	switch {
	case st.class == compact:
		st.data = fields.take(int(fields.u16()))
		p.unchunked(st)
	case st.class == contiguous:
		st.addr = fields.u64()
		fields.skip(8)
		p.unchunked(st)
	case version == 3:
		chunkRank := int(fields.u8())
		st.addr = fields.u64()
		p.chunks(fields, st, chunkRank, rank, 4)
	default:
		flags := fields.u8()
		st.rawEdges = flags&1 != 0
		st.oneKnown = flags&2 != 0
		chunkRank := int(fields.u8())
		p.chunks(fields, st, chunkRank, rank, int(fields.u8()))
		p.chunkIndex(fields, st)
	}

	return nil
}

// unchunked cuts contiguous or compact data into pieces. It raises an error if the data do not lie in the file.
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

// chunks reads the lengths of the axes of a chunk, in numbers of width bytes each, and the size of an element behind
// them. chunkRank is the stated number of these lengths, one more than rank, the number of axes of the dataset.
func (p *parser) chunks(fields *cursor, st *storage, chunkRank, rank, width int) {
	p.unless(chunkRank == rank+1 && width >= 1 && width <= 8, undefined,
		"chunks of %d axes for a dataset of %d", chunkRank-1, rank)

	size := uint64(1)
	for range rank {
		n := fields.uint(width)
		st.chunk = append(st.chunk, n)

		var ok bool
		size, ok = times(size, n)
		p.unless(ok && n > 0, undefined, "chunks of %d elements along an axis", n)
	}

	esize := fields.uint(width)
	p.unless(rank > 0 && esize == uint64(st.esize), undefined,
		"chunks of elements of %d bytes, the datatype has %d", esize, st.esize)

	bytes, ok := times(size, esize)
	supported(ok && bytes <= math.MaxInt32, "a chunk of 2 GiB or more")

	st.chunkSize = int(bytes)
	st.shape()
}

// chunkIndex reads the kind, the parameters and the address of the index of chunks in a layout message of version 4.
// The headers of the indexes repeat the parameters, so they are skipped.
func (p *parser) chunkIndex(fields *cursor, st *storage) {
	st.index = int(fields.u8())

	switch st.index {
	case indexSingle:
		if st.oneKnown {
			st.oneSize = fields.u64()
			st.oneMask = fields.u32()
		}
	case indexImplicit:
	case indexFixed:
		fields.skip(1)
	case indexExtensible:
		fields.skip(5)
	case indexBTree2:
		fields.skip(6)
	default:
		unsupported("chunk index %d", st.index)
	}

	st.addr = fields.u64()
}

// pieces cuts contiguous data into pieces of at most pieceBytes: along the fastest axes whole, along one axis as many
// indices as fit, and along the slower axes one index.
func (st *storage) pieces() {
	st.chunk = make([]uint64, len(st.dims))
	size := uint64(st.esize) // bytes of a piece

	full := true // the faster axes are whole
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

// shape computes the strides in a chunk and the grid of chunks.
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

// edge reports whether the chunk at a place in the grid reaches beyond the shape of the dataset.
func (st *storage) edge(place []uint64) bool {
	for i, x := range place {
		if (x+1)*st.chunk[i] > st.dims[i] {
			return true
		}
	}

	return false
}
