package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The filters scaleoffset and nbit store elements in fewer bits, the highest first.

const (
	packedMore  = 64       // bytes that packing may add to a chunk
	scaleHead   = 21       // bytes of scaleoffset before the packed elements
	scaleParams = 20       // of scaleoffset
	maxEqual    = 64 << 20 // bytes of a chunk of equal elements, which takes none but these 21
)

// packed returns why the elements of a packing filter cannot be unpacked, "" if they can.
func (f filter) packed() string {
	if f.id == filterScale {
		switch {
		case len(f.params) != scaleParams || f.params[3] > 1 || !slices.Contains([]uint32{1, 2, 4, 8}, f.params[4]):
			return " of unknown parameters"
		case f.params[0] == 1 || f.params[3] == 1 && (f.params[0] != 0 || f.params[4] < 4):
			return " of unknown scaling"
		}

		return ""
	}

	if len(f.params) >= 2 && f.params[1] != 0 {
		return ""
	}

	if len(f.params) < 4 {
		return " of unknown parameters"
	}

	kinds := []string{2: " of an array", 3: " of a compound", 4: " of elements that are not packed"}
	if kind := f.params[3]; kind >= 2 && int(kind) < len(kinds) {
		return kinds[kind]
	}

	if len(f.params) != 8 || f.params[3] != 1 || f.params[4] < 1 || f.params[4] > 8 || f.params[6] < 1 ||
		f.params[6] > 64 || f.params[7] > 63 || f.params[6]+f.params[7] > 8*f.params[4] {
		return " of unknown parameters"
	}

	return ""
}

// kept reports whether a packing filter leaves the elements as they are.
func (f filter) kept() bool {
	if f.id == filterNBit {
		return f.params[1] != 0
	}
	return f.params[0] == 2 && f.params[1] == 8*f.params[4]
}

// fits checks that raw holds a chunk of want bytes.
func (f filter) fits(raw []byte, want int) error {
	n, size, width, head := uint64(f.params[2]), uint64(f.params[4]), uint64(0), 0
	if f.id == filterNBit {
		width = uint64(f.params[6])
	} else {
		if head = scaleHead; len(raw) < head {
			return fmt.Errorf("%d bytes are too few", len(raw))
		}

		if width = uint64(binary.LittleEndian.Uint32(raw)); width > 8*size {
			return fmt.Errorf("elements of %d bits in %d bytes", width, size)
		}

		if width == 0 && want > maxEqual {
			return fmt.Errorf("%d bytes stored hold a chunk of %d", len(raw), want)
		}
	}

	if n*size != uint64(want) {
		return fmt.Errorf("%d elements of %d bytes are no chunk of %d bytes", n, size, want)
	}

	if have := uint64(len(raw) - head); have < (n*width+7)/8 {
		return fmt.Errorf("%d bytes stored cannot hold %d elements of %d bits", have, n, width)
	}

	return nil
}

// unpack calls each with every element of width bits, and where it belongs in out.
func unpack(out, raw []byte, size, width int, each func(element []byte, v uint64)) {
	var bits uint64 // the lowest have of them are the next ones

	have, mask := 0, uint64(math.MaxUint64)>>(64-width)
	for ; len(out) >= size; out = out[size:] {
		v := bits

		missing := width - have
		for ; missing >= 8; missing -= 8 {
			v = v<<8 | uint64(raw[0])
			raw = raw[1:]
		}

		if have = 0; missing > 0 {
			bits, have = uint64(raw[0]), 8-missing
			raw = raw[1:]
			v = v<<missing | bits>>have
		} else if missing < 0 {
			have = -missing
			v >>= have
		}

		each(out[:size], v&mask)
	}
}

// put writes the low bytes of v.
func put(element []byte, v uint64, bigEndian bool) {
	for i := range element {
		element[i] = byte(v >> (8 * i))
	}

	if bigEndian {
		slices.Reverse(element)
	}
}

// unpackBits undoes nbit: the bits of a number that count are stored.
func (f filter) unpackBits(out, raw []byte) {
	big, offset := f.params[5] == 1, f.params[7]
	unpack(out, raw, int(f.params[4]), int(f.params[6]), func(element []byte, v uint64) { put(element, v<<offset, big) })
}

// unpackScaled undoes scaleoffset: differences from the smallest element are stored,
// of floats after multiplication by a power of ten; all bits set mean the fill value.
func (f filter) unpackScaled(out, raw []byte) {
	size, big := int(f.params[4]), f.params[6] == 1
	width := int(binary.LittleEndian.Uint32(raw))

	var least uint64
	for i := range min(int(raw[4]), 8) {
		least |= uint64(raw[5+i]) << (8 * i)
	}

	if width == 8*size { // as they are, but little-endian
		copy(out, raw[scaleHead:])

		for ; big && len(out) >= size; out = out[size:] {
			slices.Reverse(out[:size])
		}

		return
	}

	fill, filled := uint64(f.params[8])|uint64(f.params[9])<<32, f.params[7] == 1
	scale := math.Pow(10, float64(int32(f.params[1])))
	unpack(out, raw[scaleHead:], size, width, func(element []byte, v uint64) {
		switch {
		case filled && v == 1<<width-1:
			v = fill
		case f.params[3] == 0:
			v += least
		case size == 4: // the library calculates in float32
			v = uint64(math.Float32bits(float32(int32(v))/float32(scale) + math.Float32frombits(uint32(least))))
		default:
			v = math.Float64bits(float64(int64(v))/scale + math.Float64frombits(least))
		}

		put(element, v, big)
	})
}
