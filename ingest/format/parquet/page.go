package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
)

// encodings has the names of the encodings that are not read.
var encodings = map[format.Encoding]string{
	format.DeltaBinaryPacked:    "delta binary packed",
	format.DeltaLengthByteArray: "delta length byte array",
	format.DeltaByteArray:       "delta byte array",
}

var errPage = errors.New("a page that contradicts itself")

// check raises errPage unless ok.
func check(ok bool) {
	if !ok {
		decode.Raise(errPage)
	}
}

// load decodes the values of a column in row group g into the column, unless they are there.
func (f *file) load(c *column, g int) error {
	if c.group == g {
		return nil
	}

	c.group = -1
	c.words = words{}

	rows := f.ends[g]
	if g > 0 {
		rows -= f.ends[g-1]
	}

	if err := f.pages(c, c.chunks[g], rows); err != nil {
		place := fmt.Sprintf("row group %d, column %s", g+1, c.name)

		if e, ok := errors.AsType[*fault.Error](err); ok {
			e.Path = f.src.Path
			e.Place = place

			return e
		}

		return &fault.Error{Path: f.src.Path, Place: place, Err: fmt.Errorf("decode: %w", err), Hint: raw.Damaged}
	}

	c.group = g

	return nil
}

// words are values of a dictionary or of a column, either numbers or texts.
type words struct {
	numbers []float64
	texts   []string
}

// count returns the number of values.
func (w words) count() int64 { return int64(max(len(w.numbers), len(w.texts))) }

// maxPageHeader is the largest number of bytes of a page's header.
const maxPageHeader = 1 << 16

// pages decodes the pages of a chunk with the given number of rows into the column. A panic of the library becomes an
// error.
func (f *file) pages(c *column, m *format.ColumnMetaData, rows int64) (err error) {
	defer func() {
		if recover() != nil { // its text is about Go, not about the file
			err = errPage
		}
	}()

	defer decode.Catch(&err) // runs first, and leaves the panics of the library

	b, err := f.chunk(m)
	if err != nil {
		return err
	}

	var dict words

	for c.count() < rows {
		if len(b) == 0 {
			return fault.At("", "", fault.Plural(rows, "value"), fmt.Sprintf("%d in the pages", c.count()), raw.Damaged)
		}

		var h format.PageHeader
		n := decode.Get(decodeThrift(b[:min(len(b), maxPageHeader)], &h))
		length := int(h.CompressedPageSize)
		b = b[n:]
		check(length >= 0 && length <= len(b) && h.UncompressedPageSize >= 0)

		if most := maxPage + f.src.Size; int64(h.UncompressedPageSize) > most {
			return fault.At("", "", fmt.Sprintf("pages of at most %d bytes in a file of %d", most, f.src.Size),
				fmt.Sprintf("%d bytes", h.UncompressedPageSize), "write it with smaller pages")
		}

		if h.Type == format.DictionaryPage {
			dict = c.dictionary(b[:length], m.Codec, &h)
		} else {
			c.page(b[:length], m.Codec, &h, rows, dict)
		}

		b = b[length:]
	}

	return nil
}

// chunk returns the bytes of a chunk: its pages, of which the dictionary is the first.
func (f *file) chunk(m *format.ColumnMetaData) ([]byte, error) {
	begin := m.DataPageOffset
	size := m.TotalCompressedSize
	if d := m.DictionaryPageOffset; d > 0 && d < begin {
		begin = d
	}

	isInside := begin >= int64(len(magic)) && begin <= f.src.Size && size >= 0 && size <= f.src.Size-begin
	if !isInside {
		return nil, &fault.Error{
			Want: "pages in the file", Found: fmt.Sprintf("%d bytes at byte %d", size, begin), Hint: raw.Damaged,
		}
	}

	b := make([]byte, size)
	if n, err := f.src.ReadAt(b, begin); n < len(b) {
		return nil, fmt.Errorf("read: %w", err)
	}

	return b, nil
}

// plainDictionary is the name that writers before Parquet 2 give to the encoding of a dictionary and of its indices.
//
//lint:ignore SA1019 files have it, whatever writers should do
const plainDictionary = format.PlainDictionary //nolint:staticcheck // files have it, whatever writers should do

// dictionary returns the words of a dictionary page with the given body and header.
func (c *column) dictionary(body []byte, codec format.CompressionCodec, h *format.PageHeader) words {
	d := h.DictionaryPageHeader.V
	check(d.Encoding == format.Plain || d.Encoding == plainDictionary)

	return c.decode(format.Plain, unpack(body, codec, int64(h.UncompressedPageSize)), int64(d.NumValues))
}

// unpack decompresses a page. It raises an error unless the result has size bytes. It returns an uncompressed page
// unchanged, whatever its size.
func unpack(b []byte, codec format.CompressionCodec, size int64) []byte {
	check(size >= 0)

	var page []byte
	switch codec {
	case format.Uncompressed:
		return b
	case format.Snappy:
		check(int64(decode.Get(snappy.DecodedLen(b))) == size)
		page = decode.Get(snappy.Decode(nil, b))
	case format.Gzip:
		z := decode.Get(gzip.NewReader(bytes.NewReader(b)))
		page = decode.Get(io.ReadAll(io.LimitReader(z, size+1)))
	default:
		page = decode.Get(inflate.Zstandard(b, size))
	}

	check(int64(len(page)) == size)

	return page
}

// page appends the values of a data page with the given body and header to the column, which has rows values at the
// end. Pages of other kinds are skipped.
func (c *column) page(body []byte, codec format.CompressionCodec, h *format.PageHeader, rows int64, dict words) {
	var page dataPage
	switch h.Type {
	case format.DataPage:
		page = c.dataPage(body, codec, h)
	case format.DataPageV2:
		page = dataPage2(body, codec, h)
	default:
		return // an index page
	}

	n := page.count
	check(n >= 0 && n <= rows-c.count())

	var defined []int32 // the levels; nil if the column is not optional
	present := n        // number of values that are not missing

	if c.optional {
		defined = hybrid(page.levels, 1, n)
		present = 0
		for _, d := range defined {
			present += int64(d)
		}
	}

	values := c.decodePage(page.encoding, page.values, present, dict)

	switch {
	case n == rows && present == n: // the only page: its values need not be copied
		c.words = values
	case present == n:
		c.numbers = append(c.numbers, values.numbers...)
		c.texts = append(c.texts, values.texts...)
	default:
		c.fill(defined, values)
	}
}

// dataPage is a data page, decompressed. It has a level for each value of an optional column: 1 if the value is there,
// and 0 if it is missing.
type dataPage struct {
	count    int64 // number of values, with those that are missing
	levels   []byte
	encoding format.Encoding
	values   []byte // those that are there
}

// dataPage returns a data page of version 1 with the given body and header. The levels are compressed with the values,
// and their length is before them in 4 bytes.
func (c *column) dataPage(body []byte, codec format.CompressionCodec, h *format.PageHeader) dataPage {
	header := &h.DataPageHeader.V
	page := dataPage{count: int64(header.NumValues), encoding: header.Encoding}
	page.values = unpack(body, codec, int64(h.UncompressedPageSize))

	if c.optional {
		check(len(page.values) >= 4 && header.DefinitionLevelEncoding == format.RLE)
		length := binary.LittleEndian.Uint32(page.values)
		check(int64(length) <= int64(len(page.values)-4))

		page.levels = page.values[4 : 4+length]
		page.values = page.values[4+length:]
	}

	return page
}

// dataPage2 returns a data page of version 2 with the given body and header. The levels are not compressed, and the
// header has their length.
func dataPage2(body []byte, codec format.CompressionCodec, h *format.PageHeader) dataPage {
	header := &h.DataPageHeaderV2.V
	begin := int64(header.RepetitionLevelsByteLength)
	end := begin + int64(header.DefinitionLevelsByteLength)
	check(begin >= 0 && end >= begin && end <= int64(len(body)))

	page := dataPage{
		count: int64(header.NumValues), encoding: header.Encoding, levels: body[begin:end], values: body[end:],
	}

	isCompressed := !header.IsCompressed.Valid || header.IsCompressed.V
	if isCompressed {
		page.values = unpack(page.values, codec, int64(h.UncompressedPageSize)-end)
	}

	return page
}

// fill appends a value for each level: the next of the values if the level is 1, and otherwise NaN or an empty text.
func (c *column) fill(defined []int32, values words) {
	k := 0
	for _, d := range defined {
		switch {
		case c.kind == format.ByteArray && d == 1:
			c.texts = append(c.texts, values.texts[k])
		case c.kind == format.ByteArray:
			c.texts = append(c.texts, "")
		case d == 1:
			c.numbers = append(c.numbers, values.numbers[k])
		default:
			c.numbers = append(c.numbers, math.NaN())
		}

		k += int(d)
	}
}

// decodePage decodes the n values of a data page that are not missing.
func (c *column) decodePage(e format.Encoding, b []byte, n int64, dict words) words {
	switch {
	case e == format.RLE && c.kind == format.Boolean && len(b) >= 4:
		// Behind their length in 4 bytes, the values are runs of one bit, as indices of a dictionary of 0 and 1 would be.
		return c.indexed(append([]byte{1}, b[4:]...), n, words{numbers: []float64{0, 1}})
	case e == plainDictionary || e == format.RLEDictionary:
		return c.indexed(b, n, dict)
	case e != format.Plain && e != format.ByteStreamSplit:
		decode.Raise(fault.At("", "", "plain, dictionary, run-length or byte-stream-split encoding",
			fmt.Sprintf("encoding %d (%s)", e, encodings[e]), "write it with a dictionary, or plain"))
	}

	return c.decode(e, b, n)
}

// sizes has the least number of bytes of a value of each type. It is 0 for types with values of less than a byte.
var sizes = map[format.Type]int64{
	format.Int32: 4, format.Int64: 8, format.Float: 4, format.Double: 8, format.ByteArray: 4,
}

// decode decodes n values of the column's type that lie in b one after the other.
func (c *column) decode(e format.Encoding, b []byte, n int64) words {
	check(n >= 0 && n <= int64(len(b))*8 && n*sizes[c.kind] <= int64(len(b)))

	enc := parquet.LookupEncoding(e)

	var w words
	switch c.kind {
	case format.Boolean:
		bits := decode.Get(enc.DecodeBoolean(nil, b))
		w.numbers = make([]float64, min(n, 8*int64(len(bits))))
		for i := range w.numbers {
			w.numbers[i] = float64(bits[i/8] >> (i % 8) & 1)
		}
	case format.Int32:
		w.numbers = convert[uint32](decode.Get(enc.DecodeInt32(nil, b)), c.unsigned)
	case format.Int64:
		w.numbers = convert[uint64](decode.Get(enc.DecodeInt64(nil, b)), c.unsigned)
	case format.Float:
		w.numbers = convert[float32](decode.Get(enc.DecodeFloat(nil, b)), false)
	case format.Double:
		w.numbers = decode.Get(enc.DecodeDouble(nil, b))
	case format.ByteArray:
		text, ends, err := enc.DecodeByteArray(nil, b, nil)
		decode.Raise(err)

		for i := range max(1, len(ends)) - 1 {
			w.texts = append(w.texts, raw.Text(text[ends[i]:ends[i+1]]))
		}
	}

	check(n <= w.count())

	if n <= int64(len(w.numbers)) {
		return words{numbers: w.numbers[:n]}
	}

	return words{texts: w.texts[:n]}
}

// convert returns numbers as float64. If unsigned is set, they are taken as U, the unsigned type of the same size.
func convert[U, T int32 | uint32 | int64 | uint64 | float32](v []T, unsigned bool) []float64 {
	x := make([]float64, len(v))
	for i := range x {
		if unsigned {
			x[i] = float64(U(v[i]))
		} else {
			x[i] = float64(v[i])
		}
	}

	return x
}

// indexed decodes n values that are stored as indices of a dictionary. The first byte of b is the number of bits of an
// index.
func (c *column) indexed(b []byte, n int64, dict words) words {
	if n == 0 {
		return words{}
	}

	check(len(b) > 0 && b[0] <= 32)

	index := hybrid(b[1:], int(b[0]), n)
	for _, i := range index {
		check(int64(uint32(i)) < dict.count())
	}

	if c.kind == format.ByteArray {
		texts := make([]string, len(index))
		for k, i := range index {
			texts[k] = dict.texts[i]
		}

		return words{texts: texts}
	}

	numbers := make([]float64, len(index))
	for k, i := range index {
		numbers[k] = dict.numbers[i]
	}

	return words{numbers: numbers}
}

// hybrid decodes n numbers of width bits (Apache Parquet, "Run Length Encoding / Bit-Packing Hybrid"). They lie in
// runs. A run begins with a varint: if its lowest bit is 0, the others are how often the number behind it is repeated;
// if its lowest bit is 1, the others are the number of groups of eight packed numbers behind it.
//
// hybrid adds up the runs before the library decodes them, because the library allocates as many numbers as they state.
func hybrid(b []byte, width int, n int64) []int32 {
	end := 0         // bytes of the runs that were counted
	have := int64(0) // numbers in these runs
	for have < n {
		head, k := binary.Uvarint(b[end:])
		check(k > 0 && head >= 2 && head <= math.MaxInt32)

		count := int64(head >> 1)
		size := (width + 7) / 8
		packed := head&1 == 1
		if packed { // groups of eight
			size = int(count) * width
			count *= 8
		}

		// The last group of eight may have up to seven numbers too many. Packed numbers are bounded by the bytes of b.
		end += k + size
		isBounded := count < n-have+8 || packed && width > 0
		check(end <= len(b) && isBounded)
		have += count
	}

	x := decode.Get((&rle.Encoding{BitWidth: width}).DecodeInt32(make([]int32, 0, have), b[:end]))
	check(int64(len(x)) >= n)

	return x[:n]
}
