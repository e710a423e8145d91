package arrow

import (
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// plane gives access to a column as an array of one channel.
type plane struct {
	f *file
	c *column

	// The buffers of one batch, decompressed.
	batch    int    // number of the batch, from 1; 0 if there is none
	validity []byte // a bit for each row: 1 if the value is not missing; nil if none is missing
	values   []byte
}

// Read implements arrays.Plane. The rows of a batch are a part of the array.
func (p *plane) Read(_ []int, start int64, dst [][]float64) error {
	return arrays.Parts(p.f.ends, start, dst, p.read)
}

// read fills dst with values of batch i, from the row first of the batch on. Missing values become NaN.
func (p *plane) read(i int, first int64, dst []float64) (err error) {
	defer decode.Catch(&err)

	k := p.c.parts[i]
	size := int64(p.c.stored.Bytes())
	n := int64(len(dst))
	p.hold(i)
	raw.Decode(dst, p.bytes(k, p.values, k.values, first*size, (first+n)*size), p.c.stored, false, int(size))

	if !k.missing {
		return nil
	}

	validity := p.bytes(k, p.validity, k.validity, first/8, (first+n+7)/8)
	for i := range dst {
		bit := int(first%8) + i // the lowest bit of a byte is the first
		if validity[bit/8]>>(bit%8)&1 == 0 {
			dst[i] = math.NaN()
		}
	}

	return nil
}

// bytes returns the bytes begin to end of the buffer s. If the buffer is not compressed, it reads them from the file.
// Otherwise it takes them from held, the decompressed buffer, and raises an error if held is too short.
func (p *plane) bytes(k part, held []byte, s span, begin, end int64) []byte {
	if k.codec == noCodec {
		held = make([]byte, end-begin)
		readFull(p.f.r, held, s.begin+begin, k.place)

		return held
	}

	unless(end <= int64(len(held)), k.place, fmt.Sprintf("%d bytes", end), "%d bytes in its buffer", len(held))

	return held[begin:end]
}

// hold decompresses batch i of the column. It does nothing if the batch is held already or is not compressed. If the
// decompressed batches of all columns together are too large, hold drops the batches of the other columns.
func (p *plane) hold(i int) {
	k := p.c.parts[i]
	if k.codec == noCodec || p.batch == i+1 {
		return
	}

	p.drop()

	if k.missing {
		p.validity = p.f.unpack(k.place, k.codec, k.validity)
	}

	p.values = p.f.unpack(k.place, k.codec, k.values)
	p.batch = i + 1

	held := int64(0)
	for _, other := range p.f.held {
		held += int64(len(other.validity) + len(other.values))
	}

	if held > p.f.most {
		for _, other := range p.f.held {
			if other != p {
				other.drop()
			}
		}

		p.f.held = nil
	}

	if !slices.Contains(p.f.held, p) {
		p.f.held = append(p.f.held, p)
	}
}

// drop forgets the decompressed batch.
func (p *plane) drop() {
	p.batch = 0
	p.validity = nil
	p.values = nil
}
