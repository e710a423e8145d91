// Package npz gives access to the arrays of a NumPy .npz archive, a zip of
// .npy files, as io.ReaderAt, each for a reader of .npy files.
//
// A stored array (numpy.savez) is read where it lies. A deflated one
// (numpy.savez_compressed) is decompressed as far as needed, once:
// the first 4 MiB are kept in memory, the rest in a temporary file of at
// most the array's size, which Close removes. That size is what the archive
// states, and is refused where the compressed bytes cannot hold it (deflate
// makes at most 1032 bytes of one), so an archive of n bytes spools at most
// 1032·n, and only as far as it is read.
//
// What an array holds is the reader of .npy files' matter, in package ingest.
package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/inflate"
)

// Error is a fault of a file, with its place.
type Error = fault.Error

// Member is one file of the archive.
type Member struct {
	Name       string // without .npy, as numpy.load names it
	Size       int64  // of the .npy file, in bytes
	Compressed bool
	Err        error // why it cannot be opened; nil if it can

	src  io.ReaderAt
	file *zip.File
	off  int64
}

// Data is an open array: the bytes of a .npy file.
type Data interface {
	io.ReaderAt
	Size() int64
	io.Closer
}

const (
	inMemory = 4 << 20
	maxRatio = 1032
)

// Open lists the files of an archive of size bytes in their order. Those that
// are no arrays, or cannot be read, are listed with their Err.
func Open(r io.ReaderAt, size int64) ([]*Member, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, &Error{
			Place: "archive", Found: "the zip directory cannot be read",
			Hint: "the file is cut short or no .npz", Err: err,
		}
	}

	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return inflate.NewReader(r) })
	var ms []*Member

	seen := map[string]bool{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}

		m := &Member{Name: strings.TrimSuffix(f.Name, ".npy"), file: f, src: r, Compressed: f.Method != zip.Store}
		m.Size = int64(min(f.UncompressedSize64, 1<<62))
		m.Err = m.check(size, seen)
		seen[m.Name] = true
		ms = append(ms, m)
	}

	return ms, nil
}

func (m *Member) fail(format string, args ...any) error {
	return &Error{Place: fmt.Sprintf("array %q", m.Name), Err: fmt.Errorf(format, args...)}
}

func (m *Member) check(size int64, seen map[string]bool) error {
	f := m.file
	switch {
	case path.Ext(f.Name) != ".npy":
		return m.fail("%q is no .npy file", f.Name)
	case seen[m.Name]:
		return m.fail("the archive holds two of this name")
	case f.Flags&1 != 0:
		return m.fail("it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return m.fail("zip compression method %d is not read", f.Method)
	}

	var err error
	if m.off, err = f.DataOffset(); err != nil {
		return m.fail("find its data: %w", err)
	}

	packed := f.CompressedSize64
	switch {
	case m.off > size || packed > uint64(size-m.off):
		return m.fail("%d bytes are claimed, %d are there", packed, max(0, size-m.off))
	case f.Method == zip.Store && packed != f.UncompressedSize64:
		return m.fail("it is stored in %d bytes and has %d", packed, f.UncompressedSize64)
	case f.UncompressedSize64 > maxRatio*packed+maxRatio:
		return m.fail("%d bytes are claimed, more than %d compressed bytes can hold", f.UncompressedSize64, packed)
	}

	return nil
}

// Open opens the array. Distinct arrays may be read in parallel, one may not.
// The caller closes it.
func (m *Member) Open() (Data, error) {
	if m.Err != nil {
		return nil, m.Err
	}

	if !m.Compressed {
		return stored{io.NewSectionReader(m.src, m.off, m.Size)}, nil
	}

	r, err := m.file.Open()
	if err != nil {
		return nil, m.fail("open: %w", err)
	}

	return &spool{m: m, r: r}, nil
}

type stored struct{ *io.SectionReader }

func (stored) Close() error { return nil }

// spool decompresses forward and keeps what came.
type spool struct {
	m     *Member
	r     io.ReadCloser
	block []byte
	head  []byte // the first bytes, at most inMemory
	tmp   *os.File
	have  int64 // bytes decompressed
	err   error // what stopped the decompression
}

func (s *spool) Size() int64 { return s.m.Size }

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("npz: negative offset")
	}

	if off >= s.m.Size {
		return 0, io.EOF
	}

	want := min(int64(len(p)), s.m.Size-off)
	err := s.fill(off + want)

	n := 0
	if avail := min(want, s.have-off); avail > 0 {
		if off < int64(len(s.head)) {
			n = copy(p[:avail], s.head[off:])
		}

		if int64(n) < avail {
			k, e := s.tmp.ReadAt(p[n:avail], off+int64(n)-inMemory)
			if n += k; e != nil && int64(n) < avail {
				return n, s.m.fail("read the temporary file: %w", e)
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

// fill decompresses up to a position, the end of the array included, where the
// checksum is compared.
func (s *spool) fill(to int64) error {
	for s.have < to && s.err == nil {
		if s.block == nil {
			s.block = make([]byte, 64<<10)
			s.head = make([]byte, 0, min(inMemory, s.m.Size))
		}

		block := s.block
		n, err := io.ReadFull(s.r, block[:min(int64(len(block)), s.m.Size-s.have)])
		if e := s.keep(block[:n]); e != nil {
			s.err = s.m.fail("write the temporary file: %w", e)
			break
		}

		if err == nil && s.have == s.m.Size {
			// zip compares length and checksum when it meets the end.
			var one [1]byte

			var k int
			if k, err = io.ReadFull(s.r, one[:]); k > 0 {
				err = errors.New("there is more than the archive states")
			} else if errors.Is(err, io.EOF) {
				err = nil
			}

			if err != nil {
				s.have = 0 // nothing of it can be trusted
			}
		}

		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			s.err = s.m.fail("decompress: %w", err)
		}
	}

	return s.err
}

func (s *spool) keep(b []byte) error {
	k := min(len(b), inMemory-len(s.head))
	s.head = append(s.head, b[:k]...)
	s.have += int64(k)

	if b = b[k:]; len(b) == 0 {
		return nil
	}

	if s.tmp == nil {
		var err error
		if s.tmp, err = os.CreateTemp("", "npz-*.npy"); err != nil {
			return err
		}

		_ = os.Remove(s.tmp.Name()) // where the system allows it now; else Close removes it
	}

	n, err := s.tmp.Write(b)
	s.have += int64(n)

	return err
}

// Close lets go of the temporary file.
func (s *spool) Close() error {
	err := s.r.Close()
	if s.err != nil { // ReadAt has returned it; the decompressor returns it again
		err = nil
	}

	if s.tmp != nil {
		err = errors.Join(err, s.tmp.Close())
		if e := os.Remove(s.tmp.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}

		s.tmp = nil
	}

	s.block, s.head, s.have, s.err = nil, nil, 0, os.ErrClosed

	return err
}
