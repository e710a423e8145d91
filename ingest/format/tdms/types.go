package tdms

import (
	"strconv"

	samples "doubletake/ingest/format/internal/raw"
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

// numbers are the types whose values become float64.
var numbers = map[uint32]struct {
	name string
	kind samples.Kind
}{
	typeI8:         {"int8", samples.I8},
	typeI16:        {"int16", samples.I16},
	typeI32:        {"int32", samples.I32},
	typeI64:        {"int64", samples.I64},
	typeU8:         {"uint8", samples.U8},
	typeU16:        {"uint16", samples.U16},
	typeU32:        {"uint32", samples.U32},
	typeU64:        {"uint64", samples.U64},
	typeSingle:     {"single", samples.F32},
	typeSingleUnit: {"single", samples.F32},
	typeDouble:     {"double", samples.F64},
	typeDoubleUnit: {"double", samples.F64},
	typeBoolean:    {"boolean", samples.U8},
}

// dataType gives name and bytes of a value; 0 bytes where they are not fixed.
func dataType(typ uint32) (name string, bytes int64) {
	if n, ok := numbers[typ]; ok {
		return n.name, int64(n.kind.Bytes())
	}

	switch typ {
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

// decode converts values at a distance of stride bytes.
func decode(dst []float64, b []byte, stride int64, typ uint32, big bool) {
	samples.Decode(dst, b, numbers[typ].kind, big, int(stride))

	if typ == typeBoolean {
		for i, v := range dst {
			dst[i] = min(v, 1)
		}
	}
}
