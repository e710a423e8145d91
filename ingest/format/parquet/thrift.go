package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// value is a value of Thrift's compact protocol: a number, bytes, a list, or a
// struct with its fields by number.
type value struct {
	n      int64
	b      []byte
	list   []value
	fields map[int]value
}

func (v value) at(field int) value { return v.fields[field] }

// has reports whether a struct has a field.
func (v value) has(field int) bool { _, ok := v.fields[field]; return ok }

var errThrift = errors.New("metadata that contradict themselves")

// maxValues bounds the memory of metadata: a value takes up to 200 bytes, a file's
// columns about 20 values in each row group.
const maxValues = 1 << 21

var errMany = fmt.Errorf("metadata of more than %d values: write larger row groups", maxValues)

// thrift decodes values from b.
type thrift struct {
	b    []byte
	left int // values that may still be made
}

// decode reads a struct from the beginning of b and returns it and its length.
func decode(b []byte) (value, int, error) {
	t := &thrift{b: b, left: maxValues}
	v, err := t.structure(0)
	return v, len(b) - len(t.b), err
}

func (t *thrift) varint() (uint64, error) {
	v, n := binary.Uvarint(t.b)
	if n <= 0 {
		return 0, errThrift
	}
	t.b = t.b[n:]
	return v, nil
}

func (t *thrift) zigzag() (int64, error) {
	v, err := t.varint()
	return int64(v>>1) ^ -int64(v&1), err
}

func (t *thrift) byte() (byte, error) {
	if len(t.b) == 0 {
		return 0, errThrift
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c, nil
}

func (t *thrift) structure(depth int) (value, error) {
	var v value
	for id := int64(0); ; {
		c, err := t.byte()
		if err != nil || c == 0 {
			return v, err
		}
		if d := int64(c >> 4); d != 0 {
			id += d
		} else if id, err = t.zigzag(); err != nil {
			return v, err
		}
		f, err := t.value(c&15, depth+1, false)
		if err != nil {
			return v, err
		}
		if id >= 0 && id < 64 {
			if v.fields == nil {
				v.fields = map[int]value{}
			}
			v.fields[int(id)] = f
		}
	}
}

// value reads a value of a type; booleans in a list have a byte of their own.
func (t *thrift) value(kind byte, depth int, listed bool) (value, error) {
	if t.left--; t.left < 0 {
		return value{}, errMany
	}
	if depth > 16 {
		return value{}, errThrift
	}
	switch kind {
	case 1, 2:
		if listed {
			_, err := t.byte()
			return value{}, err
		}
		return value{n: int64(2 - kind)}, nil
	case 3:
		c, err := t.byte()
		return value{n: int64(int8(c))}, err
	case 4, 5, 6:
		n, err := t.zigzag()
		return value{n: n}, err
	case 7:
		if len(t.b) < 8 {
			return value{}, errThrift
		}
		t.b = t.b[8:]
		return value{}, nil
	case 8:
		n, err := t.varint()
		if err != nil || n > uint64(len(t.b)) {
			return value{}, errThrift
		}
		v := value{b: t.b[:n:n]}
		t.b = t.b[n:]
		return v, nil
	case 9, 10:
		c, err := t.byte()
		if err != nil {
			return value{}, err
		}
		n := uint64(c >> 4)
		if n == 15 {
			if n, err = t.varint(); err != nil {
				return value{}, err
			}
		}
		if n > uint64(len(t.b)) {
			return value{}, errThrift
		}
		var v value
		for range n {
			e, err := t.value(c&15, depth+1, true)
			if err != nil {
				return value{}, err
			}
			v.list = append(v.list, e)
		}
		return v, nil
	case 12:
		return t.structure(depth)
	}
	return value{}, errThrift
}
