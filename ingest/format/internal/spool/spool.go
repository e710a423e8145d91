// Package spool gives access to any place of bytes that come forward only, as those of a
// decompressor do. What came is kept: of each stream up to 4 MiB in memory, the rest in a
// temporary file of at most the stream's size.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// most is what is kept in memory of one stream.
const most = 4 << 20

// Memory is how many bytes the streams of a file may still keep in memory together.
type Memory int64

// Reader reads a stream at any place. It belongs to one goroutine at a time.
type Reader struct {
	src    io.Reader
	size   int64
	memory *Memory
	room   int    // of head
	head   []byte // the first bytes
	block  []byte
	tmp    *File
	have   int64 // bytes that came
	err    error // what stopped the stream
}

// New returns a Reader of a stream of size bytes. Memory is shared.
func New(src io.Reader, size int64, memory *Memory) *Reader {
	return &Reader{src: src, size: size, memory: memory}
}

// ReadAt implements io.ReaderAt.
func (s *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}

	want := min(int64(len(p)), s.size-off)
	err := s.Fill(off + want)

	n := 0
	if avail := min(want, s.have-off); avail > 0 {
		if off < int64(len(s.head)) {
			n = copy(p[:avail], s.head[off:])
		}

		if int64(n) < avail {
			k, e := s.tmp.ReadAt(p[n:avail], off+int64(n-len(s.head)))
			if n += k; int64(n) < avail {
				return n, fmt.Errorf("read the temporary file: %w", e)
			}
		}
	}

	switch {
	case int64(n) < want:
		return n, err
	case n < len(p):
		return n, io.EOF
	}

	return n, nil
}

// Fill makes the stream come up to a place. At its end what follows is read as well, where
// streams have a checksum: if that is wrong, nothing can be trusted.
func (s *Reader) Fill(to int64) error {
	if s.block == nil && s.have < to && s.err == nil {
		s.room = int(min(most, s.size, int64(max(0, *s.memory))))
		*s.memory -= Memory(s.room)
		s.head, s.block = make([]byte, 0, s.room), make([]byte, 64<<10)
	}

	for s.have < to && s.err == nil {
		n, err := io.ReadFull(s.src, s.block[:min(int64(len(s.block)), s.size-s.have)])
		if e := s.keep(s.block[:n]); e != nil {
			s.err = fmt.Errorf("write the temporary file: %w", e)
			break
		}

		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}

		if err == nil && s.have == s.size {
			if _, err = io.Copy(io.Discard, s.src); err != nil {
				s.have = 0
			}

			s.src, s.block = nil, nil
		}

		if err != nil {
			s.err = fmt.Errorf("decompress: %w", err)
		}
	}

	return s.err
}

func (s *Reader) keep(b []byte) (err error) {
	k := min(len(b), s.room-len(s.head))
	s.head = append(s.head, b[:k]...)
	s.have += int64(k)

	if b = b[k:]; len(b) == 0 {
		return nil
	}

	if s.tmp == nil {
		if s.tmp, err = Temp(); err != nil {
			return err
		}
	}

	n, err := s.tmp.Write(b)
	s.have += int64(n)

	return err
}

// Close implements io.Closer.
func (s *Reader) Close() (err error) {
	if s.tmp != nil {
		err = s.tmp.Close()
	}

	*s.memory += Memory(s.room)
	*s = Reader{size: s.size, memory: s.memory, err: os.ErrClosed}

	return err
}

// File is a temporary file, which goes when it is closed.
type File struct{ *os.File }

// Temp makes a temporary file.
func Temp() (*File, error) {
	f, err := os.CreateTemp("", "doubletake-reader-")
	if err != nil {
		return nil, err
	}

	_ = os.Remove(f.Name()) // where the system allows it now; else Close removes it

	return &File{f}, nil
}

// Close implements io.Closer.
func (f *File) Close() error {
	err := f.File.Close()
	if e := os.Remove(f.Name()); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}

	return err
}
