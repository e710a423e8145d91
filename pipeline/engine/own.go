package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
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

// Tail returns the last lines of a log, or the first of its last panic; "" of one that Own does not accept.
func Tail(path string, lines int) string {
	const most = 8 << 10

	f, err := OpenOwn(path)
	if err != nil {
		return ""
	}
	defer f.Close()

	if fi, err := f.Stat(); err == nil && fi.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}

	b, _ := io.ReadAll(io.LimitReader(f, most))
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	from := max(0, len(all)-lines)

	for i := from - 1; i >= 0; i-- {
		if strings.HasPrefix(all[i], "panic: ") || strings.HasPrefix(all[i], "fatal error: ") {
			from = i // what follows is stacks
			break
		}
	}

	return strings.ToValidUTF8(strings.Join(all[from:min(from+lines, len(all))], "\n"), "?")
}
