// Package lines reads the lines of a text file from any byte on. Readers of tables, of
// universal files and of LabVIEW's measurement files use it.
package lines

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// window is how many bytes of a file are read at a time, unless a line is longer.
const window = 1 << 18

// Reader reads lines. The zero value is not usable: see New.
type Reader struct {
	Line int64 // the number of the next line, from 1, unless Go was called

	src  ingest.Source
	most int
	cut  bool
	buf  []byte // bytes of the file
	base int64  // byte of the file buf begins at
	pos  int    // in buf, of the next line
}

// New returns a Reader at the beginning of a file. Of a line longer than most bytes it delivers
// the beginning, if cut is set; else such a line is an error.
func New(src ingest.Source, most int, cut bool) *Reader {
	return &Reader{Line: 1, src: src, most: most, cut: cut}
}

// At returns the byte where the next line begins.
func (r *Reader) At() int64 { return r.base + int64(r.pos) }

// Go goes to a byte.
func (r *Reader) Go(at int64) {
	if at >= r.base && at <= r.base+int64(len(r.buf)) {
		r.pos = int(at - r.base)
		return
	}

	r.base, r.buf, r.pos = at, r.buf[:0], 0
}

// Next returns the next line without its end and the byte it begins at; after the
// last the error is io.EOF. The line is valid until the next call.
func (r *Reader) Next() (b []byte, at int64, err error) {
	at = r.At()

	for seen := 0; ; {
		if i := bytes.IndexByte(r.buf[r.pos+seen:], '\n'); i >= 0 {
			b = r.buf[r.pos:][:seen+i]
			r.pos += seen + i + 1
			break
		}

		if seen = len(r.buf) - r.pos; seen > r.most {
			if !r.cut {
				return nil, at, r.src.Fault(at, fmt.Sprintf("lines of at most %d bytes", r.most), "a longer one",
					"is this a table?")
			}

			b = bytes.Clone(r.buf[r.pos:][:r.most])
			if err = r.skip(); err != nil && !errors.Is(err, io.EOF) {
				return nil, at, err
			}

			break
		}

		if err = r.fill(); errors.Is(err, io.EOF) && seen > 0 { // the last line has no end
			b = r.buf[r.pos:]
			r.pos = len(r.buf)
			break
		} else if err != nil {
			return nil, at, err
		}
	}

	r.Line++

	b = b[:min(len(b), r.most)]
	for len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}

	return b, at, nil
}

// More is Next that raises its error (fault.Raise), but the end of the file, which is not ok.
func (r *Reader) More() (b []byte, at int64, ok bool) {
	b, at, err := r.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		fault.Raise(err)
	}

	return b, at, err == nil
}

// fill puts the next line at the start of the buffer and reads more of the file;
// where there is no more, the error is io.EOF.
func (r *Reader) fill() error {
	have := copy(r.buf, r.buf[r.pos:])
	r.base += int64(r.pos)
	r.pos, r.buf = 0, r.buf[:have]

	from := r.base + int64(have)
	if from >= r.src.Size {
		return io.EOF
	}

	if have == cap(r.buf) {
		r.buf = slices.Grow(r.buf, max(have, int(min(window, r.src.Size))))
	}

	to := r.buf[have:min(int64(cap(r.buf)), r.src.Size-r.base)]
	if err := raw.Fill(r.src, to, from); err != nil {
		return err
	}

	r.buf = r.buf[:have+len(to)]

	return nil
}

// skip goes to the end of a line.
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

// Mark is where a line begins, and how many rows lie before it.
type Mark struct{ At, Row int64 }

// Before returns the number of the last mark at or before a row.
func Before(marks []Mark, row int64) int {
	i, found := slices.BinarySearchFunc(marks, row, func(m Mark, row int64) int { return cmp.Compare(m.Row, row) })
	if found {
		return i
	}

	return i - 1
}

// Rate is the inverse of an increment, in units of so many seconds, that was written
// with few digits: where an integer rate has an increment with these digits, it is
// that. Rates from low to high have such an increment.
func Rate(inc float64, written string, unit float64) (hz, low, high float64) {
	mantissa, exponent, _ := strings.Cut(strings.NewReplacer("D", "e", "d", "e", "E", "e", ",", ".").Replace(written), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, err := strconv.Atoi(exponent)

	half := 1e-12 * inc
	if err == nil || exponent == "" {
		half += 0.5 * (1 + 1e-9) * math.Pow(10, float64(e-len(decimals)))
	}

	half, inc = unit*min(half, inc/2), unit*inc
	hz, low, high = 1/inc, 1/(inc+half), 1/(inc-half)
	if near := math.Round(hz); near >= low && near <= high && near > 0 {
		hz = near
	}

	return hz, low, high
}
