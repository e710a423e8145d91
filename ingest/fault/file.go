package fault

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Regular returns the system's description of a regular file. For anything else it
// returns an *Error: opening a FIFO may wait for ever, and a device may never end.
// It returns errors of the system unchanged.
func Regular(path string) (fs.FileInfo, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}

	found := ""
	switch mode := st.Mode(); {
	case mode.IsRegular():
		return st, nil
	case mode.IsDir():
		found = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		found = "a FIFO"
	case mode&fs.ModeSocket != 0:
		found = "a socket"
	case mode&fs.ModeDevice != 0:
		found = "a device"
	default:
		found = "something that is not a regular file"
	}

	return nil, &Error{Path: path, Want: "a file", Found: found}
}

// ReadFile reads a regular file of at most limit bytes. If the file is larger or is not a regular file, ReadFile
// returns an *Error without reading it. want says what the file should be, for the message. ReadFile returns errors of
// the system unchanged.
func ReadFile(path string, limit int64, want string) ([]byte, error) {
	st, err := Regular(path)
	if err != nil {
		return nil, err
	}

	if st.Size() > limit {
		return nil, tooLarge(path, want, limit, st.Size())
	}

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	b := bytes.NewBuffer(make([]byte, 0, st.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil { // the file may have grown
		return nil, err
	}

	if int64(b.Len()) > limit {
		return nil, tooLarge(path, want, limit, int64(b.Len()))
	}

	return b.Bytes(), nil
}

// tooLarge returns the error that a file has more bytes than limit.
func tooLarge(path, want string, limit, size int64) error {
	return &Error{
		Path: path, Want: fmt.Sprintf("%s of at most %d MiB", want, limit>>20), Found: Plural(size, "byte"),
		Hint: "is it another file?",
	}
}
