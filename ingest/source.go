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
)

// Source is a file that a Format opens.
type Source struct {
	Path string // name of the file in messages
	io.ReaderAt
	Size   int64     // in bytes, above 0
	Closer io.Closer // nil: nothing to close
	Held   []byte    // the whole file if it is in memory, otherwise nil; do not change it
}

// OpenSource opens a regular file that is not empty. name is its name in messages; if it is empty, the path is.
// Errors are *fault.Error.
func OpenSource(path, name string) (Source, error) {
	name = cmp.Or(name, path)

	st, err := fault.Regular(path)
	if err != nil {
		return Source{}, openError(path, name, err)
	}

	if st.Size() == 0 {
		return Source{}, fault.At(name, "", "a recording", "an empty file",
			"record or copy it again, or leave it out with exclude under ingest")
	}

	f, err := os.Open(path)
	if err != nil {
		return Source{}, openError(path, name, err)
	}

	return Source{Path: name, ReaderAt: f, Size: st.Size(), Closer: f}, nil
}

// openError returns the PathError of a file, with its name in messages instead of the path.
func openError(path, name string, err error) error {
	fail, _ := errors.AsType[*fault.Error](PathError(path, err)) // PathError always returns one
	fail.Path = name

	return fail
}

// Fault returns an error about the byte at an offset of the file.
func (s Source) Fault(offset int64, want, found, hint string) error {
	return &fault.Error{Path: s.Path, Place: fmt.Sprintf("byte %d", offset), Want: want, Found: found, Hint: hint}
}

// Close closes the file.
func (s Source) Close() error {
	if s.Closer == nil {
		return nil
	}
	return s.Closer.Close()
}

// PathError returns an error of the operating system about a path as a *fault.Error. The error of a missing file
// still satisfies errors.Is(err, fs.ErrNotExist), and suggests files with similar names.
func PathError(path string, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}

	e := &fault.Error{Path: path, Err: err}

	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		e.Err = pathErr.Err // without the path
	}

	if !errors.Is(err, fs.ErrNotExist) {
		return e
	}

	if target, err := os.Readlink(path); err == nil {
		e.Hint = fmt.Sprintf("it is a link to %s, which is not there", target)
		return e
	}

	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	near := similarNames(dir, base)
	_, dirErr := os.Stat(dir)
	switch {
	case len(near) > 0:
		e.Hint = "there is " + fault.Quoted(near)
	case dirErr != nil:
		e.Hint = fmt.Sprintf("there is no folder %q either", dir)
	default:
		e.Hint = "correct the path; nothing there has a name like it"
	}

	return e
}

// similarNames returns up to three names of files in a folder that are similar to base, the most similar first. It
// returns none if the folder cannot be read. At most a third of the letters, or two, may differ.
func similarNames(dir, base string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}

	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}

	var near []string
	for _, name := range spelling.Nearest(base, names, 3) {
		hidden := strings.HasPrefix(name, ".")
		if !hidden && spelling.Distance(base, name) <= max(2, len(base)/3) {
			near = append(near, name)
		}
	}

	return near
}
