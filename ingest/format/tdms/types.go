package tdms

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Data types ("TDMS Data Types" at the end of NI's document).
const (
	typeI8, typeI16, typeI32, typeI64 = 1, 2, 3, 4
	typeU8, typeU16, typeU32, typeU64 = 5, 6, 7, 8
	typeSingle, typeDouble            = 9, 10
	typeExtended                      = 11
	typeSingleUnit, typeDoubleUnit    = 0x19, 0x1a
	typeExtendedUnit                  = 0x1b
	typeString, typeBoolean           = 0x20, 0x21
	typeTime                          = 0x44
	typeFixedPoint                    = 0x4f
	typeComplexSingle                 = 0x08000c
	typeComplexDouble                 = 0x10000d
	typeDAQmx                         = 0xffffffff
)

// dataType gives name and bytes of a value; 0 bytes where they are not fixed.
func dataType(typ uint32) (name string, bytes int64) {
	switch typ {
	case typeI8:
		return "int8", 1
	case typeI16:
		return "int16", 2
	case typeI32:
		return "int32", 4
	case typeI64:
		return "int64", 8
	case typeU8:
		return "uint8", 1
	case typeU16:
		return "uint16", 2
	case typeU32:
		return "uint32", 4
	case typeU64:
		return "uint64", 8
	case typeSingle, typeSingleUnit:
		return "single", 4
	case typeDouble, typeDoubleUnit:
		return "double", 8
	case typeBoolean:
		return "boolean", 1
	case typeTime:
		return "time stamp", 16
	case typeComplexSingle:
		return "complex single", 8
	case typeComplexDouble:
		return "complex double", 16
	case typeString:
		return "text", 0
	case typeExtended, typeExtendedUnit:
		return "extended", 0
	case typeFixedPoint:
		return "fixed point", 0
	}
	return "type 0x" + strconv.FormatUint(uint64(typ), 16), 0
}

// numeric reports whether values of the type become float64.
func numeric(typ uint32) bool {
	switch typ {
	case typeTime, typeComplexSingle, typeComplexDouble, typeString:
		return false
	}
	_, n := dataType(typ)
	return n > 0
}

// decode converts values at a distance of stride bytes.
func decode(dst []float64, b []byte, stride int64, typ uint32, big bool) {
	if big {
		decodeOrder(dst, b, int(stride), typ, binary.BigEndian)
	} else {
		decodeOrder(dst, b, int(stride), typ, binary.LittleEndian)
	}
}

func decodeOrder[O binary.ByteOrder](dst []float64, b []byte, stride int, typ uint32, o O) {
	switch typ {
	case typeI8:
		for i := range dst {
			dst[i] = float64(int8(b[i*stride]))
		}
	case typeU8:
		for i := range dst {
			dst[i] = float64(b[i*stride])
		}
	case typeBoolean:
		for i := range dst {
			dst[i] = 0
			if b[i*stride] != 0 {
				dst[i] = 1
			}
		}
	case typeI16:
		for i := range dst {
			dst[i] = float64(int16(o.Uint16(b[i*stride:])))
		}
	case typeU16:
		for i := range dst {
			dst[i] = float64(o.Uint16(b[i*stride:]))
		}
	case typeI32:
		for i := range dst {
			dst[i] = float64(int32(o.Uint32(b[i*stride:])))
		}
	case typeU32:
		for i := range dst {
			dst[i] = float64(o.Uint32(b[i*stride:]))
		}
	case typeSingle, typeSingleUnit:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(o.Uint32(b[i*stride:])))
		}
	case typeDouble, typeDoubleUnit:
		for i := range dst {
			dst[i] = math.Float64frombits(o.Uint64(b[i*stride:]))
		}
	case typeI64:
		for i := range dst {
			dst[i] = float64(int64(o.Uint64(b[i*stride:])))
		}
	case typeU64:
		for i := range dst {
			dst[i] = float64(o.Uint64(b[i*stride:]))
		}
	}
}
