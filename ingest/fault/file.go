package fault

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Regular returns what the system knows of a file, and an *Error if it is no
// regular file: to open a FIFO may wait for ever, and a device may never end.
// Errors of the system come as they are.
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
		found = "something that is no regular file"
	}

	return nil, &Error{Path: path, Want: "a file", Found: found}
}

// ReadFile reads a regular file of at most limit bytes. A larger one is refused
// before it is read, with an *Error, as is what is no regular file; want is what a
// person expects in the file. Errors of the system come as they are.
func ReadFile(path string, limit int64, want string) ([]byte, error) {
	st, err := Regular(path)
	if err != nil {
		return nil, err
	}

	large := func(n int64) error {
		return &Error{
			Path: path, Want: fmt.Sprintf("%s of at most %d MiB", want, limit>>20), Found: Plural(n, "byte"),
			Hint: "is it another file?",
		}
	}

	if st.Size() > limit {
		return nil, large(st.Size())
	}

	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	b := bytes.NewBuffer(make([]byte, 0, st.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil { // it may grow
		return nil, err
	}

	if int64(b.Len()) > limit {
		return nil, large(int64(b.Len()))
	}

	return b.Bytes(), nil
}
