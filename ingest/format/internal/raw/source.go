package raw

import (
	"errors"
	"fmt"
	"io"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// Hints of errors: about files that end too early, and about files that are damaged otherwise.
const (
	CutShort = "the file is cut short: copy it again, or leave it out with exclude under ingest"
	Damaged  = "is the file damaged? copy it again, or leave it out with exclude under ingest"
)

// Short handles a file with less data than its header states, or with an incomplete last frame, as Partial does. whole
// names the part of the data that can be used ("whole samples").
func Short(
	src ingest.Source, o ingest.Options, offset int64, found, whole string, isUsable bool,
) ([]ingest.Warning, error) {
	hint := "copy the file again, or use its " + whole + " with truncated: use under ingest"
	return Partial(src, o, offset, found, hint, isUsable)
}

// Partial handles a file whose header and data disagree. It returns a warning if some of the data can be used and the
// options say truncated: use, and otherwise an error at an offset of the file. found describes the data that are there,
// hint says how to use them, and isUsable reports whether some of them can be used.
func Partial(
	src ingest.Source, o ingest.Options, offset int64, found, hint string, isUsable bool,
) ([]ingest.Warning, error) {
	switch {
	case !isUsable:
		return nil, src.Fault(offset, "", found, CutShort)
	case o.Truncated != "use":
		return nil, src.Fault(offset, "", found, hint)
	}

	return []ingest.Warning{{Path: src.Path, Code: "truncated", Text: found + ": these are used"}}, nil
}

// ReadFull fills b with the bytes of r from an offset on. It returns io.ErrUnexpectedEOF if r ends before b is full.
func ReadFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}

	return err
}

// ReadHeader fills b with the bytes of a file from an offset on. Its errors are *fault.Error; want says for people what
// these bytes should have been.
func ReadHeader(src ingest.Source, b []byte, offset int64, want string) error {
	n, err := src.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}

	end := offset + int64(n)
	if err == nil || errors.Is(err, io.EOF) {
		return src.Fault(end, want, "the end of the file", CutShort)
	}

	return &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", end), Err: fmt.Errorf("read header: %w", err)}
}

// Fill fills b with the samples of a file from an offset on. Its errors are *fault.Error. A file that ends before b is
// full became shorter after it was opened.
func Fill(src ingest.Source, b []byte, offset int64) error {
	got, err := src.ReadAt(b, offset)
	if got == len(b) {
		return nil
	}

	end := offset + int64(got)
	if err == nil || errors.Is(err, io.EOF) {
		return src.Fault(end, "", "the file became shorter while it was read", "is it still being written?")
	}

	return &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", end), Err: fmt.Errorf("read samples: %w", err)}
}

// Window keeps the bytes of a file that were read last.
type Window struct {
	file   any    // the file from which the bytes come, as given to Bytes; nil before the first call
	offset int64  // of bytes in the file
	bytes  []byte // empty after an error
}

// Bytes returns n bytes of r from an offset on, which are valid until the next call. If Bytes has to read, it tries to
// read at least ahead bytes, so that the next call may find its bytes in the window. If r ends before the n bytes, the
// error is io.ErrUnexpectedEOF. file tells the files apart whose bytes share the window.
func (w *Window) Bytes(file any, r io.ReaderAt, offset, n, ahead int64) ([]byte, error) {
	if first := offset - w.offset; file == w.file && first >= 0 && first+n <= int64(len(w.bytes)) {
		return w.bytes[first : first+n], nil
	}

	size := max(n, ahead)
	if int64(cap(w.bytes)) < size {
		w.bytes = make([]byte, size)
	}

	got, err := r.ReadAt(w.bytes[:size], offset)
	w.file = file
	w.offset = offset
	w.bytes = w.bytes[:got]

	if int64(got) >= n {
		return w.bytes[:n], nil
	}

	w.bytes = w.bytes[:0]
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}

	return nil, err
}
