package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
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
		bad, _ := errors.AsType[*fault.Error](PathError(path, err))
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

// PathError returns an error of the operating system about a path as a *fault.Error
// that still answers errors.Is(err, fs.ErrNotExist). Where there is no such
// file it names files with similar names.
func PathError(path string, err error) error {
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}

	e := &fault.Error{Path: path, Err: err}

	if pe, is := errors.AsType[*fs.PathError](err); is {
		e.Err = pe.Err // without the path
	}

	if !errors.Is(err, fs.ErrNotExist) {
		return e
	}

	if to, err := os.Readlink(path); err == nil {
		e.Hint = fmt.Sprintf("it is a link to %s, which is not there", to)
		return e
	}

	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	entries, _ := os.ReadDir(dir) // without entries there is no suggestion

	names := lists.Each(entries, fs.DirEntry.Name)
	near := lists.Keep(spelling.Nearest(base, names, 3), func(n string) bool {
		return !strings.HasPrefix(n, ".") && spelling.Distance(base, n) <= max(2, len(base)/3)
	})

	_, missing := os.Stat(dir)
	switch {
	case len(near) > 0:
		e.Hint = "there is " + fault.Quoted(near)
	case missing != nil:
		e.Hint = fmt.Sprintf("there is no folder %q either", dir)
	default:
		e.Hint = "correct the path; nothing there has a name like it"
	}

	return e
}
