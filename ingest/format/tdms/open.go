package tdms

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Bits of the table of contents, which says what a segment contains ("Lead In").
const (
	tocMetaData    = 1 << 1
	tocNewObjList  = 1 << 2
	tocRawData     = 1 << 3
	tocInterleaved = 1 << 5
	tocBigEndian   = 1 << 6
)

const (
	leadInSize = 28             // bytes of a lead-in
	unknown    = math.MaxUint64 // length of a segment that was not closed
)

// Limits of damaged files.
const (
	maxRow         = windowSize / 2 // bytes of a row of interleaved channels
	maxScalers     = 1024           // DAQmx scalers of a channel
	maxBuffers     = 1024           // DAQmx buffers of a channel
	maxWork        = 1 << 16        // steps of work in addition to the bytes of the file; see reader.work
	maxScaleInputs = 64             // scales of a channel
)

// reader reads the segments into f.
type reader struct {
	f       *file
	groups  map[string]*group  // by name
	objects map[string]*object // by path
	list    []*object          // objects of the current segment
	changed bool               // list, or an index in it, changed since lay was made
	flags   uint32             // byte order and interleaving of lay: bits of the table of contents
	lay     *layout            // layout of the last segment with raw data; nil before the first
	runs    []*run             // raw data of the segments that were read
	steps   int64              // steps of work done
}

// openFile reads the meta data of all segments. It returns a *fault.Error if the file is not a TDMS file, or if its
// meta data contradict themselves. If only one channel cannot be read, that channel has an err.
func openFile(src ingest.Source) (*file, error) {
	r := &reader{f: &file{src: src}, groups: map[string]*group{}, objects: map[string]*object{}}
	for offset := int64(0); offset < src.Size; {
		next, err := r.readSegment(offset)
		if err != nil {
			return nil, err
		}

		offset = next
	}

	r.finish()

	return r.f, nil
}

// place returns an offset in the file as the place of an error.
func place(offset int64) string { return fmt.Sprintf("byte %d", offset) }

// leadIn is the lead-in of a segment ("Lead In").
type leadIn struct {
	toc     uint32           // table of contents
	order   binary.ByteOrder // of the segment
	nextOff uint64           // bytes from the end of the lead-in to the next segment, or to the end of the file
	rawOff  uint64           // bytes from the end of the lead-in to the raw data
	cut     bool             // the segment was never finished, or the file ends before the segment does
}

// readLead reads the lead-in of the segment at an offset. whole is false if the file ends within the lead-in, which has
//
//	 0  4 bytes: "TDSm"
//	 4  4 bytes: table of contents, always little-endian
//	 8  4 bytes: version
//	12  8 bytes: bytes from the end of the lead-in to the next segment
//	20  8 bytes: bytes from the end of the lead-in to the raw data
func (r *reader) readLead(offset int64) (lead leadIn, whole bool, err error) {
	f := r.f

	var b [leadInSize]byte
	n, err := f.src.ReadAt(b[:min(leadInSize, f.src.Size-offset)], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return leadIn{}, false, &fault.Error{Place: place(offset), Err: fmt.Errorf("read lead-in: %w", err)}
	}

	if err := checkTag(b[:n], offset); err != nil {
		return leadIn{}, false, err
	}

	if n < leadInSize {
		return leadIn{}, false, nil
	}

	lead.toc = binary.LittleEndian.Uint32(b[4:])
	lead.order = binary.LittleEndian
	if lead.toc&tocBigEndian != 0 {
		lead.order = binary.BigEndian
	}

	version := lead.order.Uint32(b[8:])
	if version != 4712 && version != 4713 {
		return leadIn{}, false, fault.At("", place(offset+8), "version 4712 or 4713", fmt.Sprint(version), "")
	}

	if f.version == 0 {
		f.version = version
	}

	lead.nextOff = lead.order.Uint64(b[12:])
	lead.rawOff = lead.order.Uint64(b[20:])
	f.cutSegment(&lead, uint64(f.src.Size-offset-leadInSize))

	if lead.rawOff > lead.nextOff && !lead.cut {
		return leadIn{}, false, fault.At("", place(offset+20), fmt.Sprintf("a raw data offset of at most %d", lead.nextOff),
			fmt.Sprint(lead.rawOff), "")
	}

	return lead, true, nil
}

// checkTag returns an error if b, the beginning of the lead-in at an offset, does not begin with "TDSm". The first
// lead-in of a file must be whole; a later one may be cut short.
func checkTag(b []byte, offset int64) error {
	tag := string(b[:min(len(b), 4)])
	isTooShort := len(b) < leadInSize && offset == 0
	if tag == "TDSm"[:len(tag)] && !isTooShort {
		return nil
	}

	if tag == "TDSh" {
		return fault.At("", place(offset), `a segment, "TDSm"`, "an index file", "open the .tdms file next to it")
	}

	return fault.At("", place(offset), `a segment, "TDSm"`, fmt.Sprintf("%q", b[:min(len(b), 8)]), "")
}

// cutSegment notes a segment that was never finished, or that is longer than the available bytes behind its lead-in. It
// sets the end of such a segment to the end of the file.
func (f *file) cutSegment(lead *leadIn, available uint64) {
	switch {
	case lead.nextOff == unknown:
		f.unclosed = true
	case lead.nextOff > available:
		f.truncated = true
	default:
		return
	}

	lead.cut = true
	lead.nextOff = available
}

// readSegment reads the segment at an offset and returns the offset of the next one, or the end of the file.
func (r *reader) readSegment(offset int64) (int64, error) {
	f := r.f

	lead, whole, err := r.readLead(offset)
	if err != nil {
		return 0, err
	}

	if !whole {
		f.truncated = true
		f.warn("the file ends within the lead-in of a segment at byte %d", offset)

		return f.src.Size, nil
	}

	metaSize := int64(min(lead.rawOff, lead.nextOff))
	if lead.toc&tocMetaData != 0 {
		if lead.toc&tocNewObjList != 0 {
			r.clearList()
		}

		meta := &metaReader{
			b: bufio.NewReaderSize(io.NewSectionReader(f.src, offset+leadInSize, metaSize), 32<<10), offset: offset + leadInSize,
			left: metaSize, order: lead.order,
		}

		err := r.readMeta(meta)
		if err != nil && lead.cut && meta.left == 0 {
			f.warn("the file ends within the meta data of the segment at byte %d", offset)
			return f.src.Size, nil
		}

		if err != nil {
			return 0, err
		}
	}

	if lead.rawOff > lead.nextOff { // cut before the raw data
		return f.src.Size, nil
	}

	data := segmentData{
		segment: offset, offset: offset + leadInSize + metaSize, size: int64(lead.nextOff) - metaSize, cut: lead.cut,
	}
	if lead.toc&tocRawData != 0 && data.size > 0 {
		if err := r.addRaw(data, lead.toc&(tocBigEndian|tocInterleaved)); err != nil {
			return 0, err
		}
	}

	return offset + leadInSize + int64(lead.nextOff), nil
}

// clearList begins a new list of objects: none of the old ones has data in this segment.
func (r *reader) clearList() {
	for _, obj := range r.list {
		obj.position = -1
		obj.active = false
	}

	r.list = r.list[:0]
	r.changed = true
}

// warn adds a warning about data that are not read.
func (f *file) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// segmentData says where the raw data of a segment lie in the file.
type segmentData struct {
	segment int64 // offset of the segment
	offset  int64 // offset of the raw data
	size    int64 // bytes of raw data
	cut     bool  // the segment was never finished, or the file ends before the segment does
}

// work counts n steps of work for the segment at an offset. It returns an error with the given text if there were more
// than most steps in all: a small file must not make the reader work for minutes.
func (r *reader) work(segment int64, n int, most int64, found string) error {
	r.steps += int64(n)
	if r.steps > most {
		return &fault.Error{Place: "segment at " + place(segment), Found: found}
	}

	return nil
}

// addRaw adds the raw data of a segment to the runs. It begins a new run if the layout of the chunks changed. If the
// last chunk is not whole, it becomes a run of its own.
func (r *reader) addRaw(data segmentData, flags uint32) error {
	if r.lay == nil || r.changed || flags != r.flags {
		most := maxWork + r.f.src.Size
		if err := r.work(data.segment, len(r.list), most, "the list of objects changes too often"); err != nil {
			return err
		}

		lay, err := r.arrange(data.segment, flags)
		if err != nil {
			return err
		}

		r.lay = lay
		r.changed = false
		r.flags = flags
		r.runs = append(r.runs, &run{lay: lay})
	}

	if r.lay.size == 0 {
		r.f.warn("the segment at byte %d has %d bytes of raw data that belong to no channel", data.segment, data.size)
		return nil
	}

	chunks := data.size / r.lay.size
	if chunks > 0 {
		last := r.runs[len(r.runs)-1]
		last.segs = append(last.segs, segment{offset: data.offset, first: last.chunks, chunks: chunks})
		last.chunks += chunks
	}

	return r.addPart(data, chunks*r.lay.size)
}

// addPart adds the last chunk of a segment as a run of its own if the chunk is not whole. The chunk begins at an offset
// in the raw data of the segment.
func (r *reader) addPart(data segmentData, begin int64) error {
	lay := r.lay
	rest := data.size - begin
	if rest == 0 {
		return nil
	}

	part, ok := lay.part(rest, data.cut)
	if !ok {
		r.f.warn("the segment at byte %d ends with %d bytes that are no whole chunk of %d: they are not read", data.segment,
			rest, lay.size)
		return nil
	}

	steps := len(lay.blocks) + len(lay.slots)
	most := maxWork + 2*r.f.src.Size
	if err := r.work(data.segment, steps, most, "too many chunks that are not whole"); err != nil {
		return err
	}

	// The part is a run alone, and the next segment begins another run: rows do not continue from one into the other.
	partSegment := segment{offset: data.offset + begin, chunks: 1}
	r.runs = append(r.runs, &run{lay: part, segs: []segment{partSegment}, chunks: 1}, &run{lay: lay})

	return nil
}

// finish gives the data of all runs to the channels, and reads the channels' scales.
func (r *reader) finish() {
	f := r.f

	for _, run := range r.runs {
		for i, s := range run.lay.slots {
			n := run.lay.blocks[s.block].n * run.chunks
			if n > 0 {
				s.c.addPiece(piece{run: run, slot: i, start: s.c.samples, n: n}, &s)
			}
		}
	}

	for _, channel := range f.channels {
		if channel.err == nil {
			channel.err = channel.scaling(&channel.props, &channel.group.props, &f.root)
		}
	}
}

// addPiece adds a piece of samples to the channel. s is the slot of the piece. If its values are not numbers, the
// channel gets an err.
func (c *channel) addPiece(p piece, s *slot) {
	typ := s.typ
	if len(s.scalers) > 0 {
		typ = s.scalers[0].typ
	}

	name, _ := dataType(typ)
	if typ == typeDAQmx {
		name = "digital line"
	}

	if c.typ == "" {
		c.typ = name
	}

	if _, numeric := numbers[typ]; c.err == nil && !numeric {
		c.err = c.fail("values of type %s are not numbers", name)
	}

	c.pieces = append(c.pieces, p)
	c.samples += p.n
}
