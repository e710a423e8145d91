package arrow

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"doubletake/ingest/fault"
)

// file is an Arrow IPC file that was verified before the library saw it. It is
// the only way this package reads one.
type file struct {
	*verified
	ipc *ipc.FileReader
	mem *bounded
}

// openFile verifies a file of size bytes and opens it. Errors are *fault.Error.
func openFile(r io.ReaderAt, size int64) (f *file, err error) {
	most := 32<<20 + 2*size // two batches are kept
	v, err := verify(r, size, most)
	if err != nil {
		return nil, err
	}

	f = &file{verified: v, mem: &bounded{Allocator: memory.NewGoAllocator(), most: most, left: most}}
	err = guard("", func() (err error) {
		f.ipc, err = ipc.NewFileReader(io.NewSectionReader(r, 0, size), ipc.WithAllocator(f.mem))
		return inLibrary("", err)
	})
	if err != nil {
		return nil, err
	}

	return f, nil
}

// guard runs what the library does: on some damaged values it panics. place is
// where it is at.
func guard(place string, do func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}

		var wrong runtime.Error
		if e, ok := p.(error); ok && !errors.As(e, &wrong) { // of the disk, of a decompressor
			err = inLibrary(place, e)
			return
		}

		err = &fault.Error{
			Place: place, Want: "values that agree with each other", Found: fmt.Sprint(p),
			Hint: "the file is damaged",
		}
	}()

	return do()
}

func inLibrary(place string, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Place: place, Err: fmt.Errorf("read Arrow: %w", err)}
}

// load reads batch i; it is the caller's to release. Together with its compressed
// form it takes no more than the file's bound.
func (f *file) load(i int) (rec arrow.Record, err error) {
	if err := f.batch(i); err != nil {
		return nil, err
	}

	f.mem.left = f.mem.most
	place := f.batches[i].place
	err = guard(place, func() error {
		rec, err = f.ipc.RecordAt(i)
		if err == nil && (rec.NumRows() != f.rows[i] || int(rec.NumCols()) != len(f.columns)) {
			err = fmt.Errorf("%d rows of %d columns, expected %d of %d", rec.NumRows(), rec.NumCols(), f.rows[i], len(f.columns))
		}

		return inLibrary(place, err)
	})
	if err != nil {
		return nil, err
	}

	return rec, nil
}

// bounded is an allocator of left bytes. Freed memory does not come back: the
// library does not free everything on its way out of a damaged batch.
type bounded struct {
	memory.Allocator
	most, left int64
}

func (b *bounded) charge(size int) {
	if size < 0 || int64(size) > b.left {
		panic(fmt.Sprintf("buffers of more than %d bytes", b.most))
	}
	b.left -= int64(size)
}

// Allocate implements memory.Allocator.
func (b *bounded) Allocate(size int) []byte {
	b.charge(size)
	return b.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (b *bounded) Reallocate(size int, old []byte) []byte {
	b.charge(size)
	return b.Allocator.Reallocate(size, old)
}
