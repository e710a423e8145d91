package hdf5

import (
	"container/list"
	"fmt"
	"io"
	"math"

	"doubletake/ingest/format/internal/inflate"

	"doubletake/ingest/fault"
)

// DefaultCache is the size in bytes of the cache of a Reader that is given none.
const DefaultCache = 16 << 20

// maxChunk is the largest chunk with filters of any file, in bytes.
const maxChunk = 16 << 20

// Cache holds chunks as they are after their filters, the least recently used
// leaving first. Readers of one goroutine may share one.
type Cache struct {
	limit int
	used  int
	order *list.List // of *cached, the latest in front
	byKey map[chunkKey]*list.Element
	free  [][]byte
	left  int // chunks that have left: their bytes may be others' by now
}

type chunkKey struct {
	st *storage
	no uint64
}

type cached struct {
	key  chunkKey
	data []byte // nil: the chunk was never written
}

// NewCache returns a cache of at most limit bytes; one chunk is held in any
// case, however large. limit ≤ 0 means DefaultCache.
func NewCache(limit int) *Cache {
	if limit <= 0 {
		limit = DefaultCache
	}
	return &Cache{limit: limit, order: list.New(), byKey: map[chunkKey]*list.Element{}}
}

func (c *Cache) get(k chunkKey) ([]byte, bool) {
	e, ok := c.byKey[k]
	if !ok {
		return nil, false
	}

	c.order.MoveToFront(e)

	return e.Value.(*cached).data, true
}

func (c *Cache) put(k chunkKey, data []byte) {
	const entry = 128 // bytes of administration
	for c.order.Len() > 0 && c.used+len(data)+entry > c.limit {
		e := c.order.Back()
		v := c.order.Remove(e).(*cached)
		delete(c.byKey, v.key)
		c.used -= len(v.data) + entry
		c.left++
		c.recycle(v.data)
	}

	c.byKey[k] = c.order.PushFront(&cached{k, data})
	c.used += len(data) + entry
}

// buffer returns n bytes of any content.
func (c *Cache) buffer(n int) []byte {
	for i, b := range c.free {
		if cap(b) >= n && cap(b) <= 2*n+4096 {
			c.free = append(c.free[:i], c.free[i+1:]...)
			return b[:n]
		}
	}

	return make([]byte, n)
}

// recycle takes back a buffer nobody uses any more.
func (c *Cache) recycle(b []byte) {
	if cap(b) == 0 {
		return
	}

	if len(c.free) == 2 {
		c.free[0] = c.free[1]
		c.free = c.free[:1]
	}

	c.free = append(c.free, b)
}

// Reader reads numbers of one dataset. It belongs to one goroutine at a time;
// any number of Readers may work on one File.
type Reader struct {
	d     *Dataset
	st    *storage
	cache *Cache
	p     *parser
	index chunkIndex

	inflater *inflate.Reader // made when the first chunk asks for it

	lastNo   uint64 // the chunk read last
	lastOK   bool
	lastData []byte
	lastLeft int    // Cache.left when it was read
	piece    []byte // of data without filters: bytes lo to hi of chunk lastNo
	lo, hi   uint64
	place    uint64 // address of the chunk placeNo
	placeNo  uint64
	placeOK  bool
	fill     float64
}

// NewReader returns a Reader. cache may be shared with other Readers of the
// same goroutine; nil gives it one of its own of DefaultCache bytes.
func (d *Dataset) NewReader(cache *Cache) (*Reader, error) {
	if d.err != nil {
		return nil, d.err
	}

	return d.reader(cache)
}

func (d *Dataset) reader(cache *Cache) (*Reader, error) {
	// Four are held at most: in the cache, as it is stored and between two filters.
	if most := maxChunk + d.src.size; len(d.st.filters) > 0 && int64(d.st.chunkSize) > most {
		return nil, &fault.Error{
			Want: fmt.Sprintf("chunks of at most %d bytes, 16 MiB and the file's size", most), Found: fmt.Sprint(d.st.chunkSize),
			Hint: "write it with smaller chunks: h5repack -l CHUNK=…",
		}
	}

	if cache == nil {
		cache = NewCache(0)
	}

	r := &Reader{d: d, st: d.st, cache: cache, p: &parser{source: d.src}}
	if d.st.fill != nil && d.Type.Numeric() {
		r.fill = d.Type.float(d.st.fill[d.field:])
	}

	return r, nil
}

// ReadChannels reads time series. Axis is the one along which time runs; every
// combination of the other axes' indices is a channel, counted row-major from
// 0: of a shape (N, C) with axis 0, and of (C, N) with axis 1, channel c is the
// index c. dst[i] receives the samples of channels[i] from start on; all dst[i]
// have one length. It returns the number of samples read per channel, fewer
// than asked only at the end, then with io.EOF.
//
// All channels that lie together in the file are best read in one call. It
// panics if its arguments do not fit the shape.
func (r *Reader) ReadChannels(axis int, channels []int, start int64, dst [][]float64) (int, error) {
	st := r.st
	if axis < 0 || axis >= len(st.dims) || len(channels) != len(dst) || start < 0 {
		panic("hdf5: axis, channels, start and dst do not fit the dataset")
	}

	if len(channels) == 0 || len(dst[0]) == 0 {
		return 0, nil
	}

	total := int64(1)
	for i, n := range st.dims {
		if i != axis {
			total *= int64(n)
		}
	}

	for i, c := range channels {
		if c < 0 || int64(c) >= total || len(dst[i]) != len(dst[0]) {
			panic("hdf5: axis, channels, start and dst do not fit the dataset")
		}
	}

	if uint64(start) >= st.dims[axis] {
		return 0, io.EOF
	}

	n := min(uint64(len(dst[0])), st.dims[axis]-uint64(start))
	at, within := make([]uint64, len(st.dims)), make([]uint64, len(st.dims))

	row := st.stride[axis] * uint64(st.esize) // bytes from one sample to the next
	for done := uint64(0); done < n; {
		t := uint64(start) + done
		at[axis] = t / st.chunk[axis]
		within[axis] = t % st.chunk[axis]
		run := min(st.chunk[axis]-within[axis], n-done)
		for k, ch := range channels {
			c := uint64(ch)
			for i := len(st.dims) - 1; i >= 0; i-- {
				if i == axis {
					continue
				}

				x := c % st.dims[i]
				c /= st.dims[i]
				at[i], within[i] = x/st.chunk[i], x%st.chunk[i]
			}

			first := uint64(0)
			for i, w := range within {
				first += w * st.stride[i]
			}

			first *= uint64(st.esize)

			// Whole rows, so that the next channel finds them there.
			lo := first / row * row
			hi := lo + run*row
			data, off, err := r.fetch(at, lo, hi)
			if err != nil {
				return 0, err
			}

			out := dst[k][done : done+run]
			if data == nil {
				r.fillUp(out)
				continue
			}

			r.d.Type.floats(out, data[first-off+uint64(r.d.field):], int(row))
		}

		done += run
	}

	if n < uint64(len(dst[0])) {
		return int(n), io.EOF
	}

	return int(n), nil
}

func (r *Reader) fillUp(dst []float64) {
	for i := range dst {
		dst[i] = r.fill
	}
}

// fetch returns data of the chunk at a place of the grid, nil if it was never
// written: all of it, or of a piece of contiguous data at least the bytes lo
// to hi. off is the byte of the chunk at which the result begins.
func (r *Reader) fetch(at []uint64, lo, hi uint64) (data []byte, off uint64, err error) {
	st := r.st

	no := uint64(0)
	for i, a := range at {
		no = no*st.grid[i] + a
	}

	switch {
	case st.class != chunked:
		return r.fetchPiece(at, no, lo, hi)
	case len(st.filters) == 0:
		return r.fetchPlain(at, no, lo, hi)
	case r.lastOK && r.lastNo == no && r.lastLeft == r.cache.left:
		return r.lastData, 0, nil
	}

	key := chunkKey{st, no}
	data, ok := r.cache.get(key)
	if !ok {
		r.lastOK = false // its data may leave the cache

		var s stored
		if data, s, err = r.load(at); err != nil {
			return nil, 0, r.chunkError(at, s, err)
		}

		r.cache.put(key, data)
	}

	r.lastNo, r.lastData, r.lastOK, r.lastLeft = no, data, true, r.cache.left

	return data, 0, nil
}

func (r *Reader) chunkError(at []uint64, s stored, err error) error {
	e := &fault.Error{Place: r.st.object, Found: fmt.Sprintf("chunk %v", at), Err: err}
	if s.addr != undefined && s.addr <= uint64(r.p.size) {
		e.Place += fmt.Sprintf(", byte %d", r.p.base+int64(s.addr))
	}

	return e
}

// find looks a chunk up.
func (r *Reader) find(at []uint64) (stored, error) {
	r.p.left = math.MaxInt64 // a lookup reads one way from the root only
	if r.index == nil {
		x, err := newIndex(r.p, r.st)
		if err != nil {
			return nowhere, err
		}

		r.index = x
	}

	s, err := r.index.find(at)
	if err != nil || s.addr == undefined {
		return nowhere, err
	}

	if !r.p.within(s.addr, s.size) {
		return s, fmt.Errorf("its %d bytes reach beyond the end of the file", s.size)
	}

	return s, nil
}

// fetchPlain reads bytes lo to hi of a chunk without filters. Only the last
// reading is kept: the operating system caches the rest.
func (r *Reader) fetchPlain(at []uint64, no, lo, hi uint64) ([]byte, uint64, error) {
	if !r.placeOK || r.placeNo != no {
		r.placeOK = false
		s, err := r.find(at)
		if err == nil && s.addr != undefined && s.size != uint64(r.st.chunkSize) {
			err = fmt.Errorf("it has %d bytes and should have %d", s.size, r.st.chunkSize)
		}

		if err != nil {
			return nil, 0, r.chunkError(at, s, err)
		}

		r.place, r.placeNo, r.placeOK = s.addr, no, true
	}

	if r.place == undefined {
		return nil, 0, nil
	}

	return r.span(r.place, no, lo, min(hi, uint64(r.st.chunkSize)))
}

// load reads a chunk and undoes its filters.
func (r *Reader) load(at []uint64) ([]byte, stored, error) {
	st := r.st

	s, err := r.find(at)
	if err != nil || s.addr == undefined {
		return nil, s, err
	}

	mask := s.mask
	if st.rawEdges && st.edge(at) {
		mask = math.MaxUint32
	}

	plain := true
	for i := range st.filters {
		plain = plain && mask&(1<<i) != 0
	}

	if plain && s.size != uint64(st.chunkSize) {
		return nil, s, fmt.Errorf("it has %d bytes and should have %d", s.size, st.chunkSize)
	}

	raw := r.cache.buffer(int(s.size))
	if err := r.p.readAt(raw, s.addr); err != nil {
		return nil, s, err
	}

	data, err := r.undo(st.filters, mask, raw, st.chunkSize, st.esize)

	return data, s, err
}

func (r *Reader) buffer(n int) []byte { return r.cache.buffer(n) }
func (r *Reader) recycle(b []byte)    { r.cache.recycle(b) }

// fetchPiece reads bytes lo to hi of a piece of contiguous or compact data.
func (r *Reader) fetchPiece(at []uint64, no, lo, hi uint64) ([]byte, uint64, error) {
	st := r.st

	origin, end := uint64(0), uint64(1)
	for i, a := range at {
		begin := a * st.chunk[i]
		origin = origin*st.dims[i] + begin
		end += (min(st.chunk[i], st.dims[i]-begin) - 1) * st.stride[i]
	}

	origin *= uint64(st.esize)

	hi = min(hi, end*uint64(st.esize)) // the last piece of an axis is shorter
	if st.class == compact {
		return st.data[origin+lo : origin+hi], lo, nil
	}

	if st.addr == undefined {
		return nil, 0, nil
	}

	return r.span(st.addr+origin, no, lo, hi)
}

// span reads bytes lo to hi of the piece or chunk at addr, unless they are
// there from the last time.
func (r *Reader) span(addr, no, lo, hi uint64) ([]byte, uint64, error) {
	if r.lastOK && r.lastNo == no && r.lo <= lo && hi <= r.hi {
		return r.piece, r.lo, nil
	}

	r.lastOK = false
	if uint64(cap(r.piece)) < hi-lo {
		r.piece = make([]byte, hi-lo)
	}

	r.piece = r.piece[:hi-lo]
	if err := r.p.readAt(r.piece, addr+lo); err != nil {
		return nil, 0, about(err, r.st.object)
	}

	r.lastNo, r.lo, r.hi, r.lastOK = no, lo, hi, true

	return r.piece, lo, nil
}

// maxStrings bounds the elements ReadStrings returns.
const maxStrings = 1 << 20

// ReadStrings returns all elements of a dataset of strings, the last axis
// running fastest: meant for tables of names, not for bulk data.
func (d *Dataset) ReadStrings() ([]string, error) {
	isText := d.Type.Class == String || d.Type.Class == Sequence && d.Type.base != nil && d.Type.base.Class == String
	if !isText {
		return nil, &fault.Error{
			Place: "dataset " + d.Path, Found: "reading as text the datatype " + d.Type.String(),
			Err: errUnsupported,
		}
	}

	var out []string
	heaps := globalHeaps{}
	err := d.elements(func(p *parser, b []byte) error {
		s, err := p.strings(heaps, &d.Type, b, 1)
		out = append(out, s...)
		return err
	})

	return out, err
}

// floats returns all elements of a small dataset of numbers.
func (d *Dataset) floats() ([]float64, error) {
	x := make([]float64, 0, 1)
	err := d.elements(func(_ *parser, b []byte) error {
		x = append(x, d.Type.float(b))
		return nil
	})

	return x, err
}

// ReadReferences returns what the elements of a dataset of object references
// point to: *Group, *Dataset or nil. MATLAB stores the cells of a cell array so.
func (f *File) ReadReferences(d *Dataset) ([]any, error) {
	if !d.Type.objectRef {
		return nil, &fault.Error{
			Place: "dataset " + d.Path, Found: "reading as references the datatype " + d.Type.String(),
			Err: errUnsupported,
		}
	}

	var out []any
	err := d.elements(func(p *parser, b []byte) error {
		c := p.cursor(b)
		addr := c.addr()
		o, ok := f.objects[addr]
		if !ok && addr != 0 && addr != undefined {
			return p.errorf(addr, "a reference to address %d, where no object of the file's groups is", addr)
		}

		out = append(out, o)

		return nil
	})

	return out, err
}

// elements calls visit with the bytes of every element.
func (d *Dataset) elements(visit func(p *parser, b []byte) error) error {
	if d.st.why != nil {
		return about(d.st.why, "dataset "+d.Path)
	}

	n := d.Elements()
	if n > maxStrings {
		return &fault.Error{
			Place: "dataset " + d.Path, Found: fmt.Sprintf("reading %d elements that are no numbers", n),
			Err: errUnsupported,
		}
	}

	st := d.st

	r, err := d.reader(nil)
	if err != nil {
		return about(err, "dataset "+d.Path)
	}

	p := &parser{source: d.src, left: 16*d.src.size + 1<<20}
	rank := len(st.dims)
	at := make([]uint64, rank)

	var zero []byte
	for i := range uint64(n) {
		pos, first := i, uint64(0)
		for k := rank - 1; k >= 0; k-- {
			x := pos % st.dims[k]
			pos /= st.dims[k]
			at[k] = x / st.chunk[k]
			first += x % st.chunk[k] * st.stride[k]
		}

		first *= uint64(st.esize)
		data, off, err := r.fetch(at, first, first+uint64(st.esize))
		if err != nil {
			return err
		}

		var b []byte
		switch {
		case data != nil:
			b = data[first-off+uint64(d.field):]
		case st.fill != nil:
			b = st.fill[d.field:]
		default: // an element without data; its size is what the file claims
			if zero == nil {
				if err := p.charge(int64(d.Type.Size)); err != nil {
					return about(err, "dataset "+d.Path)
				}

				zero = make([]byte, d.Type.Size)
			}

			b = zero
		}

		if err := visit(p, b[:d.Type.Size]); err != nil {
			return about(err, "dataset "+d.Path)
		}
	}

	return nil
}
