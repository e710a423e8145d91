package flac

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"doubletake/ingest"
)

const (
	window   = 1 << 17 // bytes of the file held at a time; more where a frame is longer
	maxFrame = 4 << 20 // no encoder writes more: 65535 samples of eight channels, 25 bits each, have 1.6 MB
	maxOrder = 32
)

// frames decodes the frames of a file, one after another.
type frames struct {
	src      ingest.Source
	channels int
	bits     int

	base int64  // byte of the file buf begins at
	buf  []byte // bytes of the file
	pos  int    // of the next frame

	n int        // samples of a channel in the frame decoded last; 0: none
	x [8][]int32 // they follow maxOrder others
}

// samples returns those of a channel of the frame decoded last.
func (f *frames) samples(channel int) []int32 { return f.x[channel][maxOrder : maxOrder+f.n] }

// at returns the byte of the next frame.
func (f *frames) at() int64 { return f.base + int64(f.pos) }

// goTo makes the frame at a byte the next one.
func (f *frames) goTo(at int64) {
	f.n = 0
	if at >= f.base && at <= f.base+int64(len(f.buf)) {
		f.pos = int(at - f.base)
		return
	}
	f.base, f.buf, f.pos = at, f.buf[:0], 0
}

// errShort tells that a frame goes on beyond the bytes at hand.
var errShort = errors.New("the frame goes on")

// next decodes the next frame. After the last the error is io.EOF, where the file
// ends within a frame it is io.ErrUnexpectedEOF. After an error the frame is still
// the next one.
func (f *frames) next() error {
	f.n = 0
	for {
		err := f.decode()
		if !errors.Is(err, errShort) {
			return err
		}
		have := len(f.buf) - f.pos
		if f.base+int64(len(f.buf)) >= f.src.Size {
			if have == 0 {
				return io.EOF
			}
			return io.ErrUnexpectedEOF
		}
		if have >= maxFrame {
			return fmt.Errorf("a frame of more than %d bytes", maxFrame)
		}
		if err := f.fill(); err != nil {
			return err
		}
	}
}

// fill puts the next frame at the start of the buffer and reads more of the file.
func (f *frames) fill() error {
	have := len(f.buf) - f.pos
	size := max(window, 2*have)
	buf := f.buf
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	copy(buf[:have], f.buf[f.pos:])
	f.base += int64(f.pos)
	f.pos = 0
	f.buf = buf[:min(int64(cap(buf)), f.src.Size-f.base)]
	n, err := f.src.ReadAt(f.buf[have:], f.base+int64(have))
	f.buf = f.buf[:have+n]
	if n > 0 {
		return nil
	}
	return fmt.Errorf("read: %w", err)
}

// header describes a frame.
type header struct {
	n      int // samples of a channel
	stereo int // how left and right are stored, 0: as they are
	bytes  int // of the header
}

// Ways to store left and right: one of them or their mean, and their difference.
const (
	leftSide  = 8
	rightSide = 9
	midSide   = 10
)

// header reads the header of the frame at the start of b.
func (f *frames) header(b []byte) (h header, err error) {
	if len(b) < 5 {
		return h, errShort
	}
	if b[0] != 0xFF || b[1]&0xFE != 0xF8 {
		return h, errors.New("no frame begins here")
	}
	p := 4 + max(1, bits.LeadingZeros8(^b[4])) // a number as in UTF-8, of up to seven bytes
	size, rate := int(b[2]>>4), int(b[2]&15)
	tail := [...]int{6: 1, 7: 2, 8: 0} // bytes of a number of samples that has no code
	more := 0
	if size < len(tail) {
		more = tail[size]
	}
	skip := 0 // bytes of a rate that has no code
	switch rate {
	case 12:
		skip = 1
	case 13, 14:
		skip = 2
	}
	if len(b) < p+more+skip+1 {
		return h, errShort
	}
	switch {
	case size == 1:
		h.n = 192
	case size >= 2 && size <= 5:
		h.n = 576 << (size - 2)
	case size == 6:
		h.n = int(b[p]) + 1
	case size == 7:
		h.n = int(binary.BigEndian.Uint16(b[p:])) + 1
	case size >= 8:
		h.n = 256 << (size - 8)
	}
	p += more + skip
	if crc8(b[:p]) != b[p] {
		return h, errors.New("the checksum of a frame's header is wrong")
	}
	h.bytes = p + 1
	channels, depth := int(b[3]>>4)+1, f.bits
	if h.stereo = channels - 1; h.stereo < leftSide {
		h.stereo = 0
	} else {
		channels = 2
	}
	if code := b[3] >> 1 & 7; code > 0 {
		depth = [...]int{0, 8, 12, 0, 16, 20, 24, 32}[code]
	}
	switch {
	case channels != f.channels || depth != f.bits:
		return h, fmt.Errorf("a frame of %d channels and %d bits, the header has %d and %d",
			channels, depth, f.channels, f.bits)
	case h.n == 0 || h.n > 65535 || rate == 15 || h.stereo > midSide || b[3]&1 != 0:
		return h, errors.New("a frame's header holds reserved values")
	}
	return h, nil
}

// decode decodes the frame at f.pos.
func (f *frames) decode() error {
	b := f.buf[f.pos:]
	h, err := f.header(b)
	if err != nil {
		return err
	}
	r := &bitReader{b: b, p: h.bytes}
	for c := range f.channels {
		depth := f.bits
		if h.stereo == leftSide && c == 1 || h.stereo == rightSide && c == 0 || h.stereo == midSide && c == 1 {
			depth++ // a difference
		}
		if len(f.x[c]) < maxOrder+h.n {
			f.x[c] = make([]int32, maxOrder+h.n)
		}
		if err := r.subframe(f.x[c][:maxOrder+h.n], depth); err != nil {
			return err
		}
	}
	end := r.byte()
	if end+2 > len(b) {
		return errShort
	}
	if crc16(b[:end]) != binary.BigEndian.Uint16(b[end:]) {
		return errors.New("the checksum of a frame is wrong")
	}
	f.n = h.n
	f.pos += end + 2
	f.leftRight(h.stereo)
	return nil
}

// leftRight makes left and right of what is stored.
func (f *frames) leftRight(stereo int) {
	if stereo == 0 {
		return
	}
	a, b := f.samples(0), f.samples(1)
	b = b[:len(a)]
	switch stereo {
	case leftSide:
		for i, left := range a {
			b[i] = left - b[i]
		}
	case rightSide:
		for i, right := range b {
			a[i] += right
		}
	case midSide:
		for i, side := range b {
			sum := a[i]<<1 | side&1
			a[i], b[i] = (sum+side)>>1, (sum-side)>>1
		}
	}
}

// subframe decodes the samples of one channel, depth bits each, to x[maxOrder:].
func (r *bitReader) subframe(x []int32, depth int) error {
	if r.get(1) != 0 {
		return r.bad("a subframe begins with a reserved bit")
	}
	kind, wasted := int(r.get(6)), 0
	if r.get(1) == 1 {
		wasted = 1 + int(r.zeros(uint64(depth)))
	}
	if depth -= wasted; depth < 1 {
		return r.bad("samples without bits")
	}
	s := x[maxOrder:]
	var err error
	switch {
	case kind == 0:
		v := r.signed(uint(depth))
		for i := range s {
			s[i] = v
		}
	case kind == 1:
		r.fixedWidth(s, uint(depth))
	case kind >= 8 && kind <= 8+4:
		if err = r.warmUp(s, kind-8, depth); err == nil {
			sum(s, kind-8)
		}
	case kind >= 32:
		err = r.linear(x, kind-32+1, depth)
	default:
		err = r.bad("a subframe of a reserved type")
	}
	if err == nil && r.short {
		err = errShort
	}
	if wasted > 0 && err == nil {
		for i := range s {
			s[i] <<= wasted
		}
	}
	return err
}

// bad is the error of bits that mean nothing, unless there were no more.
func (r *bitReader) bad(text string) error {
	if r.short {
		return errShort
	}
	return errors.New(text)
}

// warmUp reads the first samples as they are and the residuals of the others.
func (r *bitReader) warmUp(s []int32, order, depth int) error {
	if order > len(s) {
		return r.bad("a predictor longer than its frame")
	}
	r.fixedWidth(s[:order], uint(depth))
	return r.residuals(s, order)
}

// sum predicts by a polynomial through the last samples: residuals are differences
// of that order.
func sum(s []int32, order int) {
	if len(s) <= order {
		return
	}
	switch order {
	case 1:
		a := s[0]
		for i, d := range s[1:] {
			a += d
			s[1+i] = a
		}
	case 2:
		a := s[1]
		d1 := a - s[0]
		for i, d := range s[2:] {
			d1 += d
			a += d1
			s[2+i] = a
		}
	case 3:
		a := s[2]
		d1, d2 := a-s[1], a-2*s[1]+s[0]
		for i, d := range s[3:] {
			d2 += d
			d1 += d2
			a += d1
			s[3+i] = a
		}
	case 4:
		a := s[3]
		d1, d2, d3 := a-s[2], a-2*s[2]+s[1], a-3*s[2]+3*s[1]-s[0]
		for i, d := range s[4:] {
			d3 += d
			d2 += d3
			d1 += d2
			a += d1
			s[4+i] = a
		}
	}
}

// linear predicts by a sum of the last samples with coefficients of the subframe.
func (r *bitReader) linear(x []int32, order, depth int) error {
	s := x[maxOrder:]
	if order > len(s) {
		return r.bad("a predictor longer than its frame")
	}
	r.fixedWidth(s[:order], uint(depth))
	precision := uint(r.get(4)) + 1
	shift := r.signed(5)
	if precision == 16 || shift < 0 {
		return r.bad("coefficients of a reserved precision")
	}
	var c [maxOrder]int64 // of the samples before in their order: the last one's is the last
	for i := range order {
		c[maxOrder-1-i] = int64(r.signed(precision))
	}
	if err := r.residuals(s, order); err != nil {
		return err
	}
	// Coefficients of zero make up the length; x begins early enough for their samples.
	switch {
	case order <= 4:
		predict4(x[maxOrder+order-4:], (*[4]int64)(c[maxOrder-4:]), uint(shift))
	case order <= 8:
		predict8(x[maxOrder+order-8:], (*[8]int64)(c[maxOrder-8:]), uint(shift))
	case order <= 12:
		predict12(x[maxOrder+order-12:], (*[12]int64)(c[maxOrder-12:]), uint(shift))
	default:
		predict32(x[order:], &c, uint(shift))
	}
	return nil
}

func predict4(x []int32, c *[4]int64, shift uint) {
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	for ; len(x) >= 5; x = x[1:] {
		w := (*[5]int32)(x)
		w[4] += int32((c0*int64(w[0]) + c1*int64(w[1]) + c2*int64(w[2]) + c3*int64(w[3])) >> (shift & 63))
	}
}

func predict8(x []int32, c *[8]int64, shift uint) {
	c0, c1, c2, c3, c4, c5, c6, c7 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	for ; len(x) >= 9; x = x[1:] {
		w := (*[9]int32)(x)
		a := c0*int64(w[0]) + c1*int64(w[1]) + c2*int64(w[2]) + c3*int64(w[3])
		b := c4*int64(w[4]) + c5*int64(w[5]) + c6*int64(w[6])
		w[8] += int32((a + b + c7*int64(w[7])) >> (shift & 63))
	}
}

func predict12(x []int32, c *[12]int64, shift uint) {
	for ; len(x) >= 13; x = x[1:] {
		w := (*[13]int32)(x)
		a := c[0]*int64(w[0]) + c[1]*int64(w[1]) + c[2]*int64(w[2]) + c[3]*int64(w[3])
		b := c[4]*int64(w[4]) + c[5]*int64(w[5]) + c[6]*int64(w[6]) + c[7]*int64(w[7])
		d := c[8]*int64(w[8]) + c[9]*int64(w[9]) + c[10]*int64(w[10])
		w[12] += int32((a + b + d + c[11]*int64(w[11])) >> (shift & 63))
	}
}

func predict32(x []int32, c *[maxOrder]int64, shift uint) {
	for ; len(x) > maxOrder; x = x[1:] {
		w := (*[maxOrder + 1]int32)(x)
		a := int64(0)
		for i, k := range c {
			a += k * int64(w[i])
		}
		w[maxOrder] += int32(a >> (shift & 63))
	}
}

// residuals reads those of s[order:], in partitions of their own Rice parameter.
func (r *bitReader) residuals(s []int32, order int) error {
	width := uint(4)
	switch r.get(2) {
	case 0:
	case 1:
		width = 5
	default:
		return r.bad("residuals of a reserved coding")
	}
	split := r.get(4)
	size := len(s) >> split
	if size<<split != len(s) || size < order {
		return r.bad("residuals in parts that do not fill the frame")
	}
	escape := uint(1)<<width - 1
	for i := range 1 << split {
		part := s[max(order, i*size) : (i+1)*size]
		switch k := uint(r.get(width)); {
		case k == escape:
			r.fixedWidth(part, uint(r.get(5)))
		case !r.rice(part, k):
			return r.bad("a residual of more than 32 bits")
		}
		if r.short {
			return errShort
		}
	}
	return nil
}
