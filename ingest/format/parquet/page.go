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
)

// encodings names those that are not read.
var encodings = map[format.Encoding]string{
	format.DeltaBinaryPacked:    "delta binary packed",
	format.DeltaLengthByteArray: "delta length byte array",
	format.DeltaByteArray:       "delta byte array",
}

var errPage = errors.New("a page that contradicts itself")

// load decodes the values of a column in a row group.
func (f *file) load(c *column, g int) error {
	if c.group == g {
		return nil
	}

	c.group, c.values, c.texts = -1, nil, nil

	rows := f.ends[g]
	if g > 0 {
		rows -= f.ends[g-1]
	}

	if err := f.pages(c, c.chunks[g], rows); err != nil {
		place := fmt.Sprintf("row group %d, column %s", g+1, c.name)

		var e *fault.Error
		if errors.As(err, &e) {
			e.Path, e.Place = f.src.Path, place
			return e
		}

		return &fault.Error{Path: f.src.Path, Place: place, Err: fmt.Errorf("decode: %w", err), Hint: damaged}
	}

	c.group = g

	return nil
}

// words are the values of a dictionary.
type words struct {
	numbers []float64
	texts   []string
}

func (c *column) have() int64 { return int64(max(len(c.values), len(c.texts))) }

// pages reads the pages of a chunk.
func (f *file) pages(c *column, m *format.ColumnMetaData, rows int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errPage
		}
	}()

	at, size := m.DataPageOffset, m.TotalCompressedSize
	if d := m.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}

	if at < 4 || size < 0 || at > f.src.Size || size > f.src.Size-at {
		return &fault.Error{Want: "pages in the file", Found: fmt.Sprintf("%d bytes at byte %d", size, at), Hint: damaged}
	}

	b := make([]byte, size)
	if n, err := f.src.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read: %w", err)
	}

	var dict words
	for c.have() < rows {
		if len(b) == 0 {
			return &fault.Error{
				Want: fault.Plural(rows, "value"), Found: fmt.Sprintf("%d in the pages", c.have()), Hint: damaged,
			}
		}

		var h format.PageHeader
		n, err := decode(b[:min(len(b), 1<<16)], &h)
		if err != nil {
			return err
		}

		length := int(h.CompressedPageSize)

		b = b[n:]
		if length < 0 || length > len(b) || h.UncompressedPageSize < 0 {
			return errPage
		}

		if most := maxPage + f.src.Size; int64(h.UncompressedPageSize) > most {
			return &fault.Error{
				Want:  fmt.Sprintf("pages of at most %d bytes in a file of %d", most, f.src.Size),
				Found: fmt.Sprintf("%d bytes", h.UncompressedPageSize), Hint: "write it with smaller pages",
			}
		}

		if h.Type == format.DictionaryPage {
			dict, err = c.dictionary(b[:length], m.Codec, &h)
		} else {
			err = c.page(b[:length], m.Codec, &h, rows, dict)
		}

		if err != nil {
			return err
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
func (c *column) dictionary(body []byte, codec format.CompressionCodec, h *format.PageHeader) (words, error) {
	d := h.DictionaryPageHeader.V
	if d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return words{}, errPage
	}

	body, err := unpack(body, codec, int64(h.UncompressedPageSize))
	if err != nil {
		return words{}, err
	}

	return c.decode(format.Plain, body, int64(d.NumValues))
}

// unpack decompresses a page that is size bytes long.
func unpack(b []byte, codec format.CompressionCodec, size int64) ([]byte, error) {
	if size < 0 {
		return nil, errPage
	}

	var out []byte

	var err error
	switch codec {
	case format.Uncompressed:
		return b, nil

	case format.Snappy:
		var n int
		if n, err = snappy.DecodedLen(b); err != nil || int64(n) != size {
			return nil, errors.Join(errPage, err)
		}

		out, err = snappy.Decode(nil, b)

	case format.Gzip:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, size+1))
		}

	default:
		out, err = inflate.Zstandard(b, size)
	}

	if err == nil && int64(len(out)) != size {
		err = errPage
	}

	return out, err
}

// page adds the values of a page of data.
func (c *column) page(body []byte, codec format.CompressionCodec, h *format.PageHeader, rows int64, dict words) error {
	n, encoding := int64(h.DataPageHeader.V.NumValues), h.DataPageHeader.V.Encoding
	var levels []byte

	var err error
	switch h.Type {
	case format.DataPage:
		if body, err = unpack(body, codec, int64(h.UncompressedPageSize)); err != nil {
			return err
		}

		if c.optional {
			if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) ||
				h.DataPageHeader.V.DefinitionLevelEncoding != format.RLE {
				return errPage
			}

			end := 4 + binary.LittleEndian.Uint32(body)
			levels, body = body[4:end], body[end:]
		}

	case format.DataPageV2:
		v := &h.DataPageHeaderV2.V
		n, encoding = int64(v.NumValues), v.Encoding
		from := int64(v.RepetitionLevelsByteLength)
		end := from + int64(v.DefinitionLevelsByteLength)
		if from < 0 || end < from || end > int64(len(body)) {
			return errPage
		}

		levels, body = body[from:end], body[end:]
		if !v.IsCompressed.Valid || v.IsCompressed.V {
			if body, err = unpack(body, codec, int64(h.UncompressedPageSize)-end); err != nil {
				return err
			}
		}

	default:
		return nil // an index
	}

	if n < 0 || n > rows-c.have() {
		return errPage
	}

	var defined []int32

	present := n
	if c.optional {
		if defined, err = hybrid(levels, 1, n); err != nil {
			return err
		}

		present = 0
		for _, d := range defined {
			present += int64(d)
		}
	}

	got, err := c.decodePage(encoding, body, present, dict)
	switch {
	case err != nil:
		return err
	case n == rows && present == n:
		c.values, c.texts = got.numbers, got.texts
	case present == n:
		c.values, c.texts = append(c.values, got.numbers...), append(c.texts, got.texts...)
	default:
		c.fill(defined, got)
	}

	return nil
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
			c.values = append(c.values, got.numbers[k])
		default:
			c.values = append(c.values, math.NaN())
		}

		k += int(d)
	}
}

// decodePage decodes n values of a page of data.
func (c *column) decodePage(e format.Encoding, b []byte, n int64, dict words) (words, error) {
	switch {
	case e == format.RLE && c.kind == format.Boolean && len(b) >= 4:
		return c.indexed(append([]byte{1}, b[4:]...), n, words{numbers: []float64{0, 1}})
	case e == plainDictionary || e == format.RLEDictionary:
		return c.indexed(b, n, dict)
	case e == format.Plain || e == format.ByteStreamSplit:
		return c.decode(e, b, n)
	}

	return words{}, &fault.Error{
		Want:  "plain, dictionary, run-length or byte-stream-split encoding",
		Found: fmt.Sprintf("encoding %d (%s)", e, encodings[e]), Hint: "write it with a dictionary, or plain",
	}
}

// decode decodes n values that lie one after the other.
func (c *column) decode(e format.Encoding, b []byte, n int64) (w words, err error) {
	sizes := map[format.Type]int64{
		format.Int32: 4, format.Int64: 8, format.Float: 4, format.Double: 8, format.ByteArray: 4,
	}
	if n < 0 || n > int64(len(b))*8 || n*sizes[c.kind] > int64(len(b)) {
		return words{}, errPage
	}

	enc := parquet.LookupEncoding(e)
	switch c.kind {
	case format.Boolean:
		var bits []byte
		bits, err = enc.DecodeBoolean(nil, b)
		w.numbers = make([]float64, min(n, 8*int64(len(bits))))
		for i := range w.numbers {
			w.numbers[i] = float64(bits[i/8] >> (i % 8) & 1)
		}

	case format.Int32:
		var v []int32
		v, err = enc.DecodeInt32(nil, b)
		w.numbers = convert(v, func(v int32) float64 {
			if c.unsigned {
				return float64(uint32(v))
			}
			return float64(v)
		})

	case format.Int64:
		var v []int64
		v, err = enc.DecodeInt64(nil, b)
		w.numbers = convert(v, func(v int64) float64 {
			if c.unsigned {
				return float64(uint64(v))
			}
			return float64(v)
		})

	case format.Float:
		var v []float32
		v, err = enc.DecodeFloat(nil, b)
		w.numbers = convert(v, func(v float32) float64 { return float64(v) })

	case format.Double:
		w.numbers, err = enc.DecodeDouble(nil, b)

	case format.ByteArray:
		var text []byte
		var ends []uint32
		text, ends, err = enc.DecodeByteArray(nil, b, nil)
		for i := range max(1, len(ends)) - 1 {
			w.texts = append(w.texts, raw.Text(text[ends[i]:ends[i+1]]))
		}
	}

	return w.first(n, err)
}

func convert[T any](v []T, to func(T) float64) []float64 {
	x := make([]float64, len(v))
	for i := range x {
		x[i] = to(v[i])
	}

	return x
}

// first returns the first n of the values decoded.
func (w words) first(n int64, err error) (words, error) {
	switch {
	case err != nil:
		return words{}, err
	case n <= int64(len(w.numbers)):
		return words{numbers: w.numbers[:n]}, nil
	case n <= int64(len(w.texts)):
		return words{texts: w.texts[:n]}, nil
	}

	return words{}, errPage
}

// indexed reads n values as indices of a dictionary; their width is the first byte.
func (c *column) indexed(b []byte, n int64, dict words) (words, error) {
	if n == 0 {
		return words{}, nil
	}

	if len(b) == 0 || b[0] > 32 {
		return words{}, errPage
	}

	index, err := hybrid(b[1:], int(b[0]), n)
	if err != nil {
		return words{}, err
	}

	var out words
	if c.kind == format.ByteArray {
		out.texts = make([]string, 0, n)
	} else {
		out.numbers = make([]float64, 0, n)
	}

	for _, i := range index {
		switch {
		case c.kind == format.ByteArray && int(uint32(i)) < len(dict.texts):
			out.texts = append(out.texts, dict.texts[i])
		case c.kind != format.ByteArray && int(uint32(i)) < len(dict.numbers):
			out.numbers = append(out.numbers, dict.numbers[i])
		default:
			return words{}, errPage
		}
	}

	return out, nil
}

// hybrid reads n numbers of width bits in runs: of one number, or packed. The
// library makes room for as many as the runs state.
func hybrid(b []byte, width int, n int64) ([]int32, error) {
	end, have := 0, int64(0)
	for have < n {
		head, k := binary.Uvarint(b[end:])
		if k <= 0 || head < 2 || head > math.MaxInt32 {
			return nil, errPage
		}

		count, size := int64(head>>1), (width+7)/8

		packed := head&1 == 1
		if packed { // groups of eight
			count, size = 8*count, int(head>>1)*width
		}

		// Writers fill up the last run of groups.
		if end += k + size; end > len(b) || count >= n-have+8 && !(packed && width > 0) {
			return nil, errPage
		}

		have += count
	}

	x, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(make([]int32, 0, have), b[:end])
	if err == nil && int64(len(x)) < n {
		err = errPage
	}

	if err != nil {
		return nil, err
	}

	return x[:n], nil
}
