// Package spool gives access to any place of a stream that can only be read forward, such as the output of a
// decompressor. The bytes that were read are kept: up to 4 MiB of each stream in memory, the rest in a
// temporary file of at most the stream's size.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// most is the number of bytes of one stream that are kept in memory.
const most = 4 << 20

// blockSize is the number of bytes that are read from the stream at a time.
const blockSize = 64 << 10

// Memory is the number of bytes that the streams of a file may still keep in memory together.
type Memory int64

// Reader reads a stream at any place. It belongs to one goroutine at a time.
type Reader struct {
	src    io.Reader // nil after the end of the stream
	size   int64     // length of the stream, in bytes
	memory *Memory   // shared with the other streams of the file
	room   int       // bytes that were taken from memory for head; 0 before the first read
	head   []byte    // the first bytes of the stream, at most room
	block  []byte    // buffer of blockSize bytes; nil before the first read and after the end of the stream
	tmp    *File     // the bytes of the stream behind head; nil if there are none
	have   int64     // number of bytes that were read and can be trusted
	err    error     // the error that stopped the stream
}

// New returns a Reader of a stream of size bytes. Readers may share memory: each takes its room from it at its first
// read and returns it when it is closed.
func New(src io.Reader, size int64, memory *Memory) *Reader {
	return &Reader{src: src, size: size, memory: memory}
}

// ReadAt implements io.ReaderAt.
func (s *Reader) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 || offset >= s.size {
		return 0, io.EOF
	}

	want := min(int64(len(p)), s.size-offset)
	failure := s.Fill(offset + want)

	n, err := s.copyKept(p[:want], offset)
	switch {
	case err != nil:
		return n, err
	case int64(n) < want:
		return n, failure
	case n < len(p):
		return n, io.EOF
	}

	return n, nil
}

// copyKept copies the bytes of the stream from an offset on that were read already to p, and returns their number.
func (s *Reader) copyKept(p []byte, offset int64) (int, error) {
	kept := min(int64(len(p)), s.have-offset)
	if kept <= 0 {
		return 0, nil
	}

	n := 0
	if offset < int64(len(s.head)) {
		n = copy(p[:kept], s.head[offset:])
	}

	if int64(n) == kept {
		return n, nil
	}

	k, err := s.tmp.ReadAt(p[n:kept], offset+int64(n-len(s.head)))
	n += k
	if int64(n) < kept {
		return n, fmt.Errorf("read the temporary file: %w", err)
	}

	return n, nil
}

// Fill reads the stream up to an offset. At the last byte of the stream it also reads the checksum behind it. If the
// checksum is wrong, all bytes that were read are dropped.
func (s *Reader) Fill(offset int64) error {
	if s.block == nil && s.have < offset && s.err == nil {
		s.room = int(min(most, s.size, int64(max(0, *s.memory))))
		*s.memory -= Memory(s.room)
		s.head = make([]byte, 0, s.room)
		s.block = make([]byte, blockSize)
	}

	for s.have < offset && s.err == nil {
		s.err = s.fillBlock()
	}

	return s.err
}

// fillBlock reads the next block of the stream and keeps it.
func (s *Reader) fillBlock() error {
	n, err := io.ReadFull(s.src, s.block[:min(int64(len(s.block)), s.size-s.have)])
	if failure := s.keep(s.block[:n]); failure != nil {
		return fmt.Errorf("write the temporary file: %w", failure)
	}

	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}

	if err == nil && s.have == s.size {
		_, err = io.Copy(io.Discard, s.src) // the decompressor compares the checksum
		if err != nil {
			s.have = 0
		}

		s.src = nil
		s.block = nil
	}

	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}

	return nil
}

// keep stores bytes of the stream: in memory as long as there is room, and otherwise in the temporary file.
func (s *Reader) keep(b []byte) error {
	inMemory := min(len(b), s.room-len(s.head))
	s.head = append(s.head, b[:inMemory]...)
	s.have += int64(inMemory)

	rest := b[inMemory:]
	if len(rest) == 0 {
		return nil
	}

	if s.tmp == nil {
		tmp, err := Temp()
		if err != nil {
			return err
		}

		s.tmp = tmp
	}

	n, err := s.tmp.Write(rest)
	s.have += int64(n)

	return err
}

// Close implements io.Closer. It removes the temporary file and gives the memory back.
func (s *Reader) Close() (err error) {
	if s.tmp != nil {
		err = s.tmp.Close()
	}

	*s.memory += Memory(s.room)
	*s = Reader{size: s.size, memory: s.memory, err: os.ErrClosed}

	return err
}

// File is a temporary file, which is removed when it is closed.
type File struct{ *os.File }

// Temp creates a temporary file.
func Temp() (*File, error) {
	f, err := os.CreateTemp("", "doubletake-reader-")
	if err != nil {
		return nil, err
	}

	_ = os.Remove(f.Name()) // if the system allows it now; otherwise Close removes it

	return &File{f}, nil
}

// Close implements io.Closer.
func (f *File) Close() error {
	err := f.File.Close()
	if failure := os.Remove(f.Name()); !errors.Is(failure, os.ErrNotExist) {
		err = errors.Join(err, failure)
	}

	return err
}
