package ingest

import (
	"fmt"
	"io"
	"os"
)

// Array is an array of numbers with one axis that a reader of another package
// delivers.
type Array struct {
	Name, Unit string
	Samples    int64
	Attributes []Attribute
	// Read reads samples from start on, fewer than len(dst) only at the end,
	// then with io.EOF.
	Read func(start int64, dst []float64) (int, error)
}

// NewArrays makes a Reader of arrays: a channel each, with rate, unit and clock
// found as in every file of named arrays. info holds path, format, encoding,
// attributes and what is not read. The Reader closes c.
func NewArrays(info Info, arrays []Array, o Options, c io.Closer) (Reader, error) {
	r := &arraysReader{info: info}
	r.info.Channels = nil
	if c != nil {
		r.closers = append(r.closers, c)
	}
	for _, a := range arrays {
		if err := r.add(a.Name, []int64{a.Samples}, true, a.Unit, "", a.Attributes, column{a}); err != nil {
			return nil, err
		}
	}
	if err := r.finish(o); err != nil {
		return nil, err
	}
	return r, nil
}

type column struct{ a Array }

func (c column) read(channels []int, start int64, dst [][]float64) (int, error) {
	n := 0
	for i := range channels {
		var err error
		if n, err = c.a.Read(start, dst[i]); err != nil {
			return n, err
		}
	}
	return n, nil
}

// registered is a format read by another package.
type registered struct {
	name, magic string
	open        func(path string, f *os.File, o Options) (Reader, error)
}

var others []registered

// RegisterFormat adds a format that a package outside of this one reads, told by
// the first bytes of a file; to be called from init. open is given the open file
// and closes it with its Reader, or when it fails.
func RegisterFormat(name, magic string, open func(path string, f *os.File, o Options) (Reader, error)) {
	for _, r := range others {
		if r.name == name {
			panic(fmt.Sprintf("ingest: format %q is registered twice", name))
		}
	}
	others = append(others, registered{name, magic, open})
}

// otherFormat is the registered format of that name, or, without a name, the
// one the file begins as; nil if there is none.
func otherFormat(name string, f io.ReaderAt) *registered {
	for i, r := range others {
		if name != "" {
			if r.name == name {
				return &others[i]
			}
			continue
		}
		head := make([]byte, len(r.magic))
		if n, _ := f.ReadAt(head, 0); n == len(head) && string(head) == r.magic {
			return &others[i]
		}
	}
	return nil
}
