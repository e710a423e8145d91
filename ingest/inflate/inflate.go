// Package inflate decompresses deflate (RFC 1951) and zlib (RFC 1950) as a
// stream, about twice as fast as compress/flate: it takes the input in words of
// 64 bits and looks up 11 bits of a code at once. Reading a compressed
// recording is little else than this.
//
// It is compared with compress/flate on every kind of block, on damaged input
// and by fuzzing; a Reader takes about 100 KiB whatever it reads. What is
// compressed (archives, chunks, variables) is the callers' matter.
package inflate

import (
	"encoding/binary"
	"errors"
	"hash"
	"hash/adler32"
	"io"
	"math/bits"
)

// Errors of damaged data; data that end too early are io.ErrUnexpectedEOF.
var (
	ErrData     = errors.New("the compressed data are damaged")
	ErrHeader   = errors.New("no zlib header")
	ErrChecksum = errors.New("the checksum of the decompressed data is wrong")
)

const (
	window   = 32 << 10
	outSize  = window + 32<<10 + 258 + 16 // a copy, and words written too far
	outLimit = outSize - 258 - 16
	inSize   = 16 << 10
	inSlack  = 32 // zeros after the end of the input

	litBits  = 11
	distBits = 8

	// Entries of the tables: bits 0–4 length of the code, 8–12 extra bits (or
	// bits of the second table), 13–14 kind, 16–31 value. 0 is no code.
	kindLiteral = 1 << 13
	kindTable   = 2 << 13
	kindEnd     = 3 << 13
	kindMask    = 3 << 13 // 0: a length or a distance
)

var (
	litSymbols  [288]uint32
	distSymbols [32]uint32
	codeSymbols [19]uint32
	fixedLit    []uint32
	fixedDist   []uint32
)

// codeOrder is the order of the lengths of the code of lengths (RFC 1951, 3.2.7).
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

const used = 1 << 5 // marks an entry of value 0 and no extra bits as one

func init() {
	for i := range 256 {
		litSymbols[i] = used | kindLiteral | uint32(i)<<16
	}
	litSymbols[256] = used | kindEnd
	// Lengths 3 … 258 and distances 1 … 32768 (RFC 1951, 3.2.5).
	for i, base := 0, uint32(3); i < 28; i++ {
		extra := uint32(max(0, i/4-1))
		litSymbols[257+i] = used | extra<<8 | base<<16
		base += 1 << extra
	}
	litSymbols[285] = used | 258<<16
	for i, base := 0, uint32(1); i < 30; i++ {
		extra := uint32(max(0, i/2-1))
		distSymbols[i] = used | extra<<8 | base<<16
		base += 1 << extra
	}
	for i := range codeSymbols {
		codeSymbols[i] = used | uint32(i)<<16
	}
	var lens [288]uint8
	for i := range lens { // RFC 1951, 3.2.6
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	fixedLit, _ = build(nil, lens[:], litSymbols[:], litBits)
	for i := range 32 {
		lens[i] = 5
	}
	fixedDist, _ = build(nil, lens[:32], distSymbols[:], distBits)
}

// build makes the table of the canonical code of these lengths; false if there
// is no such code.
func build(t []uint32, lens []uint8, symbols []uint32, first int) ([]uint32, bool) {
	var count [16]int
	longest := 0
	for _, n := range lens {
		count[n]++
		longest = max(longest, int(n))
	}
	count[0] = 0
	if cap(t) < 1<<first {
		t = make([]uint32, 1<<first, 2<<first)
	}
	t = t[:1<<first]
	clear(t)
	if longest == 0 {
		return t, true // no code: damaged only if one is used
	}
	left := 1
	var next [16]uint32
	for n := 1; n <= 15; n++ {
		if left = left<<1 - count[n]; left < 0 {
			return t, false
		}
		next[n] = (next[n-1] + uint32(count[n-1])) << 1
	}
	if left > 0 && (longest != 1 || count[1] != 1) {
		return t, false // incomplete: only a code of one symbol may be
	}
	for s, n := range lens {
		if n == 0 {
			continue
		}
		c := bits.Reverse32(next[n]) >> (32 - n)
		next[n]++
		if symbols[s] == 0 {
			continue // must not occur
		}
		e := symbols[s] | uint32(n)
		if int(n) <= first {
			for i := c; i < 1<<first; i += 1 << n {
				t[i] = e
			}
			continue
		}
		root, more := c&(1<<first-1), longest-first
		if t[root] == 0 {
			at := len(t)
			t[root] = used | kindTable | uint32(more)<<8 | uint32(at)<<16 | uint32(first)
			for range 1 << more {
				t = append(t, 0)
			}
		}
		sub := t[t[root]>>16:][:1<<more]
		for i := c >> first; i < 1<<more; i += 1 << (int(n) - first) {
			sub[i] = e
		}
	}
	return t, true
}

// Reader decompresses a stream. It reads ahead in its source.
type Reader struct {
	src      io.Reader
	in       [inSize + inSlack]byte
	pos, end int  // in in; pos may go into the slack at the end of the source
	ended    bool // the source is
	buf      uint64
	n        uint // bits in buf

	out        [outSize]byte
	read, done int // out[read:done] is to be delivered

	inBlock     bool
	last        bool
	stored      int // bytes left of a stored block
	lit, dist   []uint32
	litT, distT []uint32 // memory of the tables
	codeT       []uint32
	zlib        bool
	started     bool
	sum         hash.Hash32
	err         error
}

// NewReader reads a deflate stream.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// NewZlibReader reads a zlib stream and compares its checksum at the end.
func NewZlibReader(src io.Reader) *Reader {
	return &Reader{src: src, zlib: true, sum: adler32.New()}
}

// Reset begins a new stream of the same kind and keeps the memory.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.pos, r.end, r.ended, r.buf, r.n, r.read, r.done = src, 0, 0, false, 0, 0, 0, 0
	r.inBlock, r.last, r.stored, r.started, r.err = false, false, 0, false, nil
	if r.sum != nil {
		r.sum.Reset()
	}
}

// Close does nothing: it makes a Reader an io.ReadCloser.
func (r *Reader) Close() error { return nil }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.read == r.done {
		if r.err != nil {
			return 0, r.err
		}
		if r.done >= outLimit {
			copy(r.out[:window], r.out[r.done-window:r.done])
			r.read, r.done = window, window
		}
		r.err = r.step()
		if r.sum != nil {
			r.sum.Write(r.out[r.read:r.done])
		}
		if r.err == io.EOF {
			r.err = r.finish()
		}
	}
	n := copy(p, r.out[r.read:r.done])
	r.read += n
	return n, nil
}

// more moves the rest of the input to the front and reads on, until there are
// bytes for a header or the source has ended.
func (r *Reader) more() error {
	if r.ended || r.end-r.pos >= 512 {
		return nil
	}
	r.pos -= int(r.n >> 3) // whole bytes go back, or they would be lost to align
	r.n &= 7
	r.buf &= 1<<r.n - 1
	r.end = copy(r.in[:], r.in[r.pos:r.end])
	r.pos = 0
	for empty := 0; r.end < 512 && empty < 100; empty++ {
		k, err := r.src.Read(r.in[r.end:inSize])
		if r.end += k; k > 0 {
			empty = 0
		}
		if err == io.EOF {
			r.ended = true
			clear(r.in[r.end : r.end+inSlack])
			return nil
		}
		if err != nil {
			return err
		}
		if empty == 99 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// over reports that more bits were taken than the source had.
func (r *Reader) over() bool { return r.pos-int(r.n>>3) > r.end }

func (r *Reader) refill() {
	if r.pos > r.end+inSlack-8 { // far over the end: zeros
		r.n |= 56
		r.pos += 8 // stays over
		r.pos = min(r.pos, r.end+inSlack)
		return
	}
	r.buf |= binary.LittleEndian.Uint64(r.in[r.pos:]) << r.n
	r.pos += int((63 - r.n) >> 3)
	r.n |= 56
}

func (r *Reader) take(k uint) uint32 {
	v := uint32(r.buf & (1<<k - 1))
	r.buf >>= k
	r.n -= k
	return v
}

// align drops the bits up to the next byte and gives whole bytes back.
func (r *Reader) align() {
	r.n &^= 7
	r.pos -= int(r.n >> 3)
	r.buf, r.n = 0, 0
}

// step decodes until the output is full or the stream ends.
func (r *Reader) step() error {
	if r.zlib && !r.started {
		if err := r.more(); err != nil {
			return err
		}
		if r.end-r.pos < 2 {
			return io.ErrUnexpectedEOF
		}
		h := r.in[r.pos : r.pos+2]
		if h[0]&15 != 8 || h[0]>>4 > 7 || (int(h[0])<<8|int(h[1]))%31 != 0 || h[1]&0x20 != 0 {
			return ErrHeader
		}
		r.pos += 2
	}
	r.started = true
	for r.done < outLimit {
		if err := r.more(); err != nil {
			return err
		}
		var err error
		switch {
		case !r.inBlock && r.last:
			return io.EOF
		case !r.inBlock:
			err = r.header()
		case r.stored > 0:
			k := min(r.stored, r.end-r.pos, outLimit-r.done)
			if k <= 0 {
				return io.ErrUnexpectedEOF
			}
			copy(r.out[r.done:], r.in[r.pos:r.pos+k])
			r.pos, r.done, r.stored = r.pos+k, r.done+k, r.stored-k
			r.inBlock = r.stored > 0
		default:
			before := r.done
			if err = r.symbols(); err == nil && r.over() {
				err = io.ErrUnexpectedEOF
			} else if err != nil && r.over() {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				r.done = before // what came of bits that were not there
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header reads the header of a block, its codes included: at most 290 bytes.
func (r *Reader) header() error {
	r.refill()
	r.last = r.take(1) == 1
	kind := r.take(2)
	if r.over() {
		return io.ErrUnexpectedEOF
	}
	r.inBlock = true
	switch kind {
	case 0:
		r.align()
		if r.end-r.pos < 4 {
			return io.ErrUnexpectedEOF
		}
		n := binary.LittleEndian.Uint16(r.in[r.pos:])
		if n != ^binary.LittleEndian.Uint16(r.in[r.pos+2:]) {
			return ErrData
		}
		r.pos += 4
		r.stored = int(n)
		r.inBlock = n > 0
		return nil
	case 1:
		r.lit, r.dist = fixedLit, fixedDist
		return nil
	case 2:
		err := r.codes()
		if r.over() {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	return ErrData
}

// codes reads the codes of a block (RFC 1951, 3.2.7).
func (r *Reader) codes() error {
	nLit, nDist, nCode := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if nLit > 286 || nDist > 30 {
		return ErrData
	}
	var short [19]uint8
	for _, c := range codeOrder[:nCode] {
		r.refill()
		short[c] = uint8(r.take(3))
	}
	var ok bool
	if r.codeT, ok = build(r.codeT, short[:], codeSymbols[:], 7); !ok {
		return ErrData
	}
	var lens [286 + 30]uint8
	for i := 0; i < nLit+nDist; {
		r.refill()
		if r.over() {
			return io.ErrUnexpectedEOF
		}
		e := r.codeT[r.buf&127]
		if e == 0 {
			return ErrData
		}
		r.take(uint(e & 31))
		v, times := uint8(e>>16), 1
		switch v {
		case 16:
			if i == 0 {
				return ErrData
			}
			v, times = lens[i-1], 3+int(r.take(2))
		case 17:
			v, times = 0, 3+int(r.take(3))
		case 18:
			v, times = 0, 11+int(r.take(7))
		}
		if times > nLit+nDist-i {
			return ErrData
		}
		for range times {
			lens[i] = v
			i++
		}
	}
	if lens[256] == 0 {
		return ErrData // the block could not end
	}
	if r.litT, ok = build(r.litT, lens[:nLit], litSymbols[:], litBits); !ok {
		return ErrData
	}
	if r.distT, ok = build(r.distT, lens[nLit:nLit+nDist], distSymbols[:], distBits); !ok {
		return ErrData
	}
	r.lit, r.dist = r.litT, r.distT
	return nil
}

// symbols decodes the symbols of a block until it ends, the output is full or
// the input runs low.
func (r *Reader) symbols() error {
	in, out, lit, dist := &r.in, &r.out, r.lit, r.dist
	if len(lit) < 1<<litBits || len(dist) < 1<<distBits {
		return ErrData
	}
	pos, o, buf, n := r.pos, r.done, r.buf, r.n
	inLimit := r.end - 16 // room for two words
	if r.ended {
		inLimit = r.end + 8 // beyond, bits are taken that are not there
	}
	err := error(nil)
	for o < outLimit && pos <= inLimit {
		buf |= binary.LittleEndian.Uint64(in[pos:]) << (n & 63)
		pos += int((63 - n) >> 3)
		n |= 56
		// At least 56 bits: two literals of 15 bits, or a literal and what the
		// next symbol is; or a length (20) and a distance (28).
		e := lit[buf&(1<<litBits-1)]
		if e&kindMask == kindLiteral {
			buf >>= e & 31
			n -= uint(e & 31)
			out[o] = byte(e >> 16)
			o++
			if e = lit[buf&(1<<litBits-1)]; e&kindMask == kindLiteral {
				buf >>= e & 31
				n -= uint(e & 31)
				out[o] = byte(e >> 16)
				o++
				if e = lit[buf&(1<<litBits-1)]; e&kindMask == kindLiteral {
					buf >>= e & 31
					n -= uint(e & 31)
					out[o] = byte(e >> 16)
					o++
					continue
				}
			}
		}
		if e&kindMask == kindTable {
			e = lit[uint32(e>>16)+uint32(buf>>litBits)&(1<<(e>>8&31)-1)]
			if e&kindMask == kindLiteral {
				buf >>= e & 31
				n -= uint(e & 31)
				out[o] = byte(e >> 16)
				o++
				continue
			}
		}
		if e == 0 {
			err = ErrData
			break
		}
		buf >>= e & 31
		n -= uint(e & 31)
		if e&kindMask == kindEnd {
			r.inBlock = false
			break
		}
		extra := e >> 8 & 31
		size := int(e>>16) + int(buf&(1<<extra-1))
		buf >>= extra
		n -= uint(extra)
		if n < 28 {
			buf |= binary.LittleEndian.Uint64(in[pos:]) << (n & 63)
			pos += int((63 - n) >> 3)
			n |= 56
		}
		e = dist[buf&(1<<distBits-1)]
		if e&kindMask == kindTable {
			e = dist[uint32(e>>16)+uint32(buf>>distBits)&(1<<(e>>8&31)-1)]
		}
		if e == 0 {
			err = ErrData
			break
		}
		buf >>= e & 31
		n -= uint(e & 31)
		extra = e >> 8 & 31
		back := int(e>>16) + int(buf&(1<<extra-1))
		buf >>= extra
		n -= uint(extra)
		if back > o {
			err = ErrData
			break
		}
		from, to := o-back, o+size
		if back >= 8 { // words, the last one perhaps too far: there is room
			for ; o < to; o, from = o+8, from+8 {
				binary.LittleEndian.PutUint64(out[o:], binary.LittleEndian.Uint64(out[from:]))
			}
			o = to
			continue
		}
		for o < to { // each copy takes all that stands there already
			o += copy(out[o:to], out[from:o])
		}
	}
	r.pos, r.done, r.buf, r.n = pos, o, buf, n
	return err
}

// finish reads the checksum of a zlib stream.
func (r *Reader) finish() error {
	if !r.zlib {
		return io.EOF
	}
	r.align()
	if err := r.more(); err != nil {
		return err
	}
	if r.end-r.pos < 4 {
		return io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint32(r.in[r.pos:]) != r.sum.Sum32() {
		return ErrChecksum
	}
	return io.EOF
}
