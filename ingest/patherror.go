package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// PathError returns an error of the operating system about a path as a *fault.Error
// that still answers errors.Is(err, fs.ErrNotExist). Where there is no such
// file it names files with similar names.
func PathError(path string, err error) error {
	var data *fault.Error
	if errors.As(err, &data) {
		return err
	}

	e := &fault.Error{Path: path, Err: err}

	var pe *fs.PathError
	if errors.As(err, &pe) {
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
