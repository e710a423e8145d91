// Package lines reads the lines of a text file from any byte on, and parses numbers
// as programs of measurement write them. Readers of universal files and of LabVIEW's
// measurement files use it.
package lines

import (
	"bufio"
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

// Reader reads lines. The zero value is not usable: see New.
type Reader struct {
	src ingest.Source
	in  *bufio.Reader
	at  int64 // of the next byte of in
}

// New returns a Reader at the beginning of a file. Of a longer line than most bytes
// it delivers only the beginning.
func New(src ingest.Source, most int) *Reader {
	r := &Reader{src: src, in: bufio.NewReaderSize(nil, most)}
	r.Go(0)
	return r
}

// At returns the byte where the next line begins.
func (r *Reader) At() int64 { return r.at }

// Go goes to a byte.
func (r *Reader) Go(at int64) {
	if at == r.at && at > 0 {
		return
	}
	r.at = at
	r.in.Reset(io.NewSectionReader(r.src, at, r.src.Size-at))
}

// Next returns the next line without its end and the byte it begins at; after the
// last the error is io.EOF. The line is valid until the next call.
func (r *Reader) Next() (b []byte, at int64, err error) {
	at = r.at
	b, err = r.in.ReadSlice('\n')
	r.at += int64(len(b))
	if errors.Is(err, bufio.ErrBufferFull) {
		b = bytes.Clone(b)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = r.in.ReadSlice('\n')
			r.at += int64(len(more))
		}
	}
	switch {
	case err == nil || errors.Is(err, io.EOF) && len(b) > 0:
		return bytes.TrimRight(b, "\r\n"), at, nil
	case errors.Is(err, io.EOF):
		return nil, at, io.EOF
	}
	return nil, at, &fault.Error{Path: r.src.Path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read: %w", err)}
}

// Number reads a number, also as Fortran writes one whose exponent has three
// digits: 1.0-101. decimal is the decimal sign.
func Number(b []byte, decimal byte) (float64, bool) {
	v, ok := text.Number(b, decimal)
	if i := bytes.LastIndexAny(b, "+-"); !ok && i > 0 && b[i-1] >= '0' && b[i-1] <= '9' {
		return text.Number(bytes.Join([][]byte{b[:i], b[i:]}, []byte("e")), decimal)
	}
	return v, ok
}

// Rate is the inverse of an increment that was written with few digits: where an
// integer rate has an increment with these digits, it is that. Rates from low to
// high have such an increment.
func Rate(inc float64, written string) (hz, low, high float64) {
	mantissa, exponent, _ := strings.Cut(strings.NewReplacer("D", "e", "d", "e", "E", "e", ",", ".").Replace(written), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, err := strconv.Atoi(exponent)
	half := 1e-12 * inc
	if err == nil || exponent == "" {
		half += 0.5 * (1 + 1e-9) * math.Pow(10, float64(e-len(decimals)))
	}
	half = min(half, inc/2)
	hz, low, high = 1/inc, 1/(inc+half), 1/(inc-half)
	if near := math.Round(hz); near >= low && near <= high && near > 0 {
		hz = near
	}
	return hz, low, high
}
