// Package lines reads the lines of a text file from any byte on, and parses numbers
// as programs of measurement write them. Readers of universal files and of LabVIEW's
// measurement files use it.
package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// window is how many bytes of a file are read at a time.
const window = 1 << 15

// Reader reads lines. The zero value is not usable: see New.
type Reader struct {
	src  ingest.Source
	most int
	buf  []byte // bytes of the file
	base int64  // byte of the file buf begins at
	pos  int    // in buf, of the next line
}

// New returns a Reader at the beginning of a file. Of a longer line than most bytes
// it delivers only the beginning.
func New(src ingest.Source, most int) *Reader { return &Reader{src: src, most: most} }

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

	for {
		if i := bytes.IndexByte(r.buf[r.pos:], '\n'); i >= 0 {
			b = r.buf[r.pos : r.pos+i]
			r.pos += i + 1
			break
		}

		if len(r.buf)-r.pos > r.most {
			b = bytes.Clone(r.buf[r.pos : r.pos+r.most])
			err = r.skip()
			break
		}

		if err = r.fill(); err != nil {
			b = r.buf[r.pos:]
			r.pos = len(r.buf)
			break
		}
	}

	if errors.Is(err, io.EOF) && len(b) > 0 {
		err = nil // the last line has no end
	}

	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = &fault.Error{Path: r.src.Path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read: %w", err)}
		}
		return nil, at, err
	}

	b = b[:min(len(b), r.most)]
	for len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}

	return b, at, nil
}

// fill puts the next line at the start of the buffer and reads more of the file;
// where there is no more, the error is io.EOF.
func (r *Reader) fill() error {
	have, room := len(r.buf)-r.pos, int(min(int64(max(window, 2*r.most)), r.src.Size))

	buf := r.buf[:cap(r.buf)]
	if len(buf) < room {
		buf = make([]byte, room)
	}

	copy(buf, r.buf[r.pos:])
	r.base += int64(r.pos)
	r.pos, r.buf = 0, buf[:have]
	to := min(int64(room), r.src.Size-r.base)
	if to <= int64(have) {
		return io.EOF
	}

	n, err := r.src.ReadAt(buf[have:to], r.base+int64(have))
	if r.buf = buf[:have+n]; n > 0 {
		return nil
	}

	return err
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

// Number reads a number, also as Fortran writes one whose exponent has three
// digits: 1.0-101. decimal is the decimal sign.
func Number(b []byte, decimal byte) (float64, bool) {
	v, ok := text.Number(b, decimal)
	if ok {
		return v, true
	}

	if i := bytes.LastIndexAny(b, "+-"); i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
		return text.Number(bytes.Join([][]byte{b[:i], b[i:]}, []byte("e")), decimal)
	}

	return 0, false
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
