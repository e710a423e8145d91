package tdms

import (
	"fmt"
	"sort"

	"doubletake/ingest/fault"
)

const (
	windowSize = 256 << 10 // bytes that are read at a time, at most
	readAhead  = 64 << 10  // bytes that are read at a time, at least, if chunks are short
)

// Read implements arrays.Plane. It reads all channels in steps that fit into the window, so that interleaved channels
// share the bytes in it.
func (f *file) Read(channels []int, start int64, dst [][]float64) error {
	n := int64(len(dst[0]))
	step := max(1, windowSize/f.longestRow(channels))

	for done := int64(0); done < n; done += step {
		for i, c := range channels {
			if err := f.channels[c].read(dst[i][done:min(n, done+step)], start+done); err != nil {
				return err
			}
		}
	}

	return nil
}

// longestRow returns the bytes of the longest row that contains a value of one of the channels, and at least 1.
func (f *file) longestRow(channels []int) int64 {
	longest := int64(1)
	for _, c := range channels {
		for _, piece := range f.channels[c].pieces {
			lay := piece.run.lay
			longest = max(longest, lay.blocks[lay.slots[piece.slot].block].stride)
		}
	}

	return longest
}

// read fills dst with the samples from start on, scaled as the file states. Integers beyond 2^53 are rounded.
func (c *channel) read(dst []float64, start int64) error {
	i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].start+c.pieces[i].n > start })
	for done := int64(0); done < int64(len(dst)); {
		piece := c.pieces[i]
		k, err := piece.read(c, dst[done:], start+done-piece.start)
		if err != nil {
			place := fmt.Sprintf("channel %q, sample %d", c.path, start+done)
			return &fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)}
		}

		done += k
		if start+done == piece.start+piece.n {
			i++
		}
	}

	for _, poly := range c.chain {
		scale(dst, poly)
	}

	return nil
}

// value returns the type of the values of a channel, and their offset in the rows. For DAQmx data, these are the type
// and the offset of the channel's scaler; the type is typeDAQmx if the segment does not have that scaler.
func (s *slot) value(c *channel) (typ uint32, offset int64) {
	for _, scaler := range s.scalers {
		if c.source < 0 || int64(scaler.id) == c.source {
			return scaler.typ, scaler.offset
		}
	}

	return s.typ, s.offset
}

// segment returns the segment that contains a chunk of the run.
func (r *run) segment(chunk int64) segment {
	i := sort.Search(len(r.segs), func(i int) bool { return r.segs[i].first+r.segs[i].chunks > chunk })
	return r.segs[i]
}

// rowSpan says where evenly spaced rows lie in the file.
type rowSpan struct {
	offset int64 // of the first row in the file
	width  int64 // bytes of a row
	stride int64 // bytes from the beginning of a row to the beginning of the next one
	n      int64 // number of rows
}

// rowsFrom returns the rows with the samples of the piece from the given sample on, as far as they are evenly spaced:
// at least one row.
func (p *piece) rowsFrom(sample int64) rowSpan {
	lay := p.run.lay
	b := &lay.blocks[lay.slots[p.slot].block]

	chunk := sample / b.n
	row := sample % b.n // in the chunk
	seg := p.run.segment(chunk)
	chunkOffset := seg.offset + (chunk-seg.first)*lay.size

	rows := rowSpan{offset: chunkOffset + b.base + row*b.stride, width: b.stride, stride: b.stride, n: b.n - row}
	if b.n == 1 {
		rows.stride = lay.size // each chunk has one row
	}

	goesOn := rows.stride*b.n == lay.size // the first row of the next chunk follows in the same distance
	if goesOn {
		laterChunks := seg.first + seg.chunks - chunk - 1
		rows.n += laterChunks * b.n
	}

	return rows
}

// read fills the beginning of dst with stored values of a channel, from the given sample of the piece on. It returns
// how many it read: at least one, but not more than lie in evenly spaced rows and fit into the window.
func (p *piece) read(c *channel, dst []float64, sample int64) (int64, error) {
	lay := p.run.lay
	typ, offset := lay.slots[p.slot].value(c) // of a value in its row
	if typ == typeDAQmx {
		return 0, fmt.Errorf("the segment has no DAQmx scaler %d", c.source)
	}

	rows := p.rowsFrom(sample)
	rows.n = min(rows.n, int64(len(dst)), max(1, (windowSize-rows.width)/rows.stride+1))

	data, err := p.bytes(c, rows, typ, offset)
	if err != nil {
		return 0, err
	}

	decodeValues(dst[:rows.n], data, rows.stride, typ, lay.big)

	return rows.n, nil
}

// bytes returns bytes of the file, from the value at an offset of the first row up to the end of the last row. If
// chunks are short, it reads some of the following chunks too, and keeps them in the window. If it is asked for a
// single row of a long chunk, it reads only the value.
func (p *piece) bytes(c *channel, rows rowSpan, typ uint32, offset int64) ([]byte, error) {
	f := c.file
	isLongChunk := p.run.lay.size > readAhead
	if isLongChunk && rows.n == 1 {
		_, width := dataType(typ)
		return f.window.Bytes(nil, f.src, rows.offset+offset, width, 0)
	}

	ahead := int64(readAhead)
	if isLongChunk {
		ahead = 0
	}

	data, err := f.window.Bytes(nil, f.src, rows.offset, (rows.n-1)*rows.stride+rows.width, ahead)
	if err != nil {
		return nil, err
	}

	return data[offset:], nil
}

// scale replaces each number in x by the value of a polynomial, by Horner's rule. poly are its coefficients, the
// constant first.
func scale(x, poly []float64) {
	for i, v := range x {
		y := 0.0
		for j := len(poly) - 1; j >= 0; j-- {
			y = float64(y*v) + poly[j] // the product is rounded, so that no machine fuses it with the sum
		}

		x[i] = y
	}
}
