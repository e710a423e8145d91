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

// value returns the type of the values that feed the channel, and their offset in the rows. For DAQmx data they are
// those of the channel's scaler; the type is typeDAQmx if the segment does not have that scaler.
func (s *slot) value(c *channel) (typ uint32, offset int64) {
	for _, x := range s.scalers {
		if c.source < 0 || int64(x.id) == c.source {
			return x.typ, x.offset
		}
	}

	return s.typ, s.offset
}

// segment returns the segment that contains a chunk of the run.
func (r *run) segment(chunk int64) segment {
	i := sort.Search(len(r.segs), func(i int) bool { return r.segs[i].first+r.segs[i].chunks > chunk })
	return r.segs[i]
}

// read fills the beginning of dst with stored values of a channel, from sample s of the piece on. It returns how many
// it read: at least one, but not more than lie in evenly spaced rows and fit into the window.
func (p *piece) read(c *channel, dst []float64, s int64) (int64, error) {
	lay := p.run.lay
	slot := &lay.slots[p.slot]
	b := &lay.blocks[slot.block]

	typ, offset := slot.value(c) // of a value in its row
	if typ == typeDAQmx {
		return 0, fmt.Errorf("the segment has no DAQmx scaler %d", c.source)
	}

	chunk := s / b.n
	row := s % b.n
	seg := p.run.segment(chunk)

	stride := b.stride
	if b.n == 1 {
		stride = lay.size // one value a chunk: a chunk is a row
	}

	rows := b.n - row           // rows that are evenly spaced, from this one on
	if stride*b.n == lay.size { // the rows go on in the next chunk
		rows += (seg.first + seg.chunks - chunk - 1) * b.n
	}

	first := seg.offset + (chunk-seg.first)*lay.size + b.base + row*b.stride // offset of the row in the file
	k := min(int64(len(dst)), rows, max(1, (windowSize-b.stride)/stride+1))

	// If chunks are short, the window contains the next ones too.
	f := c.file
	ahead := int64(readAhead)
	if lay.size > readAhead {
		ahead = 0
	}

	var data []byte
	var err error
	if k == 1 && ahead == 0 { // only the value, not its row
		_, width := dataType(typ)
		data, err = f.window.Bytes(nil, f.src, first+offset, width, 0)
		offset = 0
	} else {
		data, err = f.window.Bytes(nil, f.src, first, (k-1)*stride+b.stride, ahead)
	}

	if err != nil {
		return 0, err
	}

	decodeValues(dst[:k], data[offset:], stride, typ, lay.big)

	return k, nil
}

// scale replaces each number in x by the value of a polynomial, by Horner's rule. poly are its coefficients, the
// constant first.
func scale(x, poly []float64) {
	for i, v := range x {
		y := 0.0
		for j := len(poly) - 1; j >= 0; j-- {
			y = y*v + poly[j]
		}

		x[i] = y
	}
}
