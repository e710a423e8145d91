package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"doubletake/ingest/fault"
)

// Source is a file as a Format opens it.
type Source struct {
	Path string // as the user gave it, for messages
	io.ReaderAt
	Size   int64     // in bytes, above 0
	Closer io.Closer // nil where there is nothing to close
	Held   []byte    // the whole file, not to be changed; nil where it is not in memory
}

// OpenSource opens a regular file that is not empty. Messages call it by its name; "": by its path. Errors are
// *fault.Error.
func OpenSource(path, name string) (Source, error) {
	name = cmp.Or(name, path)
	st, err := fault.Regular(path)
	if err == nil && st.Size() == 0 {
		return Source{}, fault.At(name, "", "a recording", "an empty file",
			"record or copy it again, or leave it out with exclude")
	}

	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}

	if err != nil {
		var bad *fault.Error
		errors.As(PathError(path, err), &bad)
		bad.Path = name

		return Source{}, bad
	}

	return Source{Path: name, ReaderAt: f, Size: st.Size(), Closer: f}, nil
}

// Fault returns the error of a byte of the file.
func (s Source) Fault(at int64, want, found, hint string) error {
	return &fault.Error{Path: s.Path, Place: fmt.Sprintf("byte %d", at), Want: want, Found: found, Hint: hint}
}

// Unless raises the error of a byte of the file (fault.Raise), unless ok.
func (s Source) Unless(ok bool, at int64, want, found, hint string) {
	if !ok {
		fault.Raise(s.Fault(at, want, found, hint))
	}
}

// Close closes the file.
func (s Source) Close() error {
	if s.Closer == nil {
		return nil
	}
	return s.Closer.Close()
}
