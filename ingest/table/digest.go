package table

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/endian"
)

// Digest returns the SHA-256, as hex, of the bytes that WriteContent writes.
func (t *Table) Digest() string {
	h := sha256.New()
	t.WriteContent(h)

	return hex.EncodeToString(h.Sum(nil))
}

// WriteContent writes the names, units, types and values of all columns. The writer must not fail, as hashes and memory
// do not. Different tables give different bytes: a text is written after its length.
func (t *Table) WriteContent(dst io.Writer) {
	w := contentWriter{dst: dst, buffer: make([]byte, 0, 2*contentPart)}

	for i := range t.Columns {
		column := &t.Columns[i]
		w.text(column.Name)
		w.text(column.Unit)
		w.text(column.dataType().String())
		w.text(strconv.Itoa(column.Len()))
		w.values(column)
	}

	w.flush()
}

// contentPart is the number of bytes that a contentWriter collects.
const contentPart = 1 << 13

// contentWriter writes values as bytes, little-endian. It collects small writes.
type contentWriter struct {
	dst    io.Writer
	buffer []byte
}

// values writes the values of a column.
func (w *contentWriter) values(column *Column) {
	for _, text := range column.Strings {
		w.text(text)
	}

	for _, value := range column.Floats {
		if math.IsNaN(value) {
			value = math.NaN() // one bit pattern for all
		}

		w.number(math.Float64bits(value))
	}

	for _, value := range column.Ints {
		w.number(uint64(value))
	}

	for _, value := range column.Bools {
		w.bool(value)
	}

	for _, list := range column.Lists {
		w.list(list)
	}
}

// flush writes the collected bytes.
func (w *contentWriter) flush() {
	_, _ = w.dst.Write(w.buffer) // the writer does not fail
	w.buffer = w.buffer[:0]
}

// flushIfFull writes the collected bytes if there are many.
func (w *contentWriter) flushIfFull() {
	if len(w.buffer) > contentPart {
		w.flush()
	}
}

// number writes the eight bytes of a number.
func (w *contentWriter) number(bits uint64) {
	w.buffer = binary.LittleEndian.AppendUint64(w.buffer, bits)
	w.flushIfFull()
}

// text writes the length of a text and its bytes.
func (w *contentWriter) text(text string) {
	w.number(uint64(len(text)))
	w.buffer = append(w.buffer, text...)
	w.flushIfFull()
}

// bool writes a byte, 0 or 1.
func (w *contentWriter) bool(value bool) {
	var b byte
	if value {
		b = 1
	}

	w.buffer = append(w.buffer, b)
	w.flushIfFull()
}

// list writes the length of a list and its numbers of four bytes. It writes the memory of a long list directly where
// the processor stores numbers in the same order.
func (w *contentWriter) list(list []float32) {
	w.number(uint64(len(list)))

	const bytesPerNumber = 4
	if !endian.IsBigEndian && bytesPerNumber*len(list) > contentPart {
		w.flush()
		_, _ = w.dst.Write(arrow.Float32Traits.CastToBytes(list)) // the writer does not fail

		return
	}

	for _, value := range list {
		w.buffer = binary.LittleEndian.AppendUint32(w.buffer, math.Float32bits(value))
		w.flushIfFull()
	}
}
