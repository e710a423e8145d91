package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
)

// ErrForeign is the error of something in a work directory that is not a regular file, so that the program did not
// write it: a link may lead anywhere, and reading a FIFO may never end.
var ErrForeign = errors.New("it is not a regular file, so this program did not write it")

// Own returns the information about a file of a work directory. If the file is not regular, perhaps a
// link, Own also returns an error that wraps ErrForeign.
func Own(path string) (fs.FileInfo, error) {
	fi, err := os.Lstat(path)
	if err == nil && !fi.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrForeign}
	}

	return fi, err
}

// OpenOwn opens a file that Own accepts.
func OpenOwn(path string) (*os.File, error) {
	fi, err := Own(path)
	if err != nil {
		return nil, err
	}

	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	if now, err := file.Stat(); err != nil || !os.SameFile(fi, now) { // it was replaced in between
		_ = file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrForeign}
	}

	return file, nil
}

// ReadOwn reads a file that Own accepts.
func ReadOwn(path string) ([]byte, error) {
	file, err := OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()

	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}

	b := bytes.NewBuffer(make([]byte, 0, fi.Size()+bytes.MinRead))
	_, err = b.ReadFrom(file)

	return b.Bytes(), err
}
