// Package pack keeps small files in one file, because a file system needs as long to make a file of a few bytes as a
// large file. A pack stands where a folder with its files could stand. A file in it has the path that it would have in
// the folder, so that Open and ReadFile find it in either.
//
// A pack begins with the line "doubletake pack 1". One line for each file follows, with its size in bytes and its name.
// Then come an empty line and the contents of the files, one after the other.
package pack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// magic is the first line of a pack.
const magic = "doubletake pack 1\n"

// maxHead is the greatest number of bytes of the lines before the contents.
const maxHead = 64 << 10

// File is one file of a pack. Its name contains neither separators of paths nor line ends.
type File struct {
	Name string
	Data []byte
}

// Write writes a pack of files. It writes nothing and returns an error if the lines before the contents would take more
// than maxHead bytes, because a reader looks no further for their end.
func Write(writer io.Writer, files ...File) error {
	var head strings.Builder
	head.WriteString(magic)

	for _, f := range files {
		fmt.Fprintf(&head, "%d %s\n", len(f.Data), f.Name)
	}

	head.WriteByte('\n')

	if head.Len() > maxHead {
		return fmt.Errorf("pack %d files: their names and sizes take %d bytes, at most %d are possible", len(files),
			head.Len(), maxHead)
	}

	b := bufio.NewWriter(writer)
	b.WriteString(head.String())

	for _, f := range files {
		b.Write(f.Data)
	}

	return b.Flush()
}

// Reader reads a file, or a file of a pack.
type Reader struct {
	*io.SectionReader
	file *os.File // the file or the pack
}

// Close closes the file, or the pack.
func (r *Reader) Close() error { return r.file.Close() }

// Open opens the file at path. If its folder is a pack, Open opens the file of this name in the pack.
func Open(path string) (*Reader, error) {
	if info, err := os.Lstat(filepath.Dir(path)); err == nil && info.Mode().IsRegular() {
		return openPacked(path)
	}

	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}

	return &Reader{io.NewSectionReader(file, 0, info.Size()), file}, nil
}

// ReadFile reads the file that Open opens.
func ReadFile(path string) ([]byte, error) {
	reader, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer reader.Close()

	data := make([]byte, reader.Size())
	if _, err := io.ReadFull(reader, data); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}

	return data, nil
}

// openPacked opens a file whose folder is a pack.
func openPacked(path string) (*Reader, error) {
	file, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}

	section, err := find(file, filepath.Base(path))
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, file.Close())
	}

	return &Reader{section, file}, nil
}

// errDamaged means that a file is not a pack, or not a whole one.
var errDamaged = errors.New("the file around it is not a whole pack")

// find returns the contents of the first file of a pack that has a name. It returns fs.ErrNotExist if there is none,
// and errDamaged if the sizes of the files do not add up to the size of the pack.
func find(file *os.File, name string) (*io.SectionReader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}

	lines, offset, err := readHead(file, info.Size())
	if err != nil {
		return nil, err
	}

	var found *io.SectionReader
	for line := range strings.Lines(lines) {
		number, lineName, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")

		size, err := strconv.ParseInt(number, 10, 64)
		if err != nil || size < 0 || size > info.Size()-offset {
			return nil, errDamaged
		}

		if lineName == name && found == nil {
			found = io.NewSectionReader(file, offset, size)
		}

		offset += size
	}

	if offset != info.Size() {
		return nil, errDamaged
	}

	if found == nil {
		return nil, fs.ErrNotExist
	}

	return found, nil
}

// readHead returns the lines of a pack with the sizes and names of its files, and the offset of the contents. It reads
// more and more of the pack until the lines are complete, because most packs have few files.
func readHead(file *os.File, fileSize int64) (lines string, offset int64, err error) {
	const (
		firstRead = 1 << 10 // bytes
		growth    = 4
	)

	for size := int64(firstRead); size <= maxHead; size *= growth {
		data := make([]byte, min(size, fileSize))
		if _, err := file.ReadAt(data, 0); err != nil {
			return "", 0, err
		}

		head, _, isComplete := strings.Cut(string(data), "\n\n")
		if isComplete {
			lines, isPack := strings.CutPrefix(head+"\n", magic)
			if !isPack {
				return "", 0, errDamaged
			}

			return lines, int64(len(head) + len("\n\n")), nil
		}

		if size >= fileSize {
			break
		}
	}

	return "", 0, errDamaged
}
