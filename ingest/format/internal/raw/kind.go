package raw

import (
	"encoding/binary"
	"math"
	"slices"
)

// Kind says how one sample is stored. U stands for an unsigned and I for a signed integer, F for a float of IEEE 754,
// and the number for the bits.
type Kind int

// The kinds of samples. Integer relies on the floats being last.
const (
	U8 Kind = iota
	I8
	U16
	I16
	I24
	U32
	I32
	U64
	I64
	F32
	F64
	F16
)

// names are the usual names of the kinds. I24 has none.
var names = [...]string{
	U8: "uint8", I8: "int8", U16: "uint16", I16: "int16", U32: "uint32", I32: "int32", U64: "uint64", I64: "int64",
	F32: "float32", F64: "float64", F16: "float16",
}

// String returns the usual name, such as int16 or float64, and "" for I24.
func (k Kind) String() string { return names[k] }

// Named returns the kind with a usual name. It reports false if no kind has this name.
func Named(name string) (Kind, bool) {
	i := slices.Index(names[:], name)
	return Kind(i), i >= 0 && name != ""
}

// Signed reports whether samples are signed integers.
func (k Kind) Signed() bool {
	switch k {
	case I8, I16, I24, I32, I64:
		return true
	default:
		return false
	}
}

// Bytes returns the size of one sample in bytes.
func (k Kind) Bytes() int {
	switch k {
	case U8, I8:
		return 1
	case U16, I16, F16:
		return 2
	case I24:
		return 3
	case U32, I32, F32:
		return 4
	default:
		return 8
	}
}

// Integer reports whether samples are integers.
func (k Kind) Integer() bool { return k < F32 }

// Decode fills dst with numbers of a kind. The first is at the beginning of b, and each begins stride bytes behind the
// one before.
func Decode(dst []float64, b []byte, kind Kind, bigEndian bool, stride int) {
	decode(&Layout{Kind: kind, BigEndian: bigEndian, Scale: 1}, dst, b, stride)
}

// Value decodes one number of a kind from the beginning of b.
func Value(kind Kind, bigEndian bool, b []byte) float64 {
	var value [1]float64
	Decode(value[:], b, kind, bigEndian, kind.Bytes())

	return value[0]
}

// floats are the types that samples are decoded to.
type floats interface{ float32 | float64 }

// decode fills dst with the values of samples. The first sample is at the beginning of b, and each begins stride bytes
// behind the one before. The little-endian kinds of most recordings have loops of their own, which are faster.
func decode[T floats](l *Layout, dst []T, b []byte, stride int) {
	if len(dst) == 0 {
		return
	}

	b = b[:(len(dst)-1)*stride+l.Kind.Bytes()] // panics here if b is too short, before dst is changed
	scale := T(l.Scale)
	p := 0 // index of the next sample in b

	le := binary.LittleEndian

	kind := l.Kind
	if l.BigEndian {
		kind = -1 // none of the cases below
	}

	switch kind {
	case I16:
		for i := range dst {
			dst[i] = T(int16(le.Uint16(b[p:]))) * scale
			p += stride
		}

	case I24:
		// The three bytes fill the upper part of an int32, whose arithmetic
		// shift then restores the sign.
		for i := range dst {
			v := b[p : p+3 : p+3]
			dst[i] = T(int32(uint32(v[2])<<24|uint32(v[1])<<16|uint32(v[0])<<8)>>8) * scale
			p += stride
		}

	case I32:
		for i := range dst {
			dst[i] = T(int32(le.Uint32(b[p:]))) * scale
			p += stride
		}

	case F32:
		for len(dst) >= 4 { // four at a time: the loop costs as much as its body
			v := b[p : p+3*stride+4]
			dst[0] = T(math.Float32frombits(le.Uint32(v)))
			dst[1] = T(math.Float32frombits(le.Uint32(v[stride:])))
			dst[2] = T(math.Float32frombits(le.Uint32(v[2*stride:])))
			dst[3] = T(math.Float32frombits(le.Uint32(v[3*stride:])))
			dst = dst[4:]
			p += 4 * stride
		}

		for i := range dst {
			dst[i] = T(math.Float32frombits(le.Uint32(b[p:])))
			p += stride
		}

	case F64:
		for i := range dst {
			dst[i] = T(math.Float64frombits(le.Uint64(b[p:])))
			p += stride
		}

	default:
		decodeAny(l, dst, b, stride)
	}
}

// half returns the value of a float of 16 bits (IEEE 754, binary16): a sign in bit 15, an exponent with bias 15 in bits
// 14 to 10, and a fraction in bits 9 to 0.
func half(bits uint16) float64 {
	exp := int(bits >> 10 & 31)
	frac := float64(bits & 1023)

	var value float64
	switch {
	case exp == 0: // subnormal, or zero
		value = math.Ldexp(frac, -24)
	case exp == 31 && frac != 0:
		value = math.NaN()
	case exp == 31:
		value = math.Inf(1)
	default:
		value = math.Ldexp(1024+frac, exp-25) // (1 + frac/1024)·2^(exp−15)
	}

	if bits&0x8000 != 0 {
		value = math.Copysign(value, -1)
	}

	return value
}

// decodeAny does what decode does, for every kind and for both byte orders, except for little-endian samples of 24
// bits, for which decode has a loop of its own.
func decodeAny[T floats](l *Layout, dst []T, b []byte, stride int) {
	scale := T(l.Scale)
	bias := T(l.Bias)

	order := binary.ByteOrder(binary.LittleEndian)
	if l.BigEndian {
		order = binary.BigEndian
	}

	for i := range dst {
		switch v := b[i*stride:]; l.Kind {
		case U8:
			dst[i] = (T(v[0]) - bias) * scale
		case I8:
			dst[i] = T(int8(v[0])) * scale
		case U16:
			dst[i] = T(order.Uint16(v)) * scale
		case I16:
			dst[i] = T(int16(order.Uint16(v))) * scale
		case I24: // big-endian: decode has a loop for little-endian samples
			dst[i] = T(int32(uint32(v[0])<<24|uint32(v[1])<<16|uint32(v[2])<<8)>>8) * scale
		case U32:
			dst[i] = T(order.Uint32(v)) * scale
		case I32:
			dst[i] = T(int32(order.Uint32(v))) * scale
		case U64:
			dst[i] = T(order.Uint64(v)) * scale
		case I64:
			dst[i] = T(int64(order.Uint64(v))) * scale
		case F32:
			dst[i] = T(math.Float32frombits(order.Uint32(v)))
		case F64:
			dst[i] = T(math.Float64frombits(order.Uint64(v)))
		case F16:
			dst[i] = T(half(order.Uint16(v)))
		}
	}
}
