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
	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// encodings names those that are not read.
var encodings = map[format.Encoding]string{
	format.DeltaBinaryPacked:    "delta binary packed",
	format.DeltaLengthByteArray: "delta length byte array",
	format.DeltaByteArray:       "delta byte array",
}

var errPage = errors.New("a page that contradicts itself")

// unless raises errPage, unless ok.
func unless(ok bool) {
	if !ok {
		fault.Raise(errPage)
	}
}

// load decodes the values of a column in a row group.
func (f *file) load(c *column, g int) error {
	if c.group == g {
		return nil
	}

	c.group, c.words = -1, words{}

	rows := f.ends[g]
	if g > 0 {
		rows -= f.ends[g-1]
	}

	if err := f.pages(c, c.chunks[g], rows); err != nil {
		place := fmt.Sprintf("row group %d, column %s", g+1, c.name)

		if e, is := errors.AsType[*fault.Error](err); is {
			e.Path, e.Place = f.src.Path, place
			return e
		}

		return &fault.Error{Path: f.src.Path, Place: place, Err: fmt.Errorf("decode: %w", err), Hint: raw.Damaged}
	}

	c.group = g

	return nil
}

// words are values: of a dictionary, or of a column.
type words struct {
	numbers []float64
	texts   []string
}

// have is how many there are.
func (w words) have() int64 { return int64(max(len(w.numbers), len(w.texts))) }

// pages reads the pages of a chunk. A panic of the library is an error of the page.
func (f *file) pages(c *column, m *format.ColumnMetaData, rows int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errPage
		}
	}()

	defer fault.Catch(&err)

	at, size := m.DataPageOffset, m.TotalCompressedSize
	if d := m.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}

	if at < 4 || size < 0 || at > f.src.Size || size > f.src.Size-at {
		return &fault.Error{Want: "pages in the file", Found: fmt.Sprintf("%d bytes at byte %d", size, at), Hint: raw.Damaged}
	}

	b := make([]byte, size)
	if n, err := f.src.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read: %w", err)
	}

	var dict words

	for c.have() < rows {
		if len(b) == 0 {
			return fault.At("", "", fault.Plural(rows, "value"), fmt.Sprintf("%d in the pages", c.have()), raw.Damaged)
		}

		var h format.PageHeader
		n := fault.Get(decode(b[:min(len(b), 1<<16)], &h))
		length := int(h.CompressedPageSize)
		b = b[n:]
		unless(length >= 0 && length <= len(b) && h.UncompressedPageSize >= 0)

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

// plainDictionary is how writers before Parquet 2 name the encoding of a dictionary and of its indices.
//
//lint:ignore SA1019 files have it, whatever writers should do
const plainDictionary = format.PlainDictionary

// dictionary decodes the words of a page.
func (c *column) dictionary(body []byte, codec format.CompressionCodec, h *format.PageHeader) words {
	d := h.DictionaryPageHeader.V
	unless(d.Encoding == format.Plain || d.Encoding == plainDictionary)

	return c.decode(format.Plain, unpack(body, codec, int64(h.UncompressedPageSize)), int64(d.NumValues))
}

// unpack decompresses a page that is size bytes long.
func unpack(b []byte, codec format.CompressionCodec, size int64) (out []byte) {
	unless(size >= 0)

	switch codec {
	case format.Uncompressed:
		return b
	case format.Snappy:
		unless(int64(fault.Get(snappy.DecodedLen(b))) == size)
		out = fault.Get(snappy.Decode(nil, b))
	case format.Gzip:
		z := fault.Get(gzip.NewReader(bytes.NewReader(b)))
		out = fault.Get(io.ReadAll(io.LimitReader(z, size+1)))
	default:
		out = fault.Get(inflate.Zstandard(b, size))
	}

	unless(int64(len(out)) == size)

	return out
}

// page adds the values of a page of data.
func (c *column) page(body []byte, codec format.CompressionCodec, h *format.PageHeader, rows int64, dict words) {
	n, encoding := int64(h.DataPageHeader.V.NumValues), h.DataPageHeader.V.Encoding

	var levels []byte

	switch h.Type {
	case format.DataPage:
		body = unpack(body, codec, int64(h.UncompressedPageSize))
		if c.optional {
			unless(len(body) >= 4 && int64(binary.LittleEndian.Uint32(body)) <= int64(len(body)-4) &&
				h.DataPageHeader.V.DefinitionLevelEncoding == format.RLE)

			end := 4 + binary.LittleEndian.Uint32(body)
			levels, body = body[4:end], body[end:]
		}
	case format.DataPageV2:
		v := &h.DataPageHeaderV2.V
		n, encoding = int64(v.NumValues), v.Encoding
		from := int64(v.RepetitionLevelsByteLength)
		end := from + int64(v.DefinitionLevelsByteLength)
		unless(from >= 0 && end >= from && end <= int64(len(body)))

		levels, body = body[from:end], body[end:]
		if !v.IsCompressed.Valid || v.IsCompressed.V {
			body = unpack(body, codec, int64(h.UncompressedPageSize)-end)
		}
	default:
		return // an index
	}

	unless(n >= 0 && n <= rows-c.have())

	var defined []int32
	present := n

	if c.optional {
		defined = hybrid(levels, 1, n)
		present = 0
		for _, d := range defined {
			present += int64(d)
		}
	}

	got := c.decodePage(encoding, body, present, dict)

	switch {
	case n == rows && present == n:
		c.words = got
	case present == n:
		c.numbers, c.texts = append(c.numbers, got.numbers...), append(c.texts, got.texts...)
	default:
		c.fill(defined, got)
	}
}

// fill adds values where they are defined; missing numbers are NaN, texts empty.
func (c *column) fill(defined []int32, got words) {
	k := 0
	for _, d := range defined {
		switch {
		case c.kind == format.ByteArray && d == 1:
			c.texts = append(c.texts, got.texts[k])
		case c.kind == format.ByteArray:
			c.texts = append(c.texts, "")
		case d == 1:
			c.numbers = append(c.numbers, got.numbers[k])
		default:
			c.numbers = append(c.numbers, math.NaN())
		}

		k += int(d)
	}
}

// decodePage decodes n values of a page of data.
func (c *column) decodePage(e format.Encoding, b []byte, n int64, dict words) words {
	switch {
	case e == format.RLE && c.kind == format.Boolean && len(b) >= 4:
		return c.indexed(append([]byte{1}, b[4:]...), n, words{numbers: []float64{0, 1}})
	case e == plainDictionary || e == format.RLEDictionary:
		return c.indexed(b, n, dict)
	case e != format.Plain && e != format.ByteStreamSplit:
		fault.Raise(fault.At("", "", "plain, dictionary, run-length or byte-stream-split encoding",
			fmt.Sprintf("encoding %d (%s)", e, encodings[e]), "write it with a dictionary, or plain"))
	}

	return c.decode(e, b, n)
}

// decode decodes n values that lie one after the other.
func (c *column) decode(e format.Encoding, b []byte, n int64) (w words) {
	sizes := map[format.Type]int64{
		format.Int32: 4, format.Int64: 8, format.Float: 4, format.Double: 8, format.ByteArray: 4,
	}
	unless(n >= 0 && n <= int64(len(b))*8 && n*sizes[c.kind] <= int64(len(b)))

	enc := parquet.LookupEncoding(e)

	switch c.kind {
	case format.Boolean:
		bits := fault.Get(enc.DecodeBoolean(nil, b))
		some := int(min(n, 8*int64(len(bits))))
		w.numbers = lists.Make(some, func(i int) float64 { return float64(bits[i/8] >> (i % 8) & 1) })
	case format.Int32:
		w.numbers = convert[uint32](fault.Get(enc.DecodeInt32(nil, b)), c.unsigned)
	case format.Int64:
		w.numbers = convert[uint64](fault.Get(enc.DecodeInt64(nil, b)), c.unsigned)
	case format.Float:
		w.numbers = convert[float32](fault.Get(enc.DecodeFloat(nil, b)), false)
	case format.Double:
		w.numbers = fault.Get(enc.DecodeDouble(nil, b))
	case format.ByteArray:
		text, ends, err := enc.DecodeByteArray(nil, b, nil)
		fault.Raise(err)

		for i := range max(1, len(ends)) - 1 {
			w.texts = append(w.texts, raw.Text(text[ends[i]:ends[i+1]]))
		}
	}

	unless(n <= w.have())

	if n <= int64(len(w.numbers)) {
		return words{numbers: w.numbers[:n]}
	}

	return words{texts: w.texts[:n]}
}

// convert takes numbers as they are, or as U where they are unsigned.
func convert[U, T int32 | uint32 | int64 | uint64 | float32](v []T, unsigned bool) []float64 {
	x := make([]float64, len(v))
	for i := range x {
		if x[i] = float64(v[i]); unsigned {
			x[i] = float64(U(v[i]))
		}
	}

	return x
}

// indexed reads n values as indices of a dictionary; their width is the first byte.
func (c *column) indexed(b []byte, n int64, dict words) (out words) {
	if n == 0 {
		return words{}
	}

	unless(len(b) > 0 && b[0] <= 32)

	index := hybrid(b[1:], int(b[0]), n)
	for _, i := range index {
		unless(int64(uint32(i)) < dict.have())
	}

	if c.kind == format.ByteArray {
		out.texts = lists.Each(index, func(i int32) string { return dict.texts[i] })
	} else {
		out.numbers = lists.Each(index, func(i int32) float64 { return dict.numbers[i] })
	}

	return out
}

// hybrid reads n numbers of width bits in runs: of one number, or packed. The
// library makes room for as many as the runs state.
func hybrid(b []byte, width int, n int64) []int32 {
	end, have := 0, int64(0)
	for have < n {
		head, k := binary.Uvarint(b[end:])
		unless(k > 0 && head >= 2 && head <= math.MaxInt32)

		count, size := int64(head>>1), (width+7)/8
		packed := head&1 == 1
		if packed { // groups of eight
			count, size = 8*count, int(head>>1)*width
		}

		// Writers fill up the last run of groups.
		end += k + size
		unless(end <= len(b) && (count < n-have+8 || packed && width > 0))
		have += count
	}

	x := fault.Get((&rle.Encoding{BitWidth: width}).DecodeInt32(make([]int32, 0, have), b[:end]))
	unless(int64(len(x)) >= n)

	return x[:n]
}
