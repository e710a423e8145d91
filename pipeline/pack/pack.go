// Package pack keeps small files in one: a file system takes as long to make a file of a few
// bytes as one of many. A pack stands where a folder of its files would stand, and a file in
// it has the path that it would have in that folder: Open and ReadFile find either.
package pack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A pack begins with this line. One line for each file follows, its size in bytes and its
// name, then an empty line, then the files' contents one after the other.
const magic = "doubletake pack 1\n"

// most is how long the lines before the contents may be.
const most = 64 << 10

// File is one file of a pack; its name has no separators and no line end.
type File struct {
	Name string
	Data []byte
}

// Write writes a pack of these files.
func Write(w io.Writer, files ...File) error {
	b := bufio.NewWriter(w)
	b.WriteString(magic)

	for _, f := range files {
		fmt.Fprintf(b, "%d %s\n", len(f.Data), f.Name)
	}

	b.WriteByte('\n')

	for _, f := range files {
		b.Write(f.Data)
	}

	return b.Flush()
}

// Reader reads a file, or a part of a pack.
type Reader struct {
	*io.SectionReader
	f *os.File
}

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }

// Open opens the file at path, or that of its name in the pack that its folder is.
func Open(path string) (*Reader, error) {
	if fi, err := os.Lstat(filepath.Dir(path)); err == nil && fi.Mode().IsRegular() {
		return openPart(path)
	}

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	fi, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return &Reader{io.NewSectionReader(f, 0, fi.Size()), f}, nil
}

// ReadFile reads the file that Open opens.
func ReadFile(path string) ([]byte, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()

	b := make([]byte, r.Size())
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}

	return b, nil
}

func openPart(path string) (*Reader, error) {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}

	part, err := find(f, filepath.Base(path))
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}

	return &Reader{part, f}, nil
}

var errDamaged = errors.New("the file around it is no whole pack")

// find returns the part of a pack that has that name.
func find(f *os.File, name string) (*io.SectionReader, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}

	var head, lines, rest string
	var whole bool
	for n := int64(1 << 10); !whole && n <= most && int64(len(head)) < fi.Size(); n *= 4 {
		b := make([]byte, min(fi.Size(), n))
		if _, err := f.ReadAt(b, 0); err != nil {
			return nil, err
		}

		head = string(b)
		lines, rest, whole = strings.Cut(head, "\n\n")
	}

	lines, ours := strings.CutPrefix(lines+"\n", magic)
	if !whole || !ours {
		return nil, errDamaged
	}

	var found *io.SectionReader
	at := int64(len(head) - len(rest))
	for line := range strings.Lines(lines) {
		size, called, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")

		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64-at {
			return nil, errDamaged
		}

		if called == name && found == nil {
			found = io.NewSectionReader(f, at, n)
		}

		at += n
	}

	switch {
	case at != fi.Size():
		return nil, errDamaged
	case found == nil:
		return nil, fs.ErrNotExist
	}

	return found, nil
}
