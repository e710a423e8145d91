package hdf5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"doubletake/ingest/format/internal/inflate"
	"doubletake/ingest/format/internal/raw"
)

// The filters that this package can undo, by their registered numbers.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

// filterNames has the names of the registered filters that people meet.
var filterNames = map[uint16]string{
	filterDeflate: "deflate", filterShuffle: "shuffle", filterFletcher: "fletcher32", filterLZF: "lzf",
	4: "szip", 5: "nbit", 6: "scaleoffset", 305: "LZO", 307: "bzip2", 32001: "blosc", 32002: "MAFISC",
	32003: "Snappy", 32004: "lz4", 32008: "bitshuffle", 32009: "SPDP", 32010: "LPC-Rice", 32011: "CCSDS-123",
	32012: "JPEG-LS", 32013: "zfp", 32014: "fpzip", 32015: "zstd", 32016: "B3D", 32017: "SZ", 32018: "FCIDECOMP",
	32019: "JPEG", 32022: "Granular BitRound", 32023: "BitGroom", 32024: "SZ3", 32026: "blosc2",
	32028: "JPEG 2000", 32029: "HTJ2K",
}

// filter is a filter that was applied to chunks.
type filter struct {
	id     uint16
	params []uint32 // settings, whose meaning depends on the filter
}

// maxFilters is the largest number of filters: the mask of a chunk has a bit for each.
const maxFilters = 32

// String returns the name of a filter for people.
func (f filter) String() string {
	if n, ok := filterNames[f.id]; ok {
		return n
	}
	return fmt.Sprintf("filter %d", f.id)
}

// filters reads a filter pipeline message into st ("Filter Pipeline Message"): version, number of filters, in version
// 1 six bytes of padding, and the filters. It raises an error if a filter cannot be undone.
func (p *parser) filters(st *storage, b []byte) {
	fields := p.message(b, "filter pipeline")
	version := fields.u8()
	n := int(fields.u8())

	switch version {
	case 1:
		fields.skip(6)
	case 2:
	default:
		unsupported("filter pipeline version %d", version)
	}

	p.unless(n <= maxFilters, undefined, "%d filters: the format allows %d", n, maxFilters)

	why := "" // describes the first filter that cannot be undone
	seen := map[uint16]bool{}
	st.filters = nil

	for range n {
		f, name := fields.filter(version)

		what := fmt.Sprintf("filter %d", f.id)
		if title := cmp.Or(filterNames[f.id], name); title != "" {
			what += " (" + title + ")"
		}

		switch {
		case !f.undone():
			why = cmp.Or(why, what)
		case seen[f.id]: // a chunk compressed twice could be too large, and nobody does it
			why = cmp.Or(why, what+" twice")
		}

		seen[f.id] = true
		st.filters = append(st.filters, f)
	}

	if seen[filterDeflate] && seen[filterLZF] {
		why = cmp.Or(why, "filter 32000 (lzf) together with deflate")
	}

	supported(why == "", "%s", why)
}

// undone reports whether this package can undo the filter.
func (f filter) undone() bool {
	switch f.id {
	case filterDeflate, filterShuffle, filterFletcher, filterLZF:
		return true
	default:
		return false
	}
}

// filter reads a filter of a filter pipeline message, and its name in the file: number, length of the name (not in
// version 2 for numbers below 256), flags, number of settings, in 2 bytes each, and the name and the settings.
func (c *cursor) filter(version uint8) (f filter, name string) {
	f.id = c.u16()

	nameSize := 0
	if version == 1 || f.id >= 256 {
		nameSize = int(c.u16())
	}

	c.skip(2)
	n := int(c.u16())
	name = raw.Decoded(cut(c.take(nameSize)))

	for range n {
		f.params = append(f.params, c.u32())
	}

	if version == 1 && n%2 == 1 {
		c.skip(4)
	}

	return f, name
}

// undo undoes the filters of a chunk, the last one first, and returns the chunk, which must have size bytes. raw are
// the bytes in the file, which undo may change. A filter whose bit of mask is set was not applied. esize is the size
// of an element.
func (r *Reader) undo(filters []filter, mask uint32, raw []byte, size, esize int) ([]byte, error) {
	for i := len(filters) - 1; i >= 0; i-- {
		if mask&(1<<i) != 0 {
			continue
		}

		var err error
		switch f := filters[i]; f.id {
		case filterFletcher:
			raw, err = r.unsum(raw)
		case filterShuffle:
			raw = f.unshuffle(raw, esize)
		case filterDeflate, filterLZF:
			raw, err = r.expand(f, raw, sizeBefore(filters[:i], mask, size))
		}

		if err != nil {
			return nil, err
		}
	}

	if len(raw) != size {
		return nil, fmt.Errorf("it has %d bytes and should have %d", len(raw), size)
	}

	return raw, nil
}

// sizeBefore returns the number of bytes of a chunk of size bytes after the given filters. They must not compress, so
// that only checksums change the size, by 4 bytes each.
func sizeBefore(filters []filter, mask uint32, size int) int {
	for i, f := range filters {
		if mask&(1<<i) == 0 && f.id == filterFletcher {
			size += 4
		}
	}

	return size
}

// expand decompresses data to want bytes.
func (r *Reader) expand(f filter, raw []byte, want int) ([]byte, error) {
	// Deflate reaches a larger ratio than lzf, so that its ratio bounds both.
	if want/inflate.MaxRatio > len(raw)+1 {
		return nil, fmt.Errorf("%d bytes stored cannot hold a chunk of %d", len(raw), want)
	}

	data := make([]byte, want)

	var n int
	var err error
	if f.id == filterLZF {
		n, err = unLZF(data, raw)
	} else {
		n, err = r.inflate(data, raw)
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}

	if n < want {
		return nil, fmt.Errorf("%s: the data end after %d of %d bytes", f, n, want)
	}

	return data, nil
}

// unshuffle puts the bytes of each element together again. An element has the size that the filter states, or esize
// bytes.
func (f filter) unshuffle(raw []byte, esize int) []byte {
	step := esize
	if len(f.params) > 0 && f.params[0] > 0 {
		step = int(min(f.params[0], 1<<30))
	}

	if step <= 1 {
		return raw
	}

	data := make([]byte, len(raw))
	unshuffle(data, raw, step)

	return data
}

// unsum verifies the checksum at the end of a chunk and returns the bytes before it.
func (r *Reader) unsum(raw []byte) ([]byte, error) {
	n := len(raw) - 4
	if n < 0 {
		return nil, fmt.Errorf("%d bytes are too few for a checksum", len(raw))
	}

	// Version 1.6.2 of the library swapped the bytes of each half on some machines.
	stored := binary.LittleEndian.Uint32(raw[n:])
	sum := fletcher32(raw[:n])
	swapped := sum>>8&0x00ff00ff | sum&0x00ff00ff<<8
	if stored != sum && stored != swapped && !r.p.lax {
		return nil, fmt.Errorf("the fletcher32 checksum is %#08x and should be %#08x", sum, stored)
	}

	return raw[:n], nil
}

// inflate decompresses a zlib stream to dst and returns the number of bytes, which is smaller than len(dst) if the
// stream is shorter. It returns an error if the stream does not fit into dst, if it is cut off, or if its checksum is
// wrong.
func (r *Reader) inflate(dst, raw []byte) (int, error) {
	src := bytes.NewReader(raw)
	if r.inflater == nil {
		r.inflater = inflate.NewZlibReader(src)
	} else {
		r.inflater.Reset(src)
	}

	n, err := io.ReadFull(r.inflater, dst)

	// For a whole stream that is shorter than dst, io.ReadFull returns io.EOF or io.ErrUnexpectedEOF. For a stream that is
	// cut off, it returns io.ErrUnexpectedEOF, too. One more Read tells them apart: at the end of a whole stream it
	// compares the checksum and returns io.EOF.
	isRead := err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if !isRead {
		return 0, err
	}

	var next [1]byte
	more, err := r.inflater.Read(next[:])

	switch {
	case more > 0:
		return 0, fmt.Errorf("the data go on after %d bytes", len(dst))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, errors.New("the compressed data are cut off")
	case !errors.Is(err, io.EOF):
		return 0, err
	}

	return n, nil
}

// unshuffle puts the bytes of each element together again and writes the elements to dst, which is as long as raw. raw
// has the first bytes of all elements, then their second bytes, and so on. An element has step bytes. Bytes that are
// not a whole element stay at the end.
func unshuffle(dst, raw []byte, step int) {
	n := len(raw) / step
	switch step {
	case 2:
		a, b := raw[:n], raw[n:2*n]
		for i := range n {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(a[i])|uint16(b[i])<<8)
		}

	case 4:
		a, b, c, d := raw[:n], raw[n:2*n], raw[2*n:3*n], raw[3*n:4*n]
		for i := range n {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}

	case 8:
		a, b, c, d := raw[:n], raw[n:2*n], raw[2*n:3*n], raw[3*n:4*n]

		e, f, g, h := raw[4*n:5*n], raw[5*n:6*n], raw[6*n:7*n], raw[7*n:8*n]
		for i := range n {
			lo := uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
			hi := uint32(e[i]) | uint32(f[i])<<8 | uint32(g[i])<<16 | uint32(h[i])<<24
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(lo)|uint64(hi)<<32)
		}

	default:
		for j := range min(step, len(raw)) {
			if n == 0 {
				break
			}

			for i, x := range raw[j*n : (j+1)*n] {
				dst[i*step+j] = x
			}
		}
	}

	copy(dst[n*step:], raw[n*step:])
}

// fletcher32 returns the checksum of chunks: a Fletcher checksum over big-endian words of 16 bits.
func fletcher32(b []byte) uint32 {
	var s1, s2 uint64

	// The definition folds the sums after every 360 words. Folding them less often gives the same result, as long as they
	// fit into 64 bits, as the sums of 2^16 words do.
	for len(b) >= 2 {
		n := min(len(b)/2, 1<<16)
		block := b[:2*n]
		b = b[2*n:]

		for ; len(block) >= 2; block = block[2:] {
			s1 += uint64(binary.BigEndian.Uint16(block))
			s2 += s1
		}

		s1 = fold(s1)
		s2 = fold(s2)
	}

	if len(b) == 1 {
		s1 += uint64(b[0]) << 8
		s2 += s1
	}

	return uint32(fold(s2))<<16 | uint32(fold(s1))
}

// fold adds the bits beyond the lowest 16 to the lowest 16 until there are none. The result is s modulo 65535, or 65535
// instead of 0.
func fold(s uint64) uint64 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return s
}

// unLZF decompresses data of LZF to dst and returns the number of bytes. It returns an error if they do not fit. A
// control byte c below 32 is followed by c + 1 bytes that are copied. Any other control byte begins a reference to
// bytes that were written before: its upper 3 bits are the length − 2, or 7 if a byte follows whose value is added to
// the length, and its lower 5 bits and the next byte are the distance back − 1.
func unLZF(dst, raw []byte) (int, error) {
	n := 0 // bytes written to dst
	for i := 0; i < len(raw); {
		control := int(raw[i])
		i++

		if control < 32 {
			literals := control + 1
			if i+literals > len(raw) || n+literals > len(dst) {
				return 0, fmt.Errorf("the data are damaged at byte %d", i-1)
			}

			copy(dst[n:], raw[i:i+literals])
			i += literals
			n += literals
			continue
		}

		length := control >> 5
		if length == 7 {
			if i >= len(raw) {
				return 0, errors.New("the data are cut off")
			}

			length += int(raw[i])
			i++
		}

		length += 2

		if i >= len(raw) {
			return 0, errors.New("the data are cut off")
		}

		back := ((control&31)<<8 | int(raw[i])) + 1
		i++

		if back > n || n+length > len(dst) {
			return 0, fmt.Errorf("the data are damaged at byte %d", i-1)
		}

		for range length { // byte by byte, because the bytes may overlap their copy
			dst[n] = dst[n-back]
			n++
		}
	}

	return n, nil
}
