package parquet

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"doubletake/ingest/format/internal/decode"
)

const (
	// maxList is the largest number of elements of one list of metadata, such as the columns or the row groups.
	maxList = 1 << 16

	// All lists together may have maxList elements, and one more for every bytesPerElement bytes of metadata.
	bytesPerElement = 64

	// maxNesting is the deepest nesting of structs and lists in metadata.
	maxNesting = 64
)

var (
	errMany   = errors.New("metadata with too many elements")
	errThrift = errors.New("metadata that contradict themselves")
)

// decodeThrift decodes the struct of Thrift's compact protocol at the beginning of b into target. It returns the
// length of the struct in bytes. A panic of the decoder becomes an error.
func decodeThrift(b []byte, target any) (n int, err error) {
	defer func() {
		if recover() != nil { // its text is about Go, not about the file
			err = errThrift
		}
	}()

	var protocol thrift.CompactProtocol

	elements := maxList + len(b)/bytesPerElement
	if err := skim(protocol.NewReaderFromBytes(b), elements, len(b)); err != nil {
		return 0, err
	}

	r := protocol.NewReaderFromBytes(b)
	if err := thrift.NewDecoder(r).Decode(target); err != nil {
		return 0, err
	}

	return r.BytesRead(), nil
}

// skim reads a struct of at most the given number of bytes without keeping it. It returns an error if the lists in it
// have more elements than the given number, or if structs are nested too deeply. decodeThrift calls skim before the
// decoder. The decoder allocates as many elements as a list states, and it calls itself for structs in structs.
func skim(r thrift.Reader, elements, bytes int) (err error) {
	defer decode.Catch(&err)

	s := skimmer{Reader: r, most: elements, elements: elements, bytes: bytes}
	s.value(thrift.STRUCT, false, 0)

	return nil
}

// skimmer reads values without keeping them. Its method raises errors (decode.Raise).
type skimmer struct {
	thrift.Reader
	most     int // number of elements that all lists may have
	elements int // number of elements that lists may still have
	bytes    int // length of the struct; no list has more elements, since each has a byte
}

// value reads a value of the given type. listed is true for an element of a list. depth is the number of structs and
// lists around the value.
func (s *skimmer) value(kind thrift.Type, listed bool, depth int) {
	if depth > maxNesting {
		decode.Raise(errThrift)
	}

	var err error

	switch kind {
	case thrift.STRUCT:
		for {
			field := decode.Get(s.ReadField())
			if field.Type == thrift.STOP {
				break
			}

			s.value(field.Type, false, depth+1)
		}
	case thrift.LIST, thrift.SET:
		list := decode.Get(s.ReadList())
		s.elements -= int(list.Size)
		switch {
		case int(list.Size) > s.bytes:
			decode.Raise(errThrift)
		case list.Size > maxList:
			decode.Raise(fmt.Errorf("%w: %d in one list, at most %d can be read", errMany, list.Size, maxList))
		case s.elements < 0:
			decode.Raise(fmt.Errorf("%w: more than %d in all lists", errMany, s.most))
		}

		for range list.Size {
			s.value(list.Type, true, depth+1)
		}
	case thrift.TRUE, thrift.FALSE:
		if listed { // a field has no bytes: its type is its value
			_, err = s.ReadInt8()
		}
	case thrift.I8:
		_, err = s.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = s.ReadInt64()
	case thrift.DOUBLE:
		_, err = s.ReadFloat64()
	case thrift.BINARY:
		_, err = s.ReadBytes()
	default:
		err = errThrift
	}

	decode.Raise(err)
}
