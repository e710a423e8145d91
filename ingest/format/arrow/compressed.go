package arrow

import (
	"encoding/binary"
	"fmt"
	"io"

	"doubletake/ingest/fault"
)

// maxWindow is what a decompressor may remember of a small buffer: twice the
// 8 MiB that RFC 8878 (Zstandard, 3.1.1.1.2) asks of every decoder. Of a larger
// buffer it may be as much as the buffer.
const maxWindow = 16 << 20

// section reads parts of a file by pages: the frames of compressed buffers have
// headers of few bytes, each behind a block.
type section struct {
	r      io.ReaderAt
	at     int64 // of the section in the file
	place  string
	page   [4096]byte
	pageAt int64 // where the page lies in the section
	paged  int
}

// bytes returns n bytes (at most 16) at at, which must lie before end.
func (s *section) bytes(at int64, n int, end int64) ([]byte, error) {
	if int64(n) > end-at {
		return nil, &fault.Error{
			Place: s.place, Want: fmt.Sprintf("%d bytes more of compressed data", n),
			Found: fmt.Sprintf("its end after %d", end-at), Hint: "the file is damaged",
		}
	}

	if at < s.pageAt || at+int64(n) > s.pageAt+int64(s.paged) {
		s.pageAt = at
		s.paged = int(min(int64(len(s.page)), end-at))
		if _, err := readFull(s.r, s.page[:s.paged], s.at+at); err != nil {
			s.paged = 0
			return nil, &fault.Error{Place: s.place, Err: fmt.Errorf("read: %w", err)}
		}
	}

	return s.page[at-s.pageAt:][:n], nil
}

// compressed verifies a compressed buffer from at to end and returns its length
// when it is decompressed, and how much a decompressor remembers of it.
func (s *section) compressed(codec int, at, end int64) (length, window int64, err error) {
	b, err := s.bytes(at, 8, end)
	if err != nil {
		return 0, 0, err
	}

	at += 8

	var most int64 // bytes that it can become
	switch length = int64(binary.LittleEndian.Uint64(b)); {
	case length == -1:
		return end - at, 0, nil // not compressed
	case length < 0:
		return 0, 0, &fault.Error{
			Place: s.place, Want: "its decompressed length", Found: fmt.Sprintf("%d", length),
			Hint: "the file is damaged",
		}

	case codec == codecZstd:
		most, window, err = s.zstd(at, end, max(maxWindow, length))
	default:
		most, err = 255*(end-at), s.lz4(at, end)
	}

	if err == nil && length > most {
		err = &fault.Error{
			Place: s.place, Want: fmt.Sprintf("at most %d bytes from %d", most, end-at),
			Found: fmt.Sprintf("%d", length), Hint: "the file is damaged",
		}
	}

	return length, window, err
}

// zstd goes through Zstandard's frames (RFC 8878) and returns the most they can
// become, 128 KiB for each block, and the largest window: a decoder allocates the
// size in a frame's header, whether data follow or not.
func (s *section) zstd(at, end, widest int64) (most, window int64, err error) {
	for at < end {
		b, err := s.bytes(at, 4, end)
		if err != nil {
			return 0, 0, err
		}

		magic := binary.LittleEndian.Uint32(b)

		at += 4
		if magic&^15 == 0x184D2A50 { // skippable
			if b, err = s.bytes(at, 4, end); err != nil {
				return 0, 0, err
			}

			at += 4 + int64(binary.LittleEndian.Uint32(b))
			continue
		}

		if magic != 0xFD2FB528 {
			return 0, 0, &fault.Error{
				Place: s.place, Want: "a frame of Zstandard", Found: fmt.Sprintf("%#08x", magic),
				Hint: "the file is damaged",
			}
		}

		if b, err = s.bytes(at, 1, end); err != nil {
			return 0, 0, err
		}

		descriptor := b[0]
		at++
		single := descriptor&0x20 != 0

		var own uint64
		if !single {
			if b, err = s.bytes(at, 1, end); err != nil {
				return 0, 0, err
			}

			own = uint64(1) << (10 + b[0]>>3)
			own += own / 8 * uint64(b[0]&7)
			at++
		}

		at += []int64{0, 1, 2, 4}[descriptor&3] // a dictionary's number

		size := []int{0, 2, 4, 8}[descriptor>>6]
		if size == 0 && single {
			size = 1
		}

		if b, err = s.bytes(at, size, end); err != nil {
			return 0, 0, err
		}

		at += int64(size)

		if single { // the window is the content
			var whole [8]byte
			copy(whole[:], b)

			if own = binary.LittleEndian.Uint64(whole[:]); size == 2 {
				own += 256
			}
		}

		if own > uint64(widest) {
			return 0, 0, &fault.Error{
				Place: s.place, Want: fmt.Sprintf("a window of at most %d bytes", widest),
				Found: fmt.Sprintf("one of %d", own),
			}
		}

		window = max(window, int64(own))

		for last := false; !last; {
			if b, err = s.bytes(at, 3, end); err != nil {
				return 0, 0, err
			}

			block := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
			at += 3
			most += 128 << 10
			last = block&1 != 0

			if block>>1&3 == 1 { // one byte, repeated
				at++
			} else {
				at += block >> 3
			}
		}

		if descriptor&4 != 0 {
			at += 4 // checksum
		}
	}

	if at > end {
		return 0, 0, &fault.Error{
			Place: s.place, Want: "the end of the frame",
			Found: fmt.Sprintf("the end of the data, %d bytes before", at-end), Hint: "the file is damaged",
		}
	}

	return most, window, nil
}

// lz4 wants a frame of LZ4, of which a byte becomes at most 255. Its decoder allocates no more than two blocks, of at
// most 4 MiB, and keeps them for the next buffer. The older frame's are larger.
func (s *section) lz4(at, end int64) error {
	b, err := s.bytes(at, 4, end)
	if err != nil {
		return err
	}

	if magic := binary.LittleEndian.Uint32(b); magic != 0x184D2204 {
		return &fault.Error{
			Place: s.place, Want: "a frame of LZ4", Found: fmt.Sprintf("%#08x", magic),
			Hint: "the file is damaged",
		}
	}

	return nil
}
