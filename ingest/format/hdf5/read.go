package hdf5

import (
	"container/list"
	"fmt"
	"math"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
)

const (
	cacheBytes = 16 << 20 // bytes of the cache of a recording
	maxChunk   = 16 << 20 // bytes of a chunk with filters that any file may have
)

// Cache keeps chunks whose filters were undone. It keeps at most limit bytes, or one chunk if that is larger, and
// drops the least recently used chunk first. Readers of one goroutine may share a Cache.
type Cache struct {
	limit int
	used  int        // bytes that are kept
	order *list.List // of *cached, the most recently used in front
	byKey map[chunkKey]*list.Element
}

// chunkKey names a chunk of a dataset.
type chunkKey struct {
	st     *storage
	number uint64 // of the chunk in the grid, row-major
}

// cached is a chunk in a cache.
type cached struct {
	key  chunkKey
	data []byte // nil if the chunk was never written
}

// NewCache returns a cache of at most limit bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, order: list.New(), byKey: map[chunkKey]*list.Element{}}
}

// get returns the data of a chunk. It returns false if the cache does not have the chunk.
func (c *Cache) get(k chunkKey) ([]byte, bool) {
	e, ok := c.byKey[k]
	if !ok {
		return nil, false
	}

	c.order.MoveToFront(e)

	return e.Value.(*cached).data, true
}

// put adds a chunk and drops others until there is room for it.
func (c *Cache) put(k chunkKey, data []byte) {
	const entry = 128 // estimate of the bytes that the list and the map take for a chunk
	for c.order.Len() > 0 && c.used+len(data)+entry > c.limit {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byKey, oldest.key)
		c.used -= len(oldest.data) + entry
	}

	c.byKey[k] = c.order.PushFront(&cached{k, data})
	c.used += len(data) + entry
}

// Reader reads the numbers of a dataset. It belongs to one goroutine at a time. Any number of Readers may work on one
// File.
//
// Chunks with filters are read as a whole, their filters are undone (load), and the cache keeps them. Of other data,
// only the bytes that are needed are read (fetchPlain, fetchPiece), and the window keeps the last ones.
type Reader struct {
	d     *Dataset
	st    *storage
	cache *Cache
	p     *parser
	index chunkIndex // nil before the first lookup

	inflater *inflate.Reader // nil before the first chunk that is compressed by deflate

	window raw.Window // bytes of data without filters that were read last
	plain  plainChunk // the chunk without filters that was looked up last
	found  stored     // the chunk that was looked up last, for errors
	fill   float64    // value of elements that were never written
}

// plainChunk is a chunk without filters.
type plainChunk struct {
	known  bool   // the other fields are set
	number uint64 // of the chunk in the grid, row-major
	addr   uint64 // undefined if the chunk was never written
}

// NewReader returns a Reader of the numbers of a dataset. Other Readers of the same goroutine may share the cache.
// NewReader returns an error if the dataset has chunks with filters that are too large.
func (d *Dataset) NewReader(cache *Cache) (*Reader, error) {
	// At most four chunks are in memory: one in the cache, one as it is stored and two between filters.
	if most := maxChunk + d.src.size; len(d.st.filters) > 0 && int64(d.st.chunkSize) > most {
		return nil, fault.At("", "", fmt.Sprintf("chunks of at most %d bytes, 16 MiB and the file's size", most),
			fmt.Sprint(d.st.chunkSize), "write it with smaller chunks: h5repack -l CHUNK=…")
	}

	reader := &Reader{d: d, st: d.st, cache: cache, p: &parser{source: d.src}}
	if d.st.fill != nil && d.Type.numeric {
		reader.fill = d.Type.float(d.st.fill[d.field:])
	}

	return reader, nil
}

// ReadChannels reads samples of channels. Time runs along the given axis. Each combination of indices along the other
// axes is a channel. Channels are counted row-major from 0: for the shape (N, C) with axis 0, and for (C, N) with axis
// 1, channel c has the index c. ReadChannels fills dst[i] with the samples of channels[i] from start on, which must
// exist.
//
// It is fastest to read all channels that lie together in the file in one call.
func (r *Reader) ReadChannels(axis int, channels []int, start int64, dst [][]float64) error {
	st := r.st
	n := uint64(len(dst[0]))
	place := make([]uint64, len(st.dims))   // of a chunk in the grid
	element := make([]uint64, len(st.dims)) // of an element in its chunk

	row := st.stride[axis] * uint64(st.esize) // bytes from one sample to the next
	for done := uint64(0); done < n; {
		sample := uint64(start) + done // the next one
		place[axis] = sample / st.chunk[axis]
		element[axis] = sample % st.chunk[axis]

		run := min(st.chunk[axis]-element[axis], n-done) // samples that the chunk contains
		for k, ch := range channels {
			first := st.locate(uint64(ch), axis, place, element)

			// Whole rows are read, so that the window has the samples of the next channel.
			low := first / row * row
			data, begin, err := r.fetch(place, low, low+run*row)
			if err != nil {
				return err
			}

			samples := dst[k][done : done+run]
			if data != nil {
				r.d.Type.floats(samples, data[first-begin+uint64(r.d.field):], int(row))
				continue
			}

			for i := range samples {
				samples[i] = r.fill
			}
		}

		done += run
	}

	return nil
}

// locate finds an element by its number, which is counted row-major over all axes except skipped, or over all axes if
// skipped is −1. It writes the place of the element's chunk in the grid to place, and the place of the element in the
// chunk to element. Along the axis skipped, both stay as the caller set them. locate returns the offset of the element
// in the chunk, in bytes.
func (st *storage) locate(number uint64, skipped int, place, element []uint64) uint64 {
	first := uint64(0)
	for i := len(st.dims) - 1; i >= 0; i-- {
		if i != skipped {
			x := number % st.dims[i]
			number /= st.dims[i]
			place[i] = x / st.chunk[i]
			element[i] = x % st.chunk[i]
		}

		first += element[i] * st.stride[i]
	}

	return first * uint64(st.esize)
}

// fetch returns data of the chunk at a place in the grid, and the offset in the chunk at which they begin. They
// contain at least the bytes low to high. fetch returns nil data if the chunk was never written.
func (r *Reader) fetch(place []uint64, low, high uint64) (data []byte, begin uint64, err error) {
	st := r.st

	number := uint64(0)
	for i, x := range place {
		number = number*st.grid[i] + x
	}

	switch {
	case st.class != chunked:
		return r.fetchPiece(place, low, high)
	case len(st.filters) == 0:
		return r.fetchPlain(place, number, low, high)
	}

	key := chunkKey{st, number}
	data, ok := r.cache.get(key)
	if !ok {
		data, err = r.load(place)
		if err != nil {
			return nil, 0, r.chunkError(place, err)
		}

		r.cache.put(key, data)
	}

	return data, 0, nil
}

// chunkError returns an error about the chunk at a place in the grid. If the index has the chunk, and the chunk begins
// in the file, the error names its offset.
func (r *Reader) chunkError(place []uint64, err error) error {
	e := &fault.Error{Place: r.st.object, Found: fmt.Sprintf("chunk %v", place), Err: err}
	if r.p.within(r.found.addr, 0) {
		e.Place += fmt.Sprintf(", byte %d", r.p.base+int64(r.found.addr))
	}

	return e
}

// find returns the chunk at a place in the grid.
func (r *Reader) find(place []uint64) (chunk stored, err error) {
	defer decode.Catch(&err)

	r.found = nowhere
	r.p.left = math.MaxInt64 // no budget: a lookup reads only the nodes on one way from the root
	if r.index == nil {
		r.index = newIndex(r.p, r.st)
	}

	chunk = r.index.find(place)
	r.found = chunk
	if chunk.addr != undefined && !r.p.within(chunk.addr, chunk.size) {
		return chunk, fmt.Errorf("its %d bytes reach beyond the end of the file", chunk.size)
	}

	return chunk, nil
}

// checkWhole returns an error if a chunk to which no filter was applied does not have the size of a chunk.
func (r *Reader) checkWhole(chunk stored) error {
	if chunk.addr != undefined && chunk.size != uint64(r.st.chunkSize) {
		return fmt.Errorf("it has %d bytes and should have %d", chunk.size, r.st.chunkSize)
	}

	return nil
}

// fetchPlain returns the bytes low to high of a chunk without filters, as fetch does. number is the number of the
// chunk in the grid. Only the bytes that were read last are kept, because the operating system caches the file.
func (r *Reader) fetchPlain(place []uint64, number, low, high uint64) (data []byte, begin uint64, err error) {
	if !r.plain.known || r.plain.number != number {
		if err := r.findPlain(place, number); err != nil {
			return nil, 0, r.chunkError(place, err)
		}
	}

	if r.plain.addr == undefined {
		return nil, 0, nil
	}

	return r.span(r.plain.addr, low, min(high, uint64(r.st.chunkSize)))
}

// findPlain looks up a chunk without filters and keeps it in plain.
func (r *Reader) findPlain(place []uint64, number uint64) error {
	r.plain.known = false

	chunk, err := r.find(place)
	if err != nil {
		return err
	}

	if err := r.checkWhole(chunk); err != nil {
		return err
	}

	r.plain = plainChunk{known: true, number: number, addr: chunk.addr}

	return nil
}

// load reads the chunk at a place in the grid and undoes its filters. It returns nil data and no error if the chunk was
// never written.
func (r *Reader) load(place []uint64) ([]byte, error) {
	st := r.st
	chunk, err := r.find(place)
	if err != nil || chunk.addr == undefined {
		return nil, err
	}

	mask := chunk.mask
	if st.rawEdges && st.edge(place) {
		mask = math.MaxUint32 // no filter was applied
	}

	everyFilter := uint32(1<<len(st.filters) - 1)
	if mask&everyFilter == everyFilter {
		if err := r.checkWhole(chunk); err != nil {
			return nil, err
		}
	}

	b := make([]byte, chunk.size)
	if err := r.p.readAt(b, chunk.addr); err != nil {
		return nil, err
	}

	return r.undo(st.filters, mask, b, st.chunkSize, st.esize)
}

// fetchPiece returns the bytes low to high of a piece of contiguous or compact data, as fetch does.
func (r *Reader) fetchPiece(place []uint64, low, high uint64) (data []byte, begin uint64, err error) {
	st := r.st

	first := uint64(0) // number of the first element of the piece
	count := uint64(1) // elements from the first to the last one of the piece
	for i, x := range place {
		begin := x * st.chunk[i]
		first = first*st.dims[i] + begin
		count += (min(st.chunk[i], st.dims[i]-begin) - 1) * st.stride[i]
	}

	origin := first * uint64(st.esize)
	high = min(high, count*uint64(st.esize)) // the last piece of an axis is shorter

	switch {
	case st.class == compact:
		return st.data[origin+low : origin+high], low, nil
	case st.addr == undefined:
		return nil, 0, nil
	}

	return r.span(st.addr+origin, low, high)
}

// span returns the bytes low to high of the piece or chunk at an address, and low.
func (r *Reader) span(addr, low, high uint64) (data []byte, begin uint64, err error) {
	n := high - low
	if !r.p.within(addr+low, n) {
		err = r.p.errorf(addr, "%d bytes at address %d reach beyond the end of the file", n, addr+low)
		return nil, 0, about(err, r.st.object)
	}

	offset := r.p.base + int64(addr+low)
	data, err = r.window.Bytes(nil, r.p.r, offset, int64(n), 0)
	if err != nil {
		return nil, 0, about(atByte(offset, "cannot read", err), r.st.object)
	}

	return data, low, nil
}

// maxStrings is the largest number of elements that ReadStrings, floats and ReadReferences return.
const maxStrings = 1 << 20

// ReadStrings returns all elements of a dataset of strings, row-major. It is meant for tables of names, not for data.
func (d *Dataset) ReadStrings() ([]string, error) {
	list, err := d.readStrings()
	return list, about(err, "dataset "+d.Path)
}

// readStrings does what ReadStrings does. Its errors do not name the dataset.
func (d *Dataset) readStrings() (list []string, err error) {
	defer decode.Catch(&err)

	reader, err := d.elements()
	if err != nil {
		return nil, err
	}

	heaps := globalHeaps{}
	for i := range reader.n {
		b, err := reader.element(i)
		if err != nil {
			return nil, err
		}

		list = append(list, reader.p.strings(heaps, &d.Type, b, 1)...)
	}

	return list, nil
}

// floats returns all elements of a small dataset of numbers, row-major.
func (d *Dataset) floats() ([]float64, error) {
	values, err := d.readFloats()
	return values, about(err, "dataset "+d.Path)
}

// readFloats does what floats does. Its errors do not name the dataset.
func (d *Dataset) readFloats() (values []float64, err error) {
	defer decode.Catch(&err)

	reader, err := d.elements()
	if err != nil {
		return nil, err
	}

	values = make([]float64, reader.n)
	for i := range values {
		b, err := reader.element(uint64(i))
		if err != nil {
			return nil, err
		}

		values[i] = d.Type.float(b)
	}

	return values, nil
}

// ReadReferences returns the objects to which the elements of a dataset refer: a *Group, a *Dataset, or nil for other
// objects and for no object. MATLAB stores the cells of a cell array in this way.
func (f *File) ReadReferences(dataset *Dataset) ([]any, error) {
	list, err := f.readReferences(dataset)
	return list, about(err, "dataset "+dataset.Path)
}

// readReferences does what ReadReferences does. Its errors do not name the dataset.
func (f *File) readReferences(dataset *Dataset) (list []any, err error) {
	defer decode.Catch(&err)

	reader, err := dataset.elements()
	if err != nil {
		return nil, err
	}

	for i := range reader.n {
		b, err := reader.element(i)
		if err != nil {
			return nil, err
		}

		addr := reader.p.cursor(b, undefined, "a reference is too short").u64()
		object, ok := f.objects[addr]
		reader.p.unless(ok || addr == 0 || addr == undefined, addr,
			"a reference to address %d, where no object of the file's groups is", addr)
		list = append(list, object)
	}

	return list, nil
}

// elementReader reads single elements of a dataset.
type elementReader struct {
	d       *Dataset
	r       *Reader
	p       *parser
	n       uint64   // number of elements of the dataset
	place   []uint64 // buffer for the place of a chunk in the grid
	inChunk []uint64 // buffer for the place of an element in its chunk
	zero    []byte   // an element of zeros; nil before one is needed
}

// elements returns a reader of the elements of a dataset. It returns an error if there are more than maxStrings, or if
// they cannot be read.
func (d *Dataset) elements() (*elementReader, error) {
	if d.st.why != nil {
		return nil, d.st.why
	}

	n := d.Elements()
	if n > maxStrings {
		return nil, notSupported("reading %d elements that are not numbers", n)
	}

	reader, err := d.NewReader(NewCache(cacheBytes))
	if err != nil {
		return nil, err
	}

	return &elementReader{
		d: d, r: reader, p: &parser{source: d.src, left: 16*d.src.size + 1<<20}, n: uint64(n),
		place: make([]uint64, len(d.st.dims)), inChunk: make([]uint64, len(d.st.dims)),
	}, nil
}

// element returns the bytes of element i, counted row-major. They are valid until the next call. It raises an error if
// the element was never written and is larger than the file could be.
func (e *elementReader) element(i uint64) ([]byte, error) {
	dataset := e.d
	st := dataset.st

	first := st.locate(i, -1, e.place, e.inChunk)
	data, begin, err := e.r.fetch(e.place, first, first+uint64(st.esize))

	switch {
	case err != nil:
		return nil, err
	case data != nil:
		data = data[first-begin+uint64(dataset.field):]
	case st.fill != nil:
		data = st.fill[dataset.field:]
	default: // the element was never written, so that its size is bounded only by the budget
		if e.zero == nil {
			e.p.charge(int64(dataset.Type.Size))
			e.zero = make([]byte, dataset.Type.Size)
		}

		data = e.zero
	}

	return data[:dataset.Type.Size], nil
}
