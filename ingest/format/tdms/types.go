package tdms

import (
	"strconv"

	"doubletake/ingest/format/internal/raw"
)

// Data types ("TDMS Data Types" at the end of NI's document).
const (
	typeI8            = 1
	typeI16           = 2
	typeI32           = 3
	typeI64           = 4
	typeU8            = 5
	typeU16           = 6
	typeU32           = 7
	typeU64           = 8
	typeSingle        = 9
	typeDouble        = 10
	typeExtended      = 11
	typeSingleUnit    = 0x19
	typeDoubleUnit    = 0x1a
	typeExtendedUnit  = 0x1b
	typeString        = 0x20
	typeBoolean       = 0x21
	typeTime          = 0x44
	typeFixedPoint    = 0x4f
	typeComplexSingle = 0x08000c
	typeComplexDouble = 0x10000d
	typeDAQmx         = 0xffffffff
)

// numbers has the types whose values become float64: their names for people, and how they are stored.
var numbers = map[uint32]struct {
	name string
	kind raw.Kind
}{
	typeI8:         {"int8", raw.I8},
	typeI16:        {"int16", raw.I16},
	typeI32:        {"int32", raw.I32},
	typeI64:        {"int64", raw.I64},
	typeU8:         {"uint8", raw.U8},
	typeU16:        {"uint16", raw.U16},
	typeU32:        {"uint32", raw.U32},
	typeU64:        {"uint64", raw.U64},
	typeSingle:     {"single", raw.F32},
	typeSingleUnit: {"single", raw.F32},
	typeDouble:     {"double", raw.F64},
	typeDoubleUnit: {"double", raw.F64},
	typeBoolean:    {"boolean", raw.U8},
}

// dataType returns the name of a type for people and the number of bytes of a value. It returns 0 bytes if the size of
// a value is not fixed or not known.
func dataType(typ uint32) (name string, bytes int64) {
	if number, ok := numbers[typ]; ok {
		return number.name, int64(number.kind.Bytes())
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

// decodeValues fills dst with values of a type. The first is at the beginning of b, and each begins stride bytes behind
// the one before.
func decodeValues(dst []float64, b []byte, stride int64, typ uint32, big bool) {
	raw.Decode(dst, b, numbers[typ].kind, big, int(stride))

	if typ == typeBoolean {
		for i, v := range dst {
			dst[i] = min(v, 1)
		}
	}
}
