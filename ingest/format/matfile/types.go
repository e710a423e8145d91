package matfile

import (
	"doubletake/ingest/format/internal/raw"
)

// Data types (MAT-File Format, table 1-1).
const (
	miINT8       = 1
	miUINT8      = 2
	miINT16      = 3
	miUINT16     = 4
	miINT32      = 5
	miUINT32     = 6
	miSINGLE     = 7
	miDOUBLE     = 9
	miINT64      = 12
	miUINT64     = 13
	miMATRIX     = 14
	miCOMPRESSED = 15
	miUTF8       = 16
	miUTF16      = 17
	miUTF32      = 18
)

// Array classes (table 1-3). Classes 16 and 17 are not in the table, but in files.
const (
	mxCELL     = 1
	mxSTRUCT   = 2
	mxOBJECT   = 3
	mxCHAR     = 4
	mxSPARSE   = 5
	mxDOUBLE   = 6
	mxUINT64   = 15
	mxFUNCTION = 16
	mxOPAQUE   = 17
)

// classNames has the names of the array classes.
var classNames = [...]string{
	mxCELL: "cell", mxSTRUCT: "struct", mxOBJECT: "object", mxCHAR: "char", mxSPARSE: "sparse",
	mxDOUBLE: "double", 7: "single", 8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32",
	13: "uint32", 14: "int64", mxUINT64: "uint64", mxFUNCTION: "function handle", mxOPAQUE: "opaque",
}

// kinds has the data types of numbers: their names, and how they are stored.
var kinds = map[uint32]struct {
	name string
	kind raw.Kind
}{
	miINT8: {"int8", raw.I8}, miUINT8: {"uint8", raw.U8}, miINT16: {"int16", raw.I16}, miUINT16: {"uint16", raw.U16},
	miINT32: {"int32", raw.I32}, miUINT32: {"uint32", raw.U32}, miSINGLE: {"single", raw.F32},
	miDOUBLE: {"double", raw.F64}, miINT64: {"int64", raw.I64}, miUINT64: {"uint64", raw.U64},
}
