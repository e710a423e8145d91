package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/ingest/fault"
)

// maxRows bounds the rows of a file. Columns without values (of nulls, of runs)
// may claim any number; so many no file of values holds.
const maxRows = 1 << 48

// verified is the result of verify: batches read later are checked against it.
type verified struct {
	r            io.ReaderAt
	size, most   int64 // of the file; of what a batch may take decompressed
	columns      []*column
	values       map[int64]*column // of a dictionary, by its id
	dictionaries []block
	batches      []block
	rows         []int64 // of each batch
}

// column is a field of the schema as far as it decides which buffers it has.
type column struct {
	kind     uint8
	bits     int64 // of a value; of an index where it has a dictionary
	list     int64 // values of a list of fixed size
	dense    bool  // a union with offsets
	indexed  bool  // values are in a dictionary
	children []*column
}

// block is where a batch lies.
type block struct {
	place            string
	at, meta, body   int64
	dictionary       bool
	version          int16
	id               int64 // of a dictionary
	delta            bool
	batch            node
	nodes, nodesAt   int
	buffers, buffsAt int
	counts, countsAt int
	codec            int // noCodec, codecLZ4 or codecZstd
}

const (
	noCodec = iota - 1
	codecLZ4
	codecZstd
)

// verify looks at all that Arrow's library believes of a file when it opens it:
// the footer, the schema, where the batches lie, and the metadata of each. After
// it every offset and length is within its parent, and memory and loops are
// bounded by the length of the file. No batch may
// take more than most bytes.
func verify(r io.ReaderAt, size, most int64) (*verified, error) {
	const magic = "ARROW1"
	var head [8]byte

	var tail [10]byte
	if size < int64(len(head)+len(tail)) {
		return nil, &fault.Error{Want: "an Arrow IPC file", Found: fmt.Sprintf("%d bytes", size)}
	}

	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, &fault.Error{Err: fmt.Errorf("read: %w", err)}
	}

	if _, err := readFull(r, tail[:], size-int64(len(tail))); err != nil {
		return nil, &fault.Error{Err: fmt.Errorf("read: %w", err)}
	}

	if !bytes.Equal(head[:6], []byte(magic)) || !bytes.Equal(tail[4:], []byte(magic)) {
		return nil, &fault.Error{
			Want:  "an Arrow IPC file, which begins and ends with ARROW1",
			Found: fmt.Sprintf("%q … %q", head[:6], tail[4:]), Hint: "was it copied whole?",
		}
	}

	long := int64(binary.LittleEndian.Uint32(tail[:]))
	end := size - int64(len(tail)) - long // of what lies before the footer
	if long == 0 || end < int64(len(head)) {
		return nil, &fault.Error{
			Place: "footer", Want: fmt.Sprintf("a footer in a file of %d bytes", size),
			Found: fmt.Sprintf("one of %d bytes", long),
		}
	}

	b := make([]byte, long)
	if _, err := readFull(r, b, end); err != nil {
		return nil, &fault.Error{Place: "footer", Err: fmt.Errorf("read: %w", err)}
	}

	footer, err := verifyFlat(b, formFooter, "footer")
	if err != nil {
		return nil, err
	}

	v := &verified{r: r, size: size, most: most, values: map[int64]*column{}}
	if err := v.schema(footer); err != nil {
		return nil, err
	}

	if v.dictionaries, err = v.blocks(footer, 2, "dictionary", end); err != nil {
		return nil, err
	}

	if v.batches, err = v.blocks(footer, 3, "batch", end); err != nil {
		return nil, err
	}

	if err := disjoint(slices.Concat(v.dictionaries, v.batches)); err != nil {
		return nil, err
	}

	first := map[int64]bool{}
	for i := range v.dictionaries {
		d := &v.dictionaries[i]
		d.dictionary = true
		if _, err := v.meta(d); err != nil {
			return nil, err
		}

		values := v.values[d.id]
		switch {
		case values == nil:
			return nil, &fault.Error{Place: d.place, Want: "a dictionary that a column has", Found: fmt.Sprintf("id %d", d.id)}

		case d.delta && !first[d.id]:
			return nil, &fault.Error{
				Place: d.place, Want: "a dictionary before its additions",
				Found: fmt.Sprintf("an addition to id %d", d.id),
			}

		case d.delta && len(values.children) > 0:
			// The library joins these with unchecked pointers.
			return nil, &fault.Error{
				Place: d.place, Want: "numbers or texts added to a dictionary",
				Found: "nested values: not supported",
			}
		}

		first[d.id] = true

		// The library reads dictionaries when it opens the file.
		if err := v.contents(d); err != nil {
			return nil, err
		}

		d.batch = node{}
	}

	sum := int64(0)
	for i := range v.batches {
		rows, err := v.meta(&v.batches[i])
		if err != nil {
			return nil, err
		}

		if sum += rows; sum > maxRows {
			return nil, &fault.Error{
				Place: v.batches[i].place, Want: fmt.Sprintf("at most %d rows in all", int64(maxRows)),
				Found: fmt.Sprintf("%d", sum),
			}
		}

		v.rows = append(v.rows, rows)
		v.batches[i].batch = node{} // read again with its batch
	}

	return v, nil
}

// readFull reads b at at; the end of the file right behind it is no error.
func readFull(r io.ReaderAt, b []byte, at int64) (int, error) {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return n, nil
	}

	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}

	return n, err
}

// schema makes the columns of the footer's schema.
func (v *verified) schema(footer node) error {
	s, ok := footer.table(1)
	if !ok {
		return &fault.Error{Place: "footer", Want: "a schema", Found: "none"}
	}

	fields, cost := 0, 0
	for i, f := range s.tables(1) {
		c, n, w, err := v.column(f, fmt.Sprintf("schema, field %d", i+1))
		if err != nil {
			return err
		}

		v.columns = append(v.columns, c)
		fields, cost = fields+n, cost+w
	}

	// The library makes the arrays of a map twice, those of maps in maps four
	// times, and so on.
	if cost > 8*fields+1024 {
		return &fault.Error{
			Place: "schema", Want: "few maps of maps",
			Found: fmt.Sprintf("%d fields in maps of maps that are %d arrays", fields, cost),
		}
	}

	return nil
}

// column returns a field and its children, how many those are, and how many
// arrays the library makes of them.
func (v *verified) column(f node, place string) (c *column, fields, cost int, err error) {
	c = &column{kind: f.byte(2)}
	bad := func(want, found string, args ...any) (*column, int, int, error) {
		return nil, 0, 0, &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)}
	}

	fields, cost = 1, 1
	for i, k := range f.tables(5) {
		child, n, w, err := v.column(k, fmt.Sprintf("%s, child %d", place, i+1))
		if err != nil {
			return nil, 0, 0, err
		}

		c.children = append(c.children, child)
		fields, cost = fields+n, min(cost+w, math.MaxInt32)
	}

	t, ok := f.table(3)
	if !ok {
		return bad("a type", "none")
	}

	children, err := c.settings(t, place)
	if err != nil {
		return nil, 0, 0, err
	}

	if c.kind == typeMap { // the library makes its arrays twice
		cost = min(2*cost, math.MaxInt32)
	}

	if children >= 0 && len(c.children) != children {
		return bad(fmt.Sprintf("%d children", children), "%d", len(c.children))
	}

	if c.bits < 0 {
		return bad("a type of a size that Arrow has", "another")
	}

	if d, ok := f.table(4); ok {
		index, ok := d.table(1)

		bits := int64(-1)
		if ok {
			bits = oneOf(index.int(0, 0), 8, 16, 32, 64)
		}

		if bits < 0 {
			return bad("integers that count in a dictionary", "none, or of no size that Arrow has")
		}

		values := *c
		v.values[d.long(0)] = &values
		c.indexed, c.bits = true, bits
	}

	return c, fields, cost, nil
}

// settings reads the settings t of the column's type: the bits of a value, −1 where
// Arrow has no such size. It returns how many children the type has, −1 for any
// number.
func (c *column) settings(t node, place string) (children int, err error) {
	fail := func(want, found string, args ...any) (int, error) {
		return 0, &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)}
	}
	children = -1
	unit := func(otherwise int16, bits ...int64) {
		c.bits = -1
		if u := t.short(0, otherwise); u >= 0 && int(u) < len(bits) {
			c.bits = bits[u]
		}
	}

	switch c.kind {
	case typeNull, typeBinary, typeUtf8, typeLargeBinary, typeLargeUtf8, typeBinaryView, typeUtf8View:
		children = 0
	case typeBool:
		c.bits, children = 1, 0
	case typeInt:
		c.bits, children = oneOf(t.int(0, 0), 8, 16, 32, 64), 0
	case typeFloat:
		unit(0, 16, 32, 64)
		children = 0
	case typeDecimal:
		c.bits, children = oneOf(t.int(2, 128), 128, 256), 0
	case typeDate:
		unit(1, 32, 64)
		children = 0
	case typeTime:
		c.bits, children = oneOf(t.int(1, 32), 32, 64), 0
	case typeTimestamp:
		unit(0, 64, 64, 64, 64)
		children = 0
	case typeInterval:
		unit(0, 32, 64, 128)
		children = 0
	case typeDuration:
		unit(1, 64, 64, 64, 64)
		children = 0
	case typeFixedSizeBinary:
		c.bits, children = 8*int64(t.int(0, 0)), 0
	case typeList, typeLargeList, typeListView, typeLargeListView:
		children = 1
	case typeFixedSizeList:
		if c.list, children = int64(t.int(0, 0)), 1; c.list < 1 {
			return fail("a list of 1 value or more", "one of %d", c.list)
		}

	case typeMap:
		children = 1
		if len(c.children) == 1 && (c.children[0].kind != typeStruct || len(c.children[0].children) != 2 ||
			c.children[0].indexed) {
			return fail("pairs of a key and a value in a map", "something else")
		}

	case typeRunEndEncoded:
		children = 2
	case typeUnion:
		c.dense = t.short(0, 0) == 1
		n := len(c.children)

		if mode := t.short(0, 0); mode != 0 && mode != 1 {
			return fail("a union, sparse or dense", "mode %d", mode)
		}

		if _, ids := t.vector(1); n > 127 || ids != 0 && ids != n {
			return fail("a union of at most 127 types, each with its number", "%d types, %d numbers", n, ids)
		}
	}

	return children, nil
}

// oneOf returns n if it is one of the sizes, else −1.
func oneOf(n int32, sizes ...int64) int64 {
	if slices.Contains(sizes, int64(n)) {
		return int64(n)
	}
	return -1
}

// blocks reads where batches lie, before end.
func (v *verified) blocks(footer node, slot int, what string, end int64) ([]block, error) {
	at, n := footer.vector(slot)
	out := make([]block, n)
	for i := range out {
		e := footer.b[at+24*i:]
		b := block{
			place: fmt.Sprintf("%s %d", what, i+1), at: int64(binary.LittleEndian.Uint64(e)),
			meta: int64(int32(binary.LittleEndian.Uint32(e[8:]))), body: int64(binary.LittleEndian.Uint64(e[16:])),
		}

		if b.at < 8 || b.meta < 8 || b.body < 0 || (b.at|b.meta|b.body)%8 != 0 ||
			b.at > end || b.meta > end-b.at || b.body > end-b.at-b.meta {
			return nil, &fault.Error{
				Place: b.place, Want: fmt.Sprintf("multiples of 8 bytes between byte 8 and %d", end),
				Found: fmt.Sprintf("%d bytes of metadata and %d of data at byte %d", b.meta, b.body, b.at),
				Hint:  "the file is damaged",
			}
		}

		out[i] = b
	}

	return out, nil
}

// disjoint refuses blocks that share bytes: a small file could name one batch a
// million times.
func disjoint(blocks []block) error {
	slices.SortFunc(blocks, func(a, b block) int { return int(max(-1, min(a.at-b.at, 1))) })

	for i := 1; i < len(blocks); i++ {
		a, b := blocks[i-1], blocks[i]
		if a.at+a.meta+a.body > b.at {
			return &fault.Error{
				Place: b.place, Want: fmt.Sprintf("it behind %s, which ends at byte %d", a.place, a.at+a.meta+a.body),
				Found: fmt.Sprintf("it at byte %d", b.at), Hint: "the file is damaged",
			}
		}
	}

	return nil
}

// meta reads and verifies the metadata of a batch, and that the buffers it names
// fit the columns as far as that shows without reading them. It returns the rows.
func (v *verified) meta(k *block) (rows int64, err error) {
	bad := func(want, found string, args ...any) (int64, error) {
		return 0, &fault.Error{Place: k.place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
	}

	b := make([]byte, k.meta)
	if _, err := readFull(v.r, b, k.at); err != nil {
		return 0, &fault.Error{Place: k.place, Err: fmt.Errorf("read: %w", err)}
	}

	switch binary.LittleEndian.Uint32(b) { // as the library has it
	case 0:
	case 0xFFFFFFFF:
		b = b[8:]
	default:
		b = b[4:] // before Arrow 0.15
	}

	message, err := verifyFlat(b, formMessage, k.place)
	if err != nil {
		return 0, err
	}

	k.version = message.short(0, 0)

	want := uint8(messageBatch)
	if k.dictionary {
		want = messageDictionary
		k.version = 0 // the library reads dictionaries as of the first version
	}

	header, ok := message.table(2)
	if is := message.byte(1); !ok || is != want {
		return bad(fmt.Sprintf("a message of kind %d", want), "kind %d", is)
	}

	if k.dictionary {
		k.id, k.delta = header.long(0), header.byte(2) != 0
		if header, ok = header.table(1); !ok {
			return bad("the values of a dictionary", "none")
		}
	}

	k.batch = header

	rows = header.long(0)
	if rows < 0 || rows > maxRows {
		return bad(fmt.Sprintf("0 to %d rows", int64(maxRows)), "%d", rows)
	}

	k.nodesAt, k.nodes = header.vector(1)
	k.buffsAt, k.buffers = header.vector(2)
	k.countsAt, k.counts = header.vector(4)
	k.codec = noCodec
	if c, ok := header.table(3); ok {
		if k.codec = int(int8(c.byte(0))); k.codec != codecLZ4 && k.codec != codecZstd || c.byte(1) != 0 {
			return bad("LZ4 or Zstandard for each buffer", "compression %d, method %d", k.codec, c.byte(1))
		}
	}

	left := k.body
	for i := range k.buffers {
		at, n := k.buffer(i)
		if n < 0 || n > 0 && (at < 0 || at > k.body || n > k.body-at) {
			return bad(fmt.Sprintf("buffer %d within %d bytes of data", i+1, k.body), "%d bytes at byte %d", n, at)
		}

		if left -= n; left < 0 {
			return bad(fmt.Sprintf("buffers of %d bytes in all", k.body), "more at buffer %d", i+1)
		}
	}

	if k.codec != noCodec {
		return rows, v.fit(k, rows, nil)
	}

	lengths := make([]int64, k.buffers)
	for i := range lengths {
		_, lengths[i] = k.buffer(i)
	}

	return rows, v.fit(k, rows, lengths)
}

// buffer returns where buffer i lies in the data, and its length.
func (k *block) buffer(i int) (at, n int64) {
	e := k.batch.b[k.buffsAt+16*i:]
	return int64(binary.LittleEndian.Uint64(e)), int64(binary.LittleEndian.Uint64(e[8:]))
}

// fit verifies that a batch has what the columns need, in the library's order.
// lengths are those of the buffers when they are decompressed, nil where they are
// not known yet.
func (v *verified) fit(k *block, rows int64, lengths []int64) error {
	w := walk{block: k, lengths: lengths}
	if k.dictionary {
		if values := v.values[k.id]; values != nil {
			_, err := w.column(values, k.place)
			return err
		}

		return nil // refused by its id
	}

	for i, c := range v.columns {
		place := fmt.Sprintf("%s, column %d", k.place, i+1)
		n, err := w.column(c, place)
		if err != nil {
			return err
		}

		if n != rows {
			return &fault.Error{Place: place, Want: fmt.Sprintf("%d rows, as the batch", rows), Found: fmt.Sprintf("%d", n)}
		}
	}

	return nil
}

// walk goes through the nodes and buffers of a batch, as the library does.
type walk struct {
	*block
	lengths             []int64
	node, buffer, count int
}

// column verifies a column and returns its length.
func (w *walk) column(c *column, place string) (length int64, err error) {
	bad := func(want, found string, args ...any) (int64, error) {
		return 0, &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
	}

	count := int64(0)
	if !c.indexed && (c.kind == typeBinaryView || c.kind == typeUtf8View) {
		if w.count >= w.counts {
			return bad("the number of its buffers", "numbers for %d columns of this kind", w.counts)
		}

		count = int64(binary.LittleEndian.Uint64(w.batch.b[w.countsAt+8*w.count:]))
		if w.count++; count < 0 || count > int64(w.buffers) {
			return bad(fmt.Sprintf("0 to %d buffers", w.buffers), "%d", count)
		}
	}

	if w.node >= w.nodes {
		return bad("a length for each column", "%d lengths", w.nodes)
	}

	e := w.batch.b[w.nodesAt+16*w.node:]
	w.node++

	length, nulls := int64(binary.LittleEndian.Uint64(e)), int64(binary.LittleEndian.Uint64(e[8:]))
	if length < 0 || length > maxRows || nulls < -1 || nulls > length { // −1: not counted
		return bad(fmt.Sprintf("0 to %d values, and no more of them missing", int64(maxRows)), "%d, %d missing", length,
			nulls)
	}

	kind := c.kind
	if c.indexed {
		kind = typeInt
	}

	if err := w.own(c, kind, length, nulls, count, place); err != nil || c.indexed {
		return length, err
	}

	for i, child := range c.children {
		at := fmt.Sprintf("%s, child %d", place, i+1)
		n, err := w.column(child, at)
		if err != nil {
			return 0, err
		}

		least := int64(0)
		switch kind {
		case typeStruct:
			least = length
		case typeUnion:
			if !c.dense {
				least = length
			}

		case typeFixedSizeList:
			if length > maxRows/c.list {
				return bad("values that fit a file", "%d lists of %d", length, c.list)
			}
			least = length * c.list
		}

		if n < least {
			return 0, &fault.Error{
				Place: at, Want: fmt.Sprintf("%d values or more", least), Found: fmt.Sprintf("%d", n),
				Hint: "the file is damaged",
			}
		}
	}

	return length, nil
}

// own verifies the column's own buffers, in their order: validity, offsets, values.
func (w *walk) own(c *column, kind uint8, length, nulls, count int64, place string) (err error) {
	bad := func(want, found string, args ...any) error {
		return &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...), Hint: "the file is damaged"}
	}

	// need verifies the next buffer: it must hold n values of some bits.
	need := func(n, bits int64) error {
		i := w.buffer
		w.buffer++

		if i >= w.buffers {
			return bad("buffers for each column", "%d buffers", w.buffers)
		}

		if bits > 0 && n > (math.MaxInt64-7)/bits {
			return bad("values that fit a file", "%d of %d bits", n, bits)
		}

		if want := (n*bits + 7) / 8; w.lengths != nil && w.lengths[i] < want {
			return bad(fmt.Sprintf("%d bytes for %d values", want, length), "%d bytes in buffer %d", w.lengths[i], i+1)
		}

		return nil
	}

	ends := int64(0) // offsets are one more than values; of no values they may lack
	if length > 0 {
		ends = length + 1
	}

	validity := kind != typeNull && (w.version < 4 || kind != typeUnion && kind != typeRunEndEncoded) // version 4 is V5
	if validity {
		n := length
		if nulls == 0 {
			n = 0 // not looked at
		}

		if err := need(n, 1); err != nil {
			return err
		}
	}

	switch kind {
	case typeNull, typeStruct, typeFixedSizeList, typeRunEndEncoded:

	case typeBinary, typeUtf8:
		err = need(ends, 32)
		if err == nil {
			err = need(0, 0)
		}

	case typeLargeBinary, typeLargeUtf8:
		err = need(ends, 64)
		if err == nil {
			err = need(0, 0)
		}

	case typeBinaryView, typeUtf8View:
		err = need(length, 128)
		for ; err == nil && count > 0; count-- {
			err = need(0, 0)
		}

	case typeList, typeMap:
		err = need(ends, 32)

	case typeLargeList:
		err = need(ends, 64)

	case typeListView, typeLargeListView:
		bits := int64(32)
		if kind == typeLargeListView {
			bits = 64
		}

		err = need(length, bits)
		if err == nil {
			err = need(length, bits)
		}

	case typeUnion:
		err = need(length, 8)
		if err == nil && c.dense {
			err = need(length, 32)
		}

	default:
		err = need(length, c.bits)
	}

	return err
}

// contents verifies what decompressing the buffers of a batch, whose metadata is
// read, will take.
func (v *verified) contents(k *block) error {
	lengths := make([]int64, k.buffers)
	sum, work := int64(0), int64(0)

	s := section{r: v.r, at: k.at + k.meta}
	for i := range lengths {
		at, n := k.buffer(i)
		if k.codec == noCodec || n == 0 {
			lengths[i] = n
		} else {
			s.place = fmt.Sprintf("%s, buffer %d", k.place, i+1)
			length, window, err := s.compressed(k.codec, at, at+n)
			if err != nil {
				return err
			}

			lengths[i], work = length, work+window
		}

		if lengths[i] > v.most || sum+lengths[i] > v.most {
			return &fault.Error{
				Place: k.place, Want: fmt.Sprintf("at most %d bytes of a batch in a file of %d", v.most, v.size),
				Found: fmt.Sprintf("more at buffer %d, of %d bytes", i+1, lengths[i]),
				Hint:  "write it in smaller batches, or uncompressed",
			}
		}

		sum += lengths[i]
	}

	if work > 4<<30+64*sum {
		return &fault.Error{
			Place: k.place, Want: "windows that suit the data",
			Found: fmt.Sprintf("%d bytes of windows for %d bytes", work, sum),
		}
	}

	if k.dictionary {
		return v.fit(k, 0, lengths)
	}

	return v.fit(k, k.batch.long(0), lengths)
}

// batch verifies all of batch i before it is read.
func (v *verified) batch(i int) error {
	k := v.batches[i]
	rows, err := v.meta(&k)
	if err == nil && rows != v.rows[i] {
		err = &fault.Error{
			Place: k.place, Want: fmt.Sprintf("%d rows, as before", v.rows[i]), Found: fmt.Sprintf("%d", rows),
			Hint: "the file has changed",
		}
	}

	if err == nil {
		err = v.contents(&k)
	}

	return err
}
