package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// Encodings.
const (
	plain           = 0
	plainDictionary = 2
	runLength       = 3
	dictionary      = 8
	split           = 9 // the bytes of floats in streams of their own
)

// encodings names those that are not read.
var encodings = map[int64]string{
	5: "delta binary packed", 6: "delta length byte array", 7: "delta byte array",
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
func (f *file) pages(c *column, m value, rows int64) error {
	at := m.at(9).n
	if d := m.at(11).n; m.has(11) && d > 0 && d < at {
		at = d
	}
	size := m.at(7).n
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
		h, n, err := decode(b[:min(len(b), 1<<16)])
		if err != nil {
			return err
		}
		length, whole := h.at(3).n, h.at(2).n
		b = b[n:]
		if length < 0 || length > int64(len(b)) || whole < 0 || whole > maxPage {
			return errPage
		}
		body := b[:length]
		b = b[length:]
		switch h.at(1).n {
		case 2:
			if body, err = unpack(body, m.at(4).n, whole); err != nil {
				return err
			}
			d := h.at(7)
			if e := d.at(2).n; e != plain && e != plainDictionary {
				return errPage
			}
			if dict, err = c.plain(body, d.at(1).n); err != nil {
				return err
			}
		case 0:
			if body, err = unpack(body, m.at(4).n, whole); err != nil {
				return err
			}
			d := h.at(5)
			levels := []byte(nil)
			if c.optional {
				if len(body) < 4 || int64(binary.LittleEndian.Uint32(body)) > int64(len(body)-4) || d.at(3).n != runLength {
					return errPage
				}
				n := 4 + int(binary.LittleEndian.Uint32(body))
				levels, body = body[4:n], body[n:]
			}
			if err := c.page(levels, body, d.at(1).n, d.at(2).n, rows, dict); err != nil {
				return err
			}
		case 3:
			d := h.at(8)
			n := d.at(5).n + d.at(6).n
			if d.at(5).n < 0 || d.at(6).n < 0 || n > int64(len(body)) || n < 0 {
				return errPage
			}
			levels, rest := body[d.at(6).n:n], body[n:]
			if !d.has(7) || d.at(7).n == 1 {
				if rest, err = unpack(rest, m.at(4).n, whole-n); err != nil {
					return err
				}
			}
			if err := c.page(levels, rest, d.at(1).n, d.at(4).n, rows, dict); err != nil {
				return err
			}
		}
	}
	return nil
}

// zstandard makes the decoder of all pages, whose buffers take a megabyte. It writes no
// further than the capacity that it is given.
var zstandard = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPage))
})

// unpack decompresses a page that is size bytes long.
func unpack(b []byte, codec, size int64) ([]byte, error) {
	if size < 0 {
		return nil, errPage
	}
	var out []byte
	var err error
	switch codec {
	case 0:
		return b, nil
	case 1:
		var n int
		if n, err = snappy.DecodedLen(b); err != nil || int64(n) != size {
			return nil, errors.Join(errPage, err)
		}
		out, err = snappy.Decode(nil, b)
	case 2:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, err = io.ReadAll(io.LimitReader(z, size+1))
		}
	default:
		var z *zstd.Decoder
		if z, err = zstandard(); err != nil {
			return nil, err
		}
		// A page may claim more than it holds, so memory for all of it comes last.
		for room := min(size, int64(len(b))<<6); ; room = min(size, room<<3) {
			out, err = z.DecodeAll(b, make([]byte, 0, room))
			if room == size || !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				break
			}
		}
	}
	if err == nil && int64(len(out)) != size {
		err = errPage
	}
	return out, err
}

// page adds the values of a page: n of them, by their definition levels.
func (c *column) page(levels, body []byte, n, encoding, rows int64, dict words) error {
	if n < 0 || n > rows-c.have() {
		return errPage
	}
	present := n
	var defined []uint32
	if c.optional {
		var err error
		if defined, err = hybrid(levels, 1, n); err != nil {
			return err
		}
		present = 0
		for _, d := range defined {
			present += int64(d)
		}
	}
	var got words
	var err error
	switch encoding {
	case plain:
		got, err = c.plain(body, present)
	case plainDictionary, dictionary:
		got, err = c.indexed(body, present, dict)
	case runLength:
		if c.kind != boolean || len(body) < 4 {
			return errPage
		}
		got, err = c.indexed(append([]byte{1}, body[4:]...), present, words{numbers: []float64{0, 1}})
	case split:
		got, err = c.plain(join(body, c.kind), present)
	default:
		return &fault.Error{
			Want:  "plain, dictionary, run-length or byte-stream-split encoding",
			Found: fmt.Sprintf("encoding %d (%s)", encoding, encodings[encoding]), Hint: "write it with a dictionary, or plain",
		}
	}
	if err != nil {
		return err
	}
	if !c.optional {
		c.values, c.texts = append(c.values, got.numbers...), append(c.texts, got.texts...)
		return nil
	}
	k := 0
	for _, d := range defined {
		switch {
		case c.kind == byteArray && d == 1:
			c.texts = append(c.texts, got.texts[k])
		case c.kind == byteArray:
			c.texts = append(c.texts, "")
		case d == 1:
			c.values = append(c.values, got.numbers[k])
		default:
			c.values = append(c.values, math.NaN())
		}
		k += int(d)
	}
	return nil
}

// join puts together floats whose bytes lie in streams of their own.
func join(b []byte, kind int64) []byte {
	size := map[int64]int{float: 4, double: 8, int32Type: 4, int64Type: 8}[kind]
	if size == 0 || len(b)%size != 0 {
		return nil
	}
	out, n := make([]byte, len(b)), len(b)/size
	for i := range b {
		out[i%n*size+i/n] = b[i]
	}
	return out
}

// plain reads n values one after the other.
func (c *column) plain(b []byte, n int64) (words, error) {
	size := map[int64]int64{boolean: 0, int32Type: 4, int64Type: 8, float: 4, double: 8, byteArray: 4}[c.kind]
	if n < 0 || n > int64(len(b))*8 || size > 0 && n > int64(len(b))/size {
		return words{}, errPage
	}
	if c.kind == byteArray {
		texts := make([]string, 0, n)
		for range n {
			if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
				return words{}, errPage
			}
			end := 4 + int(binary.LittleEndian.Uint32(b))
			texts = append(texts, raw.Text(b[4:end]))
			b = b[end:]
		}
		return words{texts: texts}, nil
	}
	x := make([]float64, n)
	le := binary.LittleEndian
	for i := range x {
		switch c.kind {
		case boolean:
			x[i] = float64(b[i/8] >> (i % 8) & 1)
		case int32Type:
			if v := le.Uint32(b[4*i:]); c.unsigned {
				x[i] = float64(v)
			} else {
				x[i] = float64(int32(v))
			}
		case int64Type:
			if v := le.Uint64(b[8*i:]); c.unsigned {
				x[i] = float64(v)
			} else {
				x[i] = float64(int64(v))
			}
		case float:
			x[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		default:
			x[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	}
	return words{numbers: x}, nil
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
	for _, i := range index {
		switch {
		case c.kind == byteArray && int(i) < len(dict.texts):
			out.texts = append(out.texts, dict.texts[i])
		case c.kind != byteArray && int(i) < len(dict.numbers):
			out.numbers = append(out.numbers, dict.numbers[i])
		default:
			return words{}, errPage
		}
	}
	return out, nil
}

// hybrid reads n numbers of width bits in runs: of one number, or packed.
func hybrid(b []byte, width int, n int64) ([]uint32, error) {
	out := make([]uint32, 0, min(n, int64(len(b))*8+8))
	for int64(len(out)) < n {
		head, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, errPage
		}
		b = b[k:]
		left := n - int64(len(out))
		if head&1 == 0 { // a run
			size := (width + 7) / 8
			if len(b) < size || head == 0 {
				return nil, errPage
			}
			v := uint32(0)
			for i := range size {
				v |= uint32(b[i]) << (8 * i)
			}
			if v>>width != 0 { // 0 where width is 32
				return nil, errPage
			}
			b = b[size:]
			for range min(uint64(left), head>>1) {
				out = append(out, v)
			}
			continue
		}
		groups := head >> 1 // of eight
		if groups == 0 || groups > 1<<28 {
			return nil, errPage
		}
		bits := uint64(0)
		have, used := 0, 0
		for range min(uint64(left), groups*8) {
			for have < width {
				if used == len(b) {
					return nil, errPage
				}
				bits |= uint64(b[used]) << have
				have, used = have+8, used+1
			}
			out = append(out, uint32(bits&(1<<width-1)))
			bits >>= width
			have -= width
		}
		b = b[min(uint64(len(b)), groups*uint64(width)):]
	}
	return out, nil
}
