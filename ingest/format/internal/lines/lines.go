// Package lines reads the lines of a text file from any byte on. The readers of tables, of universal files (uff) and
// of LabVIEW's measurement files (lvm) use it.
package lines

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/raw"
)

// window is the number of bytes read at a time, unless a line is longer.
const window = 1 << 18

// Reader reads lines. The zero value is not usable: see New.
type Reader struct {
	Line int64 // number of the next line, from 1; a caller of GoTo sets it, too

	src  ingest.Source
	most int    // greatest length of a line in bytes, with carriage returns
	cut  bool   // longer lines are cut; otherwise they are errors
	buf  []byte // a stretch of the file
	base int64  // offset of buf in the file
	pos  int    // index in buf at which the next line begins
}

// What Next does with a line that is too long.
const (
	RefuseLong = false
	CutLong    = true
)

// New returns a Reader at the beginning of a file. If a line is longer than most bytes, Next returns the first most
// bytes if cut is set, and an error otherwise.
func New(src ingest.Source, most int, cut bool) *Reader {
	return &Reader{Line: 1, src: src, most: most, cut: cut}
}

// Offset returns the offset in the file at which the next line begins.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// GoTo makes the line that begins at the given offset in the file the next one. It does not change Line.
func (r *Reader) GoTo(begin int64) {
	if begin >= r.base && begin <= r.base+int64(len(r.buf)) {
		r.pos = int(begin - r.base)
		return
	}

	r.base = begin
	r.buf = r.buf[:0]
	r.pos = 0
}

// Next returns the next line without its line feed and carriage returns, and the offset at which the line begins. After
// the last line, the error is io.EOF. The line is valid until the next call.
func (r *Reader) Next() (line []byte, begin int64, err error) {
	begin = r.Offset()

	line, err = r.take()
	if err != nil {
		return nil, begin, err
	}

	r.Line++

	for len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}

	return line, begin, nil
}

// take returns the next line without its line feed, and moves pos behind the line. After the last line, the error is
// io.EOF. If the line is too long, take returns its first bytes or an error, as New says.
func (r *Reader) take() ([]byte, error) {
	searched := 0 // the bytes from pos on that were searched; they have no line feed
	for {
		if i := bytes.IndexByte(r.buf[r.pos+searched:], '\n'); i >= 0 {
			line := r.buf[r.pos:][:searched+i]
			if len(line) > r.most && !r.cut {
				return nil, r.tooLong()
			}

			r.pos += len(line) + 1

			return line[:min(len(line), r.most)], nil
		}

		searched = len(r.buf) - r.pos
		switch {
		case searched > r.most && r.cut:
			return r.cutLong()
		case searched > r.most:
			return nil, r.tooLong()
		}

		err := r.fill()
		if errors.Is(err, io.EOF) && searched > 0 { // the last line has no line feed
			line := r.buf[r.pos:]
			r.pos = len(r.buf)

			return line, nil
		}

		if err != nil {
			return nil, err
		}
	}
}

// tooLong returns an error about the next line.
func (r *Reader) tooLong() error {
	return r.src.Fault(r.Offset(), fmt.Sprintf("lines of at most %d bytes", r.most), "a longer one", "is this a table?")
}

// cutLong returns the first bytes of a line that is too long, and moves pos behind the line. The buffer has these
// bytes, but not the end of the line.
func (r *Reader) cutLong() ([]byte, error) {
	line := bytes.Clone(r.buf[r.pos:][:r.most])

	err := r.skip()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}

	return line, nil
}

// fill moves the bytes from pos on to the start of the buffer and reads more of the file behind them. At the end of
// the file, the error is io.EOF.
func (r *Reader) fill() error {
	have := copy(r.buf, r.buf[r.pos:]) // bytes kept
	r.base += int64(r.pos)
	r.pos = 0
	r.buf = r.buf[:have]

	begin := r.base + int64(have)
	if begin >= r.src.Size {
		return io.EOF
	}

	if have == cap(r.buf) {
		r.buf = slices.Grow(r.buf, max(have, int(min(window, r.src.Size))))
	}

	free := r.buf[have:min(int64(cap(r.buf)), r.src.Size-r.base)]
	if err := raw.Fill(r.src, free, begin); err != nil {
		return err
	}

	r.buf = r.buf[:have+len(free)]

	return nil
}

// skip moves pos behind the next line feed. If there is none, the error is io.EOF.
func (r *Reader) skip() error {
	for {
		if i := bytes.IndexByte(r.buf[r.pos:], '\n'); i >= 0 {
			r.pos += i + 1
			return nil
		}

		r.pos = len(r.buf)
		if err := r.fill(); err != nil {
			return err
		}
	}
}

// HasLastLineEnd reports whether the last line of a file ends with a line feed. The last line of a file that is cut
// short seldom does.
func HasLastLineEnd(src ingest.Source) (bool, error) {
	var last [1]byte
	err := raw.ReadHeader(src, last[:], src.Size-1, "the end of a line")

	return last[0] == '\n', err
}

// Mark is a place in a table to which a reader can return.
type Mark struct {
	Offset int64 // offset in the file at which the line of the row begins
	Row    int64 // number of the row, from 0
}

// LastMark returns the index of the last mark at or before a row, and −1 if all marks are behind the row. The marks
// must ascend.
func LastMark(marks []Mark, row int64) int {
	i, found := slices.BinarySearchFunc(marks, row, func(m Mark, row int64) int { return cmp.Compare(m.Row, row) })
	if found {
		return i
	}

	return i - 1
}
