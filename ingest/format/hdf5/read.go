package hdf5

import (
	"container/list"
	"fmt"
	"math"

	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"

	"doubletake/ingest/fault"
)

// cacheBytes is the size of the cache of a file that is read, and the size of the largest chunk
// with filters in any file.
const (
	cacheBytes = 16 << 20
	maxChunk   = 16 << 20
)

// Cache holds chunks as they are after their filters, the least recently used
// leaving first: at most limit bytes, and one chunk however large. Readers of one goroutine
// may share one.
type Cache struct {
	limit int
	used  int
	order *list.List // of *cached, the latest in front
	byKey map[chunkKey]*list.Element
}

type chunkKey struct {
	st *storage
	no uint64
}

type cached struct {
	key  chunkKey
	data []byte // nil: the chunk was never written
}

// NewCache returns a cache of at most limit bytes.
func NewCache(limit int) *Cache {
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
		v := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byKey, v.key)
		c.used -= len(v.data) + entry
	}

	c.byKey[k] = c.order.PushFront(&cached{k, data})
	c.used += len(data) + entry
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

	window  raw.Window // of data without filters
	place   uint64     // address of the chunk placeNo
	placeNo uint64
	placeOK bool
	found   stored // the chunk looked up last
	fill    float64
}

// NewReader returns a Reader. cache may be shared with other Readers of the
// same goroutine.
func (d *Dataset) NewReader(cache *Cache) (*Reader, error) {
	// Four are held at most: in the cache, as it is stored and between two filters.
	if most := maxChunk + d.src.size; len(d.st.filters) > 0 && int64(d.st.chunkSize) > most {
		return nil, fault.At("", "", fmt.Sprintf("chunks of at most %d bytes, 16 MiB and the file's size", most),
			fmt.Sprint(d.st.chunkSize), "write it with smaller chunks: h5repack -l CHUNK=…")
	}

	r := &Reader{d: d, st: d.st, cache: cache, p: &parser{source: d.src}}
	if d.st.fill != nil && d.Type.numeric {
		r.fill = d.Type.float(d.st.fill[d.field:])
	}

	return r, nil
}

// ReadChannels reads time series. Axis is the one along which time runs; every
// combination of the other axes' indices is a channel, counted row-major from
// 0: of a shape (N, C) with axis 0, and of (C, N) with axis 1, channel c is the
// index c. dst[i] receives the samples of channels[i] from start on, which there are.
//
// All channels that lie together in the file are best read in one call.
func (r *Reader) ReadChannels(axis int, channels []int, start int64, dst [][]float64) (err error) {
	defer fault.Catch(&err)

	st, n := r.st, uint64(len(dst[0]))
	at, within := make([]uint64, len(st.dims)), make([]uint64, len(st.dims))

	row := st.stride[axis] * uint64(st.esize) // bytes from one sample to the next
	for done := uint64(0); done < n; {
		t := uint64(start) + done
		at[axis], within[axis] = t/st.chunk[axis], t%st.chunk[axis]

		run := min(st.chunk[axis]-within[axis], n-done)
		for k, ch := range channels {
			first := st.locate(uint64(ch), axis, at, within)

			// Whole rows, so that the next channel finds them there.
			lo := first / row * row
			data, off := r.fetch(at, lo, lo+run*row)

			out := dst[k][done : done+run]
			if data != nil {
				r.d.Type.floats(out, data[first-off+uint64(r.d.field):], int(row))
				continue
			}

			for i := range out {
				out[i] = r.fill
			}
		}

		done += run
	}

	return nil
}

// locate finds an element by its number, counted row-major over all axes but one (−1: over all):
// its chunk in the grid, the element within the chunk, and the byte where it begins there.
func (st *storage) locate(no uint64, but int, at, within []uint64) (first uint64) {
	for i := len(st.dims) - 1; i >= 0; i-- {
		if i != but {
			x := no % st.dims[i]
			no /= st.dims[i]
			at[i], within[i] = x/st.chunk[i], x%st.chunk[i]
		}

		first += within[i] * st.stride[i]
	}

	return first * uint64(st.esize)
}

// fetch returns data of the chunk at a place of the grid, nil if it was never
// written: all of it, or where there are no filters at least the bytes lo
// to hi. off is the byte of the chunk at which the result begins.
func (r *Reader) fetch(at []uint64, lo, hi uint64) (data []byte, off uint64) {
	st := r.st

	no := uint64(0)
	for i, a := range at {
		no = no*st.grid[i] + a
	}

	switch {
	case st.class != chunked:
		return r.fetchPiece(at, lo, hi)
	case len(st.filters) == 0:
		return r.fetchPlain(at, no, lo, hi)
	}

	key := chunkKey{st, no}
	data, ok := r.cache.get(key)
	if !ok {
		r.inChunk(at, func() { data = r.load(at) })
		r.cache.put(key, data)
	}

	return data, 0
}

// inChunk adds the chunk at a place of the grid, and its byte once it is found, to what do raises.
func (r *Reader) inChunk(at []uint64, do func()) {
	r.found = nowhere

	if err := fault.Try(do); err != nil {
		e := &fault.Error{Place: r.st.object, Found: fmt.Sprintf("chunk %v", at), Err: err}
		if r.found.addr <= uint64(r.p.size) {
			e.Place += fmt.Sprintf(", byte %d", r.p.base+int64(r.found.addr))
		}

		fault.Raise(e)
	}
}

// find looks a chunk up.
func (r *Reader) find(at []uint64) stored {
	r.p.left = math.MaxInt64 // a lookup reads one way from the root only
	if r.index == nil {
		r.index = newIndex(r.p, r.st)
	}

	s := r.index(at)
	if r.found = s; s.addr != undefined && !r.p.within(s.addr, s.size) {
		fault.Raise(fmt.Errorf("its %d bytes reach beyond the end of the file", s.size))
	}

	return s
}

// whole raises an error where what is stored of a chunk without filters is not all of it.
func (r *Reader) whole(s stored) {
	if s.addr != undefined && s.size != uint64(r.st.chunkSize) {
		fault.Raise(fmt.Errorf("it has %d bytes and should have %d", s.size, r.st.chunkSize))
	}
}

// fetchPlain reads bytes lo to hi of a chunk without filters. Only the last
// reading is kept: the operating system caches the rest.
func (r *Reader) fetchPlain(at []uint64, no, lo, hi uint64) ([]byte, uint64) {
	if !r.placeOK || r.placeNo != no {
		r.placeOK = false
		r.inChunk(at, func() { r.whole(r.find(at)) })
		r.place, r.placeNo, r.placeOK = r.found.addr, no, true
	}

	if r.place == undefined {
		return nil, 0
	}

	return r.span(r.place, lo, min(hi, uint64(r.st.chunkSize)))
}

// load reads a chunk and undoes its filters.
func (r *Reader) load(at []uint64) []byte {
	st, s := r.st, r.find(at)
	if s.addr == undefined {
		return nil
	}

	mask := s.mask
	if st.rawEdges && st.edge(at) {
		mask = math.MaxUint32
	}

	if all := uint32(1<<len(st.filters) - 1); mask&all == all {
		r.whole(s)
	}

	b := make([]byte, s.size)
	r.p.readAt(b, s.addr)

	return fault.Get(r.undo(st.filters, mask, b, st.chunkSize, st.esize))
}

// fetchPiece reads bytes lo to hi of a piece of contiguous or compact data.
func (r *Reader) fetchPiece(at []uint64, lo, hi uint64) ([]byte, uint64) {
	st := r.st

	origin, end := uint64(0), uint64(1)
	for i, a := range at {
		begin := a * st.chunk[i]
		origin = origin*st.dims[i] + begin
		end += (min(st.chunk[i], st.dims[i]-begin) - 1) * st.stride[i]
	}

	origin *= uint64(st.esize)

	hi = min(hi, end*uint64(st.esize)) // the last piece of an axis is shorter

	switch {
	case st.class == compact:
		return st.data[origin+lo : origin+hi], lo
	case st.addr == undefined:
		return nil, 0
	}

	return r.span(st.addr+origin, lo, hi)
}

// span reads bytes lo to hi of the piece or chunk at addr.
func (r *Reader) span(addr, lo, hi uint64) (b []byte, off uint64) {
	in(r.st.object, func() {
		r.p.unless(r.p.within(addr+lo, hi-lo), addr, "%d bytes at address %d reach beyond the end of the file", hi-lo,
			addr+lo)

		var err error

		at := r.p.base + int64(addr+lo)
		if b, err = r.window.Bytes(nil, r.p.r, at, int64(hi-lo), 0); err != nil {
			fault.Raise(atByte(at, "cannot read", err))
		}
	})

	return b, lo
}

// maxStrings bounds the elements ReadStrings returns.
const maxStrings = 1 << 20

// ReadStrings returns all elements of a dataset of strings, the last axis
// running fastest: meant for tables of names, not for bulk data.
func (d *Dataset) ReadStrings() (out []string, err error) {
	heaps := globalHeaps{}
	err = d.elements(func(p *parser, b []byte) { out = append(out, p.strings(heaps, &d.Type, b, 1)...) })

	return out, err
}

// floats returns all elements of a small dataset of numbers.
func (d *Dataset) floats() ([]float64, error) {
	x := make([]float64, 0, 1)
	err := d.elements(func(_ *parser, b []byte) { x = append(x, d.Type.float(b)) })

	return x, err
}

// ReadReferences returns what the elements of a dataset of object references
// point to: *Group, *Dataset or nil. MATLAB stores the cells of a cell array so.
func (f *File) ReadReferences(d *Dataset) (out []any, err error) {
	err = d.elements(func(p *parser, b []byte) {
		addr := p.cursor(b, undefined, "a reference is too short").u64()
		o, ok := f.objects[addr]
		p.unless(ok || addr == 0 || addr == undefined, addr,
			"a reference to address %d, where no object of the file's groups is", addr)
		out = append(out, o)
	})

	return out, err
}

// elements calls visit with the bytes of every element.
func (d *Dataset) elements(visit func(p *parser, b []byte)) error {
	return about(fault.Try(func() {
		fault.Raise(d.st.why)

		n := d.Elements()
		supported(n <= maxStrings, "reading %d elements that are no numbers", n)

		st, r := d.st, fault.Get(d.NewReader(NewCache(cacheBytes)))
		p := &parser{source: d.src, left: 16*d.src.size + 1<<20}
		at, within := make([]uint64, len(st.dims)), make([]uint64, len(st.dims))

		var zero []byte

		for i := range uint64(n) {
			first := st.locate(i, -1, at, within)
			data, off := r.fetch(at, first, first+uint64(st.esize))

			switch {
			case data != nil:
				data = data[first-off+uint64(d.field):]
			case st.fill != nil:
				data = st.fill[d.field:]
			default: // an element without data; its size is what the file claims
				if zero == nil {
					p.charge(int64(d.Type.Size))
					zero = make([]byte, d.Type.Size)
				}

				data = zero
			}

			visit(p, data[:d.Type.Size])
		}
	}), "dataset "+d.Path)
}
