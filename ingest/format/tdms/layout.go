package tdms

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"doubletake/ingest/fault"
)

// piece is a stretch of a channel's samples that share a layout: the samples of a run.
type piece struct {
	run   *run
	slot  int   // index in the slots of the run's layout
	start int64 // number of the first sample
	n     int64 // number of samples
}

// run is a sequence of segments whose chunks have one layout.
type run struct {
	lay    *layout
	segs   []segment
	chunks int64 // of all segments
}

// segment is the raw data of one segment: whole chunks, one after the other.
type segment struct {
	offset int64 // of the raw data in the file
	first  int64 // number of the first chunk in the run
	chunks int64 // number of chunks
}

// layout says where the values lie in a chunk of raw data ("Raw Data"). A chunk is a list of blocks, and a channel has
// a slot in a block.
type layout struct {
	big    bool // values are big-endian
	blocks []block
	slots  []slot
	size   int64 // bytes of a chunk
}

// block is a table of n rows of stride bytes. If the data are contiguous, each channel has a block; if they are
// interleaved, all channels share one; DAQmx data have a block for each buffer.
type block struct {
	base   int64 // offset in the chunk
	stride int64 // bytes of a row; 0 for texts
	n      int64 // number of rows, which is the number of values of a channel
	size   int64 // bytes of the block: n·stride, or the size of the texts
}

// slot says where the values of a channel lie: one in each row of a block.
type slot struct {
	c       *channel
	block   int      // index in the blocks of the layout
	offset  int64    // of the value in a row
	typ     uint32   // type of the values; typeDAQmx if scalers give it
	scalers []scaler // for DAQmx data; nil otherwise
}

// builder builds a layout. The layout comes from the objects of one segment.
type builder struct {
	*layout
	segment int64 // offset of the segment, for messages
}

// fail returns an error of the segment.
func (lay builder) fail(format string, args ...any) error {
	return &fault.Error{Place: "segment at " + place(lay.segment), Err: fmt.Errorf(format, args...)}
}

// add adds a block to the chunk.
func (lay builder) add(b block) error {
	lay.size += b.size
	if lay.size < 0 || lay.size > 1<<60 { // it may have overflowed
		return lay.fail("a chunk of more than 2^60 bytes is claimed")
	}

	lay.blocks = append(lay.blocks, b)

	return nil
}

// arrange returns the layout of the chunks of the segment at an offset, by the objects of the current list. flags are
// bits of the table of contents.
func (r *reader) arrange(segment int64, flags uint32) (*layout, error) {
	lay := builder{layout: &layout{big: flags&tocBigEndian != 0}, segment: segment}

	var daqmx, others []*object
	for _, obj := range r.list {
		switch {
		case !obj.active:
		case obj.index.scalers != nil:
			daqmx = append(daqmx, obj)
		default:
			others = append(others, obj)
		}
	}

	addOthers := lay.addContiguous
	if flags&tocInterleaved != 0 {
		addOthers = lay.addInterleaved
	}

	if err := addOthers(others); err != nil {
		return nil, err
	}

	if len(daqmx) > 0 {
		if err := lay.addDAQmx(daqmx); err != nil {
			return nil, err
		}
	}

	return lay.layout, nil
}

// addInterleaved adds one block for all channels. A row has one value of each channel.
func (lay builder) addInterleaved(objects []*object) error {
	row := int64(0)  // bytes of a row
	rows := int64(0) // values of each channel
	for _, obj := range objects {
		if obj.index.typ == typeString {
			return lay.fail("%q holds texts within interleaved data", obj.path)
		}

		if row != 0 && obj.index.n != rows {
			return lay.fail("interleaved channels have %d and %d values", rows, obj.index.n)
		}

		lay.slots = append(lay.slots, slot{c: obj.c, offset: row, typ: obj.index.typ})

		_, width := dataType(obj.index.typ)
		row += width
		rows = obj.index.n
		if row > maxRow {
			return lay.fail("interleaved channels of more than %d bytes a sample are not read", maxRow)
		}
	}

	if row == 0 {
		return nil
	}

	if rows > maxBlock/row {
		return lay.fail("%d values in each interleaved channel are more than a file can have", rows)
	}

	return lay.add(block{stride: row, n: rows, size: row * rows})
}

// maxBlock bounds the bytes of a block, so that sums of them do not overflow.
const maxBlock = math.MaxInt64 / 16

// addContiguous adds a block for each channel, one after another.
func (lay builder) addContiguous(objects []*object) error {
	for _, obj := range objects {
		n := obj.index.n
		if n <= 0 {
			continue
		}

		_, width := dataType(obj.index.typ)
		b := block{base: lay.size, stride: width, n: n, size: width * n}
		if obj.index.typ == typeString {
			b.size = obj.index.size
		} else if n > maxBlock/width {
			return lay.fail("%q: %d values cannot be", obj.path, n)
		}

		lay.slots = append(lay.slots, slot{c: obj.c, block: len(lay.blocks), typ: obj.index.typ})
		if err := lay.add(b); err != nil {
			return err
		}
	}

	return nil
}

// addDAQmx adds a block for each buffer of DAQmx data. Channels whose scalers are not supported get an err.
func (lay builder) addDAQmx(daqmx []*object) error {
	if len(lay.slots) > 0 {
		return lay.fail("DAQmx raw data and other data are mixed")
	}

	widths := daqmx[0].index.widths
	counts, err := lay.bufferCounts(daqmx, widths)
	if err != nil {
		return err
	}

	for i, w := range widths {
		if counts[i] > maxBlock/max(1, w) {
			return lay.fail("%d values cannot be", counts[i])
		}

		if err := lay.add(block{base: lay.size, stride: w, n: counts[i], size: w * counts[i]}); err != nil {
			return err
		}
	}

	for _, obj := range daqmx {
		if obj.index.digital {
			obj.c.err = obj.c.fail("DAQmx digital line scalers are not read")
		}

		for _, scaler := range obj.index.scalers {
			if int(scaler.buffer) >= len(widths) || scaler.buffer != obj.index.scalers[0].buffer {
				obj.c.err = obj.c.fail("DAQmx scalers in different buffers are not read")
			}
		}

		if len(obj.index.scalers) > 0 && int(obj.index.scalers[0].buffer) < len(widths) {
			lay.slots = append(lay.slots, slot{
				c: obj.c, block: int(obj.index.scalers[0].buffer), typ: typeDAQmx,
				scalers: obj.index.scalers,
			})
		}
	}

	return nil
}

// bufferCounts returns the number of samples in each DAQmx buffer. It returns an error if channels disagree on it, or
// on the widths of the buffers.
func (lay builder) bufferCounts(daqmx []*object, widths []int64) ([]int64, error) {
	counts := make([]int64, len(widths))
	for _, obj := range daqmx {
		if !slices.Equal(obj.index.widths, widths) {
			return nil, lay.fail("%q: channels disagree on the DAQmx buffers", obj.path)
		}

		for _, scaler := range obj.index.scalers {
			if int(scaler.buffer) >= len(counts) {
				continue
			}

			if counts[scaler.buffer] != 0 && counts[scaler.buffer] != obj.index.n {
				return nil, lay.fail("%q: channels disagree on the samples of DAQmx buffer %d", obj.path, scaler.buffer)
			}

			counts[scaler.buffer] = obj.index.n
		}
	}

	return counts, nil
}

// part returns the layout of a last chunk that is not whole and has rest bytes. If the segment was cut, or if there is
// only one block, the values lie as in a whole chunk, as far as the chunk reaches. Otherwise the chunk contains the
// same share rest/size of the values of every channel, one channel after the other. part returns false if this share of
// a block is not a whole number of values, or if values have no fixed size.
func (lay *layout) part(rest int64, isCut bool) (part *layout, ok bool) {
	part = &layout{big: lay.big, slots: lay.slots, blocks: make([]block, len(lay.blocks)), size: rest}
	shared := !isCut && len(lay.blocks) > 1

	base := int64(0)
	for i, block := range lay.blocks {
		switch {
		case shared:
			// n·rest/size in 128 bits. The quotient is less than n, because rest is less than size.
			hi, lo := bits.Mul64(uint64(block.n), uint64(rest))
			n, remainder := bits.Div64(hi, lo, uint64(lay.size))
			if remainder != 0 || block.size != block.n*block.stride {
				return nil, false
			}

			block.base = base
			block.n = int64(n)
			base += block.n * block.stride

		case block.base+block.size <= rest: // the whole block is there
		case block.base >= rest || block.stride == 0:
			block.n = 0
		default:
			block.n = min(block.n, (rest-block.base)/block.stride)
		}

		block.size = block.n * block.stride
		part.blocks[i] = block
	}

	return part, true
}
