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
	"doubletake/internal/lists"
)

// The filters that are undone.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

// filterNames are those of the registry people meet.
var filterNames = map[uint16]string{
	1: "deflate", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
	305: "LZO", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32002: "MAFISC", 32003: "Snappy", 32004: "lz4",
	32008: "bitshuffle", 32009: "SPDP", 32010: "LPC-Rice", 32011: "CCSDS-123", 32012: "JPEG-LS", 32013: "zfp",
	32014: "fpzip",
	32015: "zstd", 32016: "B3D", 32017: "SZ", 32018: "FCIDECOMP", 32019: "JPEG", 32022: "Granular BitRound",
	32023: "BitGroom",
	32024: "SZ3", 32026: "blosc2", 32028: "JPEG 2000", 32029: "HTJ2K",
}

// filter is one step of a dataset's pipeline.
type filter struct {
	id     uint16
	params []uint32
}

func (f filter) String() string {
	if n, ok := filterNames[f.id]; ok {
		return n
	}
	return fmt.Sprintf("filter %d", f.id)
}

// filters reads a filter pipeline message.
func (p *parser) filters(st *storage, b []byte) {
	c := p.message(b, "filter pipeline")
	version, n := c.u8(), int(c.u8())

	switch version {
	case 1:
		c.skip(6)
	case 2:
	default:
		unsupported("filter pipeline version %d", version)
	}

	p.unless(n <= 32, undefined, "%d filters: the format allows 32", n) // a mask of 32 bits marks those applied

	why, seen := "", map[uint16]bool{} // why names the first filter that is not undone here
	st.filters = nil

	for range n {
		f := filter{id: c.u16()}

		nName := 0
		if version == 1 || f.id >= 256 {
			nName = int(c.u16())
		}

		c.skip(2)
		nPar := int(c.u16())
		name := c.take(nName)

		f.params = lists.Make(nPar, func(int) uint32 { return c.u32() })
		if version == 1 && nPar%2 == 1 {
			c.skip(4)
		}

		what := fmt.Sprintf("filter %d", f.id)
		if known := cmp.Or(filterNames[f.id], raw.Latin1(cut(name))); known != "" {
			what += " (" + known + ")"
		}

		undone := f.id >= filterDeflate && f.id <= filterFletcher || f.id == filterLZF

		switch {
		case !undone:
			why = cmp.Or(why, what)
		case seen[f.id]: // it would multiply what a chunk can claim to hold, and nobody does it
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

// undo undoes the filters of a chunk of size bytes, in place where it can.
// Each filter whose bit of mask is set was not applied.
func (r *Reader) undo(fs []filter, mask uint32, raw []byte, size, esize int) (_ []byte, err error) {
	for i := len(fs) - 1; i >= 0; i-- {
		if mask&(1<<i) != 0 {
			continue
		}

		// What comes out here is what the filters before it made of the chunk.
		want := size
		for j := range i {
			if mask&(1<<j) == 0 && fs[j].id == filterFletcher {
				want += 4
			}
		}

		switch fs[i].id {
		case filterFletcher:
			if raw, err = r.unsum(raw); err != nil {
				return nil, err
			}

		case filterShuffle:
			step := esize
			if len(fs[i].params) > 0 && fs[i].params[0] > 0 {
				step = int(min(fs[i].params[0], 1<<30))
			}

			if step > 1 {
				out := make([]byte, len(raw))
				unshuffle(out, raw, step)
				raw = out
			}

		case filterDeflate, filterLZF:
			// Lzf makes less of a byte than deflate.
			if want/inflate.MaxRatio > len(raw)+1 {
				return nil, fmt.Errorf("%d bytes stored cannot hold a chunk of %d", len(raw), want)
			}

			out := make([]byte, want)

			expand := r.inflate
			if fs[i].id == filterLZF {
				expand = unLZF
			}

			n, err := expand(out, raw)
			if err == nil && n < want {
				err = fmt.Errorf("the data end after %d of %d bytes", n, want)
			}

			if err != nil {
				return nil, fmt.Errorf("%s: %w", fs[i], err)
			}

			raw = out
		}
	}

	if len(raw) != size {
		return nil, fmt.Errorf("it has %d bytes and should have %d", len(raw), size)
	}

	return raw, nil
}

// unsum compares the checksum at the end and cuts it off.
func (r *Reader) unsum(raw []byte) ([]byte, error) {
	n := len(raw) - 4
	if n < 0 {
		return nil, fmt.Errorf("%d bytes are too few for a checksum", len(raw))
	}

	// Library 1.6.2 swapped the bytes of each half on some machines.
	stored, sum := binary.LittleEndian.Uint32(raw[n:]), fletcher32(raw[:n])
	swapped := sum>>8&0x00ff00ff | sum&0x00ff00ff<<8
	if stored != sum && stored != swapped && !r.p.lax {
		return nil, fmt.Errorf("the fletcher32 checksum is %#08x and should be %#08x", sum, stored)
	}

	return raw[:n], nil
}

// inflate expands a zlib stream, which must fit out and whose checksum must be right.
// It returns how many bytes there are.
func (r *Reader) inflate(out, raw []byte) (int, error) {
	src := bytes.NewReader(raw)
	if r.inflater == nil {
		r.inflater = inflate.NewZlibReader(src)
	} else {
		r.inflater.Reset(src)
	}

	n, err := io.ReadFull(r.inflater, out)

	// The end of the stream follows, and with it the checksum; if the data ended
	// too early, the error comes again.
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		var k int

		var next [1]byte
		if k, err = r.inflater.Read(next[:]); k > 0 {
			return 0, fmt.Errorf("the data go on after %d bytes", len(out))
		}
	}

	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, errors.New("the compressed data are cut off")
	case !errors.Is(err, io.EOF):
		return 0, err
	}

	return n, nil
}

// unshuffle puts together the bytes of elements of step bytes: first all first
// bytes are stored, then all second ones, …; a remainder stays.
func unshuffle(out, raw []byte, step int) {
	n := len(raw) / step
	switch step {
	case 2:
		a, b := raw[:n], raw[n:2*n]
		for i := range n {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(a[i])|uint16(b[i])<<8)
		}

	case 4:
		a, b, c, d := raw[:n], raw[n:2*n], raw[2*n:3*n], raw[3*n:4*n]
		for i := range n {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}

	case 8:
		a, b, c, d := raw[:n], raw[n:2*n], raw[2*n:3*n], raw[3*n:4*n]

		e, f, g, h := raw[4*n:5*n], raw[5*n:6*n], raw[6*n:7*n], raw[7*n:8*n]
		for i := range n {
			lo := uint32(a[i]) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
			hi := uint32(e[i]) | uint32(f[i])<<8 | uint32(g[i])<<16 | uint32(h[i])<<24
			binary.LittleEndian.PutUint64(out[8*i:], uint64(lo)|uint64(hi)<<32)
		}

	default:
		for j := range min(step, len(raw)) {
			if n == 0 {
				break
			}

			for i, x := range raw[j*n : (j+1)*n] {
				out[i*step+j] = x
			}
		}
	}

	copy(out[n*step:], raw[n*step:])
}

// fletcher32 is the format's checksum of chunks, over big-endian words of 16 bits.
func fletcher32(b []byte) uint32 {
	var s1, s2 uint64

	// What the definition folds after every 360 words may wait: 64 bits hold the
	// sums of 2^16 words.
	for len(b) >= 2 {
		n := min(len(b)/2, 1<<16)
		block := b[:2*n]
		b = b[2*n:]

		for ; len(block) >= 2; block = block[2:] {
			s1 += uint64(binary.BigEndian.Uint16(block))
			s2 += s1
		}

		s1, s2 = fold(s1), fold(s2)
	}

	if len(b) == 1 {
		s1 += uint64(b[0]) << 8
		s2 += s1
	}

	return uint32(fold(s2))<<16 | uint32(fold(s1))
}

// fold adds the carries beyond 16 bits until there are none: a sum modulo 65535.
func fold(s uint64) uint64 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return s
}

// unLZF expands LZF data that must fit out, and returns how many bytes there are: a
// control byte below 32 precedes that many literals plus one, others are back references.
func unLZF(out, raw []byte) (int, error) {
	o := 0
	for i := 0; i < len(raw); {
		ctl := int(raw[i])

		i++
		if ctl < 32 {
			n := ctl + 1
			if i+n > len(raw) || o+n > len(out) {
				return 0, fmt.Errorf("the data are damaged at byte %d", i-1)
			}

			copy(out[o:], raw[i:i+n])
			i, o = i+n, o+n
			continue
		}

		n := ctl >> 5
		if n == 7 {
			if i >= len(raw) {
				return 0, fmt.Errorf("the data are cut off")
			}

			n += int(raw[i])
			i++
		}

		n += 2

		if i >= len(raw) {
			return 0, fmt.Errorf("the data are cut off")
		}

		back := ((ctl&31)<<8 | int(raw[i])) + 1

		i++
		if back > o || o+n > len(out) {
			return 0, fmt.Errorf("the data are damaged at byte %d", i-1)
		}

		for range n { // may overlap
			out[o] = out[o-back]
			o++
		}
	}

	return o, nil
}
