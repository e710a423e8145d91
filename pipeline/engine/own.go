package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
)

// ErrForeign is the error of something in a work directory that the program did not
// write: a link, which may lead anywhere, a FIFO, which may wait for ever.
var ErrForeign = errors.New("no regular file of this program's")

// Own returns what the system knows of a file of a work directory. What is no regular
// file, a link among that, is ErrForeign.
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

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	if now, err := f.Stat(); err != nil || !os.SameFile(fi, now) { // it was replaced in between
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrForeign}
	}

	return f, nil
}

// ReadOwn reads a file that Own accepts.
func ReadOwn(path string) ([]byte, error) {
	f, err := OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}

	b := bytes.NewBuffer(make([]byte, 0, fi.Size()+bytes.MinRead))
	_, err = b.ReadFrom(f)

	return b.Bytes(), err
}
